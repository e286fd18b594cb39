"""A metric that fails on some rows: name them, or go on without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.errors import BsxError, InputError

Score = Callable[[Sequence[int]], ArrayLike]


def score_rows(name: str, score: Score, count: int, *, skip: bool) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Score rows together; if that fails, find the rows to blame and score the others together.

    Args:
        name: the metric's, for messages.
        score: given row numbers from 0, returns their scores.
        count: how many rows there are.
        skip: whether to go on without rows that fail.

    Returns:
        Scores (count,), NaN for rows that failed, and what was wrong with each of those.

    Raises:
        InputError: naming the first row that fails, unless ``skip``.
        Exception: what the metric raised, if the rows fail together but not alone, or nothing about rows is wrong.
    """
    rows = list(range(count))
    try:
        return np.asarray(score(rows), dtype=np.float64), {}
    except Exception as error:
        if isinstance(error, BsxError) and not isinstance(error, InputError):
            raise
        failed = _failing(score, rows, first=not skip)
        if not failed:
            raise
        if not skip:
            row, why = next(iter(failed.items()))
            raise InputError(f"{name}: row {row + 1}: {why}; --skip-errors leaves such rows out") from error
    values = np.full(count, np.nan)
    left = [row for row in rows if row not in failed]
    if left:
        values[left] = np.asarray(score(left), dtype=np.float64)
    return values, failed


def _failing(score: Score, rows: Sequence[int], *, first: bool) -> dict[int, str]:
    """Return the rows that fail on their own, by halving; only the first if that is enough."""
    try:
        score(rows)
    except Exception as error:  # noqa: BLE001 - a metric of somebody else may raise anything; it is reported
        if len(rows) == 1:
            return {rows[0]: _said(error)}
        half = len(rows) // 2
        found = _failing(score, rows[:half], first=first)
        if first and found:
            return found
        return found | _failing(score, rows[half:], first=first)
    return {}


def _said(error: Any) -> str:
    said = " ".join(str(error).split())
    return said if isinstance(error, BsxError) and said else f"{type(error).__name__} {said}".strip()
