"""ESA: scores by hand, what is left out, wrong files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bsx.analysis import load_esa
from bsx.errors import InputError
from tests.helpers.tables import write_plain


def test_error_span_annotation(tmp_path: Path) -> None:
    def row(system: str, item: int, score: int, doc: str, spans: object, kind: str = "TGT", whole: bool = False) -> str:
        written = json.dumps(spans).replace('"', '""')
        return f'a1,{system},{item},{kind},eng,jpn,{score},{doc},{whole},"{written}",1.0,2.0'

    minor, major = {"start_i": 1, "end_i": 2, "severity": "minor"}, {"start_i": "missing", "severity": "major"}
    lines = [
        row("t1", 1, 0, "ende-tutorial1", []),
        row("X", 7, 80, "d1", [minor]),
        row("X", 7, 60, "d1#incomplete", [minor, major]),
        row("X", 7, 20, "d1#bad", [major], "BAD"),
        row("Y", 7, 100, "d1", []),
        row("Y", 7, 90, "d1", [], "TGT", True),
    ]
    file = write_plain(tmp_path / "esa.csv", *lines)
    table = load_esa(file)
    assert table["system"] == ["X", "Y"]
    assert table.numbers("human").tolist() == [70, 100]
    assert table.numbers("human_spans").tolist() == [-3.5, 0]
    assert table.numbers("judgments").tolist() == [2, 1]
    assert set(table["lp"]) == {"eng-jpn"}
    counted = ("tutorials", "attention checks", "judgments of whole documents")
    assert all(f"1 {what} are left out" in table.notes for what in counted)
    wrong: list[tuple[int, object, str]] = [
        (101, [], "line 1: the score 101 is not between 0 and 100"),
        (1, [{"severity": "huge"}], "the severity 'huge' is none of"),
        (1, {"a": 1}, "is no list of error spans"),
    ]
    for score, spans, message in wrong:
        with pytest.raises(InputError, match=message):
            load_esa(write_plain(file, row("X", 7, score, "d1", spans)))


@pytest.mark.parametrize("name", ["ref", "ref-A", "refB", "HUMAN", "Human-A.0", "reference"])
def test_names_of_human_translations(name: str, tmp_path: Path) -> None:
    machine = {"ref": "Reformer", "HUMAN": "humanoid"}.get(name, "GPT4_with_refA")
    rows = [f"a,{system},1,TGT,eng,deu,5,d1,False,[],1.0,2.0" for system in (name, machine)]
    file = write_plain(tmp_path / "x.csv", *rows)
    assert load_esa(file).numbers("human_system").tolist() == [1, 0]
    assert load_esa(file, drop_human=True).texts("system") == [machine]
    with pytest.raises(InputError, match="all systems are human translations"):
        load_esa(write_plain(file, rows[0]), drop_human=True)
    with pytest.raises(InputError, match="line 1 has 2 fields, 12 are due"):
        load_esa(write_plain(file, "a,b"))


def test_a_row_a_rater(tmp_path: Path) -> None:
    rows = [f"{who},X,{item},TGT,eng,deu,5,d1,False,[],1.0,2.0" for who, item in (("b", 2), ("a", 1), ("c", 2))]
    assert load_esa(write_plain(tmp_path / "x.csv", *rows), per_rater=True)["judge"] == ["b", "c", "a"]
