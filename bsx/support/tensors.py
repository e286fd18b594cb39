"""Files of tensors: writing and reading safetensors, and weights that PyTorch saved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import torch

from bsx.errors import InputError
from bsx.support.untyped import JsonObject

DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, RecursionError)
"""What reading a damaged header raises."""


def save_tensors(tensors: Mapping[str, torch.Tensor], path: Path, metadata: Mapping[str, str]) -> None:
    """Write tensors, contiguous and on the CPU, as one safetensors file: the same bytes whenever they are the same.

    Raises:
        OSError: if the file cannot be written.
    """
    from safetensors.torch import save

    stored = save(dict(tensors), metadata=dict(metadata))  # its `save_file` has an error of its own instead
    length = int.from_bytes(stored[:8], "little")
    header = json.loads(stored[8 : 8 + length])
    if "__metadata__" in header:  # the library writes these texts in an order of chance
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the tensors start at a multiple of 8
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        stream.write(memoryview(stored)[8 + length :])


def read_header(stream: IO[bytes], size: int) -> tuple[JsonObject, int]:
    """Return a safetensors file's header and where its data start.

    Args:
        stream: the file, at its start.
        size: bytes of the file.

    Raises:
        ValueError: if the file is not whole, or no safetensors file; the other errors of `DAMAGE` mean the same.
    """
    length = int.from_bytes(stream.read(8), "little")
    if not 2 <= length <= size - 8:
        raise ValueError("its header is not whole")
    raw = bytearray(length)
    fill(stream, memoryview(raw))
    header = json.loads(raw)
    last = max(int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__")
    if 8 + length + last != size:
        raise ValueError("it is not whole")
    return header, 8 + length


def fill(stream: IO[bytes], target: memoryview) -> None:
    """Read exactly as many bytes as the target holds.

    Raises:
        ValueError: if there are fewer, as in a file that was cut since its header was read.
    """
    done = 0
    while done < len(target):
        count = stream.readinto(target[done:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError("it ends too early")
        done += count


def digest_of(tensors: Mapping[str, torch.Tensor], facts: str) -> str:
    """Return the sha256 of tensors on the CPU, with their names, formats and shapes, and of what is said of them."""
    total = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        total.update(f"\0{name} {tensor.dtype} {list(tensor.shape)}\0".encode())
        total.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def load_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the tensors of a safetensors file and the texts of its header.

    Raises:
        InputError: if the file is missing, damaged or no safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as stored:
            names = list(stored.keys())
            return {name: stored.get_tensor(name) for name in names}, dict(stored.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: is missing, damaged or is not a safetensors file ({error})") from error


def load_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return a checkpoint's weights: ``model.safetensors``, or else ``pytorch_model.bin``.

    Raises:
        InputError: if they are missing or cannot be read.
    """
    from pickle import UnpicklingError

    if (folder / "model.safetensors").is_file():
        return load_tensors(folder / "model.safetensors")[0]
    file = folder / "pytorch_model.bin"
    try:
        weights: dict[str, torch.Tensor] = torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, UnpicklingError) as error:
        raise InputError(f"{file}: cannot be read: {' '.join(str(error).split())[:120]}") from error
    return weights
