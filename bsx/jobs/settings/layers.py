"""Settings of jobs on the layers and components of models: tuning, sweeps, ablation, probes, baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from bsx.jobs.settings.shared import LANG, Seed, Statistic


class JudgedColumns(TypedDict, total=False):
    """Columns of a table of human-judged segments."""

    candidate: Annotated[str, Field(default="candidate", description="Column of candidates.")]
    reference: Annotated[str, Field(default="reference", description="Column of references.")]
    human: Annotated[str, Field(default="human", description="Column of human scores.")]
    group: Annotated[
        str | None, Field(default=None, description="Column of groups to correlate within; lp if there is one.")
    ]


class TuneSettings(JudgedColumns, total=False):
    """How layers are measured on human-judged segments."""

    statistic: Statistic
    resamples: Annotated[int, Field(default=1000, ge=20, description="Bootstrap resamples of segments.")]
    seed: Seed


class JudgedLanguage(TypedDict, total=False):
    """Which rows of a table of several languages are meant."""

    lang: Annotated[str, Field(default="en", description=LANG)]
    device: Annotated[str, Field(default="auto", description="auto, cpu, cuda, cuda:N or mps.")]


class SweepSettings(TuneSettings, JudgedLanguage, total=False):
    """How layers are measured for any metrics."""


class AblationSettings(JudgedColumns, JudgedLanguage, total=False):
    """What the components of MoverScore are measured with."""

    mnli_model: Annotated[
        str | None, Field(default=None, description="Encoder fine-tuned on MNLI, for the rows with MNLI.")
    ]
    layer: Annotated[
        int | None,
        Field(default=None, ge=0, description="Layer without power means; the model's best unless given."),
    ]


class BaselineSettings(TypedDict, total=False):
    """How a baseline is computed, and where it is kept."""

    pairs: Annotated[int, Field(default=1_000_000, ge=2, description="Random pairs to score.")]
    seed: Seed
    tolerance: Annotated[
        float | None, Field(default=None, ge=0, description="Stop when every standard error is at most this.")
    ]
    state: Annotated[
        Path | None,
        Field(
            default=None,
            description="File that keeps the sums, so that a run can go on.",
            json_schema_extra={"writable": True},
        ),
    ]
    write: Annotated[bool, Field(default=False, description="Write the baseline to the overlay registry.")]


class ProbePlan(BaseModel):
    """The experiment of `bsx.jobs.probe`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: Annotated[tuple[int, ...] | None, Field(description="Layers to probe; all unless given.")] = None
    probe: Annotated[Literal["logistic", "mlp"], Field(description="Classifier.")] = "logistic"
    pooling: Annotated[
        Literal["mean", "cls", "max"], Field(description="From the vectors of tokens to that of a sentence.")
    ] = "mean"
    specials: Annotated[bool, Field(description="Let special tokens take part in mean and max.")] = False
    control: Annotated[bool, Field(description="Run the control task too.")] = True
    train_sizes: Annotated[tuple[int, ...], Field(description="Further sizes of the training part.")] = ()
    limit: Annotated[int | None, Field(ge=10, description="Use this many sentences of a file, drawn at random.")] = None
    repeats: Annotated[int, Field(ge=1, description="Repeat with so many seeds: 1, 2, …")] = 3
    resamples: Annotated[int, Field(ge=20, description="Bootstrap resamples.")] = 1000


class PeopleColumns(JudgedColumns, total=False):
    """Which columns of a table of human judgments to lay beside probes, and how."""

    lang: Annotated[str, Field(default="en", description=LANG)]
    statistic: Statistic
