"""Tables and documents of results in other formats; segments of a selection."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from bsx import compare, convert, score_files
from bsx.analysis.present.forms import in_form
from bsx.analysis.report.documents import read_document
from bsx.data.sidecar import read_sidecar
from bsx.data.tables import Table
from bsx.errors import InputError

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
    assert [(row["id"], row["system"], row["note"]) for row in rows] == [
        ("s0", "ours", ""),
        ("s0", "theirs", ""),
        ("s2", "ours", 'a "note",\nof two lines'),
        ("s2", "theirs", 'a "note",\nof two lines'),
    ]


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


@pytest.mark.parametrize(("ending", "form"), [("tex", "latex"), ("md", "markdown"), ("csv", "csv"), ("txt", "text")])
def test_a_result_is_written_as_its_command_would(scored: Path, tmp_path: Path, ending: str, form: str) -> None:
    result = compare(table=str(scored), resamples=20)
    document = tmp_path / "compare.json"
    document.write_text(json.dumps({**result.to_dict(), "provenance": _origin(scored)}))
    assert convert(table=str(document), output=tmp_path / f"made.{ending}") == 1
    read = read_document(document).content
    expected = in_form(read, form)  # type: ignore[arg-type] # a result
    assert (tmp_path / f"made.{ending}").read_text(encoding="utf-8") == expected.rstrip("\n") + "\n"


def _origin(file: Path) -> dict[str, object]:
    read = [{"name": file.name, "sha256": "0"}]
    return {"kind": "compare", "command": "bsx compare", "versions": {}, "files": read, "signatures": {}}


def test_what_a_document_has_no_form_for_is_refused(scored: Path, tmp_path: Path) -> None:
    document = tmp_path / "compare.json"
    document.write_text(json.dumps({**compare(table=str(scored), resamples=20).to_dict(), "provenance": {}}))
    with pytest.raises(InputError):
        convert(table=str(document), output=tmp_path / "made.xlsx")
    with pytest.raises(InputError) as caught:
        convert(table=str(document), output=tmp_path / "made.tex", segments=document)
    assert caught.value.setting == "segments"
