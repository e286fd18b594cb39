"""ESA and DA+SQM: scores by hand, what is left out, wrong files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bsx.analysis import load_da_sqm, load_esa
from bsx.errors import InputError


def test_error_span_annotation(tmp_path: Path) -> None:
    def row(
        system: str, item: int, score: object, doc: str, spans: object, kind: str = "TGT", whole: str = "False"
    ) -> str:
        written = json.dumps(spans).replace('"', '""')
        return f'a1,{system},{item},{kind},eng,jpn,{score},{doc},{whole},"{written}",1.0,2.0'

    minor, major = {"start_i": 1, "end_i": 2, "severity": "minor"}, {"start_i": "missing", "severity": "major"}
    lines = [
        row("t1", 1, 0, "ende-tutorial1", []),
        row("X", 7, 80, "d1", [minor]),
        row("X", 7, 60, "d1#incomplete", [minor, major]),
        row("X", 7, 20, "d1#bad", [major], "BAD"),
        row("Y", 7, 100, "d1", []),
        row("Y", 7, 90, "d1", [], "TGT", "True"),
    ]
    file = tmp_path / "esa.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = load_esa(file)
    assert table["system"] == ["X", "Y"]
    assert table.numbers("human").tolist() == [70, 100]
    assert table.numbers("human_spans").tolist() == [-3.5, 0]
    assert table.numbers("judgments").tolist() == [2, 1]
    assert set(table["lp"]) == {"eng-jpn"}
    counted = ("tutorials", "attention checks", "judgments of whole documents")
    assert all(f"1 {what} are left out" in table.notes for what in counted)
    file.write_text(row("X", 7, 101, "d1", []) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: the score 101 is not between 0 and 100"):
        load_esa(file)
    file.write_text(row("X", 7, 1, "d1", [{"severity": "huge"}]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="the severity 'huge' is none of"):
        load_esa(file)
    file.write_text(row("X", 7, 1, "d1", {"a": 1}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="is no list of error spans"):
        load_esa(file)


def appraised(annotator: str, system: str, item: int, score: object, kind: str = "TGT", whole: str = "False") -> str:
    return f"{annotator},{system},{item},{kind},eng,deu,{score},d1,{whole},1.0,2.0"


def test_direct_assessment_with_sqm(tmp_path: Path) -> None:
    lines = [appraised("a", system, k, score) for system, k, score in (("X", 1, 80), ("X", 2, 60), ("refA", 1, 100))]
    lines += [appraised("b", "X", 1, 40), appraised("b", "X", 2, 20), appraised("c", "X", 1, 50)]
    lines += [appraised("a", "X", 3, 0, "BAD"), appraised("a", "X", 1, 9, "TGT", "True")]
    file = tmp_path / "da.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = load_da_sqm(file)
    assert table["system"] == ["X", "X", "refA"]
    assert table.numbers("human_raw").tolist() == pytest.approx([170 / 3, 40, 100])
    z = {"a": lambda x: (x - 80) / 20, "b": lambda x: (x - 30) / np.sqrt(200)}
    expected = [(z["a"](80) + z["b"](40) + 0) / 3, (z["a"](60) + z["b"](20)) / 2, z["a"](100)]
    assert table.numbers("human").tolist() == pytest.approx(expected)
    assert table.numbers("human_system").tolist() == [0, 0, 1]
    said = (
        "1 rows are human translations (refA)",
        "1 attention checks are left out",
        "1 annotators gave one score only",
    )
    assert all(any(part in note for note in table.notes) for part in said)
    dropped = load_da_sqm(file, drop_human=True)
    assert set(dropped.texts("system")) == {"X"}
    assert any("(refA), left out" in note for note in dropped.notes)
    single = load_da_sqm(file, per_rater=True)
    assert single["judge"] == ["a", "b", "c", "a", "b", "a"]
    file.write_text(appraised("a", "refA", 1, 5) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="all systems are human translations"):
        load_da_sqm(file, drop_human=True)
    file.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1 has 2 fields, 11 are due"):
        load_da_sqm(file)


@pytest.mark.parametrize("name", ["ref", "ref-A", "refB", "HUMAN", "Human-A.0", "reference"])
def test_names_of_human_translations(name: str, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    machine = {"ref": "Reformer", "HUMAN": "humanoid"}.get(name, "GPT4_with_refA")
    file.write_text(f"{appraised('a', name, 1, 5)}\n{appraised('a', machine, 1, 9)}\n", encoding="utf-8")
    assert load_da_sqm(file).numbers("human_system").tolist() == [1, 0]
