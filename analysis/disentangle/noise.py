"""Noise in factors: how much of their variance it is, and coefficients without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from bsx.analysis.disentangle.result import Reliability
from bsx.analysis.disentangle.standard_errors import Errors
from bsx.analysis.stats.rowwise import quadratic_form
from bsx.data.columns import TableLike, column_names, number_column, standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped


@dataclass(frozen=True)
class ReliabilityEstimate(Reliability):
    """A reliability with what it rests on.

    Attributes:
        influence: of each row on it (n,); all 0 for a stated one.
    """

    influence: Array = field(repr=False, compare=False)


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
            raise InputError(f"repeat: {factor}: name at least two columns that measure {factor}", setting="repeat")
        unknown = [name for name in names if name not in results]
        if unknown:
            raise InputError(f"repeat: {factor}: there is no column {unknown[0]!r}", setting="repeat")
        if factor in results and factor not in names:
            raise InputError(
                f"repeat: {factor}: there is a column {factor!r} already, which is none of {', '.join(names)}; give "
                "the mean of these a name of its own",
                setting="repeat",
            )
    for factor, names in repeat.items():
        columns = [number_column(name, table[name]) for name in names]
        for name, column in zip(names, columns, strict=True):
            there = column[~np.isnan(column)]
            if len(there) and np.ptp(there) == 0:
                raise InputError(
                    f"repeat: {factor}: column {name!r} has the value {there[0]:g} in every row: leave it out",
                    setting="repeat",
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
            f"{mean:.2f} on average",
            setting="repeat",
        )
    value = k * mean / (1 + (k - 1) * mean)
    # Each row's influence on the correlation of two standardised columns.
    influences = [z[a] * z[b] - float(z[a] @ z[b] / len(z[a])) * (z[a] * z[a] + z[b] * z[b]) / 2 for a, b in pairs]
    influence = np.mean(influences, axis=0) * k / (1 + (k - 1) * mean) ** 2
    return ReliabilityEstimate(factor, value, f"Cronbach's alpha of {', '.join(columns)}", influence)


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
