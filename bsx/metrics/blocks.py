"""Rows and pairs of texts to score, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bsx.support.untyped import Untyped

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Some rows of a corpus: one candidate each, with what it is compared to.

    Attributes:
        candidates: one text a row.
        references: each row's references; empty tuples if the corpus has none.
        sources: each row's source, or None if the corpus has none.
        systems: index of the system each row belongs to (rows,).
        ids: the name of the segment that each row is from; empty if they have none.
        ahead: what metrics prepared of it while another was scored, by how they were asked for; see
            `bsx.metrics.core.MetricCore.look_ahead`.
        report: told the share of the block's work that is done, by a metric that works on it for long.
    """

    candidates: list[str]
    references: list[tuple[str, ...]]
    sources: list[str] | None
    systems: NDArray[np.int64]
    ids: Sequence[str] = ()
    ahead: dict[str, object] = field(default_factory=dict)
    report: Callable[[float], None] | None = None

    def __len__(self) -> int:
        return len(self.candidates)


@dataclass
class BlockScores:
    """Scores of a block's rows.

    Attributes:
        values: (rows,); NaN where the metric is not defined.
        empty: rows of which one side has no content (rows,).
        lost: tokens that a model's limit cut off (rows,).
        statistics: what the metric's score of a whole system is computed from (rows, k); None if that is the mean.
        undefined: rows that are not defined though their ``values`` are numbers (rows,), none unless given; once the
            run has filled in ``values``, all rows that are not defined though they are not empty.
        figures: all figures of a metric that has several, ``values`` among them (layers, rows, figures); None: one.
    """

    values: Values
    empty: NDArray[np.bool_]
    lost: NDArray[np.int64]
    statistics: Values | None = None
    undefined: NDArray[np.bool_] = field(default_factory=lambda: np.array(False))
    figures: NDArray[np.float32] | None = None

    def select(self, rows: NDArray[np.int64]) -> BlockScores:
        """Return the scores of some rows."""
        return BlockScores(
            self.values[rows],
            self.empty[rows],
            self.lost[rows],
            None if self.statistics is None else self.statistics[rows],
            self.undefined[rows],
            None if self.figures is None else self.figures[:, rows],
        )

    @classmethod
    def joined(cls, parts: Sequence[BlockScores]) -> BlockScores:
        """Return the scores of all rows of several blocks."""
        columns: dict[str, Untyped] = {}
        for name, first in vars(parts[0]).items():
            if first is not None:
                several = [getattr(part, name) for part in parts]
                columns[name] = np.concatenate(several, axis=1 if name == "figures" else 0)
        return cls(**columns)

    def all_figures(self) -> NDArray[np.float32]:
        """Return all figures (layers, rows, figures), of a metric with one figure that one."""
        return self.values.astype(np.float32)[None, :, None] if self.figures is None else self.figures


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts to compare.

    Attributes:
        texts: distinct texts.
        left: index of each pair's candidate (pairs,).
        right: index of each pair's reference, or source for a metric that needs no reference (pairs,).
        systems: the system each candidate belongs to (pairs,).
        rows: the row of the block each pair belongs to, in rising order (pairs,).
        sources: index of each pair's source (pairs,), for a metric that needs reference and source; else None.
    """

    texts: list[str]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    systems: NDArray[np.int64]
    rows: NDArray[np.int64]
    sources: NDArray[np.int64] | None = None


@dataclass
class PairScores:
    """Scores of pairs.

    Attributes:
        values: (pairs,); NaN where the metric is not defined.
        lost: tokens of each distinct text that a model's limit cut off (texts,); None if there is no limit.
        lost_together: tokens cut off from each pair (pairs,), for a model that reads both texts as one sequence.
    """

    values: Values
    lost: NDArray[np.int64] | None = field(default=None)
    lost_together: NDArray[np.int64] | None = field(default=None)


def not_scores(result: object, kind: type[BlockScores | PairScores], rows: int) -> str | None:
    """Return what a metric of somebody's own returned instead of scores, in a few words; None if they are scores."""
    if not isinstance(result, kind):
        return repr(result)[:100]
    for name in ("values", "empty", "lost") if isinstance(result, BlockScores) else ("values",):
        shape = np.shape(getattr(result, name))
        if shape != (rows,):
            return f"{name} of shape {shape}"
    values = np.asarray(result.values)
    if values.dtype.kind not in "biuf":
        return f"values of type {values.dtype}"
    return "an infinite score" if np.isinf(values).any() else None


def as_block(rows: Sequence[tuple[str, tuple[str, ...], str | None, int]], ids: Sequence[str] = ()) -> Block:
    """Build a block from (candidate, references, source, system) rows, and the names of their segments."""
    sources = [source for _, _, source, _ in rows if source is not None]
    return Block(
        [row[0] for row in rows],
        [row[1] for row in rows],
        sources if len(sources) == len(rows) else None,
        np.array([row[3] for row in rows], dtype=np.int64),
        ids,
    )
