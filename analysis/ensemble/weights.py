"""Weights of an ensemble's members: non-negative least squares, ridge.

Both see normalised scores and compare rows within a group only, as the agreement that is wanted is measured.
"""

from __future__ import annotations

import numpy as np

from bsx.analysis.stats.folds import Rows, unit_folds
from bsx.analysis.stats.resample import Seed
from bsx.analysis.stats.rowwise import pearson_rows
from bsx.support.checks import Array
from bsx.support.optional import need

PENALTIES: tuple[float, ...] = tuple(float(f"{10.0**k:.6g}") for k in np.arange(2, -4.25, -0.5))
INNER_FOLDS = 5


def within_groups(values: Array, groups: Rows) -> Array:
    """Return values (n,) or (n, k) less the mean of their row's group."""
    sizes = np.bincount(groups)
    columns = values.reshape(len(groups), -1)
    means = np.stack([np.bincount(groups, weights=c) for c in columns.T], axis=1) / np.maximum(sizes, 1)[:, None]
    return np.asarray((columns - means[groups]).reshape(values.shape))


def scaled(weights: Array) -> Array:
    """Return weights (k,) divided by the sum of their sizes; all 0 stay 0. Folds' scores are then comparable."""
    size = float(np.abs(weights).sum())
    return weights / size if size > 0 else np.zeros_like(weights)


def nnls_weights(scores: Array, human: Array, groups: Rows) -> Array:
    """Return the non-negative weights whose weighted sum comes nearest to human scores in squares, scaled to sum 1.

    Source: Lawson & Hanson 1974, chapter 23.

    Args:
        scores: normalised (n, k).
        human: (n,).
        groups: number of each row's group (n,); scores and human scores are centred within groups.

    Returns:
        (k,); all 0 if no member rises with the human scores.
    """
    solve = need("scipy.optimize", "non-negative least squares").nnls
    return scaled(np.asarray(solve(within_groups(scores, groups), within_groups(human, groups))[0], dtype=np.float64))


def ridge_weights(scores: Array, human: Array, groups: Rows, penalty: float) -> Array:
    """Return the w that minimises mean((human - scores w)²) + penalty |w|², scaled to absolute sum 1.

    Source: Hoerl & Kennard 1970. Arguments and centring as for `nnls_weights`.
    """
    return scaled(_ridge(within_groups(scores, groups), within_groups(human, groups), penalty))


def _ridge(x: Array, y: Array, penalty: float) -> Array:
    square = x.T @ x / len(y) + penalty * np.eye(x.shape[1])
    # A penalty of 0 with members that say the same has many solutions: the shortest is taken.
    return np.asarray(np.linalg.lstsq(square, x.T @ y / len(y), rcond=None)[0])


def ridge_penalty(scores: Array, human: Array, groups: Rows, of: Rows, *, seed: Seed = 1) -> float:
    """Return the one of `PENALTIES` with the least squared error in an inner cross-validation; of equals the largest.

    Args:
        scores: normalised (n, k), training rows only.
        human: (n,).
        groups: number of each row's group (n,).
        of: unit of each row (n,); a unit is in one inner fold.
        seed: of the inner folds.
    """
    compact = np.unique(of, return_inverse=True)[1]
    folds = unit_folds(compact, min(INNER_FOLDS, int(compact.max()) + 1), seed)
    errors = np.zeros(len(PENALTIES))
    for fold in folds:
        x, y = (within_groups(values[fold.train], groups[fold.train]) for values in (scores, human))
        test_x, test_y = (within_groups(values[fold.test], groups[fold.test]) for values in (scores, human))
        for i, penalty in enumerate(PENALTIES):
            errors[i] += float(np.square(test_y - test_x @ _ridge(x, y, penalty)).sum())
    nearly = errors <= errors.min() * (1 + 1e-12)
    return max(penalty for penalty, best in zip(PENALTIES, nearly, strict=True) if best)


def mean_correlation(columns: Array, human: Array, groups: Rows) -> Array:
    """Return the mean over groups of each column's correlation (n, k) -> (k,); -inf where no group defines it."""
    r = np.stack([pearson_rows(columns[groups == g].T, human[groups == g]) for g in np.unique(groups)])
    defined = ~np.isnan(r)
    count = defined.sum(axis=0)
    return np.where(count > 0, np.where(defined, r, 0.0).sum(axis=0) / np.maximum(count, 1), -np.inf)
