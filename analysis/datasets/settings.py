"""Settings of data sets: where they lie, how they are fetched, and what their loaders can be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from bsx.analysis.datasets.mtme import Level
from bsx.support.progress import Watch
from bsx.support.settings import BaseSettings, Option

_PYTHON = Option(python=True)


class DataFolder(BaseSettings):
    """Where data sets lie."""

    data_dir: Annotated[
        Path | str | None, Field(description="Folder of all data sets; BSX_DATA or your data folder unless given.")
    ] = None


class FetchSettings(DataFolder):
    """How a data set is fetched."""

    from_folder: Annotated[
        Path | str | None,
        Field(
            description="Copy from this folder instead of using the network; it has either the published files or the "
            "local tables of the registry's entry, at their paths below it or directly in it."
        ),
    ] = None
    progress: Annotated[
        Watch, Field(description="Called with file, bytes so far, bytes in all or 0; True draws bars."), _PYTHON
    ] = None


class LoaderSettings(DataFolder):
    """What loaders can be told; each takes those of its own signature, and its docstring says what they mean there."""

    loader: Annotated[
        str | None,
        Field(
            description="Read one's own file or folder as this loader does: mqm, esa, wmt_da, stsb, …; see the docs."
        ),
    ] = None
    lp: Annotated[str | None, Field(description="Language pair to load, such as de-en.")] = None
    reference: Annotated[
        str | None, Field(description="mqm: the system whose translation is the reference, such as ref.")
    ] = None
    weights: Annotated[
        Mapping[str, float] | Sequence[str] | None,
        Field(description="mqm: weights of errors, such as 'major=5,minor fluency/punctuation=0.1'."),
    ] = None
    per_rater: Annotated[bool, Field(description="mqm, esa: a row a rating, with the column judge; no means.")] = False
    drop_human: Annotated[bool, Field(description="mqm, esa: leave human translations out, and count them.")] = False
    skip_malformed: Annotated[bool, Field(description="Leave malformed rows out, and count them."), _PYTHON] = False
    columns: Annotated[
        Mapping[str, str] | None, Field(description="table: what its columns are called here."), _PYTHON
    ] = None
    references: Annotated[Sequence[str] | None, Field(description="Columns of references."), _PYTHON] = None
    metrics: Annotated[
        Sequence[str] | Literal["all"] | None, Field(description="Columns or files of metrics' scores."), _PYTHON
    ] = None
    numbers: Annotated[Sequence[str] | None, Field(description="table: further columns of numbers."), _PYTHON] = None
    quoted: Annotated[bool, Field(description="table: fields may be quoted."), _PYTHON] = False
    human: Annotated[str | None, Field(description="Which of several human scores."), _PYTHON] = None
    testset: Annotated[str | None, Field(description="mt_metrics_eval: the test set."), _PYTHON] = None
    level: Annotated[Level | None, Field(description="mt_metrics_eval: of segments or systems."), _PYTHON] = None
    per_judge: Annotated[bool, Field(description="flickr8k: a row a judgment."), _PYTHON] = False
    texts: Annotated[Path | str | None, Field(description="Where the texts lie."), _PYTHON] = None
    renames: Annotated[Mapping[str, str] | None, Field(description="Other names of systems."), _PYTHON] = None
    drop_own: Annotated[bool, Field(description="flickr8k: leave a picture's own captions out."), _PYTHON] = False
    drop_placeholders: Annotated[bool, Field(description="Leave placeholders out."), _PYTHON] = False
    annotators: Annotated[str | None, Field(description="summeval: whose ratings."), _PYTHON] = None

    @field_validator("weights", mode="after")
    @classmethod
    def _numbers(cls, value: Mapping[str, float] | Sequence[str] | None) -> Mapping[str, float] | None:
        if value is None or isinstance(value, Mapping):
            return value
        weights = {}
        for text in value:
            name, _, number = text.rpartition("=")
            try:
                weights[name.strip()] = float(number)
            except ValueError:
                name = ""
            if not name.strip():
                raise ValueError(f"{text.strip()!r}: write WHAT=NUMBER, such as major=5, separated by commas")
        return weights
