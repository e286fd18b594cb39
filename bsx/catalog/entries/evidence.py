"""Measured figures that speak for a metric or for a layer of a model."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, model_validator

from bsx.catalog.entries.base import Code, Entry
from bsx.support.checks import FEWEST_ITEMS

Judged = Literal["human-translation", "human-summary", "similarity"]
"""What people judged: translations, summaries, or how alike two sentences are."""
Test = tuple[str, int | None, str | None, str, str]
"""What a figure measures: data, year, direction, level, statistic."""
_YEAR = re.compile(r"(?i)wmt[ -]?(\d\d)(?!\d)|newstest(20\d\d)")


class Evidence(Entry):
    """One measured agreement with human judgments, of a metric or of a model's best layer, with its source.

    ``language`` is the language of the candidates it was measured on, ``direction`` that of the translations (en-tr),
    and ``level`` what was judged: segments or whole systems. ``layer`` is the layer, if not the entry's; ``called`` is
    the name that the source has for the model or metric. ``kind`` is what people judged, ``year`` that of their
    judgments, ``chrf`` the same statistic of chrF on the same rows, and ``n`` the number of items.
    """

    dataset: str
    language: Code = "en"
    direction: Annotated[str, Field(pattern=r"^[a-z]{2,3}-[a-z]{2,3}$")] | None = Field(
        default=None, validation_alias=AliasChoices("direction", "pair")
    )
    level: Literal["segment", "system"] = "segment"
    layer: int | None = None
    statistic: str
    value: Annotated[float, Field(ge=-1, le=1)]
    called: str | None = None
    source: str
    kind: Judged | None = None
    year: Annotated[int, Field(ge=1990, le=2100)] | None = None
    chrf: Annotated[float, Field(ge=-1, le=1)] | None = None
    n: int | None = Field(default=None, ge=1)
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None

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
    def when(self) -> int | None:
        """The year of the data, as given or as its name says."""
        found = _YEAR.search(self.dataset)
        if self.year is not None or found is None:
            return self.year
        return int(found[2]) if found[2] else 2000 + int(found[1])

    @property
    def judged(self) -> Judged | None:
        """What people judged, as given or as a pair or the name of the data says."""
        translated = self.direction is not None or _YEAR.search(self.dataset) is not None
        return "human-translation" if self.kind is None and translated else self.kind

    @property
    def test(self) -> Test:
        """What was measured: only figures of one test can be compared."""
        return self.dataset, self.when, self.direction, self.level, self.statistic
