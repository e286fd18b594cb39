"""The gain of an ensemble over its best member, with paired bootstrap intervals and Williams tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.ensembles.result import GroupGain
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.resample import bootstrap_counts, bootstrap_p, percentile_interval
from bsx.analysis.stats.rowwise import pearson_rows, weighted_pearson
from bsx.analysis.stats.significance import williams_from_correlations
from bsx.analysis.stats.validate import vectors
from bsx.errors import InputError
from bsx.support.checks import Array


@dataclass(frozen=True)
class Measured:
    """Columns to compare.

    Attributes:
        metrics: names of the members.
        members: their scores, higher is better (n, k).
        ensemble: (n,).
        baseline: scores of the member that was chosen without the rows (n,), or None: the best of the rows themselves.
        baseline_name: what to call it.
        human: (n,).
        groups: name of each row's group (n,).
        of: unit of each row, which the bootstrap draws as a whole (n,).
    """

    metrics: Sequence[str]
    members: Array
    ensemble: Array
    baseline: Array | None
    baseline_name: str
    human: Array
    groups: Sequence[str]
    of: Rows


def relative(ensemble: Array, best: Array) -> Array:
    """Return ensemble / best - 1, NaN where best is not above 0.

    Source: the gains of Kaster, Zhao & Eger 2021, Table 13.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, ensemble / best - 1, np.nan)


def gains(
    measured: Measured, *, resamples: int, confidence: float, seed: int
) -> tuple[list[GroupGain], float, tuple[float, float], float]:
    """Compare an ensemble with its best member in each group and on average.

    A resample draws units within each group; members and ensemble are correlated anew on the same rows, and where the
    best member is that of the rows, it is chosen anew. The weights are not.

    Returns:
        The groups, the average gain, its interval, and its one-sided bootstrap p.

    Raises:
        InputError: naming the group and the column that has too few rows or does not vary.
    """
    rng = np.random.default_rng(seed)
    labels = np.array(measured.groups, dtype=object).astype(str)
    found, draws = [], []
    for group in dict.fromkeys(measured.groups):
        rows = np.flatnonzero(labels == group)
        one, drawn = _group(measured, group, rows, resamples, confidence, rng)
        found.append(one)
        draws.append(drawn)
    mean = float(np.mean([one.gain for one in found]))
    average = np.mean(draws, axis=0)  # a resample in which one group's gain is undefined has no average
    if np.isnan(mean):
        return found, mean, (mean, mean), mean
    return found, mean, percentile_interval(average, confidence), bootstrap_p(average)[0]


def _group(
    measured: Measured, group: str, rows: Rows, resamples: int, confidence: float, rng: np.random.Generator
) -> tuple[GroupGain, Array]:
    columns = {
        **{name: measured.members[rows, j] for j, name in enumerate(measured.metrics)},
        "the ensemble": measured.ensemble[rows],
        "human": measured.human[rows],
    }
    try:
        vectors(columns, minimum=4, varied=True)
    except InputError as error:
        raise InputError(f"group {group!r}: {error}") from error
    human = columns.pop("human")
    k = len(measured.metrics)
    scores = np.stack(list(columns.values()))
    if measured.baseline is not None:
        scores = np.vstack([scores, measured.baseline[rows]])
    r = pearson_rows(scores, human)
    best = int(np.argmax(r[:k])) if measured.baseline is None else k + 1
    units = np.unique(measured.of[rows], return_inverse=True)[1]
    parts = [
        weighted_pearson(scores, human, counts[:, units])
        for counts in bootstrap_counts(resamples, int(units.max()) + 1, rng)
    ]
    drawn = np.concatenate(parts)
    with np.errstate(invalid="ignore"):
        rivals = drawn[:, :k].max(axis=1) if measured.baseline is None else drawn[:, k + 1]
    gain_draws = relative(drawn[:, k], rivals)
    gain = float(relative(r[k], r[best]))
    low, high = (gain, gain) if np.isnan(gain) else percentile_interval(gain_draws, confidence)
    test = williams_from_correlations(
        float(r[k]), float(r[best]), float(pearson_rows(scores[k], scores[best])), len(rows), confidence=confidence
    )
    one = GroupGain(
        group=group,
        n=len(rows),
        members={name: float(r[j]) for j, name in enumerate(measured.metrics)},
        ensemble=float(r[k]),
        best=measured.metrics[best] if best < k else measured.baseline_name,
        best_r=float(r[best]),
        gain=gain,
        low=low,
        high=high,
        williams=test,
        bootstrap_p=bootstrap_p(drawn[:, k] - rivals)[0],
        undefined=int(np.isnan(gain_draws).sum()),
    )
    return one, gain_draws
