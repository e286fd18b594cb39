"""Every setting of a meta-evaluation, written once: Python arguments and command-line options come from here."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bsx.analysis.stats.resample import Sampled

Test = Literal["williams", "bootstrap", "permutation", "perm-both", "none"]
Statistic = Literal["pearson", "spearman", "kendall", "kendall_c", "acc_eq"]

# field -> the level it belongs to
_ONLY = {
    "grouping": "seg",
    "human_ties": "seg",
    "system_score": "sys",
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
    statistic: Statistic
    test: Test | None
    resample: Sampled | None
    correction: Literal["none", "holm", "bh"]
    correction_over: Literal["group", "all"]
    alternative: Literal["two-sided", "greater"]
    alpha: float
    sources: Literal["independent", "shared"]
    grouping: Literal["none", "item", "sys"] | None
    ties: Literal["discordant", "drop", "half"]
    human_ties: float
    system_score: Literal["all", "judged"]
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
        Statistic,
        Field(
            description="Statistic of interval, average and tests at the levels seg and sys; tau-b for kendall, "
            "tau-c for kendall_c; acc_eq, pairwise accuracy with calibrated ties, at the level seg with systems."
        ),
    ] = "pearson"
    test: Annotated[
        Test | None,
        Field(
            description="Test between metrics. Unless given: williams for Pearson's r of independent rows or of "
            "systems (permutation where tails are heavy), permutation for other statistics of systems and for acc_eq, "
            "else bootstrap. permutation swaps what is resampled as a whole; perm-both swaps cells, as WMT does."
        ),
    ] = None
    resample: Annotated[
        Sampled | None,
        Field(
            description="What is taken for a sample, by interval and test alike: segments (these systems on other "
            "texts), systems (other systems on these texts), or both. Unless given, systems at the level sys, "
            "else segments."
        ),
    ] = None
    correction: Annotated[
        Literal["none", "holm", "bh"], Field(description="Correction of p-values for the number of metric pairs.")
    ] = "none"
    correction_over: Annotated[
        Literal["group", "all"], Field(description="Correct for the pairs of each group, or for those of all groups.")
    ] = "group"
    alternative: Annotated[
        Literal["two-sided", "greater"],
        Field(
            description="The p that makes winners: two-sided, or one-sided in the direction observed, as WMT's tables."
        ),
    ] = "two-sided"
    alpha: Annotated[float, Field(gt=0, lt=1, description="Level of significance of the clusters.")] = 0.05
    sources: Annotated[
        Literal["independent", "shared"],
        Field(
            description="Whether groups have texts of their own, or share sources: interval and tests of the average "
            "then allow for any dependence between groups."
        ),
    ] = "independent"
    grouping: Annotated[
        Literal["none", "item", "sys"] | None,
        Field(
            description="Segment level with systems: pool all rows (none), or correlate within each segment (item) or "
            "system (sys) and average. [none; item for acc_eq]"
        ),
    ] = None
    human_ties: Annotated[
        float, Field(ge=0, description="acc_eq: largest difference of human scores that is a tie, beside rounding.")
    ] = 0.0
    system_score: Annotated[
        Literal["all", "judged"],
        Field(
            description="System level: a metric's score of a system is that of all its segments, the corpus score "
            "where the metric has one, or the mean of its scores of judged segments."
        ),
    ] = "all"
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
        if self.human_ties and self.statistic != "acc_eq":
            raise ValueError(f"`human_ties=` goes with `statistic=acc_eq`, not with `statistic={self.statistic}`")
        if self.test == "none" and self.correction != "none":
            raise ValueError(f"`correction={self.correction}` has no effect without tests: leave out `test=none`")
        if self.statistic == "acc_eq" and (self.level != "seg" or self.test == "williams"):
            raise ValueError("`statistic=acc_eq` goes with `level=seg`, and not with `test=williams`")
        if self.resample is not None and self.level in ("darr", "hybrid"):
            raise ValueError(f"`resample=` goes with `level=seg` or sys; `level={self.level}` resamples segments")
        if self.test == "permutation" and self.level in ("darr", "hybrid"):
            raise ValueError(f"`test=permutation` goes with `level=seg` or sys: use bootstrap for {self.level}")
        if self.test == "permutation" and self.resample == "both":
            raise ValueError(
                "`test=permutation` swaps segments or systems as a whole: use bootstrap with `resample=both`, or "
                "`test=perm-both`, which swaps cells"
            )
        if self.test == "williams" and self.sampled != ("systems" if self.level == "sys" else "segments"):
            raise ValueError(f"`test=williams` does not go with `resample={self.resample}`: use bootstrap")
        if self.statistic == "acc_eq" and self.test == "permutation" and self.sampled != "segments":
            raise ValueError("`statistic=acc_eq` is tested over segments: `resample=segments`")
        if self.statistic == "acc_eq" and self.sampled != "segments":
            raise ValueError("`statistic=acc_eq` resamples segments: leave out `resample=`")
        if self.statistic != "pearson" and self.level in ("darr", "hybrid"):
            raise ValueError(f"`statistic={self.statistic}` goes with `level=seg` or sys")
        if self.absolute and (self.level not in ("seg", "sys") or self.grouped_by != "none"):
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
        return self.level != "darr" and self.statistic == "pearson" and self.grouped_by == "none"

    @property
    def sampled(self) -> Sampled:
        """What intervals resample and tests resample or swap."""
        return self.resample or ("systems" if self.level == "sys" else "segments")

    @property
    def grouped_by(self) -> Literal["item", "sys", "none"]:
        """The grouping: what is asked for, else pairs within segments for acc_eq, and none for correlations."""
        return self.grouping or ("item" if self.statistic == "acc_eq" else "none")

    @property
    def headline(self) -> str:
        """Name of the figure that has intervals, tests and an average."""
        return {"darr": "tau", "hybrid": "limit"}.get(self.level, self.statistic)

    @property
    def paired(self) -> bool:
        """Whether the rows have to be of systems and segments: independent ones cannot be analysed so."""
        of_segments = self.grouped_by != "none" or self.statistic == "acc_eq" or self.resample is not None
        return self.level != "seg" or of_segments

    @property
    def target(self) -> str:
        """What the interval and the tests speak about, in words."""
        words = {
            "segments": "these systems on other segments like these",
            "systems": "other systems like these, on these segments",
            "both": "other systems and other segments like these",
        }
        return words[self.sampled]

    def test_for(self, *, dependent: bool, heavy: bool = False) -> Test:
        """Return the test to run.

        Args:
            dependent: rows depend on each other, as those of one segment do.
            heavy: tails are too heavy for the Williams test.
        """
        if self.test is not None:
            return self.test
        if self.level in ("darr", "hybrid") or self.sampled == "both":
            return "bootstrap"
        if self.statistic == "acc_eq":
            return "permutation" if self.grouped_by == "item" else "bootstrap"
        if self.level == "sys" and self.sampled == "segments":
            return "bootstrap"
        if dependent and self.level == "seg":
            return "bootstrap"
        if not self._williams():
            return "permutation" if self.level == "sys" else "bootstrap"
        return "permutation" if heavy else "williams"
