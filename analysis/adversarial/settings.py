"""Settings of tests that try to fool metrics: on pairs, on triples, on challenge sets, on changed texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from numpy.typing import ArrayLike
from pydantic import Field, SkipValidation

from bsx.analysis.datasets.triples import Triple
from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import DEFAULT_CONTROL, Perturbed
from bsx.analysis.stats.clusters import Correction
from bsx.support.checks import Array, NanPolicy
from bsx.support.progress import Watch
from bsx.support.settings import DrawSettings, Interval, Option, Seeded

Sets = Annotated[
    SkipValidation[ArrayLike | None],
    Field(
        description="Number of the set of rows that each belongs to (n,), such as those that share a sentence (see "
        "bsx.analysis.stats.folds.units); None: all rows are independent."
    ),
    Option(python=True),
]
Missing = Annotated[NanPolicy, Field(description="Refuse missing scores, or leave such rows out for all metrics.")]


class Tested(Interval):
    """What tests of several metrics have in common."""

    correction: Annotated[Correction, Field(description="Correct the tests' p for their number.")] = "none"


class Sampled(DrawSettings, Tested):
    """What tests on pairs and on triples have in common."""

    nan: Missing = "error"


class PairSettings(Sampled):
    """How metrics are tested as detectors of paraphrases."""

    cluster: Sets = None


class TripleTests(Sampled):
    """How metrics are tested on triples."""

    bins: Annotated[
        int,
        Field(ge=0, le=10_000, description="Ranges of the gap in lexical overlap to split triples by; 0 for none."),
        Option(python=True),
    ] = 4
    worst: Annotated[
        int,
        Field(ge=0, le=10_000, description="How many of the smallest margins to show for each metric."),
        Option(python=True),
    ] = 5


class TripleSettings(TripleTests):
    """The same, for scores that are at hand."""

    triples: Annotated[
        SkipValidation[Sequence[Triple]],
        Field(description="The n triples, whose texts are then shown with the smallest margins."),
        Option(python=True),
    ] = ()
    gap: Annotated[
        SkipValidation[ArrayLike | None],
        Field(description="Lexical overlap of A and C less that of A and B (n,), to split the triples by."),
        Option(python=True),
    ] = None
    cluster: Sets = None


class ChallengeSettings(Tested):
    """How metrics are tested on a challenge set."""

    nan: Missing = "error"


class ChangeSettings(Seeded):
    """Which changes are made to texts."""

    perturbations: Annotated[
        Sequence[str] | None, Field(description="Perturbations; all that can be applied unless named.")
    ] = None
    strengths: Annotated[
        Sequence[Annotated[float, Field(gt=0, le=1)]],
        Field(min_length=1, description="Shares of words or letters, for perturbations that have a strength."),
    ] = (0.1, 0.3)
    control_perturbation: Annotated[
        str, Field(description="Perturbation that keeps the meaning, to measure the others against.")
    ] = DEFAULT_CONTROL


class FallSettings(DrawSettings, Tested):
    """How falls of scores are measured."""

    worst: Annotated[
        int,
        Field(ge=0, le=10_000, description="Worst rows to keep for each metric, perturbation and strength (JSON)."),
        Option(python=True),
    ] = 3


class RobustnessSettings(ChangeSettings, FallSettings):
    """Which texts are changed, how, and what is measured."""

    candidates: Annotated[
        SkipValidation[Sequence[str] | None],
        Field(description="The n clean texts to perturb; the references themselves unless given."),
        Option(python=True),
    ] = None
    sources: Annotated[
        SkipValidation[Sequence[str] | None],
        Field(description="The n source texts of the clean texts."),
        Option(python=True),
    ] = None
    parses: Annotated[
        SkipValidation[Sequence[Parse | None] | None],
        Field(description="The n parses of the clean texts, None for a text without one."),
        Option(python=True),
    ] = None
    lang: Annotated[str | None, Field(description="Language of the clean texts.")] = None
    inflections: Annotated[
        SkipValidation[Inflections | None],
        Field(description="Forms of words from treebanks; English ones are known by rule."),
        Option(python=True),
    ] = None
    nan: Annotated[NanPolicy, Field(description="Refuse missing scores, or leave such rows out and count them.")] = (
        "error"
    )
    progress: Annotated[
        SkipValidation[Watch],
        Field(description="Called with the metric's name, perturbations scored and in all; True draws bars."),
        Option(python=True),
    ] = None
    keep: Annotated[
        SkipValidation[Callable[[Sequence[Perturbed], Mapping[str, Sequence[Array]]], object] | None],
        Field(
            description="Called with the changed texts and all scores: metric -> those of the clean texts (n,), then "
            "of each change, NaN where a text did not change."
        ),
        Option(python=True),
    ] = None
