"""The one door for data: the table, what its columns are called, and metrics to compute on its texts.

Commands put their settings together from the classes here, so that an option means the same everywhere.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, Protocol, Self, TypeVar, cast, overload

from pydantic import Field, model_validator

from bsx.data.long import ColumnName, ColumnNames, RowColumns
from bsx.data.sources import IN_MEMORY, AnyTable
from bsx.encode.run_config import EncoderSettings
from bsx.support.progress import Say, Watch, nothing
from bsx.support.settings import BaseSettings, Names, Option, settled

FORMATS = ".tsv (unquoted), .csv, .jsonl, .parquet, .xlsx, .xlf or .tmx; - is standard input"

NEEDED: Any = ...
"""The default of a table that must be given: type checkers let it stand first, without its name."""


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

    metrics: Annotated[Names, Field(description="Metrics to compute: NAME[:field=value,…]; see bsx metrics.")] = ()


class Skipping(BaseSettings):
    """What becomes of rows on which a metric fails."""

    skip_errors: Annotated[bool, Field(description="Leave out rows on which a metric fails, and name them.")] = False
