"""Encoders run by ONNX Runtime on the CPU, their graph built from the checkpoint's own files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.encode.architecture import Architecture
from bsx.encode.devices import threads
from bsx.encode.light.graph import MICROSOFT, Byte, Encoder, Graph
from bsx.encode.light.settings import ACTIVATIONS, filled, known
from bsx.encode.light.weights import NAMES, StoredArrays, has_safetensors
from bsx.support.optional import need
from bsx.support.untyped import JsonObject, Untyped

# Threads that each have a batch need not wait for one another within it. More than these only take memory.
_AT_ONCE = 8
_BY_CONTENT = ("roberta", "xlm-roberta", "camembert", "mpnet")  # positions count tokens that are no padding


def obstacle(architecture: Architecture) -> str | None:
    """Return what keeps a checkpoint from being run without PyTorch, if anything."""
    said = architecture.said
    if not known(said):
        return f"bsx has no graph of the architecture {architecture.kind}"
    if architecture.trust_remote_code and said.get("auto_map"):
        return "it brings code of its own (auto_map in its config.json)"
    settings = filled(said)
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
        self._settings = filled(architecture.said)
        workers = threads()
        together = -(-workers // _AT_ONCE)
        self.at_once = workers // together
        weights = StoredArrays(architecture.folder, NAMES[architecture.kind].prefix)
        encoder = Encoder(self._settings, weights, self.layers, eight_bits=fast_bytes() if int8 else None)
        self._words = encoder.words
        self._arrays = encoder.graph.arrays  # the session looks at them where they are
        self._session = open_session(encoder.graph, together)
        self._wanted = [put.name for put in self._session.get_inputs()]

    def encode(self, ids: NDArray[np.int64], mask: NDArray[np.int64] | None) -> NDArray[np.float32]:
        """Encode a padded batch; see `bsx.encode.batching.Embedder.encode`."""
        words = self._words[ids]
        self._architecture.check_vectors(words[None], mask)
        given = {"words": words, **inputs(self._settings, ids, mask)}
        try:
            states = self._session.run(None, {name: given[name] for name in self._wanted})
        except Exception as error:
            if "allocate memory" in str(error):  # the runtime has no class of error for it
                raise MemoryError(str(error)) from error
            raise
        vectors: NDArray[np.float32] = states[0][None] if len(states) == 1 else np.stack(states)
        self._architecture.check_vectors(vectors, mask)
        return vectors

    def begin(self, ids: NDArray[np.int64], mask: NDArray[np.int64] | None) -> Callable[[], NDArray[np.float32]]:
        """Encode a padded batch at once; see `bsx.encode.batching.Embedder.begin`."""
        vectors = self.encode(ids, mask)
        return lambda: vectors


def inputs(
    settings: JsonObject, ids: NDArray[np.int64], mask: NDArray[np.int64] | None
) -> dict[str, NDArray[np.generic]]:
    """Return what a graph is given for a batch of ids (batch, tokens) with its mask."""
    present = np.ones(ids.shape, dtype=np.int32) if mask is None else mask.astype(np.int32)
    positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
    given: dict[str, NDArray[np.generic]] = {"mask": present}
    kind = settings["model_type"]
    if kind in _BY_CONTENT:
        pad = 1 if kind == "mpnet" else settings["pad_token_id"]
        content = (ids != pad).astype(np.int64)
        positions = np.cumsum(content, axis=1) * content + pad
    given["positions"] = np.ascontiguousarray(positions, dtype=np.int64)
    if kind == "mpnet":
        given["buckets"] = buckets(ids.shape[1])
    return given


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
    one = graph.constant(np.array(1, dtype=np.float32))
    graph.output(graph.node("MatMulIntegerToFloat", state, weights, one, one, domain=MICROSOFT, name="sums"), (1, 16))
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
