"""What coefficients would be without the noise in factors: the method of moments, and simulation (SIMEX)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bsx.analysis.disentangling.errors import Errors
from bsx.analysis.disentangling.noise.reliability import ReliabilityEstimate
from bsx.analysis.stats.resample import Seed
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped

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
            summed = _summed(cells, errors)
            self.products.append(summed.T @ summed)

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
            which = ", ".join(f"{one.factor} {one.value:.2f}" for one in known.values())
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
                    score[place, len(self.pairs) + k] = -coef[place]
                    rest[place, len(self.pairs) + k] = 0.5 * coef[place] / root[place]
            influence = root[:, None] * (inverse @ score) + rest
            se[j] = np.sqrt(np.einsum("ai,ij,aj->a", influence, self.products[j], influence))
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
                    _summed(noisy * (column - noisy @ own)[:, None] * weight, errors)
                    for column, own in zip(y.T, coef, strict=True)
                ]
                sampled.append([np.square(one @ inverse).sum(axis=0) for one in score])
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
    return stats.t(len(set(errors.clusters)) - 1) if errors.clusters is not None else stats.norm()


def _weight(x: Array, errors: Errors) -> Array:
    """Return what each row's influence is multiplied by (n, 1)."""
    if errors.kind == "cluster":
        return np.full((len(x), 1), 1 / len(x))
    leverage = np.square(np.linalg.qr(x)[0]).sum(axis=1, keepdims=True)
    weight: Array = 1 / len(x) / np.maximum(1 - leverage, 1e-12)
    return weight


def _summed(rows: Array, errors: Errors) -> Array:
    """Return the sums (G, k) of rows (n, k) over clusters, with the correction for their number; else the rows."""
    if errors.clusters is None:
        return rows
    codes = np.unique(errors.clusters, return_inverse=True)[1]
    many = int(codes.max()) + 1
    summed = np.column_stack([np.bincount(codes, column, many) for column in rows.T])
    corrected: Array = summed * np.sqrt(many / max(many - 1, 1))
    return corrected
