"""From settings to something that encodes: which backend runs an encoder, in its batcher."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, cast, get_args

import torch

from bsx.encode.batching import Batcher
from bsx.encode.cache.encoding import CachedEncoding, encoder_fields
from bsx.encode.cache.folder import VectorCache
from bsx.encode.protocol import Embedder
from bsx.encode.torch_encoder import Architecture, Precision, TransformerEmbedder
from bsx.errors import InputError
from bsx.support.optional import need

BackendName = Literal["auto", "torch", "onnx"]
_ONNX_BATCH_TOKENS = 512
"""Padded tokens of a batch under ONNX Runtime: each thread has one, and a small one stays in its cache."""
VARIABLE = "BSX_BACKEND"
"""Environment variable that says what ``auto`` is."""


def installed() -> bool:
    """Tell whether the packages of the extra ``onnx`` are here, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime"))


class Opener:
    """Opens a checkpoint's encoder, and keeps to one backend from its first use on.

    ``auto`` is what the environment variable ``BSX_BACKEND`` says, else ONNX Runtime if it is installed and can run
    this encoder: on the CPU, in fp32, an architecture that can be exported. What runs an encoder does not depend on
    what is encoded.

    Args:
        architecture: the checkpoint's configuration.
        identity: what its weights are, see `bsx.models.locate.Checkpoint`.
        device: where to run.
        dtype: number format; int8 is ONNX Runtime's.
        backend: what was asked for.
        final_norm: see `bsx.encode.torch_encoder.TransformerEmbedder`.
        trust_remote_code: allow the checkpoint to run its own Python code.
        cache: where vectors outlive the run, if anywhere.

    Raises:
        InputError: if the backend that was asked for cannot run this encoder here.
        MissingExtraError: if it is not installed.
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        identity: str,
        device: torch.device,
        dtype: Precision,
        backend: BackendName = "auto",
        final_norm: bool = True,
        trust_remote_code: bool = False,
        cache: VectorCache | None = None,
    ) -> None:
        self.architecture = architecture
        self.device = device
        self.notes: list[str] = []
        """What the user should know about the choice, one sentence each."""
        self._identity = identity
        self._dtype = dtype
        self._final_norm = final_norm
        self._trust_remote_code = trust_remote_code
        self._cache = cache
        self._uses: Literal["torch", "onnx"] | None = None
        backend = _from_environment() if backend == "auto" and dtype != "int8" else backend
        obstacle = self._obstacle()
        if backend == "onnx" or dtype == "int8":
            if backend == "torch":
                raise InputError("int8 is computed by ONNX Runtime: leave `backend='torch'` out, or use fp32")
            if obstacle is not None:
                instead = "use `dtype='fp32'`" if dtype == "int8" else "use `backend='torch'`"
                raise InputError(f"ONNX Runtime cannot run this: {obstacle}; {instead}")
            for package in ("onnxruntime", "onnx"):
                need(package, "The backend onnx")
            self._uses = "onnx"
        elif backend == "torch" or obstacle is not None or not installed():
            self._uses = "torch"
            if backend == "auto" and obstacle is not None and device.type == "cpu" and installed():
                self.notes.append(f"PyTorch runs the encoder, because ONNX Runtime cannot: {obstacle}")

    def _obstacle(self) -> str | None:
        """Return what keeps ONNX Runtime from running this encoder, if anything."""
        config = self.architecture.config
        if self.device.type != "cpu":
            return f"it runs on the CPU, and the device is {self.device}"
        if self._dtype in ("bf16", "fp16"):
            return f"it computes in fp32 or int8, not in {self._dtype}"
        if not self.architecture.family.onnx:
            return f"the architecture {config.model_type} cannot be exported to ONNX"
        if self._trust_remote_code and getattr(config, "auto_map", None):
            return "a checkpoint with code of its own is not exported"
        return None

    def batcher(self, layers: list[int], batch_tokens: int | None) -> Batcher:
        """Load what encodes any number of sequences, cut at some layers.

        Args:
            layers: the layers to return, in order.
            batch_tokens: padded tokens of a batch; None for the device's default.

        Raises:
            InputError: if the encoder cannot be loaded, or exported although that was asked for.
        """
        self.backend(layers)
        if batch_tokens is None and self._uses == "onnx":
            batch_tokens = _ONNX_BATCH_TOKENS
        return Batcher(self._exported(layers) if self._uses == "onnx" else self._torch(layers), batch_tokens)

    def cached(self, layers: list[int]) -> CachedEncoding | None:
        """Return what keeps vectors of these layers on disk, if there is a cache."""
        if self._cache is None:
            return None
        fields = encoder_fields(
            self._identity,
            self.architecture,
            dtype=self._dtype,
            device=self.device,
            final_norm=self._final_norm,
            backend=self.backend(layers),
        )
        return CachedEncoding(self._cache, fields, self._dtype, layers, self.architecture.dimensions, self.device)

    def backend(self, layers: Sequence[int]) -> str:
        """Return what computes these layers, with its version, for a signature; from then on it stays that."""
        if self._uses is None:
            self._uses = self._choose(sorted(set(layers)))
        if self._uses == "onnx":
            return f"onnxruntime-{version('onnxruntime')}"
        return f"torch-{torch.__version__.partition('+')[0]}"

    def _choose(self, layers: list[int]) -> Literal["torch", "onnx"]:
        """Try whether the encoder can be exported, and keep the export."""
        try:
            if not self._path(layers).is_file():
                self._export(layers)
        except (InputError, OSError) as error:  # a full disk is no reason not to score
            self.notes.append(f"PyTorch runs the encoder: {error}")
            return "torch"
        return "onnx"

    def _path(self, layers: list[int]) -> Path:
        from bsx.encode.onnx_export import export_path

        precision: Literal["fp32", "int8"] = "int8" if self._dtype == "int8" else "fp32"
        return export_path(self.architecture, self._identity, layers, precision=precision, final_norm=self._final_norm)

    def _torch(self, layers: list[int]) -> TransformerEmbedder:
        return TransformerEmbedder(
            self.architecture,
            layers=layers,
            device=self.device,
            dtype="fp32" if self._dtype == "int8" else self._dtype,
            final_norm=self._final_norm,
            trust_remote_code=self._trust_remote_code,
        )

    def _exported(self, layers: list[int]) -> Embedder:
        from bsx.encode.onnx import OnnxEmbedder

        path = self._path(layers)
        if path.is_file():
            try:
                return OnnxEmbedder(self.architecture, path, layers)
            except Exception as error:  # noqa: BLE001 - the runtime's errors have no common class; a damaged file
                self.notes.append(f"{path}: is damaged ({' '.join(str(error).split())[:80]}): made anew")
        self._export(layers)
        return OnnxEmbedder(self.architecture, path, layers)

    def _export(self, layers: list[int]) -> None:
        from bsx.encode.onnx_export import export, known_failure, make_folder

        path = self._path(layers)
        if (failure := known_failure(path)) is not None:
            raise failure
        make_folder(path.parent)  # before the weights are loaded for it
        export(self._torch(layers), path, "int8" if self._dtype == "int8" else "fp32")
        size = path.stat().st_size / 2**20
        self.notes.append(f"the encoder was exported for ONNX Runtime ({size:.0f} MiB, kept as {path})")


def _from_environment() -> BackendName:
    """Return what ``auto`` is on this machine."""
    named = os.environ.get(VARIABLE) or "auto"
    if named not in get_args(BackendName):
        raise InputError(f"the environment variable {VARIABLE} is {named!r}: set it to auto, torch or onnx")
    return cast(BackendName, named)
