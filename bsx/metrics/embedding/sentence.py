"""Cosines of sentence embeddings: any sentence-transformers model, on an encoder that other metrics share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.encode.states import States, normalise, segment_max, segment_sum
from bsx.errors import InputError
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.embedding.base import EncoderMetric
from bsx.support.arrays import Array, as_fp32, beside, fetch, finite, namespace, within
from bsx.support.optional import need
from bsx.support.tensors import load_arrays, load_weights
from bsx.support.untyped import Untyped, blaming

Pooling = Literal["mean", "cls", "max", "mean-sqrt", "last"]


class SentenceConfig(MetricConfig):
    """Settings of a sentence-embedding cosine."""

    model: Annotated[str | None, Field(description="Sentence encoder; the metric's own unless given.")] = None
    pooling: Annotated[
        Literal["model", "mean", "cls", "max", "mean-sqrt", "last"],
        Field(description="From tokens to a sentence; as the model's own files say unless given."),
    ] = "model"
    prefix: Annotated[
        str | None,
        Field(description="Text before each text, pooled with it (query:); as the registry says unless given."),
    ] = None
    max_tokens: Annotated[
        int | None,
        Field(ge=4, le=10**9, description="Tokens read of a text; as the model's own files say unless given."),
    ] = None
    multi_ref: MultiRef = "best"


@dataclass
class Dense:
    """A layer applied to sentence vectors: activation(x W' + b)."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32] | None
    activation: str


@dataclass
class Recipe:
    """What a sentence-transformers folder says happens after the encoder.

    Attributes:
        pooling: from tokens to one vector.
        dense: further layers, in order.
        max_tokens: tokens read of a text; None if the model's limit is meant.
        lowercase: whether texts are read in lower case.
        known: whether the folder says any of this; a plain encoder is mean-pooled.
    """

    pooling: list[Pooling] = field(default_factory=lambda: ["mean"])
    dense: list[Dense] = field(default_factory=list)
    max_tokens: int | None = None
    lowercase: bool = False
    known: bool = False

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that stand for the further layers."""
        total = hashlib.sha256()
        for layer in self.dense:
            arrays = [layer.weight] if layer.bias is None else [layer.weight, layer.bias]
            total.update(f"{layer.activation} {[array.shape for array in arrays]}".encode())
            for array in arrays:
                total.update(np.ascontiguousarray(array).tobytes())
        return total.hexdigest()[:8]

    @classmethod
    def read(cls, folder: Path) -> Recipe:
        """Read ``modules.json`` and the folders it names; other modules than those of a `Recipe` are refused."""
        listing = folder / "modules.json"
        if not listing.is_file():
            return cls()
        recipe = cls(known=True)
        with blaming(f"{folder}: its modules.json, or a file that it names, cannot be used"):
            prompts = folder / "config_sentence_transformers.json"
            if prompts.is_file() and _read(prompts).get("default_prompt_name"):
                raise InputError("puts a prompt before every text, which bsx does not do", file=folder)
            for module in _read(listing):
                kind, path = str(module["type"]).rpartition(".")[2], module["path"]
                if Path(path).is_absolute() or ".." in Path(path).parts:
                    raise InputError(f"{listing}: names {path!r}, which is outside the model's folder")
                if kind in ("Pooling", "Dense") and not (folder / path / "config.json").is_file():
                    raise InputError(f"lacks {path}, which its modules.json names: fetch it whole", file=folder)
                if kind == "Transformer":
                    if path:
                        raise InputError(f"keeps its encoder in {path}: name that folder as the model", file=folder)
                    limits = folder / "sentence_bert_config.json"
                    settings = _read(limits) if limits.is_file() else {}
                    recipe.max_tokens = settings.get("max_seq_length")
                    if recipe.max_tokens is not None and not recipe.max_tokens >= 1:
                        raise ValueError(f"it says max_seq_length {recipe.max_tokens}")
                    recipe.lowercase = bool(settings.get("do_lower_case"))
                elif kind == "Pooling":
                    recipe.pooling = _poolings(folder / path)
                elif kind == "Dense":
                    recipe.dense.append(_dense(folder / path))
                elif kind != "Normalize":  # the cosine does not see it
                    raise InputError(f"{listing}: names a module {kind}; bsx runs Pooling, Dense and Normalize")
        return recipe


def _read(file: Path) -> Untyped:
    return json.loads(file.read_text(encoding="utf-8"))


def _poolings(folder: Path) -> list[Pooling]:
    config = _read(folder / "config.json")
    names: dict[str, Pooling] = {"cls": "cls", "max": "max", "mean": "mean"}
    names |= {"mean_sqrt_len_tokens": "mean-sqrt", "lasttoken": "last"}
    modes = config.get("pooling_mode")
    if isinstance(modes, str):  # how newer versions write it, or as a list
        modes = [modes]
    elif not isinstance(modes, list):
        switches = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens"}
        modes = [key for key in names if config.get(f"pooling_mode_{switches.get(key, key)}")]
    unknown = [m for m in modes if m not in names]
    if unknown or not modes:
        raise InputError(f"{folder}/config.json: its pooling {unknown or 'none'} is not one of {', '.join(names)}")
    return [names[m] for m in modes]


def _dense(folder: Path) -> Dense:
    config = _read(folder / "config.json")
    name = str(config.get("activation_function", "torch.nn.modules.linear.Identity")).rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise InputError(f"{folder}/config.json: its activation {name} is not one of {', '.join(_ACTIVATIONS)}")
    file = folder / "model.safetensors"
    weights = load_arrays(file)[0] if file.is_file() else load_weights(folder)
    bias = weights.get("linear.bias")
    shape = tuple(weights["linear.weight"].shape)
    if len(shape) != 2 or 0 in shape or (bias is not None and tuple(bias.shape) != shape[:1]):
        raise InputError(f"its weights (model.safetensors) are no matrix with a bias: {shape}", file=folder)
    if not all(finite(fetch(array)) for array in weights.values()):
        raise InputError("the weights of its layer (model.safetensors) are no finite numbers", file=folder)
    return Dense(as_fp32(fetch(weights["linear.weight"])), None if bias is None else as_fp32(fetch(bias)), name)


_ACTIVATIONS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "Tanh": np.tanh,
    "Identity": lambda values: values,
    "ReLU": lambda values: np.maximum(values, np.float32(0)),
    "GELU": lambda values: values * need("scipy.special", "A sentence encoder with GELU").ndtr(values),
}


def pool(states: States, how: Pooling) -> Array:
    """Return one vector a text from the states of its tokens, special ones included: (texts, dim)."""
    vectors = states.vectors[-1]
    if how in ("cls", "last"):
        rows = states.offsets if how == "cls" else states.offsets + states.lengths - 1
        return vectors[beside(rows, vectors)]
    text_of = states.text_of()
    if how == "max":
        return segment_max(vectors, text_of, len(states.lengths))
    total = segment_sum(vectors, text_of, len(states.lengths))
    counts = states.lengths.astype(np.float32)
    return total / beside(counts if how == "mean" else np.sqrt(counts), vectors)[:, None]


def cosines(pairs: Pairs, vectors: Array, others: Array | None = None) -> NDArray[np.float64]:
    """Return the cosine of each pair's sentence vectors (texts, dim), those of its right sides ``others`` if given."""
    left = right = fetch(normalise(vectors)).astype(np.float64)
    if others is not None:
        right = fetch(normalise(others)).astype(np.float64)
    return products(left[pairs.left], right[pairs.right])


def products(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each row of unit vectors (pairs, dim) with the same row of others: (pairs,)."""
    return np.asarray(within(np.einsum("ij,ij->i", left, right)))


class SentenceCosine(EncoderMetric[SentenceConfig]):
    """Cosine of two sentence vectors. Source: Reimers & Gurevych 2019, section 3; the model card for its modules."""

    Config = SentenceConfig
    takes_context = True

    def setup(self) -> None:
        """Find the encoder and read what happens after it."""
        config = self.config
        self.open_model()
        folder, entry = self.located.checkpoint.folder, self.located.choice.entry
        self._recipe = Recipe.read(folder)
        limit = config.max_tokens or self._recipe.max_tokens
        before = config.prefix if config.prefix is not None else (entry and entry.prefix) or ""
        self.tokenizer = self.located.tokenizer(limit=limit, before=before, keep_before=True, context=self.context > 0)
        self._pooling: list[Pooling] = self._recipe.pooling if config.pooling == "model" else [config.pooling]
        if self.context and {"cls", "last"} & {*self._pooling}:
            how = f"pooling={'+'.join(self._pooling)}"
            raise self.without_context(f"{how} makes a vector of one token, which stands for the context too")
        size = self.located.architecture.dimensions * len(self._pooling)
        for dense in self._recipe.dense:
            made, takes = dense.weight.shape
            if takes != size:
                problem = f"a layer that its modules.json names takes vectors of {takes} numbers, and gets {size}"
                raise InputError(problem, file=folder)
            size = made
        layer = getattr(config, "layer", None)  # which not every one of its settings has
        self._layer = self.depth if layer is None else layer
        self.use_layers([self._layer])

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when the model is no sentence encoder."""
        if self._recipe.known or self.config.pooling != "model" or self.tokenizer.before:
            return ()
        return (f"{self.spec}: {self.located.choice.name} is no sentence-transformers model; its tokens are averaged",)

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the model's fields and how sentences are pooled."""
        pooling = "+".join(self._pooling)
        if self._recipe.dense:
            pooling += f"+dense*{len(self._recipe.dense)}@{self._recipe.digest}"
        case = {"case": "lower"} if self._recipe.lowercase else {}
        return {**super().signature_fields(fitted), "pooling": pooling, **case, "prefix": self.tokenizer.before or "no"}

    def pooled(self, texts: Sequence[str]) -> tuple[Array, NDArray[np.int64]]:
        """Return what pooling makes of each text (texts, dim), and the tokens that the model's limit cut off."""
        states = self.states([text.lower() for text in texts] if self._recipe.lowercase else texts)
        pools = [pool(states, how) for how in self._pooling]
        return namespace(pools[0]).concatenate(pools, axis=-1), states.lost

    def finished(self, vectors: Array) -> Array:
        """Return sentence vectors: what the model's dense layers make of pooled ones."""
        for layer in self._recipe.dense:
            made = fetch(vectors) @ layer.weight.T
            vectors = _ACTIVATIONS[layer.activation](made if layer.bias is None else made + layer.bias)
        return vectors

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        vectors, lost = self.pooled(pairs.texts)
        return PairScores(cosines(pairs, self.finished(vectors)), lost)
