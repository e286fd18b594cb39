"""Where a data set is missing, the shipped example of its form stands in, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.analysis import load_data_or_example
from bsx.errors import UnknownNameError
from tests.helpers.tables import write_plain


@pytest.mark.parametrize(
    ("name", "example", "rows", "columns"),
    [
        ("mlqe-et-en", "en-systems", 330, {"system", "segment", "candidate", "reference", "reference2", "human"}),
        ("wmt21-ted-mqm-en-de", "de-systems", 120, {"system", "segment", "candidate", "reference", "human"}),
        ("stsb-de-dev", "de-systems", 120, {"segment", "candidate", "reference", "human"}),
        ("paws-wiki-test", "en-triples", 120, {"segment", "candidate", "reference", "label"}),
        ("demetr", "en-challenge", 120, {"segment", "source", "reference", "good", "bad", "phenomenon", "severity"}),
    ],
)
def test_the_example_has_the_columns_of_the_data_set(
    name: str, example: str, rows: int, columns: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = load_data_or_example(name, data_dir=tmp_path)
    assert (table.name, len(table), table.example) == (example, rows, True)
    assert columns <= set(table.columns)
    [line] = capsys.readouterr().out.splitlines()
    assert f"bsx data get {name}" in line
    assert example in line
    assert table.where(segment=table.texts("segment")[0]).example
    assert "invented" in table.scope


def test_a_second_reference_is_another_system_s_text_of_the_full_meaning(tmp_path: Path) -> None:
    table = load_data_or_example("mlqe-et-en", data_dir=tmp_path)
    grades = {(row["segment"], row["candidate"]): row["human"] for row in table.rows()}
    second = [row for row in table.rows() if row["reference2"]]
    assert len(second) == 175
    assert all(grades[row["segment"], row["reference2"]] == 4 for row in second)


def test_real_data_win_over_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stsb").mkdir()
    rows = ("sentence1\tsentence2\tscore", "Ein Haus.\tDas Haus.\t4.0")
    write_plain(tmp_path / "stsb" / "stsb-de-dev.tsv", *rows)
    table = load_data_or_example("stsb-de-dev", data_dir=tmp_path)
    assert (table.name, len(table), table.example) == ("stsb-de-dev", 1, False)
    assert "real data" in capsys.readouterr().out
    with pytest.raises(UnknownNameError):
        load_data_or_example("no-such-set", data_dir=tmp_path)
