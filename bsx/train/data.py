"""Training data in memory: distinct texts, and which of them make up each instance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.data.corpus import as_texts
from bsx.errors import InputError
from bsx.train.config import Inputs

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Instances:
    """Judged candidates, or preferences between two candidates.

    Attributes:
        texts: distinct texts.
        candidates: index of the judged text (n, 1), or of the better and the worse one (n, 2).
        others: index of what candidates are compared with (n, k): reference or source (k = 1), or both (k = 2).
        scores: human score (n,); None for preferences.
    """

    texts: list[str]
    candidates: Index
    others: Index
    scores: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.candidates)

    @classmethod
    def scored(
        cls,
        candidates: object,
        scores: ArrayLike,
        references: object | None = None,
        sources: object | None = None,
        *,
        inputs: Inputs = "reference",
    ) -> Instances:
        """Build instances from candidates with human scores.

        Args:
            candidates: n texts.
            scores: n numbers, higher is better.
            references: n texts; needed unless ``inputs`` is ``source``.
            sources: n texts; needed unless ``inputs`` is ``reference``.
            inputs: what candidates are compared with.

        Raises:
            InputError: if numbers differ, a text is missing or no text, or a score is no finite number.
        """
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise InputError("scores: one finite number for each candidate is needed")
        return cls._build({"candidates": candidates}, references, sources, inputs, values)

    @classmethod
    def preferences(
        cls,
        better: object,
        worse: object,
        references: object | None = None,
        sources: object | None = None,
        *,
        inputs: Inputs = "reference",
    ) -> Instances:
        """Build instances from pairs of candidates of which annotators preferred the first (DARR); see `scored`."""
        return cls._build({"better": better, "worse": worse}, references, sources, inputs, None)

    @classmethod
    def _build(
        cls,
        candidates: dict[str, object],
        references: object | None,
        sources: object | None,
        inputs: Inputs,
        scores: NDArray[np.float64] | None,
    ) -> Instances:
        wanted = {"reference": ["references"], "source": ["sources"], "both": ["references", "sources"]}[inputs]
        given = {"references": references, "sources": sources}
        missing = [name for name in wanted if given[name] is None]
        if missing:
            raise InputError(f"inputs={inputs} compares candidates with {missing[0]}: give {missing[0]} too")
        columns = {name: as_texts(values, name) for name, values in candidates.items()}
        columns |= {name: as_texts(given[name], name) for name in wanted}
        sizes = {name: len(values) for name, values in columns.items()}
        if scores is not None:
            sizes["scores"] = len(scores)
        if len(set(sizes.values())) > 1:
            raise InputError("numbers must match: " + ", ".join(f"{n} {name}" for name, n in sizes.items()))
        places: dict[str, int] = {}
        indices = {
            name: np.array([places.setdefault(text, len(places)) for text in values], dtype=np.int64)
            for name, values in columns.items()
        }
        stack = [np.stack([indices[name] for name in names], axis=1) for names in (candidates, wanted)]
        return cls(list(places), stack[0], stack[1], scores)

    def take(self, rows: ArrayLike) -> Instances:
        """Return some instances, in the order given; texts stay as they are."""
        chosen = np.asarray(rows)
        scores = None if self.scores is None else self.scores[chosen]
        return replace(self, candidates=self.candidates[chosen], others=self.others[chosen], scores=scores)

    def with_scores(self, scores: ArrayLike) -> Instances:
        """Return the same texts with other scores (n,)."""
        return replace(self, scores=np.asarray(scores, dtype=np.float64))

    def used_texts(self) -> list[str]:
        """Return the texts that some instance has."""
        return [self.texts[i] for i in np.unique(np.concatenate([self.candidates, self.others], axis=1))]

    def without_blank(self) -> Instances:
        """Return the instances all of whose texts have content."""
        full = np.array([bool(text.strip()) for text in self.texts], dtype=bool)
        return self.take(np.flatnonzero(full[self.candidates].all(axis=1) & full[self.others].all(axis=1)))

    def repeated_in(self, other: Instances) -> int:
        """Return how many instances have the texts of an instance of other data."""
        known = set(other._texts_of_instances())
        return sum(texts in known for texts in self._texts_of_instances())

    def _texts_of_instances(self) -> Iterator[tuple[str, ...]]:
        for row in np.concatenate([self.candidates, self.others], axis=1).tolist():
            yield tuple(self.texts[i] for i in row)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each candidate of each instance with each text that it is compared with."""
        for candidates, others in zip(self.candidates.tolist(), self.others.tolist(), strict=True):
            yield from ((self.texts[i], self.texts[j]) for i in candidates for j in others)

    @property
    def digest(self) -> str:
        """The sha256 of texts, their order and the scores."""
        state = hashlib.sha256()
        for part in (self.candidates, self.others):
            for row in part.tolist():
                state.update("\x1f".join(self.texts[i] for i in row).encode() + b"\x1e")
        if self.scores is not None:
            state.update(self.scores.tobytes())
        return state.hexdigest()


@dataclass(frozen=True)
class Target:
    """How human scores are standardised for training, and predictions turned back.

    Attributes:
        mean: of the training scores; 0 for preferences, which have no scale.
        sd: their population standard deviation; 1 for preferences.
        low: the lowest training score, or the lowest prediction for preferences: what an empty text is worth.
    """

    mean: float = 0.0
    sd: float = 1.0
    low: float = 0.0

    @classmethod
    def of(cls, scores: NDArray[np.float64] | None) -> Target:
        """Measure training scores.

        Raises:
            InputError: if there are fewer than two different scores.
        """
        if scores is None:
            return cls()
        if len(scores) < 2 or np.ptp(scores) == 0:
            raise InputError("training needs at least two different human scores")
        return cls(float(scores.mean()), float(scores.std()), float(scores.min()))


def agreement(predicted: Sequence[float] | NDArray[np.float64], instances: Instances) -> float:
    """Return how well predictions agree with human judgments; NaN if all predictions are the same.

    Args:
        predicted: (n,) for scored instances; (n, 2) for preferences.
        instances: the instances.

    Returns:
        Pearson's r with human scores; for preferences (C - D) / n, ties counted as D, as WMT does (Ma et al. 2018).
    """
    values = np.asarray(predicted, dtype=np.float64)
    if instances.scores is None:
        return float(np.where(values[:, 0] > values[:, 1], 1.0, -1.0).mean())
    if np.ptp(values) == 0:
        return float("nan")
    return float(np.corrcoef(values, instances.scores)[0, 1])
