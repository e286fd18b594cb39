"""From the files a user names on the command line to a corpus."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bsx.data.corpus import Corpus
from bsx.data.tables import LineFiles, NamedFile, TableFile, spool
from bsx.errors import InputError


@contextlib.contextmanager
def open_corpus(
    candidates: Sequence[str],
    references: Sequence[str],
    data: str | None,
    candidate_columns: Sequence[str],
    reference_columns: Sequence[str],
    id_column: str | None,
    *,
    source_file: str | None = None,
    source_column: str | None = None,
    wants: frozenset[str] = frozenset({"reference"}),
    keep_rows: bool = False,
    output: Path | None = None,
) -> Iterator[Corpus]:
    """Open line files (``candidates``, ``references``, ``source_file``) or one table (``data`` and its columns).

    ``-`` is standard input, which is copied to a temporary file for as long as the corpus is open. Columns of a table
    that are not named are those called candidate, reference and source.

    Args:
        candidates: line files, one a system.
        references: line files.
        data: the table.
        candidate_columns: its columns of candidates, one a system.
        reference_columns: its columns of references.
        id_column: its column that names the segments.
        source_file: line file of sources.
        source_column: the table's column of sources.
        wants: what the metrics compare candidates with: ``reference``, ``source`` or both.
        keep_rows: give each segment of a table its whole row.
        output: the file that the run will write.

    Raises:
        InputError: if the two ways are mixed or incomplete, or a file cannot be used or would be overwritten.
    """
    if data is not None:
        if candidates or references or source_file is not None:
            raise InputError("give either `candidates=` and `references=`, or `data=` with its columns, not both")
    elif candidate_columns or reference_columns or id_column is not None or source_column is not None:
        raise InputError(
            "`candidate=`, `reference=`, `source=` and `id=` name columns of `data=FILE`, which is missing"
        )
    else:
        _check_files(candidates, references, source_file, wants)
    named = [*candidates, *references, *(name for name in (data, source_file) if name is not None)]
    if named.count("-") > 1:
        raise InputError("only one file can be standard input (-)")
    for name in named:
        if output is not None and output.exists() and name != "-" and Path(name).exists() and output.samefile(name):
            raise InputError(
                f"{output}: is an input of this run, which would overwrite it: give `output=` another name"
            )
    with contextlib.ExitStack() as stack:

        def opened(name: str) -> NamedFile:
            return _opened(name, stack)

        if data is not None:
            file = opened(data)
            kind = _sniff(file) if data == "-" else None
            columns = TableFile(file, [], [], None, kind).columns
            if "source" in wants and source_column is None and "source" in columns:
                source_column = "source"
            yield TableFile(
                file,
                candidate_columns or _usual("candidate", columns, file.name),
                reference_columns or (_usual("reference", columns, file.name) if "reference" in wants else []),
                id_column,
                kind,
                source=source_column,
                keep_rows=keep_rows,
            )
        else:
            systems = {}
            for name in candidates:
                label = "stdin" if name == "-" else Path(name).stem
                if label in systems:
                    raise InputError(
                        f"two candidate files are called {label!r}: rename one, systems need distinct names"
                    )
                systems[label] = opened(name)
            source = opened(source_file) if source_file is not None else None
            yield LineFiles(systems, [opened(name) for name in references], source)


@contextlib.contextmanager
def opened_table(name: str) -> Iterator[TableFile]:
    """Open a table of which no column is a text to score; ``-`` is standard input. Its segments have whole rows."""
    with contextlib.ExitStack() as stack:
        file = _opened(name, stack)
        yield TableFile(file, [], [], None, _sniff(file) if name == "-" else None, keep_rows=True)


def _opened(name: str, stack: contextlib.ExitStack) -> NamedFile:
    """Open a file; what can be read but once (standard input, a named pipe, `<(command)`) is copied until the end."""
    path = Path(name)
    if name != "-" and (not path.exists() or path.is_file() or path.is_dir()):
        return NamedFile(path)
    if name == "-":
        copy = spool(sys.stdin.buffer)
    else:
        with path.open("rb") as stream:
            copy = spool(stream)
    stack.callback(copy.unlink, missing_ok=True)
    return NamedFile(copy, "standard input" if name == "-" else name)


def _check_files(
    candidates: Sequence[str], references: Sequence[str], source: str | None, wants: frozenset[str]
) -> None:
    if not candidates or ("reference" in wants and not references):
        raise InputError(
            "nothing to score: give `candidates=FILE` and `references=FILE`, or `data=FILE` "
            "`candidate=COL` `reference=COL`"
        )
    if not references and source is None:
        raise InputError("nothing to compare candidates with: give `sources=FILE` with the sources")


def _usual(name: str, columns: Sequence[str], file: str) -> list[str]:
    if name not in columns:
        raise InputError(
            f"{file}: has no column {name!r}: `data=` needs `{name}=COL`; it has the columns {', '.join(columns)}"
        )
    return [name]


def _sniff(file: NamedFile) -> str:
    """Tell the format of a table on standard input by its first line: JSON objects, or else TSV."""
    return ".jsonl" if next(file.lines()).lstrip().startswith("{") else ".tsv"
