"""Spreadsheets (XLSX) as tables: one sheet, one of whose first rows names the columns."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import re
import statistics
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from bsx.data.cells import Spelled, Typed
from bsx.data.lines import LONGEST_LINE, NamedFile, Problems
from bsx.data.naming import role_of
from bsx.data.sources import A_DOCUMENT, MOST_COLUMNS, Row, RowSource
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.memory import show_bytes
from bsx.support.optional import need
from bsx.support.untyped import Untyped, blaming

MOST_ROWS = 1_048_576
_LARGEST_SHEET = 2**33
_BOMB = 2**26, 100
"""Bytes that any file may unpack to, and how many times its size beyond that; spreadsheets reach about 20."""
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")
_MERGE = re.compile(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
_Merged: TypeAlias = dict[int, set[tuple[int, int, int]]]
"""First row -> of each merged cell the first column, the last row and the last column."""
_TOP = 20  # rows among which those are that may name the columns
_LINE_ENDS = re.compile(r"\s*[\t\r\n]\s*")
_OLD = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of a compound file, which old spreadsheets and locked new ones are."""
_CHUNK = 1 << 20
_SAVE_AGAIN = "open it in a spreadsheet program and save it as .xlsx"


class Sheet(RowSource):
    """A sheet of a spreadsheet; see `bsx.data.sources.RowSource`.

    The first row that is not empty holds the names of the columns, or, where it is a title, the first row that names
    all of them; a name's line breaks count as spaces, and under a cell that spans several rows it is that cell's. Empty
    rows, and what stands right of the last name and is empty, do not count. Hidden rows and columns count as others do.
    Cells merged over several rows have their value in each; of those merged over columns the first has it, and a row
    that is one such cell is a heading, which is left out. Formulas count as the values that were saved with them. Links
    to other files, macros and pictures are not read.

    The sheet is that which the file's name names, where ``Sheet!3`` names the row of the columns' names, too; or else
    the first that is neither hidden nor empty.
    """

    header = MOST_ROWS  # until it is known
    heads: Sequence[tuple[int, str]] = ()

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        self._needed = need("openpyxl", "reading spreadsheets")
        need("defusedxml", "reading spreadsheets")  # openpyxl reads XML with it where it is installed
        self._formulas, merged = self._examine()
        with self._book() as book:
            self.sheets = list(book.sheetnames)
            if not self.sheets:
                raise InputError("has no sheets, but charts at the most", file=file.name)
            shown = [name for name in self.sheets if book[name].sheet_state == "visible"]
            paths = {name: book[name]._worksheet_path for name in self.sheets}
            asked, row_asked = file.sheet, 0
            if asked is not None and asked not in self.sheets:
                asked, _, digits = asked.rpartition("!")
                row_asked = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 8 else 0
                if asked not in self.sheets or not row_asked:
                    raise UnknownNameError(
                        f"has no sheet {file.sheet!r}; it has {', '.join(self.sheets)}."
                        f"{did_you_mean(str(file.sheet), self.sheets)}",
                        file=file.path,
                    )
        for sheet in (shown or self.sheets) if asked is None else [asked]:
            self.sheet = sheet
            self._place = f"{file.name if asked is None else file.path}: sheet {sheet!r}"
            self._merged = merged.get(paths[sheet], {})
            self._top = list(itertools.islice(self._values(), _TOP))
            if self._top:
                break
        else:
            raise InputError(f"{self._place} is empty; its first row must name the columns")
        number, row = self._find_header(row_asked)
        self.notes: list[str] = []
        if number > self._top[0][0] and not row_asked:
            self.notes.append(f"{self._place}: row {number} names the columns; what stands above it is not read")
        if len(self.sheets) > 1 and file.sheet is None:
            rest = [name for name in self.sheets if name != self.sheet]
            others = ", ".join(rest[:5]) + (", …" if len(rest) > 5 else "")
            self.notes.append(
                f"{file.name}: the sheet {self.sheet!r} is read; others ({others}) are named like {file.name}#{rest[0]}"
            )
        self.header = number
        self.heads = [(at, " · ".join(str(cell)[:40] for cell in cells if cell is not None)) for at, cells in self._top]
        names = [_LINE_ENDS.sub(" ", "" if value is None else str(value).strip()) for value in row]
        self._columns = {place: name for place, name in enumerate(names) if name}
        self.columns = list(self._columns.values())
        letter = self._needed.utils.get_column_letter
        self.letters = {name: str(letter(place + 1)) for place, name in self._columns.items()}
        below = [(row, cells) for row, cells in self._merged.items() if row > number]
        if any(last > row for row, cells in below for _, last, _ in cells):
            self.notes.append(f"{self._place} has cells merged over several rows, which count in each of them")
        if any(right > left for _, cells in below for left, _, right in cells):
            left = sum(row > number and self._is_heading(row, values) for row, values in self._values())
            note = f"{self._place}: rows that are one merged cell are headings, and are left out: {left:,}"
            self.notes += [note] if left else []

    def _find_header(self, asked: int) -> tuple[int, list[object]]:
        """Return the row of the columns' names: what was asked for, or the first that names all, below a title."""
        filled = [_filled(row) for _, row in self._top]
        for at, (number, row) in enumerate(self._top):
            above = self._top[at - 1][1] if at and len(filled[at - 1]) > 1 else []
            names = [over if below in (None, "") else below for below, over in itertools.zip_longest(row, above)]
            below = filled[at + 1 :]
            whole = all(cells <= _filled(names) for cells in below)
            if at and whole:  # names are texts, and a title has fewer cells than the rows of a table mostly have
                merged = self._merged.get(self._top[at - 1][0], ())  # unless it is the upper half of the names
                halves = bool(above) and any(last >= number or right > left for left, last, right in merged)
                titles = filled[: at - halves]
                whole = bool(below) and max(map(len, titles), default=0) < statistics.median(map(len, below))
                whole &= all(isinstance(name, str) for name in names if name is not None)
                # Among cells side by side above, none has a name of columns, and some below has.
                named = [_known(self._top[place][1]) for place, cells in enumerate(titles) if len(cells) > 1]
                whole &= not named or max(named) < 2 <= _known(names) + 1
            if number == asked or (whole and not asked):
                return number, names
        if asked:
            raise InputError(f"{self._place}: row {asked} is empty, or not among the first {_TOP} that are not")
        return self._top[0]

    def _examine(self) -> tuple[bool, dict[str, _Merged]]:
        """Refuse what unpacks to more than fits; tell whether there are formulas, and what is merged in which sheet."""
        name = self._file.name
        try:
            with self._file.seekable() as stream, zipfile.ZipFile(stream) as archive:
                members = archive.infolist()
                if not any(member.filename.lower() == "[content_types].xml" for member in members):
                    raise InputError("is a zip file but no spreadsheet", file=name)
                if any(member.filename.lower().startswith(("word/", "ppt/")) for member in members):
                    raise InputError(f"is a document, not a spreadsheet: {A_DOCUMENT}", file=name)
                packed = sum(member.compress_size for member in members)
                unpacked = sum(member.file_size for member in members)
                if unpacked > max(_BOMB[0], _BOMB[1] * packed) or unpacked > _LARGEST_SHEET:
                    raise InputError(
                        f"unpacks from {show_bytes(packed)} to {show_bytes(unpacked)}, which no spreadsheet does",
                        file=name,
                    )
                formulas, merged = False, {}
                for member in members:
                    if _SHEET.fullmatch(member.filename) is not None:
                        has_formulas, merged[member.filename] = _scanned(archive, member)
                        formulas |= has_formulas
                return formulas, merged
        except zipfile.BadZipFile as error:
            with self._file.seekable() as stream:
                locked = stream.read(len(_OLD)) == _OLD
            raise InputError(
                "is an old spreadsheet (.xls), or locked with a password: open it in a spreadsheet program and save it "
                "as .xlsx without a password"
                if locked
                else f"is no whole spreadsheet: {_SAVE_AGAIN}",
                file=name,
            ) from error
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror or 'it is cut off'})", file=name) from error
        except (NotImplementedError, RuntimeError, EOFError, zlib.error) as error:  # odd packing, a password, a cut
            raise InputError(f"cannot be unpacked: {_SAVE_AGAIN} without a password", file=name) from error

    @contextlib.contextmanager
    def _book(self, *, formulas: bool = False) -> Iterator[Untyped]:
        import warnings

        with self._file.seekable() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what no table is made of: styles, validation, pictures
            with blaming(f"{self._file.name} is no spreadsheet that can be read", _SAVE_AGAIN):
                book = self._needed.load_workbook(stream, read_only=True, data_only=not formulas, keep_links=False)
                # Charts on sheets of their own are no tables.
                for name in [name for name in book.sheetnames if not hasattr(book[name], "reset_dimensions")]:
                    del book[name]
            with contextlib.closing(book):
                yield book

    def _cells(self, *, formulas: bool = False) -> Iterator[tuple[int, Sequence[Untyped]]]:
        with self._book(formulas=formulas) as book:
            sheet = book[self.sheet]
            sheet.reset_dimensions()  # what the file says of its size may be anything
            number = 0
            rows = enumerate(sheet.iter_rows(max_row=MOST_ROWS), start=1)
            while True:
                with blaming(f"{self._place}, after row {number}: cannot be read", _SAVE_AGAIN):
                    # Up to a cell at the bottom of an empty sheet there are a million rows without any.
                    for number, row in rows:  # noqa: B007
                        if row:
                            break
                    else:
                        return
                if len(row) > MOST_COLUMNS:
                    letter = self._needed.utils.get_column_letter
                    raise InputError(
                        f"{self._place}, row {number}: has cells up to column {letter(len(row))}, and {MOST_COLUMNS:,} "
                        f"columns are read at most: delete those right of {letter(MOST_COLUMNS)}"
                    )
                yield number, row

    def _values(self) -> Iterator[tuple[int, list[object]]]:
        """Yield the rows that are not empty, each with its number."""
        asked = self._cells(formulas=True) if self._formulas else None
        spanning: dict[int, tuple[int, object]] = {}  # column -> the last row of a merged cell, and its value
        for number, row in self._cells():
            behind = next(asked)[1] if asked is not None else ()
            values = [None if cell.value is None else _value(cell) for cell in row]
            for place, cell in enumerate(behind):
                if cell.data_type == "f" and (place >= len(values) or values[place] is None):
                    raise InputError(
                        f"{self._place}, row {number}, column {cell.column_letter}: holds a formula without its value: "
                        "open the file in a spreadsheet program and save it, which stores the values"
                    )
            while values and values[-1] in (None, ""):
                values.pop()
            if not values:
                continue
            merged = self._merged.get(number, ())
            for place, last, _ in merged:
                if last > number and place < len(values):
                    spanning[place] = last, values[place]
            for place, (last, value) in spanning.items():
                if number <= last:
                    values += [None] * (place + 1 - len(values))
                    values[place] = value
            yield number, values

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Row]:
        """Yield the rows below the header; see `bsx.data.sources.RowSource`."""
        count = 0
        for number, values in self._values():
            if number <= self.header or self._is_heading(number, values):
                continue
            count += 1
            where = f"{self._place}, row {number}"
            problem = self._problem(values, needed)
            if problem is not None:
                problems.report(f"{where}, column {problem}")
                continue
            by_place = dict(enumerate(str(cell) if isinstance(cell, _Failed) else cell for cell in values))
            cells = ((name, by_place.get(place)) for place, name in self._columns.items())
            yield Row(where, ((name, "" if cell is None else cell) for name, cell in cells), count, self.letters)

    def _is_heading(self, number: int, values: Sequence[object]) -> bool:
        """Tell whether a row is one cell from the first column over half of the columns and more."""
        first, wide = min(self._columns), len(self._columns) / 2
        cells = self._merged.get(number, ())
        return _filled(values) == {first} and any(place == first and last - first >= wide for place, _, last in cells)

    def _problem(self, values: Sequence[object], needed: Sequence[str]) -> str | None:
        for place, value in enumerate(values):
            if value is None:
                continue
            name = self._columns.get(place)
            if name is None:
                letter = self._needed.utils.get_column_letter(place + 1)
                problem = f"{letter}: holds a value, but row {self.header} gives the column no name"
                if len(self._columns) == 1 < len(values):
                    return (
                        f"{problem}: if that row is a title, say which row names the columns, as in "
                        f"{self._file.path}#{self.sheet}!{self.header + 1}"
                    )
                return f"{problem}: name it (with pandas, to_excel(…, index=False))" if place == 0 else problem
            if isinstance(value, _Failed) and name in needed:
                return f"{self.letters[name]} ({name!r}): holds the error {value}: mend the formula"
            if isinstance(value, str) and len(value) > LONGEST_LINE:
                return f"{self.letters[name]} ({name!r}): is longer than {show_bytes(LONGEST_LINE)}"
        return None


def _scanned(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[bool, _Merged]:
    """Return whether a sheet has formulas, and what is merged in it."""
    bounds = need("openpyxl", "reading spreadsheets").utils.range_boundaries
    formulas, merged = False, dict[int, set[tuple[int, int, int]]]()
    with archive.open(member) as part:
        last = b""
        while chunk := part.read(_CHUNK):
            both = last + chunk
            formulas = formulas or _FORMULA.search(both) is not None
            for cells in _MERGE.findall(both):
                left, top, right, bottom = bounds(cells.decode())
                merged.setdefault(top, set()).add((left - 1, bottom, right - 1))
            last = both[-128:]
    return formulas, merged


def _known(row: Sequence[object]) -> int:
    """Return how many cells are known as names of columns."""
    return sum(isinstance(cell, str) and role_of(cell) is not None for cell in row)


def _filled(values: Sequence[object]) -> set[int]:
    """Return the places of the cells that are not empty."""
    return {place for place, value in enumerate(values) if value not in (None, "")}


class _Failed(str):
    """What a formula that failed shows, such as ``#REF!``."""

    __slots__ = ()


def _value(cell: Untyped) -> object:
    """Return a cell's value: a text, a number, a truth value or a date."""
    value = cell.value
    if cell.data_type == "e":
        return _Failed(value)
    if isinstance(value, str):
        return _ESCAPED.sub(_unescaped, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return Typed(value) if abs(value) < 2**63 else Spelled(str(value))
    if isinstance(value, float):
        return Typed(int(value)) if value.is_integer() and abs(value) < 2**53 else Spelled(repr(value))
    if isinstance(value, datetime.datetime):
        return value.date() if value.time() == datetime.time() else value
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return value
    return str(value)


_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
"""A character that XML cannot hold, as spreadsheets write it: ``_x0001_``."""


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code and not 0xD800 <= code < 0xE000 else match[0]  # others are what was typed
