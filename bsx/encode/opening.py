"""From settings to something that encodes: which backend runs an encoder, in its batcher."""

from __future__ import annotations

import hashlib
import json
import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, cast, get_args

from bsx.encode.architecture import Architecture
from bsx.encode.batching import Batcher, Embedder
from bsx.encode.devices import Precision, has_torch, signed
from bsx.encode.light.embedder import LightEmbedder, obstacle
from bsx.errors import InputError, MissingExtraError
from bsx.support.arrays import device_type
from bsx.support.optional import install_command, installed, need

if TYPE_CHECKING:
    from bsx.encode.cached import CachedEncoding
    from bsx.encode.vector_cache import VectorCache

BackendName = Literal["auto", "torch", "onnx"]
_ONNX_BATCH_TOKENS = 512
"""Padded tokens of a batch under ONNX Runtime: each thread has one, and a small one stays in its cache."""
VARIABLE = "BSX_BACKEND"
"""Environment variable that says what ``auto`` is."""


class Opener:
    """Opens a checkpoint's encoder, by one backend.

    ``auto`` is what the environment variable ``BSX_BACKEND`` says, else ONNX Runtime if it is installed and can run
    this encoder: on the CPU, in fp32, an architecture whose graph bsx builds. What runs an encoder does not depend on
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
        MissingExtraError: if nothing that can is installed.
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        identity: str,
        device: str,
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
        self._light = self._choose(backend)

    def _choose(self, backend: BackendName) -> bool:
        """Return whether ONNX Runtime runs the encoder."""
        if backend == "auto" and self._dtype != "int8":
            named = os.environ.get(VARIABLE) or "auto"
            if named not in get_args(BackendName):
                raise InputError(f"the environment variable {VARIABLE} is {named!r}: set it to auto, torch or onnx")
            backend = cast(BackendName, named)
        if self.device != "cpu":
            why: str | None = f"it runs on the CPU, and the device is {self.device}"
        elif self._dtype in ("bf16", "fp16"):
            why = f"it computes in fp32 or int8, not in {self._dtype}"
        else:
            why = obstacle(self.architecture)
        if backend == "onnx" or self._dtype == "int8":
            if backend == "torch":
                raise InputError("int8 is computed by ONNX Runtime: leave backend=torch out, or use fp32")
            if why is not None:
                instead = "use dtype=fp32" if self._dtype == "int8" else "use backend=torch"
                raise InputError(f"ONNX Runtime cannot run this: {why}; {instead}")
            need("onnxruntime", "int8" if self._dtype == "int8" else "The backend onnx")
            return True
        if backend == "auto" and why is None and installed("onnxruntime"):
            need("onnxruntime", "Scoring with encoders")
            return True
        if not has_torch():
            if backend == "torch" or why is not None:
                wanted = "The backend torch" if backend == "torch" else f"{self.architecture.folder.name} ({why})"
                raise MissingExtraError(f"{wanted} needs PyTorch, which is not installed: {install_command('torch')}")
            raise MissingExtraError(f"Scoring with encoders needs ONNX Runtime or PyTorch: {install_command('onnx')}")
        if backend == "auto" and why is not None and device_type(self.device) == "cpu" and installed("onnxruntime"):
            self.notes.append(f"PyTorch runs the encoder, because ONNX Runtime cannot: {why}")
        need("torch", "Scoring with PyTorch")
        return False

    def batcher(self, layers: list[int], batch_tokens: int | None) -> Batcher:
        """Load what encodes any number of sequences, cut at some layers.

        Args:
            layers: the layers to return, in order.
            batch_tokens: padded tokens of a batch; None for the device's default.

        Raises:
            InputError: if the encoder cannot be loaded.
        """
        if self._light:
            light = LightEmbedder(self.architecture, layers, int8=self._dtype == "int8")
            return Batcher(light, batch_tokens or _ONNX_BATCH_TOKENS)
        from bsx.encode.torch_encoder import TransformerEmbedder

        encoder: Embedder = TransformerEmbedder(
            self.architecture,
            layers=layers,
            device=self.device,
            dtype="fp32" if self._dtype == "int8" else self._dtype,
            final_norm=self._final_norm,
            trust_remote_code=self._trust_remote_code,
        )
        return Batcher(encoder, batch_tokens)

    def cached(self, layers: list[int]) -> CachedEncoding | None:
        """Return what keeps vectors of these layers on disk, if there is a cache."""
        if self._cache is None:
            return None
        from bsx.encode.cached import CachedEncoding

        config = dict(self.architecture.said)
        for name in ("_name_or_path", "dtype", "torch_dtype"):  # where files lie, and what was asked for when loading
            config.pop(name, None)
        own_code = sorted(self.architecture.folder.glob("*.py"))
        # What the tokenizer does is not named: all of it is in the token ids, which are the key of a vector.
        fields = {
            "weights": self._identity,
            "config": hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest(),
            "code": [hashlib.sha256(file.read_bytes()).hexdigest() for file in own_code],
            "family": repr(self.architecture.family),
            "dtype": signed(self._dtype),
            "device": device_type(self.device),  # another kind of device rounds in another way
            "final_norm": self._final_norm,
            "backend": self.backend,
            **({} if self._light else {"transformers": version("transformers")}),
        }
        return CachedEncoding(self._cache, fields, self._dtype, layers, self.architecture.dimensions, self.device)

    @property
    def backend(self) -> str:
        """What computes, with its version."""
        package = "onnxruntime" if self._light else "torch"
        return f"{package}-{version(package).partition('+')[0]}"
