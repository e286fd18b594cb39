"""Training data in memory: distinct texts, and which of them make up each instance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.data.corpus import as_texts
from bsx.errors import InputError


@dataclass(frozen=True, eq=False)
class Instances:
    """Judged candidates with their references.

    Attributes:
        texts: distinct texts.
        rows: index of each candidate and of its reference (n, 2).
        scores: human scores (n,).
    """

    texts: list[str]
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def scored(cls, candidates: object, scores: ArrayLike, references: object) -> Instances:
        """Build instances from n candidates with human scores (n,), higher is better, and n references.

        Raises:
            InputError: if numbers differ, a text is missing or no text, or a score is no finite number.
        """
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise InputError("scores: one finite number for each candidate is needed")
        columns = [as_texts(candidates, "candidates"), as_texts(references, "references")]
        sizes = (len(columns[0]), len(columns[1]), len(values))
        if len(set(sizes)) > 1:
            raise InputError("numbers must match: {} candidates, {} references, {} scores".format(*sizes))
        places: dict[str, int] = {}
        rows = [[places.setdefault(text, len(places)) for text in column] for column in columns]
        return cls(list(places), np.array(rows, dtype=np.int64).T, values)

    def take(self, rows: ArrayLike) -> Instances:
        """Return some instances, in the order given; texts stay as they are."""
        chosen = np.asarray(rows)
        return replace(self, rows=self.rows[chosen], scores=self.scores[chosen])

    def used_texts(self) -> list[str]:
        """Return the texts that some instance has."""
        return [self.texts[i] for i in np.unique(self.rows)]

    def without_blank(self) -> Instances:
        """Return the instances both of whose texts have content."""
        full = np.array([bool(text.strip()) for text in self.texts], dtype=bool)
        return self.take(np.flatnonzero(full[self.rows].all(axis=1)))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each candidate with its reference."""
        return ((self.texts[candidate], self.texts[reference]) for candidate, reference in self.rows.tolist())

    @property
    def digest(self) -> str:
        """The sha256 of texts, their order and the scores."""
        state = hashlib.sha256()
        for i in self.rows.T.reshape(-1).tolist():
            state.update(self.texts[i].encode() + b"\x1e")
        state.update(self.scores.tobytes())
        return state.hexdigest()


def agreement(predicted: ArrayLike, instances: Instances) -> float:
    """Return Pearson's r of predictions (n,) with human scores; NaN if all predictions are the same."""
    values = np.asarray(predicted, dtype=np.float64)
    return float(np.corrcoef(values, instances.scores)[0, 1]) if np.ptp(values) else float("nan")
