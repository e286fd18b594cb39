"""Documents of results are read as they were written; they and tables in other formats; segments of a selection."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bsx import compare, convert, score_files
from bsx.analysis.present.forms import in_form
from bsx.analysis.report.documents import parse_document, read_document
from bsx.data.sidecar import read_sidecar
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.result import Endless, Number, Result

ROWS = [
    {"id": f"s{k}", "system": system, "candidate": f'"{system}"\tsays {k}', "reference": f"says {k} = é"}
    for k in range(4)
    for system in ("ours", "theirs")
]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    score_files(table=str(texts), metrics=["chrf"], output=tmp_path / "scores.jsonl")
    return tmp_path / "scores.jsonl"


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "parquet"])
def test_a_table_holds_the_same_in_any_format(scored: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"made.{ending}"
    assert convert(table=str(scored), output=out) == len(ROWS)
    given, made = list(Table(scored).rows()), list(Table(out).rows())
    assert [row.number("chrf") for row in made] == pytest.approx([row.number("chrf") for row in given], rel=1e-12)
    for row, other in zip(given, made, strict=True):
        texts = [str(row[name]).replace("\t", " ") if ending == "tsv" else row[name] for name in ("id", "candidate")]
        assert [other["id"], other["candidate"]] == texts
    sidecar, original = read_sidecar(out), read_sidecar(scored)
    assert sidecar == original
    assert sidecar is not None


def test_chosen_segments_come_with_their_notes(scored: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "selection.json"
    notes = {"s2": {"note": 'a "note",\nof two lines'}, "s0": {"note": ""}}
    chosen.write_text(json.dumps({"version": 3, "segments": notes}))
    assert convert(table=str(scored), output=tmp_path / "kept.csv", segments=chosen) == 4
    with (tmp_path / "kept.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    expected = [(name, system, notes[name]["note"]) for name in ("s0", "s2") for system in ("ours", "theirs")]
    assert [(row["id"], row["system"], row["note"]) for row in rows] == expected


@pytest.mark.parametrize(
    ("content", "setting"),
    [
        ({"segments": {"s9": {"note": ""}}}, {}),
        ({"segments": {}}, {}),
        ({"segments": ["s1"]}, {}),
        ([], {}),
        ({"segments": {"s1": {"note": ""}}}, {"segment": "nowhere"}),
    ],
)
def test_a_selection_that_does_not_fit_is_refused_and_nothing_is_written(
    scored: Path, tmp_path: Path, content: object, setting: dict[str, str]
) -> None:
    (tmp_path / "selection.json").write_text(json.dumps(content))
    with pytest.raises(Exception, match=r"segment|selection") as caught:
        convert(table=str(scored), output=tmp_path / "kept.tsv", segments=tmp_path / "selection.json", **setting)
    assert caught.type.__module__ == "bsx.errors"
    assert not (tmp_path / "kept.tsv").exists()


def test_a_result_is_written_as_its_command_would_in_the_forms_that_it_has(scored: Path, tmp_path: Path) -> None:
    origin = {"kind": "compare", "command": "bsx compare", "versions": {}, "files": [], "signatures": {}}
    document = tmp_path / "compare.json"
    document.write_text(json.dumps({**compare(table=str(scored), resamples=20).to_dict(), "provenance": origin}))
    read: Any = read_document(document).content
    for ending, form in (("tex", "latex"), ("md", "markdown"), ("csv", "csv"), ("txt", "text")):
        assert convert(table=str(document), output=tmp_path / f"made.{ending}") == 1
        assert (tmp_path / f"made.{ending}").read_text(encoding="utf-8") == in_form(read, form).rstrip("\n") + "\n"
    with pytest.raises(InputError):
        convert(table=str(document), output=tmp_path / "made.xlsx")
    with pytest.raises(InputError) as caught:
        convert(table=str(document), output=tmp_path / "made.tex", segments=document)
    assert caught.value.setting == "segments"


@dataclass(frozen=True, kw_only=True, repr=False)
class Weighed(Result):
    """A result with numbers that JSON cannot hold."""

    weights: Mapping[str, Number]
    penalty: Endless


def test_numbers_that_json_cannot_hold_are_null_and_come_back() -> None:
    result = Weighed(weights={"a": 1.0, "b": math.nan}, penalty=math.inf, settings={"how": "z"}, notes=("n",))
    held = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert held == {"weights": {"a": 1.0, "b": None}, "penalty": None, "settings": {"how": "z"}, "notes": ["n"]}
    assert list(held) == ["weights", "penalty", "settings", "notes"]
    again = Weighed.from_dict(held)
    assert math.isnan(again.weights["b"])
    assert again.penalty == math.inf


@pytest.mark.parametrize("kind", ["nonsense", None, ["meta"]])
def test_an_unknown_kind_is_refused(kind: object) -> None:
    with pytest.raises(InputError, match=r"x\.json: provenance\.kind is"):
        parse_document({"provenance": {"kind": kind}}, "x.json")
