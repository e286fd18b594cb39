"""What a study needs, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bsx.support.result import Interval, Notice, Number, Result

Design = Literal["compare", "meta"]
Units = Literal["segments", "rows"]


@dataclass(frozen=True)
class PlanStep:
    """What a study of one size can do.

    Attributes:
        units: segments or rows.
        documents: that the segments come from; None without documents.
        power: of the effect.
        width: of the interval that is to be expected.
    """

    units: int
    documents: int | None
    power: Number
    width: Number


@dataclass(frozen=True)
class Spread:
    """How much the estimate varies: its squared standard error is sd² (1 + (m - 1) icc) / n.

    Attributes:
        sd: standard deviation of what one unit contributes.
        icc: share of its square that units of a document have in common.
        document_size: units a document.
        weighted_size: m, the same with every document weighted by its size; larger where sizes differ.
    """

    sd: Number
    icc: Number = 0.0
    document_size: Number = 1.0
    weighted_size: Number = 1.0

    @property
    def design_effect(self) -> float:
        """By how much documents make the variance larger."""
        return 1 + (self.weighted_size - 1) * self.icc

    @property
    def variance(self) -> float:
        """The squared standard error times the number of units."""
        return float(self.sd**2 * self.design_effect)


@dataclass(frozen=True)
class Pilot:
    """The table that a plan rests on.

    Attributes:
        units: segments or rows.
        documents: None without documents.
        rows: of the table that were used.
        estimate: the difference in it.
        ci: its interval, by the plan's own standard error.
        spread: as it is in the pilot.
        power: that a study of the pilot's size has.
        width: of the interval at the pilot's size.
        detectable: the smallest effect that a study of the pilot's size finds with the power asked for.
    """

    units: int
    documents: int | None
    rows: int
    estimate: Number
    ci: Interval
    spread: Spread
    power: Number
    width: Number
    detectable: Number


@dataclass(frozen=True, repr=False)
class PlanResult(Result):
    """How many units a study needs.

    Attributes:
        design: what is studied.
        a: the first system or metric; empty where nothing names it.
        b: the second.
        score: the column of scores that systems are compared by, or of human judgments.
        units: what is counted.
        aim: the effect that shall be found.
        needed: the smallest study that does what is asked for.
        needed_ci: interval of its units from the pilot; None where variances are stated.
        spread: of the study.
        steps: studies of other sizes.
        pilot: None where variances are stated.
        lost: degrees of freedom that are not left for the test, of units or documents.
        warnings: ``few-documents``, ``documents-unknown``, ``heavy``, ``fixed-systems``.
    """

    kind: ClassVar[str] = "plan"

    design: Design
    a: str
    b: str
    score: str
    units: Units
    aim: float
    needed: PlanStep
    needed_ci: tuple[int, int] | None
    spread: Spread
    steps: tuple[PlanStep, ...]
    pilot: Pilot | None
    lost: int
    warnings: tuple[Notice, ...]
