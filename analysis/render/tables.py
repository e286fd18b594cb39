"""A table, rows of cells with the header first, as text, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence

_Rows = Sequence[Sequence[str]]

_COMMANDS = {"\\": "textbackslash", "~": "textasciitilde", "^": "textasciicircum", "<": "textless", ">": "textgreater"}
_ESCAPED = str.maketrans(
    {character: rf"\{name}{{}}" for character, name in _COMMANDS.items()}
    | {character: f"\\{character}" for character in "&%$#_{}"}
)
_MARKS = re.compile(r"([\\`*_{}\[\]|])")
# As character references: not every Markdown knows a backslash before these.
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;", "$": "&#36;"}
# What breaks lines, or has no place in a text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")


def text_table(rows: _Rows, *, left: int = 1) -> str:
    """Return rows of cells as aligned lines; the first ``left`` columns are aligned to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        sized = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in sized]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def starred_table(rows: _Rows) -> str:
    """Return rows as text, the first column to the left and the others to the right; a star hangs over the edge.

    >>> print(starred_table([["metric", "sem"], ["m", "0.10*"], ["longer", "0.20"]]))
    metric  sem
    m      0.10*
    longer 0.20
    """
    bare = [[cell.removesuffix("*") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*bare, strict=True)]
    lines = []
    for row, shown in zip(rows, bare, strict=True):
        marks = ["*" if cell.endswith("*") else " " for cell in row]
        cells = [cell.rjust(width) + mark for cell, width, mark in zip(shown, widths, marks, strict=True)]
        lines.append(" ".join([shown[0].ljust(widths[0]), *cells[1:]]).rstrip())
    return "\n".join(lines)


def markdown_escape(text: str) -> str:
    r"""Return a text that Markdown and HTML show as it is, in one line.

    >>> print(markdown_escape("a_b <script> | 1"))
    a\_b &lt;script&gt; \| 1
    """
    marked = _MARKS.sub(r"\\\1", _CONTROL.sub(" ", text))
    return re.sub("[&<>~$]", lambda found: _REFERENCES[found[0]], marked)


def markdown_table(rows: _Rows, numeric: Collection[int]) -> str:
    """Return a table whose cells are Markdown, the columns that ``numeric`` names by place aligned to the right."""
    rule = ["---:" if place in numeric else "---" for place in range(len(rows[0]))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])


def latex_escape(text: str) -> str:
    r"""Return text with what LaTeX would take for commands escaped.

    >>> print(latex_escape("bleu_s & 5%"))
    bleu\_s \& 5\%
    """
    return text.translate(_ESCAPED)


def latex_table(rows: _Rows, *, columns: str | None = None, foot: int = 0) -> str:
    """Return a tabular (booktabs) whose cells are LaTeX.

    Args:
        rows: the header first.
        columns: as LaTeX spells their alignment; the first to the left and the others to the right unless given.
        foot: how many of the last rows stand below a rule.
    """
    header, *body = (" & ".join(row) + r" \\" for row in rows)
    begin = rf"\begin{{tabular}}{{{columns or 'l' + 'r' * (len(rows[0]) - 1)}}}"
    if foot:
        body.insert(-foot, r"\midrule")
    return "\n".join([begin, r"\toprule", header, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])


def csv_table(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with full precision."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()
