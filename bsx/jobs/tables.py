"""The one door for data: what the columns of a table are called, and scores that stand in it or are computed.

Commands put their settings together from the classes here, so that an option means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.data.sidecar import known_signatures, lower_by_sidecar, scored_columns
from bsx.data.tables import Table
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.jobs.metrics import open_metrics
from bsx.metrics.failures import RowScores, score_all
from bsx.metrics.summary import about
from bsx.support.checks import Array
from bsx.support.progress import Progress, Say, Watch
from bsx.support.settings import BaseSettings, Option

FORMATS = ".tsv (unquoted), .csv, .jsonl or .parquet; - is standard input"

USUAL: dict[str, tuple[str, ...]] = {
    "system": ("system",),
    "segment": ("segment", "sid", "id"),
    "document": ("document", "doc", "doc_id"),
    "candidate": ("candidate",),
    "reference": ("reference",),
    "source": ("source",),
    "human": ("human", "human_z", "z"),
    "label": ("label", "noisy_label", "is_duplicate"),
}
"""What a column is called where nobody says: role -> names, the first that is there counts."""


class TableSettings(BaseSettings):
    """A table, and the columns that say what a row is about."""

    table: Annotated[str | None, Field(description=f"Table: {FORMATS}."), Option(argument=True)] = None
    system: Annotated[str | None, Field(description="Column of systems. [system, if there]")] = None
    segment: Annotated[str | None, Field(description="Column of segments. [segment, sid or id, if there]")] = None


class TextColumns(BaseSettings):
    """Columns of texts."""

    candidate: Annotated[
        Sequence[str], Field(description="Columns of candidates; several are systems. [candidate]")
    ] = ()
    reference: Annotated[Sequence[str], Field(description="Columns of references. [reference]")] = ()
    source: Annotated[str | None, Field(description="Column of sources. [source]")] = None


class TextFiles(BaseSettings):
    """Files of texts, a line a segment, instead of a table."""

    candidates: Annotated[
        Sequence[str], Field(description="Files of candidates, a line a segment; several are systems."), Option(("-c",))
    ] = ()
    references: Annotated[
        Sequence[str], Field(description="Files of references, a line a segment."), Option(("-r",))
    ] = ()
    sources: Annotated[str | None, Field(description="File of sources, a line a segment."), Option(("-s",))] = None


class TestSets(BaseSettings):
    """A public test set instead of a table."""

    __test__ = False  # no test of pytest's

    test_set: Annotated[
        str | None, Field(description="Public test set instead of a table: wmt17/zh-en, …; see bsx data test-sets.")
    ] = None
    data_dir: Annotated[
        Path | None, Field(description="Folder of all data sets, for test_set; BSX_DATA or your data folder.")
    ] = None


class ScoreColumns(BaseSettings):
    """Columns of metrics' scores."""

    columns: Annotated[
        Sequence[str], Field(description="Columns of metrics' scores. [those that bsx score wrote]")
    ] = ()
    lower: Annotated[
        Sequence[str], Field(description="Those of them of which lower is better: their sign is turned.")
    ] = ()


class HumanColumns(BaseSettings):
    """Columns of human judgments."""

    human: Annotated[Sequence[str], Field(description="Columns of human scores. [human, human_z or z]")] = ()


class Watched(BaseSettings):
    """Who is told how far the work is."""

    progress: Annotated[
        Watch, Field(description="Called with phase, done and total; True draws bars."), Option(python=True)
    ] = None


def nothing(line: str) -> None:
    """Say nothing."""


class Reported(Watched):
    """Who is told how far the work is, and what the user should know meanwhile."""

    say: Annotated[Say, Field(description="Called with a line that the user should know."), Option(python=True)] = (
        nothing
    )


class MetricSettings(RunConfig):
    """Metrics to compute, and where and within what limits their encoders run."""

    metrics: Annotated[
        Sequence[str], Field(description="Metrics to compute: NAME[:field=value,…]; see bsx metrics.")
    ] = ()
    model: Annotated[
        str | None, Field(description="Their model: a registry name, a folder, or a hub id."), Option(("-m",))
    ] = None
    lang: Annotated[
        str | None,
        Field(description="Language of the texts (tag or English name), or auto; chooses the model."),
        Option(("-l",)),
    ] = None


def find_columns(
    columns: Sequence[str], asked: Mapping[str, str | Sequence[str] | None], *roles: str
) -> dict[str, list[str]]:
    """Find which columns of a table hold what.

    Args:
        columns: the table's.
        asked: what the user named: the name of a setting -> a column, or several.
        roles: of `USUAL`, to be found by their usual names where the user named none.

    Returns:
        Role -> columns: those that the user named, else the first usual name that is there and stands for nothing
        else, else none.
    """
    named = {role: [value] if isinstance(value, str) else list(value or ()) for role, value in asked.items()}
    taken = {name for names in named.values() for name in names}
    found = {role: named.get(role, []) for role in roles}
    for role in roles:
        if not found[role]:
            usual = (name for name in USUAL[role] if name in columns and name not in taken)
            found[role] = [name for name in [next(usual, None)] if name is not None]
    return found


@dataclass(eq=False)
class TableScores:
    """Metrics' scores of a table's rows, higher is better.

    Attributes:
        values: metric or column -> scores (rows,); NaN where there is none.
        signatures: metric -> signature, where known.
        notes: what the user should know.
        failed: whether a metric failed on some rows, which were left out.
    """

    values: dict[str, Array] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failed: bool = False


def known_columns(table: Table, columns: Sequence[str], *but: str) -> list[str]:
    """Return the columns of scores: those that the user named, else those that ``bsx score`` wrote into the table."""
    return list(columns) or [name for name in scored_columns(table.name, table.columns) if name not in but]


def turned(table: Table, columns: Sequence[str], lower: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the columns of scores of which lower is better, as the user or the table's sidecar says, and notes.

    Raises:
        InputError: for a name that is none of the columns.
    """
    for name in lower:
        if name not in columns:
            raise InputError(f"lower: {name!r} is none of the columns of scores ({', '.join(columns)})")
    known = [name for name in lower_by_sidecar(table.name) if name in columns and name not in lower]
    notes = [f"the sign of {name} is turned: lower is better" for name in lower]
    notes += [f"the sign of {name} is turned: lower is better, as {table.name}.signatures.json says" for name in known]
    return {*lower, *known}, notes


def read_scores(table: Table, columns: Sequence[str], lower: Sequence[str]) -> TableScores:
    """Read metrics' scores out of a table.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    from bsx.data.columns import read_columns

    less, notes = turned(table, columns, lower)
    read = read_columns(table, list(columns))
    values = {name: np.asarray(read[name], dtype=np.float64) * (-1 if name in less else 1) for name in columns}
    return TableScores(values, known_signatures(table.name, columns), notes)


def compute_scores(
    settings: MetricSettings,
    candidates: Sequence[str],
    references: Sequence[str] | None,
    sources: Sequence[str] | None = None,
    *,
    skip_errors: bool = False,
    where: Callable[[int], str] = lambda place: f"row {place + 1}",
    progress: Progress | None = None,
) -> TableScores:
    """Compute metrics' scores of rows of texts.

    Args:
        settings: the metrics, and where they run.
        candidates: n texts.
        references: n texts; None if there are none.
        sources: n texts; None if there are none.
        skip_errors: leave rows out on which a metric fails instead of ending.
        where: says where a row is, for messages.
        progress: called with phase, done and total.

    Raises:
        InputError: for an unknown metric, one that is named twice, or one that fails.
    """
    metrics = open_metrics(settings.metrics, settings)
    for metric in metrics:
        if [one.spec for one in metrics].count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice")
    rows: list[RowScores] = score_all(
        metrics, candidates, references, sources, skip_errors=skip_errors, where=where, progress=progress
    )
    return TableScores(
        {one.metric: one.values for one in rows},
        {one.metric: one.signature for one in rows},
        [*(note for one in rows for note in one.notes), *about(metrics)],
        any(one.failed for one in rows),
    )
