"""What every section of the calibration page shares: the runner, rates with their Monte-Carlo error, tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

World = TypeVar("World")
Measure = Callable[[World], bool]


@dataclass(frozen=True)
class Rate:
    """In how many replicates something happened: a null was rejected, an interval held the truth.

    Attributes:
        hits: how many.
        runs: out of so many.
    """

    hits: int
    runs: int

    @property
    def share(self) -> float:
        """Hits over runs."""
        return self.hits / self.runs

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of the share; with a hit added and a miss, so that it is not 0 for 0 hits."""
        share = (self.hits + 1) / (self.runs + 2)
        return math.sqrt(share * (1 - share) / self.runs)

    def near(self, target: float, errors: float = 3.5) -> bool:
        """Tell whether the share is within so many standard errors, taken at the target, of what it should be."""
        return abs(self.share - target) <= errors * math.sqrt(target * (1 - target) / self.runs) + 1 / self.runs

    def __str__(self) -> str:
        """Return the share with its Monte-Carlo error."""
        return f"{self.share:.3f} ± {self.error:.3f}"


def simulate(
    world: Callable[[np.random.Generator], World],
    measure: Callable[[World], Mapping[str, bool]],
    *,
    runs: int,
    seed: int = 1,
) -> dict[str, Rate]:
    """Draw a world so often and count what was found in it; replicate i is the same whatever ``runs`` is.

    Args:
        world: draws one data set.
        measure: of a data set: name -> whether it happened (the test rejected, the interval covered).
        runs: replicates.
        seed: of the first replicate's draws.
    """
    hits: dict[str, int] = {}
    for run in range(runs):
        found = measure(world(np.random.default_rng([seed, run])))
        for name, happened in found.items():
            hits[name] = hits.get(name, 0) + bool(happened)
    return {name: Rate(count, runs) for name, count in hits.items()}


def covers(interval: Sequence[float], truth: float) -> bool:
    """Tell whether an interval (low, high, …) holds the truth."""
    return interval[0] <= truth <= interval[1]


def table(header: Sequence[str], rows: Iterable[Sequence[object]], runs: int) -> str:
    """Return a Markdown table whose first column holds names, with the number of replicates below it."""
    lines = [f"| {' | '.join(header)} |", f"|---|{'---:|' * (len(header) - 1)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join([*lines, "", f"{runs} replicates; ± is the Monte-Carlo standard error."])
