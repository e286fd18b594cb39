"""Settings of jobs on what moves a score: factors, regressions, interventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from bsx.jobs.settings.shared import LANG, Confidence, Correction, ParseSettings, Seed, System


class FactorSettings(TypedDict, total=False):
    """What is scored by factors, and how the new columns are written."""

    lang: Annotated[str, Field(default="en", description="Language of both sides, or of each: de-en.")]
    sentence1: Annotated[
        str | None,
        Field(
            default=None,
            description="Column of first sentences, LEX's reference. [sentence1; else reference, or source of two "
            "languages]",
        ),
    ]
    sentence2: Annotated[
        str | None, Field(default=None, description="Column of second sentences. [sentence2, else candidate]")
    ]
    preset: Annotated[str | None, Field(default=None, description="Settings by name, e.g. kaster2021.")]
    nan: Annotated[
        Literal["keep", "omit", "error"],
        Field(default="keep", description="Pairs without a value: write nan, leave out, or refuse."),
    ]
    prefix: Annotated[str, Field(default="", description="Put this before the names of the new columns.")]
    registry: Annotated[Path | None, Field(default=None, description="Folder laid over the registry.")]


class DisentangleSettings(TypedDict, total=False):
    """How metrics are regressed on factors."""

    se: Annotated[
        Literal["auto", "classic", "hc3", "cluster"],
        Field(
            default="auto",
            description="Kind of standard errors; auto: cluster where rows share a segment or a text, else hc3.",
        ),
    ]
    cluster: Annotated[str | None, Field(default=None, description="Column of clusters for the standard errors.")]
    system: System
    segment: Annotated[
        str | None,
        Field(
            default=None,
            description="Column of segments; rows of one are not independent. [segment, sid or id, if there]",
        ),
    ]
    group: Annotated[str | None, Field(default=None, description="Column of groups to fit one by one and compare.")]
    intercept: Annotated[bool, Field(default=False, description="Fit an intercept.")]
    bootstrap: Annotated[int, Field(default=0, ge=0, description="Resamples for bootstrap intervals; 0 for none.")]
    seed: Seed
    confidence: Confidence
    correction: Correction
    nan: Annotated[
        Literal["error", "omit"],
        Field(default="error", description="Refuse missing numbers, or leave such rows out."),
    ]
    lang: Annotated[str | None, Field(default=None, description=LANG)]
    checks: Annotated[bool, Field(default=False, description="Test for bends and for products of factors.")]
    reliability: Annotated[
        Mapping[str, float] | Sequence[str],
        Field(
            default=(), description="Share of a factor's variance that is not noise, sem=.7,…: correct for the rest."
        ),
    ]
    repeat: Annotated[
        Mapping[str, Sequence[str]] | Sequence[str],
        Field(default=(), description="Columns that measure one factor, sem=sem1,sem2,…: reliability from them."),
    ]
    simex: Annotated[
        int, Field(default=0, ge=0, le=1000, description="Simulations to correct by SIMEX too; 0 for none.")
    ]
    control: Annotated[
        Sequence[str],
        Field(default=(), description="Columns to hold constant; length is counted in the texts. Repeatable."),
    ]
    random: Annotated[
        Sequence[str], Field(default=(), description="Columns with crossed random intercepts: segment,system.")
    ]
    spline: Annotated[
        Sequence[str], Field(default=(), description="Factors to bend: what curves gain over straight lines.")
    ]
    mediator: Annotated[
        str | None,
        Field(default=None, description="Factor, such as a human score, that the others may act through."),
    ]


class InterveneSettings(ParseSettings, total=False):
    """Which texts are edited, what else they are compared with, and how big edits are."""

    candidate: Annotated[
        str | None,
        Field(default=None, description="Column of candidates, whose scores as they come are laid beside the edits."),
    ]
    reference: Annotated[str, Field(default="reference", description="Column of references.")]
    source: Annotated[str | None, Field(default=None, description="Column of sources, for metrics that read them.")]
    human: Annotated[
        str | None, Field(default=None, description="Column of human scores of the candidates: the factor sem.")
    ]
    base: Annotated[Literal["reference", "candidate"], Field(default="reference", description="Which texts to edit.")]
    meaning: Annotated[
        float | None,
        Field(default=None, gt=0, description="How far the human score falls where an edit changes the meaning."),
    ]
    strength: Annotated[
        float, Field(default=0.1, gt=0, le=1, description="Share of words that typing errors and commas change.")
    ]
    treebank: Annotated[
        Path | None,
        Field(default=None, description="CoNLL-U treebank with lemmas and features: word forms, for other languages."),
    ]
    vectors: Annotated[Path | None, Field(default=None, description="Word vectors, .vec or .bin, for mor.")]
    lexicon: Annotated[
        Path | None, Field(default=None, description="Morphological lexicon, for mor; built from tags otherwise.")
    ]
    seed: Seed
    confidence: Confidence
    correction: Correction
    skip_errors: Annotated[bool, Field(default=False, description="Go on without rows a metric fails on.")]
