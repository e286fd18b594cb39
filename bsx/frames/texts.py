"""The texts to score: line files, a table of one file or several and its columns, or a public test set by name."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, PrivateAttr, model_validator

from bsx.data.corpus import Corpus
from bsx.data.documents import DOCUMENTS
from bsx.data.lines import STDIN
from bsx.data.long import ColumnName
from bsx.data.open import open_corpus, table_parts
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.frames.settings import FORMATS, TableSettings, TestSets, TextColumns, TextFiles
from bsx.support.progress import Say, nothing
from bsx.support.settings import Option
from bsx.support.untyped import Settings

if TYPE_CHECKING:
    from bsx.analysis.datasets.judged import JudgedTable


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
    _documents: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="after")
    def _folder_of_something(self) -> Self:
        if self.data_dir is not None and self.test_set is None:
            raise ValueError("data_dir has no effect without test_set: leave it out")
        return self

    @contextlib.contextmanager
    def opened(self, say: Say = nothing) -> Iterator[Self]:
        """Yield the same with a test set as files, which are there until the context ends.

        Args:
            say: told what a reader of the test set must know.

        Raises:
            UnknownNameError: for an unknown test set.
            DataUnavailableError: if it is not in the data folder; says how to get it.
            InputError: if other texts are named beside it.
        """
        if self.test_set is None:
            yield self
            return
        if self.table is not None or self.references or self.sources is not None:
            raise InputError("test_set has the texts: leave out table, references and sources", setting="test_set")
        from bsx.analysis.datasets.testsets import load_test_set

        table = load_test_set(self.test_set, self.data_dir)
        for note in table.notes:
            say(f"{self.test_set}: {note}")
        with tempfile.TemporaryDirectory(prefix="bsx-test-set-") as folder:
            documents: list[str] = []
            if self.candidates:
                (sources, *references), documents = _line_files(table, Path(folder) / self.test_set.replace("/", "-"))
                made: Settings = {"references": references, "sources": sources or None}
            else:
                columns = self.reference or [name for name in table.columns if re.fullmatch(r"reference\d*", name)]
                made = {"table": table, "reference": columns}
            files = self.model_copy(update={**made, "test_set": None, "data_dir": None})
            files._read = tuple(self.files()[len(self.candidates) :])
            files._documents = tuple(documents)
            yield files

    @property
    def line_documents(self) -> tuple[str, ...]:
        """The document of each line of a test set's files, if it has documents."""
        return self._documents

    def files(self) -> list[str]:
        """Return the names of all files."""
        if self.test_set is not None:
            from bsx.analysis.datasets.testsets import find_test_set

            return [*self.candidates, *(str(path) for path in find_test_set(self.test_set).files(self.data_dir))]
        if self._read:
            return [*self.candidates, *self._read]
        named = [name for name in (*self.candidates, *self.references, self.sources) if name is not None]
        if self.table is None:
            return named
        if not isinstance(self.table, str):
            return named
        return [*named, *(STDIN if self.table == STDIN else str(part.path) for part in table_parts(self.table))]

    @contextlib.contextmanager
    def open(self, wants: frozenset[str], *, keep_rows: bool) -> Iterator[Corpus]:
        """Open them as a corpus; see `bsx.data.open.open_corpus`."""
        with open_corpus(
            self.candidates,
            self.references,
            self.table,
            self.candidate,
            self.reference,
            self.segment,
            source_file=self.sources,
            source_column=self.source,
            system_column=self.system,
            wants=wants,
            keep_rows=keep_rows,
            document_column=self.document,
        ) as corpus:
            yield corpus


def _line_files(table: JudgedTable, stem: Path) -> tuple[list[str], list[str]]:
    """Write the sources of a test set's segments and their references, a line a segment; no name where are no sources.

    Returns:
        The files' names, and the document of each line; none where the test set has none.

    Raises:
        InputError: if it has no references, or a text of several lines.
    """
    names = [name for name in table.columns if re.fullmatch(r"reference\d*", name)]
    if not names:
        raise InputError("has no references to hold candidates against", file=table.name)
    segments = table.texts("segment") if "segment" in table else [str(row) for row in range(len(table))]
    rows = list({segment: row for row, segment in reversed(list(enumerate(segments)))}.values())[::-1]
    from bsx.data.output import atomic_text

    written = []
    for name in ("source", *names):
        texts = [table.texts(name)[row] for row in rows] if name in table else []
        if any("\n" in text for text in texts):
            raise InputError("a text has several lines, which files with a line a segment cannot hold", file=table.name)
        path = stem.with_name(f"{stem.name}.{name}.txt")
        with atomic_text(path, own=True) as stream:
            stream.writelines(f"{text}\n" for text in texts)
        written.append(str(path) if texts else "")
    column = next((name for name in DOCUMENTS if name in table), None)
    return written, [str(table[column][row]) for row in rows] if column is not None else []
