"""Settings of jobs that try to fool metrics: pairs, triples, challenge sets, perturbations."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from bsx.jobs.settings.shared import Confidence, Correction, ParseSettings, Seed


class FoolSettings(TypedDict, total=False):
    """What tests on pairs and on triples have in common."""

    cluster: Annotated[
        Literal["texts", "none"],
        Field(
            default="texts",
            description="Rows that share a text, directly or over others, depend on each other (texts), or none do.",
        ),
    ]
    correction: Annotated[
        Literal["none", "holm", "bh"],
        Field(default="none", description="Correct the tests' p for the number of metric pairs."),
    ]
    confidence: Confidence
    resamples: Annotated[int, Field(default=1000, description="Resamples of bootstrap intervals.")]
    seed: Annotated[int, Field(default=1, description="Seed of resamples and folds.")]
    nan: Annotated[
        Literal["error", "omit"],
        Field(default="error", description="Refuse missing scores, or leave out such rows."),
    ]
    skip_errors: Annotated[
        bool, Field(default=False, description="Leave out rows on which a metric fails, and name them.")
    ]


class PairSettings(FoolSettings, total=False):
    """How metrics are tested as detectors of paraphrases."""

    interval: Annotated[
        Literal["logit", "delong", "bootstrap"], Field(default="logit", description="Interval of the ROC AUC.")
    ]
    folds: Annotated[int, Field(default=10, description="Folds of the cross-validated threshold.")]


class TripleSettings(FoolSettings, total=False):
    """How metrics are tested on triples."""

    bins: Annotated[
        int,
        Field(default=4, ge=0, description="Ranges of the gap in lexical overlap to split triples by; 0 for none."),
    ]
    worst: Annotated[
        int, Field(default=5, ge=0, description="How many of the smallest margins to show for each metric.")
    ]


class ChallengeColumns(TypedDict, total=False):
    """Which columns a challenge set has, where they have none of the usual names."""

    good: Annotated[
        str | None, Field(default=None, description="Column of good translations. [good or good-translation]")
    ]
    bad: Annotated[
        str | None, Field(default=None, description="Column of bad translations. [bad or incorrect-translation]")
    ]
    reference: Annotated[str | None, Field(default=None, description="Column of references. [reference, if there]")]
    source: Annotated[str | None, Field(default=None, description="Column of sources. [source, if there]")]
    segment: Annotated[
        str | None,
        Field(
            default=None,
            description="Column of segments; rows of one are not independent. [segment, sid or id, if there]",
        ),
    ]
    phenomenon: Annotated[
        str | None,
        Field(default=None, description="Column of phenomena. [phenomenon, phenomena or category, if there]"),
    ]
    severity: Annotated[str | None, Field(default=None, description="Column of severities. [severity, if there]")]
    lang_column: Annotated[
        str | None,
        Field(default=None, description="Column of languages or language pairs. [lang, langpair or lp, if there]"),
    ]


class ChallengeSettings(ChallengeColumns, total=False):
    """How metrics are tested on a challenge set."""

    anchor: Annotated[str, Field(default="empty", description="Phenomenon whose mean drop is the unit of sensitivity.")]
    examples: Annotated[
        int,
        Field(
            default=1,
            ge=0,
            description="How many rows of each phenomenon to keep, those first on which metrics disagree.",
        ),
    ]
    correction: Correction
    confidence: Confidence
    nan: Annotated[
        Literal["error", "omit"], Field(default="error", description="Refuse missing scores, or leave out such rows.")
    ]
    skip_errors: Annotated[
        bool, Field(default=False, description="Leave out rows on which a metric fails, and name them.")
    ]


class PerturbSettings(ParseSettings, total=False):
    """Which texts are changed, how, and what is measured."""

    candidate: Annotated[
        str | None,
        Field(default=None, description="Column of texts to change; the references themselves unless given."),
    ]
    reference: Annotated[str, Field(default="reference", description="Column of references.")]
    source: Annotated[str | None, Field(default=None, description="Column of sources, for the perturbation source.")]
    control: Annotated[
        str,
        Field(default="no-punctuation", description="Perturbation that keeps the meaning, to measure others against."),
    ]
    seed: Seed
    resamples: Annotated[int, Field(default=1000, ge=1, description="Bootstrap resamples, and swaps of the tests.")]
    confidence: Confidence
    correction: Correction
    worst: Annotated[int, Field(default=3, ge=0, description="Worst rows to keep for each result (JSON).")]
    skip_errors: Annotated[bool, Field(default=False, description="Go on without rows a metric fails on.")]
