"""Published tables beside ours, as ``bsx reproduce`` recomputes them."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.documents.reproduction import ReproducedCell, ReproduceDocument, ReproducedTable
from bsx.analysis.present.cells import NONE, number, table, text
from bsx.analysis.present.parts import Cell, Commands, Notes, Prose, Section
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents
from bsx.support.provenance import Provenance


def reproduced(documents: Sequence[Document]) -> list[Section]:
    """Return a section with a summary and one for each table; none without a document of this kind.

    Several documents are summed up as one.
    """
    found = [content for _, content in contents(documents, ReproduceDocument)]
    sections = []
    if found:
        tables = {name: one for content in found for name, one in content.tables.items()}
        left_out = [one for content in found for one in content.left_out if one.what not in tables]
        content = ReproduceDocument(ok=all(one.ok for one in found), tables=tables, left_out=left_out)
        summary = Section("reproduced", "Published tables beside ours", summary_line(content))
        heads, rows = summary_rows(content)
        note = "Tolerance used: of the cells that are met, the largest share of its tolerance that a difference takes."
        summary.blocks.append(table("Cells by table", heads, rows, note=note))
        if content.left_out:
            left = [[text(one.what), text(one.reason)] for one in content.left_out]
            summary.blocks.append(table("Tables left out", ["table", "why"], left, sortable=False))
        sections.append(summary)
        sections += [_section(name, one) for name, one in content.tables.items()]
    return sections


def repeated(origin: Provenance) -> Section:
    """Return a section on how to repeat the run alone: command, data, signatures, versions."""
    section = Section("repeat", "How to repeat this")
    section.blocks.append(Commands((origin.command,)))
    files = [[text(file.name), text(file.sha256, code=True)] for file in origin.files]
    section.blocks.append(table("Data that were read", ["file", "sha256"], files, sortable=False, folded=True))
    if origin.signatures:
        rows = [[text(name), text(signature, code=True)] for name, signature in origin.signatures.items()]
        section.blocks.append(table("Signatures", ["metric", "signature"], rows, sortable=False, folded=True))
    versions = ", ".join(f"{package} {version}" for package, version in origin.versions.items())
    section.blocks.append(Prose(f"Versions: {versions}."))
    return section


def summary_line(content: ReproduceDocument) -> str:
    """Return the finding in a sentence or two."""
    tables = content.tables.values()
    lines = []
    for called in dict.fromkeys(one.called for one in tables):
        own = [one for one in tables if one.called == called]
        cells = sum(len(one.cells) - one.count("ours") for one in own)
        met = sum(one.count("met", "exception no longer needed") for one in own)
        noun = "table" if len(own) == 1 else "tables"
        lines.append(f"{met:,} of {cells:,} {called} figures in {len(own)} {noun} are met within their tolerance.")
    exceptions, off = (sum(one.count(verdict) for one in tables) for verdict in ("exception", "off"))
    stale = sum(one.count("exception no longer needed") for one in tables)
    line = " ".join(lines)
    if exceptions:
        line += f" Off for a named reason: {exceptions}."
    if stale:
        line += f" Named as exceptions, but met: {stale}."
    return f"{line} Off without a reason: {off}."


def summary_rows(content: ReproduceDocument) -> tuple[list[str], list[list[Cell]]]:
    """Return heads and a row for each table."""
    heads = ["table", "cells", "met", "exceptions", "no longer needed", "off", "ours only", "tolerance used"]
    rows = []
    for name, one in content.tables.items():
        largest = one.largest
        counts = [one.count(verdict) for verdict in ("met", "exception", "exception no longer needed", "off", "ours")]
        share = Cell(NONE)
        if largest is not None and largest.tolerance and largest.difference is not None:
            used = abs(largest.difference) / largest.tolerance
            share = Cell(f"{used:.0%}" if used >= 0.005 or used == 0 else "< 1%", used)
        rows.append([text(name), number(len(one.cells)), *(number(count) for count in counts), share])
    return heads, rows


def reasons_of(one: ReproducedTable) -> list[str]:
    """Return each reason or remark of a table once; cells refer to them by place, from 1."""
    return list(dict.fromkeys(cell.reason for cell in one.cells if cell.reason))


def cell_rows(one: ReproducedTable, reasons: Sequence[str]) -> tuple[list[str], list[list[Cell]]]:
    """Return heads and a row for each cell: keys, what was published, ours, difference, verdict."""
    keys = list(dict.fromkeys(key for cell in one.cells for key in cell.at))
    rows = [
        [*(text(cell.at.get(key) or NONE) for key in keys), *_figures(cell), _verdict(cell, reasons)]
        for cell in one.cells
    ]
    return [*keys, one.called, "ours", "difference", "verdict"], rows


def _figures(cell: ReproducedCell) -> list[Cell]:
    fine = cell.tolerance is not None and 0 < cell.tolerance < 1e-4
    decimals = 0 if cell.tolerance == 0 else 6 if fine else 4
    difference = number(cell.difference, decimals)
    if fine and cell.difference:
        difference = Cell(f"{cell.difference:+.1e}", cell.difference)
    elif cell.difference is not None and not difference.text.startswith("-"):
        difference = Cell(f"+{difference.text}", difference.value)
    published = Cell(NONE) if cell.published is None else Cell(_shortest(cell.published, decimals), cell.published)
    return [published, number(cell.ours, decimals), difference]


def _shortest(value: float, decimals: int) -> str:
    """Return a published figure with the digits it has, at most so many decimals."""
    return min(f"{value:.{decimals}f}", f"{value:g}", key=len) if abs(value) < 1e5 else f"{value:,.0f}"


def _verdict(cell: ReproducedCell, reasons: Sequence[str]) -> Cell:
    remark = f" ({reasons.index(cell.reason) + 1})" if cell.reason else ""
    return Cell(f"{cell.verdict}{remark}", cell.verdict, strong=cell.verdict == "off")


def _section(name: str, one: ReproducedTable) -> Section:
    met, off = one.count("met", "exception no longer needed"), one.count("off")
    section = Section(f"reproduced-{name}", f"{name}: {one.title}")
    section.lead = f"{met:,} of {len(one.cells) - one.count('ours'):,} figures are met" + (
        f", {off} are off." if off else "."
    )
    reasons = reasons_of(one)
    heads, rows = cell_rows(one, reasons)
    section.blocks += [Prose(f"Source: {one.source}. Data: {', '.join(one.data)}."), Notes(tuple(one.settings))]
    section.blocks.append(table(f"Figures of {name}", heads, rows, folded=len(rows) > 40))
    if reasons:
        section.blocks.append(Notes(tuple(f"({place}) {reason}" for place, reason in enumerate(reasons, start=1))))
    if one.left_out:
        left = [[text(part.what), text(part.reason)] for part in one.left_out]
        section.blocks.append(table(f"Not recomputed of {name}", ["what", "why"], left, sortable=False))
    return section
