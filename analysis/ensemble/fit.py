"""Fitting an ensemble: constants of the normalisation from all rows, weights from human scores.

Weights (non-negative least squares, ridge) see normalised scores and compare rows within a group only, as the agreement
that is wanted is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.ensemble.result import FoldWeights
from bsx.analysis.ensemble.settings import EnsembleSettings
from bsx.analysis.stats.folds import Fold, Rows, unit_folds
from bsx.analysis.stats.resample import Seed
from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.validate import vectors
from bsx.catalog.entries.metrics import Member, Normalise
from bsx.support.checks import Array
from bsx.support.optional import need

RANK_POINTS = 1001
PENALTIES: tuple[float, ...] = tuple(float(f"{10.0**k:.6g}") for k in np.arange(2, -4.25, -0.5))
INNER_FOLDS = 5


@dataclass(frozen=True)
class Weights:
    """Weights of members (k,), with the ridge penalty behind them and whether nothing was worth a weight."""

    values: Array
    penalty: float | None = None
    fell_back: bool = False


@dataclass(frozen=True)
class Training:
    """What weights are learnt from.

    Attributes:
        scores: as the rule normalises them (n, k).
        singles: turned z-scores (n, k), by which single members are judged: ranks would change their Pearson's r.
        human: human scores (n,).
        groups: number of each row's group (n,).
        of: unit of each row (n,).
    """

    scores: Array
    singles: Array
    human: Array
    groups: Rows
    of: Rows

    def take(self, rows: Rows) -> Training:
        """Return some of the rows."""
        return Training(self.scores[rows], self.singles[rows], self.human[rows], self.groups[rows], self.of[rows])


def fit_members(columns: Mapping[str, Array], lower: Sequence[str], normalise: Normalise) -> list[Member]:
    """Return members with constants fitted to their scores, all of weight 1.

    z uses mean and population standard deviation over all rows; ranks are average ranks, less 1/2 and over n, so that
    the least of n different scores is at 1 / 2n. A column has to vary.
    """
    members = []
    for name, scores in columns.items():
        vectors({f"column {name!r}": scores}, minimum=2, varied=True)
        turned = -scores if name in lower else scores
        constants: dict[str, object] = {}
        if normalise == "z":
            constants = {"centre": float(turned.mean()), "spread": float(turned.std())}
        elif normalise == "rank":
            # Distinct scores with their mid-rank positions; of very many, some spread evenly.
            ranks = need("scipy.stats", "ranks").rankdata(turned)
            points, first = np.unique(turned, return_index=True)
            positions = (ranks[first] - 0.5) / len(turned)
            if len(points) > RANK_POINTS:
                at = np.unique(np.searchsorted(positions, np.linspace(positions[0], positions[-1], RANK_POINTS)))
                points, positions = points[at], positions[at]
            constants = {"ranks": [[float(a), float(b)] for a, b in zip(points, positions, strict=True)]}
        members.append(Member.model_validate({"metric": name, "weight": 1.0, "lower": name in lower, **constants}))
    return members


def learn_weights(training: Training, settings: EnsembleSettings) -> Weights:
    """Return weights fitted to human scores."""
    scores, human, groups = training.scores, training.human, training.groups
    penalty = None
    if settings.how == "weights":
        values = nnls_weights(scores, human, groups)
    else:
        penalty = ridge_penalty(scores, human, groups, training.of, seed=settings.seed)
        values = ridge_weights(scores, human, groups, penalty)
    if not values.any():
        return Weights(np.full(scores.shape[1], 1 / scores.shape[1]), penalty, fell_back=True)
    return Weights(values, penalty)


def out_of_fold(
    training: Training, folds: Sequence[Fold], metrics: Sequence[str], fit: Callable[[Training], Weights]
) -> tuple[Array, Array, list[FoldWeights]]:
    """Score every row with weights that it did not teach.

    Args:
        training: all rows.
        folds: the folds, each row in one test part.
        metrics: names of the members.
        fit: from training rows to weights.

    Returns:
        The ensemble's scores (n,), those of the member that agrees best with people in the training rows (n,), and
        what each fold taught.
    """
    ensemble, baseline = np.full((2, len(training.human)), np.nan)
    taught = []
    for fold in folds:
        part = training.take(fold.train)
        weights = fit(part)
        best = best_member(part)
        ensemble[fold.test] = training.scores[fold.test] @ weights.values
        baseline[fold.test] = training.singles[fold.test, best]
        rows, named = (len(fold.train), len(fold.test)), dict(zip(metrics, weights.values.tolist(), strict=True))
        taught.append(FoldWeights(fold.name, *rows, named, metrics[best], weights.penalty, weights.fell_back))
    return ensemble, baseline, taught


def best_member(training: Training) -> int:
    """Return the member with the highest Pearson's r with human scores, averaged over the groups that define it."""
    columns, human, groups = training.singles, training.human, training.groups
    r = np.stack([pearson_rows(columns[groups == g].T, human[groups == g]) for g in np.unique(groups)])
    defined = ~np.isnan(r)
    count = defined.sum(axis=0)
    mean = np.where(count > 0, np.where(defined, r, 0.0).sum(axis=0) / np.maximum(count, 1), -np.inf)
    return int(np.argmax(mean))


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
    """Return the non-negative weights (k,) of the sum that comes nearest to human scores in squares, scaled to sum 1.

    They are all 0 if no member rises with the human scores. Normalised scores (n, k) and human scores (n,) are centred
    within groups, of which each row's number is given (n,).

    Source: Lawson & Hanson 1974, chapter 23.
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

    All is of training rows only, arguments as for `nnls_weights`; ``of`` is the unit of each row (n,), which is in one
    inner fold.
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
