"""What is regressed: metrics and factors of the rows of a table, and the columns that are made of others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bsx.analysis.disentangle.errors import Errors
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.data import cells
from bsx.data.columns import TableLike, column_names, number_column, standardised
from bsx.errors import InputError
from bsx.support.checks import Array

PAIRS = (("sentence1", "sentence2"), ("candidate", "reference"), ("candidate", "source"))
LENGTHS = ("length", "length-ratio")
# Writing without blanks between words: each sign counts as one word.
_SIGNS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")


@dataclass(frozen=True, eq=False)
class RegressionSample:
    """Rows of metrics and factors, and how they are regressed.

    Attributes:
        columns: name -> values (n,), as the table has them.
        metrics: names of the responses (m,).
        factors: names (p,).
        errors: standard errors of the rows.
        settings: what was asked for.
    """

    columns: Mapping[str, Array]
    metrics: Sequence[str]
    factors: Sequence[str]
    errors: Errors
    settings: DisentangleSettings

    @cached_property
    def y(self) -> Array:
        """Standardised metrics (n, m)."""
        return standardised(self.columns, self.metrics)

    @cached_property
    def x(self) -> Array:
        """Standardised factors (n, p)."""
        return standardised(self.columns, self.factors)


def with_repeats(table: TableLike, repeat: Mapping[str, Sequence[str]]) -> TableLike:
    """Return a table with every factor that several columns measure, by its name: the mean of these, standardised.

    Raises:
        InputError: for under two columns, or a column in the table that has the factor's name and is none of them.
    """
    if not repeat:
        return table
    results = {name: table[name] for name in column_names(table)}
    for factor, names in repeat.items():
        if len(set(names)) < 2:
            raise InputError(f"repeat: {factor}: name at least two columns that measure {factor}", setting="repeat")
        unknown = [name for name in names if name not in results]
        if unknown:
            raise InputError(f"repeat: {factor}: there is no column {unknown[0]!r}", setting="repeat")
        if factor in results and factor not in names:
            message = f"there is a column {factor!r} already, which is none of {', '.join(names)}; give the mean of "
            raise InputError(f"repeat: {factor}: {message}these a name of its own", setting="repeat")
    for factor, names in repeat.items():
        columns = [number_column(name, table[name]) for name in names]
        for name, column in zip(names, columns, strict=True):
            present = column[~np.isnan(column)]
            if len(present) and np.ptp(present) == 0:
                message = f"column {name!r} has the value {present[0]:g} in every row: leave it out"
                raise InputError(f"repeat: {factor}: {message}", setting="repeat")
        with np.errstate(invalid="ignore", divide="ignore"):
            results[factor] = np.mean([(c - np.nanmean(c)) / np.nanstd(c) for c in columns], axis=0)
    return results


def lengths(table: TableLike) -> dict[str, Array]:
    """Return how long each pair of texts is, and how unequal: the two ways in which length gets into other factors.

    ``length`` (n,) is the logarithm of the words in both texts together, ``length-ratio`` (n,) the absolute logarithm
    of their ratio. A word is what stands between blanks; in writing without blanks, a sign. An empty text counts as one
    word. A table without the columns of one of `PAIRS` has neither.
    """
    names = column_names(table)
    pair = next((pair for pair in PAIRS if set(pair) <= set(names)), None)
    if pair is None:
        return {}

    def count(name: str) -> Array:
        texts = ("" if cells.is_missing(cell) else cells.spelled(cell) for cell in list(table[name]))
        return np.array([max(len(_WORD.findall(text)), 1) for text in texts], dtype=np.float64)

    first, second = map(count, pair)
    return dict(zip(LENGTHS, (np.log(first + second), np.abs(np.log(first / second))), strict=True))


def with_lengths(table: TableLike, controls: Sequence[str]) -> tuple[TableLike, list[str]]:
    """Return a table with the columns that controls name, and their names; ``length`` is computed unless it is there.

    Raises:
        InputError: for ``length`` without such a column or any texts.
    """
    present = column_names(table)
    if "length" not in controls or "length" in present:
        return table, list(controls)
    computed = lengths(table)
    if not computed:
        pairs = " or ".join(f"{a} and {b}" for a, b in PAIRS)
        raise InputError(
            f"controls: length: there is neither a column 'length' nor a pair of texts ({pairs})", setting="controls"
        )
    wanted = [name for control in controls for name in (LENGTHS if control == "length" else (control,))]
    return {name: table[name] for name in present} | computed, wanted
