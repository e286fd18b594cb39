"""A table of scores in arrays and a file of texts, and what lies beside it."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx import compare, convert
from bsx.analysis.present.parts import TablePart
from bsx.errors import BsxError
from bsx.ui.results.selection import LONGEST_NOTE, Conflict, change, read_selection
from bsx.ui.results.shown import in_words, read_beside, shown
from bsx.ui.results.store import ScoredTable, TextNames, read_table
from bsx.ui.workspace import Run, Workspace
from tests.ui.results import made


def texts(table: ScoredTable) -> dict[tuple[str, str], list[str | None]]:
    return {(one.role, one.name): table.column(one) for one in table.texts}


@pytest.mark.parametrize("ending", ["jsonl", "tsv", "csv", "parquet"])
def test_numbers_and_texts_are_those_of_the_table(tmp_path: Path, ending: str) -> None:
    content = made.rows(7, ["ours", "theirs"], [text for text in made.HOSTILE if text])
    given = made.write(tmp_path / "run", content, compared=False)
    file = tmp_path / f"scores.{ending}"
    convert(table=str(given), output=file)
    table = read_table(file)
    assert table.systems == ("ours", "theirs")
    assert table.segments == tuple(f"seg-{k}" for k in range(7))
    assert [one.name for one in table.metrics] == [*made.METRICS]
    assert [one.higher for one in table.metrics] == [*made.METRICS.values()]
    expected = np.array([[[content[2 * k + s][m] for k in range(7)] for s in (0, 1)] for m in made.METRICS], np.float64)
    np.testing.assert_array_equal(table.values, expected)
    assert [table.document_names[k] for k in table.documents.astype(int)] == ["doc-0"] * 5 + ["doc-1"] * 2
    found = texts(table)
    assert [*found] == [
        ("source", "source"),
        ("reference", "reference"),
        ("candidate", "ours"),
        ("candidate", "theirs"),
    ]
    assert found["reference", "reference"] == [content[2 * k]["reference"] for k in range(7)]
    assert found["candidate", "theirs"] == [content[2 * k + 1]["candidate"] for k in range(7)]
    assert table.lengths.tolist() == [len(str(content[2 * k]["reference"])) for k in range(7)]


def test_columns_with_names_of_their_own_are_texts(tmp_path: Path) -> None:
    own = {"source": "Ausgangstext", "reference": "Referenzübersetzung", "document": "Datei"}
    content = [{own.get(name, name): cell for name, cell in row.items()} for row in made.rows(1200, ["ours", "theirs"])]
    told: list[int] = []
    named = TextNames(own["source"], (own["reference"],), own["document"])
    table = read_table(made.write(tmp_path / "run", content, compared=False), named, told.append)
    assert [(one.role, one.name) for one in table.texts][:2] == [
        ("source", own["source"]),
        ("reference", own["reference"]),
    ]
    assert len(table.document_names) == 240
    assert told == [1000, 2000]


def compared(folder: Path, segments: int, gains: dict[str, float], systems: str, **settings: Any) -> str:
    """Return what plain words say of systems, each of which is better than the one before by these gains."""
    rng = np.random.default_rng(1)
    rows = [
        {"id": k, "system": name, **{metric: n * gain + rng.normal() for metric, gain in gains.items()}}
        for k in range(segments)
        for n, name in enumerate(systems)
    ]
    table = made.write(folder / "run", rows, compared=False, metrics=dict.fromkeys(gains, True))
    return in_words(compare(table=str(table), **settings))


@pytest.mark.parametrize(
    ("better", "starts"),
    [
        ((5, 5), "b scores best under both metrics (chrF and BLEU)"),
        ((0, 0), "No system is shown to be better than another: under either metric"),
        ((5, 0), "The metrics do not all say the same: b scores best under chrF; under BLEU"),
        ((5, -5), "The metrics do not all say the same: b scores best under chrF; a scores best under BLEU"),
    ],
)
def test_the_answer_in_plain_words(better: tuple[int, int], starts: str, tmp_path: Path) -> None:
    gains = {"chrf": float(better[0]), "bleu": float(better[1])}
    assert compared(tmp_path, 40, gains, "ab", resamples=200, all_pairs=True).startswith(starts)


@pytest.mark.parametrize(
    ("segments", "systems", "settings", "said"),
    [
        (3, "ab", {"all_pairs": True}, "3 segments are too few"),
        (5, "ab", {"all_pairs": True, "test": "bootstrap"}, "5 segments are too few"),
        (60, "abc", {}, ""),  # against a baseline, nothing is said of the others
        (60, "abc", {"all_pairs": True, "correction": "none"}, ""),
        (60, "abc", {"all_pairs": True, "resamples": 20}, ""),
        (60, "abc", {"all_pairs": True}, "c scores best under chrF"),
    ],
)
def test_plain_words_claim_what_the_test_allows(
    segments: int, systems: str, settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    plain = compared(tmp_path, segments, {"chrf": 9.0}, systems, **settings)
    assert plain.startswith(said)
    assert bool(plain) == bool(said)


def test_what_is_missing_is_missing(tmp_path: Path) -> None:
    content = made.rows(4, ["ours", "theirs"])
    content[0]["chrf"] = None
    content[3]["bleu"] = "NaN"
    content[5]["candidate"] = None
    del content[6]
    table = read_table(made.write(tmp_path / "run", content, compared=False))
    assert math.isnan(table.values[0, 0, 0])
    assert math.isnan(table.values[1, 1, 1])
    assert np.isnan(table.values[:, 0, 3]).all()
    assert np.isnan(table.values).sum() == 5
    assert texts(table)["candidate", "theirs"][2] is None
    assert texts(table)["candidate", "ours"][3] is None
    assert any("1 pairs" in note for note in table.notes)


def test_a_table_with_nothing_beside_it_shows_its_numbers(tmp_path: Path) -> None:
    file = tmp_path / "scores.tsv"
    file.write_text("id\tsystem\tcandidate\tscore\tword\n1\ta\tx\t0.5\tone\n2\ta\ty\t\ttwo\n", encoding="utf-8")
    table = read_table(file)
    assert [one.name for one in table.metrics] == ["score"]
    assert len(table.notes) == 1


def test_rows_that_stand_twice_count_once_and_are_told(tmp_path: Path) -> None:
    content = made.rows(2, ["ours"])
    again = {**content[0], "chrf": 1.0}
    table = read_table(made.write(tmp_path / "run", [*content, again], compared=False))
    assert table.values[0, 0, 0] == content[0]["chrf"]
    assert any(note.startswith("1 rows") for note in table.notes)


@pytest.mark.parametrize("content", ["", '{"id": "1", "system": "a", "chrf": "high"}\n', "no JSON\n"])
def test_a_table_that_cannot_be_read_is_an_error_of_the_house(tmp_path: Path, content: str) -> None:
    table = made.write(tmp_path / "run", made.rows(1, ["a"]), compared=False)
    table.write_text(content, encoding="utf-8")
    with pytest.raises(BsxError):
        read_table(table)


def folder_of(tmp_path: Path) -> tuple[Run, ScoredTable]:
    made.write(tmp_path / "run", made.rows(6, ["ours", "theirs"]))
    run = Workspace(tmp_path).run("run")
    return run, read_table(run.scores)


def test_the_answer_is_the_presenters(tmp_path: Path) -> None:
    from bsx.analysis.present.forms import in_form
    from bsx.analysis.report.documents import read_document

    run, table = folder_of(tmp_path)
    found = shown(run, table, read_beside(run, has_folder=True))
    result = read_document(run.file("compare.json")).content
    assert found.lead == in_form(result, "answer")  # type: ignore[arg-type] # a result
    assert found.sections[0].id == "systems"


def test_metrics_are_named_as_people_say_them(tmp_path: Path) -> None:
    titles = {
        "bertscore:model=me5-small-q4": "BERTScore with me5-small-q4",
        "bleu:tokenize=char": "BLEU, of characters",
        "moverscore": "MoverScore, first version",
        "moverscore-v2": "MoverScore, second version",
        "moverscore:ngram=2,idf=false": "MoverScore (ngram=2, idf=false)",
        "chrf": "chrf",  # a system is called so
        "ours:a,b": "ours:a,b",
    }
    noise = np.random.default_rng(1)
    content = [
        {"id": k, "system": name, **{spec: n + 0.1 * noise.normal() for spec in titles}}
        for k in range(30)
        for n, name in enumerate(("theirs", "chrf"))
    ]
    made.write(tmp_path / "run", content, metrics=dict.fromkeys(titles, True))
    run = Workspace(tmp_path).run("run")
    found = shown(run, read_table(run.scores), read_beside(run, has_folder=True))
    said = " ".join([found.plain, found.lead, *map(repr, found.sections)]).replace("metric:bertscore:model=", "")
    assert found.lead.startswith("Under BERTScore with me5-small-q4, BLEU, of characters")
    assert "chrf scores best under all 7 metrics (BERTScore with me5-small-q4, BLEU, of characters" in found.plain
    assert all(title in said for title in titles.values())
    assert "bertscore:model=" not in said
    tables = [block for section in found.sections for block in section.blocks if isinstance(block, TablePart)]
    assert {"rank", "system", *titles.values()} == {*tables[0].columns}


@pytest.mark.parametrize("alone", [True, False])
def test_candidates_that_are_no_translation_stand_with_the_scores(tmp_path: Path, *, alone: bool) -> None:
    run, table = folder_of(tmp_path)
    sidecar = run.scores.with_name(f"{run.scores.name}.signatures.json")
    known = {"metrics": []} if alone or not sidecar.is_file() else json.loads(sidecar.read_text(encoding="utf-8"))
    values = {"count": 2, "of": 6, "examples": [{"segment": "s4", "candidate": "It rains."}]}
    known["outputs"] = [{"name": "copy", "about": "ours", "values": values}]
    sidecar.write_text(json.dumps(known), encoding="utf-8")
    found = shown(run, table, read_beside(run, has_folder=True))
    (scored,) = (section for section in found.sections if section.id == "scored")
    tables = [block for block in scored.blocks if isinstance(block, TablePart)]
    (told,) = (one for one in tables if one.caption == "Candidates that are no translation")
    assert [cell.text for cell in told.rows[0]] == ["ours", "copies of the source", "2", "6", "s4: It rains."]


def test_a_damaged_document_is_told_and_does_no_harm(tmp_path: Path) -> None:
    run, _ = folder_of(tmp_path)
    (run.folder / "broken.json").write_text("{")
    (run.folder / "other.json").write_text('{"provenance": {"kind": "no such"}}')
    found = read_beside(run, has_folder=True)
    assert len(found.notes) == 2
    assert [*found.documents] == ["compare.json"]


def test_a_table_among_others_takes_only_what_names_it(tmp_path: Path) -> None:
    run, _ = folder_of(tmp_path)
    for name in ("scores.jsonl", "scores.jsonl.signatures.json", "compare.json"):
        shutil.copy(run.folder / name, tmp_path / name)
    alone = Workspace(tmp_path).run("scores.jsonl")
    assert [*read_beside(alone, has_folder=False).documents] == ["compare.json"]
    shutil.move(tmp_path / "scores.jsonl", tmp_path / "more.jsonl")
    shutil.move(tmp_path / "scores.jsonl.signatures.json", tmp_path / "more.jsonl.signatures.json")
    alone = Workspace(tmp_path).run("more.jsonl")
    assert read_beside(alone, has_folder=False).documents == {}


def test_two_tabs_do_not_lose_each_others_notes(tmp_path: Path) -> None:
    file, known = tmp_path / "selection.json", ("a", "b", "c")
    change(file, "a", None, "first", known)
    change(file, "b", None, "", known)  # another tab, which knows of nothing yet
    assert read_selection(file).notes == {"a": "first", "b": ""}
    with pytest.raises(Conflict) as caught:
        change(file, "a", None, "second", known)
    assert caught.value.kept.notes["a"] == "first"
    with pytest.raises(Conflict):
        change(file, "a", "older", None, known)
    assert change(file, "a", "first", "second", known).version == 3
    assert change(file, "a", "older", "second", known).version == 3  # it is that already
    assert change(file, "a", "second", None, known).notes == {"b": ""}
    assert json.loads(file.read_text()) == {"version": 4, "segments": {"b": {"note": ""}}}


@pytest.mark.parametrize(("segment", "note"), [("d", ""), ("a", "x" * (LONGEST_NOTE + 1))])
def test_what_cannot_be_kept_is_refused(tmp_path: Path, segment: str, note: str) -> None:
    with pytest.raises(BsxError):
        change(tmp_path / "selection.json", segment, None, note, ("a",))
    assert not (tmp_path / "selection.json").exists()
