"""From the files that a user names to a corpus: files of lines, one for each system, and tables in one or several."""

from __future__ import annotations

import glob
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import TypeAlias

from bsx.data.cells import is_missing
from bsx.data.corpus import Segment
from bsx.data.lines import STDIN, NamedFile, Problems, check_line_counts
from bsx.data.pairing import refuse_alike
from bsx.data.run import check_inputs
from bsx.data.sources import MEMORIES, OFFICE, XLIFF, AnyTable, MemoryTable
from bsx.data.tables import TABLE_FORMATS, Row, Table
from bsx.errors import InputError
from bsx.support.optional import need


@dataclass(frozen=True)
class HeldLines:
    """Texts in memory that stand where those of a file of lines could.

    Attributes:
        name: what to call them in messages.
        texts: a text a segment.
    """

    name: str
    texts: Sequence[str]

    def lines(self) -> Iterator[str]:
        """Yield the texts."""
        return iter(self.texts)

    def digest(self) -> str:
        """Return the sha256 of the texts, in hexadecimal."""
        return hashlib.sha256("\0".join(self.texts).encode("utf-8", "surrogatepass")).hexdigest()


class LineFiles:
    """Files with one text a line: one file of candidates for each system, one or more of references.

    An empty line in one of several reference files means that the segment has no such reference.

    Args:
        systems: system name -> file.
        references: files.
        source: the file of source texts, if there is one.
        documents: the document of each line; none where that is not known.

    Attributes:
        files: the files, candidates first.
        layout: what each holds: ``candidates``, ``references`` or ``sources``.
    """

    def __init__(
        self,
        systems: Mapping[str, NamedFile],
        references: Sequence[NamedFile | HeldLines],
        source: NamedFile | HeldLines | None = None,
        documents: Sequence[str] = (),
    ) -> None:
        self.systems, self.documents = tuple(systems), documents
        self.has = frozenset((["reference"] if references else []) + (["source"] if source is not None else []))
        sources = [source] if source is not None else []
        self.files: list[NamedFile | HeldLines] = [*systems.values(), *references, *sources]
        kinds = {"candidates": systems, "references": references, "sources": sources}
        self.layout = [kind for kind, files in kinds.items() for _ in files]

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start; InputError if the files have different numbers of lines (says both)."""
        split, end = len(self.systems), len(self.files) - self.layout.count("sources")
        for number, row in enumerate(zip_longest(*(file.lines() for file in self.files)), start=1):
            if None in row:
                check_line_counts({file.name: sum(1 for _ in file.lines()) for file in self.files})
            source = row[end] if "source" in self.has else None
            yield Segment(str(number), tuple(row[:split]), tuple(row[split:end]), source)


PartFile: TypeAlias = tuple[Path, dict[str, str]]
"""A file, and what the names of its folders say of all its rows, as in ``lang=de/year=2020/part-0.parquet``."""


class Tables(Table):
    """Files with the same columns as one table, its rows those of one file after the other.

    Args:
        parts: the files. What the names of their folders say is a column, too, of texts.
        problems: where malformed rows go; the first is an error unless given.

    Raises:
        InputError: if one has other columns than the first.
    """

    def __init__(self, parts: Sequence[PartFile], problems: Problems | None = None) -> None:
        self._parts = [(Table(path, problems, first_line=True), keys) for path, keys in parts]
        first, keys = self._parts[0]
        self.name, self.file = first.name, first.file
        self.columns = [*first.columns, *keys]
        self.languages = {
            name: code
            for name, code in first.languages.items()
            if all(table.languages.get(name) == code for table, _ in self._parts)
        }
        for table, keys in self._parts:
            for name in keys:
                if name in table.columns:
                    raise InputError(
                        f"has a column {name!r}, and so says the name of its folder: rename one", file=table.name
                    )
            if differing := sorted({*self.columns} ^ {*table.columns, *keys}):
                which = ", ".join(map(repr, differing[:5]))
                raise InputError(f"has other columns than {self.name}: {which} in one of the two only", file=table.name)

    @property
    def files(self) -> list[NamedFile]:
        """The files."""
        return [table.file for table, _ in self._parts]

    def count(self) -> int:
        """Return how many rows all files have."""
        return sum(table.count() for table, _ in self._parts)

    def types(self) -> dict[str, object]:
        """Return the Arrow type of each column: of files that differ, that of all numbers, or text."""
        arrow = need("pyarrow", "writing Parquet files")
        values: dict[str, list[object]] = {name: [] for name in self.columns}
        for table, keys in self._parts:
            for name, kind in {**table.types(), **dict.fromkeys(keys, arrow.string())}.items():
                if str(kind) != "null" and kind not in values[name]:
                    values[name].append(kind)
        results: dict[str, object] = {}
        for name, kinds in values.items():
            numbers = all(arrow.types.is_integer(kind) or arrow.types.is_floating(kind) for kind in kinds)
            results[name] = kinds[0] if len(kinds) == 1 else arrow.float64() if kinds and numbers else arrow.string()
        return results

    def rows(self, *needed: str, only: bool = False) -> Iterator[Row]:
        """Yield the rows of all files; see `Table.rows`."""
        for table, keys in self._parts:
            from_table = [name for name in needed if name not in keys]
            for row in table.rows(*from_table, only=only and bool(from_table)):
                row.update(keys)
                yield row


class TableFile:
    """A table as a corpus: columns of candidates, one a system, and columns of references and sources.

    Args:
        table: the table.
        candidates: columns of candidates; each is a system.
        references: columns of references; a JSON or Parquet cell may hold a list of them.
        id_column: column that names the segments; their number in the file unless given.
        source: column of source texts, if there is one.
        keep_rows: give each segment its whole row.
        system: column that says which system a row's one candidate is of.
        partly: a row may name no system, and then belongs to none; refused unless said.
        document: column that says which document a row is from.
        beside: no metric reads the sources: they need not be texts.

    Attributes:
        layout: the columns it uses and what for, such as ``candidate=mt``.

    Raises:
        InputError: for a column of candidates that is named twice.
        UnknownNameError: for a missing column; lists those present.
    """

    def __init__(
        self,
        table: Table,
        candidates: Sequence[str],
        references: Sequence[str],
        id_column: str | None = None,
        *,
        source: str | None = None,
        keep_rows: bool = False,
        system: str | None = None,
        partly: bool = False,
        document: str | None = None,
        beside: bool = False,
    ) -> None:
        for name, count in Counter(candidates).items():
            if count > 1:
                raise InputError(f"the column of candidates {name!r} is named twice; systems need distinct names")
        refuse_alike(candidates, "the columns of candidates")
        self.table, self.systems, self._references = table, tuple(candidates), tuple(references)
        read = source is not None and not beside
        self.has = frozenset((["reference"] if references else []) + (["source"] if read else []))
        roles = [("candidate", name) for name in candidates] + [("reference", name) for name in references]
        others = (("source", source), ("id", id_column), ("system", system), ("document", document))
        roles += [(kind, name) for kind, name in others if name is not None]
        self.layout = [f"{kind}={name}" for kind, name in roles]
        self._used = dict.fromkeys(name for _, name in roles)
        self._id, self._source, self._system, self._document = id_column, source, system, document
        self._keep_rows, self._partly, self._beside = keep_rows, partly, beside
        self.table.require(*self._used)

    @property
    def files(self) -> list[NamedFile]:
        """The files it reads."""
        if isinstance(self.table, Tables):
            return self.table.files
        return [] if isinstance(self.table.source, MemoryTable) else [self.table.file]

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start; InputError for a cell that is no text, or systems that look the same."""
        at = 0
        systems: dict[str, None] = {}
        for at, row in enumerate(self.table.rows(*self._used, only=not self._keep_rows), start=1):
            named = self._system is not None and not (self._partly and is_missing(row[self._system]))
            system = row.name(self._system) if self._system is not None and named else None
            if system is not None and system not in systems:
                systems[system] = None
                refuse_alike(systems, f"{self.table.name}, column {self._system!r}")
            references = tuple([text for name in self._references for text in row.texts(name)])
            if self._references and not references:
                raise InputError(f"{row.where}: has an empty list of references")
            read = self._source is not None and (not self._beside or isinstance(row[self._source], str))
            yield Segment(
                row.name(self._id) if self._id is not None else str(at),
                tuple([row.text(name) for name in self.systems]),
                references,
                row.text(str(self._source)) if read else None,
                row if self._keep_rows else None,
                system,
                row.name(self._document) if self._document is not None else None,
            )
        if at == 0:
            raise InputError(f"{self.table.name}: has a header but no rows")


def table_parts(table: str) -> list[PartFile]:
    """Return the files that a table consists of, in the order of their names.

    Args:
        table: one file; a folder, of which all tables count that lie in it and below, except those whose names or
            folders begin with ``.`` or ``_``; or a pattern such as ``in/*.parquet``, where ``**`` is any folders.
    """
    path = Path(table)
    if table == STDIN or not (path.is_dir() or (glob.has_magic(table) and not path.exists())):
        return [(path, {})]
    if path.is_dir():
        root = path
        files = [file for file in path.rglob("*") if is_table(file.relative_to(path)) and file.is_file()]
        problem = f"is a folder without tables ({', '.join(TABLE_FORMATS)})"
    else:
        fixed = next(place for place, part in enumerate(path.parts) if glob.has_magic(part))
        root = Path(*path.parts[:fixed])
        below = [(file, file.relative_to(root).parts) for file in root.glob("/".join(path.parts[fixed:]))]
        files = [file for file, names in below if file.is_file() and not any(name.startswith(".") for name in names)]
        problem = "no file has a name like this"
    if not files:
        raise InputError(problem, file=table)
    check_inputs(files)
    names = sorted((file.relative_to(root).as_posix(), file) for file in files)
    return [(file, dict(part.split("=", 1) for part in name.split("/")[:-1] if "=" in part)) for name, file in names]


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
    parts = table_parts(str(data)) if str(data) else [(Path(), {})]
    if len(parts) == 1 and not parts[0][1]:
        return Table(data if data in (STDIN, "") else parts[0][0], problems, first_line=first_line)
    return Tables(parts, problems)


def is_table(name: PurePath) -> bool:
    """Tell by a file's name below a folder whether it is one of the tables there."""
    plain = name.with_suffix("") if name.suffix.lower() == ".gz" else name
    return plain.suffix.lower() in TABLE_FORMATS and not any(part.startswith((".", "_")) for part in name.parts)


def open_lines(
    candidates: Sequence[str],
    references: Sequence[str | HeldLines],
    source: str | HeldLines | None = None,
    wants: frozenset[str] = frozenset({"reference"}),
    documents: Sequence[str] = (),
) -> LineFiles:
    """Open files of lines; ``-`` is standard input, which is copied to a temporary file for as long as they are there.

    Args:
        candidates: files, one a system, which is called like its file.
        references: files, or texts in memory.
        source: file of sources, or texts in memory.
        wants: what the metrics compare candidates with: ``reference``, ``source`` or both.
        documents: see `LineFiles`.
    """
    named = [name for name in (*candidates, *references, source) if isinstance(name, str)]
    for name in named:  # whose lines would be scored as texts though they are XML or packed
        kind = PurePath(name.lower().removesuffix(".gz")).suffix
        if kind in OFFICE:
            named_by = "LANGUAGE" if kind in MEMORIES else "COLUMN"
            how = "--metrics sentence-qe" if kind in XLIFF else f"--candidate {named_by} --reference {named_by}"
            raise InputError(
                f"is a table ({kind}), no text a line: name it alone, as in bsx score {name} {how}", file=name
            )
    if candidates and "reference" in wants and not references:
        raise InputError("no references: name files of references to compare the candidates with")
    if not candidates:
        raise InputError(
            "nothing to score: name files of candidates and references, or a table with columns candidate and reference"
        )
    if not references and source is None:
        raise InputError("nothing to compare candidates with: name a file of sources")
    if named.count(STDIN) > 1:
        raise InputError("only one file can be standard input (-)")
    systems = {}
    for name in candidates:
        label = "stdin" if name == STDIN else os.fsencode(Path(name).stem).decode("utf-8", "backslashreplace")
        if label in systems:
            raise InputError(f"two candidate files are called {label!r}: rename one, systems need distinct names")
        systems[label] = NamedFile(name)
    refuse_alike(systems, "names of candidate files")
    texts = [NamedFile(lines) if isinstance(lines, str) else lines for lines in references]
    return LineFiles(systems, texts, NamedFile(source) if isinstance(source, str) else source, documents)
