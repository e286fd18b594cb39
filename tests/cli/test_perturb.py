"""``bsx adversarial perturb`` and rows that a metric fails on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bsx.analysis.perturbations.perturb import PERTURBATIONS, perturb
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.failures import score_without_failures
from tests.conftest import Cli
from tests.helpers.tables import write_lines

ROWS = [
    ("Der Hund bellt.", "The dog barked at 3 o'clock.", "The dog was barking at 3."),
    ("Die Katze schläft.", "The cat is asleep, again.", "The cat sleeps again."),
    ("Ein Mann lacht.", "A man is laughing on Monday.", "A man is laughing Monday."),
    ("Es regnet.", "It was raining all night long.", "It rained all night."),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "texts.tsv", [("source", "reference", "candidate"), *ROWS])


def test_what_it_writes_and_leaves_out(cli: Cli, table: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    texts = ("--candidate", "candidate", "--source", "source", "--lang", "en", "--edits-out", kept)
    drawn = ("--strengths", ".2,.5", "--resamples", 50, "--format", "json")
    done = cli("adversarial", "perturb", table, "--metrics", "chrf,ter", *texts, *drawn)
    assert done.status == 0, done.err
    content = json.loads(done.out)
    assert (content["settings"]["clean"], content["settings"]["column"]) == ("candidates", "candidate")
    left_out = {row["perturbation"]: row["why"] for row in content["left_out"]}
    cannot = {name for name, item in PERTURBATIONS.items() if item.lacks("en", source=True, parse=False) is not None}
    assert left_out.keys() == cannot
    assert all("needs parses" in left_out[name] for name in ("noun-swap", "subject-object", "entities"))
    assert left_out["marks"] == "is for es, fr, ja, zh, not en"
    assert any(note.startswith("ter: lower is better") for note in content["notes"])
    results = {(row["metric"], row["perturbation"], row["strength"]): row for row in content["results"]}
    assert results["ter", "unrelated", None]["drop"] > 0
    assert results["chrf", "shuffle", 0.5]["n"] == results["chrf", "source", None]["n"] == 4
    rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    shuffled = [row["perturbed"] for row in rows if (row["perturbation"], row["strength"]) == ("shuffle", "0.5")]
    assert tuple(shuffled) == perturb([row[2] for row in ROWS], "shuffle", strength=0.5).texts
    drops = [row["chrf original"] - row["chrf"] for row in rows if row["perturbation"] == "lower"]
    assert np.mean(drops) == pytest.approx(results["chrf", "lower", None]["drop"], abs=1e-6)  # nine digits are kept


def test_references_are_the_texts_unless_told(cli: Cli, table: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    command = ["adversarial", "perturb", table, "--metrics", "chrf", "--perturbations", "lower,negation"]
    done = cli(*command, "--lang", "en", "-o", target)
    assert (done.status, done.out) == (0, ""), done.err
    text = target.read_text(encoding="utf-8")
    assert "the clean texts are the references themselves" in text
    table_of = text.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table_of[1:4]] == ["perturbation", "negation", "no-punctuation"]  # and control
    assert "All drops" in text  # a file has everything


def test_listing(cli: Cli) -> None:
    listed = json.loads(cli("adversarial", "perturb", "--list", "--format", "json").out)["perturbations"]
    assert [one["name"] for one in listed] == list(PERTURBATIONS)
    text = cli("adversarial", "perturb", "--list").out.splitlines()
    assert text.index("") == len(PERTURBATIONS) + 1  # then what is withdrawn, and why
    assert sum(" is withdrawn for " in line for line in text) == len(text) - text.index("") - 1 > 5
    assert next(one for one in listed if one["name"] == "entities")["withdrawn"]["zh"]


def test_parses_and_a_treebank_from_files(cli: Cli, tmp_path: Path) -> None:
    finite = "Mood=Ind|Number={}|Person=3|Tense=Pres|VerbForm=Fin"
    (tmp_path / "t.tsv").write_text("reference\nHunde bellen\n", encoding="utf-8")
    lines = [
        f"1\tHunde\tHund\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_\n2\tbellen\tbellen\tVERB\t_\t{finite.format('Plur')}\t0\troot\t_\t_",
        f"1\tbellt\tbellen\tVERB\t_\t{finite.format('Sing')}\t0\troot\t_\t_",
    ]
    (tmp_path / "parses.conllu").write_text(lines[0] + "\n\n", encoding="utf-8")
    (tmp_path / "forms.conllu").write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    command = ["adversarial", "perturb", tmp_path / "t.tsv", "--metrics", "chrf", "--lang", "de", "--format", "json"]
    command += ["--parses", tmp_path / "parses.conllu", "--perturbations", "agreement"]
    done = cli(*command, "--treebank", tmp_path / "forms.conllu")
    assert done.status == 0, done.err
    content = json.loads(done.out)
    assert {one["perturbed"] for one in content["worst"] if one["perturbation"] == "agreement"} == {"Hunde bellt"}
    assert content["settings"]["parses"]["file"] == "parses.conllu"
    assert [file["name"] for file in content["provenance"]["files"]] == ["t.tsv", "parses.conllu", "forms.conllu"]
    done = cli(*command)
    assert done.status == 2
    assert "needs a treebank with lemmas and features" in done.err


def fails_on(*bad: int, kind: type[Exception] = ValueError) -> Callable[[Sequence[int]], list[float]]:
    def score(rows: Sequence[int]) -> list[float]:
        found = [row for row in rows if row in bad]
        if found:
            raise kind(f"bad {found[0]}")
        return [row / 10 + len(rows) for row in rows]

    return score


def test_rows_that_fail_are_found_by_halves() -> None:
    calls: list[int] = []

    def counted(rows: Sequence[int]) -> list[float]:
        calls.append(len(rows))
        return fails_on(5, 31)(rows)

    values, _, failed = score_without_failures("m", counted, 40, skip_errors=True)
    assert (list(failed), len(values)) == ([5, 31], 38)
    assert len(calls) < 30


def test_rows_that_fail_are_named_or_left_out() -> None:
    values, good, failed = score_without_failures("m", fails_on(), 3, skip_errors=False)
    assert list(values) == [3.0, 3.1, 3.2]
    assert good == [0, 1, 2]
    assert failed == {}
    with pytest.raises(InputError, match=r"^m failed on item 5: ValueError: bad 4; skip_errors goes on"):
        score_without_failures("m", fails_on(4, 7), 10, skip_errors=False)
    values, good, failed = score_without_failures("m", fails_on(4, 7, kind=InputError), 10, skip_errors=True)
    assert failed == {4: "bad 4", 7: "bad 7"}
    assert good == [0, 1, 2, 3, 5, 6, 8, 9]
    assert values[-1] == pytest.approx(8.9)  # the other eight are scored together
    with pytest.raises(ModelUnavailableError):
        score_without_failures("m", fails_on(1, kind=ModelUnavailableError), 3, skip_errors=True)

    def together(rows: Sequence[int]) -> list[float]:
        if len(rows) > 1:
            raise MemoryError("too many")
        return [1.0]

    with pytest.raises(InputError, match="^m failed: MemoryError: too many$"):  # no row is to blame
        score_without_failures("m", together, 2, skip_errors=True)
