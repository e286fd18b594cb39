"""Quality gates: what is read, what is missed and by how much, on the command line and from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import bsx
from bsx import score_files
from bsx.metrics.gates import read_gates, shortfall
from tests.conftest import Outcome


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.txt").write_text("the cat sat on the mat\nhe never rings\n")
    Path("bad.txt").write_text("a dog\nhe calls\n")
    Path("r.txt").write_text("the cat sat on a mat\nhe never calls\n")


KNOWN = ["chrf", "bleu:tokenize=char", "bertscore:idf=true,layer=5", "judge:copy=1,chrf=2"]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["chrf=55", "bleu:tokenize=char=1e1"], {"chrf": 55, "bleu:tokenize=char": 10}),
        (["copy=1%", "wrong-language=0%", "empty=0.5%"], {"copy": 0.01, "wrong-language": 0, "empty": 0.005}),
        (["chrf=40, copy=1%,"], {"chrf": 40, "copy": 0.01}),
        (["chrf=4,bertscore:idf=true,layer=5=.8,copy=0%"], {"chrf": 4, "bertscore:idf=true,layer=5": 0.8, "copy": 0}),
        (["judge:copy=1,chrf=2=3"], {"judge:copy=1,chrf=2": 3}),
    ],
)
def test_bounds_are_read(given: list[str], read: dict[str, float]) -> None:
    assert read_gates(given, KNOWN) == read
    assert read_gates(["bertscore.f1=0.8"], None) == {"bertscore.f1": 0.8}


SCORE, SHARE = "write a score and the least", "write the largest share of candidates, from 0% to 100%"


@pytest.mark.parametrize(
    ("metrics", "given", "kind", "message"),
    [
        *((["chrf"], f"chrf={bound}", bsx.InputError, SCORE) for bound in ("", "high", "nan", "1_000", "inf", "1e400")),
        *((["chrf"], given, bsx.InputError, SCORE) for given in ("chrf", "=5", "chrf=\uff11", "")),
        *((["chrf"], f"copy={bound}", bsx.InputError, SHARE) for bound in ("1", "%", "-1%", "101%", "1e1%", "nan%")),
        *((["chrf"], given, bsx.InputError, SHARE) for given in ("loop=1 %", "empty=\uff11%")),
        *((["chrf"], given, bsx.BsxError, "") for given in ("chrf=40,5", "chrf=40,,copy=1%", "chrf:a=1,b=2=3")),
        (["chrf"], "chrf=40,nosuch=1", bsx.UnknownNameError, "no score 'nosuch'"),
        (["chrf"], "chrf=9,chrf=1", bsx.InputError, "two bounds"),
        (["chrf"], "wrong-langage=1%", bsx.UnknownNameError, "shares of candidates: empty.* Near: wrong-language"),
        (None, "f1=0.5", bsx.UnknownNameError, "no score 'f1' in this run; there are bertscore.precision"),
    ],
)
def test_wrong_bounds(metrics: list[str] | None, given: str, kind: type[bsx.BsxError], message: str) -> None:
    with pytest.raises(kind, match=f"fail_under: .*{message}"):
        read_gates([given], metrics)


@pytest.mark.parametrize("example", ["chrf=50", "bertscore=0.5", "ter=VALUE", "bertscore.precision=0.5"])
def test_the_example_is_on_the_scale_of_the_metric(example: str) -> None:
    metric = example.partition("=")[0]
    with pytest.raises(bsx.InputError, match=f"such as {example}$"):
        read_gates(["chrf"], None if "." in metric else [metric])


def test_a_bound_may_be_met_exactly() -> None:
    assert shortfall(55, 55) is shortfall(0.5, 0.5, higher_is_better=False) is None


def test_a_system_with_more_outputs_that_are_no_translation_fails(cli: Callable[..., Outcome]) -> None:
    Path("de.txt").write_text("Der alte Hund schläft seit heute früh vor der Tür.\nEs regnet.\n", encoding="utf-8")
    Path("mt.txt").write_text("The old dog has been sleeping outside the door since this morning.\n\n")
    words = ("score", "-c", "mt.txt", "-r", "de.txt", "--metrics", "chrf", "--lang", "de")
    assert cli(*words, "--fail-under", "wrong-language=50%", "--fail-under", "empty=50%") == cli(*words)
    missed = cli(*words, "--fail-under", "wrong-language=49.9%", "--fail-under", "empty=0%")
    assert missed.status == 1
    assert "bsx: note: wrong-language of mt is 50.00% (1 of 2 candidates), above 49.9%\n" in missed.err
    assert "bsx: note: empty of mt is 50.00% (1 of 2 candidates), above 0%\n" in missed.err


def test_a_gate_that_cannot_be_judged_is_refused_before_scoring(cli: Callable[..., Outcome]) -> None:
    words = ("score", "-c", "good.txt", "-r", "r.txt", "--metrics", "chrf", "-o", "scores.tsv")
    for gate, why in (
        (["copy=1%"], "copy cannot be judged: there are no sources to compare the candidates with"),
        (["wrong-language=1%", "--lang", "iu"], "py3langid does not know the language iu"),
    ):
        refused = cli(*words, "--fail-under", *gate)
        assert refused.status == 2
        assert why in refused.err
        assert len(refused.err.splitlines()) == 1
        assert not Path("scores.tsv").exists()


def test_the_command_exits_with_1_and_says_by_how_much(cli: Callable[..., Outcome]) -> None:
    words = ("score", "-c", "good.txt", "-c", "bad.txt", "-r", "r.txt", "--metrics", "chrf,ter")
    summary = json.loads(cli(*words, "--format", "json").out)["metrics"]
    plain = cli(*words)
    assert cli(*words, "--fail-under", "chrf=1", "--fail-under", "ter=500") == plain
    missed = cli(*words, "--fail-under", "chrf=60", "--fail-under", "ter=40")
    assert (missed.status, missed.out) == (1, plain.out)
    bad, error = (next(row["score"] for row in entry["scores"] if row["system"] == "bad") for entry in summary)
    assert f"chrf of bad is {bad:.4f}, {60 - bad:.4f} below 60\n" in missed.err
    assert f"ter of bad is {error:.4f}, {error - 40:.4f} above 40\n" in missed.err
    assert "of good" not in missed.err


def test_figures_of_bertscore_have_its_name(cli: Callable[..., Outcome]) -> None:
    words = ("score", "-m", "minilm", "-c", "good.txt", "-r", "r.txt")
    assert cli(*words, "--fail-under", "bertscore.f1=0.1").status == 0
    missed = cli(*words, "--fail-under", "bertscore.f1=0.999", "--fail-under", "bertscore.recall=.1")
    assert missed.status == 1
    assert missed.err.count(" below ") == 1
    for wrong in ("chrf=5", "bertscore.f1"):
        outcome = cli(*words, "--fail-under", wrong)
        assert (outcome.status, outcome.out) == (2, "")
        assert "--fail-under: " in outcome.err
    assert cli(*words, "--all-layers", "--fail-under", "bertscore.f1=.1").status == 2


def test_from_python() -> None:
    scored = score_files(
        candidates=["good.txt", "bad.txt"], references=["r.txt"], metrics=["chrf"], fail_under=["chrf=60"]
    )
    (said,) = scored.shortfalls(scored.to_dict())
    assert said.startswith("chrf of bad is ")
