"""Which words are probably wrong, as `bsx explain` tells it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from bsx.analysis.documents.base import Number
from bsx.analysis.documents.explaining import ExplainDocument, MarksRow, WordsRow
from bsx.analysis.present.cells import FEWEST, heat, interval, number, percent, table, text
from bsx.analysis.present.parts import Cell, Heading, Part, Passages, Run, Section
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted, titles

_WORD = re.compile(r"\S+\s*|\s+")
_PROBABLE = 0.5


def explanations(documents: Sequence[Document], at_most: int) -> Section | None:
    """Return the section on words; of each document at most so many rows, the riskiest ones."""
    found = contents(documents, ExplainDocument)
    if not found:
        return None
    section = Section("words", "Words that are probably wrong")
    for head, (_, content) in zip(titles(found, _title), found, strict=True):
        section.blocks += [Heading(head), *_blocks(content, at_most)]
    section.lead = " ".join(_lead(content) for _, content in found)
    return section


def _title(content: ExplainDocument) -> str:
    return f"By {content.by} ({content.method.get('candidate', '')})"


def _blocks(content: ExplainDocument, at_most: int) -> list[Part]:
    blocks: list[Part] = []
    if content.marks:
        heads = ["side", "sentences", "AUC", "interval", "average precision", "interval", "recall at K", "interval"]
        note = "Means over sentences with marked and unmarked words; K is the number of marked words of a sentence."
        blocks.append(table("Risks against people's marks", heads, map(_marks, content.marks), note=note))
        known = [row for row in content.marks if row.calibration_error is not None]
        if known:
            heads = ["side", "calibration error", "interval", "mean risk less share marked", "interval"]
            note = "Expected calibration error: the mean distance of risk and share of marked words, in ten ranges."
            rows = [
                [
                    text(row.side),
                    number(row.calibration_error),
                    interval(row.calibration_error_ci),
                    number(row.excess),
                    interval(row.excess_ci),
                ]
                for row in known
            ]
            blocks.append(table("Risks as probabilities of a mark", heads, rows, note=note))
    order = sorted(range(len(content.rows)), key=lambda place: -_mean(content.rows[place]))
    shown = sorted(order[:at_most])
    every = [abs(risk) for row in content.rows for risk in (*row.risk, *(row.source_risk or ())) if risk is not None]
    top = 1.0 if all(0 <= risk <= 1 for risk in every) and min(_lowest(content), default=0) >= 0 else max(every)
    which = f"The {len(shown)} riskiest of {len(order):,} rows" if len(shown) < len(order) else "All rows"
    scale = "a probability of an error" if content.calibrated.get("candidate") else f"up to {top:.3g}"
    blocks.append(
        Passages(
            f"{which}. The darker a word, the higher its risk ({scale}); point at it for the number.",
            tuple((f"Row {place + 1}", _texts(content.rows[place], top)) for place in shown),
        )
    )
    return [*blocks, *noted(content.notes)]


def _lowest(content: ExplainDocument) -> list[float]:
    return [min((risk for risk in row.risk if risk is not None), default=0.0) for row in content.rows]


def _mean(row: WordsRow) -> float:
    known = [risk for risk in row.risk if risk is not None]
    return math.fsum(known) / len(known) if known else -math.inf


def _marks(row: MarksRow) -> list[Cell]:
    figures = ((row.auc, row.auc_ci), (row.average_precision, row.average_precision_ci), (row.recall, row.recall_ci))
    return [text(row.side), number(row.sentences), *(cell for v, ci in figures for cell in (number(v), interval(ci)))]


def _texts(row: WordsRow, top: float) -> tuple[tuple[str, tuple[Run, ...]], ...]:
    shown = [("candidate", _runs(row.candidate, row.risk, top))]
    if row.source is not None:
        shown.append(("source", _runs(row.source, row.source_risk or [], top)))
    return (*shown, *(("reference", (Run(one, False),)) for one in row.reference))


def _runs(content: str, risks: Sequence[Number], top: float) -> tuple[Run, ...]:
    """Return a text word by word, each with its shade; without risks, whole."""
    if not risks:
        return (Run(content, False),) if content else ()
    runs = []
    left = iter(risks)
    for piece in _WORD.findall(content):
        risk = next(left, None) if piece.strip() else None
        core = piece.rstrip()
        if risk is None:
            runs.append(Run(piece, False))
            continue
        runs.append(Run(core, risk >= _PROBABLE * top, heat(max(risk, 0.0), 0.0, top) or 0, f"risk {risk:.3f}"))
        if core != piece:
            runs.append(Run(piece[len(core) :], False))
    return tuple(runs)


def _lead(content: ExplainDocument) -> str:
    risks = [risk for row in content.rows for risk in row.risk if risk is not None]
    said = []
    if content.calibrated.get("candidate") and risks:
        probable = sum(risk >= _PROBABLE for risk in risks)
        said.append(
            f"{probable:,} of the candidates' {len(risks):,} words are more likely wrong than right, and "
            f"{percent(math.fsum(risks) / len(risks)).text} of all are to be expected wrong, by {content.by}."
        )
    elif risks:
        row = max(range(len(content.rows)), key=lambda place: _mean(content.rows[place]))
        said.append(f"Of {len(content.rows):,} candidates, row {row + 1} has the highest mean risk by {content.by}.")
    for one in content.marks:
        if one.sentences >= FEWEST:
            said.append(
                f"Risks of the {one.side} find the words that people marked with an AUC of {number(one.auc).text} "
                f"{interval(one.auc_ci).text} in {one.sentences:,} sentences."
            )
    return " ".join(said)
