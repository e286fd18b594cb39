"""Parts as Markdown: everything but the charts, of which it has what they show."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from bsx.analysis.present.parts import (
    Answer,
    Cell,
    Chart,
    Commands,
    Example,
    Heading,
    Notes,
    Page,
    Part,
    Prose,
    Segments,
    TablePart,
)

_ROWS = 100  # of a table of segments; the HTML page holds all
_BLOCK = re.compile(r"^(\d*)([#+\-.)])")  # what starts a heading, a list or a rule
# A single underscore inside a word emphasises nothing.
_MARKS = re.compile(r"([\\`*{}\[\]|]|(?<![^\W_])_|_(?![^\W_]))")
# As character references: not every Markdown knows a backslash before these.
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;", "$": "&#36;"}
# What breaks lines, or has no place in a text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")


def escape(text: str) -> str:
    r"""Return a text that Markdown and HTML show as it is, in one line.

    >>> print(escape("a_b _c_ <script> | 1"))
    a_b \_c\_ &lt;script&gt; \| 1
    """
    marked = _MARKS.sub(r"\\\1", _CONTROL.sub(" ", text))
    return re.sub("[&<>~$]", lambda match: _REFERENCES[match[0]], marked)


def rows_of(columns: Iterable[str], rows: Iterable[Iterable[str]], numeric: Collection[int]) -> str:
    """Return a table whose cells are Markdown, the columns that ``numeric`` names by place aligned to the right."""
    head = list(columns)
    rule = ["---:" if place in numeric else "---" for place in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *map(list, rows)])


def markdown(parts: Sequence[Part], *, data: str = "", signatures: Mapping[str, str] | None = None) -> str:
    """Return parts in Markdown, one below the other, then signatures (metric -> signature).

    Captions of tables begin with ``data``, what the parts are of.
    """
    lines = chain.from_iterable(_part(part, data) for part in parts)
    below = (f"{escape(f'{name}: {signature}')}\n" for name, signature in (signatures or {}).items())
    return "\n".join(chain(lines, below)).rstrip() + "\n"


def page(report: Page) -> str:
    """Return a report."""
    lines = [f"# {escape(report.title)}", ""]
    if len(report.glance) > 1:
        findings = (f"- {escape(name)}: {escape(sentence)}" for _, name, sentence in report.glance)
        lines += ["## At a glance", "", *findings, ""]
    for section in report.sections:
        lines += [f"## {escape(section.title)}", ""]
        lines += [_line(section.lead), ""] if section.lead else []
        lines += chain.from_iterable(_part(block, "") for block in section.blocks)
    return "\n".join(lines).rstrip() + "\n"


def _line(text: str) -> str:
    """Return an escaped text for the start of a line, where more characters mean something."""
    return _BLOCK.sub(r"\1\\\2", escape(text.strip()))


def _part(part: Part, data: str) -> Iterator[str]:
    if isinstance(part, Heading):
        yield from (f"### {escape(part.text)}", "")
    elif isinstance(part, Answer | Prose):
        yield from (_line(part.text), "")
    elif isinstance(part, Notes):
        yield from (*(f"- {_line(item)}" for item in part.items), "")
    elif isinstance(part, Commands):
        # The fence is longer than any inside.
        longest = max((len(run) for run in re.findall(r"`+", "\n".join(part.lines))), default=0)
        fence = "`" * max(3, longest + 1)
        yield from (f"{fence}text", *"\n".join(part.lines).splitlines(), fence, "")
    elif isinstance(part, TablePart):
        yield from _table(part, data)
    elif isinstance(part, Chart):
        end = "" if part.title.endswith(("?", "!", ".")) else "."
        yield from (f"*{escape(part.title)}{end}* {escape(part.alt)}", "")
    elif isinstance(part, Example):
        yield from _example(part)
    elif isinstance(part, Segments):
        yield from _segments(part)


def _table(table: TablePart, data: str) -> Iterator[str]:
    caption = ": ".join(filter(None, [data, table.caption]))
    yield from (f"**{escape(caption)}**", "") if caption else ()
    yield rows_of(map(escape, table.columns), (map(_cell, row) for row in table.rows), table.numeric)
    yield from ("", *([_line(table.note), ""] if table.note else []))


def _cell(cell: Cell) -> str:
    shown = escape(cell.text)
    return (f"**{shown}**" if cell.strong and shown else shown) + escape(cell.mark)


def _example(example: Example) -> Iterator[str]:
    yield from (f"#### {escape(example.title)}", "")
    for label, runs in example.texts:
        marked = (f"**{escape(run.text)}**" if run.differs else escape(run.text) for run in runs)
        yield f"- {label}: {''.join(marked) or '*(empty)*'}"
    yield ""
    yield from _table(example.scores, "")
    for grid in example.alignments:
        # As lists: a grid of cosines is too wide for Markdown.
        yield from (f"Token alignment of the {escape(grid.caption)} ({escape(grid.summary)}):", "")
        rows = [
            [escape(token), escape(grid.columns[j]), f"{cosines[j]:.3f}"]
            for token, j, cosines in zip(grid.rows, grid.row_match, grid.cosines, strict=True)
            if j >= 0
        ]
        yield from (rows_of(("token of the candidate", "best match in the reference", "cosine"), rows, {2}), "")
    yield from ([f"No alignment of {escape(example.remark)}.", ""] if example.remark else [])


def _segments(part: Segments) -> Iterator[str]:
    shown = [place for place in range(len(part.columns)) if place not in part.hidden]
    cut = f": the first {_ROWS} of {len(part.rows):,}" if len(part.rows) > _ROWS else ""
    yield from (f"**{escape(part.caption)}{cut}**", "")
    rows = ((_value(row[place]) for place in shown) for row in part.rows[:_ROWS])
    numeric = {new for new, old in enumerate(shown) if old in part.numeric}
    yield rows_of((escape(part.columns[place]) for place in shown), rows, numeric)
    yield ""


def _value(value: object) -> str:
    if value is None:
        return "–"
    return escape(f"{value:.6g}") if isinstance(value, float) else escape(str(value))
