"""Small random files in the format E5S1, written from its description, for the tests of what reads it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIM, LAYERS, HEADS, INNER, POSITIONS, TYPES = 32, 2, 4, 64, 40, 2
PIECES = ["<s>", "<pad>", "</s>", "<unk>", *"▁abcdefgé稣", "▁the", "<mask>"]
WORDS = len(PIECES) + 5


def write(path: Path, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Write a file and return its tensors by the names of E5S1, as the numbers that a reader must find."""
    draw = np.random.default_rng(seed)
    tensors: list[tuple[str, bytes, NDArray[np.float32]]] = []

    def matrix(name: str, rows: int, width: int) -> None:
        scales = draw.normal(size=(rows, width // 32)).astype(np.float16)
        nibbles = draw.integers(0, 16, size=(rows, width // 32, 32), dtype=np.uint8)
        packed = nibbles[..., :16] | nibbles[..., 16:] << 4
        values = (nibbles.astype(np.float32) - 8) * scales[..., None].astype(np.float32)
        raw = b"".join(s.tobytes() + p.tobytes() for s, p in zip(scales.ravel(), packed.reshape(-1, 16), strict=True))
        tensors.append((name, raw, values.reshape(rows, width)))

    def vector(name: str, *shape: int) -> None:
        values = draw.normal(size=shape).astype(np.float32)
        tensors.append((name, values.tobytes(), values))

    matrix("emb.word", WORDS, DIM)
    vector("emb.pos", POSITIONS, DIM)
    vector("emb.type", TYPES, DIM)
    vector("emb.ln.w", DIM)
    vector("emb.ln.b", DIM)
    for layer in range(LAYERS):
        for name, rows, width in (
            *((name, DIM, DIM) for name in ("q", "k", "v", "ao")),
            ("fi", INNER, DIM),
            ("fo", DIM, INNER),
        ):
            matrix(f"l{layer}.{name}.w", rows, width)
            vector(f"l{layer}.{name}.b", rows)
        for name in ("aln", "oln"):
            vector(f"l{layer}.{name}.w", DIM)
            vector(f"l{layer}.{name}.b", DIM)
    texts = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *(len(text) for text in texts)]).astype("<u4")
    scores = np.where(np.arange(len(PIECES)) < 4, 0, -draw.uniform(1, 9, size=len(PIECES))).astype("<f4")
    head = b"E5S1" + struct.pack("<8ifi", 1, DIM, LAYERS, HEADS, INNER, WORDS, POSITIONS, TYPES, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(offsets[-1]))
    head += offsets.tobytes() + scores.tobytes() + b"".join(texts)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0x00A0, 1, 0x20)
    head += struct.pack("<i", len(tensors))
    start = len(head) + sum(2 + len(name) + 21 for name, _, _ in tensors)
    body = b""
    for name, raw, values in tensors:
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", len(raw) < values.nbytes, values.size, start + len(body), len(raw))
        body += raw
    path.write_bytes(head + body)
    return {name: values for name, _, values in tensors}
