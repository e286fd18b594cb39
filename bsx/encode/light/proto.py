"""Models as ONNX Runtime reads them, written without the package onnx: the few messages of its protocol buffers.

Source: onnx.proto, IR version 8. A field is its number and wire type, then a varint, four bytes, or a length and bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_IR_VERSION, _OPSET = 8, 17
MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""
# Element types of TensorProto.
TYPES = {
    np.dtype(np.float32): 1,
    np.dtype(np.uint8): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.int32): 6,
    np.dtype(np.int64): 7,
}
Attribute = int | float | str | Sequence[int]


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _attribute(name: str, value: Attribute) -> bytes:
    head = _bytes(1, name)
    if isinstance(value, float):
        return head + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return head + _bytes(4, value) + _number(20, 3)
    return head + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _value(name: str, kind: int, axes: Sequence[str | int]) -> bytes:
    shape = b"".join(_bytes(1, _bytes(2, axis) if isinstance(axis, str) else _number(1, axis)) for axis in axes)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


class Graph:
    """A graph in the making: nodes in the order in which they are computed, and the arrays that they use.

    Attributes:
        arrays: arrays by name, which the runtime gets beside the model, so that they need not be copied into it.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.generic]] = {}
        self._parts: list[bytes] = []
        self._names = 0

    def input(self, name: str, dtype: type[np.generic], axes: Sequence[str | int]) -> str:
        """Declare an input, its axes as names or sizes."""
        self._parts.append(_bytes(11, _value(name, TYPES[np.dtype(dtype)], axes)))
        return name

    def output(self, name: str, axes: Sequence[str | int]) -> None:
        """Declare a fp32 value an output."""
        self._parts.append(_bytes(12, _value(name, 1, axes)))

    def array(self, name: str, array: NDArray[np.generic]) -> str:
        """Take up an array under a name, once."""
        if name not in self.arrays:
            self.arrays[name] = array
            dims = b"".join(_number(1, size) for size in array.shape)
            beside = _bytes(13, _bytes(1, "location") + _bytes(2, "beside")) + _number(14, 1)
            self._parts.append(_bytes(5, dims + _number(2, TYPES[array.dtype]) + _bytes(8, name) + beside))
        return name

    def constant(self, values: NDArray[np.generic]) -> str:
        """Write a small array into the model."""
        self._names += 1
        name = f"constant_{self._names}"
        dims = b"".join(_number(1, size) for size in values.shape)
        stored = dims + _number(2, TYPES[values.dtype]) + _bytes(8, name) + _bytes(9, values.tobytes())
        self._parts.append(_bytes(5, stored))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", name: str = "", **attributes: Attribute) -> str:
        """Add an operator; returns the name of its first output. An optional input that is left out is ``""``."""
        self._names += 1
        name = name or f"value_{self._names}"
        said = b"".join(_bytes(1, value) for value in inputs) + _bytes(2, name) + _bytes(4, operator)
        said += b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items())
        self._parts.append(_bytes(1, said + _bytes(7, domain)))
        return name

    def model(self) -> bytes:
        """Return the model."""
        graph = b"".join(self._parts) + _bytes(2, "encoder")
        opsets = (_bytes(2 * 4, _bytes(1, domain) + _number(2, v)) for domain, v in (("", _OPSET), (MICROSOFT, 1)))
        return _number(1, _IR_VERSION) + _bytes(7, graph) + b"".join(opsets)
