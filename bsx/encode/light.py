"""Encoders run by ONNX Runtime on the CPU: BERT and its relatives, cut at the layers that are wanted.

Their graph is built from the checkpoint's own files.

Inputs are ``words``, the vectors of the pieces (batch, tokens, size), ``positions`` and ``mask`` (batch, tokens), and
``buckets`` (tokens, tokens) where attention knows relative positions; outputs are the states (batch, tokens, dim) of
the wanted layers.

In eight bits, a matrix has a step for each number that it makes, and states have a step and a zero for each token, so
that a vector does not depend on what else is in its batch. Whole numbers are multiplied exactly, on every processor.

Source: Devlin et al. 2019, section 3, with what each architecture changes, as transformers computes it.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.encode.architecture import (
    ACTIVATIONS,
    NAMES,
    TYPED,
    Architecture,
    Names,
    StoredArrays,
    filled,
    has_safetensors,
    known,
)
from bsx.encode.run_config import threads
from bsx.support.optional import need
from bsx.support.untyped import JsonObject, Untyped

# Models are written without the package onnx: the few messages of its protocol buffers. Source: onnx.proto, IR
# version 8. A field is its number and wire type, then a varint, four bytes, or a length and bytes.
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

    def constant(self, value: float | Sequence[int], dtype: type[np.generic] = np.int64) -> str:
        """Write a number, or a few, into the model."""
        self._names += 1
        name, values = f"constant_{self._names}", np.array(value, dtype=dtype)
        dims = b"".join(_number(1, size) for size in values.shape)
        stored = dims + _number(2, TYPES[values.dtype]) + _bytes(8, name) + _bytes(9, values.tobytes())
        self._parts.append(_bytes(5, stored))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", name: str = "", **attributes: Attribute) -> str:
        """Add an operator; returns the name of its first output. An optional input that is left out is ``""``."""
        self._names += 1
        name = name or f"value_{self._names}"
        content = b"".join(_bytes(1, value) for value in inputs) + _bytes(2, name) + _bytes(4, operator)
        content += b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items())
        self._parts.append(_bytes(1, content + _bytes(7, domain)))
        return name

    def model(self) -> bytes:
        """Return the model."""
        graph = b"".join(self._parts) + _bytes(2, "encoder")
        opsets = (_bytes(8, _bytes(1, domain) + _number(2, v)) for domain, v in (("", _OPSET), (MICROSOFT, 1)))
        return _number(1, _IR_VERSION) + _bytes(7, graph) + b"".join(opsets)


_ZERO = 128  # what stands for zero in an unsigned byte of a weight, and is taken from every byte of a state
Byte = type[np.int8] | type[np.uint8]
_LEAST_STEP = float(np.finfo(np.float32).tiny)
TOKENS = ("batch", "tokens")


class GraphBuilder:
    """Builds the graph of one encoder, of settings as `bsx.encode.architecture.filled` says them.

    Matrix products in eight bits take weights as ``eight_bits`` says: signed bytes or unsigned ones.
    """

    def __init__(self, settings: JsonObject, weights: StoredArrays, *, eight_bits: Byte | None) -> None:
        self.settings = settings
        self.weights = weights
        self._eight_bits = eight_bits
        self._rounded: dict[str, tuple[str, str, str]] = {}
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
        graph = self.graph
        if self._eight_bits is None:
            matrix = self.array(f"{name}.weight", rows, columns)
            product = graph.node("FusedMatMul", state, matrix, domain=MICROSOFT, transB=1)
            return graph.node("Add", product, self.array(f"{name}.bias", rows)) if bias else product
        if state not in self._rounded:
            self._rounded[state] = self._round(state, columns)
        rounded, state_step, column = self._rounded[state]
        weights = self.weights.get(f"{name}.weight", (rows, columns))
        step = np.abs(weights).max(axis=1) / np.float32(127)  # of each row; its numbers go from -127 to 127 steps
        steps = np.rint(weights / np.where(step > 0, step, np.float32(1))[:, None]).astype(np.int8)
        zeros = [graph.constant(_ZERO, np.uint8)]
        stored: NDArray[np.generic] = steps.T.copy()
        if self._eight_bits is np.uint8:
            stored, zeros = (stored.astype(np.int16) + _ZERO).astype(np.uint8), zeros * 2
        arrays = graph.array(f"{name}.int8", stored), graph.constant(1, np.float32), graph.array(f"{name}.step", step)
        # The state's scale is 1 here: each token has its own step, multiplied in at the end.
        product = graph.node("MatMulIntegerToFloat", rounded, *arrays, *zeros, domain=MICROSOFT)
        # What the shift and the bias add is one product of two columns and two rows.
        added = [steps.sum(axis=1, dtype=np.int64) * step]
        if bias:
            added.append(self.weights.get(f"{name}.bias", (rows,)))
            column = graph.node("Pad", column, graph.constant([0, 0, 0, 0, 0, 1]), graph.constant(1, np.float32))
        both = graph.node("MatMul", column, graph.array(f"{name}.added", np.stack(added).astype(np.float32)))
        return graph.node("Add", graph.node("Mul", product, state_step), both)

    def _round(self, state: str, size: int) -> tuple[str, str, str]:
        """Write the numbers of each token in bytes, of which 0 is the least of them and 255 the largest.

        Returns:
            Names of the bytes (batch, tokens, size), which are states as ``step * (bytes - zero)``; of the step of each
            token (batch, tokens, 1); and of ``step * (128 - zero)``, because the product takes 128 from every byte.
        """
        graph, number = self.graph, functools.partial(self.graph.constant, dtype=np.float32)
        zero = number(0)
        least = graph.node("Min", graph.node("ReduceMin", state, axes=(-1,), keepdims=1), zero)
        most = graph.node("Max", graph.node("ReduceMax", state, axes=(-1,), keepdims=1), zero)
        step = graph.node("Mul", graph.node("Sub", most, least), number(1 / 255))
        step = graph.node("Max", step, number(_LEAST_STEP))
        zeros = graph.node("Round", graph.node("Neg", graph.node("Div", least, step)))
        shift = graph.node("Mul", graph.node("Sub", number(_ZERO), zeros), step)
        each = [graph.node("Reshape", value, graph.constant([-1])) for value in (step, graph.node("Cast", zeros, to=2))]
        flat = graph.node("Reshape", state, graph.constant([-1, size]))
        steps = graph.node("QuantizeLinear", flat, *each, axis=0)
        return graph.node("Reshape", steps, graph.node("Shape", state)), step, shift

    def normalised(self, state: str, name: str, size: int) -> str:
        """Bring the numbers of each token to mean and spread of a layer of the checkpoint."""
        scale, shift = self.array(f"{name}.weight", size), self.array(f"{name}.bias", size)
        return self.graph.node("LayerNormalization", state, scale, shift, axis=-1, epsilon=self.epsilon)

    def encoder(self, layers: Sequence[int]) -> NDArray[np.float32]:
        """Build the encoder, with some layers as outputs.

        Returns:
            Vectors of all pieces (vocabulary, size), a view of their file: the runtime would copy them.
        """
        settings, names, graph = self.settings, self.names, self.graph
        kind = settings["model_type"]
        size = settings.get("embedding_size", self.dim) if kind in ("electra", "albert") else self.dim
        words = self.weights.get(f"{names.words}.weight", (settings["vocab_size"], size), whole=False)
        state = graph.input("words", np.float32, (*TOKENS, size))
        if kind in TYPED:
            types = self.weights.get(f"{names.types}.weight", (settings["type_vocab_size"], size))
            state = graph.node("Add", state, graph.array(names.types, types[0]))  # all tokens are of the first type
        positions = graph.input("positions", np.int64, TOKENS)
        table = self.array(f"{names.positions}.weight", settings["max_position_embeddings"], size)
        state = graph.node("Add", state, graph.node("Gather", table, positions))
        state = self.normalised(state, names.norm, size)
        if kind == "albert" or (kind == "electra" and size != self.dim):
            state = self.product(state, names.projection, self.dim, size, bias=True)
        bias = ""
        if kind == "mpnet":  # to attention is added a number for each bucket of distances
            distances = graph.input("buckets", np.int64, ("tokens", "tokens"))
            count = settings["relative_attention_num_buckets"]
            table = self.array("encoder.relative_attention_bias.weight", count, self.heads)
            bias = graph.node("Transpose", graph.node("Gather", table, distances), perm=(2, 0, 1))
            bias = graph.node("Unsqueeze", bias, graph.constant([0]))
        for number in range(max(layers) + 1):
            if number:
                state = self._layer(names.layer.format(number - 1), state, bias)
            if number in layers:
                graph.output(graph.node("Identity", state, name=f"layer_{number}"), (*TOKENS, self.dim))
        return words

    def _layer(self, at: str, state: str, bias: str) -> str:
        names, dim, inner, graph = self.names, self.dim, self.settings["intermediate_size"], self.graph
        three = [at + name for name in (names.query, names.key, names.value)]
        biases = np.concatenate([self.weights.get(f"{name}.bias", (dim,)) for name in three])
        mixed = graph.node(
            "MultiHeadAttention",
            *(self.product(state, name, dim, dim) for name in three),
            graph.array(f"{at}biases", biases),
            self.mask,
            bias,
            domain=MICROSOFT,
            num_heads=self.heads,
            mask_filter_value=float(np.finfo(np.float32).min),
        )
        mixed = self.product(mixed, at + names.mixed, dim, dim, bias=True)
        # A sum and its normalisation take less than half as long as the runtime's SkipLayerNormalization.
        state = self.normalised(graph.node("Add", mixed, state), at + names.mixed_norm, dim)
        wide = self.product(state, at + names.inner, inner, dim, bias=True)
        operator = ACTIVATIONS[self.settings["hidden_act"]]
        wide = graph.node(operator, wide, domain="" if operator == "Relu" else MICROSOFT)
        narrow = self.product(wide, at + names.outer, dim, inner, bias=True)
        return self.normalised(graph.node("Add", narrow, state), at + names.outer_norm, dim)


# Threads that each have a batch need not wait for one another within it. More than these only take memory.
_AT_ONCE = 8
_BY_CONTENT = ("roberta", "xlm-roberta", "camembert", "mpnet")  # positions count tokens that are no padding


def obstacle(architecture: Architecture) -> str | None:
    """Return what keeps a checkpoint from being run without PyTorch, if anything."""
    stored = architecture.stored
    if not known(stored):
        return f"bsx has no graph of the architecture {architecture.kind}"
    if architecture.trust_remote_code and stored.get("auto_map"):
        return "it brings code of its own (auto_map in its config.json)"
    settings = filled(stored)
    for name in ("num_hidden_groups", "inner_group_num"):
        if settings.get(name) not in (None, 1):
            return f"{name} is {settings[name]} in its config.json"
    if settings["hidden_act"] not in [*ACTIVATIONS]:  # it may be a list
        return f"its activation is {settings['hidden_act']}"
    if settings["hidden_size"] % settings["num_attention_heads"]:
        return "its heads do not share its dimensions evenly"
    if not has_safetensors(architecture.folder):
        return "its weights are not in safetensors files"
    return None


class LightEmbedder:
    """An encoder cut at its highest wanted layer; see `bsx.encode.batching.Embedder` for its attributes.

    Args:
        architecture: what `Architecture.read` says of the checkpoint, without `obstacle`.
        layers: the layers it returns, in order.
        int8: multiply in eight bits.

    Raises:
        InputError: if the weights are damaged or not those that the configuration says.
    """

    def __init__(self, architecture: Architecture, layers: Sequence[int], *, int8: bool = False) -> None:
        self.layers = list(layers)
        self.dimensions = architecture.dimensions
        self.device = "cpu"
        self.pad_id = architecture.pad_id
        self.ignores_padding = True
        self.queues = False
        self._architecture = architecture
        self._settings = filled(architecture.stored)
        workers = threads()
        together = -(-workers // _AT_ONCE)
        self.at_once = workers // together
        weights = StoredArrays(architecture.folder, NAMES[architecture.kind].prefix)
        builder = GraphBuilder(self._settings, weights, eight_bits=fast_bytes() if int8 else None)
        self._words = builder.encoder(self.layers)
        self._arrays = builder.graph.arrays  # the session looks at them where they are
        self._session = open_session(builder.graph, together)
        self._wanted = [put.name for put in self._session.get_inputs()]

    def begin(self, ids: NDArray[np.int64], mask: NDArray[np.int64] | None) -> Callable[[], NDArray[np.float32]]:
        """Encode a padded batch at once; see `bsx.encode.batching.Embedder.begin`."""
        words = self._words[ids]
        self._architecture.check_vectors(words[None], mask)
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        kind = self._settings["model_type"]
        if kind in _BY_CONTENT:
            pad = 1 if kind == "mpnet" else self._settings["pad_token_id"]  # transformers fixes MPNet's at 1
            content = (ids != pad).astype(np.int64)
            positions = np.cumsum(content, axis=1) * content + pad
        given = {
            "words": words,
            "mask": np.ones(ids.shape, dtype=np.int32) if mask is None else mask.astype(np.int32),
            "positions": np.ascontiguousarray(positions, dtype=np.int64),
        }
        if kind == "mpnet":
            given["buckets"] = buckets(ids.shape[1])
        try:
            states = self._session.run(None, {name: given[name] for name in self._wanted})
        except Exception as error:
            if "allocate memory" in str(error):  # the runtime has no class of error for it
                raise MemoryError(str(error)) from error
            raise
        vectors: NDArray[np.float32] = states[0][None] if len(states) == 1 else np.stack(states)
        self._architecture.check_vectors(vectors, mask)
        return lambda: vectors


def buckets(tokens: int, count: int = 32, furthest: int = 128) -> NDArray[np.int64]:
    """Return the bucket of the distance between each two tokens (tokens, tokens), as MPNet counts them.

    Half of them for either direction; of each half, the first for single distances, the others for wider and wider
    ranges of them. Source: Raffel et al. 2020, section 2.1.
    """
    distance = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
    half = count // 2
    exact = half // 2
    far = np.abs(distance)
    with np.errstate(divide="ignore"):
        # In fp32, as PyTorch computes it: on a boundary the format decides.
        ratio = np.log(far.astype(np.float32) / np.float32(exact)) / np.float32(np.log(furthest / exact))
        ranged = exact + np.where(far > 0, ratio * np.float32(half - exact), 0).astype(np.int64)
    within = np.where(far < exact, far, np.minimum(ranged, half - 1))
    return within + np.where(distance < 0, half, 0)


@functools.cache
def fast_bytes() -> Byte:
    """Return the weights of which this processor makes exact products fastest: signed bytes, if it does with them.

    Those without instructions for such products (AVX-VNNI, AVX-512 VNNI) add pairs of them in sixteen bits, which is
    too few for the largest. The runtime multiplies unsigned bytes in another way.
    """
    graph = Graph()
    state = graph.input("state", np.uint8, (1, "size"))
    weights = graph.array("weights", np.full((64, 16), 127, dtype=np.int8))
    unit = graph.constant(1, np.float32)
    graph.output(graph.node("MatMulIntegerToFloat", state, weights, unit, unit, domain=MICROSOFT, name="sums"), (1, 16))
    sums = open_session(graph).run(None, {"state": np.full((1, 64), 255, dtype=np.uint8)})[0]
    return np.int8 if (sums == 64 * 127 * 255).all() else np.uint8


def open_session(graph: Graph, together: int = 1) -> Untyped:
    """Open a graph for the CPU; so many threads share the work of one batch."""
    runtime: Untyped = need("onnxruntime", "Scoring with encoders")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = together
    options.log_severity_level = 3
    # Batches differ in shape: a plan of memory for each would only take room.
    options.enable_mem_pattern = False
    # The graph is made of the runtime's own operators: there is nothing to fuse.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    values = [runtime.OrtValue.ortvalue_from_numpy(array) for array in graph.arrays.values()]
    options.add_external_initializers(list(graph.arrays), values)
    return runtime.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
