"""Encoders as ONNX files: exporting one cut at its layers, checking the result, reducing it to int8, keeping it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import warnings
import zlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.data.output import atomic_path, atomic_text
from bsx.encode.torch_encoder import Architecture, TransformerEmbedder
from bsx.errors import InputError
from bsx.support.folders import cache_folder
from bsx.support.optional import need
from bsx.support.untyped import Untyped

WeightFormat = Literal["fp32", "int8"]
# Part of every file's name: raise it when the code below would write another file for the same input.
_FORMAT = 4
_OPSET = 17
_LARGEST = 2_000_000_000  # bytes: one ONNX file holds less than 2 GiB
# Weights in one block of int8 share a scale, and so do the activations they meet: token by token, so that a vector
# hardly depends on what else is in its batch (rounding may tip a step). Smaller
# blocks are more exact, larger ones faster.
_INT8_BLOCK = 128
# Vectors of an export may differ from PyTorch's by this part of their largest number; rounding makes up 1e-5.
_TOLERANCE = 2e-4


class ExportError(InputError):
    """The encoder cannot be written as an ONNX file that computes the same."""


def export_folder() -> Path:
    """Return where exports are kept: ``onnx`` in ``BSX_CACHE``, else in the platform's place for caches."""
    return cache_folder() / "onnx"


def export_path(
    architecture: Architecture, identity: str, layers: Sequence[int], *, precision: WeightFormat, final_norm: bool
) -> Path:
    """Return where the export of an encoder is or would be; its name holds a digest of all that it depends on.

    Args:
        architecture: the checkpoint's configuration.
        identity: what its weights are, see `bsx.models.locate.Checkpoint`.
        layers: the layers it returns.
        precision: number format of the weights of its matrix products.
        final_norm: see `bsx.encode.torch_encoder.TransformerEmbedder`.
    """
    facts = {
        "format": _FORMAT,
        "weights": identity,
        "config": hashlib.sha256((architecture.folder / "config.json").read_bytes()).hexdigest(),
        "family": architecture.family.model_dump(mode="json"),
        "layers": list(layers),
        "precision": precision,
        "final_norm": final_norm,
        "versions": {name: version(name) for name in ("torch", "transformers", "onnxruntime")},
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return export_folder() / f"{digest[:32]}.onnx"


def export(embedder: TransformerEmbedder, target: Path, precision: WeightFormat) -> None:
    """Write an encoder as an ONNX file, once it computes what PyTorch does.

    Processes may write the same file at once: each writes its own and puts it in place whole. That an encoder cannot be
    exported is kept too, beside where its file would be, so that no later run tries in vain.

    Args:
        embedder: the encoder, on the CPU in fp32.
        target: the file; folders above it are made.
        precision: int8 reduces the weights of matrix products to eight bits.

    Raises:
        ExportError: if the exporter fails, or its result computes something else.
        InputError: if the file cannot be written.
    """
    make_folder(target.parent)
    try:
        with atomic_path(target, own=True) as temporary:
            _write(embedder, temporary, precision)
            _seal(temporary)
    except ExportError as error:
        with atomic_text(_failed(target), own=True) as stream:
            stream.write(str(error))
        raise


# What ends an export: an entry of ONNX's own metadata_props (field 14 of the model), so that the file stays one.
# CRC-32 finds damage in a hundredth of the time a run takes to start; sha256 took a twentieth.
_SEAL = b"\x72\x11\x0a\x05crc32\x12\x08%08x"
_SEAL_BYTES = len(_SEAL % 0)


def _checksum(stream: IO[bytes], left: int) -> int:
    total = 0
    while left > 0 and (part := stream.read(min(left, 1 << 20))):
        total = zlib.crc32(part, total)
        left -= len(part)
    return total


def _seal(path: Path) -> None:
    """Append the checksum of all that comes before it."""
    with path.open("r+b") as stream:
        total = _checksum(stream, path.stat().st_size)
        stream.write(_SEAL % total)


def check_seal(path: Path) -> None:
    """Make sure that an export is what was written.

    Raises:
        ValueError: if it is not.
    """
    with path.open("rb") as stream:
        total = _checksum(stream, path.stat().st_size - _SEAL_BYTES)
        if stream.read() != _SEAL % total:
            raise ValueError("it is not what was written: its checksum is another")


def make_folder(folder: Path) -> None:
    """Make the folder of exports.

    Raises:
        InputError: if that cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made ({error.strerror}); set BSX_CACHE to a folder that can be written to"
        ) from error


def known_failure(target: Path) -> ExportError | None:
    """Return why an encoder could not be exported, if that was tried before."""
    try:
        return ExportError(_failed(target).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def _failed(target: Path) -> Path:
    return target.with_suffix(".failed")


def _write(embedder: TransformerEmbedder, path: Path, precision: WeightFormat) -> None:
    size = embedder.weight_bytes
    if size > _LARGEST:
        raise ExportError(f"its {size / 2**30:.1f} GiB of weights do not fit in one ONNX file (2 GiB)")
    try:
        _trace(embedder, path)
        _check(embedder, path)
        if precision == "int8":
            _reduce(path)
    except (ExportError, MemoryError, OSError):
        raise
    except Exception as error:  # whatever an exporter runs into, the encoder cannot be exported
        reason = " ".join(str(error).split())[:200]
        raise ExportError(f"the export to ONNX failed: {type(error).__name__}: {reason}") from error


class _Exported(torch.nn.Module):
    """An encoder as the exporter wants it: a module from ids and mask (batch, tokens) to vectors."""

    def __init__(self, embedder: TransformerEmbedder) -> None:
        super().__init__()
        self._embedder = embedder
        self._weights = embedder.module  # registered here, so that the exporter finds it

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return vectors (layers, batch, tokens, dim)."""
        return self._embedder.hidden_states(ids, mask)


def _example(embedder: TransformerEmbedder, batch: int, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return made-up ids and a mask (batch, tokens); rows get shorter where the architecture stands padding."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(embedder.vocabulary_size, (batch, tokens), generator=generator)
    mask = torch.ones_like(ids)
    for row in range(1, batch):
        if embedder.ignores_padding:
            mask[row, max(1, tokens - 2 * row) :] = 0
    return ids.masked_fill(mask == 0, embedder.pad_id), mask


def _trace(embedder: TransformerEmbedder, path: Path) -> None:
    with _plain_attention(embedder.module), warnings.catch_warnings(), torch.no_grad():
        # It warns of its age and of every branch it takes; `_check` finds out whether a branch mattered. The younger
        # exporter needs another package.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Exported(embedder).eval(),
            _example(embedder, 3, 11),
            str(path),
            input_names=["ids", "mask"],
            output_names=["vectors"],
            opset_version=_OPSET,
            dynamo=False,
            dynamic_axes={
                "ids": {0: "batch", 1: "tokens"},
                "mask": {0: "batch", 1: "tokens"},
                "vectors": {1: "batch", 2: "tokens"},
            },
        )


@contextlib.contextmanager
def _plain_attention(encoder: Untyped) -> Iterator[None]:
    """Let attention be spelt out: PyTorch's fused form is exported with a search for NaN and a choice after each."""
    fused = encoder.config._attn_implementation
    encoder.set_attn_implementation("eager")
    try:
        yield
    finally:
        encoder.set_attn_implementation(fused)


def _check(embedder: TransformerEmbedder, path: Path) -> None:
    """Compare an export with PyTorch on shapes that it was not traced on."""
    session = open_session(path)
    longest = min(embedder.position_limit or 192, 192)
    for batch, tokens in ((1, min(2, longest)), (4, min(23, longest)), (2, longest)):
        ids, mask = _example(embedder, batch, tokens)
        expected = embedder.encode(ids, mask).numpy()
        got = run_session(session, ids, mask)
        if got.shape != expected.shape:
            raise ExportError(f"its export gives vectors of shape {got.shape}, PyTorch {expected.shape}")
        kept = mask.numpy().astype(bool)
        off = float(np.abs(got - expected)[:, kept].max() / np.abs(expected[:, kept]).max())
        if not off <= _TOLERANCE:
            raise ExportError(f"its export differs from PyTorch by {off:.1g} at {batch} x {tokens} tokens")


def _reduce(path: Path) -> None:
    """Replace matrix products with constant weights by 8-bit ones: blockwise, symmetric, activations reduced too."""
    onnx: Untyped = need("onnx", "int8")
    quantizer: Untyped = need("onnxruntime.quantization.matmul_nbits_quantizer", "int8")
    settings = quantizer.DefaultWeightOnlyQuantConfig(
        block_size=_INT8_BLOCK, is_symmetric=True, accuracy_level=4, bits=8
    )
    with _quiet_root_logger():
        reducer = quantizer.MatMulNBitsQuantizer(onnx.load(str(path)), algo_config=settings)
        reducer.process()
        reducer.model.save_model_to_file(str(path), False)


@contextlib.contextmanager
def _quiet_root_logger() -> Iterator[None]:
    """Silence what the quantizer says through a logger of its own, which it sets up on import."""
    previous = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(previous)


def open_session(path: Path, threads: int = 1) -> Untyped:
    """Open an export for the CPU; so many threads share the work of one batch."""
    runtime: Untyped = need("onnxruntime", "The backend onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Batches differ in shape: a plan of memory for each would only take room.
    options.enable_mem_pattern = False
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_session(session: Untyped, ids: torch.Tensor, mask: torch.Tensor) -> NDArray[np.float32]:
    """Run an export on ids and mask (batch, tokens); returns vectors (layers, batch, tokens, dim)."""
    given = {"ids": ids.numpy(), "mask": mask.numpy()}
    wanted = {put.name: given[put.name] for put in session.get_inputs()}
    vectors: NDArray[np.float32] = session.run(["vectors"], wanted)[0]
    return vectors
