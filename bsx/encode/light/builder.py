"""What the parts of a graph share: the graph in the making, and the checkpoint that it is made from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bsx.encode.light.names import NAMES, Names
from bsx.encode.light.proto import MICROSOFT, Graph
from bsx.encode.light.reduced import reduced
from bsx.encode.light.weights import StoredArrays
from bsx.support.untyped import JsonObject

TOKENS = ("batch", "tokens")


class GraphBuilder:
    """A graph in the making.

    Args:
        settings: what `bsx.encode.light.settings.filled` says.
        weights: the checkpoint's.
        int8: reduce the weights of matrix products to eight bits.

    Attributes:
        graph: the graph.
        names: what the checkpoint's arrays are called.
        dim: size of a state.
        heads: attention heads.
        mask: 1 for tokens, 0 for padding (batch, tokens).
    """

    def __init__(self, settings: JsonObject, weights: StoredArrays, *, int8: bool) -> None:
        self.settings = settings
        self.weights = weights
        self._int8 = int8
        self.names: Names = NAMES[settings["model_type"]]
        self.dim: int = settings["hidden_size"]
        self.heads: int = settings["num_attention_heads"]
        self.epsilon = float(settings["layer_norm_eps"])
        self.graph = Graph()
        self.mask = self.graph.input("mask", np.int32, TOKENS)

    def array(self, name: str, *shape: int) -> str:
        """Take up an array of the checkpoint."""
        return self.graph.array(name, self.weights.get(name, shape))

    def product(self, state: str, name: str, rows: int, columns: int) -> str:
        """Multiply by a matrix (rows, columns) of the checkpoint, of which a row makes one number."""
        if self._int8:
            matrix = self.weights.get(f"{name}.weight", (rows, columns))
            return reduced(self.graph, state, name, matrix)
        return self.graph.node(
            "FusedMatMul", state, self.array(f"{name}.weight", rows, columns), domain=MICROSOFT, transB=1
        )

    def normalised(self, state: str, name: str, size: int) -> str:
        """Bring the numbers of each token to mean and spread of a layer of the checkpoint."""
        scale, shift = self.array(f"{name}.weight", size), self.array(f"{name}.bias", size)
        return self.graph.node("LayerNormalization", state, scale, shift, axis=-1, epsilon=self.epsilon)

    def constant(self, values: Sequence[int]) -> str:
        """Write whole numbers into the graph."""
        return self.graph.constant(np.array(values, dtype=np.int64))
