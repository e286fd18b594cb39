"""Settings of jobs on what moves a score: word risks."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from bsx.jobs.settings.shared import Confidence, Seed


class ExplainSettings(TypedDict, total=False):
    """How the risk of each word is told, and what it is held against."""

    method: Annotated[
        Literal["auto", "trained", "match", "erasure", "shapley"],
        Field(
            default="auto",
            description="trained or match: from an encoder's vectors; erasure or shapley: from scores of `metric=`. "
            "auto: erasure with `metric=`, else trained where the registry can and there is no reference, else match.",
        ),
    ]
    metric: Annotated[
        str | None, Field(default=None, description="Metric whose score is explained: NAME[:field=value,…].")
    ]
    layer: Annotated[int | None, Field(default=None, ge=0, description="Layer to match on, instead of the registry's.")]
    idf: Annotated[bool, Field(default=False, description="Weigh matches by how rare the word is in these texts.")]
    budget: Annotated[
        int, Field(default=256, ge=2, description="Texts to score a row and side for `method='shapley'`.")
    ]
    seed: Seed
    resamples: Annotated[int, Field(default=1000, ge=20, description="Bootstrap resamples of sentences, for marks.")]
    confidence: Confidence
