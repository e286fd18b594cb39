"""What a run sums up for each metric and system, block by block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.data.corpus import Segment
from bsx.metrics.blocks import BlockScores
from bsx.metrics.core import MetricCore

_NAMED = 5  # segments that a note names


class Totals:
    """One metric's results, gathered block by block for each system.

    Args:
        metric: the metric.
        systems: how many systems there are.
    """

    def __init__(self, metric: MetricCore, systems: int) -> None:
        self._metric = metric
        self._sums = np.zeros(systems)
        self._n = 0
        self._statistics: NDArray[np.float64] | None = None
        self._figures: NDArray[np.float64] | None = None
        self.counts = {name: np.zeros(systems, dtype=np.int64) for name in ("empty", "undefined", "truncated", "lost")}
        self.first: dict[str, list[str]] = {name: [] for name in ("empty", "undefined", "truncated")}
        """The names of the first segments of each kind."""

    def add(self, scores: BlockScores, undefined: NDArray[np.bool_], segments: Sequence[Segment]) -> None:
        """Count one block's results in."""
        systems = len(self._sums)
        self._sums += scores.values.reshape(-1, systems).sum(axis=0)
        self._n += len(scores.values) // systems
        flags = {"empty": scores.empty, "undefined": undefined, "truncated": scores.lost > 0, "lost": scores.lost}
        for name, flag in flags.items():
            by_system = flag.reshape(-1, systems)
            self.counts[name] += by_system.sum(axis=0)
            if name in self.first and (room := _NAMED - len(self.first[name])):
                self.first[name] += [segments[i].id for i in np.flatnonzero(by_system.any(axis=1))[:room]]
        if scores.statistics is not None:
            part = scores.statistics.reshape(-1, systems, scores.statistics.shape[-1]).sum(axis=0)
            self._statistics = part if self._statistics is None else self._statistics + part
        if scores.figures is not None:
            layers, _, figures = scores.figures.shape
            part = scores.figures.reshape(layers, -1, systems, figures).sum(axis=1, dtype=np.float64)
            self._figures = part if self._figures is None else self._figures + part

    @property
    def segments(self) -> int:
        """How many segments were counted in."""
        return self._n

    def figure_sums(self) -> NDArray[np.float64]:
        """Return the sum of every figure of every system (layers, systems, figures), for a metric with several."""
        if self._figures is None:
            raise ValueError(f"{self._metric.name} has one figure")
        return self._figures

    @property
    def has_statistics(self) -> bool:
        """Whether the score of a system is computed from statistics of its rows instead of being their mean."""
        return self._statistics is not None

    def mean(self, system: int) -> float:
        """Return the mean of a system's scores."""
        return float(self._sums[system] / self._n)

    def system(self, system: int) -> float:
        """Return the metric's score of a whole system."""
        if self._statistics is None:
            return self.mean(system)
        return self._metric.system_score(self._statistics[system])
