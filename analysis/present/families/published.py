"""What recomputed tables look like: how many published figures are met, those that are off, and every figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bsx.analysis.present import charts
from bsx.analysis.present.cells import NONE, number, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Commands, Heading, Notes, Part, Prose, TablePart
from bsx.analysis.published import Reproduced, ReproducedCell, ReproducedTable
from bsx.support.provenance import Provenance


@presents(Reproduced, section=("reproduced", "Published tables and ours"))
def parts(result: Reproduced) -> Iterator[Part]:
    """Yield how many figures are met, the tables, what is off or left out, then every figure."""
    yield Answer(_summary(result))
    heads = ["table", "cells", "met", "exceptions", "no longer needed", "off", "ours only", "tolerance used"]
    rows = []
    for name, reproduced in result.tables.items():
        counts = [
            reproduced.count(verdict) for verdict in ("met", "exception", "exception no longer needed", "off", "ours")
        ]
        rows.append(
            [text(name), number(len(reproduced.cells)), *(number(count) for count in counts), _used(reproduced)]
        )
    note = "Tolerance used: of the cells that are met, the largest share of its tolerance that a difference takes."
    yield table("Cells by table", heads, rows, note=note)
    yield from _off(result)
    if result.left_out:
        yield Notes(tuple(f"Left out: {part.what}: {part.reason}." for part in result.left_out))
    yield from _chart(result)
    for name, reproduced in result.tables.items():
        yield from _whole(name, reproduced)
    if result.provenance is not None:
        yield from _repeated(result.provenance)


@lists(Reproduced)
def rows(result: Reproduced) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure."""
    for name, reproduced in result.tables.items():
        for cell in reproduced.cells:
            at = {f"at_{key}": value for key, value in cell.at.items()}
            what = ("published", "ours", "difference", "tolerance", "verdict")
            yield {"table": name, "called": reproduced.called, **at} | {key: getattr(cell, key) for key in what}


def _summary(result: Reproduced) -> str:
    tables = result.tables.values()
    lines = []
    for called in dict.fromkeys(item.called for item in tables):
        own = [item for item in tables if item.called == called]
        every = sum(len(item.cells) - item.count("ours") for item in own)
        met = sum(item.count("met", "exception no longer needed") for item in own)
        noun = "table" if len(own) == 1 else "tables"
        lines.append(f"{met:,} of {every:,} {called} figures in {len(own)} {noun} are met within their tolerance.")
    exceptions, off = (sum(item.count(verdict) for item in tables) for verdict in ("exception", "off"))
    stale = sum(item.count("exception no longer needed") for item in tables)
    line = " ".join(lines)
    if exceptions:
        line += f" Off for a named reason: {exceptions}."
    if stale:
        line += f" Named as exceptions, but met: {stale}."
    return f"{line} Off without a reason: {off}."


def _used(reproduced: ReproducedTable) -> Cell:
    """Return the largest share of its tolerance that a cell takes, of those that meet it."""
    shares = [
        abs(cell.difference) / cell.tolerance
        for cell in reproduced.cells
        if cell.verdict.endswith(("met", "needed")) and cell.tolerance and cell.difference is not None
    ]
    used = max(shares, default=None)
    return Cell(NONE) if used is None else Cell(f"{used:.0%}" if used >= 0.005 or used == 0 else "< 1%", used)


def _off(result: Reproduced) -> Iterator[TablePart]:
    results = [
        [text(name), text(" ".join(value for value in cell.at.values() if value)), *_numbers(cell)]
        for name, reproduced in result.tables.items()
        for cell in reproduced.cells
        if cell.verdict == "off"
    ]
    if results:
        heads = ["table", "figure", "published", "ours", "difference"]
        yield table("Figures that are off without a reason", heads, results, names=2)


def _chart(result: Reproduced) -> Iterator[Chart]:
    """Yield our figures over those published; on the line both are the same."""
    panels = []
    for name, reproduced in result.tables.items():
        points = [(cell.published, cell.ours) for cell in reproduced.cells if cell.published is not None]
        if points:
            line = [(end, end) for end in (min(min(point) for point in points), max(max(point) for point in points))]
            alt = f"{name}: figures of ours over those published."
            panels.append((name, charts.scatter(points, alt=alt, x="published", y="ours", line=line)))
    if panels:
        yield Chart("Published figures and ours", "Ours over published; on the line both are the same.", tuple(panels))


def _whole(name: str, reproduced: ReproducedTable) -> Iterator[Part]:
    reasons = list(dict.fromkeys(cell.reason for cell in reproduced.cells if cell.reason))
    keys = list(dict.fromkeys(key for cell in reproduced.cells for key in cell.at))
    results = [
        [*(text(cell.at.get(key) or NONE) for key in keys), *_numbers(cell), _verdict(cell, reasons)]
        for cell in reproduced.cells
    ]
    yield Heading(f"{name}: {reproduced.title}", full=True)
    yield Prose(f"Source: {reproduced.source}. Data: {', '.join(reproduced.data)}.", full=True)
    yield Notes(reproduced.settings, full=True)
    heads = [*keys, reproduced.called, "ours", "difference", "verdict"]
    yield table(f"Figures of {name}", heads, results, names=len(keys), folded=len(results) > 40, full=True)
    if reasons:
        yield Notes(tuple(f"({place}) {reason}" for place, reason in enumerate(reasons, start=1)), full=True)
    if reproduced.left_out:
        left = [[text(part.what), text(part.reason)] for part in reproduced.left_out]
        yield table(f"Not recomputed of {name}", ["what", "why"], left, sortable=False, full=True)


def _numbers(cell: ReproducedCell) -> list[Cell]:
    fine = cell.tolerance is not None and 0 < cell.tolerance < 1e-4
    decimals = 0 if cell.tolerance == 0 else 6 if fine else 4
    difference = number(cell.difference, decimals)
    if fine and cell.difference:
        difference = Cell(f"{cell.difference:+.1e}", cell.difference)
    elif difference.value is not None and not difference.text.startswith("-"):
        difference = Cell(f"+{difference.text}", difference.value)
    theirs = Cell(NONE) if cell.published is None else Cell(_shortest(cell.published, decimals), cell.published)
    return [theirs, number(cell.ours, decimals), difference]


def _shortest(value: float, decimals: int) -> str:
    """Return a published figure with the digits it has, at most so many decimals."""
    return min(f"{value:.{decimals}f}", f"{value:g}", key=len) if abs(value) < 1e5 else f"{value:,.0f}"


def _verdict(cell: ReproducedCell, reasons: Sequence[str]) -> Cell:
    remark = f" ({reasons.index(cell.reason) + 1})" if cell.reason else ""
    return Cell(f"{cell.verdict}{remark}", cell.verdict, strong=cell.verdict == "off")


def _repeated(origin: Provenance) -> Iterator[Part]:
    """Yield how to repeat the run: command, data, versions."""
    yield Heading("How to repeat this", full=True)
    yield Commands((origin.command,))
    files = [[text(file.name), text(file.sha256, code=True)] for file in origin.files]
    yield table("Data that were read", ["file", "sha256"], files, sortable=False, folded=True, full=True)
    versions = ", ".join(f"{package} {version}" for package, version in origin.versions.items())
    yield Prose(f"Versions: {versions}.", full=True)
