"""From a long table to matrices (systems, segments), where a cell nobody judged is NaN."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bsx.errors import InputError
from bsx.support.checks import Array


@dataclass(frozen=True)
class Grid:
    """Scores by system and segment.

    Attributes:
        systems: names of the rows, in order of first appearance.
        segments: names of the columns, in order of first appearance.
        columns: name -> (systems, segments); NaN where the table has no row or no value.
    """

    systems: tuple[Hashable, ...]
    segments: tuple[Hashable, ...]
    columns: dict[str, Array]

    def complete(self) -> Grid:
        """Return only the segments for which every system has every value."""
        keep = ~np.any([np.isnan(values).any(axis=0) for values in self.columns.values()], axis=0)
        segments = tuple(name for name, kept in zip(self.segments, keep, strict=True) if kept)
        return Grid(self.systems, segments, {name: values[:, keep] for name, values in self.columns.items()})


def grid(system: Sequence[Hashable], segment: Sequence[Hashable], columns: Mapping[str, ArrayLike]) -> Grid:
    """Arrange the rows of a table, one per system and segment, as matrices.

    Args:
        system: system of each row (n,).
        segment: segment of each row (n,).
        columns: name -> values (n,); NaN for a missing value.

    Raises:
        InputError: if sizes differ or a system x segment occurs twice.
    """
    systems, segments = list(dict.fromkeys(system)), list(dict.fromkeys(segment))
    row_of = {name: i for i, name in enumerate(systems)}
    column_of = {name: i for i, name in enumerate(segments)}
    values = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    for name, column in [("segment", np.empty(len(segment))), *values.items()]:
        if column.shape != (len(system),):
            raise InputError(
                f"columns differ in size: system {len(system)}, {name} {' x '.join(map(str, column.shape))}"
            )
    cells = np.array([row_of[name] for name in system], dtype=np.int64) * len(segments)
    cells += np.array([column_of[name] for name in segment], dtype=np.int64)
    first, counts = np.unique(cells, return_counts=True)
    if (counts > 1).any():
        i, j = divmod(int(first[counts > 1][0]), len(segments))
        raise InputError(
            f"system {systems[i]!r} has segment {segments[j]!r} more than once: leave one row of it, or name a column "
            "that tells such rows apart, `segment=COL` or `group=COL`"
        )
    matrices = {name: np.full((len(systems), len(segments)), np.nan) for name in values}
    for name, column in values.items():
        matrices[name].flat[cells] = column
    return Grid(tuple(systems), tuple(segments), matrices)
