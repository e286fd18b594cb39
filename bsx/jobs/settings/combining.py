"""Settings of jobs that make something of scores: ensembles, trained metrics, choices among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from bsx.jobs.settings.shared import LANG, Seed


class TrainingColumns(BaseModel):
    """What tables of training data call things, and where the texts of preferences are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidate: Annotated[str, Field(description="Column of candidates.")] = "candidate"
    reference: Annotated[str, Field(description="Column of references.")] = "reference"
    source: Annotated[str, Field(description="Column of sources.")] = "source"
    human: Annotated[
        Sequence[str],
        Field(description="Columns of human scores; several are several judgments, whose mean is learned. [human]"),
    ] = ("human",)
    lang: Annotated[str | None, Field(description=LANG)] = None
    outputs: Annotated[Sequence[str], Field(description="Systems' outputs that DARR data are about; repeatable.")] = ()
    references: Annotated[Sequence[str], Field(description="Their references, a file for each.")] = ()


class MbrSettings(TypedDict, total=False):
    """Which columns a table of candidates has, and how one of them is chosen."""

    id: Annotated[
        str | None,
        Field(default=None, description="Column that names the list; its rows stand together. [segment, sid or id]"),
    ]
    candidate: Annotated[str, Field(default="candidate", description="Column of candidates.")]
    source: Annotated[str | None, Field(default=None, description="Column of sources, for metrics that read them.")]
    model_score: Annotated[
        str | None, Field(default=None, description="Column of the model's scores, higher is better: ranks and ties.")
    ]
    weight: Annotated[
        str | None,
        Field(default=None, description="Column of weights: how much a row counts where others are held against it."),
    ]
    temperature: Annotated[
        float | None,
        Field(
            default=None,
            gt=0,
            description="Weigh rows by softmax(score / temperature) instead; all the same unless given.",
        ),
    ]
    method: Annotated[
        Literal["exact", "aggregate", "prune"],
        Field(
            default="exact",
            description="exact: all pairs; aggregate: each candidate against all references together; prune: a cheaper "
            "metric proposes.",
        ),
    ]
    proposer: Annotated[str, Field(default="chrf", description="For `method='prune'`: the cheaper metric.")]
    keep: Annotated[int, Field(default=10, ge=1, description="For `method='prune'`: candidates it proposes.")]
    check: Annotated[
        int, Field(default=10, ge=0, description="Decide so many lists exactly too, to state what is lost.")
    ]
    seed: Seed
