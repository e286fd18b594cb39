"""Tests of two things as people read them: their table, and the sentence on what is better than what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from bsx.analysis.present.cells import EQUIVALENT, estimate, listed, number, p_value, table, text, verdict_cell
from bsx.analysis.present.numbers import SMALL, p_range
from bsx.analysis.present.numbers import p_value as p_text
from bsx.analysis.present.parts import Cell, TablePart
from bsx.analysis.stats.equivalence import verdict
from bsx.analysis.stats.results import Comparison
from bsx.support.result import Result

CORRECTED = {"none": "uncorrected", "holm": "corrected after Holm", "bh": "corrected after Benjamini-Hochberg"}
P = Callable[[Comparison], float]
"""The p of a test that decides."""
ALPHA = 0.05  # where a result has no level of its own
NAMED = 6  # names that a sentence has room for


def p_said(tests: Sequence[Comparison], p: P = attrgetter("decisive")) -> str:
    """Return the p-values of a claim about tests, for a sentence; at most so much where draws give no smaller one."""
    values = [p(test) for test in tests]
    if any(test.at_floor for test in tests) and max(values) >= SMALL:
        return f"p ≤ {p_text(max(values))}"
    return p_range(values)


def dagger(p: float | None, alpha: float = ALPHA) -> str:
    """Return the mark of a p below the level."""
    return "†" if p is not None and p < alpha else ""


def confidence(result: Result) -> str:
    """Return the level of a result's intervals."""
    return f"{100 * float(result.settings.get('confidence', 0.95)):g} %"


def table_of_tests(
    caption: str,
    tests: Sequence[tuple[Sequence[object], Comparison]],
    heads: Sequence[str],
    *,
    alpha: float,
    level: str,
    p: P = attrgetter("decisive"),
    values: bool = False,
    margin: float | None = None,
    places: Callable[[Comparison], int] = lambda test: 3,
    more: Mapping[str, Callable[[Any], Cell]] = MappingProxyType({}),
    folded: bool = False,
    full: bool = False,
) -> TablePart:
    """Return the table of tests of two things: what was tested, the difference with its interval, p, and the verdict.

    Args:
        caption: what they are tests of.
        tests: each with what stands before it in its row.
        heads: of what stands before, then of both sides.
        alpha: level below which p gets a dagger.
        level: what the dagger means: the p that decides, its level and correction.
        p: of a test, which decides.
        values: show both values instead of both names.
        margin: largest difference that does not matter, where there is one.
        places: decimals of a difference.
        more: further columns by their heads, before the verdict.
        folded: as of `bsx.analysis.present.parts.TablePart`.
        full: likewise.
    """
    same = margin if any(test.p_equivalence is not None for _, test in tests) else None
    rows = []
    for before, test in tests:
        sides = (number(test.value_a), number(test.value_b)) if values else (text(test.a), text(test.b))
        decides = p(test)
        cells = [*map(text, before), *sides, estimate(test.difference, test.ci, places(test))]
        cell = p_value(decides, mark=dagger(decides, alpha))
        cells.append(replace(cell, text=f"≤{cell.text}" if decides else "0") if test.at_floor else cell)
        cells += [column(test) for column in more.values()]
        if same is not None and test.p_equivalence is not None:
            decision = verdict(decides < alpha, test.p_equivalence, alpha)
            cells += [*([] if more else [p_value(test.p_equivalence)]), verdict_cell(decision, same)]
        rows.append(cells)
    note = f"†: {level}."
    note += "" if same is None else f" {EQUIVALENT.format(f'{same:g}')}"
    verdicts = [*([] if more else ["p of equivalence"]), "verdict"] if same is not None else []  # a terminal is narrow
    columns = [*heads, "difference", "p", *more, *verdicts]
    return table(caption, columns, rows, note=note, names=len(heads) - 2 * values, folded=folded, full=full)


def some(phrases: Sequence[str], *, long: bool = False) -> str:
    """Return as many phrases as a sentence has room for, and how many more there are; long ones behind semicolons."""
    left = len(phrases) - NAMED
    if left <= 0:
        return "; ".join(phrases) if long else listed(phrases)
    return f"{('; ' if long else ', ').join(phrases[:NAMED])} and {left} more"


def against(ways: Mapping[str, int], reference: str) -> str:
    """Return what is significantly better than a reference (1), not told apart from it (0), or worse (-1)."""
    clauses = []
    for way, words in ((1, "significantly better than"), (0, "not told apart from"), (-1, "significantly worse than")):
        if names := [name for name, beaten in ways.items() if beaten == way]:
            who = f"all {len(names)}" if len(names) == len(ways) > 2 else some(names)
            clauses.append(f"{who} {'is' if len(names) == 1 else 'are'} {words} {reference}")
    return "; ".join(clauses)


def standing(
    values: Mapping[str, float],
    tests: Sequence[Comparison],
    *,
    alpha: float,
    p: P = attrgetter("decisive"),
    shown: Callable[[float], str] | None = None,
    how: str | None = "",
) -> tuple[str, bool, str]:
    """Return the highest of several, whether it is the best by tests against all others, and how it stands to them.

    Args:
        values: of each, higher is better.
        tests: between them.
        alpha: level of significance.
        p: of a test, which decides.
        shown: writes the values of the others, where they are to be said.
        how: the tests in words, said behind p; None for sentences without p.
    """
    best, *others = sorted(values, key=lambda name: -values[name])
    of = {(test.b, test.a): test for test in tests} | {(test.a, test.b): test for test in tests}
    if not others or not all((best, other) in of for other in others):
        return best, False, "highest; differences were not tested"
    worse = [other for other in others if values[best] > values[other] and p(of[best, other]) < alpha]
    alike = [other for other in others if other not in worse]
    parts = []
    for words, names in (("not told apart from", alike), ("significantly better than", worse)):
        if names:
            named = [f"{name} ({shown(values[name])})" if shown else name for name in names]
            whom = "all others" if how is None and len(names) == len(others) > 1 else some(named)
            parts.append(
                f"{words} {whom}{'' if how is None else f' ({p_said([of[best, name] for name in names], p)})'}"
            )
    text = ", but ".join(parts)
    return best, not alike, f"{text.removesuffix(')')}; {how})" if how else text
