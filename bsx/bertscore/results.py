"""Scores: precision, recall and F1 of every segment, never without the signature they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.bertscore.config import FIGURES
from bsx.errors import InputError
from bsx.metrics.results import SegmentScores
from bsx.support.provenance import Signature
from bsx.support.untyped import to_json

FloatArray = NDArray[np.float32]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Scores(SegmentScores):
    """BERTScore of n candidates; ``precision, recall, f1 = scores`` unpacks its arrays.

    Attributes:
        precision: (n,), or (layers, n) for all layers.
        recall: as ``precision``.
        f1: as ``precision``.
        signature: the settings behind these numbers.
        layers: the layers of the first axis; one layer if the arrays are one-dimensional.
        ids: what the segments are called in the output (n,).
        empty: indices of segments whose candidate, or all of whose references, have no content: P = R = F1 = 0.
        unweighted: indices of segments in which one side's tokens all have idf 0: the undefined figures are set to 0.
        truncated: indices of segments of which a text was longer than the model's limit.
        tokens_lost: tokens cut off from each of the ``truncated`` segments.
    """

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    signature: Signature
    layers: tuple[int, ...]
    ids: tuple[str, ...]
    empty: IndexArray
    unweighted: IndexArray
    truncated: IndexArray
    tokens_lost: IndexArray

    def __repr__(self) -> str:
        figures = f"layers={len(self.layers)}"
        if self.f1.ndim == 1:
            figures = ", ".join(f"{name}={value:.4f}" for name, value in self.mean().items())
        return f"Scores(n={len(self)}, {figures}, signature={str(self.signature)!r})"

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.precision, self.recall, self.f1))

    def __getitem__(self, figure: str) -> FloatArray:
        return dict(zip(FIGURES, self, strict=True))[figure]

    def mean(self) -> dict[str, float | list[float]]:
        """Return the mean over segments of each figure: a number, or a list with one number a layer."""
        if len(self) == 0:
            raise InputError("there are no scores to average")
        return {name: getattr(self, name).mean(axis=-1, dtype=np.float64).tolist() for name in FIGURES}

    def to_dict(self) -> dict[str, object]:
        """Return the summary that ``bsx score`` prints as JSON for one system."""
        layer: int | str = self.layers[0] if self.f1.ndim == 1 else "all"
        return {
            "metric": self.signature["metric"],
            "model": self.signature["model"].partition("@")[0],
            "layer": layer,
            "n": len(self),
            **self.mean(),
            "signature": str(self.signature),
            "empty": len(self.empty),
            "unweighted": len(self.unweighted),
            "truncated": len(self.truncated),
            "tokens_lost": int(self.tokens_lost.sum()),
        }

    def to_json(self) -> str:
        """Return the summary and the scores of every segment as JSON."""
        arrays = {name: getattr(self, name).tolist() for name in FIGURES}
        return to_json({"summary": self.to_dict(), "ids": list(self.ids), "scores": arrays})

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield one row a segment (and layer, for all layers): id, [layer,] precision, recall, f1."""
        figures = {name: np.atleast_2d(getattr(self, name)) for name in FIGURES}
        for i, name in enumerate(self.ids):
            for position, layer in enumerate(self.layers):
                known: dict[str, object] = {"id": name} if self.f1.ndim == 1 else {"id": name, "layer": layer}
                yield {**known, **{figure: float(values[position, i]) for figure, values in figures.items()}}
