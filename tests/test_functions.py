"""Every function called from Python, once, on a tiny model: typed settings in, a result out, nothing printed."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.present.forms import save
from bsx.catalog.catalog import load_registry
from bsx.errors import InputError
from bsx.support.provenance import Provenance, provenance
from tests.helpers.tables import write_lines

Model = Callable[[str], str]


@pytest.fixture
def judged(tmp_path: Path) -> str:
    """24 candidates with references, sources, human scores and two columns of metrics."""
    rng = np.random.default_rng(0)
    words = ["the", "old", "man", "sat", "on", "a", "river", "bank", "and", "it", "had", "rain"]
    lines: list[list[str]] = [["source", "reference", "candidate", "human", "a", "b"]]
    for _ in range(24):
        texts = [" ".join(rng.choice(words, 5)) for _ in range(3)]
        lines.append([*texts, *(f"{value:.3f}" for value in rng.normal(size=3))])
    return str(write_lines(tmp_path / "judged.tsv", lines))


@pytest.fixture(autouse=True)
def _silent(capsys: pytest.CaptureFixture[str]) -> object:
    yield
    assert capsys.readouterr() == ("", "")


def test_every_function_shows_its_settings() -> None:
    for name in dir(bsx):
        function = getattr(bsx, name)
        if not inspect.isfunction(function) or not function.__module__.startswith("bsx.analysis"):
            continue
        parameters = inspect.signature(function).parameters.values()
        assert all(p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD for p in parameters), name
    with pytest.raises(AttributeError, match="has no attribute 'scorre'"):
        bsx.scorre  # type: ignore[attr-defined]  # noqa: B018


def test_settings_out_of_range_are_refused_before_anything_is_read() -> None:
    for run in (
        lambda: bsx.tune(model="minilm", tables=["absent.tsv"], lang="en", resamples=1),
        lambda: bsx.baseline(model="minilm", lang="en", corpus="absent.txt", pairs=1),
        lambda: bsx.disentangle(table="absent.tsv", columns=["a"], factor_columns=["b"], confidence=1.5),
        lambda: bsx.perturb(table="absent.tsv", metrics=["chrf"], seed=-1),
    ):
        with pytest.raises(InputError, match="(resamples|pairs|confidence|seed)(=`)?: "):
            run()


def test_tune_and_write(judged: str, tmp_path: Path) -> None:
    done: list[str] = []
    told: list[str] = []
    found = bsx.tune(
        model="minilm",
        tables=[judged],
        lang="en",
        resamples=20,
        device="cpu",
        progress=lambda phase, *_: done.append(phase),
        registry=tmp_path / "mine",
        write=True,
        say=told.append,
    )
    assert found.best_layer == max(found.layers, key=lambda own: own.f1).layer
    assert found.model == "minilm"
    assert done
    assert str(tmp_path / "mine") in told[-1]
    assert load_registry(tmp_path / "mine").model("minilm").layer == found.best_layer


def test_baseline(judged: str) -> None:
    found = bsx.baseline(model="minilm", lang="en", corpus=judged, pairs=20)
    assert (found.pairs, found.language) == (20, "en")
    assert len(found.standard_error) == len(found.f1) == 7


def test_probe_beside_human_judgments(judged: str, tiny_model: Model, tmp_path: Path) -> None:
    words = ["cat", "dog", "rain", "train"]
    rng = np.random.default_rng(0)
    lines = [f"{'the old' if i % 2 else 'one young'} {' '.join(rng.choice(words, 3))}\tL{i % 2}" for i in range(60)]
    (tmp_path / "first.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = bsx.probe(
        tasks=[str(tmp_path / "first.txt")],
        layers=(3, 0),
        repeats=1,
        resamples=20,
        control_task=False,
        judged=judged,
        model=tiny_model("bert"),
    )
    assert [one.layer for one in found.tasks[0].layers] == [0, 3]
    assert found.agreement is not None


def test_train(judged: str, tiny_model: Model, tmp_path: Path) -> None:
    lines: list[str] = []
    given: dict[str, Any] = {"tables": [judged], "valid": [judged], "output": tmp_path / "metric"}
    given |= {"architecture": "bilstm", "model": tiny_model("bert"), "seeds": [3], "hidden": 4, "epochs": 1}
    trained = bsx.train(**given, say=lines.append)
    assert [member["seed"] for member in trained.members] == [3]
    assert any(line.startswith("seed 3, epoch 1") for line in lines)
    with pytest.raises(InputError, match="holds a training already"):
        bsx.train(**given)
    with pytest.raises(InputError, match="every layer is scored"):
        bsx.tune(model="minilm", tables=[judged], lang="en", layer=3)


def test_perturb(judged: str) -> None:
    found = bsx.perturb(table=judged, metrics=["chrf"], perturbations=["drop-words"], strengths=[0.3], resamples=20)
    assert found.settings["column"] == "reference"
    assert found.skipped == ()
    with pytest.raises(InputError, match="perturbations have rules by language"):
        bsx.perturb(table=judged, metrics=["chrf"], lang="auto")


def test_ensemble(judged: str) -> None:
    found = bsx.ensemble(table=judged, columns=["a", "b"], human="human", resamples=20)
    assert found.members == ("a", "b")
    with pytest.raises(InputError, match="members and registry need save"):
        bsx.ensemble(table=judged, columns=["a", "b"], members=["a=chrf"])


def test_pairs_and_triples(judged: str, tmp_path: Path) -> None:
    lines = ["label\tsentence1\tsentence2\ta\tb"]
    for i in range(24):
        anchor = f"the {'old' if i % 4 < 2 else 'young'} man number {i // 2} sat down"
        lines.append(f"{i % 2}\t{anchor}\t{anchor} {'again' if i % 2 else 'there'}\t{(i * 7) % 5}\t{i % 3 + i % 2}")
    file = tmp_path / "pairs.tsv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = bsx.detect_paraphrases(
        table=file,
        against=file,
        columns=["a", "b"],
        metrics=["chrf"],
        lower=["a"],
        resamples=20,
    )
    assert [one.metric for one in found.results] == ["a", "b", "chrf"]
    assert list(found.signatures) == ["chrf"]
    assert found.to_dict()["settings"] == {**found.settings}
    with pytest.raises(InputError, match="device has no effect without metrics"):
        bsx.detect_paraphrases(table=file, columns=["a"], device="cpu")
    triples = bsx.prefer_paraphrases(table=file, columns=["b"], bins=0, resamples=20)
    assert [one.metric for one in triples.results] == ["b"]
    file.write_text("label\tsentence1\tsentence2\n1\tshe rested\tshe sat down\n0\tshe sat down\tdown she sat not\n")
    built = bsx.build_triples(table=file, output=tmp_path / "triples.tsv", keep=5)
    assert (built.triples, built.read, built.settings["keep"]) == (1, 2, 5)
    assert (tmp_path / "triples.tsv").read_text(encoding="utf-8").splitlines()[1].split("\t")[1] == "she sat down"


def test_meta_of_columns_and_of_scores_made_here(judged: str, tmp_path: Path) -> None:
    found = bsx.meta(table=judged, columns=["a", "b"], human=["human"], resamples=20)
    assert isinstance(found, MetaResult)
    assert found.metrics == ("a", "b")
    scores = tmp_path / "scores.tsv"
    scored = bsx.meta(table=judged, metrics=["chrf"], columns=["a", "b"], scores_out=scores, resamples=20)
    assert isinstance(scored, MetaResult)
    assert scored.metrics == ("a", "b", "chrf")
    assert scores.read_text(encoding="utf-8").startswith("source\treference\tcandidate\thuman\ta\tb\tchrf\n")
    with pytest.raises(InputError, match="scores_out needs metrics"):
        bsx.meta(table=judged, columns=["a"], scores_out=scores)


def test_compare(judged: str) -> None:
    found = bsx.compare(table=judged, candidate=["candidate", "source"], metrics=["chrf"])
    assert (found.segments, list(found.signatures)) == (24, ["chrf"])
    with pytest.raises(InputError, match="holds one system"):
        bsx.compare(table=judged, metrics=["chrf"])


def test_factors_then_disentangle_then_report(judged: str, tmp_path: Path) -> None:
    table = tmp_path / "factors.tsv"
    found = bsx.factors(table=judged, output=table, factors=["lex"])
    assert found.pairs == 24
    # beside the table lies what factors says of its columns
    together = bsx.ensemble(table=str(table), columns=["a", "lex"])
    assert (together.signatures, list(together.weights)) == ({}, ["a", "lex"])
    asked: dict[str, Any] = {"table": table, "columns": ["a", "b"]}
    explained = bsx.disentangle(
        **asked, factor_columns=["lex", "human"], checks=True, add=["human", "lex+human"], compare=["a", "b"]
    )
    assert [("human",) in [tuple(test.added) for test in own] for own in explained.tests.values()] == [True, True]
    assert [test.added for test in explained.tests["a"][:2]] == [("human",), ("lex", "human")]
    origin = Provenance.read(provenance("disentangle", [table]))
    save(replace(explained, provenance=origin), tmp_path, "disentangle")
    with pytest.raises(InputError, match="^compare: a,a: name two of the metrics a, b"):
        bsx.disentangle(**asked, factor_columns=["lex"], compare=["a", "a"])
    document, page = tmp_path / "disentangle.json", tmp_path / "report.md"
    assert bsx.report(files=[document], output=page, align="minilm") == ["no document has examples to align"]
    assert page.read_text(encoding="utf-8").startswith("# Evaluation report")


def test_scoring_refuses_what_it_would_ignore(judged: str, tmp_path: Path) -> None:
    out = tmp_path / "scores.tsv"
    texts: dict[str, Any] = {"table": judged}
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"metrics": ["bertscore"], "idf": True}, "idf: .* write it as bertscore:idf=…"),
        ({"metrics": ["chrf"], "resume": True}, "resume goes on with the file of output"),
        ({"metrics": ["chrf"], "workers": 2}, "workers needs the engine ray"),
    )
    for settings, message in refused:
        with pytest.raises(InputError, match=message):
            bsx.score_files(**texts, **settings)
    assert not out.exists()
    found = bsx.score_files(table=judged, metrics=["chrf"], output=out, lang="en").to_dict()
    assert [one["metric"] for one in found["metrics"]] == ["chrf"]


CANDIDATES, REFERENCES = ["a small cat", "it rains"], ["the small cat", "it is raining"]


def test_the_first_guess_is_right() -> None:
    face: Any = bsx
    scorer = face.Scorer("minilm", device="cpu")
    scores = face.score(CANDIDATES, REFERENCES, "minilm", device="cpu")
    precision, recall, f1 = scores
    assert [scores[name] is array for name, array in zip(("precision", "recall", "f1"), scores, strict=True)] == [
        True
    ] * 3
    assert (precision is scores.precision, recall is scores.recall, f1 is scores.f1) == (True, True, True)
    np.testing.assert_array_equal(scorer(CANDIDATES, references=REFERENCES).f1, f1)
    chrf = bsx.get_metric("chrf")
    assert chrf.corpus_score(CANDIDATES, REFERENCES) == chrf(CANDIDATES, REFERENCES).system
    assert bsx.get_metric("BLEU").name == "bleu"
    assert "chrf" in bsx.list_metrics()
    assert "minilm" in bsx.list_models()
    first = bsx.select_model("sw").ranking[0].entry.name
    assert face.models("sw") == face.models(lang="sw") == bsx.list_models(lang="sw")
    assert bsx.list_models(lang="sw")[0] == first
    assert bsx.detect_language("Ich gehe nach Hause und lese dort ein Buch").code == "de"


def test_names_of_elsewhere_are_answered_with_ours() -> None:
    face: Any = bsx
    scorer, chrf = face.Scorer("minilm", device="cpu"), face.get_metric("chrf")
    for call, told in (
        (lambda: face.score(CANDIDATES, REFERENCES, model_type="minilm"), "setting 'model_type': it is called model"),
        (lambda: face.score(cands=CANDIDATES, refs=REFERENCES), "argument 'cands': it is called candidates"),
        (lambda: scorer.score(candidate=CANDIDATES, refs=REFERENCES), "argument 'candidate': it is called candidates"),
        (lambda: chrf.score(CANDIDATES, refs=REFERENCES), "argument 'refs': it is called references"),
        (lambda: chrf.corpus_score(CANDIDATES, refs=REFERENCES), "argument 'refs': it is called references"),
        (lambda: chrf(CANDIDATES, referenzes=REFERENCES), r"argument 'referenzes'\. Near: references"),
    ):
        with pytest.raises(InputError, match=f"there is no {told}"):
            call()
    with pytest.raises(InputError, match="^model is given twice$"):
        face.score(CANDIDATES, REFERENCES, "minilm", model="minilm")
    with pytest.raises(AttributeError, match=r"'load_dataset'\. Near: .*analysis\.load_data"):
        face.load_dataset("wmt17")


def test_the_rooms_that_are_named_are_there_after_the_import() -> None:
    code = "import sys, bsx; print('bsx.analysis' in sys.modules, bsx.analysis.pearson.__name__, callable(bsx.models))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "pearson", "True"]


def test_rows_taken_as_independent_beside_systems_and_segments_are_told() -> None:
    rng = np.random.default_rng(0)
    table = {"m": rng.random(12), "h": rng.random(12), "system": ["A", "B"] * 6, "sid": np.repeat(range(6), 2)}
    notes = meta_evaluate(table, ["m"], "h", resamples=20).notes
    assert any("every row counts as independent, though there are the columns system, sid" in one for one in notes)
    named = meta_evaluate(table, ["m"], "h", system="system", segment="sid", resamples=20)
    assert not any("independent" in one for one in named.notes)
