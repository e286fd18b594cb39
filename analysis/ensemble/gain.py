"""The gain of an ensemble over its best member, with paired bootstrap intervals and Williams tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bsx.analysis.ensemble.result import GroupGain
from bsx.analysis.ensemble.settings import EnsembleSettings
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.resample import bootstrap_counts, bootstrap_p, few_units
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.rowwise import pearson_rows, weighted_pearson
from bsx.analysis.stats.significance import williams_from_correlations
from bsx.analysis.stats.validate import several_units, vectors
from bsx.errors import InputError
from bsx.support.checks import Array


@dataclass
class Measured:
    """Columns to compare.

    Attributes:
        metrics: names of the members.
        members: their scores, higher is better (n, k).
        ensemble: (n,).
        human: (n,).
        groups: name of each row's group (n,).
        of: unit of each row, which the bootstrap draws as a whole (n,).
        baseline: scores of the member that was chosen without the rows (n,), or None: the best of the rows themselves.
        baseline_name: what to call it.
        rivals: places of the members that the baseline is made of.
        choice: places of those that they were chosen from on these rows, or a part of them.
    """

    metrics: Sequence[str]
    members: Array
    ensemble: Array
    human: Array
    groups: Sequence[str]
    of: Rows
    baseline: Array | None = None
    baseline_name: str = ""
    rivals: Sequence[int] = ()
    choice: Sequence[int] = ()


def relative(ensemble: Array, best: Array) -> Array:
    """Return ensemble / best - 1, NaN where best is not above 0.

    Source: the gains of Kaster, Zhao & Eger 2021, Table 13.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, ensemble / best - 1, np.nan)


def gains(measured: Measured, settings: EnsembleSettings) -> dict[str, Any]:
    """Return, as fields of an `EnsembleResult`, how an ensemble compares with its best member by group and on average.

    A resample draws units within each group; members and ensemble are correlated anew on the same rows. The weights are
    not learnt anew. Intervals and bootstrap tests allow for the choice of the best member: the best of several equal
    members looks better than it is, and choosing anew in every resample would count that twice. The true gain is the
    least of the gains over all members. So its interval goes from the least of their lower ends to the least of their
    upper ends, which hold for all members at once; and the test asks whether the ensemble beats each of them
    (intersection-union test, Berger 1982), which no choice can bias.
    """
    rng = np.random.default_rng(settings.seed)
    labels = np.array(measured.groups, dtype=object).astype(str)
    groups, draws = [], []
    for name in dict.fromkeys(measured.groups):
        rows = np.flatnonzero(labels == name)
        group, drawn = _group(measured, name, rows, settings, rng)
        groups.append(group)
        draws.append(drawn)
    tests = [group.tests["bootstrap"] for group in groups]
    gain, ends = _mean([(group.gain, group.ci) for group in groups])
    difference, difference_ends = _mean([(test.difference, test.ci) for test in tests])
    p = tests[0].p
    if len(groups) > 1:
        # On average the ensemble must beat whichever member is best: in each group that with the least gain.
        over = [relative(*drawn) if np.isfinite(ends).all() else drawn[0] - drawn[1] for drawn in draws]
        p = bootstrap_p(np.mean(over, axis=0), units=sum(group.units for group in groups))[0]
    average = {"average_gain": gain, "average_ci": ends, "average_p": p}
    average |= {"average_difference": difference, "average_difference_ci": difference_ends}
    return {"groups": tuple(groups), **average}


def _mean(parts: Sequence[tuple[float, tuple[float, float]]]) -> tuple[float, tuple[float, float]]:
    """Return the mean of groups and its interval: the errors of independent groups add up in squares.

    Source: Zou & Donner 2008.
    """
    values = np.array([value for value, _ in parts])
    ends = np.array([end for _, end in parts])
    down, up = np.linalg.norm(ends - values[:, None], axis=0) / len(parts)
    mean = float(values.mean())
    return mean, (mean - float(down), mean + float(up))


def _group(
    measured: Measured, group: str, rows: Rows, settings: EnsembleSettings, rng: np.random.Generator
) -> tuple[GroupGain, tuple[Array, Array]]:
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
    confidence, every = settings.confidence, bootstrap_counts(settings.resamples, count, rng)
    drawn = np.concatenate([weighted_pearson(scores, human, counts[:, units]) for counts in every])
    chosen = [*range(k)] if measured.baseline is None else [*measured.rivals]
    ends, difference_ends = _selected(r, drawn, float(r[best]), chosen, measured.choice or chosen, confidence, count)
    p = [bootstrap_p(drawn[:, k] - drawn[:, j], units=count)[0] for j in chosen]
    behind = chosen[int(np.nanargmax(p))]
    test = williams_from_correlations(
        float(r[k]), float(r[best]), float(pearson_rows(scores[k], scores[best])), len(rows), confidence=confidence
    )
    rival = measured.metrics[best] if best < k else measured.baseline_name
    gain = GroupGain(
        group=group,
        n=len(rows),
        units=count,
        members={name: float(r[j]) for j, name in enumerate(measured.metrics)},
        ensemble=float(r[k]),
        best=rival,
        best_r=float(r[best]),
        gain=float(relative(r[k], r[best])),
        ci=ends,
        tests={
            "williams": replace(test, a="ensemble", b=rival),
            "bootstrap": Comparison(
                a="ensemble",
                b=rival,
                difference=test.difference,
                ci=difference_ends,
                p=max(p),
                p_two_sided=math.nan,  # it asks for the better one of several members
                n=len(rows),
                method="difference of pearson, paired bootstrap",
                unit="item" if count == len(rows) else "set of rows",
            ),
        },
    )
    return gain, (drawn[:, k], drawn[:, behind])


def _selected(
    r: Array, drawn: Array, best: float, rivals: Sequence[int], choice: Sequence[int], confidence: float, units: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the intervals of gain and difference over the best of all members, or over whichever was chosen.

    The interval of a ratio t of the ensemble's r to a member's holds what t may be if the one less t times the other
    is 0. Both vary, and together, as in the resamples; the interval of each is that of Fisher's z, whose spread does
    not depend on how good a member looks. Where a member's r may be 0, t has no bound. An end away from 0 is passed if
    it is for any member, so that these ends hold for all at once (max-t bands of joint draws).

    Source: Fieller 1954 for ratios; Zou 2007 for the interval of a sum of correlations that depend on each other.

    ``r`` are correlations of members, ensemble and baseline, ``drawn`` the same in resamples (resamples, …); ``best``
    is that of the member or baseline that the gain is over. ``rivals`` are places of the members to beat, ``choice`` of
    those they were chosen from on the same rows. ``units`` sets of rows are drawn.
    """
    least, limit, tail = len(r) == len(rivals) + 1, 1 - 1e-9, (1 - confidence) / 2
    places, widened = [*choice, len(r) - (1 if least else 2)], few_units(tail, units)
    z, table = (np.arctanh(np.clip(values, -limit, limit)) for values in (r[places], drawn[:, places]))
    noise = table - z
    noise = noise[~np.isnan(noise).any(axis=1)]
    spread = np.maximum(noise.std(axis=0), 1e-12)
    standard = (noise - noise.mean(axis=0)) / spread
    alike = np.clip((standard[:, :-1] * standard[:, [-1]]).mean(axis=0), -1, 1)
    members, ensemble, kept = np.tanh(z[:-1]), np.tanh(z[-1]), np.isin(choice, rivals)

    def reach(sign: int, away: bool) -> tuple[Array, Array]:
        """Return how far the ensemble's r reaches down (sign -1) or up, and the members' down (away from 0) or up."""
        off = noise[:, [-1]] - noise[:, :-1]
        off *= -sign / np.maximum(off.std(axis=0), 1e-12)
        steps = widened * np.quantile(off.max(axis=1) if away or not least else off, 1 - tail, axis=0)
        ends = np.tanh(z[-1] + sign * steps * spread[-1]), np.tanh(z[:-1] + (-steps if away else steps) * spread[:-1])
        return np.abs(ends[0] - ensemble), np.abs(ends[1] - members)

    # Of a baseline that was made of several members, r is none of theirs: intervals hold what was seen.
    gains, differences = [ensemble / best - 1 if best > 0 else math.nan], [ensemble - best]
    for sign in (-1, 1):
        up, above = sign > 0, z[-1] + sign * widened * np.quantile(-sign * noise[:, -1], 1 - tail) >= 0
        away = up == above
        ends = ratio_ends(ensemble, members, alike, *reach(sign, away), sign, away)[kept]
        gains.append(float((np.min if (above if least else not up) else np.max)(ends)) - 1)
        a, b = reach(sign, up)
        ends = (ensemble - members + sign * np.sqrt(np.maximum(a * a - 2 * alike * a * b + b * b, 0)))[kept]
        differences.append(float((np.min if least or not up else np.max)(ends)))
    return (min(gains), max(gains)) if best > 0 else (-math.inf, math.inf), (min(differences), max(differences))


def ratio_ends(estimate: float, others: Array, alike: Array, a: Array, b: Array, sign: int, away: bool) -> Array:
    """Return the upper (sign 1) or lower end of the ratio t of one estimate to each of others (k,).

    Source: Fieller 1954, with the reach of Zou 2007: of estimate - t others, sqrt(a² - 2 t ρ a b + t² b²).

    Args:
        estimate: above the line.
        others: estimates below it (k,).
        alike: correlations ρ of the estimates' errors (k,).
        a: how far the estimate may be from what it is, in the direction of the end (k,).
        b: how far the others may be, towards 0 if the end is away from 0, else away from it (k,).
        sign: -1 or 1.
        away: whether the end lies away from 0; infinite where one of the others may be 0.
    """
    square, product, constant = others**2 - b**2, estimate * others - alike * a * b, estimate**2 - a**2
    root = np.sqrt(np.maximum(product**2 - square * constant, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        if away:
            return np.where(others > b, (product + sign * root) / square, sign * np.inf)
        return np.where(others > -b, constant / (product - sign * root), -sign * np.inf)
