"""How much of a factor's variance is not noise: stated, or told from repeated measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from bsx.data.columns import TableLike, column_names, number_column, standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Number

_HUMAN = re.compile(r"(?:^|[^a-z])(sem|human)(?:$|[^a-z])")


@dataclass(frozen=True)
class Reliability:
    """How much of a factor's variance is not noise.

    Attributes:
        factor: which.
        value: the share, from 0 to 1.
        source: where the value comes from, in words.
    """

    factor: str
    value: Number
    source: str


@dataclass(frozen=True)
class ReliabilityEstimate(Reliability):
    """A reliability with what it rests on.

    Attributes:
        influence: of each row on it (n,); all 0 for a stated one.
    """

    influence: Array = field(repr=False, compare=False)


def human_factors(factors: Sequence[str]) -> list[str]:
    """Return the factors whose name says that they are human judgments: ``sem`` or ``human`` as a word of it."""
    return [name for name in factors if _HUMAN.search(name.casefold())]


def with_repeats(table: TableLike, repeat: Mapping[str, Sequence[str]]) -> TableLike:
    """Return a table to which every factor that was measured repeatedly is added: the mean of its standardised columns.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        repeat: factor -> the columns that measure it.

    Raises:
        InputError: for under two columns, or a column in the table that has the factor's name and is none of them.
    """
    if not repeat:
        return table
    found = {name: table[name] for name in column_names(table)}
    for factor, names in repeat.items():
        if len(set(names)) < 2:
            raise InputError(f"`repeat={factor}=…`: name at least two columns that measure {factor}")
        unknown = [name for name in names if name not in found]
        if unknown:
            raise InputError(f"`repeat={factor}=…`: there is no column {unknown[0]!r}")
        if factor in found and factor not in names:
            raise InputError(
                f"`repeat={factor}=…`: there is a column {factor!r} already, which is none of {', '.join(names)}; give "
                "the mean of these a name of its own"
            )
    for factor, names in repeat.items():
        columns = [number_column(name, table[name]) for name in names]
        with np.errstate(invalid="ignore", divide="ignore"):
            found[factor] = np.mean([(c - np.nanmean(c)) / np.nanstd(c) for c in columns], axis=0)
    return found


def cronbach(factor: str, columns: Mapping[str, Array]) -> ReliabilityEstimate:
    """Return the reliability of the mean of several standardised columns: Cronbach's alpha, here ICC(3, k).

    Source: Cronbach 1951 (standardised alpha, k r / (1 + (k - 1) r) with the mean correlation r); Spearman 1910 and
    Brown 1910 for the formula.

    Raises:
        InputError: if the columns do not go together.
    """
    z = [standardise(name, values) for name, values in columns.items()]
    pairs, k = list(combinations(range(len(z)), 2)), len(z)
    mean = float(np.mean([z[a] @ z[b] / len(z[a]) for a, b in pairs]))
    if mean <= 0:
        raise InputError(
            f"`repeat={factor}=…`: the columns {', '.join(columns)} do not measure the same thing: they correlate "
            f"{mean:.2f} on average"
        )
    one = [_influence(z[a], z[b]) for a, b in pairs]
    value = k * mean / (1 + (k - 1) * mean)
    influence = np.mean(one, axis=0) * k / (1 + (k - 1) * mean) ** 2
    return ReliabilityEstimate(factor, value, f"Cronbach's alpha of {', '.join(columns)}", influence)


def stated(factor: str, value: float, rows: int) -> ReliabilityEstimate:
    """Return a reliability that somebody states.

    Raises:
        InputError: unless it is above 0 and at most 1.
    """
    if not 0 < value <= 1:
        raise InputError(f"`reliability={factor}={value:g}`: a reliability is above 0 and at most 1")
    return ReliabilityEstimate(factor, value, "as stated", np.zeros(rows))


def _influence(a: Array, b: Array) -> Array:
    """Return each row's influence on the correlation of two standardised columns (n,)."""
    return a * b - float(a @ b / len(a)) * (a * a + b * b) / 2
