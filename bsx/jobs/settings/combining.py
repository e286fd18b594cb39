"""Settings of jobs that make something of scores: ensembles, trained metrics, choices among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from bsx.jobs.settings.shared import LANG, System


class EnsembleColumns(TypedDict, total=False):
    """What the columns of a table of scores are, and what becomes of the ensemble."""

    group: Annotated[str | None, Field(default=None, description="Column of groups, such as language pairs.")]
    system: System
    segment: Annotated[
        str | None,
        Field(
            default=None, description="Column of segments; rows of one stay in one fold. [segment, sid or id, if there]"
        ),
    ]
    text: Annotated[
        Sequence[str] | None,
        Field(
            default=None,
            description="Columns of texts; equal ones stay in one fold. Repeatable. [source, reference, candidate, …]",
        ),
    ]
    fold: Annotated[str | None, Field(default=None, description="Column of ready-made folds.")]
    lower: Annotated[
        Sequence[str],
        Field(default=(), description="Those of `columns=` of which lower is better: their sign is turned."),
    ]
    fit: Annotated[
        Path | None,
        Field(default=None, description="Table to fit on, with the same columns, instead of cross-validation."),
    ]
    factor_columns: Annotated[
        Sequence[str] | None,
        Field(default=None, description="For `how='factors'`: columns of factors to compute profiles from."),
    ]
    profiles: Annotated[
        Path | None,
        Field(
            default=None,
            description="For `how='factors'`: what `bsx.jobs.disentangle(…)` writes as JSON.",
        ),
    ]
    save: Annotated[
        str | None,
        Field(default=None, description="Keep the ensemble as the metric ensemble:NAME, or in a file NAME.yaml."),
    ]
    member: Annotated[
        Sequence[str],
        Field(
            default=(),
            description="For `save=`: COLUMN=METRIC, where the column is not its name. Repeatable.",
        ),
    ]
    registry: Annotated[
        Path | None, Field(default=None, description="Registry folder to save in; your own unless given.")
    ]


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
