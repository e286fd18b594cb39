"""The one door for data: what the columns of a table are called, and scores that stand in it or are computed.

Commands put their settings together from the classes here, so that an option means the same everywhere.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, ParamSpec, Protocol, Self, TypeVar, cast, overload

from pydantic import Field, model_validator

from bsx.data.formats.memory import IN_MEMORY, AnyTable
from bsx.data.long import USUAL, ColumnName, ColumnNames, RowColumns
from bsx.encode.run_config import EncoderSettings
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.progress import Progress, Say, Watch, nothing
from bsx.support.settings import BaseSettings, Option, part, set_fields, settled

if TYPE_CHECKING:
    from bsx.data.tables import Table
    from bsx.metrics.base import Metric

FORMATS = ".tsv (unquoted), .csv, .jsonl, .parquet, .xlsx, .xlf or .tmx; - is standard input"


class TableSettings(RowColumns):
    """A table, and the columns that say what a row is about."""

    table: Annotated[AnyTable | None, Field(description=f"Table: {FORMATS}."), Option(argument=True)] = None

    @property
    def table_name(self) -> str | None:
        """What the table is called in messages; None without one."""
        if isinstance(self.table, str | None):
            return self.table
        from bsx.data.tables import Table

        return self.table.name if isinstance(self.table, Table) else IN_MEMORY


Keys = ParamSpec("Keys")
Chosen = TypeVar("Chosen", bound=BaseSettings)
Outcome = TypeVar("Outcome")
Returned = TypeVar("Returned", covariant=True)


class OnTable(Protocol[Keys, Returned]):
    """A function of settings whose table may stand first, without its name."""

    @overload
    def __call__(self, table: AnyTable, /, *args: Keys.args, **kwargs: Keys.kwargs) -> Returned: ...
    @overload
    def __call__(self, *args: Keys.args, **kwargs: Keys.kwargs) -> Returned: ...


def on_table(
    kind: Callable[Keys, Chosen],
) -> Callable[[Callable[[Chosen], Outcome]], OnTable[Keys, Outcome]]:
    """Let a function of settings take their fields as keywords, as `settled` does, and the table as its first argument.

    Args:
        kind: the class of settings, which has a table.
    """

    def decorate(function: Callable[[Chosen], Outcome]) -> OnTable[Keys, Outcome]:
        by_keyword: Callable[..., Outcome] = settled(kind)(function)

        @functools.wraps(by_keyword)
        def call(*table: object, **given: object) -> Outcome:
            if len(table) > 1 or (table and "table" in given):
                raise TypeError(f"{function.__name__}() takes one table; its settings are given by keyword")
            return by_keyword(**given, **({"table": table[0]} if table else {}))

        own = inspect.signature(by_keyword)
        fields = sorted(own.parameters.values(), key=lambda field: field.name != "table")
        fields[0] = fields[0].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        call.__signature__ = own.replace(parameters=fields)  # type: ignore[attr-defined]
        return cast("OnTable[Keys, Outcome]", call)

    return decorate


class TextColumns(BaseSettings):
    """Columns of texts."""

    panel = "Texts"

    candidate: Annotated[ColumnNames, Field(description="Columns of candidates; several are systems. [candidate]")] = ()
    reference: Annotated[ColumnNames, Field(description="Columns of references. [reference]")] = ()
    source: Annotated[ColumnName, Field(description="Column of sources. [source]")] = None


class TextFiles(BaseSettings):
    """Files of texts, a line a segment, instead of a table."""

    panel = "Texts"

    candidates: Annotated[
        Sequence[str],
        Field(description="Files of candidates, a line a segment; several are systems."),
        Option(("-c",), whole=True),
    ] = ()
    references: Annotated[
        Sequence[str], Field(description="Files of references, a line a segment."), Option(("-r",), whole=True)
    ] = ()
    sources: Annotated[str | None, Field(description="File of sources, a line a segment."), Option(("-s",))] = None


class TestSets(BaseSettings):
    """A public test set instead of a table."""

    panel = "Texts"
    __test__ = False  # no test of pytest's

    test_set: Annotated[
        str | None,
        Field(
            description="Public test set instead of a table: wmt17/zh-en, …, or FOLDER/PAIR of mt-metrics-eval; see "
            "bsx data test-sets."
        ),
    ] = None
    data_dir: Annotated[
        Path | None, Field(description="Folder of all data sets, for test_set; BSX_DATA or your data folder.")
    ] = None


class HumanColumns(BaseSettings):
    """Columns of human judgments."""

    panel = "Texts"

    human: Annotated[ColumnNames, Field(description="Columns of human scores. [human, human_z or z]")] = ()


class ParseSettings(BaseSettings):
    """Where parses of the texts to change come from."""

    parses: Annotated[Path | str | None, Field(description="CoNLL-U file with parses of the texts to change.")] = None
    parser: Annotated[Literal["stanza"] | None, Field(description="Or parse them with this.")] = None
    parser_dir: Annotated[
        Path | str | None, Field(description="Folder of stanza's models."), Option(folded="stanza")
    ] = None
    download: Annotated[bool, Field(description="Let stanza fetch its model."), Option(folded="stanza")] = False

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.parses is not None and self.parser is not None:
            raise ValueError("give parses or parser, not both")
        return self


class Watched(BaseSettings):
    """Who is told how far a run is."""

    progress: Annotated[
        Watch,
        Field(description="Called with a phase's name, what is done and what there is in all; True draws bars."),
        Option(python=True),
    ] = None


class Reported(Watched):
    """Who is told how far a run is, and what its user should know meanwhile."""

    say: Annotated[Say, Field(description="Called with a line that the user should know."), Option(python=True)] = (
        nothing
    )


class MetricSettings(EncoderSettings):
    """Metrics to compute, and where and within what limits their encoders run."""

    panel = "Metrics"

    metrics: Annotated[
        Sequence[str], Field(description="Metrics to compute: NAME[:field=value,…]; see bsx metrics.")
    ] = ()


class Skipping(BaseSettings):
    """What becomes of rows on which a metric fails."""

    skip_errors: Annotated[bool, Field(description="Leave out rows on which a metric fails, and name them.")] = False


def refuse_without_metrics(settings: MetricSettings, *useful: str) -> None:
    """Refuse settings that only scores which are computed need, where no metrics are named.

    Args:
        settings: of a command that takes scores from columns too.
        useful: settings that have an effect all the same.

    Raises:
        InputError: naming the first that was given nevertheless.
    """
    idle = {*MetricSettings.model_fields, *TextColumns.model_fields}.difference(useful)
    for name in [] if settings.metrics else set_fields(settings, *useful):
        if name in idle:
            raise InputError(f"{name} has no effect without metrics: leave it out", setting=name)


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
    results = {role: named.get(role, []) for role in roles}
    for role in roles:
        if not results[role]:
            usual = (name for name in USUAL[role] if name in columns and name not in taken)
            results[role] = [name for name in [next(usual, None)] if name is not None]
    return results


def turned(table: Table, columns: Sequence[str], lower: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns of scores of which lower is better, as the user or the table's sidecar says, and notes.

    Raises:
        InputError: for a name that is none of the columns.
    """
    for name in lower:
        if name not in columns:
            raise InputError(
                f"lower: {name!r} is none of the columns of scores ({', '.join(columns)})", setting="lower"
            )
    from bsx.data.sidecar import lower_by_sidecar

    known = [name for name in lower_by_sidecar(table.name) if name in columns and name not in lower]
    notes = [f"{name} is multiplied by -1: lower is better" for name in lower]
    notes += [f"{name} is multiplied by -1: lower is better, as {table.name}.signatures.json says" for name in known]
    return [*lower, *known], notes


@dataclass(eq=False)
class TableScores:
    """Metrics' scores of a table's rows, higher is better unless it was asked for scores as they are.

    Attributes:
        values: metric or column -> scores (rows,); NaN where there is none.
        signatures: metric -> signature, where known.
        lower: those of which lower is better.
        notes: what the user should know.
        failed: whether a metric failed on some rows, which were left out.
    """

    values: dict[str, Array] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    lower: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    failed: bool = False


def open_distinct(settings: MetricSettings, columns: Iterable[str] = (), *useful: str) -> list[Metric]:
    """Build the metrics that are to score; none if none is named.

    Args:
        settings: the metrics, and where they run.
        columns: of scores that are there already.
        useful: settings that have an effect without metrics too; see `refuse_without_metrics`.

    Raises:
        InputError: for an unknown metric, one that is named twice or called like a column, or settings of metrics where
            none is named.
    """
    refuse_without_metrics(settings, *useful)
    if not settings.metrics:
        return []
    from bsx.catalog.specs import split_specs
    from bsx.metrics.zoo import get_metrics

    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    metrics = get_metrics(specs, **part(settings, EncoderSettings))
    wanted = [*columns, *(metric.spec for metric in metrics)]
    for metric in metrics:
        if wanted.count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice", setting="metrics")
    return metrics


def score_texts(
    metrics: Sequence[Metric],
    candidates: Sequence[str],
    references: Sequence[str] | None,
    sources: Sequence[str] | None = None,
    *,
    skip_errors: bool = False,
    turn: bool = True,
    where: Callable[[int], str] = lambda place: f"row {place + 1}",
    progress: Progress | None = None,
) -> TableScores:
    """Score rows of texts with metrics that are open, and so may score several tables.

    Args:
        metrics: of `open_distinct`; none give no scores.
        candidates: n texts.
        references: n texts; None if there are none.
        sources: n texts; None if there are none.
        skip_errors: leave rows out on which a metric fails instead of ending.
        turn: turn the sign of metrics of which lower is better.
        where: says where a row is, for messages.
        progress: called with phase, done and total.

    Raises:
        InputError: for a metric that fails.
    """
    if not metrics:
        return TableScores()
    from bsx.metrics.failures import score_all

    rows = score_all(metrics, candidates, references, sources, skip_errors=skip_errors, where=where, progress=progress)
    return TableScores(
        {row.metric: -row.values if row.turned and not turn else row.values for row in rows},
        {row.metric: row.signature for row in rows},
        frozenset(row.metric for row in rows if row.turned),
        [note for row in rows for note in row.notes[int(row.turned and not turn) :]],
        any(row.failed for row in rows),
    )
