"""From the files a user names on the command line to a corpus."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bsx.errors import InputError
from bsx.readers import LineFiles, NamedFile, TableFile, spool
from bsx.text import Corpus


@contextlib.contextmanager
def open_corpus(
    candidates: Sequence[str],
    references: Sequence[str],
    data: str | None,
    candidate_columns: Sequence[str],
    reference_columns: Sequence[str],
    id_column: str | None,
) -> Iterator[Corpus]:
    """Open line files (``candidates``, ``references``) or one table (``data`` and its columns).

    ``-`` is standard input, which is copied to a temporary file for as long as the corpus is open.

    Raises:
        InputError: if the two ways are mixed or incomplete, or a file cannot be used.
    """
    if data is not None:
        if candidates or references:
            raise InputError("give either -c and -r, or --data with its columns, not both")
        if not candidate_columns or not reference_columns:
            raise InputError("--data needs --candidate COL and --reference COL")
    elif candidate_columns or reference_columns or id_column is not None:
        raise InputError("--candidate, --reference and --id name columns of --data FILE, which is missing")
    elif not candidates or not references:
        raise InputError("nothing to score: give -c FILE and -r FILE, or --data FILE --candidate COL --reference COL")
    named = [*candidates, *references, *([data] if data is not None else [])]
    if named.count("-") > 1:
        raise InputError("only one file can be standard input (-)")
    with contextlib.ExitStack() as stack:

        def opened(name: str) -> NamedFile:
            path = Path(name)
            if name != "-" and (not path.exists() or path.is_file() or path.is_dir()):
                return NamedFile(path)
            # Standard input, a named pipe or `<(command)` can be read but once: keep a copy.
            if name == "-":
                copy = spool(sys.stdin.buffer)
            else:
                with path.open("rb") as stream:
                    copy = spool(stream)
            stack.callback(copy.unlink, missing_ok=True)
            return NamedFile(copy, "standard input" if name == "-" else name)

        if data is not None:
            file = opened(data)
            kind = _sniff(file) if data == "-" else None
            yield TableFile(file, candidate_columns, reference_columns, id_column, kind)
        else:
            systems = {}
            for name in candidates:
                label = "stdin" if name == "-" else Path(name).stem
                if label in systems:
                    raise InputError(
                        f"two candidate files are called {label!r}: rename one, systems need distinct names"
                    )
                systems[label] = opened(name)
            yield LineFiles(systems, [opened(name) for name in references])


def _sniff(file: NamedFile) -> str:
    """Tell the format of a table on standard input by its first line: JSON objects, or else TSV."""
    return ".jsonl" if next(file.lines()).lstrip().startswith("{") else ".tsv"
