"""The first rows of a file and what its columns seem to hold, for those who choose what to do with it."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from bsx.data.cells import as_numbers, spelled
from bsx.data.lines import NamedFile, Problems
from bsx.data.long import USUAL, are_judgments
from bsx.data.naming import Role, role_of, role_of_file
from bsx.data.sidecar import scored_columns
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import BsxError, InputError, MissingExtraError
from bsx.support.optional import installed

Kind = Literal["text", "number", "date", "boolean", "empty"]
_SAMPLE = 200
_LANGUAGE = re.compile(r"\.[a-z]{2,3}([-_][a-z]{2,4})?")
"""What files of texts a line in some language end in: ``.de``, ``.en-gb``."""
_NO_LANGUAGE = (*TABLE_FORMATS, ".xls", ".ods", ".doc", ".pdf", ".po", ".xml", ".zip")


@dataclass(frozen=True)
class PreviewColumn:
    """A column.

    Attributes:
        name: what it is called.
        kind: what its first cells are.
        role: what it seems to be for; None where nothing says so.
        language: code of the language of its texts: what the file says, or else what they look like; None if unclear.
        detected: whether the language was guessed from the texts.
    """

    name: str
    kind: Kind
    role: Role | None = None
    language: str | None = None
    detected: bool = False


@dataclass(frozen=True)
class Preview:
    """What a file looks like.

    Attributes:
        path: the file.
        format: ``.tsv``, ``.xlsx``, …, and ``lines`` for a file with a text a line; empty where it cannot be told.
        columns: its columns; one of a file of lines.
        rows: the first rows, a cell a column, as texts.
        total: how many rows there are; None where counting them would take reading the file.
        sheets: names of the sheets of a spreadsheet.
        sheet: the one that is shown.
        heads: its first rows, one of which names the columns: number and beginning.
        header: the number of that row.
        notes: what a reader should know, a line each.
        problems: what is wrong, a line each with file, line and column; rows with problems are left out.
    """

    path: str
    format: str
    columns: tuple[PreviewColumn, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    total: int | None = None
    sheets: tuple[str, ...] = ()
    sheet: str | None = None
    heads: Sequence[tuple[int, str]] = ()
    header: int = 0
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def first(self, role: Role) -> str | None:
        """Return the first column of a role."""
        return next((column.name for column in self.columns if column.role == role), None)


def preview(path: Path | str, rows: int = 20) -> Preview:
    """Look at the first rows of a file: what it holds, and what its columns seem to be for.

    Nothing that is wrong with the file is an exception: it is among the problems of the result.

    Args:
        path: the file: a table, or a text a line (any other ending); ``FILE.xlsx#SHEET`` names a sheet.
        rows: how many rows to return.

    Raises:
        InputError: for fewer than one row.
    """
    if rows < 1:
        raise InputError("must be at least 1", setting="rows")
    problems = Problems(skip=True)
    suffix = ""
    try:
        file = NamedFile(path)
        suffix = file.suffix
        if suffix in ("", ".txt", ".text") or (_LANGUAGE.fullmatch(suffix) and suffix not in _NO_LANGUAGE):
            texts = list(itertools.islice(file.lines(), max(rows, _SAMPLE)))
            column = PreviewColumn("text", "text", role_of_file(file.path.name), *_language(texts, None))
            total = len(texts) if len(texts) < max(rows, _SAMPLE) else None
            return Preview(str(file.path), "lines", (column,), tuple((text,) for text in texts[:rows]), total)
        return _of_table(Table(file, problems, first_line=True), rows, problems)
    except BsxError as error:
        return Preview(str(path), suffix, problems=(*problems.messages, str(error)))


def _of_table(table: Table, rows: int, problems: Problems) -> Preview:
    rows_read: list[dict[str, object]] = []
    with problems:  # what ends the reading is one more problem
        for row in table.rows():
            rows_read.append(row)
            if len(rows_read) + len(problems.messages) >= max(rows, _SAMPLE):
                break
    values = {name: [row.get(name) for row in rows_read] for name in table.columns}
    columns = _columns(table, values)
    source = table.source
    total = source.total if source is not None else None
    if total is None and not problems.messages and len(rows_read) < max(rows, _SAMPLE):
        total = len(rows_read)
    elif total is None and table.file.suffix == ".parquet":
        total = table.count()
    return Preview(
        str(table.file.path),
        table.kind,
        columns,
        tuple(tuple(spelled(row.get(name)) for name in table.columns) for row in rows_read[:rows]),
        total,
        tuple(source.sheets) if source is not None else (),
        source.sheet if source is not None else None,
        getattr(source, "heads", ()),
        getattr(source, "header", 0),
        tuple(table.notes),
        tuple(problems.messages),
    )


def _columns(table: Table, values: dict[str, list[object]]) -> tuple[PreviewColumn, ...]:
    scores = set(scored_columns(table.name, table.columns))
    kinds = {name: _kind(cells) for name, cells in values.items()}
    roles: dict[str, Role | None] = {name: _given_role(name, kinds[name], name in scores) for name in table.columns}
    for single in ("system", "segment", "document", "label"):  # of which there is one
        names = [name for name, role in roles.items() if role == single]
        if single in ("segment", "document"):  # every row needs one
            names = [name for name in names if all(spelled(cell) for cell in values[name])]
        best = next((name for name in USUAL[single] if name in names), names[0] if names else None)
        roles |= {name: None for name, role in roles.items() if role == single and name != best}
    languages = {
        name: _language(map(spelled, values[name]), table.languages.get(name))
        for name in table.columns
        if kinds[name] == "text" and roles[name] in (None, "candidate", "reference", "source")
    }
    if "candidate" not in roles.values():
        prose = [name for name in languages if roles[name] in (None, "reference") and _is_prose(values[name])]
        codes = [languages[name][0] for name in prose]
        alone = [name for name in prose if roles[name] is None and codes.count(languages[name][0]) == 1]
        is_whole = len(prose) > 2 and None not in codes and len(set(codes)) == 2
        if "source" not in roles.values() and is_whole and len(alone) == 1:
            roles[alone[0]] = "source"  # the only texts in another language than all others, whatever they are called
        # Outputs of systems are called by their names: texts with no other role, in the language of the references.
        language = next((languages[name][0] for name in languages if roles[name] == "reference"), None)
        first_code = ""  # by the file, of the first: systems have one language
        for name in (name for name in prose if roles[name] is None and language in (None, languages[name][0])):
            code = table.languages.get(name, "").partition("-")[0]
            if not (first_code and code and code != first_code):
                roles[name] = "candidate"
                first_code = first_code or code
    return tuple(
        PreviewColumn(name, kinds[name], roles[name], *(languages.get(name, (None, False)))) for name in table.columns
    )


def _kind(values: Sequence[object]) -> Kind:
    filled = [value for value in values if value is not None and value != ""]
    if not filled:
        return "empty"
    if all(isinstance(value, bool) for value in filled):
        return "boolean"
    if all(isinstance(value, datetime.date | datetime.time) for value in filled):
        return "date"
    return "number" if as_numbers(filled) is not None else "text"


def _given_role(name: str, kind: Kind, scored: bool) -> Role | None:
    if scored:
        return "score"
    usual = next((usual_role for usual_role, names in USUAL.items() if name in names), None)
    if usual is not None:
        return cast(Role, usual)
    if kind == "number" and are_judgments(name):
        return "human"
    role = role_of(name)
    if kind in ("text", "empty") or role in ("segment", "document", "system", "label", "note"):
        return role
    return "score" if kind == "number" else None


def _is_prose(values: Sequence[object]) -> bool:
    texts = [value for value in values if isinstance(value, str) and value]
    return sum(" " in text for text in texts) * 2 > len(texts)


def _language(texts: Iterable[str], tag: str | None) -> tuple[str | None, bool]:
    """Return the code of a language, and whether it was guessed."""
    if tag:
        return tag, False
    if not installed("py3langid"):
        return None, False
    from bsx.data.writing import detect_language

    try:
        worded = (text[:1000] for text in texts if any(map(str.isalpha, text)))
        return detect_language(itertools.islice(worded, _SAMPLE)).code, True
    except (InputError, MissingExtraError):  # too little, mixed, or no texts
        return None, False
