"""Files of tensors: writing and reading safetensors, and weights that PyTorch saved."""

from __future__ import annotations

import importlib
import itertools
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.arrays import Array, fetch
from bsx.support.optional import need
from bsx.support.untyped import JsonObject, Untyped, blaming

if TYPE_CHECKING:
    import torch

# Number formats of safetensors, as NumPy reads them; it has no bf16.
FORMATS: dict[str, np.dtype[np.generic]] = {
    name: np.dtype(kind)
    for name, kind in {
        "F64": "<f8",
        "F32": "<f4",
        "F16": "<f2",
        "BF16": "<u2",
        "I64": "<i8",
        "I32": "<i4",
        "I16": "<i2",
        "I8": "i1",
        "U8": "u1",
        "BOOL": "?",
    }.items()
}
_NAMES = {kind: "U16" if name == "BF16" else name for name, kind in FORMATS.items()}

DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, RecursionError)
"""What reading a damaged header raises."""


def save_tensors(tensors: Mapping[str, Array], path: Path, metadata: Mapping[str, str]) -> None:
    """Write arrays or tensors, by name, and texts of the header as a safetensors file: equal content is equal bytes."""
    stored = {name: as_stored(array) for name, array in tensors.items()}
    # Wide formats first, so that every array starts at a multiple of its numbers' size; then by name.
    order = sorted(stored, key=lambda name: (-stored[name][1].itemsize, name))
    header: JsonObject = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    end = 0
    for name in order:
        kind, array = stored[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the tensors start at a multiple of 8
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            stream.write(stored[name][1].reshape(-1).view(np.uint8).data)


def as_stored(array: Array) -> tuple[str, NDArray[np.generic]]:
    """Return the name of an array's or tensor's number format in a file, and its numbers; those of bf16 as uint16."""
    if not isinstance(array, np.ndarray) and str(array.dtype) == "torch.bfloat16":
        words = array.detach().cpu().contiguous().view(importlib.import_module("torch").uint16)
        return "BF16", words.numpy()
    numbers = np.ascontiguousarray(fetch(array))
    return _NAMES[numbers.dtype], numbers.reshape(array.shape)


def read_header(stream: IO[bytes], size: int) -> tuple[JsonObject, int]:
    """Return a safetensors file's header and where its data start.

    Args:
        stream: the file, at its start.
        size: bytes of the file.

    Raises:
        ValueError: if the file is not whole, or no safetensors file; the other errors of `DAMAGE` mean the same.
    """
    length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= min(size - 8, 100_000_000):  # the package safetensors reads no longer one
        raise ValueError("its header is not whole")
    raw = bytearray(length)
    fill(stream, memoryview(raw))
    header: JsonObject = json.loads(raw)
    places = sorted(entry["data_offsets"] for name, entry in header.items() if name != "__metadata__")
    for (_, end), (start, _) in itertools.pairwise([(0, 0), *places, (size - 8 - length, size)]):
        if start != end:
            raise ValueError("it is not whole")
    return header, 8 + length


def fill(stream: IO[bytes], target: memoryview) -> None:
    """Read exactly as many bytes as the target holds; ValueError if there are fewer, as in a file that was cut."""
    done = 0
    while done < len(target):
        count = stream.readinto(target[done:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError("it ends too early")
        done += count


def load_arrays(path: Path) -> tuple[dict[str, NDArray[Untyped]], dict[str, str]]:
    """Return the arrays of a safetensors file, those of bf16 as fp32, and the texts of its header.

    InputError is raised if the file is missing, damaged or no safetensors file.
    """
    try:
        with path.open("rb") as stream:
            header, start = read_header(stream, path.stat().st_size)
            facts = {str(key): str(text) for key, text in header.pop("__metadata__", {}).items()}
            arrays: dict[str, NDArray[Untyped]] = {}
            for name, entry in header.items():
                first, last = (int(offset) for offset in entry["data_offsets"])
                raw = bytearray(last - first)
                stream.seek(start + first)
                fill(stream, memoryview(raw))
                arrays[name] = np.frombuffer(raw, dtype=FORMATS[entry["dtype"]]).reshape(entry["shape"])
                if entry["dtype"] == "BF16":
                    arrays[name] = (arrays[name].astype(np.uint32) << 16).view(np.float32)
    except (OSError, *DAMAGE) as error:
        raise InputError(f"is missing, damaged or is not a safetensors file ({error})", file=path) from error
    return arrays, facts


def load_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the tensors of a safetensors file and the texts of its header; InputError as by `load_arrays`."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as stored:
            names = list(stored.keys())
            return {name: stored.get_tensor(name) for name in names}, dict(stored.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise InputError(f"is missing, damaged or is not a safetensors file ({error})", file=path) from error


def load_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return a checkpoint's ``model.safetensors``, or else ``pytorch_model.bin``; InputError if neither can be read."""
    if (folder / "model.safetensors").is_file():
        return load_tensors(folder / "model.safetensors")[0]
    file = folder / "pytorch_model.bin"
    with blaming(f"{file}: cannot be read"):
        weights: dict[str, torch.Tensor] = load_saved(file)
    return weights


def load_saved(file: Path) -> Untyped:
    """Return what PyTorch saved in a file, as long as that is data.

    Raises:
        Exception: of any class, if it cannot be read: what damaged pickles raise has no end; see `blaming`.
    """
    torch: Untyped = need("torch", f"Reading {file}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of another pickle protocol, and that it might be refused
        return torch.load(file, map_location="cpu", weights_only=True)
