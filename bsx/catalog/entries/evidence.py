"""Measured figures that speak for a metric or for a layer of a model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from bsx.catalog.entries.base import Code, Entry
from bsx.support.checks import FEWEST_ITEMS

Aspect = Literal["agreement", "robustness", "semantics", "speed"]
"""What a figure of a metric card speaks for."""
Judged = Literal["human-translation", "human-summary", "similarity"]
"""What people judged: translations, summaries, or how alike two sentences are."""
Test = tuple[str, str | None, str, str, int | None]
"""What a figure measures: data, direction, level, statistic, items."""


class Evidence(Entry):
    """One measured figure that speaks for a metric, or for a model's best layer, with its source.

    ``language`` is the language of the candidates it was measured on, ``direction`` that of the translations (en-tr),
    and ``level`` what was judged: segments or whole systems. ``layer`` is the layer, if not the entry's; ``called`` is
    the name that the source has for the model or metric. Of figures from metric cards, ``aspect`` says what they speak
    for, with the number of items, the interval, the signature and the versions; those of ``speed`` say how many times
    as long as chrF it takes on the same machine. ``kind`` is what people judged, ``year`` that of their judgments, and
    ``chrf`` the same statistic of chrF on the same rows.
    """

    dataset: str
    language: Code = "en"
    direction: Annotated[str, Field(pattern=r"^[a-z]{2,3}-[a-z]{2,3}$")] | None = None
    level: Literal["segment", "system"] = "segment"
    layer: int | None = None
    statistic: str
    value: float
    called: str | None = None
    source: str
    aspect: Aspect | None = None
    kind: Judged | None = None
    year: Annotated[int, Field(ge=1990, le=2100)] | None = None
    chrf: Annotated[float, Field(ge=-1, le=1)] | None = None
    n: int | None = Field(default=None, ge=1)
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    signature: str | None = None
    versions: dict[str, str] | None = None

    @field_validator("value", mode="after")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not -1e9 < value < 1e9:
            raise ValueError("must be a number")
        return value

    @model_validator(mode="after")
    def _in_range(self) -> Evidence:
        if self.aspect == "speed" and self.value <= 0:
            raise ValueError("value: a time is more than 0")
        if self.aspect != "speed" and not -1 <= self.value <= 1:
            raise ValueError("value: must lie between -1 and 1")
        return self

    @model_validator(mode="after")
    def _into_its_language(self) -> Evidence:
        if self.direction is not None and self.direction.rpartition("-")[2] != self.language:
            raise ValueError(f"direction {self.direction} does not go into the language {self.language}")
        return self

    @property
    def enough(self) -> bool:
        """Whether it rests on enough items to speak for anything."""
        return self.n is None or self.n >= FEWEST_ITEMS

    @property
    def test(self) -> Test:
        """What was measured: only figures of one test can be compared."""
        return self.dataset, self.direction, self.level, self.statistic, self.n
