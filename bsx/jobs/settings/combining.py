"""Settings of jobs that make something of scores: ensembles, trained metrics, choices among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from bsx.jobs.settings.shared import LANG


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
