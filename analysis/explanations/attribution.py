"""What each word of a text adds to a score, for any metric: erasure, and Shapley values exactly or by sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Number, Shown

Kept = NDArray[np.bool_]
Value = Callable[[Kept], Array]
"""From which words are kept (texts, words) to the scores of those texts (texts,)."""


@dataclass(frozen=True, repr=False)
class Attribution(Shown):
    """What words add.

    Attributes:
        values: of each word (n,): how much higher the score is with it.
        whole: score of the whole text.
        none: score without any word; NaN for erasure, which does not ask for it.
        evaluations: distinct texts that were scored.
        exact: whether nothing was sampled.
    """

    values: tuple[Number, ...]
    whole: float
    none: Number
    evaluations: int
    exact: bool


def erasure(value: Value, words: int) -> Attribution:
    """Return what the score loses when each word is taken out of the text (Li, Monroe and Jurafsky 2016, section 3).

    Args:
        value: the score of texts of which some words are kept.
        words: how many there are, n; n + 1 texts are scored.

    Raises:
        InputError: if a score is not a finite number.
    """
    kept = ~np.eye(words + 1, words, k=-1, dtype=bool)  # the whole text first
    scores = _scores(value, kept)
    return Attribution(_numbers(scores[0] - scores[1:]), float(scores[0]), math.nan, len(kept), exact=True)


def shapley(value: Value, words: int, *, budget: int = 256, seed: int = 1) -> Attribution:
    """Return the words' Shapley values, whose sum is the score of the whole text less that of none.

    All texts are scored if there are no more than the budget. Otherwise permutations are drawn, each followed by its
    reverse, and a word's value is the mean of what it adds to the words before it; the sum stays exact.

    Source: Shapley 1953; Castro, Gómez and Tejada 2009 for the sampling; Mitchell et al. 2022, section 4.1, for pairs
    of a permutation and its reverse.

    Args:
        value: the score of texts of which some words are kept.
        words: how many there are, n.
        budget: distinct texts to score; one permutation, n + 1 texts, is always drawn.
        seed: of the permutations.

    Raises:
        InputError: if the budget is below 2, or a score is not a finite number.
    """
    if budget < 2:
        raise InputError(f"budget={budget}: at least two texts are scored, with all words and with none")
    if words < 63 and 2**words <= budget:
        return _exact(value, words)
    rng = np.random.default_rng(seed)
    known: dict[bytes, int] = {}
    rows: list[Kept] = []
    chains: list[tuple[NDArray[np.int64], list[int]]] = []
    order = np.arange(words)
    while True:
        order = order[::-1] if len(chains) % 2 else rng.permutation(words)
        rank = np.argsort(order)
        chain = rank[None, :] < np.arange(words + 1)[:, None]  # none of the words, the first, the first two, …
        keys = [row.tobytes() for row in chain]
        new = [place for place, key in enumerate(keys) if key not in known]
        if chains and len(rows) + len(new) > budget:
            break
        for place in new:
            known[keys[place]] = len(rows)
            rows.append(chain[place])
        chains.append((order, [known[key] for key in keys]))
        if len(chains) >= budget:  # of two words, say, there are no more new ones
            break
    scores = _scores(value, np.stack(rows))
    total = np.zeros(words)
    for drawn, places in chains:
        total[drawn] += np.diff(scores[places])
    ends = chains[0][1]
    return Attribution(
        _numbers(total / len(chains)), float(scores[ends[-1]]), float(scores[ends[0]]), len(rows), exact=False
    )


def _exact(value: Value, words: int) -> Attribution:
    """Score every coalition; row number r of the table keeps the words whose bits are set in r."""
    numbers = np.arange(2**words)
    kept = (numbers[:, None] >> np.arange(words)[None, :] & 1).astype(bool)
    scores = _scores(value, kept)
    sizes = kept.sum(axis=1)
    weights = np.array([1 / (words * math.comb(words - 1, size)) for size in range(words)])
    values = np.empty(words)
    for word in range(words):
        without = numbers[~kept[:, word]]
        values[word] = weights[sizes[without]] @ (scores[without | 1 << word] - scores[without])
    return Attribution(_numbers(values), float(scores[-1]), float(scores[0]), len(kept), exact=True)


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(values.tolist())


def _scores(value: Value, kept: Kept) -> Array:
    scores = np.asarray(value(kept), dtype=np.float64)
    if scores.shape != (len(kept),):
        raise InputError(f"the score of {len(kept)} texts has shape {scores.shape}, not ({len(kept)},)")
    if not np.isfinite(scores).all():
        raise InputError("a text without some of its words has no finite score")
    return scores
