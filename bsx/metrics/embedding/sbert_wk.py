"""SBERT-WK: sentence vectors from how words move through the layers."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.encode.states import segment_sum
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.embedding.base import EncoderMetric
from bsx.metrics.embedding.sentence import cosines
from bsx.support.arrays import Array, as_fp64, beside, fetch, namespace

WindowRule = Literal["corrected", "released"]


class SbertWkConfig(MetricConfig):
    """Settings of SBERT-WK."""

    model: Annotated[str | None, Field(description="Encoder; the paper's unless given.")] = None
    mode: Annotated[
        Literal["dissecting", "last-mean"],
        Field(description="The paper's weighting of layers, or the plain mean of the last layer (ave_last_hidden)."),
    ] = "dissecting"
    first_layer: Annotated[int, Field(ge=0, le=10_000, description="The lowest layer that takes part.")] = 4
    window: Annotated[int, Field(ge=1, le=10_000, description="Neighbouring layers on either side.")] = 2
    window_rule: Annotated[
        WindowRule,
        Field(
            description="The window of the second layer: its one left neighbour, or none, a defect of the released "
            "code (its negative index makes the window empty)."
        ),
    ] = "corrected"
    multi_ref: MultiRef = "best"


def layer_weights(gram: NDArray[np.float64], window: int, rule: WindowRule = "corrected") -> NDArray[np.float64]:
    """Return how much each layer counts in each word's vector (tokens, layers).

    For every layer, the new direction it brings beyond its neighbours (novelty), and how little it agrees with them
    (alignment), both from the R of a QR decomposition of neighbours and layer. Source: Wang & Kuo 2020, section III-B,
    with the code's mean over neighbours.

    Args:
        gram: inner products of each token's layer vectors (tokens, layers, layers). R depends on nothing else: it is
            the Cholesky factor, up to signs that cancel.
        window: neighbouring layers on either side.
        rule: ``released`` repeats the released code, in which the second layer has no left neighbours.
    """
    tokens, layers, _ = gram.shape
    alignment, novelty = np.zeros((tokens, layers)), np.zeros((tokens, layers))
    for k in range(layers):
        first = max(0, k - window)
        if rule == "released" and 0 < k < window:
            first = k  # the slice from a negative start is empty
        members = [*range(first, k), *range(k + 1, min(layers, k + window + 1)), k]
        r = _triangle(gram[:, members][:, :, members])
        last = r[:, :, -1]
        head, rest = r[:, :-1, :-1], last[:, :-1]
        lengths = np.linalg.norm(head, axis=1, keepdims=True)
        mean = _divide(head, lengths).sum(axis=2) / max(1, len(members) - 1)  # a layer alone has no neighbours
        cosine = _divide((mean * rest).sum(axis=1), np.linalg.norm(rest, axis=1))
        alignment[:, k] = _divide(np.ones(tokens), 2 * len(members) * cosine)
        novelty[:, k] = _divide(np.abs(last[:, -1]), np.linalg.norm(last, axis=1))
    weights = _divide(alignment, alignment.sum(axis=1, keepdims=True))
    weights = weights + _divide(novelty, novelty.sum(axis=1, keepdims=True))
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1 / layers, _divide(weights, total))


def _triangle(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return R with R'R = gram, for many small matrices at once; a vector that brings nothing new has a zero row."""
    size = gram.shape[-1]
    r = np.zeros_like(gram)
    for i in range(size):
        rest = gram[:, i, i] - (r[:, :i, i] ** 2).sum(axis=1)
        # Below this share of its length, what is left of a vector is rounding.
        pivot = np.where(rest > 1e-12 * gram[:, i, i], np.sqrt(np.maximum(rest, 0)), 0)
        r[:, i, i] = pivot
        for j in range(i + 1, size):
            r[:, i, j] = _divide(gram[:, i, j] - (r[:, :i, i] * r[:, :i, j]).sum(axis=1), pivot)
    return r


def _divide(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a / b, 0 where b is 0."""
    return np.asarray(a / np.where(b == 0, 1, b) * (b != 0))


class SbertWk(EncoderMetric[SbertWkConfig]):
    """Cosine of sentence vectors made of all layers. Source: Wang & Kuo 2020, section III."""

    Config = SbertWkConfig

    def setup(self) -> None:
        """Find the encoder."""
        config = self.config
        self.open_model()
        first = self.depth if config.mode == "last-mean" else config.first_layer
        self.located.architecture.check_layer(first)
        self.use_layers(range(first, self.depth + 1))

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        config = self.config
        states = self.states(pairs.texts)
        keep = np.ones(len(states.ids), dtype=bool)
        keep[states.offsets + states.lengths - 1] = False  # the last token, [SEP], takes no part
        states = states.select(keep)
        text_of = states.text_of()
        if config.mode == "last-mean":
            words, weights = as_fp64(states.vectors[-1]), np.ones(len(states.ids))
        else:
            words, weights = dissect(states.vectors, config.window, config.window_rule)
            total = np.bincount(text_of, weights, minlength=len(states.lengths))[text_of]
            # One token alone, or layers that are all alike: every token counts the same.
            weights = np.where(total > 0, weights, 1.0)
        weighed = words * beside(weights, words)[:, None]
        return PairScores(cosines(pairs, segment_sum(weighed, text_of, len(states.lengths))), states.lost)


def dissect(layers: Array, window: int, rule: WindowRule = "corrected") -> tuple[Array, NDArray[np.float64]]:
    """Return each word's unified vector (tokens, dim) and its weight in the sentence (tokens,), not normalised.

    ``layers`` are hidden states (layers, tokens, dim), lowest layer first; for the rest see `layer_weights`.
    """
    xp = namespace(layers)
    by_token = as_fp64(xp.moveaxis(layers, 0, 1))
    gram: NDArray[np.float64] = fetch(by_token @ by_token.mT)
    alpha = beside(layer_weights(gram, window, rule), layers)
    words = xp.einsum("tk,tkd->td", alpha, by_token)
    lengths = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    neighbours = np.diagonal(gram, offset=1, axis1=1, axis2=2)
    adjacent = _divide(neighbours, lengths[:, :-1] * lengths[:, 1:])
    weights = adjacent.var(axis=1) if adjacent.shape[1] else np.ones(len(gram))
    return words, weights
