"""How sure a regression is: which standard errors it gets, its resamples, and intervals of what factors explain.

Rows that share a document, segment, text or system are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.disentangle.result import CoefficientComparison
from bsx.analysis.disentangle.settings import ComparisonSettings, ErrorSettings
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.folds import Rows, keys_of, unit_folds, units
from bsx.analysis.stats.intercepts import level_codes
from bsx.analysis.stats.regression import Ols, StandardErrors, fit_ols, refuse_collinear, require_rows
from bsx.analysis.stats.resample import Seed, bootstrap_counts, compared, few_units, percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.sandwich import positive
from bsx.analysis.stats.validate import several_units
from bsx.data import cells
from bsx.data.columns import Labels, TableLike, column_names, label_column, number_column, numeric_columns, standardise
from bsx.data.documents import DOCUMENTS, refuse_single
from bsx.data.long import SEGMENTS
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Interval
from bsx.support.settings import settled

TEXTS = ("sentence1", "sentence2", "source", "reference", "candidate")
BINDING = (*DOCUMENTS, *SEGMENTS, *TEXTS, "lp")
"""Columns that tell, where a table has them, which rows belong together."""
CROSSED = "system"
"""The column whose levels cross those: outputs of one system are not independent either."""
FEWEST_CROSSED = 5
"""Systems from which on they count as a sample of systems; fewer are held fixed."""
FOLDS = 10


@dataclass(frozen=True)
class Errors:
    """Standard errors, chosen or asked for.

    Attributes:
        kind: which.
        clusters: cluster of each row (n,), if that is ``cluster``.
        units: set of rows that belong together, of each row (n,): its cluster, or what the columns show.
        why: the reason for a choice, in words; empty where nothing was chosen.
        crossed: cluster of each row in a second way (n,): its system; None where systems are not sampled.
        sampled: what intervals and tests take to be drawn at random: ``row``, or columns.
        held: columns that they take as they are, such as ``system``: these very ones.
    """

    kind: StandardErrors
    clusters: Labels | None
    units: Rows
    why: str
    crossed: Labels | None = None
    sampled: tuple[str, ...] = ("row",)
    held: tuple[str, ...] = ()

    def of(self, rows: Sequence[int] | Rows) -> Errors:
        """Return those of some of the rows; systems of which few are among them are held fixed."""
        clusters, crossed = (way and [way[i] for i in rows] for way in (self.clusters, self.crossed))
        kept = replace(self, clusters=clusters, crossed=crossed, units=self.units[rows])
        return kept if crossed is None or len(set(crossed)) >= FEWEST_CROSSED else kept.one_way()

    @cached_property
    def ways(self) -> list[Rows]:
        """Clusters as numbers (n,): of the first way, of the second, and of both together; none without clusters."""
        ways = [level_codes(way) for way in (self.clusters, self.crossed) if way is not None]
        if len(ways) == 2:
            both = ways[0] * (int(ways[1].max()) + 1) + ways[1]
            ways.append(np.unique(both, return_inverse=True)[1].astype(np.int64))
        return ways

    def few(self) -> int | None:
        """Return the number of clusters, in two ways the smaller one; None without clusters."""
        return min((len(set(way)) for way in (self.clusters, self.crossed) if way is not None), default=None)

    def between(self, groups: Iterable[Rows]) -> Errors:
        """Return these for a comparison of groups of rows: where each is of one system, the systems are compared."""
        crossed = self.crossed
        of_systems = crossed is not None and all(len({crossed[i] for i in rows}) == 1 for rows in groups)
        return self.one_way() if of_systems else self

    def one_way(self) -> Errors:
        """Return these with systems held fixed."""
        if self.crossed is None:
            return self
        sampled = tuple(name for name in self.sampled if name != CROSSED)
        return replace(self, crossed=None, sampled=sampled, held=(*self.held, CROSSED))

    def fit(self, y: Array, x: Array, *, intercept: bool = False, confidence: float = 0.95) -> Ols:
        """Fit a linear model with these standard errors, as `defined_for` it; see `fit_ols`."""
        defined = self.defined_for(x, intercept=intercept)
        ways = {"clusters": defined.clusters, "crossed": defined.crossed}
        return fit_ols(y, x, se=defined.kind, **ways, intercept=intercept, confidence=confidence)

    def spread(self, influence: Array) -> Array:
        """Return the covariance (k, k) of sums over rows whose parts these are (n, k), over clusters if there are any.

        In two ways it is put together as in `bsx.analysis.stats.sandwich.two_way`.
        """

        def products(codes: Rows) -> Array:
            sums = np.column_stack([np.bincount(codes, column) for column in influence.T])
            return np.asarray(sums.T @ sums, dtype=np.float64)

        if not self.ways:
            return np.asarray(influence.T @ influence)
        first, *others = map(products, self.ways)
        return first + positive(others[0] - others[1]) if others else first

    def defined_for(self, x: Array, *, intercept: bool = False) -> Errors:
        """Return these, or classic ones where HC3 was chosen, not asked for, and the factors (n, p) forbid it."""
        if self.kind != "hc3" or not self.why:
            return self
        design = np.column_stack([np.ones(len(x)), x]) if intercept else x
        leverage = np.square(np.linalg.qr(design)[0]).sum(axis=1)
        if leverage.max() <= 1 - 1e-10:
            return self
        row = int(np.argmax(leverage)) + 1
        return replace(
            self, kind="classic", why=f"row {row} of those fitted decides a coefficient alone: HC3 is not defined"
        )


def choose_errors(
    table: TableLike, numbers: Sequence[str], factors: int, settings: ErrorSettings, omitted: int = 0
) -> Errors:
    """Choose standard errors.

    ``auto`` means ``cluster`` where a column of clusters is named, where rows are of the same document (`DOCUMENTS`),
    or, without such a column, where they share a segment (`SEGMENTS`; within a language pair ``lp``, if there is that
    column) or a text (`TEXTS`): those that share one, directly or over others, are a cluster. Where a column ``system``
    has at least `FEWEST_CROSSED` systems, these are clusters in a second way; fewer are held fixed. Otherwise ``auto``
    means ``hc3``. ``cluster`` without a column means the same clusters.

    Source: Cameron & Miller 2015 for clusters; Cameron, Gelbach & Miller 2011 for two ways; Long & Ervin 2000, who
    recommend HC3 in general.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        numbers: columns of metrics and factors; rows that miss one are left out.
        factors: how many coefficients there are.
        settings: what was asked for.
        omitted: how many rows miss a number.

    Raises:
        InputError: for ``cluster`` without any clusters, or if all rows are of one document.
    """
    se, cluster = settings.se, settings.cluster
    rows = complete_rows(table, numbers, omitted)
    present = set(column_names(table)) - set(numbers)
    systems = labels_of(table, CROSSED, rows, present) if CROSSED in present and cluster != CROSSED else []
    systems = systems if len(set(systems)) > 1 else []
    fixed = (CROSSED,) if systems else ()
    if cluster is not None:
        labels = label_column(cluster, table[cluster])
        kept = [labels[i] for i in rows]
        return Errors("cluster", kept, level_codes(kept), "", sampled=(cluster,), held=fixed)
    document = next((name for name in DOCUMENTS if name in present), None)
    documents = labels_of(table, document, rows, present) if document is not None else []
    alone = np.array([not label.strip() for label in documents])
    if document is not None and se in ("auto", "cluster") and not alone.all():
        refuse_single(documents, document)
    columns: dict[str, list[str]] = {}  # those in which any rows are the same
    for name in (name for name in (*SEGMENTS, *TEXTS) if name in present):
        labels = labels_of(table, name, rows, present)
        filled = [" ".join(label.casefold().split()) for label in labels if label.strip()]
        if len(set(filled)) < len(filled):
            columns[name] = labels
    of, binding = units(list(columns.values()), len(rows)), list(columns)
    if se in ("auto", "cluster") and binding:
        several_units(len(np.unique(of)), " or ".join(binding), unit="set that shares it")
    few = ""
    if document is not None and not alone.all():  # a row without a document is of what it has been of until now
        keys = keys_of(documents)
        whole = np.unique(np.where(alone, int(keys.max()) + 1 + of, keys), return_inverse=True)[1].astype(np.int64)
        if se != "cluster" and len(np.unique(whole)) <= factors < len(np.unique(of)) < len(of):
            few = f"; {len(np.unique(whole))} sets that share {document} are too few to be clusters"
        elif len(np.unique(whole)) < len(whole):  # a document for each row says nothing about its segment
            of, binding = whole, [document]
    sizes = np.bincount(of)
    sharing = int(sizes[sizes > 1].sum())
    digits = len(str(len(sizes)))  # so that names sort as numbers do
    clusters = [f"set {unit + 1:0{digits}}" for unit in of]
    shared = f"{sharing:,} of {len(rows):,} rows share {' or '.join(binding)} with another{few}"
    many = len(set(systems))
    why = shared if sharing else "no column shows that rows share a segment or a text"
    sampled = "row" if not sharing else "document" if document in binding else "segment"
    if se == "cluster" and not sharing and many < FEWEST_CROSSED:
        raise InputError(
            "se cluster needs a column of clusters, named by cluster: no rows share a segment or a text", setting="se"
        )
    if se in ("classic", "hc3"):
        return Errors(se, None, of, "", held=fixed)
    if many >= FEWEST_CROSSED and (se == "cluster" or min(len(sizes), many) > factors):
        nameless = systems.count("")
        why += f"; outputs of {many - (nameless > 0)} systems"
        why += f", and {nameless:,} rows that name none as of one more" if nameless else ""
        return Errors("cluster", clusters, of, why, systems, (sampled, CROSSED))
    if sharing and (se == "cluster" or len(sizes) > factors):
        return Errors("cluster", clusters, of, why, sampled=(sampled,), held=fixed)
    why += f", but in {len(sizes)} sets, too few to be clusters" if sharing else ""
    return Errors("hc3", None, of, why, held=fixed)


def labels_of(table: TableLike, name: str, rows: Rows, present: Collection[str]) -> Labels:
    """Return the cells of some rows, empty where one is missing; a segment is one of its pair, if ``lp`` is present."""
    column = list(table[name])
    labels = ["" if cells.is_missing(column[i]) else cells.spelled(column[i]) for i in rows]
    if name not in SEGMENTS or "lp" not in present:
        return labels
    pairs = labels_of(table, "lp", rows, present)
    return [f"{pair}\t{label}" if label else "" for pair, label in zip(pairs, labels, strict=True)]


def complete_rows(table: TableLike, numbers: Sequence[str], omitted: int) -> Rows:
    """Return the places of the rows that miss none of the numbers, as `numeric_columns` keeps them."""
    if not omitted:
        return np.arange(len(table[numbers[0]]))
    missing = [np.isnan(number_column(name, table[name])) for name in numbers]
    return np.flatnonzero(~np.any(missing, axis=0))


def standardised_columns(
    table: TableLike, names: Sequence[str], factors: int, settings: ErrorSettings
) -> tuple[dict[str, Array], Errors]:
    """Return columns by name, each standardised (n,), and the standard errors of a regression on so many factors."""
    labels = [settings.cluster] if settings.cluster is not None else []
    columns, _, omitted = numeric_columns(table, names, labels, nan=settings.nan)
    require_rows(len(columns[names[0]]), factors)
    z = {name: standardise(name, values) for name, values in columns.items()}
    return z, choose_errors(table, names, factors, settings, omitted)


@dataclass(frozen=True)
class Draws:
    """What the resamples gave; NaN where a resample had a constant column or collinear factors.

    Attributes:
        coef: (resamples, metrics, factors).
        r2: (resamples, metrics).
        correlations: of the factors (resamples, factors, factors).
        responses: of the factors with the metrics (resamples, metrics, factors).
        defined: which resamples are (resamples,).
    """

    coef: Array
    r2: Array
    correlations: Array
    responses: Array
    defined: NDArray[np.bool_]


def bootstrap_regressions(
    x: Array, y: Array, *, resamples: int, seed: Seed, clusters: Sequence[str] | None = None
) -> Draws:
    """Fit the standardised regression of every metric y (n, m) on the factors x (n, p) in every resample.

    With the cluster of each row, whole clusters are drawn instead of rows. A standardised regression is a function of
    the correlations, so a resample needs sums of products only, and standardising inside it costs nothing. All metrics
    share the resamples, which makes their coefficients comparable.

    Source: Freedman 1981 for resampling pairs; Field & Welsh 2007 for resampling whole clusters.
    """
    p = x.shape[1]
    z = np.column_stack([x, y])
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    k = z.shape[1]
    upper = np.triu_indices(k)
    sums = np.column_stack([np.ones(len(z)), z, z[:, upper[0]] * z[:, upper[1]]])
    if clusters is not None:
        names, codes = np.unique(np.asarray(clusters), return_inverse=True)
        by_cluster = np.zeros((len(names), sums.shape[1]))
        np.add.at(by_cluster, codes, sums)
        sums = by_cluster
    moments = np.concatenate([counts @ sums for counts in bootstrap_counts(resamples, len(sums), seed)])
    moments /= moments[:, :1]
    means, products = moments[:, 1 : k + 1], moments[:, k + 1 :]
    covariance = np.empty((resamples, k, k))
    covariance[:, upper[0], upper[1]] = covariance[:, upper[1], upper[0]] = products
    covariance -= means[:, :, None] * means[:, None, :]
    variance = np.einsum("bii->bi", covariance)
    spread = np.sqrt(np.where(variance > 1e-12, variance, np.nan))
    correlations = covariance / (spread[:, :, None] * spread[:, None, :])
    inner = correlations[:, :p, :p]
    defined = ~np.isnan(correlations).any(axis=(1, 2))
    inner[~defined] = np.eye(p)
    defined &= np.linalg.eigvalsh(inner)[:, 0] > 1e-10
    inner[~defined] = np.eye(p)
    outer = correlations[:, :p, p:]
    outer[~defined] = np.nan
    coef = np.linalg.solve(inner, outer)
    responses = np.swapaxes(outer, 1, 2)
    return Draws(np.swapaxes(coef, 1, 2), (coef * outer).sum(axis=1), inner, responses, defined)


def widened(draws: Draws, x: Array, y: Array, errors: Errors, *, intercept: bool = False) -> Draws:
    """Return draws whose coefficients and R² spread as errors in two ways do; as they are if there is one way.

    Only whole clusters of the first way are drawn. Deviations from the estimate of standardised metrics y (n, m) on
    standardised factors x (n, p) are multiplied by what the second way adds to the standard error: drawing both ways
    would count each row's own error three times (Owen 2007). The shares that factors have in R² are not widened.
    """
    if errors.crossed is None:
        return draws
    ways, first = (errors, errors.one_way()), int(intercept)
    coef, r2 = draws.coef.copy(), draws.r2.copy()
    for j, column in enumerate(y.T):
        crossed, single = (way.fit(column, x, intercept=intercept) for way in ways)
        coef[:, j] = _stretched(coef[:, j], crossed.coef[first:], crossed.se[first:], single.se[first:])
        influence = r2_influence(column, crossed.residuals, crossed.r2)
        spreads = (np.sqrt(np.diag(way.spread(influence[:, None]))) for way in ways)
        r2[:, j] = _stretched(r2[:, j], np.array(crossed.r2), *spreads)
    return replace(draws, coef=coef, r2=r2)


def r2_influence(y: Array, residuals: Array, r2: float) -> Array:
    """Return each row's influence on R² of a standardised metric (n,)."""
    return ((1 - r2) * y**2 - residuals**2) / len(y)


def _stretched(draws: Array, value: Array, wide: Array, narrow: Array) -> Array:
    ratio = np.divide(wide, narrow, out=np.ones_like(wide), where=narrow > 0)
    return np.asarray(value + (draws - value) * ratio)


@settled(ComparisonSettings)
def compare_coefficients(
    table: TableLike, a: str, b: str, factors: Sequence[str], settings: ComparisonSettings
) -> CoefficientComparison:
    """Compare how two metrics go with the factors, over the same bootstrap resamples of rows.

    Source: Efron & Tibshirani 1993, chapter 13 (percentile interval and its p-value).

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        a: column of the first metric.
        b: column of the second.
        factors: columns of the factors.
        settings: see `ComparisonSettings`.

    Returns:
        ``by``: factor -> Comparison of its two standardised coefficients, and ``"r2"`` -> that of the two R².

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    if not factors:
        raise InputError("factors: name at least one column", setting="factors")
    if "r2" in factors:
        raise InputError("a factor cannot be called r2 here: that name stands for the explained variance")
    z, errors = standardised_columns(table, [*factors, a, b], len(factors), settings)
    x, y = (np.column_stack([z[name] for name in names]) for names in (factors, (a, b)))
    clusters = errors.clusters
    refuse_collinear(factors, x)
    coef = np.linalg.lstsq(x, y, rcond=None)[0]
    values = np.vstack([coef, 1 - np.square(y - x @ coef).mean(axis=0)])
    draws = bootstrap_regressions(x, y, resamples=settings.resamples, seed=settings.seed, clusters=clusters)
    sampled = np.concatenate([draws.coef, draws.r2[:, :, None]], axis=2)
    differences = sampled[:, 0] - sampled[:, 1]
    resampled = f"paired bootstrap of {'rows' if clusters is None else 'clusters'}"
    if errors.crossed is not None:
        spreads = (_spreads(x, y, way) for way in (errors, errors.one_way()))
        differences = _stretched(differences, values[:, 0] - values[:, 1], *spreads)
        resampled += ", widened for systems"
    comparisons: dict[str, Comparison] = {}
    for j, name in enumerate([*factors, "r2"]):
        method = f"difference of {'R²' if name == 'r2' else 'standardised coefficients'}, {resampled}"
        of_a, of_b = map(float, values[j])
        test = compared(of_a, of_b, differences[:, j], len(x), method, settings.confidence, errors.few())
        test = replace(test, a=a, b=b)
        if settings.margin is not None:
            p_same = equivalence_p(test.difference, test.ci, settings.margin, confidence=settings.confidence)
            test = replace(test, p_equivalence=p_same)
        comparisons[name] = test
    return CoefficientComparison(a, b, comparisons, settings.margin)


def _spreads(x: Array, y: Array, errors: Errors) -> Array:
    """Return the standard errors of the differences of two metrics' coefficients and, last, of their R² (p + 1,)."""
    fits = [errors.fit(column, x) for column in y.T]
    first, second = (r2_influence(c, fit.residuals, fit.r2) for c, fit in zip(y.T, fits, strict=True))
    of_r2 = errors.spread((first - second)[:, None])
    return np.append(errors.fit(y[:, 0] - y[:, 1], x).se, np.sqrt(of_r2[0]))


def r2_interval(fit: Ols, y: Array, correlations: Array, errors: Errors, confidence: float) -> Interval:
    """Return an interval of the share of variance that factors explain; its lower end is 0 where they may explain none.

    R² is a quadratic form of the coefficients, and taken to be a multiple of a noncentral chi-squared variable. Scale
    and degrees of freedom come from the coefficients' own (robust) covariance and, away from 0, from the influence of
    each row on R². The interval holds the shares under which the R² found is not in either tail. A factor of pure noise
    has a positive R², so intervals around R², as of the bootstrap, never hold 0. Over few clusters the variance is
    enlarged as t's quantile on clusters - 1 degrees of freedom is wider than the normal one.

    The fit is that of the standardised metric y (n,) on factors with these correlations (p, p).

    Source: Steiger & Fouladi 1992 for intervals by inversion; Satterthwaite 1946 for scale and degrees of freedom;
    Cameron & Miller 2015, section VI, for t on clusters - 1.
    """
    first = int(fit.intercept)
    spread = correlations @ fit.covariance[first:, first:]
    mean, square = float(np.trace(spread)), float(np.trace(spread @ spread))
    if fit.r2 >= 1 - 1e-12 or mean <= 0:
        return fit.r2, fit.r2
    influence = r2_influence(y, fit.residuals, fit.r2)
    slope = float(errors.spread(influence[:, None])[0, 0]) / (4 * max(fit.r2, 1e-12))
    if (many := errors.few()) is not None:
        wider = few_units((1 - confidence) / 2, many) ** 2
        square, slope = square * wider, slope * wider
    df = mean**2 / square
    cumulative = need("scipy.special", "intervals of R²").chndtr

    def above(share: float) -> float:
        """Return how probable an R² above the one found is, if the true share is this."""
        total = share + mean
        within = square + 2 * share * slope
        root = math.sqrt(max(total**2 - df * within, 0.0))
        scale = min(total / df, within / (total + root))  # (total - root) / df, of which nothing cancels
        return 1 - float(cumulative(fit.r2 / scale, df, max(total / scale - df, 0.0)))

    solve = need("scipy.optimize", "intervals of R²").brentq

    def end(p: float) -> float:
        """Return the share above which the R² found would be exceeded with more than this probability."""
        if above(0.0) >= p:
            return 0.0
        return 1.0 if above(1.0) <= p else float(solve(lambda share: above(share) - p, 0.0, 1.0))

    tail = (1 - confidence) / 2
    return end(tail), end(1 - tail)


def partial_intervals(fit: Ols, classic: Ols, vif: Array) -> tuple[list[Interval], list[Interval]]:
    """Return intervals of partial and semi-partial R² of each factor, from those of the coefficients.

    Both are the square of a coefficient times what does not depend on it, so an interval that holds 0 becomes one that
    begins there. The t of the same fit with classic standard errors gives partial R², t² / (t² + df); the variance
    inflation factors (p,) give the other.
    """

    def squared(ends: Array) -> Interval:
        low, high = sorted(float(end) ** 2 for end in ends)
        return (0.0 if ends[0] <= 0 <= ends[1] else low), high

    partial, semipartial = [], []
    for j, inflation in enumerate(vif, start=int(fit.intercept)):
        ends = np.array([fit.low[j], fit.high[j]])
        with np.errstate(invalid="ignore"):  # t / sqrt(t² + df), also where errors are 0
            partial.append(squared(ends / np.hypot(ends, classic.se[j] * math.sqrt(fit.df))))
        semipartial.append(squared(ends / np.sqrt(inflation)))
    return partial, semipartial


def corrected_percentiles(draws: Array, value: float, confidence: float, units: int | None = None) -> Interval:
    """Return the percentile interval of a share of variance, without the bias of resampling; its ends are not below 0.

    A share in a resample is too large for the same reason as a share in the sample, so twice what the resamples are
    above the sample, on average, is taken off.

    Source: Efron & Tibshirani 1993, section 10.6, for the bias; it is taken off once for each of the two steps.
    """
    low, high = percentile_interval(draws, confidence, units)
    bias = float(np.nanmean(draws)) - value if not np.isnan(draws).all() else math.nan
    return max(low - 2 * bias, 0.0), max(high - 2 * bias, 0.0)


def out_of_sample(x: Array, y: Array, errors: Errors, seed: Seed) -> tuple[float, Array]:
    """Return R² of a metric y (n,) on rows that were not fitted, and what shuffling each factor takes from it (p,).

    Cross-validation with `FOLDS` folds, or as many as there are sets of rows that share a segment or a text: those stay
    together. The importance of a factor, of x (n, p), is its drop in R² averaged over all permutations of its values in
    a fold, which has a closed form for a linear model. Both are NaN if all rows belong together.

    Source: Stone 1974; Breiman 2001 and Fisher, Rudin & Dominici 2019 for permutation importance.
    """
    units = np.unique(errors.units, return_inverse=True)[1]
    folds = min(FOLDS, int(units.max()) + 1)
    if folds < 2:
        return math.nan, np.full(x.shape[1], math.nan)
    left = total = 0.0
    gain = np.zeros(x.shape[1])
    for fold in unit_folds(units, folds, seed):
        design = np.column_stack([np.ones(len(fold.train)), x[fold.train]])
        coef = np.linalg.lstsq(design, y[fold.train], rcond=None)[0]
        tested = x[fold.test]
        rest = y[fold.test] - coef[0] - tested @ coef[1:]
        centred = tested - tested.mean(axis=0)
        left += float(rest @ rest)
        total += float(np.square(y[fold.test] - y[fold.train].mean()).sum())
        gain += 2 * coef[1:] * (rest @ centred) + 2 * coef[1:] ** 2 * np.square(centred).sum(axis=0)
    return 1 - left / total, gain / total
