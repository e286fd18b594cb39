"""Two regressions of one metric on the same factors, as data come and under edits, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.stats.regression import Ols, WaldTest, fit_ols, wald
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need


@dataclass(frozen=True, eq=False)
class FactorSample:
    """One of the two samples, on the scale that both share.

    Attributes:
        y: responses (n,): scores less their mean, or falls of scores.
        x: factors (n, p), likewise.
        names: of the factors (p,).
        clusters: sentence of each row (n,).
    """

    y: Array
    x: Array
    names: Sequence[str]
    clusters: Array

    def fit(self, confidence: float) -> Ols:
        """Fit by least squares without an intercept, standard errors by sentence.

        Raises:
            InputError: for too few rows or sentences, or a factor that the others determine.
        """
        rank = 0
        for place, name in enumerate(self.names):
            now = int(np.linalg.matrix_rank(self.x[:, : place + 1], tol=1e-7 * np.abs(self.x).max()))
            if now == rank:
                others = ", ".join(self.names[:place]) or "nothing"
                raise InputError(f"factor {name!r} cannot be told from {others}: leave one of them out, or add edits")
            rank = now
        return fit_ols(self.y, self.x, se="cluster", clusters=_names(self.clusters), confidence=confidence)


@dataclass(frozen=True)
class Difference:
    """What an edit does less what data show, for one factor.

    Attributes:
        value: the difference of the coefficients.
        low: lower end of its interval.
        high: upper end.
        p: two-sided p-value of "both are the same".
    """

    value: float
    low: float
    high: float
    p: float


def compare_sides(
    observed: FactorSample, edited: FactorSample, confidence: float
) -> tuple[dict[str, Difference], WaldTest]:
    """Test whether the coefficients of two samples of the same sentences agree.

    Both regressions are one: the rows of both samples are stacked, and factors that both have come twice, once for all
    rows and once for the edited rows alone. The coefficients of the second set are the differences; standard errors by
    sentence take account of sentences that are in both samples. (Seemingly unrelated estimation: Weesie 1999; Clogg,
    Petkova & Haritou 1995.)

    Args:
        observed: scores as they come.
        edited: falls of scores under edits, with the same names of sentences.
        confidence: level of the intervals.

    Returns:
        Factor -> difference, and the test that all are 0.

    Raises:
        InputError: if they share no factor, or there are too few sentences.
    """
    shared = [name for name in observed.names if name in edited.names]
    if not shared:
        raise InputError("observed and edited texts have no factor in common")
    own = [list(observed.names).index(name) for name in shared]
    other = [list(edited.names).index(name) for name in shared]
    rest = [place for place in range(len(edited.names)) if place not in other]
    p = len(observed.names)
    top = np.column_stack([observed.x, np.zeros((len(observed.y), len(shared) + len(rest)))])
    moved = np.zeros((len(edited.y), p))
    moved[:, own] = edited.x[:, other]
    below = np.column_stack([moved, edited.x[:, other], edited.x[:, rest]])
    clusters = _names(np.concatenate([observed.clusters, edited.clusters]))
    fit = fit_ols(
        np.concatenate([observed.y, edited.y]),
        np.vstack([top, below]),
        se="cluster",
        clusters=clusters,
        confidence=confidence,
    )
    places = range(p, p + len(shared))
    found = {
        name: Difference(float(fit.coef[at]), float(fit.low[at]), float(fit.high[at]), float(fit.p[at]))
        for name, at in zip(shared, places, strict=True)
    }
    return found, wald(fit, list(places))


def mean_by_sentence(values: Array, clusters: Array, confidence: float) -> tuple[float, float, float]:
    """Return a mean and its interval, with standard errors by sentence; NaN ends if there is one sentence."""
    if len(np.unique(clusters)) < 2:
        return (float(values.mean()) if len(values) else float("nan")), float("nan"), float("nan")
    fit = fit_ols(values, np.ones((len(values), 1)), se="cluster", clusters=_names(clusters), confidence=confidence)
    return float(fit.coef[0]), float(fit.low[0]), float(fit.high[0])


def inflation(x: Array) -> Array:
    """Return how much each column's coefficient varies more than if it stood alone (p,), without an intercept."""
    scale = np.sqrt(np.square(x).sum(axis=0))
    linalg = need("scipy.linalg", "the regression")
    return np.asarray(np.diag(linalg.pinvh((x.T @ x) / np.outer(scale, scale))))


def _names(clusters: Array) -> list[str]:
    return [str(int(one)) for one in clusters]
