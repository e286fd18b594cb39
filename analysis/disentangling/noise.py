"""Noise in factors: how much of their variance it is, coefficients without it, and when others would vanish."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from bsx.analysis.disentangling.result import Reliability, SharedErrors, TippingPoint
from bsx.analysis.disentangling.standard_errors import Errors
from bsx.analysis.stats.resample import Seed
from bsx.analysis.stats.rowwise import quadratic_form
from bsx.data.columns import TableLike, column_names, number_column, standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped

_HUMAN = re.compile(r"(?:^|[^a-z])(sem|human)(?:$|[^a-z])")


@dataclass(frozen=True)
class ReliabilityEstimate(Reliability):
    """A reliability with what it rests on.

    Attributes:
        influence: of each row on it (n,); all 0 for a stated one.
        times: what that is to be multiplied by.
    """

    influence: Array = field(repr=False, compare=False)
    times: float = 1.0


def human_factors(factors: Sequence[str]) -> list[str]:
    """Return the factors whose name says that they are human judgments: ``sem`` or ``human`` as a word of it."""
    return [name for name in factors if _HUMAN.search(name.casefold())]


def with_repeats(table: TableLike, repeat: Mapping[str, Sequence[str]]) -> TableLike:
    """Return a table to which every factor that was measured repeatedly is added: the mean of its standardised columns.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        repeat: factor -> the columns that measure it.

    Raises:
        InputError: for under two columns, or a column in the table that has the factor's name and is none of them.
    """
    if not repeat:
        return table
    results = {name: table[name] for name in column_names(table)}
    for factor, names in repeat.items():
        if len(set(names)) < 2:
            raise InputError(f"repeat: {factor}: name at least two columns that measure {factor}")
        unknown = [name for name in names if name not in results]
        if unknown:
            raise InputError(f"repeat: {factor}: there is no column {unknown[0]!r}")
        if factor in results and factor not in names:
            raise InputError(
                f"repeat: {factor}: there is a column {factor!r} already, which is none of {', '.join(names)}; give "
                "the mean of these a name of its own"
            )
    for factor, names in repeat.items():
        columns = [number_column(name, table[name]) for name in names]
        for name, column in zip(names, columns, strict=True):
            there = column[~np.isnan(column)]
            if len(there) and np.ptp(there) == 0:
                raise InputError(
                    f"repeat: {factor}: column {name!r} has the value {there[0]:g} in every row: leave it out"
                )
        with np.errstate(invalid="ignore", divide="ignore"):
            results[factor] = np.mean([(c - np.nanmean(c)) / np.nanstd(c) for c in columns], axis=0)
    return results


def cronbach(factor: str, columns: Mapping[str, Array]) -> ReliabilityEstimate:
    """Return the reliability of the mean of several standardised columns: Cronbach's alpha, here ICC(3, k).

    Source: Cronbach 1951 (standardised alpha, k r / (1 + (k - 1) r) with the mean correlation r); Spearman 1910 and
    Brown 1910 for the formula.

    Raises:
        InputError: if the columns do not go together.
    """
    z = [standardise(name, values) for name, values in columns.items()]
    pairs, k = list(combinations(range(len(z)), 2)), len(z)
    mean = min(1.0, float(np.mean([z[a] @ z[b] / len(z[a]) for a, b in pairs])))
    if mean <= 0:
        raise InputError(
            f"repeat: {factor}: the columns {', '.join(columns)} do not measure the same thing: they correlate "
            f"{mean:.2f} on average"
        )
    influences = [_influence(z[a], z[b]) for a, b in pairs]
    value = k * mean / (1 + (k - 1) * mean)
    influence = np.mean(influences, axis=0) * k / (1 + (k - 1) * mean) ** 2
    return ReliabilityEstimate(factor, value, f"Cronbach's alpha of {', '.join(columns)}", influence)


def stated(factor: str, value: float, rows: int) -> ReliabilityEstimate:
    """Return a reliability that somebody states.

    Raises:
        InputError: unless it is above 0 and at most 1.
    """
    if not 0 < value <= 1:
        raise InputError(f"reliability: {factor}={value:g}: a reliability is above 0 and at most 1")
    return ReliabilityEstimate(factor, value, "as stated", np.zeros(rows))


def _influence(a: Array, b: Array) -> Array:
    """Return each row's influence on the correlation of two standardised columns (n,)."""
    return a * b - float(a @ b / len(a)) * (a * a + b * b) / 2


def if_errors_correlate(estimate: ReliabilityEstimate, columns: int, share: float) -> ReliabilityEstimate:
    """Return the reliability of a mean of columns whose errors correlate, from Cronbach's alpha.

    Alpha takes all that columns have in common for what they measure. If their errors correlate by a share s, their
    correlation is r = t + (1 - t) s with t the true reliability of one column, and that of the mean of k columns is
    k t / (1 + (k - 1) r).

    Source: Green & Hershberger 2000 and Raykov 2001, on alpha with correlated errors.

    Args:
        estimate: alpha, with errors taken to be independent.
        columns: how many columns the mean is of.
        share: correlation of their errors, below that of the columns.
    """
    r = estimate.value / (columns - (columns - 1) * estimate.value)
    one, spread = (r - share) / (1 - share), 1 + (columns - 1) * r
    source = f"{estimate.source}, errors correlating {share:g}"
    times = spread / (1 - share) - one * (columns - 1)
    return replace(estimate, value=columns * one / spread, source=source, times=times)


SIMEX_SCALES = (0.5, 1.0, 1.5, 2.0)
VARIANCES = 10


@dataclass(frozen=True)
class Corrected:
    """Coefficients without noise in the factors, one row a metric.

    Attributes:
        coef: per standard deviation of the noise-free factor (m, p).
        se: (m, p).
        r2: share of the metric's variance that the noise-free factors explain (m,).
    """

    coef: Array
    se: Array
    r2: Array


class Moments:
    """What correcting needs of the data: correlations, and how rows move them.

    A row's influence on a correlation of columns a, b is ``a b - r (a² + b²) / 2``, so its influence on every
    coefficient is linear in the products of its cells. The sums of their products, over clusters or weighted by
    1 / (1 - leverage) as HC3 does, are all that a standard error takes.

    Args:
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        known: place of a factor -> its reliability, for those that are estimated.
        errors: clusters, if there are any.
    """

    def __init__(self, x: Array, y: Array, known: Mapping[int, ReliabilityEstimate], errors: Errors) -> None:
        n, p = x.shape
        self.correlations, self.responses = x.T @ x / n, y.T @ x / n
        self.pairs = [(a, b) for a in range(p) for b in range(a, p)]
        self.squares = np.array([place for place, (a, b) in enumerate(self.pairs) if a == b])
        self.crossed = np.array([place for place, (a, b) in enumerate(self.pairs) if a != b], dtype=np.int64)
        self.left, self.right = np.array(self.pairs)[self.crossed].T
        self.moving = [place for place, reliability in known.items() if reliability.influence.any()]
        weight = _weight(x, errors)
        shared = [x[:, a] * x[:, b] for a, b in self.pairs] + [known[place].influence for place in self.moving]
        self.products = []
        for column in y.T:
            cells = np.column_stack([*shared, x * column[:, None], column * column]) * weight
            self.products.append(_spread(cells, errors))

    def correct(self, known: Mapping[int, ReliabilityEstimate]) -> Corrected:
        """Return coefficients without the noise of known reliability, by the method of moments.

        The noise of a factor is taken to be independent of everything else, so it adds to the factor's variance and to
        nothing else; the correlation matrix of the factors gets their reliabilities on its diagonal, and the
        coefficients follow. They are multiplied by the root of the reliability, so that they are per standard deviation
        of the factor without noise. Standard errors are those of the delta method and the sandwich; they allow for
        standardising, and for reliabilities that are estimated.

        Source: Fuller 1987, section 3.1.2, for known reliability; Huber 1967 for the sandwich.

        Args:
            known: place of a factor -> its reliability; the others are taken to be free of noise.

        Raises:
            InputError: for reliabilities that the data rule out.
        """
        p = len(self.correlations)
        share = np.ones(p)
        for place, reliability in known.items():
            share[place] = reliability.value
        corrected = self.correlations.copy()
        np.fill_diagonal(corrected, share)
        if np.linalg.eigvalsh(corrected)[0] < 1e-6:
            which = ", ".join(f"{item.factor} {item.value:.2f}" for item in known.values())
            raise InputError(
                f"the data rule these reliabilities out ({which}): the other factors would explain more of a factor "
                "than there is of it without noise"
            )
        inverse, root = np.linalg.inv(corrected), np.sqrt(share)
        beta = self.responses @ inverse  # (m, p)
        first = len(self.pairs) + len(self.moving)
        se = np.empty_like(beta)
        for j, coef in enumerate(beta):
            score, rest = np.zeros((p, first + p + 1)), np.zeros((p, first + p + 1))
            fitted = self.correlations @ coef
            score[:, first : first + p] = np.eye(p)
            score[:, first + p] = -0.5 * self.responses[j]
            score[:, self.squares] = 0.5 * self.correlations * coef
            score[np.arange(p), self.squares] += 0.5 * (fitted - self.responses[j]) - coef
            score[self.left, self.crossed] = -coef[self.right]
            score[self.right, self.crossed] = -coef[self.left]
            for k, place in enumerate(self.moving):
                if place in known and known[place].influence.any():
                    score[place, len(self.pairs) + k] = -coef[place] * known[place].times
                    rest[place, len(self.pairs) + k] = 0.5 * coef[place] / root[place] * known[place].times
            influence = root[:, None] * (inverse @ score) + rest
            se[j] = np.sqrt([quadratic_form(row, self.products[j]) for row in influence])
        return Corrected(beta * root, se, np.einsum("mp,mp->m", beta, self.responses))


def simex(
    x: Array, y: Array, known: Mapping[int, ReliabilityEstimate], errors: Errors, *, simulations: int, seed: Seed
) -> Corrected:
    """Return coefficients without noise by simulation and extrapolation (SIMEX).

    More noise is added to the factors, 0.5, 1, 1.5 and 2 times what they have; a parabola through the mean coefficients
    is followed back to where there would be none. That removes most of the noise's effect, not all: a parabola falls
    short where reliability is low.

    Source: Cook & Stefanski 1994; Stefanski & Cook 1995 for the standard errors.

    Args:
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        known: place of a factor -> its reliability.
        errors: clusters, if there are any.
        simulations: of each amount of noise.
        seed: of the noise.
    """
    n, p = x.shape
    rng = np.random.default_rng(seed)
    noise = np.zeros(p)
    root = np.ones(p)
    for place, reliability in known.items():
        noise[place], root[place] = np.sqrt(1 - reliability.value), np.sqrt(reliability.value)
    coefs, variances, r2s, weight = [], [], [], _weight(x, errors)
    for scale in (0.0, *SIMEX_SCALES):
        drawn, sampled = [], []
        for k in range(simulations if scale else 1):
            noisy = x.copy()
            for place in known if scale else ():
                noisy[:, place] += np.sqrt(scale) * noise[place] * rng.normal(size=n)
            inverse = np.linalg.inv(noisy.T @ noisy / n)
            coef = y.T @ noisy / n @ inverse
            drawn.append(coef)
            if k < VARIANCES:  # they hardly differ from draw to draw
                score = [
                    _spread(noisy * (column - noisy @ own)[:, None] * weight, errors)
                    for column, own in zip(y.T, coef, strict=True)
                ]
                sampled.append([np.diag(inverse @ item @ inverse) for item in score])
        coefs.append(np.mean(drawn, axis=0))
        spread = np.var(drawn, axis=0, ddof=1) if len(drawn) > 1 else 0.0
        variances.append(np.mean(sampled, axis=0) - spread)
        r2s.append(np.einsum("mp,mp->m", coefs[-1], y.T @ x / n))
    places = np.array([0.0, *SIMEX_SCALES])
    design = np.column_stack([np.ones_like(places), places, places**2])
    # The least-squares parabola at -1 as weights of the points.
    back = np.array([1.0, -1.0, 1.0]) @ np.linalg.pinv(design)
    variance = np.tensordot(back, np.array(variances), axes=1)
    return Corrected(
        np.tensordot(back, np.array(coefs), axes=1) * root,
        np.sqrt(np.maximum(variance, 0)) * root,
        np.tensordot(back, np.array(r2s), axes=1),
    )


def reference(errors: Errors) -> Untyped:
    """Return the distribution that coefficients over their standard errors are referred to, of scipy."""
    stats = need("scipy.stats", "the regression")
    many = errors.few()
    return stats.norm() if many is None else stats.t(many - 1)


def _weight(x: Array, errors: Errors) -> Array:
    """Return what each row's influence is multiplied by (n, 1)."""
    if errors.kind == "cluster":
        return np.full((len(x), 1), 1 / len(x))
    leverage = np.square(np.linalg.qr(x)[0]).sum(axis=1, keepdims=True)
    weight: Array = 1 / len(x) / np.maximum(1 - leverage, 1e-12)
    return weight


def _spread(rows: Array, errors: Errors) -> Array:
    """Return the covariance (k, k) of sums of rows (n, k), with the correction for the number of clusters."""
    many = errors.few()
    return errors.spread(rows) * (1.0 if many is None else many / max(many - 1, 1))


def tipping_points(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    noisy: str,
    known: Mapping[int, ReliabilityEstimate],
    errors: Errors,
    alpha: float,
    confidence: float,
    *,
    group: str = "",
) -> list[TippingPoint]:
    """Return how every coefficient beside that of the noisy factor moves with the noisy factor's reliability.

    ReliabilityEstimate falls from 1 in steps of 0.02; between two steps a crossing is placed by a straight line.

    Args:
        metrics: names of the metrics.
        factors: names of the factors.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        noisy: the factor whose reliability is varied.
        known: place -> reliability of other factors.
        errors: clusters, if there are any.
        alpha: p from which a coefficient is not significant.
        confidence: of the curves' intervals.
        group: what to call the rows.
    """
    place, rows, moments = list(factors).index(noisy), len(x), Moments(x, y, known, errors)
    quantile = reference(errors)
    critical, wide = (float(quantile.isf(tail / 2)) for tail in (alpha, 1 - confidence))
    steps, corrections = [], []
    for value in np.round(np.arange(1.0, 0.035, -0.02), 2):
        try:
            corrections.append(moments.correct({**known, place: stated(noisy, float(value), rows)}))
        except InputError:
            break
        steps.append(float(value))
        if corrections[-1].r2.min() > 1:  # no metric has so much to explain
            break
    # As far as the factors would not explain more than all of a metric.
    tried = [
        next((k for k, correction in enumerate(corrections) if correction.r2[i] > 1), len(corrections))
        for i in range(len(metrics))
    ]
    points = []
    for i, metric in enumerate(metrics):
        for j, factor in enumerate(factors):
            if j == place or not tried[i]:
                continue
            coef, se = (
                np.array([getattr(correction, what)[i, j] for correction in corrections[: tried[i]]])
                for what in ("coef", "se")
            )
            curve = tuple(
                (steps[k], float(coef[k]), float(coef[k] - wide * se[k]), float(coef[k] + wide * se[k]))
                for k in range(0, tried[i], 2)
            )
            zero, margin = _crossing(steps, coef), np.abs(coef) - critical * se
            insignificant = 1.0 if margin[0] <= 0 else _crossing(steps, margin)
            points.append(TippingPoint(metric, factor, noisy, zero, insignificant, steps[tried[i] - 1], curve, group))
    return points


def _crossing(steps: Sequence[float], values: Array) -> float | None:
    """Return where values first change their sign."""
    for k in range(1, len(values)):
        if values[k] == 0 or (values[k] > 0) != (values[0] > 0):
            part = values[k - 1] / (values[k - 1] - values[k])
            return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))
    return None


def shared_errors(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    noisy: str,
    columns: int,
    known: Mapping[int, ReliabilityEstimate],
    errors: Errors,
    alpha: float,
    confidence: float,
) -> list[SharedErrors]:
    """Return how corrected coefficients move if the errors of a repeatedly measured factor's columns correlate.

    The correlation rises from 0 in steps of 0.02, as far as the data allow.

    Args:
        metrics: names of the metrics.
        factors: names of the factors.
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        noisy: the factor that was measured repeatedly.
        columns: how many measure it.
        known: place -> reliability of all factors that have one, this among them.
        errors: clusters, if there are any.
        alpha: p from which a coefficient is not significant.
        confidence: of the curves' intervals.
    """
    place, moments = list(factors).index(noisy), Moments(x, y, known, errors)
    quantile = reference(errors)
    critical, wide = (float(quantile.isf(tail / 2)) for tail in (alpha, 1 - confidence))
    steps: list[float] = []
    values: list[float] = []
    found: list[Corrected] = []
    for share in np.round(np.arange(0.0, 0.91, 0.02), 2):
        try:
            other = if_errors_correlate(known[place], columns, float(share))
            if other.value <= 0:
                break
            found.append(moments.correct({**known, place: other}))
        except InputError:
            break
        steps.append(float(share))
        values.append(other.value)
        if found[-1].r2.min() > 1:
            break
    points = []
    for i, metric in enumerate(metrics):
        tried = next((k for k, one in enumerate(found) if one.r2[i] > 1), len(found))
        for j, factor in enumerate(factors if tried else ()):
            coef, se = (np.array([getattr(one, what)[i, j] for one in found[:tried]]) for what in ("coef", "se"))
            changes = _crossing(steps, np.abs(coef) - critical * se)
            curve = tuple(
                (steps[k], values[k], float(coef[k]), float(coef[k] - wide * se[k]), float(coef[k] + wide * se[k]))
                for k in range(0, tried, 5)
            )
            points.append(SharedErrors(metric, factor, noisy, changes, steps[tried - 1], curve))
    return points
