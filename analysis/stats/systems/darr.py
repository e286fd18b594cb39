"""WMT's relative rankings from direct assessment (DARR): Kendall's tau over pairs that were clearly told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.resample import Seed, bootstrap_counts, compared, percentile_interval
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.analysis.stats.validate import clusters_of, grids, settings, vectors
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice

Ties = Literal["discordant", "drop", "half"]
Unit = Literal["segment", "judgment"]
TIES = ("discordant", "drop", "half")
_SIDES = ("better", "worse")


@dataclass(frozen=True, kw_only=True, repr=False)
class DarrTau(Estimate):
    """A metric's tau over human preferences: (C - D) / (C + D), where its ties count as the ``ties`` setting says.

    Attributes:
        concordant: pairs for which the metric strictly prefers what human judgments prefer.
        discordant: pairs for which it strictly prefers the other.
        ties: pairs it scores alike.
        segments: segments that have at least one pair.
    """

    concordant: int
    discordant: int
    ties: int
    segments: int


Cells = tuple[NDArray[np.int64], NDArray[np.int64]]


def preferences(human: ArrayLike, *, threshold: float = 25.0, nan: NanPolicy = "error") -> tuple[Cells, Cells]:
    """Return the better and the worse cell of each pair of systems that human scores of a segment tell apart.

    Those are scores that differ by the threshold or more. Cells are rows and columns (pairs,), so that
    ``metric[better]`` are a metric's scores of the better sides, and ``better[1]`` the segments. Human scores are raw
    direct assessment (systems, segments), human references excluded; ``nan="omit"`` where not every system was judged
    on every segment.

    Source: Ma et al. 2018, section 3.2.2 (relative rankings from raw direct assessment, 25 of 100 points or more).

    Raises:
        InputError: if values are missing or infinite, or the threshold is not above 0.
    """
    (scores,) = grids({"human": human}, nan=nan)
    if not threshold > 0:
        raise InputError(f"threshold={threshold}: it must be above 0, or equal scores would count as preferences")
    i, j = np.triu_indices(len(scores), k=1)
    difference = scores[i] - scores[j]  # (system pairs, segments)
    pair, segment = np.nonzero(np.abs(difference) >= threshold)  # NaN is never
    first = difference[pair, segment] > 0
    return (np.where(first, i[pair], j[pair]), segment), (np.where(first, j[pair], i[pair]), segment)


def darr_from_pairs(
    better: ArrayLike,
    worse: ArrayLike,
    segment: ArrayLike | None = None,
    *,
    ties: Ties = "discordant",
    unit: Unit = "segment",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> DarrTau:
    """Return a metric's tau over given preference pairs.

    Source: Ma et al. 2018 for tau. Pairs of one segment depend on each other, so resampling segments gives wider and
    more honest intervals than resampling judgments, which is WMT's practice.

    Args:
        better: metric score of the side that human judgments prefer (pairs,).
        worse: metric score of the other side (pairs,).
        segment: segment of each pair (pairs,), numbers or names; needed for ``unit="segment"``.
        ties: a pair the metric scores alike is ``discordant`` (WMT's practice), left out (``drop``), or ``half``
            concordant and half discordant.
        unit: what the bootstrap resamples, ``segment`` or ``judgment`` (the pair).
        confidence: level of the interval.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
        nan: ``error``, or ``omit`` to leave out pairs that miss a score.
        cluster: number of the document of each pair's segment (pairs,); with ``unit="segment"`` whole documents are
            then drawn. None: segments are independent.

    Raises:
        InputError: if sizes differ, scores are missing or infinite, there are no pairs, or segments are not given.
    """
    settings(resamples=resamples, confidence=confidence)
    (outcome,), groups, names, over = _outcomes({"": (better, worse)}, segment, ties, unit, nan, cluster)
    counts = np.stack([outcome > 0, outcome < 0, outcome == 0]).astype(np.float64)  # (3, pairs)
    draws = tau_of(_resampled(counts, groups, unit, resamples, seed), ties)
    concordant, discordant, tied = (int(c) for c in counts.sum(axis=1))
    return DarrTau(
        estimate=float(tau_of(counts.sum(axis=1), ties)),
        ci=percentile_interval(draws, confidence, None if unit == "judgment" else int(groups.max()) + 1),
        concordant=concordant,
        discordant=discordant,
        ties=tied,
        n=len(outcome),
        segments=names,
        method=f"DARR tau, ties {ties}, bootstrap by {over}",
        confidence=confidence,
    )


def compare_darr(
    a: tuple[ArrayLike, ArrayLike],
    b: tuple[ArrayLike, ArrayLike],
    segment: ArrayLike | None = None,
    *,
    ties: Ties = "discordant",
    unit: Unit = "segment",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: Seed = 1,
    nan: NanPolicy = "error",
    cluster: ArrayLike | None = None,
) -> Comparison:
    """Compare two metrics' taus over the same preference pairs by paired bootstrap.

    Source: Ma et al. 2018, section 5 (both taus in each resample; p is the share in which a's is not above b's).

    ``a`` and ``b`` are the metrics' scores of the better and worse sides, 2 x (pairs,) each: ``metric[better]`` and
    ``metric[worse]`` of the cells that `preferences` returns. Other arguments and errors: as for `darr_from_pairs`.
    """
    settings(resamples=resamples, confidence=confidence)
    outcomes, groups, _, over = _outcomes({"a_": a, "b_": b}, segment, ties, unit, nan, cluster)
    # All combinations of the two outcomes, so that resampling keeps them paired.
    joint = np.stack([(outcomes[0] == s) & (outcomes[1] == t) for s in (1, -1, 0) for t in (1, -1, 0)])
    resampled = _resampled(joint.astype(np.float64), groups, unit, resamples, seed).reshape(-1, 3, 3)
    draws = tau_of(resampled.sum(axis=2), ties) - tau_of(resampled.sum(axis=1), ties)
    total = joint.sum(axis=1).reshape(3, 3)
    tau_a, tau_b = float(tau_of(total.sum(axis=1), ties)), float(tau_of(total.sum(axis=0), ties))
    method = f"difference of DARR taus, ties {ties}, paired bootstrap by {over}"
    units = None if unit == "judgment" else int(groups.max()) + 1
    return compared(tau_a, tau_b, draws, joint.shape[1], method, confidence, units)


def tau_of(counts: ArrayLike, ties: Ties = "discordant") -> Array:
    """Return tau of counts (…, 3) of concordant, discordant and tied pairs: (…,); NaN where no pair is left."""
    concordant, discordant, tied = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    if ties == "discordant":
        discordant, tied = discordant + tied, np.zeros_like(tied)
    elif ties == "drop":
        tied = np.zeros_like(tied)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Array = np.asarray((concordant - discordant) / (concordant + discordant + tied))
    return tau


def _outcomes(
    metrics: dict[str, tuple[ArrayLike, ArrayLike]],
    segment: ArrayLike | None,
    ties: Ties,
    unit: Unit,
    nan: NanPolicy,
    cluster: ArrayLike | None,
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64], int, str]:
    """Return each metric's sign of better - worse (pairs,), what is drawn with each pair (pairs,), segments, a word.

    What is drawn is the pair's segment, or its document; the word says which, or that judgments are.
    """
    choice("unit", unit, ("segment", "judgment"))
    choice("ties", ties, TIES)
    columns = {f"{name}{side}": z for name, sides in metrics.items() for side, z in zip(_SIDES, sides, strict=True)}
    pairs = len(np.atleast_1d(np.asarray(next(iter(columns.values())))))
    if segment is None and unit == "segment":
        raise InputError("segment is missing: give the segment of each pair, or unit=judgment")
    labels = np.arange(pairs) if segment is None else np.asarray(segment)
    numbers = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.float64)
    documents = clusters_of(cluster, pairs, "pairs")
    places = np.arange(pairs, dtype=np.float64)
    *scores, kept, rows = vectors({**columns, "segment": numbers, "": places}, nan=nan, minimum=1)
    differences = (better - worse for better, worse in zip(scores[::2], scores[1::2], strict=True))
    outcomes = [np.sign(difference).astype(np.int64) for difference in differences]
    drawn = kept if documents is None or unit == "judgment" else documents[rows.astype(np.int64)]
    groups = np.unique(drawn, return_inverse=True)[1].reshape(-1).astype(np.int64)
    over = unit if documents is None or unit == "judgment" else "document"
    return outcomes, groups, len(np.unique(kept)), over


def _resampled(counts: Array, groups: NDArray[np.int64], unit: Unit, resamples: int, seed: Seed) -> Array:
    """Return the sums of counts (kinds, pairs) in bootstrap resamples of segments or pairs: (resamples, kinds)."""
    if unit == "judgment":
        # Drawing n pairs with replacement is one multinomial draw over the kinds of pairs.
        n = counts.shape[1]
        share = counts.sum(axis=1) / n
        return np.random.default_rng(seed).multinomial(n, share, size=resamples).astype(np.float64)
    by_segment = np.stack([np.bincount(groups, weights=kind) for kind in counts], axis=1)  # (segments, kinds)
    return np.concatenate([c @ by_segment for c in bootstrap_counts(resamples, len(by_segment), seed)])
