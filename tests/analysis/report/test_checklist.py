"""The checklist for a paper: nothing is done without a figure that a file holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bsx.analysis.checklist import Checklist, ChecklistItem
from bsx.errors import InputError
from bsx.jobs import challenge_metrics, checklist, compare, evaluate, meta, prefer_paraphrases
from bsx.support.provenance import Provenance, provenance
from bsx.support.result import Result
from bsx.support.untyped import to_json
from tests.conftest import Outcome

SYSTEMS = ("atlas", "brook", "cinder")
EXAMPLES = Path(str(files("bsx.examples")))
TABLE = str(EXAMPLES / "en-systems.tsv")
Cli = Callable[..., Outcome]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checklist") / "evaluation"
    grades = [f"{system}_grade" for system in SYSTEMS]
    evaluate(table=TABLE, lang="en", metrics=["chrf", "sentbleu"], human=grades, output=folder)
    return folder


def written(result: Result, path: Path, *read: str) -> Path:
    from dataclasses import replace

    known = replace(result, provenance=Provenance.read(provenance(result.kind, read)))
    path.write_text(to_json(known.to_dict()), encoding="utf-8")
    return path


def items(made: Checklist) -> dict[str, ChecklistItem]:
    return {item.name: item for item in made.items}


def test_what_evaluate_writes(evaluated: Path) -> None:
    made = checklist(files=[evaluated])
    assert made.files == ("compare.json", "evaluation.json", "meta.json", "scores.tsv")
    done = {item.name for item in made.of("done")}
    wanted = {"test set", "same data", "signatures", "significance", "sentinels", "language", "human judgments"}
    assert done == wanted
    for item in made.items:
        assert bool(item.how) == (item.status != "done")
        if item.status == "done":
            assert item.file in made.files
    content = json.loads((evaluated / "compare.json").read_text(encoding="utf-8"))
    tests = [test for metric in content["metrics"] for test in metric["tests"]]
    found = items(made)
    better = sum("better" in test and test["better"] is not None for test in tests)
    assert found["significance"].figure.startswith(f"{better} of {len(tests)} ")
    assert found["test set"].figure.startswith(f"en-systems.tsv ({content['provenance']['files'][0]['sha256'][:12]})")
    judged = json.loads((evaluated / "meta.json").read_text(encoding="utf-8"))["groups"][0]
    best = max(one["value"] for one in judged["metrics"] if not one.get("control"))
    assert f"{best:.3f}" in found["sentinels"].figure
    assert f"{judged['n']:,}" in found["human judgments"].figure
    # One reference, two metrics of strings, and 110 segments: none of that counts.
    assert {found[name].status for name in ("references", "metrics", "size")} == {"not done"}
    assert (
        " --candidate atlas,brook,cinder " in found["size"].how
    )  # bsx compare is not told otherwise what the systems are
    assert made.answer.startswith("7 of 13 items are covered")
    assert Checklist.from_dict(made.to_dict()) == made


def test_results_of_other_commands_add_their_items(evaluated: Path, tmp_path: Path) -> None:
    challenge = challenge_metrics(table=EXAMPLES / "en-challenge.tsv", metrics=["chrf"])
    triples = prefer_paraphrases(table=EXAMPLES / "en-triples.tsv", metrics=["chrf"])
    found = items(checklist(files=[evaluated, written(challenge, tmp_path / "challenge.json")]))
    assert (found["challenge sets"].status, found["challenge sets"].file) == ("done", "challenge.json")
    alone = items(checklist(files=[written(triples, tmp_path / "triples.json")]))
    assert alone["challenge sets"].figure == f"chrf prefers {100 * triples.results[0].rate:.1f} % of 60 paraphrases"


def test_correlations_on_other_data_do_not_vouch_for_these_systems(tmp_path: Path) -> None:
    compared = compare(table=TABLE, candidate=SYSTEMS, metrics=["chrf"], lang="en")
    shown = written(compared, tmp_path / "compare.json", TABLE)
    grades = [f"{system}_grade" for system in SYSTEMS]
    named: dict[str, Any] = {"candidate": SYSTEMS, "metrics": ["ter"], "human": grades, "lang": "en"}
    other = tmp_path / "other.tsv"
    other.write_text(Path(TABLE).read_text(encoding="utf-8").replace("the", "a"), encoding="utf-8")
    elsewhere = meta(table=str(other), **named)
    found = items(checklist(files=[shown, written(elsewhere, tmp_path / "elsewhere.json", str(other))]))
    assert (found["human judgments"].status, found["language"].status) == ("not done", "unknown")
    assert (found["metrics"].figure, found["signatures"].figure) == ("chrf: of one kind, lexical", "1 of 1 metrics")
    here = written(meta(table=TABLE, **named), tmp_path / "here.json", TABLE)
    found = items(checklist(files=[shown, here]))
    assert {found[name].status for name in ("human judgments", "language")} == {"done"}


def test_uncorrected_tests_and_unsigned_metrics_are_not_done(tmp_path: Path) -> None:
    named: dict[str, Any] = {"table": TABLE, "candidate": SYSTEMS, "metrics": ["chrf"], "lang": "en"}
    plain = compare(**named, correction="none")
    found = items(checklist(files=[written(plain, tmp_path / "plain.json", TABLE)]))
    assert found["significance"].status == "not done"
    assert "not corrected" in found["significance"].figure
    table = tmp_path / "scores.tsv"
    table.write_text("system\tid\tmine\na\t1\t.5\na\t2\t.6\nb\t1\t.4\nb\t2\t.7\n", encoding="utf-8")
    unsigned = items(checklist(files=[table], columns=["mine"]))
    assert unsigned["signatures"].status == "not done"
    assert unsigned["metrics"].status == "unknown"
    assert {item.status for item in unsigned.values()} <= {"not done", "unknown"}


def test_files_about_different_data_or_nothing_are_refused(evaluated: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text(Path(TABLE).read_text(encoding="utf-8").replace("the", "a"), encoding="utf-8")
    found = compare(table=str(other), candidate=SYSTEMS[:2], metrics=["chrf"], lang="en")
    with pytest.raises(InputError, match="different data"):
        checklist(files=[evaluated, written(found, tmp_path / "compare-other.json", str(other))])
    with pytest.raises(InputError, match="columns names them"):
        checklist(files=[TABLE])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no results"):
        checklist(files=[tmp_path / "empty"])
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="provenance"):
        checklist(files=[tmp_path / "none.json"])


def test_every_form_and_what_has_no_effect(evaluated: Path, tmp_path: Path, cli: Cli) -> None:
    for name, holds in (("c.md", "| test set"), ("c.tex", r"\toprule"), ("c.html", "<table"), ("c.json", '"items"')):
        assert cli("report", "--checklist", evaluated, "-o", tmp_path / name).status == 0
        assert holds in (tmp_path / name).read_text(encoding="utf-8")
    shown = cli("report", "--checklist", evaluated)
    assert len(shown.out.splitlines()) <= 32  # 13 items, and what would do seven of them
    assert max(map(len, shown.out.splitlines()[1:])) <= 100
    assert cli("report", "--checklist", evaluated / "scores.tsv.signatures.json").status == 0  # a glob names it too
    assert cli("report", "--checklist", evaluated, "-o", tmp_path / "c.docx").status == 2
    assert not (tmp_path / "c.docx").exists()
    for wrong in (("--title", "x", "--checklist"), ("--full",), ("--format", "latex", "-o", tmp_path / "r.html"), ()):
        done = cli("report", evaluated / "compare.json", *wrong)
        assert (done.status, done.err.count("\n")) == (2, 1)
