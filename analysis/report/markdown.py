"""A report as Markdown: the same content without charts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from bsx.analysis.render.tables import markdown_escape as escape
from bsx.analysis.render.tables import markdown_table
from bsx.analysis.report.blocks import (
    AlignmentGrid,
    Block,
    Chart,
    Commands,
    Example,
    Heading,
    Notes,
    Page,
    Passages,
    Prose,
    ReportTable,
    Run,
    Segments,
)

_ROWS = 100  # of a table of segments; the HTML page holds all
_BLOCK = re.compile(r"^(\d*)([#+\-.)])")  # what starts a heading, a list or a rule


def _line(text: str) -> str:
    """Return an escaped text for the start of a line, where more characters mean something."""
    return _BLOCK.sub(r"\1\\\2", escape(text.strip()))


def markdown(report: Page) -> str:
    """Return the report."""
    lines = [f"# {escape(report.title)}", ""]
    if len(report.glance) > 1:
        lines += ["## At a glance", "", *(f"- {escape(name)}: {escape(said)}" for _, name, said in report.glance), ""]
    for section in report.sections:
        lines += [f"## {escape(section.title)}", ""]
        lines += [_line(section.lead), ""] if section.lead else []
        lines += chain.from_iterable(_block(block) for block in section.blocks)
    return "\n".join(lines).rstrip() + "\n"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield from (f"### {escape(block.text)}", "")
    elif isinstance(block, Prose):
        yield from (_line(block.text), "")
    elif isinstance(block, Notes):
        yield from (*(f"- {_line(item)}" for item in block.items), "")
    elif isinstance(block, Commands):
        yield from _fenced("\n".join(block.lines))
    elif isinstance(block, ReportTable):
        yield from _table(block)
    elif isinstance(block, Chart):
        end = "" if block.title.endswith(("?", "!", ".")) else "."
        yield from (f"*{escape(block.title)}{end}* {escape(block.alt)}", "")
    elif isinstance(block, Example):
        yield from _example(block)
    elif isinstance(block, Passages):
        yield from (_line(block.caption), "")
        for name, texts in block.rows:
            said = "; ".join(f"{label}: {_runs(runs)}" for label, runs in texts)
            yield f"- {escape(name)}: {said}"
        yield ""
    elif isinstance(block, Segments):
        yield from _segments(block)


def _fenced(text: str) -> Iterator[str]:
    """Yield a code block whose fence is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}text", *text.splitlines(), fence, "")


def _rows(columns: Iterable[str], rows: Iterable[Iterable[str]], numeric: frozenset[int]) -> str:
    return markdown_table([[*map(escape, columns)], *map(list, rows)], numeric)


def _table(table: ReportTable) -> Iterator[str]:
    yield from (f"**{escape(table.caption)}**", "")
    rows = (
        (f"**{escape(cell.text)}**" if cell.strong and cell.text else escape(cell.text) for cell in row)
        for row in table.rows
    )
    yield _rows(table.columns, rows, table.numeric)
    yield from ("", *([_line(table.note), ""] if table.note else []))


def _runs(runs: tuple[Run, ...]) -> str:
    return "".join(f"**{escape(run.text)}**" if run.differs else escape(run.text) for run in runs) or "*(empty)*"


def _example(example: Example) -> Iterator[str]:
    yield from (f"#### {escape(example.title)}", "")
    yield from (*(f"- {label}: {_runs(runs)}" for label, runs in example.texts), "")
    yield from _table(example.scores)
    for grid in example.alignments:
        yield from _grid(grid)
    yield from ([f"No alignment of {escape(example.remark)}.", ""] if example.remark else [])


def _grid(grid: AlignmentGrid) -> Iterator[str]:
    """Yield which token is matched with which, as lists; a grid of cosines is too wide for Markdown."""
    yield from (f"Token alignment of the {escape(grid.caption)} ({escape(grid.summary)}):", "")
    rows = []
    for i, token in enumerate(grid.rows):
        j = grid.row_match[i]
        if j >= 0:
            rows.append([escape(token), escape(grid.columns[j]), f"{grid.cosines[i][j]:.3f}"])
    yield _rows(("token of the candidate", "best match in the reference", "cosine"), rows, frozenset({2}))
    yield ""


def _segments(block: Segments) -> Iterator[str]:
    shown = [place for place in range(len(block.columns)) if place not in block.hidden]
    cut = f": the first {_ROWS} of {len(block.rows):,}" if len(block.rows) > _ROWS else ""
    yield from (f"**{escape(block.caption)}{cut}**", "")
    rows = ((_cell(row[place]) for place in shown) for row in block.rows[:_ROWS])
    numeric = frozenset(new for new, old in enumerate(shown) if old in block.numeric)
    yield _rows([block.columns[place] for place in shown], rows, numeric)
    yield ""


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return escape(f"{value:.6g}") if isinstance(value, float) else escape(str(value))
