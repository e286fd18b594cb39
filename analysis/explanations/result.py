"""Explanations as a result: a risk for each word, how it was told, and how well it finds people's marks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bsx.analysis.documents.explaining import ExplainDocument, MarksRow, WordsRow
from bsx.analysis.explanations.marks import FIGURES, MarkAgreement
from bsx.support.aligned import text_table
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped

_DIGITS = 9
_RISKIEST = 3


@dataclass(frozen=True, eq=False)
class ExplainedRow:
    """The words of one row with their risks.

    Attributes:
        candidate: the text.
        risk: of each of its words, as `str.split` parts them (words,).
        source: the source text, if there is one.
        source_risk: of each of its words.
        references: what the candidate was held against; empty for explanations without references.
    """

    candidate: str
    risk: Array
    source: str | None = None
    source_risk: Array | None = None
    references: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return texts and risks, for JSON."""
        found: dict[str, object] = {"candidate": self.candidate, "risk": _rounded(self.risk)}
        if self.source is not None:
            found["source"] = self.source
        if self.source_risk is not None:
            found["source_risk"] = _rounded(self.source_risk)
        if self.references:
            found["reference"] = list(self.references)
        return found


@dataclass(frozen=True, eq=False)
class Explanations:
    """Risks of words, row by row.

    Attributes:
        rows: one for each candidate.
        by: the encoder or metric behind them.
        method: of each side: ``trained``, ``match``, ``erasure`` or ``shapley``.
        calibrated: of each side, whether a risk is the probability that a person marks the word as an error.
        marks: of each side that was held against people's marks, how well they agree.
        settings: what was asked for.
        signature: of what computed.
        notes: what the reader should know.
    """

    rows: Sequence[ExplainedRow]
    by: str
    method: Mapping[str, str]
    calibrated: Mapping[str, bool]
    marks: Mapping[str, MarkAgreement] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    signature: str = ""
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    def __getitem__(self, row: int) -> ExplainedRow:
        """Return a row."""
        return self.rows[row]

    def __repr__(self) -> str:
        """Return a short description."""
        ways = ", ".join(f"{side} by {way}" for side, way in self.method.items())
        return f"Explanations({len(self.rows)} rows, {self.by}: {ways})"

    def to_document(self) -> ExplainDocument:
        """Return the JSON document that `bsx explain` prints and a report reads, without its provenance."""
        return ExplainDocument(
            by=self.by,
            method=dict(self.method),
            calibrated=dict(self.calibrated),
            rows=[WordsRow.model_validate(row.to_dict()) for row in self.rows],
            marks=[MarksRow.model_validate({"side": side, **one.to_dict()}) for side, one in self.marks.items()],
            settings=dict(self.settings),
            notes=list(self.notes),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the document as a dictionary."""
        return self.to_document().to_dict()

    def to_jsonl(self) -> str:
        """Return one JSON object a row, with ``risk`` and, where there is a source, ``source_risk``."""
        return "".join(json.dumps(row.to_dict(), ensure_ascii=False) + "\n" for row in self.rows)

    def to_pandas(self) -> Untyped:
        """Return a data frame of words: ``row`` (from 1), ``side``, ``place`` (from 0), ``word`` and ``risk``."""
        pandas = need("pandas", "a data frame")
        found = [
            (number, side, place, word, risk)
            for number, row in enumerate(self.rows, start=1)
            for side, text, risks in (("candidate", row.candidate, row.risk), ("source", row.source, row.source_risk))
            if text is not None and risks is not None
            for place, (word, risk) in enumerate(zip(text.split(), risks.tolist(), strict=True))
        ]
        return pandas.DataFrame(found, columns=["row", "side", "place", "word", "risk"])

    def to_text(self) -> str:
        """Return the riskiest words of each row, and how well risks find marks, for people."""
        lines = [["row", "riskiest words of the candidate", *(["of the source"] * ("source" in self.method))]]
        for number, row in enumerate(self.rows, start=1):
            cells = [str(number), _riskiest(row.candidate, row.risk)]
            if "source" in self.method:
                known = row.source is not None and row.source_risk is not None
                cells.append(_riskiest(row.source or "", row.source_risk) if known else "")  # type: ignore[arg-type]
            lines.append(cells)
        return "\n\n".join([text_table(lines), *([self.marks_text()] if self.marks else [])])

    def marks_text(self) -> str:
        """Return a table of how well the risks of each side find people's marks."""
        lines = [["marks of", "sentences", "AUC", "average precision", "recall at K"]]
        for side, one in self.marks.items():
            figures = [getattr(one, name) for name in FIGURES]
            cells = [f"{figure.estimate:.4f} [{figure.low:.4f}, {figure.high:.4f}]" for figure in figures]
            lines.append([side, f"{one.auc.n} of {one.auc.n + one.left_out}", *cells])
        return text_table(lines)


def _riskiest(text: str, risks: Array) -> str:
    order = sorted(range(len(risks)), key=lambda place: -risks[place])[:_RISKIEST]
    words = text.split()
    return ", ".join(f"{words[place]} {risks[place]:.2f}" for place in order)


def _rounded(values: Array) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]
