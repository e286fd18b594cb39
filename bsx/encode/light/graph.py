"""Graphs of BERT and its relatives for ONNX Runtime, cut at the layers that are wanted.

Source: Devlin et al. 2019, section 3, with what each architecture changes, as transformers computes it. Inputs are
``words``, the vectors of the pieces (batch, tokens, size), ``positions`` and ``mask`` (batch, tokens), and ``buckets``
(tokens, tokens) where attention knows relative positions; outputs are the states (batch, tokens, dim) of the wanted
layers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bsx.encode.light.builder import TOKENS, GraphBuilder
from bsx.encode.light.disentangled import Disentangled
from bsx.encode.light.proto import MICROSOFT
from bsx.encode.light.settings import TYPED
from bsx.encode.light.weights import StoredArrays
from bsx.support.untyped import JsonObject


class Encoder(GraphBuilder):
    """Builds the graph of one encoder.

    Args:
        settings: what `bsx.encode.light.settings.filled` says.
        weights: the checkpoint's.
        layers: the layers to return.
        int8: reduce the weights of matrix products to eight bits.

    Attributes:
        words: vectors of all pieces (vocabulary, size), a view of their file: the runtime would copy them.
    """

    def __init__(
        self, settings: JsonObject, weights: StoredArrays, layers: Sequence[int], *, int8: bool = False
    ) -> None:
        super().__init__(settings, weights, int8=int8)
        state = self._embeddings()
        bias = self._position_bias() if settings["model_type"] == "mpnet" else ""
        apart = Disentangled(self) if settings["model_type"].startswith("deberta") else None
        for number in range(max(layers) + 1):
            if number:
                state = self._layer(self.names.layer.format(number - 1), state, bias, apart)
            if number in layers:
                self.graph.output(self.graph.node("Identity", state, name=f"layer_{number}"), (*TOKENS, self.dim))

    def _added(self, state: str, before: str, name: str, norm: str, size: int) -> str:
        """Return the normalised sum of a product, its bias and what was before it."""
        # The three apart take less than half as long as the runtime's SkipLayerNormalization.
        state = self.graph.node("Add", state, self.array(f"{name}.bias", size))
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
            state = self.product(state, names.projection, self.dim, size)
            state = graph.node("Add", state, self.array(f"{names.projection}.bias", self.dim))
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
        mixed = self.product(mixed, at + names.mixed, dim, dim)
        state = self._added(mixed, state, at + names.mixed, at + names.mixed_norm, dim)
        wide = self._activated(self.product(state, at + names.inner, inner, dim), at + names.inner, inner)
        narrow = self.product(wide, at + names.outer, dim, inner)
        return self._added(narrow, state, at + names.outer, at + names.outer_norm, dim)

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

    def _activated(self, state: str, name: str, size: int) -> str:
        kind = self.settings["hidden_act"]
        state = self.graph.node("Add", state, self.array(f"{name}.bias", size))
        if kind == "relu":
            return self.graph.node("Relu", state)
        return self.graph.node("Gelu" if kind == "gelu" else "FastGelu", state, domain=MICROSOFT)
