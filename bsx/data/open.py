"""From the files a user names on the command line to a corpus."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from bsx.data.corpus import Corpus
from bsx.data.files import HeldLines, LineFiles, PartFile, TableFile, Tables
from bsx.data.formats.memory import AnyTable
from bsx.data.formats.source import MEMORIES, OFFICE, XLIFF
from bsx.data.lines import NamedFile, Problems
from bsx.data.long import SEGMENTS, SYSTEM
from bsx.data.pairing import refuse_alike
from bsx.data.spool import STDIN
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import InputError


def table_parts(table: str) -> list[PartFile]:
    """Return the files that a table consists of, in the order of their names.

    Args:
        table: one file; a folder, of which all tables count that lie in it and below, except those whose names or
            folders begin with ``.`` or ``_``; or a pattern such as ``in/*.parquet``, where ``**`` is any folders.

    Raises:
        InputError: if there is none.
    """
    path = Path(table)
    if table == STDIN or not (path.is_dir() or (glob.has_magic(table) and not path.exists())):
        return [PartFile(path)]
    if path.is_dir():
        root = path
        found = [file for file in path.rglob("*") if is_table(file.relative_to(path)) and file.is_file()]
        problem = f"is a folder without tables ({', '.join(TABLE_FORMATS)})"
    else:
        fixed = next(place for place, part in enumerate(path.parts) if glob.has_magic(part))
        root = Path(*path.parts[:fixed])
        below = [(file, file.relative_to(root).parts) for file in root.glob("/".join(path.parts[fixed:]))]
        found = [file for file, names in below if file.is_file() and not any(name.startswith(".") for name in names)]
        problem = "no file has a name like this"
    if not found:
        raise InputError(problem, file=table)
    names = sorted((file.relative_to(root).as_posix(), file) for file in found)
    return [
        PartFile(file, dict(part.split("=", 1) for part in name.split("/")[:-1] if "=" in part)) for name, file in names
    ]


def open_table(data: AnyTable, problems: Problems | None = None, *, first_line: bool = False) -> Table:
    """Open a table of one file or several, or in memory.

    Args:
        data: see `table_parts`; or a table in memory, or one that is open already.
        problems: where malformed rows go; the first is an error unless given.
        first_line: the first line of a JSON-lines file must name every column, which spares reading the file twice.

    Raises:
        InputError: if there is none, or it cannot be read.
    """
    if not isinstance(data, str | Path):
        return data if isinstance(data, Table) else Table(data, problems)
    parts = table_parts(str(data)) if str(data) else [PartFile(Path())]
    if len(parts) == 1 and not parts[0].keys:
        return Table(data if data in (STDIN, "") else parts[0].path, problems, first_line=first_line)
    return Tables(parts, problems)


def is_table(name: PurePath) -> bool:
    """Tell by a file's name below a folder whether it is one of the tables there."""
    plain = name.with_suffix("") if name.suffix.lower() == ".gz" else name
    return plain.suffix.lower() in TABLE_FORMATS and not any(part.startswith((".", "_")) for part in name.parts)


def open_corpus(
    candidates: Sequence[str],
    references: Sequence[str | HeldLines],
    data: AnyTable | None,
    candidate_columns: Sequence[str],
    reference_columns: Sequence[str],
    id_column: str | None,
    *,
    source_file: str | HeldLines | None = None,
    source_column: str | None = None,
    system_column: str | None = None,
    wants: frozenset[str] = frozenset({"reference"}),
    keep_rows: bool = False,
    document_column: str | None = None,
) -> Corpus:
    """Open line files (``candidates``, ``references``, ``source_file``) or one table (``data`` and its columns).

    ``-`` is standard input, which is copied to a temporary file for as long as the corpus is there. Columns of a table
    that are not named are those called candidate, reference and source. Beside one column of candidates, one
    called system says whose they are, and one called segment, sid or id names the segments.

    Args:
        candidates: line files, one a system.
        references: line files.
        data: the table; see `table_parts`.
        candidate_columns: its columns of candidates, one a system.
        reference_columns: its columns of references.
        id_column: its column that names the segments.
        source_file: line file of sources.
        source_column: the table's column of sources.
        system_column: the table's column of systems whose rows stand one below the other.
        wants: what the metrics compare candidates with: ``reference``, ``source`` or both.
        keep_rows: give each segment of a table its whole row.
        document_column: the table's column that names the documents.

    Raises:
        InputError: if the two ways are mixed or incomplete, or a file cannot be used.
    """
    if data is not None:
        if candidates or references or source_file is not None:
            raise InputError("give either candidates and references, or a table with its columns, not both")
    elif (
        candidate_columns
        or reference_columns
        or any(name is not None for name in (id_column, source_column, system_column, document_column))
    ):
        raise InputError(
            "candidate, reference, source, system, segment and document name columns of a table, which is missing"
        )
    else:
        _refuse_tables([name for name in (*candidates, *references, source_file) if isinstance(name, str)])
        if candidates and "reference" in wants and not references:
            raise InputError("no references: name files of references to compare the candidates with")
        if not candidates:
            raise InputError(
                "nothing to score: name files of candidates and references, or a table with columns candidate and "
                "reference"
            )
        if not references and source_file is None:
            raise InputError("nothing to compare candidates with: name a file of sources")
    named = [*candidates, *references, *(name for name in (data, source_file) if isinstance(name, str))]
    if named.count("-") > 1:
        raise InputError("only one file can be standard input (-)")
    if data is not None:
        table = open_table(data, first_line=True)
        columns, name = table.columns, table.name
        if "source" in wants and source_column is None and "source" in columns:
            source_column = "source"
        candidate_columns = candidate_columns or _usual("candidate", columns, name)
        reference_columns = reference_columns or (_usual("reference", columns, name) if "reference" in wants else [])
        others = (*candidate_columns, *reference_columns, id_column, source_column)
        guessed = system_column is None
        if len(candidate_columns) == 1 and SYSTEM in columns and SYSTEM not in others:
            system_column = system_column or SYSTEM
        elif system_column is not None and len(candidate_columns) > 1:
            raise InputError("several columns of candidates are the systems already: leave out system")
        if system_column is not None and id_column is None:
            id_column = next((name for name in SEGMENTS if name in columns and name not in others), None)
        return TableFile(
            table,
            candidate_columns,
            reference_columns,
            id_column,
            source=source_column,
            keep_rows=keep_rows,
            system=system_column,
            partly=guessed,
            document=document_column,
        )
    systems = {}
    for name in candidates:
        label = "stdin" if name == STDIN else os.fsencode(Path(name).stem).decode("utf-8", "backslashreplace")
        if label in systems:
            raise InputError(f"two candidate files are called {label!r}: rename one, systems need distinct names")
        systems[label] = NamedFile(name)
    refuse_alike(systems, "names of candidate files")
    source = NamedFile(source_file) if isinstance(source_file, str) else source_file
    return LineFiles(systems, [NamedFile(lines) if isinstance(lines, str) else lines for lines in references], source)


def _refuse_tables(names: Sequence[str]) -> None:
    """Refuse files whose lines would be scored as texts though they are XML or packed."""
    for name in names:
        kind = PurePath(name.lower().removesuffix(".gz")).suffix
        if kind in OFFICE:
            how = "--candidate COLUMN --reference COLUMN"
            if kind in MEMORIES:
                how = "--candidate LANGUAGE --reference LANGUAGE"
            elif kind in XLIFF:
                how = "--metrics sentence-qe"
            raise InputError(
                f"is a table ({kind}), no text a line: name it alone, as in bsx score {name} {how}", file=name
            )


def _usual(name: str, columns: Sequence[str], file: str) -> list[str]:
    if name not in columns:
        raise InputError(
            f"no {name}s: there is no column {name!r}, so {name} must name one; it has the columns "
            f"{', '.join(columns)}",
            file=file,
        )
    return [name]
