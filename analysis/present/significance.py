"""Tests of two things as people read them: their table, and the sentence on what is better than what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Unpack

from bsx.analysis.present.cells import EQUIVALENT, TableMarks, estimate, number, p_value, table, text, verdict_cell
from bsx.analysis.present.parts import Cell, TablePart
from bsx.analysis.stats.equivalence import verdict
from bsx.analysis.stats.results import Comparison

CORRECTED = {"none": "uncorrected", "holm": "corrected after Holm", "bh": "corrected after Benjamini-Hochberg"}
P = Callable[[Comparison], float]
"""The p of a test that decides."""


def decisive(test: Comparison) -> float:
    """Return the p of a test to go by: two-sided, and corrected if a correction was asked for."""
    return test.decisive


def dagger(p: float | None, alpha: float) -> str:
    """Return the mark of a p below the level."""
    return "†" if p is not None and p < alpha else ""


def table_of_tests(
    caption: str,
    tests: Sequence[tuple[Sequence[object], Comparison]],
    heads: Sequence[str],
    *,
    alpha: float,
    p: P = decisive,
    values: bool = False,
    margin: float | None = None,
    places: Callable[[Comparison], int] = lambda test: 3,
    more: Mapping[str, Callable[[Any], Cell]] = MappingProxyType({}),
    note: str = "",
    **marks: Unpack[TableMarks],
) -> TablePart:
    """Return the table of tests of two things: what was tested, the difference with its interval, p, and the verdict.

    Args:
        caption: what they are tests of.
        tests: each with what stands before it in its row.
        heads: of what stands before, then of both sides.
        alpha: level below which p gets a dagger.
        p: of a test, which decides.
        values: show both values instead of both names.
        margin: largest difference that does not matter, where there is one.
        places: decimals of a difference.
        more: further columns by their heads, before the verdict.
        note: what p is, behind the dagger.
    """
    same = margin if any(test.p_equivalence is not None for _, test in tests) else None
    rows = []
    for before, test in tests:
        sides = (number(test.value_a), number(test.value_b)) if values else (text(test.a), text(test.b))
        decides = p(test)
        cells = [*map(text, before), *sides, estimate(test.difference, test.ci, places(test))]
        cells.append(p_value(decides, mark=dagger(decides, alpha)))
        cells += [column(test) for column in more.values()]
        if same is not None and test.p_equivalence is not None:
            said = verdict(decides < alpha, test.p_equivalence, alpha)
            cells += [p_value(test.p_equivalence), verdict_cell(said, same)]
        rows.append(cells)
    note = f"†: p < {alpha:g}{note and ', '}{note}."
    note += "" if same is None else f" {EQUIVALENT.format(f'{same:g}')}"
    verdicts = ["p of equivalence", "verdict"] if same is not None else []
    columns = [*heads, "difference", "p", *more, *verdicts]
    return table(caption, columns, rows, note=note, names=len(heads) - 2 * values, **marks)
