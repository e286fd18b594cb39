"""Length of the texts as a column to hold constant, and factors that are mostly length."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from bsx.data import cells
from bsx.data.columns import TableLike, column_names
from bsx.errors import InputError
from bsx.support.checks import Array

MOSTLY = 0.5
PAIRS = (("sentence1", "sentence2"), ("candidate", "reference"), ("candidate", "source"))
LENGTHS = ("length", "length-ratio")
# Writing without blanks between words: each sign counts as one word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|"
    r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+"
)


def text_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns that hold the texts that are compared, if a table with these columns has any."""
    return next((pair for pair in PAIRS if set(pair) <= set(names)), None)


def lengths(table: TableLike) -> dict[str, Array]:
    """Return how long each pair of texts is, and how unequal: the two ways in which length gets into other factors.

    ``length`` is the logarithm of the words in both texts together, ``length-ratio`` the absolute logarithm of their
    ratio. A word is what stands between blanks; in writing without blanks, a sign. An empty text counts as one word.

    Args:
        table: with the columns of one of `PAIRS`.

    Returns:
        The two columns (n,); none if the table has no texts.
    """
    pair = text_columns(column_names(table))
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
    return {**{name: table[name] for name in present}, **computed}, wanted


def mostly_length(columns: Mapping[str, Array], measured: Mapping[str, Array]) -> dict[str, float]:
    """Return the factors that are mostly length: factor -> R² of its regression on both measures of length.

    Args:
        columns: factor -> (n,).
        measured: from `lengths`, of the same rows.
    """
    design = np.column_stack([np.ones(len(next(iter(measured.values())))), *measured.values()])
    results = {}
    for name, values in columns.items():
        rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
        share = 1 - float(rest @ rest) / float(np.square(values - values.mean()).sum())
        if share > MOSTLY:
            results[name] = share
    return results
