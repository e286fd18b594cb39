"""Word risks held against human marks: how sentences are read, and how figures of them become estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.results import Estimate
from bsx.errors import InputError
from bsx.support.checks import Array


def sentences(risks: Sequence[ArrayLike], marks: Sequence[ArrayLike]) -> Iterator[tuple[int, Array, Array]]:
    """Yield the number, from 1, the risks and the marks (words,) of each sentence.

    Raises:
        InputError: if numbers differ, or a mark is neither 0 nor 1.
    """
    if len(risks) != len(marks):
        raise InputError(f"there are {len(risks)} sentences with risks and {len(marks)} with marks")
    for number, (risk, mark) in enumerate(zip(risks, marks, strict=True), start=1):
        x, y = np.asarray(risk, dtype=np.float64), np.asarray(mark, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise InputError(f"sentence {number}: has {x.size} risks and {y.size} marks")
        if not np.isin(y, (0, 1)).all():
            raise InputError(f"sentence {number}: a mark is neither 0 nor 1")
        yield number, x, y


def estimates(methods: Sequence[str], values: Array, draws: Array, n: int, confidence: float) -> Iterator[Estimate]:
    """Yield figures (figures,) with percentile intervals of their draws (resamples, figures), which rest on n items."""
    for place, method in enumerate(methods):
        ends = percentile_interval(draws[:, place], confidence)
        said = f"{method}, bootstrap interval over sentences"
        yield Estimate(float(values[place]), *ends, float("nan"), n, said, confidence)
