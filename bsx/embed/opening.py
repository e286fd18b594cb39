"""Which backend runs a checkpoint's encoder: PyTorch, or ONNX Runtime where it is wanted or pays."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import torch

from bsx.embed.base import Embedder
from bsx.embed.transformer import Architecture, Precision, TransformerEmbedder
from bsx.errors import InputError
from bsx.optional import need

BackendName = Literal["auto", "torch", "onnx"]
# An export takes seconds, once. ONNX Runtime wins them back after some 100,000 tokens (benchmarks/cpu.py), so a
# corpus of this size pays for it the second time at the latest, and a small one never waits for it.
WORTHWHILE_TOKENS = 50_000


def installed() -> bool:
    """Tell whether the packages of the extra ``onnx`` are here, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime"))


class Opener:
    """Opens a checkpoint's encoder, and keeps to one backend from its first use on.

    ``auto`` takes ONNX Runtime if it is installed, on the CPU in fp32, for architectures that can be exported: at once
    where an export is here already, else when the first call brings enough text to be worth one.

    Args:
        architecture: the checkpoint's configuration.
        identity: what its weights are, see `bsx.checkpoint.Checkpoint`.
        device: where to run.
        dtype: number format; int8 is ONNX Runtime's.
        backend: what was asked for.
        final_norm: see `bsx.embed.transformer.TransformerEmbedder`.
        trust_remote_code: allow the checkpoint to run its own Python code.

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
    ) -> None:
        self.architecture = architecture
        self.device = device
        self.notes: list[str] = []
        """What the user should know about the choice, one sentence each."""
        self._identity = identity
        self._dtype = dtype
        self._final_norm = final_norm
        self._trust_remote_code = trust_remote_code
        self._asked_for = backend == "onnx" or dtype == "int8"
        self._uses: Literal["torch", "onnx"] | None = None
        obstacle = self._obstacle()
        if self._asked_for:
            if backend == "torch":
                raise InputError("int8 is computed by ONNX Runtime: leave --backend torch out, or use fp32")
            if obstacle is not None:
                raise InputError(f"ONNX Runtime cannot run this: {obstacle}; use --backend torch and fp32")
            for package in ("onnxruntime", "onnx"):
                need(package, "The backend onnx")
            self._uses = "onnx"
        elif backend == "torch" or obstacle is not None or not installed():
            self._uses = "torch"
            if backend == "auto" and obstacle is not None and device.type == "cpu" and installed():
                self.notes.append(f"PyTorch runs the encoder: {obstacle}")

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

    def _path(self, layers: Sequence[int]) -> Path:
        from bsx.embed.export import export_path

        precision: Literal["fp32", "int8"] = "int8" if self._dtype == "int8" else "fp32"
        return export_path(self.architecture, self._identity, layers, precision=precision, final_norm=self._final_norm)

    def _layers(self, layers: Sequence[int] | None) -> list[int]:
        for layer in layers or ():
            self.architecture.check_layer(layer)
        return list(range(self.architecture.depth + 1)) if layers is None else sorted(set(layers))

    def open(self, layers: Sequence[int] | None) -> Embedder:
        """Open the encoder cut at some layers, or with all of them.

        Raises:
            InputError: if it cannot be loaded, or exported although that was asked for.
        """
        layers = self._layers(layers)
        if self._uses is None and self._path(layers).is_file():
            self._uses = "onnx"
        return self._exported(layers) if self._uses == "onnx" else self._torch(layers)

    def improve(self, embedder: Embedder, tokens: int) -> Embedder:
        """Return the embedder for a first call of so many tokens: the given one, or ONNX Runtime's if that pays."""
        if self._uses is not None:
            return embedder
        self._uses = "torch"
        if tokens < WORTHWHILE_TOKENS or not isinstance(embedder, TransformerEmbedder):
            return embedder
        try:
            better = self._exported(embedder.layers, embedder)
        except InputError as error:
            self.notes.append(f"PyTorch runs the encoder: {error}")
            return embedder
        self._uses = "onnx"
        return better

    def backend(self, layers: Sequence[int] | None) -> str:
        """Return what computes these layers, with its version, for a signature; from then on it stays that."""
        if self._uses is None:
            self._uses = "onnx" if self._path(self._layers(layers)).is_file() else "torch"
        if self._uses == "onnx":
            return f"onnxruntime-{version('onnxruntime')}"
        return f"torch-{torch.__version__.partition('+')[0]}"

    def _torch(self, layers: Sequence[int]) -> TransformerEmbedder:
        return TransformerEmbedder(
            self.architecture,
            layers=layers,
            device=self.device,
            dtype="fp32" if self._dtype == "int8" else self._dtype,
            final_norm=self._final_norm,
            trust_remote_code=self._trust_remote_code,
        )

    def _exported(self, layers: Sequence[int], embedder: TransformerEmbedder | None = None) -> Embedder:
        from bsx.embed.export import export
        from bsx.embed.onnx import OnnxEmbedder

        path = self._path(layers)
        if path.is_file():
            try:
                return OnnxEmbedder(self.architecture, path, layers)
            except Exception as error:  # noqa: BLE001 - the runtime's errors have no common class; a damaged file
                self.notes.append(f"{path}: cannot be read ({' '.join(str(error).split())[:80]}): made anew")
        export(embedder or self._torch(layers), path, "int8" if self._dtype == "int8" else "fp32")
        size = path.stat().st_size / 2**20
        self.notes.append(f"the encoder was exported for ONNX Runtime ({size:.0f} MiB, kept as {path})")
        return OnnxEmbedder(self.architecture, path, layers)
