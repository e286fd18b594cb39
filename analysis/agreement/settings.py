"""Every setting of a meta-evaluation, written once: Python arguments and command-line options come from here."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, model_validator

Test = Literal["williams", "bootstrap", "perm-both", "none"]

# field -> the level it belongs to
_ONLY = {
    "grouping": "seg",
    "ties": "darr",
    "threshold": "darr",
    "unit": "darr",
    "hybrids": "hybrid",
    "sample": "hybrid",
    "spa": "sys",
}


class MetaOptions(TypedDict, total=False):
    """`MetaSettings` as keyword arguments."""

    level: Literal["seg", "sys", "darr", "hybrid"]
    statistic: Literal["pearson", "spearman", "kendall"]
    test: Test | None
    correction: Literal["none", "holm", "bh"]
    alpha: float
    grouping: Literal["none", "item", "sys"]
    ties: Literal["discordant", "drop", "half"]
    threshold: float
    unit: Literal["segment", "judgment"]
    spa: Literal["permutation", "wmt", "normal"]
    hybrids: int
    sample: int
    absolute: bool
    nan: Literal["error", "omit"]
    resamples: int
    confidence: float
    seed: int


class MetaSettings(BaseModel):
    """How agreement with people is measured and tested."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Annotated[
        Literal["seg", "sys", "darr", "hybrid"],
        Field(description="Segments, systems, preferences between systems (DARR), or hybrid systems."),
    ] = "seg"
    statistic: Annotated[
        Literal["pearson", "spearman", "kendall"],
        Field(description="Statistic of interval, average and tests at the levels seg and sys; tau-b for kendall."),
    ] = "pearson"
    test: Annotated[
        Test | None,
        Field(
            description="Test between metrics; unless given, williams where it applies (Pearson's r of independent "
            "rows, or of systems), else bootstrap."
        ),
    ] = None
    correction: Annotated[
        Literal["none", "holm", "bh"], Field(description="Correction of p-values for the number of metric pairs.")
    ] = "none"
    alpha: Annotated[float, Field(gt=0, lt=1, description="Level of significance of the clusters.")] = 0.05
    grouping: Annotated[
        Literal["none", "item", "sys"],
        Field(
            description="Segment level with systems: pool all rows, or correlate within each segment (item) or system "
            "(sys) and average."
        ),
    ] = "none"
    ties: Annotated[
        Literal["discordant", "drop", "half"], Field(description="DARR: what a tie of the metric counts as.")
    ] = "discordant"
    threshold: Annotated[
        float, Field(gt=0, description="DARR: smallest difference of human scores that is a preference.")
    ] = 25.0
    unit: Annotated[Literal["segment", "judgment"], Field(description="DARR: what the bootstrap resamples.")] = (
        "segment"
    )
    spa: Annotated[
        Literal["permutation", "wmt", "normal"],
        Field(description="System level: p-values of soft pairwise accuracy; wmt repeats mt-metrics-eval's draws."),
    ] = "permutation"
    hybrids: Annotated[int, Field(ge=4, description="Hybrid systems to draw.")] = 10_000
    sample: Annotated[int, Field(ge=1, description="Hybrid systems to choose the best from.")] = 100
    absolute: Annotated[bool, Field(description="Report and compare |r|; signs are kept otherwise.")] = False
    nan: Annotated[
        Literal["error", "omit"], Field(description="Missing values: an error, or leave the row out for all metrics.")
    ] = "error"
    resamples: Annotated[int, Field(ge=1, description="Bootstrap resamples or permutations.")] = 1000
    confidence: Annotated[float, Field(gt=0, lt=1, description="Level of the intervals.")] = 0.95
    seed: Annotated[int, Field(ge=0, description="Of all random draws.")] = 1

    @model_validator(mode="after")
    def _consistent(self) -> MetaSettings:
        for field, level in _ONLY.items():
            if field in self.model_fields_set and self.level != level:
                raise ValueError(f"`{field}=` goes with `level={level}`, not with `level={self.level}`")
        if self.statistic != "pearson" and self.level in ("darr", "hybrid"):
            raise ValueError(f"`statistic={self.statistic}` goes with `level=seg` or sys")
        if self.absolute and (self.level not in ("seg", "sys") or self.grouping != "none"):
            raise ValueError(
                "`absolute=True` goes with one correlation a group: `level=seg` without grouping, or `level=sys`"
            )
        if self.sample > self.hybrids:
            raise ValueError(f"`sample={self.sample}`: cannot draw that many of {self.hybrids} hybrids")
        if self.test == "williams" and not self._williams():
            raise ValueError("`test=williams` compares Pearson correlations: use bootstrap here")
        if self.test == "perm-both" and self.level in ("darr", "hybrid"):
            raise ValueError(f"`test=perm-both` goes with `level=seg` or sys: use bootstrap for {self.level}")
        return self

    def _williams(self) -> bool:
        return self.level != "darr" and self.statistic == "pearson" and self.grouping == "none"

    def test_for(self, *, dependent: bool) -> Test:
        """Return the test to run.

        Args:
            dependent: rows depend on each other, as those of one segment do; then the default is the bootstrap.
        """
        if self.test is not None:
            return self.test
        if self.level == "hybrid" or not self._williams():
            return "bootstrap"
        return "bootstrap" if dependent and self.level == "seg" else "williams"
