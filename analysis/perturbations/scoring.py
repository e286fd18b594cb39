"""Scores of changed texts: what a metric, any function of texts, returns, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy

Function = Callable[[Sequence[str], Sequence[str]], ArrayLike]
"""A metric: candidates and references -> scores (n,), higher is better."""


def as_values(returned: object, name: str, rows: int) -> Array:
    """Return what a function of texts returned, as numbers (rows,); messages name the function."""
    try:
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} returned {returned!r:.60}, not a number for each text") from error
    if values.shape != (rows,):
        raise InputError(f"{name}: {rows} rows, scores of shape {values.shape}")
    return values


def score_changed(
    metric: Function,
    texts: Sequence[str],
    references: Sequence[str],
    changed: NDArray[np.bool_],
    *,
    name: str,
    nan: NanPolicy,
) -> Array:
    """Return a metric's scores of the texts that changed (n,), NaN for others; nothing is scored if none did.

    Args:
        metric: called with all rows, those that did not change too.
        texts: n texts, changed or not.
        references: n texts.
        changed: which changed (n,).
        name: of the metric, for messages.
        nan: refuse missing scores, or leave them.

    Raises:
        InputError: for scores that are missing, infinite or no numbers.
    """
    values = np.full(len(texts), np.nan)
    if not changed.any():
        return values
    values[changed] = as_values(metric(texts, references), name, len(texts))[changed]
    missing, endless = np.isnan(values) & changed, np.isinf(values)
    if nan == "error" and missing.any():
        row = int(np.flatnonzero(missing)[0]) + 1
        raise InputError(f"{name}: row {row} has no score; nan omit leaves such rows out")
    if endless.any():
        raise InputError(f"{name}: row {int(np.flatnonzero(endless)[0]) + 1} has an infinite score")
    return values
