"""What a study needs, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bsx.support.result import Interval, Notice, Number, Result

Units = Literal["segments", "rows", "systems"]


@dataclass(frozen=True)
class PlanStep:
    """What a study of one size can do.

    Attributes:
        units: segments, rows or systems.
        documents: that the segments come from; None without documents.
        judgments: of both systems together; None where judgments are not planned.
        power: of the effect; NaN where an interval is planned.
        width: of the interval that is to be expected.
    """

    units: int
    documents: int | None
    judgments: int | None
    power: Number
    width: Number


@dataclass(frozen=True)
class Spread:
    """How much the estimate varies: its squared standard error is sd² (1 - noise + noise/k + (m - 1) icc) / n.

    Attributes:
        sd: standard deviation of what one unit contributes, with one judgment of each system.
        icc: share of its square that units of a document have in common.
        noise: share of its square that one judgment's error makes; None where judgments are not planned.
        document_size: units a document.
        weighted_size: m, the same with every document weighted by its size; larger where sizes differ.
        judgments: k, judgments of each system's segment; None where judgments are not planned.
    """

    sd: Number
    icc: Number = 0.0
    noise: float | None = None
    document_size: Number = 1.0
    weighted_size: Number = 1.0
    judgments: float | None = None

    @property
    def design_effect(self) -> float:
        """By how much documents make the variance larger."""
        alone = self.alone
        return (alone + (self.weighted_size - 1) * self.icc) / alone if alone > 0 else 1.0

    @property
    def alone(self) -> float:
        """The variance of one unit, with its judgments, as a share of sd²."""
        noise, judgments = self.noise or 0.0, self.judgments or 1.0
        return 1 - noise + noise / judgments

    @property
    def variance(self) -> float:
        """The squared standard error times the number of units."""
        return float(self.sd**2 * (self.alone + (self.weighted_size - 1) * self.icc))


@dataclass(frozen=True)
class Pilot:
    """The table that a plan rests on.

    Attributes:
        units: segments, rows or systems.
        documents: None without documents.
        rows: of the table that were used.
        estimate: the difference in it.
        ci: its interval, by the plan's own standard error.
        spread: as it is in the pilot.
        power: that a study of the pilot's size has; NaN where an interval is planned.
        width: of the interval at the pilot's size.
        detectable: the smallest effect that a study of the pilot's size finds with the power asked for.
        judged_twice: share of systems' segments that have several judgments; None where judgments are not planned.
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
    judged_twice: float | None = None


@dataclass(frozen=True, repr=False)
class PlanResult(Result):
    """How many units a study needs.

    Attributes:
        design: what is studied.
        a: the first system or metric; empty where nothing names it.
        b: the second.
        score: the column of scores that systems are compared by, or of human judgments.
        units: what is counted.
        aim: the effect that shall be found, or None for an interval.
        needed: the smallest study that does what is asked for.
        needed_ci: interval of its units from the pilot; None where variances are stated.
        spread: of the study.
        steps: studies of other sizes.
        by_judgments: of so many judgments of each system's segment, the smallest study; empty unless they matter.
        pilot: None where variances are stated.
        lost: degrees of freedom that are not left for the test, of units or documents.
        warnings: ``few-documents``, ``noise-unknown``, ``documents-unknown``, ``heavy``, ``fixed-systems``.
    """

    kind: ClassVar[str] = "plan"

    design: Literal["compare", "meta"]
    a: str
    b: str
    score: str
    units: Units
    aim: float | None
    needed: PlanStep
    needed_ci: tuple[int, int] | None
    spread: Spread
    steps: tuple[PlanStep, ...]
    by_judgments: dict[str, PlanStep]
    pilot: Pilot | None
    lost: int
    warnings: tuple[Notice, ...]
