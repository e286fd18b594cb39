"""The gain of an ensemble over its best member, with paired bootstrap intervals and Williams tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.ensemble.result import GroupGain
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.resample import bootstrap_counts, bootstrap_p, few_units
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.rowwise import pearson_rows, weighted_pearson
from bsx.analysis.stats.significance import williams_from_correlations
from bsx.analysis.stats.validate import several_units, vectors
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
        rivals: places of the members that the baseline is made of.
        choice: places of those that they were chosen from on these rows, or a part of them.
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
    rivals: Sequence[int] = ()
    choice: Sequence[int] = ()


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

    A resample draws units within each group; members and ensemble are correlated anew on the same rows. The weights are
    not learnt anew. Intervals and bootstrap tests allow for the choice of the best member: the best of several equal
    members looks better than it is, and choosing anew in every resample would count that twice. The true gain is the
    least of the gains over all members. So its interval goes from the least of their lower ends to the least of their
    upper ends, which hold for all members at once; and the test asks whether the ensemble beats each of them
    (intersection-union test, Berger 1982), which no choice can bias.

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
    if np.isnan(mean):
        return found, mean, (mean, mean), mean
    if len(found) == 1:
        return found, mean, found[0].ci, found[0].tests["bootstrap"].p
    # Each group's interval holds by itself; the errors of independent groups add up in squares (Zou & Donner 2008).
    down = float(np.linalg.norm([one.gain - one.ci[0] for one in found])) / len(found)
    up = float(np.linalg.norm([one.ci[1] - one.gain for one in found])) / len(found)
    # On average the ensemble must beat whichever member is best: in each group that with the least gain.
    average = np.mean([drawn[:, one] for drawn, one in draws], axis=0)
    return found, mean, (mean - down, mean + up), bootstrap_p(average, units=sum(one.units for one in found))[0]


def _group(
    measured: Measured, group: str, rows: Rows, resamples: int, confidence: float, rng: np.random.Generator
) -> tuple[GroupGain, tuple[Array, int]]:
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
    count = int(units.max()) + 1
    several_units(count, f"group {group!r}")
    parts = [weighted_pearson(scores, human, counts[:, units]) for counts in bootstrap_counts(resamples, count, rng)]
    drawn = np.concatenate(parts)
    chosen = range(k) if measured.baseline is None else [*measured.rivals]
    over = [relative(drawn[:, k], drawn[:, j]) for j in chosen]  # draws of the gain over each member
    gain = float(relative(r[k], r[best]))
    low, high = (
        (gain, gain)
        if np.isnan(gain)
        else _selected(r, drawn, list(chosen), measured.choice or list(chosen), confidence, count)
    )
    low, high = min(low, gain), max(high, gain)
    behind = int(np.nanargmax([bootstrap_p(drawn[:, k] - drawn[:, j], units=count)[0] for j in chosen]))
    test = williams_from_correlations(
        float(r[k]), float(r[best]), float(pearson_rows(scores[k], scores[best])), len(rows), confidence=confidence
    )
    rival = measured.metrics[best] if best < k else measured.baseline_name
    one = GroupGain(
        group=group,
        n=len(rows),
        units=count,
        members={name: float(r[j]) for j, name in enumerate(measured.metrics)},
        ensemble=float(r[k]),
        best=rival,
        best_r=float(r[best]),
        gain=gain,
        ci=(low, high),
        undefined_resamples=int(np.isnan(over[behind]).sum()),
        tests={
            "williams": replace(test, a="ensemble", b=rival),
            "bootstrap": Comparison(
                a="ensemble",
                b=rival,
                difference=test.difference,
                ci=(math.nan, math.nan),
                p=bootstrap_p(drawn[:, k] - drawn[:, chosen[behind]], units=count)[0],
                p_two_sided=math.nan,  # it asks for the better one of several members
                n=len(rows),
                method="difference of pearson, paired bootstrap",
                unit="item" if count == len(rows) else "set of rows",
            ),
        },
    )
    return one, (np.stack(over, axis=1), behind)


def _selected(
    r: Array, drawn: Array, rivals: Sequence[int], choice: Sequence[int], confidence: float, units: int
) -> tuple[float, float]:
    """Return the interval of the least gain over all members, or, if some are the rivals, of whichever was chosen.

    The ends are those of differences of Fisher's z, whose spread does not depend on how good a member looks, turned
    into gains at the ensemble's r. The upper ones, or both, hold for all members at once: max-t bands of joint draws.

    Args:
        r: correlations of members, ensemble and baseline.
        drawn: the same in resamples (resamples, …).
        rivals: places of the members to beat.
        choice: places of those they were chosen from on the same rows.
        confidence: level of the interval.
        units: sets of rows that are drawn.
    """
    least = len(drawn[0]) == len(rivals) + 1
    ensemble, limit = len(r) - (1 if least else 2), 1 - 1e-9
    z, table = (np.arctanh(np.clip(values, -limit, limit)) for values in (r, drawn))
    apart = (z[ensemble] - z)[choice]
    noise = (table[:, [ensemble]] - table)[:, choice] - apart
    noise = noise[~np.isnan(noise).any(axis=1)]
    tail = (1 - confidence) / 2
    spread = np.maximum(noise.std(axis=0), 1e-12)
    widened = spread * few_units(tail, units)
    scaled = noise / spread
    up = apart + float(np.quantile((-scaled).max(axis=1), 1 - tail)) * widened
    down = apart - np.quantile(scaled, 1 - tail, axis=0) * widened
    if not least:
        down = apart - float(np.quantile(scaled.max(axis=1), 1 - tail)) * widened
    held = np.isin(choice, rivals)
    ends = float(down[held].min()), float(up[held].min() if least else up[held].max())
    rivals = np.tanh(z[ensemble] - np.array(ends))
    gains = [float(r[ensemble] / rival - 1) if rival > 0 else float("inf") for rival in rivals]
    return gains[0], gains[1]
