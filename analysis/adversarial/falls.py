"""What one perturbation does to one metric's scores: their fall, how far it exceeds the control's, the worst rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.adversarial.result import CaseResult, DropExample, MetricRange
from bsx.analysis.perturbations.base import Perturbation
from bsx.analysis.perturbations.perturb import Perturbed
from bsx.analysis.stats.resample import Resampling, Seed, bootstrap_counts, percentile_interval, permutation_p, swaps
from bsx.analysis.stats.validate import vectors
from bsx.support.checks import Array

ROUNDING = 1e-6  # encoders give the same text slightly different vectors in another batch


def metric_range(name: str, before: Array, unrelated: Array) -> MetricRange:
    """Return how far a metric's scores (n,) can fall: to those of unrelated texts (n,)."""
    both = ~np.isnan(before) & ~np.isnan(unrelated)
    if not both.any():
        return MetricRange(name, _mean(before[~np.isnan(before)]), float("nan"), float("nan"), 0)
    clean, least = float(before[both].mean()), float(unrelated[both].mean())
    return MetricRange(name, clean, least, clean - least, int(both.sum()))


def fall(
    name: str,
    case: Perturbed,
    before: Array,
    after: Array,
    own: Array,
    scale: MetricRange,
    base: Perturbation,
    how: Resampling,
    nearer: NDArray[np.bool_],
) -> CaseResult:
    """Return how far a metric's scores (n,) fall under a perturbation, and how far beyond the control's falls (n,)."""
    drops = before - after
    there = ~np.isnan(drops)
    drop, low, high = _mean_interval(drops[there], **how)
    excess = np.array([]) if case.perturbation is base else (drops - own)[there & ~np.isnan(own)]
    more, more_low, more_high = _mean_interval(excess, **how)
    noticed = drops[there] > ROUNDING * np.maximum(1.0, np.abs(before[there]))
    p = _greater(excess, how["resamples"], how["seed"])
    return CaseResult(
        metric=name,
        perturbation=case.perturbation.name,
        strength=case.strength,
        preserves=case.perturbation.preserves,
        n=int(there.sum()),
        unchanged=case.unchanged,
        not_applicable=case.not_applicable,
        failed=int((case.changed & ~there).sum()),
        nearer=int((nearer & there).sum()),
        mean_clean=_mean(before[there]),
        mean_score=_mean(after[there]),
        drop=drop,
        relative_drop=drop / scale.range if scale.range > 0 else float("nan"),
        unnoticed=1 - _mean(noticed.astype(np.float64)),
        excess=more,
        excess_n=len(excess),
        p=p,
        p_adjusted=p,
        ci=(low, high),
        excess_ci=(more_low, more_high),
    )


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else float("nan")


def _mean_interval(values: Array, *, resamples: int, confidence: float, seed: Seed) -> tuple[float, float, float]:
    """Return the mean of values (n,) and its percentile bootstrap interval; rows are the items resampled."""
    if len(values) < 2:
        return _mean(values), float("nan"), float("nan")
    (values,) = vectors({"drop": values}, minimum=2)
    draws = np.concatenate([counts @ values for counts in bootstrap_counts(resamples, len(values), seed)]) / len(values)
    return (float(values.mean()), *percentile_interval(draws, confidence))


def _greater(differences: Array, resamples: int, seed: Seed) -> float:
    """Return the one-sided p of "the mean is above 0" if each difference might as well have the other sign."""
    if len(differences) < 2:
        return float("nan")
    signed = [
        np.where(mask, -differences, differences).mean(axis=1) for mask in swaps(resamples, len(differences), seed)
    ]
    return permutation_p(np.concatenate(signed), float(differences.mean()))


def worst_rows(
    name: str,
    case: Perturbed,
    before: Array,
    after: Array,
    references: Sequence[str],
    clean: Sequence[str],
    count: int,
    nearer: NDArray[np.bool_],
    every: Mapping[str, tuple[Array, Array]],
) -> list[DropExample]:
    """Return the smallest drops if the meaning changed, away from the reference, and the largest if it stayed.

    ``every`` holds all metrics' scores of the clean and of the changed texts, (n,) each.
    """
    drops = before - after
    order = np.argsort(-drops if case.perturbation.preserves else drops, kind="stable")
    rows = [int(row) for row in order if not np.isnan(drops[row]) and not nearer[row]][:count]
    return [
        DropExample(
            metric=name,
            perturbation=case.perturbation.name,
            strength=case.strength,
            row=row + 1,
            reference=references[row],
            original=clean[row],
            perturbed=case.texts[row],
            score=float(before[row]),
            perturbed_score=float(after[row]),
            drop=float(drops[row]),
            scores={other: (float(both[0][row]), float(both[1][row])) for other, both in every.items()},
        )
        for row in rows
    ]
