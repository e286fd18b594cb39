"""The same regression otherwise: with further terms, without noise in factors, within levels, over groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.disentangle.errors import Errors, choose_errors
from bsx.analysis.disentangle.result import ROWS_PER_FACTOR, NestedTest, Reliability, Variant, VariantFit
from bsx.analysis.disentangle.settings import DisentangleSettings, ErrorSettings, RegressionSettings
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.intercepts import Codes, absorb, absorbed, level_codes, rows_within
from bsx.analysis.stats.regression import Ols, fit_ols, refuse_collinear, require_rows, wald
from bsx.analysis.stats.rowwise import clip_variance, quadratic_form
from bsx.analysis.stats.sandwich import ClusterRobust, positive
from bsx.data.columns import Labels, TableLike, numeric_columns, standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.settings import settled
from bsx.support.untyped import Untyped

SIMPSON = 0.1
"""Pooled and within coefficients that differ by more (in standard deviations), and significantly, are warned of."""
HALVED = 0.05
"""So are those that differ by more than this and by more than half of the pooled one."""


@settled(RegressionSettings)
def nested_test(
    table: TableLike, metric: str, base: Sequence[str], added: Sequence[str], settings: RegressionSettings
) -> NestedTest:
    """Test whether factors explain a metric beyond what others explain.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metric: column of the response.
        base: factors that are in both models; may be empty.
        added: factors that are in the larger model only.
        settings: see `RegressionSettings`; ``se="classic"`` is the F test of nested models, others a Wald test.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    if not added:
        raise InputError("name at least one factor to add")
    z, errors = _standardised(table, metric, [*base, *added], settings)
    terms = {name: z[name] for name in (*base, *added)}
    return nested("factors", z[metric], terms, list(base), list(added), errors, settings.intercept)


@settled(ErrorSettings)
def linearity_checks(
    table: TableLike, metric: str, factors: Sequence[str], settings: ErrorSettings
) -> dict[str, NestedTest]:
    """Check what a linear model without products takes for granted.

    ``reset``: do squares and cubes of the fitted values explain anything (Ramsey 1969)? ``squares``: does the square of
    any factor? ``interactions``: does the product of any two? Every model here has an intercept, because squares and
    products do not average 0. A term that the others already determine (the square of a factor with two values) is left
    out; a question without any term left is not in the result.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metric: column of the response.
        factors: columns of the factors.
        settings: see `ErrorSettings`.

    Returns:
        Question -> NestedTest; its ``coef`` and ``term_p`` say which squares and products matter.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    z, errors = _standardised(table, metric, factors, settings)
    y, base = z[metric], {name: z[name] for name in factors}
    _refuse_collinear(base)
    fitted = fit_ols(y, np.column_stack(list(base.values())), intercept=True).fitted
    spread = fitted.std()
    questions: dict[str, dict[str, Array]] = {"reset": {}}
    if spread > 1e-8:
        scaled = (fitted - fitted.mean()) / spread
        questions["reset"] = {"fitted²": scaled**2, "fitted³": scaled**3}
    questions["squares"] = {f"{name}²": column**2 for name, column in base.items()}
    questions["interactions"] = {f"{a}:{b}": base[a] * base[b] for a, b in combinations(base, 2)}
    results = {}
    for name, candidates in questions.items():
        columns, added = [np.ones(len(y)), *base.values()], []
        for term, column in candidates.items():  # those that nothing before them determines
            design = np.column_stack(columns)
            rest = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
            if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(column):
                columns.append(column)
                added.append(term)
        if added:
            terms = {**base, **{term: candidates[term] for term in added}}
            results[name] = nested(name, y, terms, list(base), added, errors, True)
    return results


def _standardised(
    table: TableLike, metric: str, factors: Sequence[str], settings: ErrorSettings
) -> tuple[dict[str, Array], Errors]:
    names = [metric, *factors]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"column {repeated[0]!r} is named twice")
    labels = [settings.cluster] if settings.cluster is not None else []
    columns, _, omitted = numeric_columns(table, names, labels, nan=settings.nan)
    require_rows(len(columns[metric]), len(factors))
    z = {name: standardise(name, values) for name, values in columns.items()}
    return z, choose_errors(table, names, len(factors), settings, omitted)


def nested(
    name: str,
    y: Array,
    terms: Mapping[str, Array],
    base: list[str],
    added: list[str],
    errors: Errors,
    intercept: bool,
) -> NestedTest:
    """Test standardised terms that a larger model adds to a smaller one; arguments as in `NestedTest`."""
    _refuse_collinear(terms)
    errors = errors.defined_for(np.column_stack([terms[term] for term in (*base, *added)]), intercept=intercept)
    full = errors.fit(y, np.column_stack([terms[term] for term in (*base, *added)]), intercept=intercept)
    r2_base = fit_ols(y, np.column_stack([terms[term] for term in base]), intercept=intercept).r2 if base else 0.0
    places = [len(base) + i + intercept for i in range(len(added))]
    test = wald(full, places)
    return NestedTest(
        name=name,
        base=tuple(base),
        added=tuple(added),
        r2_base=r2_base,
        r2_full=full.r2,
        gain=full.r2 - r2_base,
        **vars(test),
        n=len(y),
        coef={term: float(full.coef[i]) for term, i in zip(added, places, strict=True)},
        term_p={term: float(full.p[i]) for term, i in zip(added, places, strict=True)},
    )


def _refuse_collinear(terms: Mapping[str, Array]) -> None:
    names = list(terms)
    if names:
        require_rows(len(terms[names[0]]), len(names))
        refuse_collinear(names, np.column_stack([terms[name] - terms[name].mean() for name in names]))


def make_variant(
    name: str,
    what: str,
    metrics: Sequence[str],
    factors: Sequence[str],
    coef: Array,
    se: Array,
    reference: Untyped,
    how: DisentangleSettings,
    *,
    r2: Array | None = None,
    details: Sequence[dict[str, dict[str, float]]] | None = None,
) -> Variant:
    """Return a variant from coefficients and standard errors (m, p), and the distributions they are referred to."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(2 * reference.sf(np.abs(coef / se)))
    wide = np.broadcast_to(reference.isf((1 - how.confidence) / 2), coef.shape)
    adjusted = np.full_like(p, np.nan)
    defined = ~np.isnan(p)
    adjusted[defined] = adjust(p[defined], how.correction)

    def named(values: Array) -> dict[str, float]:
        return {factor: float(value) for factor, value in zip(factors, values, strict=True)}

    fits = tuple(
        VariantFit(
            metric=metric,
            coef=named(coef[i]),
            se=named(se[i]),
            p=named(p[i]),
            p_adjusted=named(adjusted[i]),
            ci={
                factor: (float(coef[i, j] - wide[i, j] * se[i, j]), float(coef[i, j] + wide[i, j] * se[i, j]))
                for j, factor in enumerate(factors)
            },
            significant={factor: bool(adjusted[i, j] < how.alpha) for j, factor in enumerate(factors)},
            r2=None if r2 is None else float(r2[i]),
            details=details[i] if details is not None else {},
        )
        for i, metric in enumerate(metrics)
    )
    return Variant(name, what, tuple(factors), fits)


@dataclass(frozen=True)
class ReliabilityEstimate(Reliability):
    """A reliability with what it rests on.

    Attributes:
        influence: of each row on it (n,); all 0 for a stated one.
    """

    influence: Array = field(repr=False, compare=False)


def cronbach(factor: str, columns: Mapping[str, Array]) -> ReliabilityEstimate:
    """Return the reliability of the mean of several standardised columns: standardised alpha, here ICC(3, k).

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
            f"{mean:.2f} on average",
            setting="repeat",
        )
    value = k * mean / (1 + (k - 1) * mean)
    # Each row's influence on the correlation of two standardised columns.
    influences = [z[a] * z[b] - float(z[a] @ z[b] / len(z[a])) * (z[a] * z[a] + z[b] * z[b]) / 2 for a, b in pairs]
    influence = np.mean(influences, axis=0) * k / (1 + (k - 1) * mean) ** 2
    return ReliabilityEstimate(factor, value, f"standardised Cronbach's alpha of {', '.join(columns)}", influence)


def stated(factor: str, value: float, rows: int) -> ReliabilityEstimate:
    """Return a reliability that somebody states.

    Raises:
        InputError: unless it is above 0 and at most 1.
    """
    if not 0 < value <= 1:
        raise InputError(
            f"reliability: {factor}={value:g}: a reliability is above 0 and at most 1", setting="reliability"
        )
    return ReliabilityEstimate(factor, value, "as stated", np.zeros(rows))


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


def corrected(x: Array, y: Array, known: Mapping[int, ReliabilityEstimate], errors: Errors) -> Corrected:
    """Return coefficients without the noise of known reliability, by the method of moments.

    The noise of a factor is taken to be independent of everything else, so it adds to the factor's variance and to
    nothing else; the correlation matrix of the factors gets their reliabilities on its diagonal, and the coefficients
    follow. They are multiplied by the root of the reliability, so that they are per standard deviation of the factor
    without noise.

    Standard errors are those of the delta method and the sandwich; they allow for standardising, and for reliabilities
    that are estimated. A row's influence on a correlation of columns a, b is ``a b - r (a² + b²) / 2``, so its part in
    every coefficient is linear in the products of its cells: the sums of their products, over clusters or weighted by
    1 / (1 - leverage) as HC3 does, are all that a standard error takes.

    Source: Fuller 1987, section 3.1.2, for known reliability; Huber 1967 for the sandwich.

    Args:
        x: standardised factors (n, p).
        y: standardised metrics (n, m).
        known: place of a factor -> its reliability; the others are taken to be free of noise.
        errors: clusters, if there are any.

    Raises:
        InputError: for reliabilities that the data rule out.
    """
    n, p = x.shape
    correlations, responses = x.T @ x / n, y.T @ x / n
    share = np.ones(p)
    for place, reliability in known.items():
        share[place] = reliability.value
    inner = correlations.copy()
    np.fill_diagonal(inner, share)
    if np.linalg.eigvalsh(inner)[0] < 1e-6:
        which = ", ".join(f"{item.factor} {item.value:.2f}" for item in known.values())
        raise InputError(
            f"the data rule these reliabilities out ({which}): the other factors would explain more of a factor than "
            "there is of it without noise"
        )
    inverse, root = np.linalg.inv(inner), np.sqrt(share)
    beta = responses @ inverse  # (m, p)
    pairs = np.array([(a, b) for a in range(p) for b in range(a, p)])
    squares = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    crossed = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    left, right = pairs[crossed].T
    moving = [place for place, reliability in known.items() if reliability.influence.any()]
    shared = [x[:, a] * x[:, b] for a, b in pairs] + [known[place].influence for place in moving]
    if errors.kind == "cluster":
        weight = np.full((n, 1), 1 / n)
    else:
        leverage = np.square(np.linalg.qr(x)[0]).sum(axis=1, keepdims=True)
        weight = 1 / n / np.maximum(1 - leverage, 1e-12)
    many = errors.few()
    correction = 1.0 if many is None else many / max(many - 1, 1)
    first = len(shared)
    se = np.empty_like(beta)
    for j, coef in enumerate(beta):
        cells = np.column_stack([*shared, x * y[:, j, None], y[:, j] * y[:, j]]) * weight
        products = errors.spread(cells) * correction
        score, rest = np.zeros((p, first + p + 1)), np.zeros((p, first + p + 1))
        score[:, first : first + p] = np.eye(p)
        score[:, first + p] = -0.5 * responses[j]
        score[:, squares] = 0.5 * correlations * coef
        score[np.arange(p), squares] += 0.5 * (correlations @ coef - responses[j]) - coef
        score[left, crossed] = -coef[right]
        score[right, crossed] = -coef[left]
        for place, at in zip(moving, range(len(pairs), first), strict=True):
            score[place, at] = -coef[place]
            rest[place, at] = 0.5 * coef[place] / root[place]
        influence = root[:, None] * (inverse @ score) + rest
        se[j] = np.sqrt([quadratic_form(row, products) for row in influence])
    return Corrected(beta * root, se, np.einsum("mp,mp->m", beta, responses))


def reference(errors: Errors) -> Untyped:
    """Return the distribution that coefficients over their standard errors are referred to, of scipy."""
    stats = need("scipy.stats", "the regression")
    many = errors.few()
    return stats.norm() if many is None else stats.t(many - 1)


@dataclass(frozen=True, eq=False)
class Inside:
    """Rows less the intercepts of their levels.

    Attributes:
        rows: the rows that are not alone in a level (r,).
        codes: level of each of them, for each column.
        x: factors, less the intercepts (r, p).
        y: metrics, less the intercepts (r, m).
        varies: places of the factors that vary within levels.
        intercepts: how many degrees of freedom the intercepts take.
    """

    rows: NDArray[np.int64] = field(repr=False)
    codes: tuple[Codes, ...] = field(repr=False)
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    varies: list[int]
    intercepts: int

    @property
    def df(self) -> int:
        """Residual degrees of freedom."""
        return len(self.rows) - self.intercepts - len(self.varies)

    def fit(self, metric: int, errors: Errors) -> tuple[Array, Array, Array]:
        """Return coefficients, standard errors and degrees of freedom of their reference, of the factors that vary.

        What is left of the metric is regressed on what is left of the factors, which gives the coefficients that a
        column for every level would. Intercepts count in the residual degrees of freedom, except those of levels
        that lie within clusters: the sums over clusters hold what estimating them costs.

        Source: Frisch & Waugh 1933; Cameron & Miller 2015, section III.B, for what counts with clusters.

        Args:
            metric: its place.
            errors: of the rows in `rows`.
        """
        x, y = self.x[:, self.varies], self.y[:, metric]
        n, p = x.shape
        if errors.kind == "hc3":
            fit = fit_ols(y, x)
            scores = (x * (fit.residuals / (1 - self._leverage))[:, None]) @ np.linalg.inv(x.T @ x)
            return fit.coef, np.sqrt(np.square(scores).sum(axis=0)), np.full(p, np.inf)
        if errors.kind == "cluster":
            fit, clusters = errors.fit(y, x), level_codes(errors.clusters or ())
            # Levels that do not lie within one cluster each; of another column's, one stands for the constant.
            beside = [of for of in self.codes if len(np.unique(of * (clusters.max() + 1) + clusters)) > of.max() + 1]
            every = len(beside) == len(self.codes)
            taken = self.intercepts if every else sum(int(of.max()) for of in beside)
            df = np.broadcast_to(np.asarray(fit.reference_df, dtype=np.float64), (p,))
            return fit.coef, fit.se * math.sqrt((n - p) / (n - p - taken)), df
        fit = fit_ols(y, x)
        return fit.coef, fit.se * math.sqrt((n - p) / self.df), np.full(p, float(self.df))

    @property
    def _leverage(self) -> Array:
        """Leverage of each row with the intercepts of one column."""
        leverage = np.square(np.linalg.qr(self.x[:, self.varies])[0]).sum(axis=1)
        return np.asarray(leverage + 1 / np.bincount(self.codes[0])[self.codes[0]])

    def errors(self, errors: Errors) -> Errors:
        """Return standard errors of `rows` from those of all rows: classic ones where HC3 is not defined."""
        own = errors.of(self.rows)
        if own.kind == "hc3" and self._leverage.max() > 1 - 1e-10:
            return replace(own, kind="classic", why="a row decides a coefficient alone: HC3 is not defined")
        return own


def inside(factors: Sequence[str], x: Array, y: Array, levels: Mapping[str, Labels]) -> Inside:
    """Take the intercepts of one or two columns of levels out of factors and metrics.

    Args:
        factors: names (p,).
        x: factors (n, p).
        y: metrics (n, m).
        levels: column -> level of each row (n,).

    Raises:
        InputError: if every level has one row, no factor varies within levels, two say the same there, or no degree of
            freedom is left.
    """
    named = ",".join(levels)
    codes = [level_codes(labels) for labels in levels.values()]
    for name, of in zip(levels, codes, strict=True):
        many, n = int(of.max()) + 1, len(of)
        if many < 2:
            raise InputError(
                f"within: {name} has one level in all {n:,} rows: there is nothing to tell apart", setting="within"
            )
        if many == n:
            raise InputError(
                f"within: {name}: {n:,} levels in {n:,} rows; an intercept needs several rows a level", setting="within"
            )
    rows = rows_within(codes)
    if not len(rows):
        raise InputError(f"within: {named}: no row shares its level with another: nothing is within", setting="within")
    kept = tuple(np.unique(of[rows], return_inverse=True)[1].astype(np.int64) for of in codes)
    p = x.shape[1]
    left = absorb(np.column_stack([x[rows], y[rows]]), kept)
    varies = [j for j in range(p) if left[:, j].std() > 1e-8]
    if not varies:
        raise InputError(f"within: {named}: no factor varies within one {' and '.join(levels)}", setting="within")
    found = Inside(rows, kept, left[:, :p], left[:, p:], varies, absorbed(kept))
    if found.df < 1:
        raise InputError(
            f"within: {named}: {len(rows):,} rows are too few for {found.intercepts:,} intercepts and {len(varies)} "
            "coefficients",
            setting="within",
        )
    refuse_collinear([f"{factors[j]} within {named}" for j in varies], found.x[:, varies])
    return found


def within(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    levels: Mapping[str, Labels],
    errors: Errors,
    how: DisentangleSettings,
) -> Variant:
    """Return coefficients within the levels of one or two columns, such as segment and system.

    They are on the scale of all rows together, as the pooled coefficients are, and so can be compared. R² is of what
    varies within levels. ``details``: ``within``, with ``rows``, ``intercepts``, ``df`` and the ``r2`` that counts
    what the intercepts explain; ``difference``, p of "the pooled coefficient is the one within". Where two columns are
    absorbed and no rows share a segment or a text, rows of the column with more levels are the clusters.

    Args:
        metrics: names (m,).
        factors: names (p,).
        x: factors, standardised over all rows (n, p).
        y: metrics, standardised over all rows (n, m).
        levels: column -> level of each row (n,).
        errors: standard errors.
        how: levels and corrections.

    Raises:
        InputError: as `inside`; also for HC3 with two columns, which is not defined here.
    """
    found = inside(factors, x, y, levels)
    own = found.errors(errors)
    if errors.kind == "hc3" and len(levels) > 1:
        if not errors.why:
            raise InputError(
                f"within: {','.join(levels)}: two columns need se cluster or classic, not hc3", setting="within"
            )
        name = max(levels, key=lambda column: len(set(levels[column])))
        own = Errors("cluster", [levels[name][i] for i in found.rows], own.units, f"those of {name}")
    coef, se = (np.full((len(metrics), len(factors)), np.nan) for _ in range(2))
    r2, details, dfs = np.empty(len(metrics)), [], np.full_like(coef, np.inf)
    for i in range(len(metrics)):
        coef[i, found.varies], se[i, found.varies], dfs[i, found.varies] = found.fit(i, own)
        rest = found.y[:, i] - found.x[:, found.varies] @ coef[i, found.varies]
        totals = (float(np.square(v - v.mean()).sum()) for v in (found.y[:, i], y[found.rows, i]))
        r2[i], with_intercepts = (1 - float(rest @ rest) / total if total > 0 else math.nan for total in totals)
        figures = {"rows": len(found.rows), "intercepts": found.intercepts, "df": found.df, "r2": with_intercepts}
        different = {factors[j]: p for j, (_, _, p) in _compare(found, x, y, i, errors).items()}
        details.append({"difference": different, "within": {name: float(value) for name, value in figures.items()}})
    what = (
        f"within {' and '.join(levels)}: every level has its own intercept, R² is of what is within "
        f"({found.intercepts:,} intercepts, {len(found.rows):,} rows, {found.df:,} degrees of freedom; {own.kind} "
        "standard errors)"
    )
    student = need("scipy.stats", "the regression").t(dfs)
    made = make_variant("within", what, metrics, factors, coef, se, student, how, r2=r2, details=details)
    return replace(made, levels=tuple(levels))


def _compare(found: Inside, x: Array, y: Array, metric: int, errors: Errors) -> dict[int, tuple[float, float, float]]:
    """Return a factor's place -> its pooled coefficient, the one within, and p of "they are the same".

    Both are sums over rows of how each row moves them, and so is their difference: a test of Hausman 1978 that holds
    with clusters too.
    """
    varies = found.varies
    pooled = np.linalg.solve(x.T @ x, x.T @ y[:, metric])
    moves = (x * (y[:, metric] - x @ pooled)[:, None]) @ np.linalg.inv(x.T @ x)
    part, left = found.x[:, varies], found.y[:, metric]
    inner = np.linalg.solve(part.T @ part, part.T @ left)
    difference = moves[:, varies]
    difference[found.rows] -= (part * (left - part @ inner)[:, None]) @ np.linalg.inv(part.T @ part)
    spread = np.sqrt(np.diag(errors.spread(difference)))
    distribution = reference(errors)
    return {
        j: (
            float(pooled[j]),
            float(inner[k]),
            1.0
            if abs(pooled[j] - inner[k]) < 1e-12  # of standardised coefficients: rounding
            else float(2 * distribution.sf(abs(pooled[j] - inner[k]) / max(float(spread[k]), 1e-300))),
        )
        for k, j in enumerate(varies)
    }


def simpson(
    metrics: Sequence[str],
    factors: Sequence[str],
    x: Array,
    y: Array,
    column: str,
    labels: Labels,
    errors: Errors,
    how: DisentangleSettings,
    tests: int = 1,
) -> list[Notice]:
    """Return a notice named ``simpson`` if coefficients of all rows and those within levels differ; otherwise none.

    They must differ significantly in these very systems, corrected for metrics, factors and columns looked at, and by
    more than `SIMPSON`, or by more than `HALVED` and more than half. A column that leaves too little within its levels
    says nothing.

    Args:
        metrics: names (m,).
        factors: names (p,).
        x: factors, standardised over all rows (n, p).
        y: metrics, standardised over all rows (n, m).
        column: name of the levels.
        labels: level of each row (n,).
        errors: standard errors.
        how: level of significance.
        tests: columns that are looked at.
    """
    try:
        found = inside(factors, x, y, {column: labels})
    except InputError:
        return []
    if found.df < ROWS_PER_FACTOR * len(factors):
        return []
    own, alpha = found.errors(errors), how.alpha / (len(metrics) * len(factors) * tests)
    differences: list[dict[str, object]] = []
    for i, metric in enumerate(metrics):
        apart = {
            j: values
            for j, values in _compare(found, x, y, i, errors.one_way()).items()
            if values[2] < alpha and _far(values[0], values[1])
        }
        if apart:
            coef, se, df = found.fit(i, own)
            p_within = 2 * need("scipy.stats", "the regression").t(df).sf(np.abs(coef) / np.maximum(se, 1e-300))
        for j, (pooled, inner, _) in apart.items():
            p = float(p_within[found.varies.index(j)])
            differences.append({"metric": metric, "factor": factors[j], "pooled": pooled, "within": inner, "p": p})
    differences.sort(key=lambda one: -abs(float(one["pooled"]) - float(one["within"])))  # type: ignore[arg-type]
    return [Notice("simpson", column, {"differences": differences})] if differences else []


def _far(pooled: float, inner: float) -> bool:
    apart = abs(pooled - inner)
    return apart > SIMPSON or (apart > HALVED and apart > abs(pooled) / 2)


def joint_covariance(fits: Sequence[Ols], rows: Sequence[Rows], errors: Errors) -> Array:
    """Return the covariance of groups' own coefficients, each factor's by itself: (p, groups, groups).

    Clusters that have rows in several groups move all their coefficients at once: the sums over such clusters of the
    products of their influences. Without any, or without clusters, groups are independent.

    Args:
        fits: of each group, without an intercept that counts.
        rows: of each group, as places among all rows.
        errors: of all rows.
    """
    own = np.stack([np.diag(fit.covariance) for fit in fits], axis=1)  # (p, groups)
    results = np.stack([np.diag(variances) for variances in own])
    if errors.clusters is None:
        return results
    ways = [np.unique(errors.clusters, return_inverse=True)[1].astype(np.int64)]
    if errors.between(rows).crossed is not None and all(len(fit.clusters) == 2 for fit in fits):
        second = np.unique(np.asarray(errors.crossed), return_inverse=True)[1].astype(np.int64)
        both = ways[0] * (int(second.max()) + 1) + second
        ways += [second, np.unique(both, return_inverse=True)[1].astype(np.int64)]
    total = np.zeros_like(results)
    for way, sign in zip(ways, (1, 1, -1), strict=False):
        influence = np.zeros((len(own), len(fits), int(way.max()) + 1))
        for g, (fit, places) in enumerate(zip(fits, rows, strict=True)):
            names, codes = np.unique(way[places], return_inverse=True)
            robust = ClusterRobust(fit.design, codes.astype(np.int64))
            influence[:, g, names] = (robust.scores(fit.residuals, fit.scales) @ robust.back.T).T
        total += sign * (influence @ np.swapaxes(influence, 1, 2))
    apart = ~np.eye(len(fits), dtype=bool)
    results[:, apart] = total[:, apart]
    return np.stack([positive(one) for one in results])


@dataclass(frozen=True)
class PooledMean:
    """The mean of groups' true coefficients.

    Attributes:
        mean: estimated.
        se: its standard error.
        tau2: variance of the true coefficients over groups.
        i2: share of the observed variance that is not sampling error.
        q_p: p of "all groups have the same".
    """

    mean: float
    se: float
    tau2: float
    i2: float
    q_p: float


def pooled_mean(effects: Array, covariance: Array) -> PooledMean:
    """Pool effects of groups whose sampling errors may go together.

    Weights are 1 / (a group's own variance + tau²), as if errors were independent, because weights from estimated
    covariances are too sure of themselves; tau² makes the weighted squares of deviations what they are expected to be
    under the joint covariance, and the variance of the mean is that covariance's, times what the squares are beyond
    expectation. With independent groups these are Paule & Mandel's tau² and Hartung & Knapp's standard error. What all
    groups share does not show in their deviations, so where errors go together the variance is not made smaller by
    them.

    Source: Paule & Mandel 1982; Hartung & Knapp 2001; Satterthwaite 1946 for the distribution of the squares.

    Args:
        effects: of each group (k,).
        covariance: of their sampling errors (k, k).
    """
    many = len(effects)

    def squares(tau2: float) -> tuple[float, Array, Array]:
        """Return the squares over their expectation, the weights, and the matrix whose form gives the squares."""
        weights = 1 / (np.diag(covariance) + tau2)
        shares = weights / weights.sum()
        centre = np.eye(many) - shares
        form = centre.T * weights @ centre
        total = covariance + tau2 * np.eye(many)
        expected = float(clip_variance((form * total).sum(), np.abs(form * total).sum()))
        found = float(clip_variance(effects @ form @ effects, np.square(effects) @ weights))
        # Groups of the same rows have the same errors, which do not show in their deviations.
        return found / expected if expected > 0 else math.inf if found > 0 else 0.0, shares, form

    first, _, form = squares(0.0)
    spread = form @ covariance
    mean, square = float(np.trace(spread)), float(np.trace(spread @ spread))
    df = mean**2 / square if mean * square else 1.0
    q_p = float(need("scipy.stats", "random effects").chi2.sf(first * df, df))
    tau2 = 0.0
    if first > 1:
        high = float(effects.var()) + float(np.diag(covariance).max())
        while squares(high)[0] > 1:
            high *= 2
        solve = need("scipy.optimize", "random effects").brentq
        low = 0.0 if math.isfinite(first) else 1e-15 * high
        if squares(low)[0] > 1:
            tau2 = float(solve(lambda value: squares(value)[0] - 1, low, high, xtol=1e-14))
    ratio, shares, _ = squares(tau2)
    if np.any(covariance[~np.eye(many, dtype=bool)]):
        ratio = max(ratio, 1.0)
    variance = ratio * quadratic_form(shares, covariance + tau2 * np.eye(many))
    return PooledMean(float(shares @ effects), math.sqrt(variance), tau2, 1 - 1 / max(first, 1.0), q_p)


def random_effects(
    metrics: Sequence[str],
    factors: Sequence[str],
    group: str,
    parts: Mapping[str, Sequence[Ols]],
    rows: Mapping[str, Rows],
    errors: Errors,
    how: DisentangleSettings,
) -> list[Variant]:
    """Pool the groups' own coefficients as a sample of groups that truly differ.

    ``details``: ``tau2``, the variance of the true coefficients over groups; ``i2``, the share of the observed
    variance that is not sampling error; ``q_p``, p of "all groups have the same"; ``predict_low`` and ``predict_high``,
    where the true coefficient of a further group may lie.

    Groups that share segments or documents have sampling errors that go together; see `joint_covariance` and
    `pooled_mean`. The reference is t with groups - 1 degrees of freedom, or as few as a group's own errors have where
    groups share clusters.

    Source: DerSimonian & Laird 1986 for the model; Paule & Mandel 1982 for tau²; Hartung & Knapp 2001 for standard
    errors; Higgins & Thompson 2002 for I²; Higgins et al. 2009 for the prediction interval (t on groups - 2).

    Args:
        metrics: names.
        factors: names.
        group: name of the column.
        parts: group -> fits of the metrics.
        rows: group -> its places among all rows.
        errors: of all rows.
        how: levels and corrections.
    """
    stats = need("scipy.stats", "random effects")
    many, first = len(parts), int(how.intercept)
    if many < 2:
        return []
    shared = False  # does a cluster have rows in several groups?
    if errors.clusters is not None:
        codes = np.unique(errors.clusters, return_inverse=True)[1]
        clusters = [np.unique(codes[places]) for places in rows.values()]
        shared = sum(map(len, clusters)) > len(np.unique(np.concatenate(clusters)))
    coef, se, df = (np.full((len(metrics), len(factors)), np.nan) for _ in range(3))
    details = []
    for i in range(len(metrics)):
        fits = [own[i] for own in parts.values()]
        joint = joint_covariance(fits, list(rows.values()), errors)[first:]
        more: dict[str, dict[str, float]] = {k: {} for k in ("tau2", "i2", "q_p", "predict_low", "predict_high")}
        for j, factor in enumerate(factors):
            if not (np.diag(joint[j]) > 0).all():
                continue
            found = pooled_mean(np.array([fit.coef[first + j] for fit in fits]), joint[j])
            coef[i, j], se[i, j] = found.mean, found.se
            df[i, j] = min([many - 1, *(float(fit.reference_df[first + j]) for fit in fits)]) if shared else many - 1
            wide = stats.t.isf((1 - how.confidence) / 2, many - 2) if many > 2 else math.nan
            reach = wide * math.sqrt(found.tau2 + found.se**2)
            figures = (found.tau2, found.i2, found.q_p, found.mean - reach, found.mean + reach)
            for name, value in zip(more, figures, strict=True):
                more[name][factor] = float(value)
        details.append(more)
    what = (
        f"random effects over {many} groups of {group}, each standardised by itself (Paule-Mandel, Hartung-Knapp"
        f"{'; with the joint covariance of groups that share clusters' if shared else ''})"
    )
    return [make_variant("random-effects", what, metrics, factors, coef, se, stats.t(df), how, details=details)]
