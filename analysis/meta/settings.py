"""Settings of a meta-evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, cast

from pydantic import Field, model_validator

from bsx.analysis.stats.clusters import Correction
from bsx.analysis.stats.resample import FEW_UNITS, DrawOptions, Resampling, Sampled, expanded_tail
from bsx.data.frame import CorpusScores
from bsx.data.long import ColumnName, DocumentColumn, LowerScores, RowColumns
from bsx.support.settings import MOST_DRAWS, DrawSettings, Option, Significance

Test = Literal["williams", "bootstrap", "permutation", "perm-both", "none"]
Statistic = Literal["pearson", "spearman", "kendall", "kendall_c", "acc_eq"]

# What is averaged over groups, level by level; the first figure of each list may be replaced by the statistic chosen.
_AVERAGED = {
    "seg": ("pearson", "spearman", "kendall"),
    "sys": ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"),
    "darr": ("tau",),
    "hybrid": ("limit", "pearson", "hits_at_1", "mrr", "difference"),
}

_DETAIL = Option(folded="detail")  # of one level or statistic only, or of several groups

_ONLY = {
    "seg": ("grouping", "human_ties"),
    "sys": ("system_score", "spa"),
    "darr": ("ties", "threshold", "unit"),
    "hybrid": ("hybrids", "sample"),
}
"""Settings that belong to one level."""


def averaged(level: str, statistic: str) -> tuple[str, ...]:
    """Return the figures that are averaged over groups."""
    more = {"acc_eq": ("acc_eq", "chance"), "kendall_c": ("kendall_c",)}.get(statistic, ())
    return (*more, *_AVERAGED[level])


class MetaColumns(RowColumns, DocumentColumn, LowerScores):
    """What the columns of a table hold, beside scores of metrics and human scores."""

    group: Annotated[ColumnName, Field(description="Column whose values are analysed apart and averaged.")] = None
    sentinels: Annotated[
        Sequence[str],
        Field(
            description="Controls, which cannot know how good a translation is: columns, 'SENTINEL-*' for all that "
            "match; or metrics such as length and overlap with metrics to compute; constant, the same for all; "
            "shuffled, the first metric's scores in random order. They are measured as metrics are, and metrics are "
            "tested against them; they are not ranked."
        ),
    ] = ()
    categories: Annotated[
        Sequence[str],
        Field(
            description="Further columns of human scores, of one kind of error each, or 'human_*': every one is "
            "analysed by itself, and nothing is averaged."
        ),
    ] = ()
    family: Annotated[
        str | None,
        Field(
            description="Column of each system's family, such as the versions of one: level sys draws families whole. "
            "[family or system_family, if there]"
        ),
        Option(column=True, python=True),
    ] = None
    rater: Annotated[
        str | None,
        Field(
            description="Column of who judged: with five or more, level seg speaks of other raters too. [rater, judge "
            "or annotator, if there]"
        ),
        Option(column=True, python=True),
    ] = None
    corpus: Annotated[
        Mapping[str, CorpusScores] | None,
        Field(
            description="Metric -> what its corpus scores are made of; without, a system's score is a mean of segments."
        ),
        Option(python=True),
    ] = None
    sources: Annotated[
        Sequence[str] | None,
        Field(description="Each row's source, by which groups share segments; without, by their names."),
        Option(python=True),
    ] = None


class MetaSettings(DrawSettings, Significance, MetaColumns):
    """How agreement with human judgments is measured and tested."""

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
        Correction | None,
        Field(
            description="Correction of p-values for the number of metric pairs. [holm; none for perm-both, as WMT's]"
        ),
    ] = None
    alternative: Annotated[
        Literal["two-sided", "greater"],
        Field(
            description="The p that makes winners: two-sided, or one-sided in the direction observed, as WMT's tables."
        ),
        _DETAIL,
    ] = "two-sided"
    margin: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e12,
            description="Largest difference of two metrics' figures that does not matter: test equivalence.",
        ),
    ] = None
    grouping: Annotated[
        Literal["none", "item", "sys"] | None,
        Field(
            description="Segment level with systems: pool all rows (none), or correlate within each segment (item) or "
            "system (sys) and average. [none; item for acc_eq]"
        ),
        _DETAIL,
    ] = None
    human_ties: Annotated[
        float,
        Field(
            ge=0,
            le=1e12,
            description="acc_eq: largest difference of human scores that is a tie, in addition to rounding.",
        ),
        _DETAIL,
    ] = 0.0
    system_score: Annotated[
        Literal["all", "judged"],
        Field(
            description="System level: a metric's score of a system is that of all its segments, the corpus score "
            "where the metric has one, or the mean of its scores of judged segments."
        ),
        _DETAIL,
    ] = "all"
    ties: Annotated[
        Literal["discordant", "drop", "half"], Field(description="DARR: what a tie of the metric counts as."), _DETAIL
    ] = "discordant"
    threshold: Annotated[
        float,
        Field(gt=0, le=1e12, description="DARR: smallest difference of human scores that is a preference."),
        _DETAIL,
    ] = 25.0
    unit: Annotated[
        Literal["segment", "judgment"], Field(description="DARR: what the bootstrap resamples."), _DETAIL
    ] = "segment"
    spa: Annotated[
        Literal["permutation", "wmt", "normal"],
        Field(description="System level: p-values of soft pairwise accuracy; wmt repeats mt-metrics-eval's draws."),
        _DETAIL,
    ] = "permutation"
    hybrids: Annotated[int, Field(ge=4, le=MOST_DRAWS, description="Hybrid systems to draw."), _DETAIL] = 10_000
    sample: Annotated[
        int, Field(ge=1, le=MOST_DRAWS, description="Hybrid systems to choose the best from."), _DETAIL
    ] = 100
    absolute: Annotated[bool, Field(description="Report and compare |r|; signs are kept otherwise."), _DETAIL] = False
    nan: Annotated[
        Literal["error", "omit"],
        Field(description="Missing scores of metrics: an error, or leave the row out for all."),
    ] = "error"

    @model_validator(mode="after")
    def _consistent(self) -> MetaSettings:
        for level, fields in _ONLY.items():
            if level != self.level and (given := [field for field in fields if field in self.model_fields_set]):
                raise ValueError(f"{given[0]} needs level {level}, not level {self.level}")
        if self.human_ties and self.statistic != "acc_eq":
            raise ValueError(f"human_ties needs statistic acc_eq, not statistic {self.statistic}")
        if self.test == "none" and self.margin is not None:
            raise ValueError("margin has no effect without tests: leave out test none")
        if self.test == "none" and self.correction not in (None, "none"):
            raise ValueError(f"correction {self.correction} has no effect without tests: leave out test none")
        if self.statistic == "acc_eq" and (self.level != "seg" or self.test == "williams"):
            raise ValueError("statistic acc_eq needs level seg, and not with test williams")
        if self.resample is not None and self.level in ("darr", "hybrid"):
            raise ValueError(f"resample needs level seg or sys; level {self.level} resamples segments")
        if self.test in ("permutation", "perm-both") and self.level in ("darr", "hybrid"):
            raise ValueError(f"test {self.test} needs level seg or sys: use bootstrap for {self.level}")
        if self.test == "permutation" and self.resample == "both":
            raise ValueError(
                "test permutation swaps segments or systems as a whole: use bootstrap with resample both, or test "
                "perm-both, which swaps cells"
            )
        if self.test == "williams" and self.sampled != ("systems" if self.level == "sys" else "segments"):
            raise ValueError(f"test williams cannot be combined with resample {self.resample}: use bootstrap")
        if self.statistic == "acc_eq" and self.sampled != "segments":
            raise ValueError("statistic acc_eq resamples segments: leave out resample")
        if self.statistic != "pearson" and self.level in ("darr", "hybrid"):
            raise ValueError(f"statistic {self.statistic} needs level seg or sys")
        if self.absolute and (self.level not in ("seg", "sys") or self.grouped_by != "none"):
            raise ValueError("absolute needs one correlation a group: level seg without grouping, or level sys")
        if self.sample > self.hybrids:
            raise ValueError(f"sample: cannot draw {self.sample} of {self.hybrids} hybrids")
        if self.test == "williams" and not self._williams():
            raise ValueError("test williams compares Pearson correlations: use bootstrap here")
        return self

    def _williams(self) -> bool:
        return self.level != "darr" and self.statistic == "pearson" and self.grouped_by == "none"

    @property
    def sampled(self) -> Sampled:
        """What intervals resample and tests resample or swap."""
        return self.resample or ("systems" if self.level == "sys" else "segments")

    @property
    def corrected_by(self) -> Correction:
        """The correction: what is asked for, else Holm's, but for a test whose p are published without any."""
        return self.correction or ("none" if self.test in ("none", "perm-both") else "holm")

    def draws_for(self, tests: int, units: int | None) -> int:
        """Return the number of resamples: unless given, so many that the smallest corrected p is half of alpha at most.

        Of few units that are drawn, p is larger (`bsx.analysis.stats.resample.contracted_p`).
        """
        if self.corrected_by == "none" or tests < 2 or "resamples" in self.model_fields_set:
            return self.resamples
        needed = 4 * tests / self.alpha
        if units is not None and units < FEW_UNITS:
            needed = min(max(needed, 10_000), 1 / max(expanded_tail(1 / needed, units), 1e-9))
        return max(self.resamples, math.ceil(needed))

    @property
    def draw(self) -> DrawOptions:
        """How often is drawn, and from which seed."""
        return {"resamples": self.resamples, "seed": self.seed}

    @property
    def resampling(self) -> Resampling:
        """The draws of an interval."""
        return {**self.draw, "confidence": self.confidence}

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
    def correlation(self) -> Literal["pearson", "spearman", "kendall", "kendall_c"]:
        """The statistic where it is a correlation; acc_eq has figures and tests of its own."""
        return cast('Literal["pearson", "spearman", "kendall", "kendall_c"]', self.statistic)

    @property
    def ties_count(self) -> bool:
        """Whether a metric that ties everything has a figure, and not only a correlation that is not defined."""
        return self.statistic == "acc_eq" or self.level == "darr"

    def target(self, unit: str, *, systems: bool) -> str:
        """Return what the interval and the tests speak about, in words, from what is drawn where not systems are."""
        if self.sampled == "segments" or not systems:
            return f"{'these systems on ' * systems}other {unit} like these"
        return f"other {'families of ' * (self.family is not None)}systems " + (
            "like these, on these segments" if self.sampled == "systems" else f"and other {unit} like these"
        )

    def test_for(self, *, dependent: bool, heavy: bool = False) -> Test:
        """Return the test of rows that depend on each other, as those of one segment do, or have heavy tails."""
        if self.test is not None:
            return self.test
        if self.level in ("darr", "hybrid") or self.sampled == "both":
            return "bootstrap"
        if self.statistic == "acc_eq":
            return "permutation" if self.grouped_by == "item" else "bootstrap"
        if (dependent and self.level == "seg") or (self.level == "sys" and self.sampled == "segments"):
            return "bootstrap"
        if not self._williams():
            return "permutation" if self.level == "sys" else "bootstrap"
        return "permutation" if heavy else "williams"
