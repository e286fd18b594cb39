"""Tables of finished cells, and the one way in which each is written as text, Markdown or LaTeX.

A cell is a text. One in `Bold` is the best, or not outperformed; what stands behind a dagger is a mark of significance,
such as ``0.51†`` or ``0.51†1,3``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bsx.analysis.render.tables import latex_escape, latex_table, markdown_escape, markdown_table
from bsx.support.aligned import text_table

_SIGNS = {
    "R²": "$R^2$",
    "²": "$^2$",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
    "…": r"\dots{}",
    "≥": r"$\geq$",
    "χ": r"$\chi$",
}
_MINUS = re.compile(r"(?<![\w.)])-(?=\.?\d)")
_INTERVAL = re.compile(r"(?:(?<=\S) |^)(\[[^\]]*\])")
_POWER = re.compile(r"(\d)e-0*(\d+)")
_WIDE = 8  # columns from which a table goes over both columns of a page


class Bold(str):
    """A cell in bold: the best of its column, or one that nothing outperforms."""

    __slots__ = ()


@dataclass(frozen=True)
class Sheet:
    """A table of finished cells.

    Attributes:
        title: what it shows.
        header: names of the columns.
        rows: cells as they are printed.
        note: what to know about it: what bold and † mean, first of all.
        names: how many columns at the left hold names.
        foot: how many of the last rows stand below a rule.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    names: int = 1
    foot: int = 0

    def to_text(self) -> str:
        """Return title, table and note as text; digits stand below digits, whatever marks stand around them."""
        below = [self.note] if self.note else []
        return "\n".join([*([self.title] if self.title else []), self.table_text(), *below])

    def table_text(self) -> str:
        """Return the table alone."""
        cells = [list(self.header), *map(list, self.rows)]
        for place in range(self.names, len(self.header)):
            column = [row[place] for row in cells[1:]]
            ahead = 2 * any(isinstance(cell, Bold) for cell in column)
            marks = max((len(_mark(cell)) for cell in column), default=0)
            for row, cell in zip(cells[1:], column, strict=True):
                edge = 0 if isinstance(cell, Bold) else ahead
                row[place] = bold_text(cell) + " " * (marks - len(_mark(cell)) + edge) if cell else ""
        return text_table(cells, "l" * self.names + "r")

    def to_markdown(self) -> str:
        """Return the table in Markdown, title and note below."""
        cells = [[_markdown(cell) for cell in row] for row in (self.header, *self.rows)]
        parts = (self.title.rstrip("."), self.note)
        caption = markdown_escape(". ".join(part for part in parts if part))
        return "\n\n".join(filter(None, [markdown_table(cells, range(self.names, len(self.header))), caption]))

    def to_latex(self, label: str = "", below: Sequence[str] = ()) -> str:
        """Return a floating table (booktabs) with caption, label, and what stands below in small print.

        Args:
            label: of the table, such as ``tab:meta``.
            below: further lines below it, such as signatures.
        """
        marks = [
            max((_mark(row[place]) for row in self.rows), key=len, default="") for place in range(len(self.header))
        ]
        rows = [[latex_text(cell) for cell in self.header]]
        for row in self.rows:
            cells = [latex_text(cell) if not isinstance(cell, Bold) else _latex_cell(cell, "") for cell in row]
            cells[self.names :] = [_latex_cell(row[i], marks[i]) for i in range(self.names, len(row))]
            rows.append(cells)
        columns = "l" * self.names + "r" * (len(self.header) - self.names)
        small = [latex_text(line).replace("|", r"|\allowbreak ") for line in (self.note, *below) if line]
        around = "table*" if len(self.header) > _WIDE else "table"
        return "\n".join(
            [
                rf"\begin{{{around}}}",
                r"\centering",
                latex_table(rows, columns=columns, foot=self.foot),
                *([rf"\caption{{{latex_text(self.title)}}}"] if self.title else []),
                *([rf"\label{{{label}}}"] if label else []),
                *([r"\par\medskip\footnotesize " + "\\\\\n".join(small)] if small else []),
                rf"\end{{{around}}}",
            ]
        )


def bold_text(cell: str) -> str:
    """Return a cell as plain text, with two asterisks on either side of what is bold, as in Markdown.

    >>> bold_text(Bold("0.51†")), bold_text("0.51")
    ('**0.51**†', '0.51')
    """
    if not isinstance(cell, Bold):
        return cell
    return f"**{cell.removesuffix(_mark(cell))}**{_mark(cell)}"


def latex_text(text: str) -> str:
    """Return a text as LaTeX shows it."""
    shown = latex_escape(text)
    for sign, written in _SIGNS.items():
        shown = shown.replace(sign, written)
    return shown.replace("†", r"$^\dagger$")


def latex_tables(
    sheets: Sequence[Sheet], *, data: str = "", signatures: Mapping[str, str] | None = None, label: str = ""
) -> str:
    """Return floating tables, one below the other; they need the package booktabs.

    Args:
        sheets: the tables.
        data: what they are of; captions begin with it.
        signatures: metric -> signature, below the first table.
        label: of the first; further ones count from 2.
    """
    below = [f"{name}: {signature}" for name, signature in (signatures or {}).items()]
    made = []
    for number, sheet in enumerate(sheets, start=1):
        name = label if number == 1 or not label else f"{label}-{number}"
        made.append(titled(sheet, data).to_latex(name, below if number == 1 else ()))
    return "\n\n".join(made) + "\n"


def markdown_tables(sheets: Sequence[Sheet], *, data: str = "", signatures: Mapping[str, str] | None = None) -> str:
    """Return tables in Markdown, one below the other, then the signatures; as `latex_tables`."""
    below = [markdown_escape(f"{name}: {signature}") for name, signature in (signatures or {}).items()]
    return "\n\n".join([*(titled(sheet, data).to_markdown() for sheet in sheets), *below]) + "\n"


def titled(sheet: Sheet, data: str) -> Sheet:
    """Return a table whose title begins with what it is of."""
    if not data:
        return sheet
    title = f"{data}: {sheet.title}" if sheet.title else data
    return Sheet(title, sheet.header, sheet.rows, sheet.note, sheet.names, sheet.foot)


def _mark(cell: str) -> str:
    head, dagger, numbers = cell.partition("†")
    return dagger + numbers if head else ""


def _markdown(cell: str) -> str:
    mark = _mark(cell)
    shown = markdown_escape(cell.removesuffix(mark))
    return (f"**{shown}**" if isinstance(cell, Bold) else shown) + markdown_escape(mark)


def _latex_cell(cell: str, widest: str) -> str:
    """Return a cell with numbers: minus signs, small intervals, and a mark that hangs over the edge of the digits."""
    mark = _mark(cell)
    shown = _MINUS.sub("$-$", latex_text(cell.removesuffix(mark)))
    shown = _POWER.sub(r"$\1\\cdot10^{-\2}$", shown)
    if isinstance(cell, Bold):
        head, space, ends = shown.partition(" [")
        shown = rf"\textbf{{{head}}}{space}{ends}"
    shown = _INTERVAL.sub(r" {\\scriptsize \1}", shown)
    if not cell:
        return shown
    hung = rf"\rlap{{{_latex_mark(mark)}}}" if mark else ""
    return shown + hung + (rf"\hphantom{{{_latex_mark(widest)}}}" if len(widest) > 1 else "")


def _latex_mark(mark: str) -> str:
    numbers = mark.removeprefix("†")
    return rf"$^{{\dagger {numbers}}}$" if numbers else r"$^\dagger$"
