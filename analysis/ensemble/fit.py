"""Fitting an ensemble: constants of the normalisation from all rows, weights from human scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bsx.analysis.ensemble.result import FoldWeights
from bsx.analysis.ensemble.settings import EnsembleSettings, How
from bsx.analysis.ensemble.weights import mean_correlation, nnls_weights, ridge_penalty, ridge_weights
from bsx.analysis.stats.folds import Fold, Rows
from bsx.analysis.stats.validate import vectors
from bsx.catalog.entries.metrics import Combination, Member, Normalise
from bsx.support.checks import Array
from bsx.support.optional import need

RANK_POINTS = 1001


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


def normalisation(how: How) -> Normalise:
    """Return what a rule does to scores before it adds them up."""
    return {"mean": "none", "rank": "rank"}.get(how, "z")  # type: ignore[return-value]


def fit_members(columns: Mapping[str, Array], lower: Sequence[str], normalise: Normalise) -> list[Member]:
    """Return members with constants fitted to their scores, all of weight 1.

    z uses mean and population standard deviation over all rows; ranks are average ranks, less 1/2 and over n, so that
    the least of n different scores is at 1 / 2n.

    Raises:
        InputError: for a column that does not vary.
    """
    members = []
    for name, scores in columns.items():
        vectors({f"column {name!r}": scores}, minimum=2, varied=True)
        turned = -scores if name in lower else scores
        constants: dict[str, object] = {}
        if normalise == "z":
            constants = {"centre": float(turned.mean()), "spread": float(turned.std())}
        elif normalise == "rank":
            constants = {"ranks": _positions(turned)}
        members.append(Member.model_validate({"metric": name, "weight": 1.0, "lower": name in lower, **constants}))
    return members


def _positions(scores: Array) -> list[list[float]]:
    """Return distinct scores with their mid-rank positions; of very many, `RANK_POINTS` spread evenly."""
    ranks = need("scipy.stats", "ranks").rankdata(scores)
    points, first = np.unique(scores, return_index=True)
    positions = (ranks[first] - 0.5) / len(scores)
    if len(points) > RANK_POINTS:
        at = np.unique(np.searchsorted(positions, np.linspace(positions[0], positions[-1], RANK_POINTS)))
        points, positions = points[at], positions[at]
    return [[float(a), float(b)] for a, b in zip(points, positions, strict=True)]


def learn_weights(training: Training, settings: EnsembleSettings) -> Weights:
    """Return weights fitted to human scores; see `bsx.analysis.ensemble.weights`."""
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


def weighted(how: How, normalise: Normalise, members: Sequence[Member], weights: Array) -> Combination:
    """Return a combination of members with these weights (k,)."""
    given = [m.model_copy(update={"weight": float(w)}) for m, w in zip(members, weights, strict=True)]
    return Combination(how=how, normalise=normalise, members=given)


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
        taught.append(
            FoldWeights(
                fold=fold.name,
                train=len(fold.train),
                test=len(fold.test),
                weights={name: float(w) for name, w in zip(metrics, weights.values, strict=True)},
                best=metrics[best],
                penalty=weights.penalty,
                fell_back=weights.fell_back,
            )
        )
    return ensemble, baseline, taught


def best_member(training: Training) -> int:
    """Return the member with the highest Pearson's r with human scores, averaged over groups."""
    return int(np.argmax(mean_correlation(training.singles, training.human, training.groups)))
