"""What a format that is not lines of text offers to `bsx.data.tables.Table`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bsx.data.lines import NamedFile, Problems

SHEETS = (".xlsx", ".xlsm")
XLIFF = (".xliff", ".xlf", ".sdlxliff", ".mqxliff", ".mxliff")
MEMORIES = (".tmx",)
OFFICE = (*SHEETS, *XLIFF, *MEMORIES)
"""Ends of the names of such files."""
MOST_COLUMNS = 1_000
"""Columns of a table; more are a matrix, or a mistake, and nobody could choose among them."""
A_DOCUMENT = "put its texts into a spreadsheet, a row for each segment, and save that as .xlsx"
INSTEAD = {
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pdf", ".pptx"), A_DOCUMENT),
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "open it in a spreadsheet program and save it as .xlsx"),
    ".txt": "a text a line is given as a file of candidates or references; a table ends in .tsv if tabs divide it",
    ".json": "a table in JSON has one object a line, and its name ends in .jsonl",
    ".po": "convert it to XLIFF (po2xliff of the Translate Toolkit)",
}
"""What to do with formats that are not read."""


class Found(NamedTuple):
    """A row.

    Attributes:
        where: its place, such as ``job.xlf: unit 3 (line 40)``.
        number: which row it is, from 1.
        cells: column -> value; columns that are not there are empty.
    """

    where: str
    number: int
    cells: dict[str, object]


class RowSource:
    """A file with named columns.

    Attributes:
        columns: their names.
        languages: column -> the code of its language, as far as the file says so.
        notes: what a reader should know, a line each.
        letters: column -> what a spreadsheet program calls it; empty in other formats.
        sheets: names of the sheets; empty in other formats.
        sheet: the one that is read.
        total: how many rows it has, where that is known.
    """

    columns: list[str]
    languages: Mapping[str, str] = {}
    notes: Sequence[str] = ()
    letters: Mapping[str, str] = {}
    sheets: Sequence[str] = ()
    sheet: str | None = None
    total: int | None = None

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Found]:
        """Yield the rows; ``needed`` are the columns that will be read, none for all."""
        raise NotImplementedError


def kind_of(file: NamedFile) -> str | None:
    """Return the end of the name that a pipe's content should have; None for what is no such format."""
    with file.open() as stream:
        head = stream.read(4096)
    if head.startswith(b"PK\x03\x04"):
        return SHEETS[0]
    plain = head.replace(b"\0", b"").removeprefix(b"\xef\xbb\xbf").lstrip(b"\xff\xfe \t\r\n")
    if not plain.startswith(b"<"):
        return None
    return MEMORIES[0] if b"<tmx" in plain else XLIFF[0]
