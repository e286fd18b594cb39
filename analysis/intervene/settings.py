"""Settings of interventions: what `intervene` takes, and what the command shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SkipValidation

from bsx.analysis.factors.base import Resources
from bsx.analysis.factors.parses import Parse
from bsx.analysis.intervene.edits import EditedText
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.support.progress import Watch
from bsx.support.settings import Interval, Seeded

Measure = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
"""A factor: references and texts -> values (n,), higher is more alike."""


class InterveneSettings(Seeded, Interval):
    """Which texts are edited and how much, and how falls of scores are explained."""

    edits: Annotated[
        Sequence[str], Field(description="Perturbations that aim at one factor. [all that can be made]")
    ] = ()
    base: Annotated[Literal["reference", "candidate"], Field(description="Which texts to edit.")] = "reference"
    meaning: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e12,
            description="How far the human score falls where an edit changes the meaning; one standard deviation, "
            "untested, unless given.",
        ),
    ] = None
    correction: Annotated[
        Literal["none", "holm", "bh"], Field(description="Correct p for the number of tests, metrics x factors.")
    ] = "none"


class InterveneData(InterveneSettings):
    """All that `bsx.analysis.intervene` takes beside texts and metrics."""

    factors: Annotated[
        Sequence[str] | Mapping[str, Measure],
        Field(
            description="Names for `bsx.analysis.compute_factors`, or name -> function of references and texts; each "
            "is computed once, on all pairs of texts together."
        ),
    ] = ("lex",)
    candidates: Annotated[
        SkipValidation[Sequence[str] | None],
        Field(description="n texts that systems wrote; without them there is no observed side."),
    ] = None
    human: Annotated[
        SkipValidation[Sequence[float] | None],
        Field(
            description="n human scores of the candidates, the observed SEM; NaN for rows without one, which are left "
            "out there."
        ),
    ] = None
    parses: Annotated[
        SkipValidation[Sequence[Parse | None] | None], Field(description="n parses of the texts to edit.")
    ] = None
    lang: Annotated[str | None, Field(description="Language of the texts.")] = None
    inflections: Annotated[
        Inflections | None, Field(description="Forms of words from treebanks; English ones are known by rule.")
    ] = None
    resources: Annotated[Resources | None, Field(description="What factors may read.")] = None
    nan: Annotated[Literal["error", "omit"], Field(description="Refuse pairs without a score, or leave them out.")] = (
        "error"
    )
    keep: Annotated[
        Callable[[Sequence[EditedText]], object] | None,
        Field(description="Called with every minimal pair, what it moved and what that cost, such as a list's extend."),
    ] = None
    progress: Annotated[Watch, Field(description="Called with what is scored, done and total; True draws bars.")] = None
