"""Soft pairwise accuracy: are metric and human judgments equally sure of which of two systems is better?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.correlation import FEW_ITEMS
from bsx.analysis.stats.preference import share_of_pairs
from bsx.analysis.stats.resample import (
    SAMPLED,
    Clustered,
    Sampled,
    Seed,
    all_counts,
    bootstrap_counts,
    drawn_units,
    percentile_interval,
    sampled_units,
    swaps,
)
from bsx.analysis.stats.results import Estimate
from bsx.analysis.stats.rowwise import mean_of_drawn_pairs
from bsx.analysis.stats.validate import clusters_of, grids, settings
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.optional import need

Method = Literal["permutation", "wmt", "normal"]


def soft_pairwise_accuracy(
    metric: ArrayLike,
    human: ArrayLike,
    *,
    method: Method = "permutation",
    permutations: int = 1000,
    resample: Sampled = "segments",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    names: Sequence[Hashable] = (),
    cluster: ArrayLike | None = None,
    families: Clustered = None,
) -> Estimate:
    """Return soft pairwise accuracy: 1 - mean |p_human - p_metric| over pairs of systems.

    p is the one-sided mid-p-value of a paired permutation test on segment scores: permutations that repeat the observed
    difference count half, so that it does not matter which system of a pair comes first, and two equal systems have
    1/2. The same permutations serve all pairs, and human judgments and metric alike.

    Source: Thompson, Mathur, Deutsch & Khayrallah 2024, equations 2 and 3.

    Args:
        metric: scores (systems, segments).
        human: human scores (systems, segments).
        method: ``permutation`` draws signs from ``seed``; ``normal`` needs none: p is the upper tail of
            sum(d) / sqrt(sum(d²)), the limit of many segments; ``wmt`` takes generator, single precision, sums and
            plain p-values of WMT's tool mt-metrics-eval, whose figures it repeats for 1,000 permutations if systems
            and segments are in the same order (``seed`` is not used, every cell is needed).
        permutations: random sign vectors.
        resample: what the interval resamples: ``segments``, ``systems`` (a pair of a system with itself is left out;
            fewer than 20 have the interval of `bsx.analysis.stats.preference.share_of_pairs` instead) or ``both``.
        confidence: level of the interval.
        resamples: bootstrap resamples for the interval; those of segments take the p-values of ``normal``. Resampled
            systems differ more than the observed ones do, so that interval may lie low.
        seed: of permutations and bootstrap.
        nan: ``error``, or ``omit``: a pair of systems is then compared on the segments that both have.
        names: what messages call the systems (systems,); their places from 0 unless given.
        cluster: number of the document that each segment belongs to (segments,); the interval then draws whole
            documents. The p-values remain those of segments, as published. None: segments are independent.
        families: number of each system's family (systems,), drawn as a whole where systems are resampled.

    Raises:
        InputError: if shapes differ, values are missing or infinite, two systems share no segment, or cells are missing
            with ``method="wmt"``.
    """
    choice("method", method, ("permutation", "wmt", "normal"))
    choice("resample", resample, tuple(SAMPLED))
    settings(resamples=min(resamples, permutations), confidence=confidence)
    x, y = grids({"metric": metric, "human": human}, nan=nan)
    if method == "wmt" and np.isnan(x).any():
        raise InputError(
            "method=wmt needs every system's score of every segment: drop segments or use method=permutation"
        )
    clusters = clusters_of(cluster, x.shape[1])
    i, j = np.triu_indices(len(x), k=1)
    differences = [z[i] - z[j] for z in (x, y)]  # each (pairs, segments)
    lonely = np.isnan(differences[0]).all(axis=1)
    if lonely.any():
        first = int(np.argmax(lonely))
        a, b = (repr(names[place]) if len(names) else place for place in (int(i[first]), int(j[first])))
        raise InputError(f"systems {a} and {b} share no segment, so they cannot be compared")
    differences = [np.nan_to_num(d, nan=0.0) for d in differences]  # adds nothing to any sum
    rng = np.random.default_rng(seed)
    if method == "normal":
        p = [_upper_tail(d.sum(axis=1), (d * d).sum(axis=1)) for d in differences]
    elif method == "wmt":
        of_wmt = wmt_signs(permutations, x.shape[1])
        p = [wmt_p_values(scores[None], of_wmt)[0] for scores in (x, y)]
    else:
        p = [np.zeros(len(d)) for d in differences]
        for mask in swaps(permutations, x.shape[1], rng):
            signs = np.where(mask, -1.0, 1.0)
            for d, reached in zip(differences, p, strict=True):
                beyond, slack = signs @ d.T - d.sum(axis=1), 1e-12 * np.abs(d).sum(axis=1)
                reached += (beyond > slack).sum(axis=0) + (np.abs(beyond) <= slack).sum(axis=0) / 2
        p = [reached / permutations for reached in p]
    gaps = np.abs(p[0] - p[1])
    over = sampled_units(resample, clusters)
    over = "families" if resample == "systems" and families is not None else over
    interval = f"bootstrap over {over}"
    if over == "systems" and len(x) < FEW_ITEMS:
        pairs = np.zeros((len(x), len(x)))
        pairs[i, j] = pairs[j, i] = 1 - gaps
        low, high = share_of_pairs(pairs, confidence)
        interval = "Wilson interval of the jackknife over systems"
    elif resample == "systems":
        drawn = mean_of_drawn_pairs(gaps, all_counts(resamples, len(x), rng, families))
        units = None if families is None else drawn_units(len(x), families)
        low, high = percentile_interval(1 - drawn, confidence, units)
    else:
        draws = []
        for counts in bootstrap_counts(resamples, x.shape[1], rng, clusters):
            tails = [_upper_tail(counts @ d.T, counts @ (d * d).T) for d in differences]
            drawn = np.abs(tails[0] - tails[1])
            chosen = all_counts(len(counts), len(x), rng) if resample == "both" else np.ones((len(counts), len(x)))
            draws.append(mean_of_drawn_pairs(drawn, chosen))
        units = None if resample != "segments" else drawn_units(x.shape[1], clusters)
        low, high = percentile_interval(1 - np.concatenate(draws), confidence, units)
    described = {"permutation": f"{permutations} permutations", "wmt": f"WMT's {permutations} permutations"}
    words = f"soft pairwise accuracy, {described.get(method, 'normal limit')}, {interval}"
    return Estimate(estimate=float(1 - gaps.mean()), ci=(low, high), n=len(x), method=words, confidence=confidence)


def wmt_signs(permutations: int, segments: int) -> NDArray[np.float32]:
    """Return the signs of mt-metrics-eval's permutations, from its generator (permutations, segments)."""
    draws = np.random.default_rng(4).random((permutations, segments), dtype=np.float32)
    return np.asarray(np.rint(draws) * np.float32(2) - np.float32(1))


def wmt_p_values(scores: Array, signs: NDArray[np.float32]) -> Array:
    """Return one-sided p-values of pairs of systems as mt-metrics-eval computes them, by single precision and sums.

    Scores are (matrices, systems, segments), signs those of `wmt_signs`; p-values are (matrices, pairs).
    """
    # The layout too decides how NumPy and BLAS round in single precision, which tips ties of permutations.
    single = np.array(scores, dtype=np.float32, order="C")
    observed = single.sum(axis=2)
    permuted = single @ signs.T if len(single) > 1 else (signs @ single[0].T).T[None]
    p_values = []
    for i, j in zip(*np.triu_indices(scores.shape[1], k=1), strict=True):
        reached = permuted[:, i] - permuted[:, j] >= (observed[:, i] - observed[:, j])[:, None]
        p_values.append(reached.mean(axis=1))
    return np.stack(p_values, axis=1)


def _upper_tail(total: Array, squares: Array) -> Array:
    """Return P(Z >= total / sqrt(squares)), and 1/2 where all differences are zero, as permutations would give."""
    sf = need("scipy.stats", "soft pairwise accuracy").norm.sf
    with np.errstate(invalid="ignore", divide="ignore"):
        p: Array = np.where(squares > 0, sf(total / np.sqrt(squares)), 0.5)
    return p
