"""Tables as LaTeX for a paper: floating, with captions, booktabs rules and marks that hang over the edge of digits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bsx.analysis.present.parts import Cell, Part, TablePart

_COMMANDS = {"\\": "textbackslash", "~": "textasciitilde", "^": "textasciicircum", "<": "textless", ">": "textgreater"}
_ESCAPED = str.maketrans(
    {character: rf"\{name}{{}}" for character, name in _COMMANDS.items()}
    | {character: f"\\{character}" for character in "&%$#_{}"}
)
_SIGNS = {
    "R²": "$R^2$",
    "²": "$^2$",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
    "…": r"\dots{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "χ": r"$\chi$",
    "–": "--",
    "†": r"$^\dagger$",
}
_MINUS = re.compile(r"(?<![\w.)])-(?=\.?\d)")
_INTERVAL = re.compile(r"(?:(?<=\S) |^)(\[[^\]]*\])")
_POWER = re.compile(r"(\d)e-0*(\d+)")
_WIDE = 8  # columns from which a table goes over both columns of a page


def latex(
    parts: Sequence[Part], *, data: str = "", signatures: Mapping[str, str] | None = None, label: str = ""
) -> str:
    """Return the tables among parts, one below the other; they need the package booktabs.

    Captions begin with ``data``, what the parts are of. Signatures (metric -> signature) stand below the first table,
    whose label it is; further ones count theirs from 2.
    """
    below = [f"{name}: {signature}" for name, signature in (signatures or {}).items()]
    made = []
    for number, table in enumerate((part for part in parts if isinstance(part, TablePart)), start=1):
        name = label if number == 1 or not label else f"{label}-{number}"
        caption = ": ".join(filter(None, [data, table.caption]))
        places, numeric = range(len(table.columns)), table.numeric
        marks = [max((row[place].mark for row in table.rows), key=len, default="") for place in places]
        rows = [[escaped(head) for head in table.columns]]
        rows += [[_cell(row[i], marks[i] if i >= table.names else "") for i in places] for row in table.rows]
        filled = [any(row[place].value for row in table.rows) for place in places]
        columns = "".join("l" if i < table.names or (i not in numeric and filled[i]) else "r" for i in places)
        lines = (table.note, *(below if number == 1 else ()))
        small = [escaped(line).replace("|", r"|\allowbreak ") for line in lines if line]
        around = "table*" if len(table.columns) > _WIDE else "table"
        floating = [
            rf"\begin{{{around}}}",
            r"\centering",
            tabular(rows, columns=columns, foot=table.foot),
            *([rf"\caption{{{escaped(caption)}}}"] if caption else []),
            *([rf"\label{{{name}}}"] if name else []),
            *([r"\par\medskip\footnotesize " + "\\\\\n".join(small)] if small else []),
            rf"\end{{{around}}}",
        ]
        made.append("\n".join(floating))
    return "\n\n".join(made) + "\n"


def escaped(text: str) -> str:
    r"""Return a text as LaTeX shows it.

    >>> print(escaped("bleu_s & 5%"))
    bleu\_s \& 5\%
    """
    shown = text.translate(_ESCAPED)
    for sign, written in _SIGNS.items():
        shown = shown.replace(sign, written)
    return shown


def tabular(rows: Sequence[Sequence[str]], *, columns: str, foot: int = 0) -> str:
    """Return a tabular (booktabs) whose cells are LaTeX, the header first, the last ``foot`` rows below a rule."""
    header, *body = (" & ".join(row) + r" \\" for row in rows)
    if foot:
        body.insert(-foot, r"\midrule")
    begin = rf"\begin{{tabular}}{{{columns}}}"
    return "\n".join([begin, r"\toprule", header, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])


def _cell(cell: Cell, widest: str) -> str:
    """Return a cell: minus signs, small intervals, and a mark that hangs over the edge of the digits."""
    shown = escaped(cell.text)
    if isinstance(cell.value, int | float):
        shown = _POWER.sub(r"$\1\\cdot10^{-\2}$", _MINUS.sub("$-$", shown))
    if cell.strong:
        head, space, ends = shown.partition(" [")
        shown = rf"\textbf{{{head}}}{space}{ends}"
    shown = _INTERVAL.sub(r" {\\scriptsize \1}", shown)
    if not cell.text:
        return shown
    hung = rf"\rlap{{{_mark(cell.mark)}}}" if cell.mark else ""
    return shown + hung + (rf"\hphantom{{{_mark(widest)}}}" if len(widest) > 1 else "")


def _mark(mark: str) -> str:
    numbers = mark.removeprefix("†")
    return rf"$^{{\dagger {numbers}}}$" if numbers else r"$^\dagger$"
