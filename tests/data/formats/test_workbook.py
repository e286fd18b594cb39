"""Spreadsheets out: what is written is read back, by bsx and by others, and is never a formula."""

from __future__ import annotations

import datetime
import math
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bsx.data.cells import Spelled
from bsx.data.formats import workbook
from bsx.data.formats.workbook import Workbook
from bsx.data.output import ScoreTable
from bsx.data.tables import Table
from bsx.errors import InputError
from tests.conftest import Cli

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | st.sampled_from(
    ["=1+1", "+1", "-1", "@SUM(A1)", "_x0041_", "_x", "a\r\nb", "\x01", "\ufffe", "  ", "<a>&amp;", "'x", "true", "007"]
)
CELLS = (
    TEXTS
    | st.booleans()
    | st.integers(-(10**14), 10**14)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
    | st.dates(datetime.date(1900, 3, 1), datetime.date(9999, 12, 31))
)


def write(path: Path, *rows: Mapping[str, object]) -> Path:
    with ScoreTable(path) as table:
        for row in rows:
            table.write(dict(row))
    return path


@given(st.lists(st.fixed_dictionaries({"a": CELLS, "b": TEXTS}), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cells_are_read_back(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    kept: list[dict[str, object]] = [{**row, "n": 1} for row in rows]
    spelled: list[dict[str, object]] = [
        {name: Spelled(repr(value)) if isinstance(value, float) else value for name, value in row.items()}
        for row in kept
    ]
    found = [dict(row) for row in Table(write(tmp_path / "t.xlsx", *spelled)).rows()]
    assert found == kept
    for row, other in zip(found, kept, strict=True):
        assert isinstance(row["a"], str) == isinstance(other["a"], str)


def test_no_text_is_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@x", '=HYPERLINK("http://x.example")', "=cmd|' /C calc'!A0", "12", "2024-01-01"]
    write(tmp_path / "t.xlsx", *({"text": text} for text in texts))
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets[0]
    cells = [row[0] for row in sheet.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == texts
    assert {cell.data_type for cell in cells} == {"s"}
    assert {cell.number_format for cell in cells} == {"@"}  # so that editing one makes no formula of it either


def test_the_same_cells_are_the_same_bytes(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"a": "x", "b": 0.123456789123, "c": True}, {"a": "", "b": math.nan, "c": None}]
    first = write(tmp_path / "1.xlsx", *rows).read_bytes()
    time.sleep(0.01)
    assert write(tmp_path / "2.xlsx", *rows).read_bytes() == first
    with zipfile.ZipFile(tmp_path / "2.xlsx") as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    rows_of = openpyxl.load_workbook(tmp_path / "1.xlsx").worksheets[0].iter_rows(min_row=2, values_only=True)
    assert next(rows_of) == ("x", 0.123456789, True)  # as in every table of scores; an empty row is none
    assert next(rows_of, None) is None


def test_large_whole_numbers_keep_their_digits(tmp_path: Path) -> None:
    write(tmp_path / "t.xlsx", {"id": 12345678901234567890, "x": Spelled("1e-3")})
    assert dict(next(Table(tmp_path / "t.xlsx").rows())) == {"id": "12345678901234567890", "x": 0.001}


def test_limits_are_said_before_anything_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.xlsx"
    with pytest.raises(InputError, match=r"row 3, column 'b' has 32,768 characters"):
        write(path, {"a": 1, "b": "x" * 32_767}, {"a": 2, "b": "x" * 32_768})
    with pytest.raises(InputError, match="32,768 characters"):
        write(path, {"b": "𝒳" * 16_384})
    with pytest.raises(InputError, match="columns are more"):
        write(path, {str(place): 1 for place in range(16_385)})
    with pytest.raises(InputError, match="more than a spreadsheet holds"), ScoreTable(path) as table:
        table.expect(1_048_576)
    monkeypatch.setattr(workbook, "MOST_ROWS", 3)
    with pytest.raises(InputError, match="more than a spreadsheet holds"):
        write(path, *({"a": 1} for _ in range(3)))
    assert list(tmp_path.iterdir()) == []
    write(path, *({"a": 1} for _ in range(2)))
    assert Table(path).count() == 2


def test_more_rows_than_a_sheet_are_refused_before_they_are_scored(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MOST_ROWS", 3)
    (tmp_path / "t.tsv").write_text("candidate\treference\n" + "a\tb\n" * 3, encoding="utf-8")
    done = cli("score", tmp_path / "t.tsv", "--metrics", "chrf", "-o", tmp_path / "o.xlsx")
    assert (done.status, done.out) == (2, "")
    assert "more than a spreadsheet holds" in done.err
    assert {file.name for file in tmp_path.iterdir()} == {"t.tsv"}


def test_titles_of_sheets_are_such_as_programs_take(tmp_path: Path) -> None:
    titles = ["a/b:c?[d]*\\e", "x" * 40, "X" * 40, "", "History", "'q'", "𝒳" * 20]
    with Workbook(tmp_path / "t.xlsx", "t.xlsx") as book:
        for title in titles:
            book.begin(title, ["a"])
    found = openpyxl.load_workbook(tmp_path / "t.xlsx").sheetnames
    assert len(found) == len(titles) == len({title.lower() for title in found})
    assert all(0 < len(title.encode("utf-16-le")) // 2 <= 31 for title in found)
    assert not any(set(title) & set("[]:*?/\\") for title in found)


def test_a_table_without_rows_can_be_opened(tmp_path: Path) -> None:
    write(tmp_path / "t.xlsx")
    assert len(openpyxl.load_workbook(tmp_path / "t.xlsx").worksheets) == 1


def test_scores_are_written_resumed_and_read_again(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "t.tsv").write_text("system\tid\tcandidate\treference\ns\t1\t=a b\ta b\ns\t2\ta\tb\n", encoding="utf-8")
    for name in ("o.xlsx", "o.tsv"):
        call = ["score", tmp_path / "t.tsv", "--metrics", "chrf,bleu", "-o", tmp_path / name, "--resume"]
        assert cli(*call).status == 0
    one, other = Table(tmp_path / "o.xlsx"), Table(tmp_path / "o.tsv")
    assert one.columns == other.columns
    for row, expected in zip(one.rows(), other.rows(), strict=True):
        assert [row["candidate"], row.number("chrf"), row.number("bleu")] == [
            *(expected["candidate"], expected.number("chrf"), expected.number("bleu"))
        ]
    assert cli("report", tmp_path / "o.xlsx", "-o", tmp_path / "r.html").status == 0


def test_results_are_written_as_spreadsheets(tmp_path: Path, cli: Cli) -> None:
    rows = "".join(f"{'ab'[i % 2]}\t{i // 2}\tc d {i}\tc d e {i // 2}\n" for i in range(20))
    (tmp_path / "t.tsv").write_text("system\tid\tcandidate\treference\n" + rows, encoding="utf-8")
    call = ["compare", tmp_path / "t.tsv", "--metrics", "chrf", "--resamples", "20"]
    assert cli(*call, "-o", tmp_path / "o.xlsx").status == 0
    first, *others = openpyxl.load_workbook(tmp_path / "o.xlsx").worksheets
    assert first.title == "Answer"
    said = [row[1] for row in first.iter_rows(values_only=True)]
    assert cli(*call, "--format", "text").out.splitlines()[0] in said
    assert any(isinstance(cell, float) for sheet in others for row in sheet.iter_rows(values_only=True) for cell in row)
    before = (tmp_path / "o.xlsx").read_bytes()
    assert cli(*call, "--format", "xlsx", "-o", tmp_path / "o.xlsx").status == 0
    assert (tmp_path / "o.xlsx").read_bytes() == before
    done = cli(*call, "--format", "xlsx")
    assert (done.status, done.out) == (2, "")
