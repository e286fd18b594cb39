"""Figures of word risks held against people's marks: what their results share, and how sentences are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.results import Estimate
from bsx.errors import InputError
from bsx.support.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RiskFigures(InNotebooks):
    """Several figures of word risks, each with a bootstrap interval over sentences."""

    TITLE: ClassVar[str]
    UNIT: ClassVar[str]
    AXIS: ClassVar[str]
    LINE: ClassVar[float | None] = None

    @abstractmethod
    def named(self) -> Mapping[str, Estimate]:
        """Return the figures by name."""

    @property
    def short(self) -> str:
        """The figures, and how much they rest on."""
        shown = ", ".join(f"{name} {one.estimate:.3f}" for name, one in self.named().items())
        return f"{shown}; {next(iter(self.named().values())).n} {self.UNIT}"

    def sheets(self) -> Sequence[Sheet]:
        """Return the figures with intervals."""
        first = next(iter(self.named().values()))
        rows = [
            [name.replace("_", " "), f"{one.estimate:.4f} [{one.low:.4f}, {one.high:.4f}]"]
            for name, one in self.named().items()
        ]
        level = f"{100 * first.confidence:g} % bootstrap intervals"
        return [Sheet(f"{self.TITLE} n = {first.n} {self.UNIT}; {level}, no tests", ["figure", "value"], rows)]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure."""
        return [{"figure": name, **asdict(one)} for name, one in self.named().items()]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the figures with their intervals."""
        dots = [Dot(name.replace("_", " "), one.estimate, one.low, one.high) for name, one in self.named().items()]
        return draw_dots({"": dots}, self.AXIS, path, line=self.LINE)

    def to_dict(self) -> dict[str, object]:
        """Return the figures with intervals."""
        found: dict[str, object] = {}
        for name, one in self.named().items():
            key = name.replace(" ", "_")
            found |= {key: one.estimate, f"{key}_ci": [one.low, one.high]}
        return found


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
