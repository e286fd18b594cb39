"""The same regression otherwise: with further terms, without noise in factors, over groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bsx.analysis.disentangle.errors import Errors, standardised_columns
from bsx.analysis.disentangle.result import NestedTest, Reliability, Variant, VariantFit
from bsx.analysis.disentangle.sample import RegressionSample
from bsx.analysis.disentangle.settings import ErrorSettings, RegressionSettings
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.regression import Ols, WaldTest, fit_ols, refuse_collinear, require_rows, wald
from bsx.analysis.stats.rowwise import clip_variance, quadratic_form
from bsx.analysis.stats.sandwich import ClusterRobust, positive
from bsx.data.columns import TableLike, standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.settings import settled
from bsx.support.untyped import Untyped


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
    z, errors = _read(table, metric, [*base, *added], settings)
    smaller, more = ({name: z[name] for name in names} for names in (base, added))
    return _nested("factors", z[metric], smaller, more, errors, intercept=settings.intercept)


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
    z, errors = _read(table, metric, factors, settings)
    y, base = z[metric], {name: z[name] for name in factors}
    x = np.column_stack(list(base.values()))
    refuse_collinear(factors, x)
    fitted = fit_ols(y, x, intercept=True).fitted
    spread = fitted.std()
    scaled = (fitted - fitted.mean()) / spread if spread > 1e-8 else np.zeros(len(y))  # no reset then
    questions = {
        "reset": {"fitted²": scaled**2, "fitted³": scaled**3},
        "squares": {f"{name}²": column**2 for name, column in base.items()},
        "interactions": {f"{a}:{b}": base[a] * base[b] for a, b in combinations(base, 2)},
    }
    asked = {name: undetermined(x, terms) for name, terms in questions.items()}
    return {name: _nested(name, y, base, added, errors, intercept=True) for name, added in asked.items() if added}


def _read(
    table: TableLike, metric: str, factors: Sequence[str], settings: ErrorSettings
) -> tuple[dict[str, Array], Errors]:
    names = [metric, *factors]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"column {repeated[0]!r} is named twice")
    return standardised_columns(table, names, len(factors), settings)


def _nested(
    name: str, y: Array, base: Mapping[str, Array], added: Mapping[str, Array], errors: Errors, *, intercept: bool
) -> NestedTest:
    """Test standardised terms that a larger model adds to a smaller one; arguments as in `NestedTest`."""
    terms = {**base, **added}
    design = np.column_stack(list(terms.values()))
    require_rows(*design.shape)
    refuse_collinear(list(terms), np.column_stack([column - column.mean() for column in terms.values()]))
    full, test = added_terms(y, design, len(added), errors, intercept=intercept)
    r2_base = fit_ols(y, np.column_stack(list(base.values())), intercept=intercept).r2 if base else 0.0
    first = len(full.coef) - len(added)
    return NestedTest(
        name=name,
        base=tuple(base),
        added=tuple(added),
        r2_base=r2_base,
        r2_full=full.r2,
        gain=full.r2 - r2_base,
        **vars(test),
        n=len(y),
        coef=dict(zip(added, map(float, full.coef[first:]), strict=True)),
        term_p=dict(zip(added, map(float, full.p[first:]), strict=True)),
    )


def added_terms(y: Array, design: Array, added: int, errors: Errors, *, intercept: bool) -> tuple[Ols, WaldTest]:
    """Return the fit of a design (n, p), and the test that its last columns, so many, explain nothing.

    Raises:
        InputError: if there are too few rows, or too few clusters for so many coefficients.
    """
    fit = errors.fit(y, design, intercept=intercept)
    return fit, wald(fit, range(len(fit.coef) - added, len(fit.coef)))


def undetermined(x: Array, terms: Mapping[str, Array]) -> dict[str, Array]:
    """Return the terms (n,) that a constant, the columns of x (n, p) and the terms before them do not determine."""
    results: dict[str, Array] = {}
    for name, column in terms.items():
        design = np.column_stack([np.ones(len(x)), x, *results.values()])
        rest = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
        if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(column):
            results[name] = column
    return results


def make_variant(
    name: str,
    what: str,
    sample: RegressionSample,
    coef: Array,
    se: Array,
    reference: Untyped,
    *,
    r2: Array | None = None,
    details: Sequence[dict[str, dict[str, float]]] = (),
    levels: Sequence[str] = (),
) -> Variant:
    """Return a variant from coefficients and standard errors (m, p), and the distributions they are referred to."""
    settings = sample.settings
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(2 * reference.sf(np.abs(coef / se)))
    wide = np.broadcast_to(reference.isf((1 - settings.confidence) / 2), coef.shape) * se
    fits = tuple(
        VariantFit.of(
            metric,
            sample.factors,
            settings.alpha,
            {"coef": coef[i], "se": se[i], "p": p[i], "p_adjusted": adjusted},
            (coef[i] - wide[i], coef[i] + wide[i]),
            r2=None if r2 is None else float(r2[i]),
            details=details[i] if details else {},
        )
        for i, (metric, adjusted) in enumerate(zip(sample.metrics, adjust(p, settings.correction), strict=True))
    )
    return Variant(name, what, tuple(sample.factors), fits, tuple(levels))


def cronbach(factor: str, columns: Mapping[str, Array]) -> tuple[Reliability, Array]:
    """Return the reliability of the mean of several columns, and each row's influence on it (n,).

    It is that of standardised columns, standardised alpha, here ICC(3, k). Source: Cronbach 1951 (k r / (1 + (k - 1) r)
    with the mean correlation r); Spearman 1910 and Brown 1910 for the formula.

    Raises:
        InputError: if the columns do not go together.
    """
    z = [standardise(name, values) for name, values in columns.items()]
    pairs, k = list(combinations(range(len(z)), 2)), len(z)
    mean = min(1.0, float(np.mean([z[a] @ z[b] / len(z[a]) for a, b in pairs])))
    if mean <= 0:
        message = (
            f"the columns {', '.join(columns)} do not measure the same thing: they correlate {mean:.2f} on average"
        )
        raise InputError(f"repeat: {factor}: {message}", setting="repeat")
    value = k * mean / (1 + (k - 1) * mean)
    # Each row's influence on the correlation of two standardised columns.
    influences = [z[a] * z[b] - float(z[a] @ z[b] / len(z[a])) * (z[a] * z[a] + z[b] * z[b]) / 2 for a, b in pairs]
    influence = np.mean(influences, axis=0) * k / (1 + (k - 1) * mean) ** 2
    return Reliability(factor, value, f"standardised Cronbach's alpha of {', '.join(columns)}"), influence


def corrected(
    x: Array, y: Array, known: Mapping[int, Reliability], influences: Mapping[int, Array], errors: Errors
) -> tuple[Array, Array, Array]:
    """Return coefficients without the noise of known reliability, by the method of moments.

    Factors x (n, p) and metrics y (n, m) are standardised. ``known`` holds reliabilities by the factor's place; other
    factors are taken to be free of noise. ``influences`` holds, of those that are estimated, each row's influence (n,).

    The noise of a factor is taken to be independent of everything else, so it adds to the factor's variance and to
    nothing else; the correlation matrix of the factors gets their reliabilities on its diagonal, and the coefficients
    follow. They are multiplied by the root of the reliability, so that they are per standard deviation of the factor
    without noise.

    Standard errors are those of the delta method and the sandwich; they allow for standardising, and for reliabilities
    that are estimated. A row's influence on a correlation of columns a, b is ``a b - r (a² + b²) / 2``, so its part in
    every coefficient is linear in the products of its cells: the sums of their products, over clusters or weighted by
    1 / (1 - leverage) as HC3 does, are all that a standard error takes.

    Source: Fuller 1987, section 3.1.2, for known reliability; Huber 1967 for the sandwich.

    Returns:
        Coefficients per standard deviation of the noise-free factor (m, p), their standard errors (m, p), and the share
        of each metric's variance that the noise-free factors explain (m,).

    Raises:
        InputError: for reliabilities that the data rule out.
    """
    n, p = x.shape
    correlations, responses = x.T @ x / n, y.T @ x / n
    share = np.array([known[place].value if place in known else 1.0 for place in range(p)])
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
    moving = [place for place, influence in influences.items() if influence.any()]
    shared = [x[:, a] * x[:, b] for a, b in pairs] + [influences[place] for place in moving]
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
    return beta * root, se, np.einsum("mp,mp->m", beta, responses)


def reference(errors: Errors) -> Untyped:
    """Return the distribution that coefficients over their standard errors are referred to, of scipy."""
    stats = need("scipy.stats", "the regression")
    many = errors.few()
    return stats.norm() if many is None else stats.t(many - 1)


def joint_covariance(fits: Sequence[Ols], rows: Sequence[Rows], errors: Errors) -> Array:
    """Return the covariance of groups' own coefficients, each factor's by itself: (p, groups, groups).

    Clusters that have rows in several groups move all their coefficients at once: the sums over such clusters of the
    products of their influences. Without any, or without clusters, groups are independent. ``rows`` are those of each
    group, as places among all rows, whose errors are given.
    """
    variances = np.stack([np.diag(fit.covariance) for fit in fits], axis=1)  # (p, groups)
    results = np.stack([np.diag(of_groups) for of_groups in variances])
    if errors.clusters is None:
        return results
    crossed = errors.between(rows).crossed is not None and all(len(fit.clusters) == 2 for fit in fits)
    ways = errors.ways if crossed else errors.ways[:1]
    total = np.zeros_like(results)
    for way, sign in zip(ways, (1, 1, -1), strict=False):
        influence = np.zeros((len(variances), len(fits), int(way.max()) + 1))
        for g, (fit, places) in enumerate(zip(fits, rows, strict=True)):
            names, codes = np.unique(way[places], return_inverse=True)
            robust = ClusterRobust(fit.design, codes.astype(np.int64))
            influence[:, g, names] = (robust.scores(fit.residuals, fit.scales) @ robust.back.T).T
        total += sign * (influence @ np.swapaxes(influence, 1, 2))
    off_diagonal = ~np.eye(len(fits), dtype=bool)
    results[:, off_diagonal] = total[:, off_diagonal]
    return np.stack([positive(covariance) for covariance in results])


@dataclass(frozen=True)
class PooledMean:
    """The mean of groups' true coefficients, and its standard error.

    ``tau2`` is the variance of the true coefficients over groups, ``i2`` the share of the observed variance that is not
    sampling error, ``q_p`` p of "all groups have the same".
    """

    mean: float
    se: float
    tau2: float
    i2: float
    q_p: float


def pooled_mean(effects: Array, covariance: Array) -> PooledMean:
    """Pool effects of groups (k,) whose sampling errors, of this covariance (k, k), may go together.

    Weights are 1 / (a group's own variance + tau²), as if errors were independent, because weights from estimated
    covariances are too sure of themselves; tau² makes the weighted squares of deviations what they are expected to be
    under the joint covariance, and the variance of the mean is that covariance's, times what the squares are beyond
    expectation. With independent groups these are Paule & Mandel's tau² and Hartung & Knapp's standard error. What all
    groups share does not show in their deviations, so where errors go together the variance is not made smaller by
    them.

    Source: Paule & Mandel 1982; Hartung & Knapp 2001; Satterthwaite 1946 for the distribution of the squares.
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
        observed = float(clip_variance(effects @ form @ effects, np.square(effects) @ weights))
        # Groups of the same rows have the same errors, which do not show in their deviations.
        return observed / expected if expected > 0 else math.inf if observed > 0 else 0.0, shares, form

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
    sample: RegressionSample, group: str, parts: Mapping[str, Sequence[Ols]], rows: Mapping[str, Rows]
) -> list[Variant]:
    """Pool the coefficients of groups, name -> fits of the metrics and places of its rows, that truly differ.

    ``details``: ``tau2``, the variance of the true coefficients over groups; ``i2``, the share of the observed
    variance that is not sampling error; ``q_p``, p of "all groups have the same"; ``predict_low`` and ``predict_high``,
    where the true coefficient of a further group may lie.

    Groups that share segments or documents have sampling errors that go together; see `joint_covariance` and
    `pooled_mean`. The reference is t with groups - 1 degrees of freedom, or as few as a group's own errors have where
    groups share clusters.

    Source: DerSimonian & Laird 1986 for the model; Paule & Mandel 1982 for tau²; Hartung & Knapp 2001 for standard
    errors; Higgins & Thompson 2002 for I²; Higgins et al. 2009 for the prediction interval (t on groups - 2).
    """
    stats = need("scipy.stats", "random effects")
    metrics, factors, errors, how = sample.metrics, sample.factors, sample.errors, sample.settings
    many, first = len(parts), int(how.intercept)
    if many < 2:
        return []
    labels = errors.clusters or []
    clusters = [{labels[i] for i in places} for places in rows.values()] if labels else []
    shared = sum(map(len, clusters)) > len(set().union(*clusters))  # has a cluster rows in several groups?
    coef, se, df = (np.full((len(metrics), len(factors)), np.nan) for _ in range(3))
    details = []
    for i in range(len(metrics)):
        fits = [of_group[i] for of_group in parts.values()]
        joint = joint_covariance(fits, list(rows.values()), errors)[first:]
        more: dict[str, dict[str, float]] = {k: {} for k in ("tau2", "i2", "q_p", "predict_low", "predict_high")}
        for j, factor in enumerate(factors):
            if not (np.diag(joint[j]) > 0).all():
                continue
            pooled = pooled_mean(np.array([fit.coef[first + j] for fit in fits]), joint[j])
            coef[i, j], se[i, j] = pooled.mean, pooled.se
            df[i, j] = min([many - 1, *(float(fit.reference_df[first + j]) for fit in fits)]) if shared else many - 1
            wide = stats.t.isf((1 - how.confidence) / 2, many - 2) if many > 2 else math.nan
            reach = wide * math.sqrt(pooled.tau2 + pooled.se**2)
            figures = (pooled.tau2, pooled.i2, pooled.q_p, pooled.mean - reach, pooled.mean + reach)
            for name, value in zip(more, figures, strict=True):
                more[name][factor] = float(value)
        details.append(more)
    what = (
        f"random effects over {many} groups of {group}, each standardised by itself (Paule-Mandel, Hartung-Knapp"
        f"{'; with the joint covariance of groups that share clusters' if shared else ''})"
    )
    return [make_variant("random-effects", what, sample, coef, se, stats.t(df), details=details)]
