"""The one door for data: the table, what its columns are called, and metrics to compute on its texts.

Commands put their settings together from the classes here, so that an option means the same everywhere.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, Protocol, Self, TypeVar, cast, overload

from pydantic import Field, PrivateAttr, model_validator

from bsx.data.corpus import Corpus
from bsx.data.documents import DOCUMENTS
from bsx.data.lines import STDIN
from bsx.data.long import SEGMENTS, SYSTEM, ColumnName, ColumnNames, RowColumns, called_references
from bsx.data.open import HeldLines, TableFile, open_lines, open_table, table_parts
from bsx.data.sources import IN_MEMORY, AnyTable
from bsx.data.tables import Table
from bsx.encode.run_config import EncoderSettings
from bsx.errors import InputError
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


def on_table(kind: Callable[Keys, Chosen]) -> Callable[[Callable[[Chosen], Outcome]], OnTable[Keys, Outcome]]:
    """Let a function of settings take these as keywords, as `settled` does, and their table as its first argument."""

    def decorate(function: Callable[[Chosen], Outcome]) -> OnTable[Keys, Outcome]:
        by_keyword: Callable[..., Outcome] = settled(kind)(function)

        @functools.wraps(by_keyword)
        def call(*table: object, **given: object) -> Outcome:
            if len(table) > 1 or (table and "table" in given):
                raise TypeError(f"{function.__name__}() takes one table; its settings are given by keyword")
            return by_keyword(**given, **({"table": table[0]} if table else {}))

        signature = inspect.signature(by_keyword)
        fields = sorted(signature.parameters.values(), key=lambda field: field.name != "table")
        fields[0] = fields[0].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        call.__signature__ = signature.replace(parameters=fields)  # type: ignore[attr-defined]
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


class Input(TestSets, TextColumns, TableSettings, TextFiles):
    """The texts: line files, or one table and its columns, or a public test set.

    A test set by itself is the table; beside candidates it has the references and sources.
    """

    table: Annotated[
        AnyTable | None,
        Field(
            description=f"Table: {FORMATS}. A folder or a pattern like 'in/*.parquet' stands for several files that "
            "are one table."
        ),
        Option(argument=True),
    ] = None
    document: Annotated[
        ColumnName, Field(description="Column that names the documents: scores by document, and context.")
    ] = None
    lang_column: Annotated[ColumnName, Field(description="Column that names each row's language, instead of lang.")] = (
        None
    )
    _read: tuple[str, ...] = PrivateAttr(())
    """The files that a test set was read from."""
    _beside: tuple[list[HeldLines], HeldLines | None] | None = PrivateAttr(None)
    """References and sources of a test set, beside files of candidates."""
    _documents: tuple[str, ...] = PrivateAttr(())
    """The document of each of its segments there, if it has documents."""

    @model_validator(mode="after")
    def _folder_of_something(self) -> Self:
        if self.data_dir is not None and self.test_set is None:
            raise ValueError("data_dir has no effect without test_set: leave it out")
        return self

    def opened(self, say: Say = nothing) -> Self:
        """Return the same with a test set as a table, or as what stands beside files of candidates.

        Args:
            say: told what a reader of the test set must know.

        Raises:
            UnknownNameError: for an unknown test set.
            DataUnavailableError: if it is not in the data folder; says how to get it.
            InputError: if other texts are named beside it, or it has no references to hold candidates against.
        """
        if self.test_set is None:
            return self
        if self.table is not None or self.references or self.sources is not None:
            raise InputError("test_set has the texts: leave out table, references and sources", setting="test_set")
        from bsx.analysis.datasets.testsets import load_test_set

        table = load_test_set(self.test_set, self.data_dir)
        for note in table.notes:
            say(f"{self.test_set}: {note}")
        references = [name for name in table.columns if re.fullmatch(r"reference\d*", name)]
        made = {} if self.candidates else {"table": table, "reference": self.reference or references}
        opened = self.model_copy(update={**made, "test_set": None, "data_dir": None})
        opened._read = tuple(self.files()[len(self.candidates) :])
        if self.candidates:
            if not references:
                raise InputError("has no references to hold candidates against", file=table.name)
            segments = table.texts("segment") if "segment" in table else [str(row) for row in range(len(table))]
            rows = list({segment: row for row, segment in reversed(list(enumerate(segments)))}.values())[::-1]
            texts = {name: table.texts(name) for name in ("source", *references) if name in table}
            stem = self.test_set.replace("/", "-")
            lists = {name: HeldLines(f"{stem}.{name}", [of[row] for row in rows]) for name, of in texts.items()}
            opened._beside = [lists[name] for name in references], lists.get("source")
            column = next((name for name in DOCUMENTS if name in table), None)
            opened._documents = tuple(str(table[column][row]) for row in rows) if column is not None else ()
        return opened

    def files(self) -> list[str]:
        """Return the names of all files."""
        if self.test_set is not None:
            from bsx.analysis.datasets.testsets import find_test_set

            return [*self.candidates, *(str(path) for path in find_test_set(self.test_set).files(self.data_dir))]
        if self._read:
            return [*self.candidates, *self._read]
        named = [name for name in (*self.candidates, *self.references, self.sources) if name is not None]
        if not isinstance(self.table, str):
            return named
        return [*named, *(STDIN if self.table == STDIN else str(path) for path, _ in table_parts(self.table))]

    def open(self, wants: frozenset[str], *, keep_rows: bool) -> Corpus:
        """Open them as a corpus.

        Columns of a table that are not named are those called candidate, reference and source. Beside one column of
        candidates, one called system says whose they are, and one called segment, sid or id names the segments.

        Args:
            wants: what the metrics compare candidates with: ``reference``, ``source`` or both.
            keep_rows: give each segment of a table its whole row.

        Raises:
            InputError: if files and a table are mixed, something is missing, or a file cannot be used.
        """
        references, sources = self._beside or (self.references, self.sources)
        candidate, reference = list(self.candidate), list(self.reference)
        source, system, segment = self.source, self.system, self.segment
        if self.table is None:
            if candidate or reference or {source, system, segment, self.document} != {None}:
                raise InputError(
                    "candidate, reference, source, system, segment and document name columns of a table, which is "
                    "missing"
                )
            return open_lines(self.candidates, references, sources, wants, self._documents)
        if self.candidates or references or sources is not None:
            raise InputError("give either candidates and references, or a table with its columns, not both")
        table = open_table(self.table, first_line=True)
        columns = table.columns
        beside = "source" not in wants and source is None
        candidate = candidate or _usual("candidate", table)
        reference = reference or (_usual("reference", table) if "reference" in wants else [])
        if source is None and "source" in columns and "source" not in (*candidate, *reference):
            source = "source"
        others = (*candidate, *reference, segment, source)
        if system is not None and len(candidate) > 1:
            raise InputError("several columns of candidates are the systems already: leave out system")
        if system is None and len(candidate) == 1 and SYSTEM in columns and SYSTEM not in others:
            system = SYSTEM
        if system is not None and segment is None:
            segment = next((name for name in SEGMENTS if name in columns and name not in others), None)
        return TableFile(
            table,
            candidate,
            reference,
            segment,
            source=source,
            keep_rows=keep_rows,
            system=system,
            partly=self.system is None,
            document=self.document,
            beside=beside,
        )


def _usual(role: str, table: Table) -> list[str]:
    """Return the column that is called like a role, or those whose names mean references in some language."""
    if role in table.columns:
        return [role]
    if role == "reference" and (called := called_references(table.columns)):
        return called
    raise InputError(
        f"no {role}s: there is no column {role!r}, so {role} must name one; it has the columns "
        f"{', '.join(table.columns)}",
        file=table.name,
    )


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
