"""Explanations as a result: a risk for each word, how it was told, and how well it finds people's marks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.documents.explaining import ExplainDocument, MarksRow, WordsRow
from bsx.analysis.explanations.calibration import Calibration
from bsx.analysis.explanations.marks import FIGURES, MarkAgreement
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.data.picture import COLOURS, label, picture
from bsx.support.aligned import text_table
from bsx.support.checks import Array
from bsx.support.optional import need

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_DIGITS = 9
_RISKIEST = 3
_SHOWN = 20  # rows of a table


@dataclass(frozen=True, eq=False)
class ExplainedRow:
    """The words of one row with their risks.

    Attributes:
        candidate: the text.
        risk: of each of its words, as `str.split` parts them (words,).
        source: the source text, if there is one.
        source_risk: of each of its words.
        references: what the candidate was held against; empty for explanations without references.
        columns: further columns of the row, such as its system and segment.
    """

    candidate: str
    risk: Array
    source: str | None = None
    source_risk: Array | None = None
    references: tuple[str, ...] = ()
    columns: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return texts and risks, for JSON."""
        found: dict[str, object] = {"candidate": self.candidate, "risk": _rounded(self.risk)}
        if self.source is not None:
            found["source"] = self.source
        if self.source_risk is not None:
            found["source_risk"] = _rounded(self.source_risk)
        if self.references:
            found["reference"] = list(self.references)
        return {**found, **{name: cell for name, cell in self.columns.items() if name not in found}}


@dataclass(frozen=True, eq=False, repr=False)
class Explanations(InNotebooks):
    """Risks of words, row by row.

    Attributes:
        rows: one for each candidate.
        by: the encoder or metric behind them.
        method: of each side: ``trained``, ``match``, ``erasure`` or ``shapley``.
        calibrated: of each side, whether a risk is the probability that a person marks the word as an error.
        marks: of each side that was held against people's marks, how well they agree.
        calibration: of each of these whose risks are calibrated, how far they are from the shares of marked words.
        settings: what was asked for.
        signature: of what computed.
        notes: what the reader should know.
    """

    rows: Sequence[ExplainedRow]
    by: str
    method: Mapping[str, str]
    calibrated: Mapping[str, bool]
    marks: Mapping[str, MarkAgreement] = field(default_factory=dict)
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    signature: str = ""
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.rows)

    def __getitem__(self, row: int) -> ExplainedRow:
        """Return a row."""
        return self.rows[row]

    @property
    def short(self) -> str:
        """Rows, and how their words were explained."""
        ways = ", ".join(f"{side} by {way}" for side, way in self.method.items())
        return f"{len(self.rows)} rows, {self.by}: {ways}"

    def to_document(self) -> ExplainDocument:
        """Return the JSON document that `bsx explain` prints and a report reads, without its provenance."""
        return ExplainDocument(
            by=self.by,
            method=dict(self.method),
            calibrated=dict(self.calibrated),
            rows=[WordsRow.model_validate(row.to_dict()) for row in self.rows],
            marks=[
                MarksRow.model_validate(
                    {
                        "side": side,
                        **one.to_dict(),
                        **(self.calibration[side].to_dict() if side in self.calibration else {}),
                    }
                )
                for side, one in self.marks.items()
            ],
            settings=dict(self.settings),
            notes=list(self.notes),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the document as a dictionary."""
        return self.to_document().to_dict()

    def to_jsonl(self) -> str:
        """Return one JSON object a row, with ``risk`` and, where there is a source, ``source_risk``."""
        return "".join(json.dumps(row.to_dict(), ensure_ascii=False) + "\n" for row in self.rows)

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return words: ``row`` (from 1), ``side``, ``place`` (from 0), ``word`` and ``risk``."""
        return [
            {"row": number, "side": side, "place": place, "word": word, "risk": risk}
            for number, row in enumerate(self.rows, start=1)
            for side, text, risks in (("candidate", row.candidate, row.risk), ("source", row.source, row.source_risk))
            if text is not None and risks is not None
            for place, (word, risk) in enumerate(zip(text.split(), risks.tolist(), strict=True))
        ]

    def to_pandas(self) -> pd.DataFrame:
        """Return `records` as a DataFrame."""
        columns = ["row", "side", "place", "word", "risk"]
        frame: pd.DataFrame = need("pandas", "a data frame").DataFrame(self.records(), columns=columns)
        return frame

    def sheets(self) -> Sequence[Sheet]:
        """Return how well risks find marks, if there are marks, then the riskiest words of the first rows."""
        title = f"Riskiest words of each row, n = {len(self.rows)}, by {self.by}"
        note = f"The first {_SHOWN} of {len(self.rows)} rows." if len(self.rows) > _SHOWN else ""
        header, *rows = self._riskiest_words(_SHOWN)
        words = Sheet(title, header, rows, note, names=len(header))
        return [*(sheet for one in self.marks.values() for sheet in one.sheets()), words]

    def plot(self, path: str | Path | None = None, *, row: int = 0) -> Figure:
        """Draw the risks of the words of one row as bars, the candidate's and the source's.

        Args:
            path: .png, .svg or .pdf; unless given, the figure is returned only.
            row: which, from 0.
        """
        one = self.rows[row]
        sides = [("candidate", one.candidate, one.risk), ("source", one.source, one.source_risk)]
        known = [(name, text.split(), risks) for name, text, risks in sides if text is not None and risks is not None]
        longest = max(len(words) for _, words, _ in known)
        with picture(path, max(5.0, 1.5 + 0.45 * longest), 2.6 * len(known)) as figure:
            panels = figure.subplots(len(known), 1, squeeze=False)[:, 0]
            for axes, (name, words, risks) in zip(panels, known, strict=True):
                axes.bar(range(len(words)), risks, color=COLOURS[0])
                axes.set_xticks(range(len(words)), [label(word) for word in words], rotation=45, ha="right")
                axes.set_ylabel(f"risk ({name})")
        return figure

    def to_text(self) -> str:
        """Return the riskiest words of each row, and how well risks find marks, for people."""
        lines = self._riskiest_words(len(self.rows))
        return "\n\n".join([text_table(lines, "l"), *([self.marks_text()] if self.marks else [])])

    def _riskiest_words(self, most: int) -> list[list[str]]:
        lines = [["row", "riskiest words of the candidate", *(["of the source"] * ("source" in self.method))]]
        for number, row in enumerate(self.rows[:most], start=1):
            cells = [str(number), _riskiest(row.candidate, row.risk)]
            if "source" in self.method:
                known = row.source is not None and row.source_risk is not None
                cells.append(_riskiest(row.source or "", row.source_risk) if known else "")  # type: ignore[arg-type]
            lines.append(cells)
        return lines

    def marks_text(self) -> str:
        """Return a table of how well the risks of each side find people's marks."""
        more = ["calibration error", "risk less marked"] if self.calibration else []
        lines = [["marks of", "sentences", "AUC", "average precision", "recall at K", *more]]
        for side, one in self.marks.items():
            figures = [getattr(one, name) for name in FIGURES]
            if side in self.calibration:
                figures += [self.calibration[side].error, self.calibration[side].excess]
            cells = [f"{figure.estimate:.4f} [{figure.low:.4f}, {figure.high:.4f}]" for figure in figures]
            row = [side, f"{one.auc.n} of {one.auc.n + one.left_out}", *cells]
            lines.append(row + [""] * (len(lines[0]) - len(row)))
        return text_table(lines)


def _riskiest(text: str, risks: Array) -> str:
    order = sorted(range(len(risks)), key=lambda place: -risks[place])[:_RISKIEST]
    words = text.split()
    return ", ".join(f"{words[place]} {risks[place]:.2f}" for place in order)


def _rounded(values: Array) -> list[float]:
    return [round(float(value), _DIGITS) for value in values]
