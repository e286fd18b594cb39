"""Graphs of BERT and its relatives for ONNX Runtime, cut at the layers that are wanted.

Inputs are ``words``, the vectors of the pieces (batch, tokens, size), ``positions`` and ``mask`` (batch, tokens), and
``buckets`` (tokens, tokens) where attention knows relative positions; outputs are the states (batch, tokens, dim) of
the wanted layers. Graphs of DeBERTa, in which content and relative position are compared apart, also take ``c2p`` and
``p2c`` (tokens, tokens), the rows of the table of relative positions to be looked up, and, for the first version,
``span``, the part of the table that is used.

In eight bits, a matrix has a step for each number that it makes, and states have a step and a zero for each token, so
that a vector does not depend on what else is in its batch. Whole numbers are multiplied exactly, on every processor.

Source: Devlin et al. 2019, section 3, with what each architecture changes, as transformers computes it; He et al. 2021
(DeBERTa), section 3.1 and algorithm 1; He et al. 2023 (DeBERTaV3) for the shared projections and logarithmic buckets of
the second version.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.encode.light.names import NAMES, Names
from bsx.encode.light.proto import MICROSOFT, Graph
from bsx.encode.light.settings import TYPED
from bsx.encode.light.weights import StoredArrays
from bsx.support.untyped import JsonObject

_ZERO = 128  # what stands for zero in an unsigned byte of a weight, and is taken from every byte of a state
Byte = type[np.int8] | type[np.uint8]
_LEAST_STEP = float(np.finfo(np.float32).tiny)


def steps_of(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix (rows, columns) in whole steps from -127 to 127, and the step of each row (rows,)."""
    step = np.abs(matrix).max(axis=1) / np.float32(127)
    return np.rint(matrix / np.where(step > 0, step, np.float32(1))[:, None]).astype(np.int8), step


@dataclass(frozen=True)
class Rounded:
    """States in bytes, by the names of what holds them: ``step * (bytes - zero)``.

    Attributes:
        bytes: (batch, tokens, size).
        step: of each token (batch, tokens, 1).
        shift: ``step * (128 - zero)`` of each token (batch, tokens, 1): the product takes 128 from every byte.
    """

    bytes: str
    step: str
    shift: str


TOKENS = ("batch", "tokens")


class GraphBuilder:
    """A graph in the making.

    Args:
        settings: what `bsx.encode.light.settings.filled` says.
        weights: the checkpoint's.
        eight_bits: what matrix products take weights as, if in eight bits: signed bytes or unsigned ones.

    Attributes:
        graph: the graph.
        names: what the checkpoint's arrays are called.
        dim: size of a state.
        heads: attention heads.
        mask: 1 for tokens, 0 for padding (batch, tokens).
    """

    def __init__(self, settings: JsonObject, weights: StoredArrays, *, eight_bits: Byte | None) -> None:
        self.settings = settings
        self.weights = weights
        self._eight_bits = eight_bits
        self._rounded: dict[str, Rounded] = {}
        self.names: Names = NAMES[settings["model_type"]]
        self.dim: int = settings["hidden_size"]
        self.heads: int = settings["num_attention_heads"]
        self.epsilon = float(settings["layer_norm_eps"])
        self.graph = Graph()
        self.mask = self.graph.input("mask", np.int32, TOKENS)

    def array(self, name: str, *shape: int) -> str:
        """Take up an array of the checkpoint."""
        return self.graph.array(name, self.weights.get(name, shape))

    def product(self, state: str, name: str, rows: int, columns: int, *, bias: bool = False) -> str:
        """Multiply by a matrix (rows, columns) of the checkpoint, of which a row makes one number, and add its bias."""
        if self._eight_bits is not None:
            return self._rough_product(state, name, self.weights.get(f"{name}.weight", (rows, columns)), bias=bias)
        product = self.graph.node(
            "FusedMatMul", state, self.array(f"{name}.weight", rows, columns), domain=MICROSOFT, transB=1
        )
        return self.graph.node("Add", product, self.array(f"{name}.bias", rows)) if bias else product

    def _rough_product(self, state: str, name: str, matrix: NDArray[np.float32], *, bias: bool) -> str:
        """Multiply by a matrix in bytes; what the shift and the bias add is one product of two columns and two rows."""
        graph, (rows, columns) = self.graph, matrix.shape
        if state not in self._rounded:
            self._rounded[state] = self._round(state, columns)
        rounded = self._rounded[state]
        steps, step = steps_of(matrix)
        zeros = [self._number(_ZERO, np.uint8)]
        stored: NDArray[np.generic] = steps.T.copy()
        if self._eight_bits is np.uint8:
            stored, zeros = (stored.astype(np.int16) + _ZERO).astype(np.uint8), zeros * 2
        arrays = graph.array(f"{name}.int8", stored), self._number(1), graph.array(f"{name}.step", step)
        product = graph.node("MatMulIntegerToFloat", rounded.bytes, *arrays, *zeros, domain=MICROSOFT)
        added, column = [steps.sum(axis=1, dtype=np.int64) * step], rounded.shift
        if bias:
            added.append(self.weights.get(f"{name}.bias", (rows,)))
            column = graph.node("Pad", column, self.constant([0, 0, 0, 0, 0, 1]), self._number(1))
        both = graph.node("MatMul", column, graph.array(f"{name}.added", np.stack(added).astype(np.float32)))
        return graph.node("Add", graph.node("Mul", product, rounded.step), both)

    def _round(self, state: str, size: int) -> Rounded:
        """Write the numbers of each token in bytes, of which 0 is the least of them and 255 the largest."""
        graph, zero = self.graph, self._number(0)
        least = graph.node("Min", graph.node("ReduceMin", state, axes=(-1,), keepdims=1), zero)
        most = graph.node("Max", graph.node("ReduceMax", state, axes=(-1,), keepdims=1), zero)
        step = graph.node("Mul", graph.node("Sub", most, least), self._number(1 / 255))
        step = graph.node("Max", step, self._number(_LEAST_STEP))
        zeros = graph.node("Round", graph.node("Neg", graph.node("Div", least, step)))
        shift = graph.node("Mul", graph.node("Sub", self._number(_ZERO), zeros), step)
        each = [graph.node("Reshape", value, self.constant([-1])) for value in (step, graph.node("Cast", zeros, to=2))]
        flat = graph.node("Reshape", state, self.constant([-1, size]))
        steps = graph.node("QuantizeLinear", flat, *each, axis=0)
        return Rounded(graph.node("Reshape", steps, graph.node("Shape", state)), step, shift)

    def _number(self, value: float, dtype: type[np.generic] = np.float32) -> str:
        return self.graph.constant(np.array(value, dtype=dtype))

    def normalised(self, state: str, name: str, size: int) -> str:
        """Bring the numbers of each token to mean and spread of a layer of the checkpoint."""
        scale, shift = self.array(f"{name}.weight", size), self.array(f"{name}.bias", size)
        return self.graph.node("LayerNormalization", state, scale, shift, axis=-1, epsilon=self.epsilon)

    def constant(self, values: Sequence[int]) -> str:
        """Write whole numbers into the graph."""
        return self.graph.constant(np.array(values, dtype=np.int64))


_LEAST = float(np.finfo(np.float32).min)


class Disentangled:
    """Builds the attention of every layer of one encoder.

    Args:
        encoder: the encoder in the making.
    """

    def __init__(self, encoder: GraphBuilder) -> None:
        self._encoder = encoder
        self._second = encoder.settings["model_type"] == "deberta-v2"
        settings, graph = encoder.settings, encoder.graph
        self._size = encoder.dim // encoder.heads
        self._ways = tuple(way for way in ("c2p", "p2c") if way in ways(settings))
        self._scale = 1 / math.sqrt(self._size * (1 + len(self._ways)))
        seen = graph.node("Cast", encoder.mask, to=1)
        both = (graph.node("Unsqueeze", seen, encoder.constant([axis])) for axis in (2, 1))
        hidden = graph.node("Equal", graph.node("Mul", *both), graph.constant(np.array(0, dtype=np.float32)))
        self._hidden = graph.node("Unsqueeze", hidden, encoder.constant([1]))
        self._table = ""
        if settings["relative_attention"]:
            self._table = self._positions()
            self._places = {way: graph.input(way, np.int64, ("tokens", "tokens")) for way in self._ways}

    def _positions(self) -> str:
        """Return the table of relative positions (rows, dim)."""
        encoder, settings = self._encoder, self._encoder.settings
        rows, name = 2 * span_of(settings), "encoder.rel_embeddings.weight"
        table = encoder.array(name, rows, encoder.dim)
        if self._second and "layer_norm" in str(settings.get("norm_rel_ebd", "none")):
            return encoder.normalised(table, "encoder.LayerNorm", encoder.dim)
        if self._second:
            return table
        return encoder.graph.node("Gather", table, encoder.graph.input("span", np.int64, ("rows",)))

    def attention(self, at: str, state: str) -> str:
        """Return what a layer's attention mixes (batch, tokens, dim)."""
        graph, constant = self._encoder.graph, self._encoder.constant
        query, key, value = self._three(at, state)
        scores = graph.node("MatMul", self._scaled(query), graph.node("Transpose", key, perm=(0, 1, 3, 2)))
        if self._table:
            for part in self._relative(at, query, key):
                scores = graph.node("Add", scores, part)
        least = graph.constant(np.array(_LEAST, dtype=np.float32))
        shares = graph.node("Softmax", graph.node("Where", self._hidden, least, scores), axis=-1)
        mixed = graph.node("Transpose", graph.node("MatMul", shares, value), perm=(0, 2, 1, 3))
        return graph.node("Reshape", mixed, constant([0, 0, self._encoder.dim]))

    def _scaled(self, value: str) -> str:
        return self._encoder.graph.node(
            "Mul", value, self._encoder.graph.constant(np.array(self._scale, dtype=np.float32))
        )

    def _heads(self, value: str) -> str:
        """Part the last axis into heads: (batch, tokens, dim) -> (batch, heads, tokens, size)."""
        graph, encoder = self._encoder.graph, self._encoder
        parted = graph.node("Reshape", value, encoder.constant([0, 0, encoder.heads, self._size]))
        return graph.node("Transpose", parted, perm=(0, 2, 1, 3))

    def _linear(self, value: str, name: str, *, bias: bool = True) -> str:
        encoder = self._encoder
        return encoder.product(value, name, encoder.dim, encoder.dim, bias=bias)

    def _three(self, at: str, state: str) -> tuple[str, str, str]:
        """Return queries, keys and values, each (batch, heads, tokens, size)."""
        encoder, graph = self._encoder, self._encoder.graph
        if self._second:
            names = (encoder.names.query, encoder.names.key, encoder.names.value)
            query, key, value = (self._heads(self._linear(state, at + name)) for name in names)
            return query, key, value
        # The first version has one matrix, in which each head has its query, its key and its value.
        all_three = encoder.product(state, f"{at}attention.self.in_proj", 3 * encoder.dim, encoder.dim)
        parted = graph.node("Reshape", all_three, encoder.constant([0, 0, encoder.heads, 3, self._size]))
        turned = graph.node("Transpose", parted, perm=(3, 0, 2, 1, 4))
        query, key, value = (
            graph.node("Gather", turned, graph.constant(np.array(part, dtype=np.int64)), axis=0) for part in range(3)
        )
        biases = []
        for name in ("q_bias", "v_bias"):
            bias = encoder.weights.get(f"{at}attention.self.{name}", (encoder.dim,))
            biases.append(graph.array(f"{at}{name}", bias.reshape(encoder.heads, 1, self._size)))
        return graph.node("Add", query, biases[0]), key, graph.node("Add", value, biases[1])

    def _relative(self, at: str, query: str, key: str) -> list[str]:
        """Return what relative positions add to the scores, each (batch, heads, tokens, tokens)."""
        graph, names = self._encoder.graph, self._encoder.names
        table = graph.node("Unsqueeze", self._table, self._encoder.constant([0]))
        shared = bool(self._encoder.settings.get("share_att_key", False))
        parts = []
        for way in self._ways:
            content = query if way == "c2p" else key
            if self._second and shared:
                position = self._linear(table, at + (names.key if way == "c2p" else names.query))
            elif self._second:
                position = self._linear(table, f"{at}attention.self.pos_{'key' if way == 'c2p' else 'query'}_proj")
            else:
                name = "pos_proj" if way == "c2p" else "pos_q_proj"
                position = self._linear(table, f"{at}attention.self.{name}", bias=way == "p2c")
            turned = graph.node("Transpose", self._heads(position), perm=(0, 1, 3, 2))
            every = self._scaled(graph.node("MatMul", content, turned))
            result = self._looked_up(every, self._places[way])
            parts.append(result if way == "c2p" else graph.node("Transpose", result, perm=(0, 1, 3, 2)))
        return parts

    def _looked_up(self, every: str, places: str) -> str:
        """Return of each row (batch, heads, tokens, positions) the numbers at its places (tokens, tokens)."""
        graph, constant = self._encoder.graph, self._encoder.constant
        shape = graph.node("Shape", every)
        ends = graph.node("Slice", shape, constant([0]), constant([2]), constant([0]))
        wide = graph.node("Concat", ends, graph.node("Shape", places), axis=0)
        return graph.node("GatherElements", every, graph.node("Expand", places, wide), axis=3)


def ways(settings: JsonObject) -> tuple[str, ...]:
    """Return how content and position are compared, of ``c2p`` and ``p2c``."""
    said = settings["pos_att_type"] or ()
    return tuple(said.split("|") if isinstance(said, str) else said)


def span_of(settings: JsonObject) -> int:
    """Return how many relative positions to one side the table serves."""
    buckets = int(settings.get("position_buckets", -1))
    if settings["model_type"] == "deberta-v2" and buckets > 0:
        return buckets
    furthest = int(settings["max_relative_positions"])
    return furthest if furthest >= 1 else int(settings["max_position_embeddings"])


def places(settings: JsonObject, tokens: int) -> dict[str, NDArray[np.generic]]:
    """Return the inputs that say which relative positions are looked up."""
    if not settings["relative_attention"]:
        return {}
    span = span_of(settings)
    distance = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    given: dict[str, NDArray[np.generic]] = {}
    if settings["model_type"] == "deberta":
        used = min(tokens, span)
        given["span"] = np.arange(span - used, span + used)
        span = used
    elif int(settings.get("position_buckets", -1)) > 0:
        furthest = int(settings["max_relative_positions"])
        furthest = furthest if furthest >= 1 else int(settings["max_position_embeddings"])
        distance = _logarithmic(distance, int(settings["position_buckets"]), furthest)
    given["c2p"] = np.clip(distance + span, 0, 2 * span - 1)
    given["p2c"] = np.clip(-distance + span, 0, 2 * span - 1)
    return given


def _logarithmic(distance: NDArray[np.int64], buckets: int, furthest: int) -> NDArray[np.int64]:
    """Return the bucket of each distance: itself up to half of them, then wider and wider ranges, computed in fp32."""
    middle = buckets // 2
    far = np.where(np.abs(distance) < middle, middle - 1, np.abs(distance)).astype(np.float32)
    whole = np.log(np.float32((furthest - 1) / middle))
    ranged = np.ceil(np.log(far / np.float32(middle)) / whole * np.float32(middle - 1)) + middle
    return np.where(far <= middle, distance, ranged * np.sign(distance)).astype(np.int64)


class Encoder(GraphBuilder):
    """Builds the graph of one encoder.

    Args:
        settings: what `bsx.encode.light.settings.filled` says.
        weights: the checkpoint's.
        layers: the layers to return.
        eight_bits: what matrix products take weights as, if in eight bits: signed bytes or unsigned ones.

    Attributes:
        words: vectors of all pieces (vocabulary, size), a view of their file: the runtime would copy them.
    """

    def __init__(
        self, settings: JsonObject, weights: StoredArrays, layers: Sequence[int], *, eight_bits: Byte | None = None
    ) -> None:
        super().__init__(settings, weights, eight_bits=eight_bits)
        state = self._embeddings()
        bias = self._position_bias() if settings["model_type"] == "mpnet" else ""
        apart = Disentangled(self) if settings["model_type"].startswith("deberta") else None
        for number in range(max(layers) + 1):
            if number:
                state = self._layer(self.names.layer.format(number - 1), state, bias, apart)
            if number in layers:
                self.graph.output(self.graph.node("Identity", state, name=f"layer_{number}"), (*TOKENS, self.dim))

    def _added(self, state: str, before: str, norm: str, size: int) -> str:
        """Return the normalised sum of a product and what was before it."""
        # The two apart take less than half as long as the runtime's SkipLayerNormalization.
        return self.normalised(self.graph.node("Add", state, before), norm, size)

    def _embeddings(self) -> str:
        settings, names, graph = self.settings, self.names, self.graph
        kind = settings["model_type"]
        small = kind in ("electra", "albert") or kind.startswith("deberta")
        size = settings.get("embedding_size", self.dim) if small else self.dim
        self.words = self.weights.get(f"{names.words}.weight", (settings["vocab_size"], size), whole=False)
        state = graph.input("words", np.float32, (*TOKENS, size))
        if kind in TYPED or (kind.startswith("deberta") and settings["type_vocab_size"]):
            types = self.weights.get(f"{names.types}.weight", (settings["type_vocab_size"], size))
            state = graph.node("Add", state, graph.array(names.types, types[0]))  # all tokens are of the first type
        if settings.get("position_biased_input", True):
            positions = graph.input("positions", np.int64, TOKENS)
            table = self.array(f"{names.positions}.weight", settings["max_position_embeddings"], size)
            state = graph.node("Add", state, graph.node("Gather", table, positions))
        if kind.startswith("deberta"):
            if size != self.dim:
                state = self.product(state, names.projection, self.dim, size)
            state = self.normalised(state, names.norm, self.dim)
            # Padding is zero, and stays so until the first layer.
            shown = graph.node("Unsqueeze", graph.node("Cast", self.mask, to=1), self.constant([2]))
            return graph.node("Mul", state, shown)
        state = self.normalised(state, names.norm, size)
        if kind == "albert" or (kind == "electra" and size != self.dim):
            state = self.product(state, names.projection, self.dim, size, bias=True)
        return state

    def _position_bias(self) -> str:
        """Return what MPNet adds to attention (1, heads, tokens, tokens): a number for each bucket of distances."""
        buckets = self.graph.input("buckets", np.int64, ("tokens", "tokens"))
        count = self.settings["relative_attention_num_buckets"]
        table = self.array("encoder.relative_attention_bias.weight", count, self.heads)
        bias = self.graph.node("Transpose", self.graph.node("Gather", table, buckets), perm=(2, 0, 1))
        return self.graph.node("Unsqueeze", bias, self.constant([0]))

    def _layer(self, at: str, state: str, bias: str, apart: Disentangled | None) -> str:
        names, dim, inner = self.names, self.dim, self.settings["intermediate_size"]
        mixed = self._attention(at, state, bias) if apart is None else apart.attention(at, state)
        mixed = self.product(mixed, at + names.mixed, dim, dim, bias=True)
        state = self._added(mixed, state, at + names.mixed_norm, dim)
        wide = self._activated(self.product(state, at + names.inner, inner, dim, bias=True))
        narrow = self.product(wide, at + names.outer, dim, inner, bias=True)
        return self._added(narrow, state, at + names.outer_norm, dim)

    def _attention(self, at: str, state: str, bias: str) -> str:
        names, dim = self.names, self.dim
        three = [at + name for name in (names.query, names.key, names.value)]
        biases = np.concatenate([self.weights.get(f"{name}.bias", (dim,)) for name in three])
        return self.graph.node(
            "MultiHeadAttention",
            *(self.product(state, name, dim, dim) for name in three),
            self.graph.array(f"{at}biases", biases),
            self.mask,
            bias,
            domain=MICROSOFT,
            num_heads=self.heads,
            mask_filter_value=float(np.finfo(np.float32).min),
        )

    def _activated(self, state: str) -> str:
        kind = self.settings["hidden_act"]
        if kind == "relu":
            return self.graph.node("Relu", state)
        return self.graph.node("Gelu" if kind == "gelu" else "FastGelu", state, domain=MICROSOFT)
