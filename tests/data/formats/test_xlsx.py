"""Spreadsheets in: what cells mean, where problems stand, and files that mean harm."""

from __future__ import annotations

import datetime
import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from bsx.data.formats import xlsx
from bsx.data.output import FORMATS, ScoreTable
from bsx.data.sources import MOST_COLUMNS
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from tests.conftest import Cli


def book(path: Path, *rows: Sequence[Any], merged: Sequence[str] = (), **sheets: list[list[Any]]) -> Path:
    """Write a workbook as others write them."""
    made = openpyxl.Workbook()
    made.worksheets[0].title = "First"
    for sheet, content in ((made.worksheets[0], rows), *((made.create_sheet(n), of) for n, of in sheets.items())):
        for row in content:
            sheet.append(row)
    for cells in merged:
        made.worksheets[0].merge_cells(cells)
    made.save(path)
    return path


def edited(path: Path, member: str, old: str, new: str) -> Path:
    """Replace a piece of one part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[member]
    parts[member] = parts[member].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


SHEET = "xl/worksheets/sheet1.xml"


def test_cells_are_what_they_are(tmp_path: Path) -> None:
    day, moment = datetime.datetime(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)
    file = book(
        tmp_path / "t.xlsx", ["n", "x", "ok", "day", "at", "t"], [7, 0.1, True, day, moment, " a\nb "], [None, 3]
    )
    table = Table(file)
    first, second = table.rows()
    assert list(first.values()) == [7, 0.1, True, day.date(), moment, " a\nb "]
    assert list(second.values()) == ["", 3, "", "", "", ""]
    assert (first.number("n"), first.name("n"), second.number("x")) == (7, "7", 3)
    assert (first.text("n"), second.text("t")) == ("7", "")  # digits are a text where one is due
    with pytest.raises(InputError, match=r"sheet 'First', row 2, column B \('x'\)"):
        first.text("x")
    assert [str(kind) for kind in table.types().values()] == ["int64", "double", "bool", "string", "string", "string"]


def test_empty_rows_and_columns_do_not_count(tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", [], ["a", " b ", None, ""], [1, 2], [None, "", None], [3, 4, None, ""], [], [None])
    table = Table(file)
    assert table.columns == ["a", "b"]
    assert [(row.where.rpartition(" ")[2], row["a"], table.row_number(row)) for row in table.rows()] == [
        ("3", 1, "1"),
        ("5", 3, "2"),
    ]
    assert table.count() == 2


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ('<dimension ref="A1:B2"', '<dimension ref="A1"', [{"a": 1, "b": 2}]),
        ('<row r="2"', '<row r="99999999999"', []),  # beyond a sheet, and not waited for
    ],
)
def test_what_a_file_says_of_its_size_does_not_count(
    old: str, new: str, rows: list[dict[str, int]], tmp_path: Path
) -> None:
    file = edited(book(tmp_path / "t.xlsx", ["a", "b"], [1, 2]), SHEET, old, new)
    assert [dict(row) for row in Table(file).rows()] == rows


def test_sheets_that_are_hidden_or_empty_are_passed_over_unless_named(tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", ["old"], [1], Empty=[], New=[["new\n(approved)"], [2]])
    made = openpyxl.load_workbook(file)
    made["First"].sheet_state, made.active = "hidden", 1
    made["New"].row_dimensions[2].hidden = made["New"].column_dimensions["A"].hidden = True  # rows and columns count
    made.save(file)
    table = Table(file)
    assert (table.columns, [list(row.values()) for row in table.rows()]) == (["new (approved)"], [[2]])
    assert "'New' is read; others (First, Empty)" in table.notes[0]
    assert Table(f"{file}#First").columns == ["old"]
    with pytest.raises(InputError, match="sheet 'Empty' is empty"):
        Table(f"{file}#Empty")


def test_the_row_that_names_all_columns_is_found_below_a_title(tmp_path: Path) -> None:
    head: list[list[Any]] = [["Vergleich der Übersetzungen, März"], []]
    head += [["Nr.", "Ausgangstext", "Übersetzungen", None, "Referenz"], [None, None, "Atlas", "Brook", None]]
    rows: list[list[Any]] = [
        [1, "one two", "eins zwei", "ein zwei", "eins zwei"],
        [2, None, "drei", "vier", "drei"],
        [3, "x", "a", "b", "c"],
    ]
    merged = ("A1:E1", "A3:A4", "B3:B4", "C3:D3", "E3:E4", "A5:E5", "B6:B7")
    book(tmp_path / "t.xlsx", *head, ["Kapitel 1"], *rows, merged=merged)
    table = Table(tmp_path / "t.xlsx")
    assert table.columns == ["Nr.", "Ausgangstext", "Atlas", "Brook", "Referenz"]
    rows[1][1] = "one two"
    assert [list(row.values()) for row in table.rows()] == rows
    assert [table.row_number(row) for row in table.rows()] == ["1", "2", "3"]
    assert "row 4 names the columns" in table.notes[0]
    assert "merged over several rows" in table.notes[1]
    assert table.notes[2].endswith("rows that are one merged cell are headings, and are left out: 1")
    with pytest.raises(InputError, match="gives the column no name"):
        list(Table(f"{tmp_path / 't.xlsx'}#First!1").rows())
    with pytest.raises(InputError, match="row 2 is empty"):
        Table(f"{tmp_path / 't.xlsx'}#First!2")
    with pytest.raises(UnknownNameError, match="no sheet 'Mai!4'"):
        Table(f"{tmp_path / 't.xlsx'}#Mai!4")


def test_merged_cells_within_a_row_of_the_table_are_no_heading(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["source", "candidate", "note"],
        ["s", "hyp A", "n"],
        [None, "hyp B", None],
        [None, "hyp C", None],
    ]
    file = book(tmp_path / "t.xlsx", *rows, merged=["A2:A3", "B3:C3", "B4:C4"])
    assert [row["candidate"] for row in Table(file).rows()] == ["hyp A", "hyp B", "hyp C"]


def test_sheets_are_named_and_told(tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", ["a"], [1], Second=[["b"], [2], [3]])
    assert Table(file).columns == ["a"]
    assert len(Table(file).notes) == 1
    assert "First" in Table(file).notes[0]
    more: dict[str, Any] = {"A#B": [["b"], [2]]}
    hashed = book(tmp_path / "h.xlsx", ["a"], [1], **more)
    assert Table(f"{hashed}#A#B").columns == ["b"]
    other = Table(f"{file}#Second")
    assert (other.columns, other.count(), other.notes) == (["b"], 2, [])
    with pytest.raises(UnknownNameError, match="Near: Second"):
        Table(f"{file}#Secund")
    real = tmp_path / "a.xlsx#b"
    real.write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot tell the format"):
        Table(real)


def test_formulas_count_as_their_values_or_not_at_all(tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", ["a", "b"], [1, 2], [3, "=A2+B2"])
    with pytest.raises(InputError, match=r"row 3, column B.*open the file in a spreadsheet program and save it"):
        list(Table(file).rows())
    edited(file, SHEET, "<f>A2+B2</f><v></v>", "<f>A2+B2</f><v>3</v>")
    assert [row["b"] for row in Table(file).rows()] == [2, 3]


def test_a_formula_that_failed_is_no_text(tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", ["a", "b"], ["x", "#REF!"])
    assert [row["a"] for row in Table(file).rows("a")] == ["x"]
    with pytest.raises(InputError, match=r"row 2, column B \('b'\): holds the error #REF!"):
        list(Table(file).rows("b"))


NAMELESS: list[list[str | None]] = [
    [None, "source", "candidate"],
    ["source", "candidate"],
    ["ID", "Source", "Target", None],
    ["one", "eins"],
]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([["a"], [1, 2]], "row 2, column B: holds a value, but row 1 gives the column no name"),
        ([["a", "b"], *[["x", "y"]] * 4, ["p", "q", "stray"], *[["x", "y"]] * 9], "row 6, column C"),
        ([["a", "a"]], "stands twice"),
        ([[]], "is empty"),
        ([["Results of March"], ["a", "b"], ["x", "y", "stray"]], "t.xlsx#First!2"),
        ([[None, "a", "b"], [0, "x", "y"]], "index=False"),
        # Where a name is missing, that is an error, and no row of the table becomes its header.
        *(
            ([head, *([f"{c} {n}" for c in "abcd"[: len(head) + (None not in head)]] for n in range(5))], "no name")
            for head in NAMELESS
        ),
    ],
)
def test_problems_name_the_place(rows: list[list[Any]], problem: str, tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", *rows)
    with pytest.raises(InputError, match=problem):
        list(Table(file).rows())


ENTITY = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>'
OLD = b"\xd0\xcf\x11\xe0"
BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no zip": (lambda path: path.write_bytes(b"PK\3\4 and no more"), "."),
    "an old one": (lambda path: path.write_bytes(OLD + bytes(600)), "."),
    "a locked one": (lambda path: path.write_bytes(OLD + b"\xa1\xb1\x1a\xe1" + bytes(600)), "without a password"),
    "a page": (lambda path: path.write_bytes(b"%PDF-1.7\n"), "is no whole spreadsheet"),
    "another zip": (lambda path: path.write_bytes(zip_of({"a.txt": "b"})), "."),
    "a document": (
        lambda path: path.write_bytes(zip_of({"[Content_Types].xml": "<Types/>", "word/document.xml": "<document/>"})),
        "put its texts into a spreadsheet",
    ),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "."),
    "entities in a sheet": (lambda path: edited(path, SHEET, "<worksheet", ENTITY + "<worksheet"), "."),
    "entities in a part": (lambda path: edited(path, "xl/workbook.xml", "<workbook", ENTITY + "<workbook"), "."),
    "odd rows": (lambda path: edited(path, SHEET, '<row r="2"', '<row r="x"'), "."),
    "odd strings": (lambda path: edited(path, SHEET, 't="n"><v>1</v>', 't="s"><v>99</v>'), "."),
}


def zip_of(parts: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize("how", BROKEN)
def test_damaged_and_hostile_files_are_one_line(how: str, tmp_path: Path) -> None:
    file = book(tmp_path / "t.xlsx", ["a", "b"], [1, "x"])
    damage, advice = BROKEN[how]
    damage(file)
    with pytest.raises(InputError, match=advice) as caught:
        list(Table(file).rows())
    message = str(caught.value)
    assert message.startswith(str(file))
    assert "\n" not in message
    for word in ("Error", "zip", "index", "literal", "None", "openpyxl", "http"):  # libraries' words
        assert word not in message.removeprefix(str(file)) or how == "another zip"


def test_a_cell_at_the_end_of_a_sheet_is_not_waited_for(tmp_path: Path) -> None:
    cells = '<row r="1048576"><c r="{}1048576" t="n">{}</c></row></sheetData>'
    deep = edited(book(tmp_path / "deep.xlsx", ["a"], [1]), SHEET, "</sheetData>", cells.format("A", "<v>1</v>"))
    table = Table(deep)
    rows = list(table.rows())
    assert [(row["a"], row.where.rpartition(" ")[2]) for row in rows] == [(1, "2"), (1, "1048576")]
    assert isinstance(table.source, xlsx.Sheet)
    assert len(list(table.source._cells())) == 3  # empty rows are not looked at one by one
    wide = edited(book(tmp_path / "wide.xlsx", ["a"], [1]), SHEET, "</sheetData>", cells.format("XFD", ""))
    with pytest.raises(InputError, match="row 1048576.*XFD"):
        list(Table(wide).rows())


@pytest.mark.parametrize("ending", FORMATS)
def test_a_table_with_more_columns_than_anybody_needs_is_refused(ending: str, tmp_path: Path) -> None:
    for number, refused in ((MOST_COLUMNS, False), (MOST_COLUMNS + 1, True)):
        names = [f"c{place}" for place in range(number)]
        file = tmp_path / f"{number}{ending}"
        with ScoreTable(file) as table:
            table.write(dict.fromkeys(names, 1))
        if refused:
            with pytest.raises(InputError, match="columns"):
                Table(file)
        else:
            assert Table(file).columns == names


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds a thousandth of the real ones."""
    monkeypatch.setattr(xlsx, "_BOMB", (2**16, 100))
    file = book(tmp_path / "t.xlsx", ["a"], [1])
    assert Table(file).count() == 1
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet2.xml", b" " * 2**23)
    with pytest.raises(InputError, match="which no spreadsheet does"):
        Table(file)


def test_a_pipe_and_a_packed_file_are_told_by_their_content(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = book(tmp_path / "t.xlsx", ["candidate", "reference"], ["a b c", "a b d"])
    packed = tmp_path / "p.xlsx.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    results = [cli("score", name, "--metrics", "chrf") for name in (file, packed, "-")]
    assert [done.status for done in results] == [0, 0, 0]
    assert len({done.out for done in results}) == 1
