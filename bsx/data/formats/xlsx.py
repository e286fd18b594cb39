"""Spreadsheets (XLSX) as tables: one sheet, its first row that is not empty names the columns."""

from __future__ import annotations

import contextlib
import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from bsx.data.cells import Spelled, Typed
from bsx.data.lines import LONGEST_LINE, NamedFile, Problems, may_hold
from bsx.data.sources import A_DOCUMENT, MOST_COLUMNS, Found, RowSource
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
_LINE_ENDS = re.compile(r"\s*[\t\r\n]\s*")
_OLD = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of a compound file, which old spreadsheets and locked new ones are."""
_CHUNK = 1 << 20
_SAVE_AGAIN = "open it in a spreadsheet program and save it as .xlsx"


class Sheet(RowSource):
    """A sheet of a spreadsheet; see `bsx.data.sources.RowSource`.

    The first row that is not empty holds the names of the columns, whose line breaks count as spaces; empty rows, and
    what stands right of the last name and is empty, do not count. Hidden rows and columns count as others do. Of merged
    cells the first has the value, the others are empty. Formulas count as the values that were saved with them. Links
    to other files, macros and pictures are not read.

    Args:
        file: the file; the sheet that it names, or else the first that is neither hidden nor empty.

    Raises:
        InputError: if it is no spreadsheet, unpacks to more than any has, has no such sheet, or the sheet is empty.
    """

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        self._needed = need("openpyxl", "reading spreadsheets")
        need("defusedxml", "reading spreadsheets")  # openpyxl reads XML with it where it is installed
        self._formulas = self._examine()
        with self._book() as book:
            self.sheets = list(book.sheetnames)
            if not self.sheets:
                raise InputError("has no sheets, but charts at the most", file=file.name)
            shown = [one for one in self.sheets if book[one].sheet_state == "visible"]
            if file.sheet is not None and file.sheet not in self.sheets:
                raise UnknownNameError(
                    f"has no sheet {file.sheet!r}; it has {', '.join(self.sheets)}."
                    f"{did_you_mean(file.sheet, self.sheets)}",
                    file=file.path,
                )
        for sheet in (shown or self.sheets) if file.sheet is None else [file.sheet]:
            self.sheet = sheet
            self._place = f"{file.name if file.sheet is None else file.path}: sheet {sheet!r}"
            number, row = next(self._values(), (0, []))
            if row:
                break
        else:
            raise InputError(f"{self._place} is empty; its first row must name the columns")
        self.notes: list[str] = []
        if len(self.sheets) > 1 and file.sheet is None:
            rest = [one for one in self.sheets if one != self.sheet]
            others = ", ".join(rest[:5]) + (", …" if len(rest) > 5 else "")
            self.notes.append(
                f"{file.name}: the sheet {self.sheet!r} is read; others ({others}) are named like {file.name}#{rest[0]}"
            )
        self._header = number
        names = [_LINE_ENDS.sub(" ", "" if value is None else str(value).strip()) for value in row]
        while names and not names[-1]:
            names.pop()
        letter = self._needed.utils.get_column_letter
        self._columns = {place: name for place, name in enumerate(names) if name}
        self.columns = list(self._columns.values())
        self.letters = {name: str(letter(place + 1)) for place, name in self._columns.items()}

    def _examine(self) -> bool:
        """Refuse what unpacks to more than fits, and tell whether there are formulas."""
        name = self._file.name
        try:
            with self._stream() as stream, zipfile.ZipFile(stream) as archive:
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
                formulas = False
                for member in members:
                    sheet = _SHEET.fullmatch(member.filename) is not None
                    if not sheet and member.file_size > may_hold() and member.filename.endswith((".xml", ".rels")):
                        raise InputError(
                            f"its part {member.filename} has {show_bytes(member.file_size)}, too much for the free "
                            "memory",
                            file=name,
                        )
                    if sheet and not formulas:
                        formulas = _has_formulas(archive, member)
                return formulas
        except zipfile.BadZipFile as error:
            with self._stream() as stream:
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

    def _stream(self) -> BinaryIO | io.BufferedReader | io.BytesIO:
        if self._file.path.suffix.lower() == ".gz":
            return io.BytesIO(self._file.all_bytes())
        return self._file.open()  # type: ignore[return-value]

    @contextlib.contextmanager
    def _book(self, *, formulas: bool = False) -> Iterator[Untyped]:
        import warnings

        with self._stream() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what no table is made of: styles, validation, pictures
            with blaming(f"{self._file.name} is no spreadsheet that can be read", _SAVE_AGAIN):
                book = self._needed.load_workbook(stream, read_only=True, data_only=not formulas, keep_links=False)
                # Charts on sheets of their own are no tables.
                charts = [one for one in book.sheetnames if not hasattr(book[one], "reset_dimensions")]
                for one in charts:
                    del book[one]
            try:
                yield book
            finally:
                book.close()

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
            if values:
                yield number, values

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Found]:
        """Yield the rows below the header; see `bsx.data.sources.RowSource`."""
        count = 0
        for number, values in self._values():
            if number == self._header:
                continue
            count += 1
            where = f"{self._place}, row {number}"
            problem = self._problem(values, needed)
            if problem is not None:
                problems.report(f"{where}, column {problem}")
                continue
            cells = {
                name: "" if place >= len(values) or values[place] is None else values[place]
                for place, name in self._columns.items()
            }
            yield Found(
                where, count, {name: str(cell) if isinstance(cell, _Failed) else cell for name, cell in cells.items()}
            )

    def _problem(self, values: Sequence[object], needed: Sequence[str]) -> str | None:
        for place, value in enumerate(values):
            if value is None:
                continue
            name = self._columns.get(place)
            if name is None:
                letter = self._needed.utils.get_column_letter(place + 1)
                problem = f"{letter}: holds a value, but row {self._header} gives the column no name"
                if len(self._columns) == 1 < len(values):
                    return f"{problem}: if that row is a title, delete it; the first row must name the columns"
                return f"{problem}: name it (with pandas, to_excel(…, index=False))" if place == 0 else problem
            if isinstance(value, _Failed) and name in needed:
                return f"{self.letters[name]} ({name!r}): holds the error {value}: mend the formula"
            if isinstance(value, str) and len(value) > LONGEST_LINE:
                return f"{self.letters[name]} ({name!r}): is longer than {show_bytes(LONGEST_LINE)}"
        return None


def _has_formulas(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    with archive.open(member) as part:
        last = b""
        while chunk := part.read(_CHUNK):
            if _FORMULA.search(last + chunk):
                return True
            last = chunk[-64:]
    return False


class _Failed(str):
    """What a formula that failed shows, such as ``#REF!``."""

    __slots__ = ()


def _value(cell: Untyped) -> object:
    """Return a cell's value: a text, a number, a truth value or a date."""
    value = cell.value
    if cell.data_type == "e":
        return _Failed(value)
    if isinstance(value, bool | str):
        return _unescaped(value) if isinstance(value, str) else value
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


def _unescaped(text: str) -> str:
    """Return a text with the characters that XML cannot hold, which spreadsheets write as ``_x0001_``."""

    def meant(match: re.Match[str]) -> str:
        code = int(match[1], 16)
        return chr(code) if code and not 0xD800 <= code < 0xE000 else match[0]  # others are what was typed

    return _ESCAPED.sub(meant, text)
