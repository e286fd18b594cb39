"""Controls beside metrics: columns that cannot know how good a translation is, and what must be said of each metric."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from bsx.analysis.meta.settings import MetaSettings
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.checks import Array

MADE = ("constant", "shuffled")
LEARNED = "SENTINEL-"
"""How the columns of learned sentinels begin, which see only the candidate, the reference or the source.

Source: Perrella et al. 2024, whose scores of WMT23 are published under such names.
"""


def is_learned(name: str) -> bool:
    """Return whether a column holds a learned sentinel, by its name.

    >>> is_learned("SENTINEL-CAND-MQM"), is_learned("chrF-refA")
    (True, False)
    """
    return name.startswith(LEARNED)


def meant(sentinels: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the sentinels' names: as they are, and for a pattern such as ``SENTINEL-*`` all columns that match.

    Raises:
        UnknownNameError: for a pattern that no column matches.
    """
    if isinstance(sentinels, str):
        raise InputError(f"sentinels is a single text: give a list, [{sentinels!r}]", setting="sentinels")
    results: list[str] = []
    for name in sentinels:
        names = [column for column in known if fnmatchcase(column, name)] if "*" in name else [name]
        if not names:
            raise UnknownNameError(
                f"sentinels: no column matches {name!r}; there are {', '.join(known)}", setting="sentinels"
            )
        results += [one for one in names if "*" not in name or one not in (*sentinels, *results)]
    return results


def columns_of(sentinels: Sequence[str], known: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Return the sentinels that are columns of the table.

    Raises:
        UnknownNameError: for one that is neither a column nor made here.
        InputError: for one named twice, or that is among the metrics.
    """
    if isinstance(sentinels, str):
        raise InputError(f"sentinels is a single text: give a list, [{sentinels!r}]", setting="sentinels")
    for name in sentinels:
        if name in metrics:
            raise InputError(
                f"sentinels: {name!r} is among the metrics already: it is one or the other", setting="sentinels"
            )
        if list(sentinels).count(name) > 1:
            raise InputError(f"sentinels: {name!r} is named twice", setting="sentinels")
        if name not in known and name not in MADE:
            hint = did_you_mean(name, [*known, *MADE])
            raise UnknownNameError(
                f"sentinels: {name!r} is neither a column nor one of {', '.join(MADE)}, which are made here: score "
                f"it with the metrics, or name a column.{hint}",
                setting="sentinels",
            )
    return [name for name in sentinels if name in known]


def check_constant(sentinels: Sequence[str], known: Sequence[str], settings: MetaSettings) -> None:
    """Raise InputError if a constant is asked for where only a correlation is measured."""
    if "constant" in sentinels and "constant" not in known and not orders_ties(settings):
        raise InputError("a constant has no correlation, so as a sentinel it needs statistic acc_eq or level darr")


def orders_ties(settings: MetaSettings) -> bool:
    """Return whether a column that ties everything has a defined figure."""
    return settings.statistic == "acc_eq" or settings.level == "darr"


def made(name: str, scores: Array, groups: Sequence[str], seed: int) -> Array:
    """Return a sentinel that needs no text.

    Args:
        name: ``constant``, the same score for all; or ``shuffled``, the scores of a metric dealt out anew within each
            group, as if it had read other candidates.
        scores: of that metric (n,); where it has no value, neither has the sentinel.
        groups: of each row.
        seed: of the shuffling.
    """
    if name == "constant":
        return np.where(np.isnan(scores), np.nan, 0.0)
    result = scores.copy()
    for number, group in enumerate(dict.fromkeys(groups)):
        here = np.array([other == group for other in groups]) & ~np.isnan(scores)
        result[here] = np.random.default_rng([seed, number]).permutation(scores[here])
    return result
