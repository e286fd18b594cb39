"""Explanations as a result: a risk for each word, how it was told, and how well risks find the words humans marked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from bsx.analysis.explanations.calibration import Calibration
from bsx.analysis.explanations.marks import MarkAgreement
from bsx.analysis.stats.results import Comparison
from bsx.support.result import Notice, Number, Result


@dataclass(frozen=True)
class ExplainedRow:
    """The words of one row with their risks.

    Attributes:
        candidate: the text.
        risk: of each of its words, as `str.split` parts them (words,).
        source: the source text, if there is one.
        source_risk: of each of its words.
        reference: what the candidate was held against; empty for explanations without references.
        columns: further columns of the row, such as its system and segment.
    """

    candidate: str
    risk: tuple[Number, ...]
    source: str | None = None
    source_risk: tuple[Number, ...] | None = None
    reference: tuple[str, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Explanations(Result):
    """Risks of words, row by row.

    Attributes:
        by: the encoder or metric behind them.
        method: of each side: ``trained``, ``ranks``, ``match``, ``erasure`` or ``shapley``.
        calibrated: of each side, whether a risk is the probability that a human marks the word as an error.
        rows: one for each candidate.
        marks: of each side that was held against human marks, how well they agree.
        baselines: of each of these, the mean AUC of a sentence compared with what needs no training, by name:
            ``match``, ``length`` in characters, ``frequency`` (how rare it is among the run's texts of its side).
        calibration: of each of these whose risks are calibrated, how far they are from the shares of marked words.
        warnings: those of `bsx.metrics.learned.seen.seen_notices`, where risks were held against marks.
    """

    kind: ClassVar[str] = "explain"

    by: str
    method: dict[str, str]
    calibrated: dict[str, bool]
    rows: tuple[ExplainedRow, ...]
    marks: dict[str, MarkAgreement] = field(default_factory=dict)
    baselines: dict[str, dict[str, Comparison]] = field(default_factory=dict)
    calibration: dict[str, Calibration] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    def __getitem__(self, row: int) -> ExplainedRow:
        """Return a row."""
        return self.rows[row]
