"""A table, rows of cells with the header first, as Markdown, LaTeX or CSV."""

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
# A single underscore inside a word emphasises nothing.
_MARKS = re.compile(r"([\\`*{}\[\]|]|(?<![^\W_])_|_(?![^\W_]))")
# As character references: not every Markdown knows a backslash before these.
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;", "$": "&#36;"}
# What breaks lines, or has no place in a text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")


def markdown_escape(text: str) -> str:
    r"""Return a text that Markdown and HTML show as it is, in one line.

    >>> print(markdown_escape("a_b _c_ <script> | 1"))
    a_b \_c\_ &lt;script&gt; \| 1
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
