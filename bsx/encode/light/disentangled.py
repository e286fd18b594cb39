"""DeBERTa's attention, in which content and relative position are compared apart.

Source: He et al. 2021 (DeBERTa), section 3.1 and algorithm 1; He et al. 2023 (DeBERTaV3) for the shared projections and
logarithmic buckets of the second version, as transformers computes them. Inputs beside those of the other graphs are
``c2p`` and ``p2c`` (tokens, tokens), the rows of the table of relative positions to be looked up, and, for the first
version, ``span``, the part of the table that is used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bsx.encode.light.builder import GraphBuilder
from bsx.support.untyped import JsonObject

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
        product = encoder.product(value, name, encoder.dim, encoder.dim)
        return encoder.graph.node("Add", product, encoder.array(f"{name}.bias", encoder.dim)) if bias else product

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
            found = self._looked_up(every, self._places[way])
            parts.append(found if way == "c2p" else graph.node("Transpose", found, perm=(0, 1, 3, 2)))
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
