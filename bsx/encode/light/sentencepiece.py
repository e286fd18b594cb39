"""Files of SentencePiece, read without its package: pieces, scores and rules of normalisation.

Source: sentencepiece_model.proto. Of ``ModelProto`` these fields are read: 1, the pieces (1 text, 2 score, 3 type), and
3, the normaliser (2 the compiled rules).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bsx.errors import InputError

_CONTROL, _USER_DEFINED = 3, 4


@dataclass(frozen=True)
class Pieces:
    """What a file holds.

    Attributes:
        scored: pieces with their scores, in order.
        added: pieces that are never cut, and whether each is a special token.
        charsmap: compiled rules of normalisation; empty if there are none.
    """

    scored: list[tuple[str, float]]
    added: list[tuple[str, bool]]
    charsmap: bytes


def read_pieces(file: Path) -> Pieces:
    """Read a file of SentencePiece.

    Raises:
        InputError: if it is damaged, or none.
    """
    scored: list[tuple[str, float]] = []
    added: list[tuple[str, bool]] = []
    charsmap = b""
    try:
        for field, value in _fields(file.read_bytes()):
            if field == 1 and isinstance(value, bytes):
                text, score, kind = _piece(value)
                scored.append((text, score))
                if kind in (_CONTROL, _USER_DEFINED):
                    added.append((text, kind == _CONTROL))
            elif field == 3 and isinstance(value, bytes):
                charsmap = next((part for name, part in _fields(value) if name == 2 and isinstance(part, bytes)), b"")
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise InputError(f"cannot be read, or is no file of SentencePiece: {error}", file=file) from error
    if not scored:
        raise InputError("holds no pieces of SentencePiece", file=file)
    return Pieces(scored, added, charsmap)


def _piece(message: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, 1
    for field, value in _fields(message):
        if field == 1 and isinstance(value, bytes):
            text = value.decode("utf-8")
        elif field == 2 and isinstance(value, bytes):
            (score,) = struct.unpack("<f", value)
        elif field == 3 and isinstance(value, int):
            kind = value
    return text, score, kind


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of every field of a message: a number, or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number
            if shift > 63:
                raise ValueError("a number has no end")

    while at < len(message):
        key = varint()
        wire = key & 7
        if wire == 0:
            yield key >> 3, varint()
            continue
        size = varint() if wire == 2 else {1: 8, 5: 4}.get(wire, -1)
        if size < 0 or at + size > len(message):
            raise ValueError("it is cut off")
        yield key >> 3, message[at : at + size]
        at += size
