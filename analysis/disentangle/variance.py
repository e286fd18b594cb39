"""How much of a metric's variance factors explain: intervals that can hold 0, new rows, each factor's part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bsx.analysis.disentangle.bootstrap import r2_influence
from bsx.analysis.disentangle.standard_errors import Errors
from bsx.analysis.stats.folds import unit_folds
from bsx.analysis.stats.regression import Ols
from bsx.analysis.stats.resample import Seed, percentile_interval
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Interval

FOLDS = 10
MOST_PARTS = 6  # factors up to which R² is divided into what they share: 2^p - 1 parts


def r2_interval(fit: Ols, y: Array, correlations: Array, errors: Errors, confidence: float) -> Interval:
    """Return an interval of the share of variance that factors explain; its lower end is 0 where they may explain none.

    R² is a quadratic form of the coefficients, and taken to be a multiple of a noncentral chi-squared variable. Scale
    and degrees of freedom come from the coefficients' own (robust) covariance and, away from 0, from the influence of
    each row on R². The interval holds the shares under which the R² found is not in either tail. A factor of pure noise
    has a positive R², so intervals around R², as of the bootstrap, never hold 0.

    Source: Steiger & Fouladi 1992 for intervals by inversion; Satterthwaite 1946 for scale and degrees of freedom.

    Args:
        fit: of the standardised metric.
        y: the metric (n,).
        correlations: of the factors (p, p).
        errors: clusters, if there are any.
        confidence: level of the interval.
    """
    first = int(fit.intercept)
    spread = correlations @ fit.covariance[first:, first:]
    mean, square = float(np.trace(spread)), float(np.trace(spread @ spread))
    if fit.r2 >= 1 - 1e-12 or mean <= 0:
        return fit.r2, fit.r2
    influence = r2_influence(y, fit.residuals, fit.r2)
    slope = float(errors.spread(influence[:, None])[0, 0]) / (4 * max(fit.r2, 1e-12))
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
    begins there.

    Args:
        fit: with the standard errors of one's choice.
        classic: the same fit with classic ones, whose t gives partial R², t² / (t² + df).
        vif: variance inflation factors (p,).
    """
    partial, semipartial = [], []
    for j, inflation in enumerate(vif, start=int(fit.intercept)):
        ends = np.array([fit.low[j], fit.high[j]])
        with np.errstate(invalid="ignore"):  # t / sqrt(t² + df), also where errors are 0
            partial.append(_squared(ends / np.hypot(ends, classic.se[j] * math.sqrt(fit.df))))
        semipartial.append(_squared(ends / np.sqrt(inflation)))
    return partial, semipartial


def _squared(ends: Array) -> Interval:
    low, high = sorted(float(end) ** 2 for end in ends)
    return (0.0 if ends[0] <= 0 <= ends[1] else low), high


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
    """Return R² on rows that were not fitted, and what shuffling each factor there takes from it (p,).

    Cross-validation with `FOLDS` folds, or as many as there are sets of rows that share a segment or a text: those stay
    together. The importance of a factor is its drop in R² averaged over all permutations of its values in a fold, which
    has a closed form for a linear model.

    Source: Stone 1974; Breiman 2001 and Fisher, Rudin & Dominici 2019 for permutation importance.

    Args:
        x: factors (n, p).
        y: metric (n,).
        errors: which rows belong together.
        seed: of the folds.

    Returns:
        NaN if all rows belong together.
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


def commonality(names: Sequence[str], subsets: Array) -> dict[str, float]:
    """Divide R² into what each factor explains alone and what each set of factors explains in common.

    A common part can be negative, where one factor hides what another explains. The parts sum to R².

    Source: Newton & Spurrell 1967; Nimon & Reio 2011.

    Args:
        names: of the factors (p,).
        subsets: R² of every subset, from `bsx.analysis.stats.importance.subset_r2` (2^p,).

    Returns:
        Factors joined by ``+`` -> part, single ones first; nothing for more than `MOST_PARTS` factors.
    """
    p = len(names)
    if p > MOST_PARTS:
        return {}
    full, parts = (1 << p) - 1, {}
    for size in range(1, p + 1):
        for members in combinations(range(p), size):
            mask = sum(1 << j for j in members)
            # What every model without the set lacks, by inclusion and exclusion over the set's subsets.
            value = 0.0
            for part in range(1 << size):
                chosen = sum(1 << members[k] for k in range(size) if part >> k & 1)
                value -= (-1) ** part.bit_count() * float(subsets[(full ^ mask) | chosen])
            parts["+".join(names[j] for j in members)] = value
    return parts
