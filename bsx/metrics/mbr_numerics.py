"""What the approximations of minimum Bayes risk compute: centroids of vectors, and the rest of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bsx.metrics.blocks import Values

_STILL = 1e-4  # an objective that falls by no more has converged, as in mbrs


def first_centroids(vectors: Values, weights: Values, count: int, rng: np.random.Generator) -> Values:
    """Draw vectors far from each other (count, dim): k-means++, Arthur & Vassilvitskii 2007.

    Args:
        vectors: (n, dim).
        weights: how much each counts (n,).
        count: how many are drawn, up to n.
        rng: draws them.
    """
    drawn = [int(rng.choice(len(vectors), p=weights / weights.sum()))]
    nearest = np.full(len(vectors), np.inf)
    while len(drawn) < count:
        nearest = np.minimum(nearest, ((vectors - vectors[drawn[-1]]) ** 2).sum(axis=1))
        nearest[drawn] = 0.0
        chances = weights * nearest
        if not chances.sum() > 0:  # all others stand where one of these does
            break
        drawn.append(int(rng.choice(len(vectors), p=chances / chances.sum())))
    return vectors[drawn]


def k_means(vectors: Values, weights: Values, centroids: Values, rounds: int) -> tuple[Values, NDArray[np.int64]]:
    """Move centroids to the means of the vectors nearest to them (Lloyd 1982).

    Args:
        vectors: (n, dim).
        weights: how much each counts (n,).
        centroids: where they begin (k, dim).
        rounds: after how many it stops, if vectors still change theirs.

    Returns:
        Centroids (k, dim), and the one of each vector in the last round (n,).
    """
    centroids = centroids.copy()
    nearest = np.full(len(vectors), -1)
    for _ in range(rounds):
        distances = (centroids**2).sum(axis=1)[None, :] - 2 * vectors @ centroids.T
        before, nearest = nearest, distances.argmin(axis=1)
        if np.array_equal(before, nearest):
            break
        for place in np.unique(nearest):
            own = nearest == place
            if weights[own].sum() > 0:
                centroids[place] = np.average(vectors[own], axis=0, weights=weights[own])
    return centroids, nearest


def completed(scores: Values, known: NDArray[np.bool_], start: Values, rounds: int, regularisation: float) -> Values:
    """Complete a matrix of which few cells are known, by a product of low rank: alternating least squares.

    It minimises the squared error of the known cells plus the squared lengths of both factors times a weight. Source:
    Trabelsi et al. 2024, algorithm 1, after Zachariah et al. 2012; the defaults are those of mbrs.

    Args:
        scores: (n, m); what stands in cells that are not known is not read.
        known: which are (n, m).
        start: the second factor at first (m, rank).
        rounds: after how many it stops, if the objective still falls.
        regularisation: weight of the lengths, above 0.

    Returns:
        The product (n, m), which stands for the known cells too.
    """
    target, cells = np.where(known, scores, 0.0), known.astype(np.float64)
    ridge = regularisation * np.eye(start.shape[1])
    right, before = start, np.inf
    for _ in range(rounds):
        left = _solved(target, cells, right, ridge)
        right = _solved(target.T, cells.T, left, ridge)
        error = ((target - cells * (left @ right.T)) ** 2).sum()
        objective = float(error + regularisation * ((left**2).sum() + (right**2).sum()))
        if before - objective <= _STILL:
            break
        before = objective
    return np.asarray(left @ right.T)


def _solved(target: Values, cells: Values, factor: Values, ridge: Values) -> Values:
    """Return the other factor (n, rank) that comes nearest to the target (n, m) with this one (m, rank)."""
    rank = factor.shape[1]
    outer = (factor[:, :, None] * factor[:, None, :]).reshape(len(factor), -1)
    normal = (cells @ outer).reshape(-1, rank, rank) + ridge
    return np.asarray(np.linalg.solve(normal, (target @ factor)[:, :, None])[:, :, 0])
