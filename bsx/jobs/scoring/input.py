"""The texts to score: line files, one table and its columns, or a public test set by name."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.data.corpus import Corpus
from bsx.data.open import open_corpus
from bsx.data.output import atomic_text
from bsx.errors import InputError
from bsx.support.progress import Say

if TYPE_CHECKING:
    from bsx.analysis.datasets.judged import JudgedTable


@dataclass(frozen=True)
class Input:
    """Files of texts: line files, or one table and its columns.

    Attributes:
        candidates: line files, one a system.
        references: line files.
        sources: line file.
        data: the table.
        candidate: its columns of candidates, one a system.
        reference: its columns of references.
        source: its column of sources.
        id: its column that names the segments; ``segment``, if there is one beside systems.
        system: its column of systems whose rows stand one below the other; ``system``, if there is one.
        document: its column that names the documents, for BERTScore's ``context``.
        lang_column: its column that names each row's language, for `score_languages`.
        test_set: a public test set by name instead of the table, or, beside candidates, of the references and sources.
        data_dir: the folder of all data sets; see `bsx.analysis.load_test_set`.
        read: the files that a test set was read from; set by `Input.opened`.
    """

    candidates: Sequence[str] = ()
    references: Sequence[str] = ()
    sources: str | None = None
    data: str | None = None
    candidate: Sequence[str] = ()
    reference: Sequence[str] = ()
    source: str | None = None
    id: str | None = None
    system: str | None = None
    document: str | None = None
    lang_column: str | None = None
    test_set: str | None = None
    data_dir: Path | str | None = None
    read: Sequence[str] = ()

    @contextlib.contextmanager
    def opened(self, say: Say = lambda note: None) -> Iterator[Input]:
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
        if self.data is not None or self.references or self.sources is not None:
            raise InputError("`test_set=` has the texts: leave out `data=`, `references=` and `sources=`")
        from bsx.analysis.datasets.testsets import load_test_set

        table = load_test_set(self.test_set, self.data_dir)
        read = replace(self, candidates=()).files()
        for note in table.notes:
            say(f"{self.test_set}: {note}")
        with tempfile.TemporaryDirectory(prefix="bsx-test-set-") as folder:
            stem = Path(folder) / self.test_set.replace("/", "-")
            if self.candidates:
                lines = _line_files(table, stem)
                yield replace(self, references=lines[1:], sources=lines[0] or None, test_set=None, read=read)
                return
            table.save(path := stem.with_name(f"{stem.name}.jsonl"))
            references = self.reference or ([name for name in table.columns if re.fullmatch(r"reference\d*", name)])
            yield replace(self, data=str(path), reference=references, test_set=None, read=read)

    def check_context(self, context: int | None) -> None:
        """Raise InputError if there are sentences of context but no column of documents, or the reverse."""
        if bool(context) != (self.document is not None):
            raise InputError("`context=` and `document=` go together: `document=COL` names the column of documents")

    def files(self) -> list[str]:
        """Return the names of all files."""
        if self.test_set is not None:
            from bsx.analysis.datasets.testsets import find_test_set

            return [*self.candidates, *(str(path) for path in find_test_set(self.test_set).files(self.data_dir))]
        if self.read:
            return [*self.candidates, *self.read]
        return [name for name in (*self.candidates, *self.references, self.sources, self.data) if name is not None]

    def open(self, wants: frozenset[str], *, keep_rows: bool) -> contextlib.AbstractContextManager[Corpus]:
        """Open them as a corpus; see `bsx.data.open.open_corpus`."""
        return open_corpus(
            self.candidates,
            self.references,
            self.data,
            self.candidate,
            self.reference,
            self.id,
            source_file=self.sources,
            source_column=self.source,
            system_column=self.system,
            wants=wants,
            keep_rows=keep_rows,
            document_column=self.document,
        )


def _line_files(table: JudgedTable, stem: Path) -> list[str]:
    """Write the sources of a test set's segments and their references, a line a segment; no name where are no sources.

    Raises:
        InputError: if it has no references, or a text of several lines.
    """
    names = [name for name in table.columns if re.fullmatch(r"reference\d*", name)]
    if not names:
        raise InputError(f"{table.name}: has no references to hold candidates against")
    segments = table.texts("segment") if "segment" in table else [str(row) for row in range(len(table))]
    rows = list({segment: row for row, segment in reversed(list(enumerate(segments)))}.values())[::-1]
    written = []
    for name in ("source", *names):
        texts = [table.texts(name)[row] for row in rows] if name in table else []
        if any("\n" in text for text in texts):
            raise InputError(f"{table.name}: a text has several lines, which files with a line a segment cannot hold")
        path = stem.with_name(f"{stem.name}.{name}.txt")
        with atomic_text(path, own=True) as stream:
            stream.writelines(f"{text}\n" for text in texts)
        written.append(str(path) if texts else "")
    return written
