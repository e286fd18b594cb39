"""What the battery of perturbations returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from bsx.support.result import Interval, Number, Result


@dataclass(frozen=True)
class CaseResult:
    """One metric under one perturbation, over the rows whose text changed; NaN where no row is left.

    Attributes:
        metric: name.
        perturbation: name.
        strength: share of words or letters; None if it has none.
        preserves: whether the meaning stays.
        n: rows whose text changed and whose scores are defined.
        unchanged: rows on which the perturbation acted without changing them.
        not_applicable: rows in which there was nothing it could act on.
        failed: rows whose text changed but which have no score.
        nearer: rows of the n in which a change of meaning brought the text nearer to its reference, by words in common.
        mean_clean: mean score of those rows' clean texts.
        mean_score: mean score of their changed texts.
        drop: mean of clean score minus changed score.
        relative_drop: drop as a share of the metric's range.
        unnoticed: share of the rows whose changed text scores at least as high as the clean one.
        excess: mean of drop minus the control's drop, over rows that both changed; NaN for the control itself.
        excess_n: rows that both changed.
        p: one-sided p-value of "the drop is greater than the control's" from random swaps of the two within rows.
        p_adjusted: p corrected for the number of tests; the same without a correction.
        ci: bootstrap interval of ``drop``.
        excess_ci: bootstrap interval of ``excess``.
    """

    metric: str
    perturbation: str
    strength: float | None
    preserves: bool
    n: int
    unchanged: int
    not_applicable: int
    failed: int
    nearer: int
    mean_clean: Number
    mean_score: Number
    drop: Number
    relative_drop: Number
    unnoticed: Number
    excess: Number
    excess_n: int
    p: Number
    p_adjusted: Number
    ci: Interval
    excess_ci: Interval


@dataclass(frozen=True)
class MetricRange:
    """How far a metric's scores can fall in practice.

    Attributes:
        metric: name.
        clean: mean score of the clean texts.
        unrelated: mean score of unrelated texts of the corpus against the same references.
        range: clean minus unrelated.
        n: rows for which both are defined.
    """

    metric: str
    clean: Number
    unrelated: Number
    range: Number
    n: int


@dataclass(frozen=True)
class DropExample:
    """A row on which a metric did worst: did not see a changed meaning, or punished one that stayed.

    Attributes:
        metric: name.
        perturbation: name.
        strength: share of words or letters; None if it has none.
        row: number of the row, from 1.
        reference: the reference.
        original: the clean text.
        perturbed: the changed text.
        drop: score of the clean text less that of the changed one.
        scores: every metric's scores of clean and changed text.
    """

    metric: str
    perturbation: str
    strength: float | None
    row: int | str
    reference: str
    original: str
    perturbed: str
    drop: Number
    scores: dict[str, tuple[Number, Number]] = field(default_factory=dict)


@dataclass(frozen=True)
class NotApplied:
    """A perturbation that could not be applied, and why."""

    perturbation: str
    why: str


@dataclass(frozen=True, repr=False)
class Robustness(Result):
    """How metrics behave under perturbations.

    Attributes:
        results: metrics x perturbations x strengths.
        worst: rows on which each metric did worst under each, without those counted as ``nearer``.
        ranges: the scale of relative drops, by metric.
        left_out: perturbations that could not be applied.
        skipped: texts that a metric failed on, with metric, row and reason.
    """

    kind: ClassVar[str] = "adversarial-perturb"

    results: tuple[CaseResult, ...]
    worst: tuple[DropExample, ...]
    ranges: tuple[MetricRange, ...]
    left_out: tuple[NotApplied, ...]
    skipped: tuple[dict[str, Any], ...]
