"""Controls: metrics that cannot know how good a translation is, and that any other metric must beat.

Source of the idea: Perrella et al. 2024, whose sentinel metrics are trained; these need no training.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.metrics.base import PairMetric
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores

Unit = Literal["characters", "words"]


class LengthConfig(MetricConfig):
    """Settings of the length."""

    of: Annotated[
        Literal["candidate", "other"],
        Field(description="Whose length: the candidate's, or that of the text it is compared with."),
    ] = "candidate"
    unit: Annotated[
        Unit, Field(description="What is counted; words are separated by white space, which does not count.")
    ] = "characters"
    multi_ref: MultiRef = "mean"


class OverlapConfig(MetricConfig):
    """Settings of the overlap."""

    unit: Annotated[Unit, Field(description="What is compared; words are separated by white space.")] = "words"
    multi_ref: MultiRef = "best"


def _units(text: str, unit: Unit) -> list[str]:
    words = text.split()
    return words if unit == "words" else list("".join(words))


class Length(PairMetric[LengthConfig]):
    """How long a text is: what a metric that only counts knows."""

    Config = LengthConfig
    encodes = False

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        lengths = np.array([len(_units(text, self.config.unit)) for text in pairs.texts], dtype=np.float64)
        return PairScores(lengths[pairs.left if self.config.of == "candidate" else pairs.right])


class Overlap(PairMetric[OverlapConfig]):
    """F1 of the words or characters that two texts share, whatever their order: what copying them would give."""

    Config = OverlapConfig
    encodes = False

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        bags = [Counter(_units(text.lower(), self.config.unit)) for text in pairs.texts]
        sizes = [bag.total() for bag in bags]
        values = [
            2 * (bags[i] & bags[j]).total() / (sizes[i] + sizes[j])
            for i, j in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
        ]
        return PairScores(np.array(values, dtype=np.float64))
