"""Covariances of least-squares coefficients over clusters: CR2, its degrees of freedom, joint tests, two ways at once.

Everything is written in an orthonormal basis Q of the design. The hat matrix of a cluster's rows is Q_g Q_g', of rank p
at most, so its eigenvectors in that basis are all that is kept: memory grows with rows x p, never with clusters².
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bsx.support.checks import Array

ALONE = 1e-10
"""1 less an eigenvalue of a cluster's hat matrix below which that cluster decides a combination of coefficients."""
MOST_PRODUCTS = 30_000_000
"""Clusters x coefficients x contrasts up to which degrees of freedom are exact; the rest is of order 1 / clusters."""

Codes = NDArray[np.int64]


class ClusterRobust:
    """The bias-reduced covariance (CR2) of a design (n, p) of full rank over clusters, from 0 without gaps (n,).

    Residuals of a cluster are multiplied by (I - H_gg)^(-1/2), which makes the covariance unbiased where errors are
    independent and of one variance. Where a cluster decides a combination of coefficients alone, the pseudo-inverse
    leaves it out.

    Source: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018. It agrees with the R package clubSandwich.
    """

    def __init__(self, design: Array, codes: Codes) -> None:
        self.basis, upper = np.linalg.qr(design)
        self.back = np.linalg.inv(upper)
        """Coefficients of the design from those of the basis (p, p)."""
        self.codes, self.many = codes, int(codes.max()) + 1
        self._parts: list[tuple[Codes, Array, Array]] = []
        """Clusters of one size (m,), eigenvectors of their Q_g'Q_g as rows (m, r, p), and eigenvalues (m, r)."""
        order, p = np.argsort(codes, kind="stable"), self.basis.shape[1]
        sizes = np.bincount(codes)
        starts = np.cumsum(sizes) - sizes
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            rows = self.basis[order[starts[chosen][:, None] + np.arange(size)]]  # (m, size, p)
            if size <= p:
                values, vectors = np.linalg.eigh(rows @ np.swapaxes(rows, 1, 2))
                scale = np.where(values > 1e-14, 1 / np.sqrt(np.maximum(values, 1e-14)), 0.0)
                across = np.swapaxes(vectors, 1, 2) @ rows * scale[:, :, None]
            else:
                values, vectors = np.linalg.eigh(np.swapaxes(rows, 1, 2) @ rows)
                across = np.swapaxes(vectors, 1, 2)
            self._parts.append((chosen, across, np.clip(values, 0.0, 1.0)))

    @staticmethod
    def _weights(values: Array, power: float) -> Array:
        left = 1 - values
        return np.where(left > ALONE, np.maximum(left, ALONE) ** power, 0.0)

    def scores(self, residuals: Array, scales: Array | None = None) -> Array:
        """Return each cluster's adjusted influence on the coefficients of the basis (G, p); their products sum to CR2.

        ``scores @ back.T`` is that on the coefficients of the design. Scales are what each row adds to those by itself
        (n, p), as to standardised ones through the columns' standard deviations; they are summed over clusters, with
        the correction G / (G - 1).
        """
        cells = self.basis * residuals[:, None]
        sums = np.column_stack([np.bincount(self.codes, column, self.many) for column in cells.T])
        adjusted = np.empty(sums.shape)
        for chosen, across, values in self._parts:
            scaled = np.einsum("grp,gp->gr", across, sums[chosen]) * self._weights(values, -0.5)
            adjusted[chosen] = np.einsum("grp,gr->gp", across, scaled)
        if scales is not None:
            moved = np.column_stack([np.bincount(self.codes, column, self.many) for column in scales.T])
            adjusted += np.linalg.solve(self.back, moved.T).T * np.sqrt(self.many / (self.many - 1))
        return adjusted

    def _products(self, contrasts: Array, full: bool) -> tuple[Array, Array]:
        """Return what the working model says of contrasts (p, q) of the basis: own parts (G, q, q), shared (G, q, p).

        The covariance of the clusters' parts of two contrasts is the own part on the diagonal less products of shared
        ones everywhere. Unless ``full``, only the diagonals of the own parts are made, (G, q).
        """
        p, q = contrasts.shape
        within = np.empty((self.many, q, q) if full else (self.many, q))
        shared = np.empty((self.many, q, p))
        for chosen, across, values in self._parts:
            turned = across @ contrasts  # (m, r, q)
            inner = (values * self._weights(values, -1.0))[:, :, None] * turned
            if full:
                within[chosen] = np.swapaxes(turned, 1, 2) @ inner
            else:
                within[chosen] = (turned * inner).sum(axis=1)
            half = (values * self._weights(values, -0.5))[:, :, None] * turned
            shared[chosen] = np.swapaxes(half, 1, 2) @ across
        return within, shared

    def df(self) -> Array:
        """Return Satterthwaite's degrees of freedom of each coefficient of the design (p,); NaN where it has none."""
        p = len(self.back)
        degrees = np.full(p, np.nan)
        exact = self.many * p * p <= MOST_PRODUCTS
        for j in range(p):
            within, shared = self._products(self.back[j][:, None], full=False)
            d, w = within[:, 0], shared[:, 0]
            mean, square = float(d.sum()), float(d @ d)
            if exact:
                length = np.square(w).sum(axis=1)
                mean -= float(length.sum())
                square += float(np.square(w.T @ w).sum()) - 2 * float(d @ length)
            if mean > 1e-12 * float(self.back[j] @ self.back[j]) and square > 0:
                degrees[j] = mean**2 / square
        return degrees

    def joint_df(self, columns: Array) -> float:
        """Return the degrees of freedom of Hotelling's T² for a test that coefficients of the design (q,) are 0.

        They are NaN if the clusters do not determine a covariance of all of these.

        Source: Pustejovsky & Tipton 2018, equation 12 (approximate Hotelling test, "HTZ" in clubSandwich).
        """
        contrasts = self.back[columns].T  # (p, q)
        p, q = contrasts.shape
        exact = self.many * p * q <= MOST_PRODUCTS
        within, shared = self._products(contrasts, full=True)
        expected = within.sum(axis=0)
        size = float(np.trace(expected))
        if exact:
            expected = expected - np.einsum("gsp,gtp->st", shared, shared)
        values, vectors = np.linalg.eigh(expected)
        if values[0] <= 1e-12 * max(values[-1], size):
            return float("nan")
        root = vectors / np.sqrt(values) @ vectors.T
        within = root @ within @ root
        diagonal = np.einsum("gss->gs", within)
        total = float(np.square(diagonal.sum(axis=1)).sum() + np.square(within).sum())
        if exact:
            shared = root @ shared
            inner = np.einsum("gsp,gtp->gst", shared, shared)
            total -= 2 * float((diagonal.sum(axis=1) * np.einsum("gss->g", inner)).sum() + (within * inner).sum())
            flat = shared.reshape(self.many, q * p)
            gram = flat @ flat.T if self.many <= q * p else flat.T @ flat
            first = float(np.square(gram).sum())
            total += first
            if q * p <= 1500:
                crossed = (flat.T @ flat).reshape(q, p, q, p) if self.many <= q * p else gram.reshape(q, p, q, p)
                total += float((crossed * np.swapaxes(crossed, 1, 3)).sum())
            else:  # at most as much (Cauchy & Schwarz): fewer degrees of freedom, not more
                total += first
        return float(q * (q + 1) / total)

    def largest(self) -> Array:
        """Return the largest share of each coefficient's own variation that one cluster holds (p,).

        The variation of a column is what the other columns leave of it (partial leverage).
        """
        directions = self.back / np.sqrt(np.square(self.back).sum(axis=1, keepdims=True))
        shares = np.square(self.basis @ directions.T)
        return np.array([np.bincount(self.codes, column, self.many).max() for column in shares.T])


def two_way(
    design: Array, first: Codes, second: Codes, residuals: Array, scales: Array | None = None
) -> tuple[Array, Array]:
    """Return covariance (p, p) and degrees of freedom (p,) over two sets of clusters that cross: segments and systems.

    V = V_1 + (V_2 - V_12)₊: what rows of one cluster of the second set share beyond the row itself (or the rows that
    both sets join) is added to the covariance over the first. The difference's negative eigenvalues are set to 0, in
    an orthonormal basis of the design, so that the sum is a covariance and never below that over the first set alone.
    Each part is CR2, of the design (n, p), residuals (n,) and scales as `ClusterRobust.scores` takes them; degrees of
    freedom are the fewer of both sets'.

    Source: Cameron, Gelbach & Miller 2011.
    """
    crossed = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1].astype(np.int64)
    ways = [ClusterRobust(design, codes) for codes in (first, second, crossed)]
    of_first, *others = (way.scores(residuals, scales) for way in ways)
    over_second, both = (scores.T @ scores for scores in others)
    values, vectors = np.linalg.eigh(over_second - both)
    roots = np.vstack([of_first, (vectors * np.sqrt(np.maximum(values, 0.0))).T]) @ ways[0].back.T
    return np.asarray(roots.T @ roots), np.minimum(ways[0].df(), ways[1].df())  # no variance can come out below 0


def positive(matrix: Array) -> Array:
    """Return a symmetric matrix with its negative eigenvalues set to 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)
