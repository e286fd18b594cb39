"""Settings of jobs that make something of scores: ensembles, choices among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from bsx.jobs.settings.shared import Seed, System


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
