"""Writing spreadsheets (XLSX): row by row, the same bytes for the same cells, and no text ever a formula.

Source: ECMA-376, Office Open XML (2016), parts 1 (SpreadsheetML) and 2 (packages).
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import ascii_uppercase
from types import TracebackType
from typing import IO
from xml.sax.saxutils import escape

from bsx.data.cells import JSON_NUMBER, Spelled, spelled
from bsx.errors import InputError

MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 1_048_576, 16_384, 32_767
"""Rows and columns of a sheet, and characters of a cell, as UTF-16 counts them."""
LONGEST_TITLE = 31
_LARGEST = 2**31 - 2**20
_DIGITS = 10**15
"""Larger whole numbers are written as texts: spreadsheet programs keep 15 digits."""
_UNFIT = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_PLAIN, _BOLD, _TEXT, _DATE, _TIME = range(5)
_FIRST_DAY = datetime.datetime(1899, 12, 30)
_SURE_DAY = datetime.datetime(1900, 3, 1)
"""Before it, programs count days differently: some believe that 1900 was a leap year."""
_OFFICE = "http://schemas.openxmlformats.org/"
_MAIN = f'xmlns="{_OFFICE}spreadsheetml/2006/main"'
_LINKS = f"{_OFFICE}officeDocument/2006/relationships"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_STYLES = f"""{_XML}<styleSheet {_MAIN}><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>\
<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/>\
</fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/>\
<bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>\
</cellStyleXfs><cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>\
<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>\
<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>\
<xf numFmtId="14" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>\
<xf numFmtId="22" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>\
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"""


def check_size(rows: int, file: object = None) -> None:
    """Raise InputError for more rows than a sheet has, with both numbers, before they are computed."""
    if rows + 1 > MOST_ROWS:
        raise InputError(
            f"{rows:,} rows and a header are more than a spreadsheet holds ({MOST_ROWS:,}): write .tsv, .csv, .jsonl "
            "or .parquet",
            file=file,
        )


class Workbook:
    """A spreadsheet, written sheet by sheet to a path, called by a name in messages; use it as a context manager."""

    def __init__(self, path: Path, name: object) -> None:
        self._path, self._name = path, name
        self._titles: list[str] = []
        self._sheet: IO[bytes] | None = None
        self._row = self._size = 0

    def __enter__(self) -> Workbook:
        self._archive = zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._archive:
            if error is None:
                if not self._titles:  # programs open no file without a sheet
                    self.begin("empty", [])
                self._end_sheet()
                self._add_parts()
            elif self._sheet is not None:
                self._sheet.close()

    def begin(self, title: str, columns: Sequence[str]) -> None:
        """Begin a sheet; the row of its columns' names stays in view.

        Args:
            title: what it is called, if that is free and short enough, else something like it.
            columns: names.

        Raises:
            InputError: for more columns than a sheet has.
        """
        if len(columns) > MOST_COLUMNS:
            raise InputError(
                f"{len(columns):,} columns are more than a spreadsheet holds ({MOST_COLUMNS:,})", file=self._name
            )
        self._end_sheet()
        self._titles.append(self._free(title))
        self._columns = list(columns)
        letters = (
            "".join(several) for size in (1, 2, 3) for several in itertools.product(ascii_uppercase, repeat=size)
        )
        self._letters = list(itertools.islice(letters, len(columns)))
        self._sheet = self._archive.open(_member(f"xl/worksheets/sheet{len(self._titles)}.xml"), "w")
        self._row = self._size = 0
        self._write(
            f'{_XML}<worksheet {_MAIN}><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" '
            'activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
        )
        self._add(columns, _BOLD)

    def row(self, values: Iterable[object]) -> None:
        """Append a row: texts, numbers, truth values and dates as such, nothing for None, other values as texts.

        Raises:
            InputError: for more rows than a sheet has, or a longer text than a cell has, naming row and column.
        """
        if self._row >= MOST_ROWS:
            check_size(self._row, self._name)
        self._add(values, _TEXT)

    def _add(self, values: Iterable[object], style: int) -> None:
        self._row += 1
        cells = [
            self._cell(value, f"{letter}{self._row}", place, style)
            for place, (letter, value) in enumerate(zip(self._letters, values, strict=True))
        ]
        self._write(f'<row r="{self._row}">{"".join(cells)}</row>')

    def _cell(self, value: object, at: str, place: int, style: int) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, bool):
            return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float) and (number := _number(value)) is not None:
            return f'<c r="{at}"><v>{number}</v></c>'
        if isinstance(value, datetime.date) and (day := _day(value)) is not None:
            style = _TIME if isinstance(value, datetime.datetime) else _DATE
            return f'<c r="{at}" s="{style}"><v>{day}</v></c>'
        text = spelled(value)
        if not text:
            return ""
        escaped = _UNFIT.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
        length = len(escaped) if escaped.isascii() else len(escaped.encode("utf-16-le")) // 2
        if length > LONGEST_CELL:
            raise InputError(
                f"row {self._row}, column {self._columns[place]!r} has {length:,} characters, and a spreadsheet's cell "
                f"holds {LONGEST_CELL:,}: write .tsv, .csv, .jsonl or .parquet",
                file=self._name,
            )
        return f'<c r="{at}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{escape(escaped)}</t></is></c>'

    def _write(self, text: str) -> None:
        content = text.encode()
        self._size += len(content)
        if self._size > _LARGEST or self._sheet is None:
            raise InputError(
                "is more than a spreadsheet holds (2 GiB a sheet): write .tsv or .parquet", file=self._name
            )
        self._sheet.write(content)

    def _end_sheet(self) -> None:
        if self._sheet is not None:
            self._write("</sheetData></worksheet>")
            self._sheet.close()
            self._sheet = None

    def _free(self, title: str) -> str:
        """Return a title that programs allow and no other sheet has."""
        plain = " ".join(re.sub(r"[\[\]:*?/\\\x00-\x1f\ud800-\udfff]", " ", title).split()).strip("'") or "Sheet"
        taken = {title.lower() for title in self._titles}
        for number in itertools.count(1):
            end = f" ({number})" if number > 1 else ""
            start = plain
            while len(start.encode("utf-16-le")) // 2 > LONGEST_TITLE - len(end):
                start = start[:-1]
            result = f"{start.strip()}{end}"
            if result.lower() not in taken and result.lower() != "history":
                return result
        raise AssertionError

    def _add_parts(self) -> None:
        sheets = range(1, len(self._titles) + 1)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        parts = [("/xl/workbook.xml", f"{kind}.sheet.main+xml"), ("/xl/styles.xml", f"{kind}.styles+xml")]
        parts += [(f"/xl/worksheets/sheet{number}.xml", f"{kind}.worksheet+xml") for number in sheets]
        types = "".join(f'<Override PartName="{part}" ContentType="{what}"/>' for part, what in parts)
        names = "".join(
            f'<sheet name="{escape(title, {chr(34): "&quot;"})}" sheetId="{number}" r:id="rId{number}"/>'
            for number, title in enumerate(self._titles, start=1)
        )
        links = [(f"rId{number}", "worksheet", f"worksheets/sheet{number}.xml") for number in sheets]
        links.append((f"rId{len(self._titles) + 1}", "styles", "styles.xml"))
        members = {
            "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_LINKS}"><sheets>{names}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relations(links),
            "_rels/.rels": _relations([("rId1", "officeDocument", "xl/workbook.xml")]),
            "[Content_Types].xml": f'<Types xmlns="{_OFFICE}package/2006/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
            f'ContentType="application/xml"/>{types}</Types>',
        }
        self._archive.writestr(_member("xl/styles.xml"), _STYLES)
        for name, content in members.items():
            self._archive.writestr(_member(name), _XML + content)


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member of an archive that knows no time and no system."""
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.compress_type, member.create_system, member.external_attr = zipfile.ZIP_DEFLATED, 0, 0
    return member


def _relations(links: Iterable[tuple[str, str, str]]) -> str:
    inner = "".join(f'<Relationship Id="{name}" Type="{_LINKS}/{kind}" Target="{to}"/>' for name, kind, to in links)
    return f'<Relationships xmlns="{_OFFICE}package/2006/relationships">{inner}</Relationships>'


def _number(value: float) -> str | None:
    """Return a number as a sheet holds it; None for one that it cannot hold."""
    if isinstance(value, Spelled):
        if not (JSON_NUMBER.fullmatch(value.text) and math.isfinite(value)):
            return None
        return None if abs(value) >= _DIGITS and value.text.lstrip("-").isdigit() else value.text
    if isinstance(value, int):
        return None if abs(value) >= _DIGITS else str(int(value))
    return repr(value) if math.isfinite(value) else None


def _day(value: datetime.date) -> str | None:
    """Return a date as a sheet counts it, in days; None for one that programs do not agree on."""
    whole = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    if whole.tzinfo is not None or whole < _SURE_DAY:
        return None
    days = (whole - _FIRST_DAY) / datetime.timedelta(days=1)
    return str(int(days)) if days.is_integer() else repr(days)
