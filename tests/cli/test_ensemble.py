"""``bsx ensemble``, and saved ensembles as metrics."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("sacrebleu")
pytest.importorskip("scipy")
from scipy import stats

import bsx
from bsx.errors import InputError, RegistryError, UnknownNameError
from tests.helpers.tables import read_rows, write_rows

Run = Callable[..., Any]
LONGER = "chrf:word_order=2,char_order=4"
MEMBERS = f"chrf,{LONGER},ter"
COLUMNS = ("--columns", MEMBERS, "--human", "human", "--segment", "segment", "--resamples", "20")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """Two systems of the shipped examples, long."""
    read = read_rows(Path(str(files("bsx.examples") / "en-systems.tsv")))
    names = ("lp", "segment", "reference", "candidate", "human")
    return [
        dict(zip(names, (system, row["id"], row["reference"], row[system], row[f"{system}_grade"]), strict=True))
        for system in ("brook", "cinder")
        for row in read
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scores")


@pytest.fixture
def scores(rows: list[dict[str, str]], home: Path, tmp_path: Path, cli: Run) -> Path:
    """A table of three metrics' scores, as bsx score writes it once, with its sidecar."""
    texts, table = home / "texts.tsv", home / "scores.tsv"
    if not table.exists():
        done = cli("score", write_rows(texts, rows), "--metrics", MEMBERS, "-o", table)
        assert done.status == 0, done.err
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    return tmp_path / table.name


@pytest.fixture
def saved(scores: Path, cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ensemble in a registry folder that bsx looks into."""
    folder = tmp_path / "registry"
    keep = ("--how", "ridge", "--save", "mine", "--registry", folder)
    done = cli("ensemble", scores, *COLUMNS, *keep)
    assert done.status == 0, done.err
    assert f"saved {folder}/ensembles/mine.yaml; use it as --metrics ensemble:mine" in done.err
    monkeypatch.setenv("BSX_REGISTRY", str(folder))
    return folder / "ensembles" / "mine.yaml"


def entry(name: str, normalise: str, members: list[dict[str, Any]]) -> str:
    """An ensemble's file."""
    fitted = {"rows": 3, "human": "h", "files": [], "command": "", "versions": {}}
    combination = {"how": "mean", "normalise": normalise, "members": members}
    return yaml.safe_dump({"name": name, "combination": combination, "fitted": fitted})


def columns(table: Path) -> dict[str, Any]:
    read = read_rows(table)
    return {name: [row[name] for row in read] for name in read[0]}


def test_a_saved_ensemble_scores_as_the_columns_did(
    saved: Path, scores: Path, cli: Run, rows: list[dict[str, str]]
) -> None:
    content = yaml.safe_load(saved.read_text())
    table = columns(scores)
    expected = np.zeros(len(rows))
    for member in content["combination"]["members"]:
        raw = np.array([float(value) for value in table[member["metric"]]]) * (-1 if member["lower"] else 1)
        expected += member["weight"] * (raw - member["centre"]) / member["spread"]
    metric = bsx.get_metric("ensemble:mine")
    candidates, references = ([row[name] for row in rows] for name in ("candidate", "reference"))
    got = metric.score(candidates, references)
    np.testing.assert_allclose(got, expected, atol=1e-6)  # the table has nine digits
    assert metric.needs == {"candidate", "reference"}
    assert metric.score_matrix(["a cat", "it rains"], ["a cat", "a dog", "rain"]).shape == (2, 3)
    by_file = bsx.get_metric(f"ensemble:{saved}").score(candidates, references)
    assert str(by_file.signature) == str(got.signature)
    assert got.signature["file"].startswith("mine@")
    assert got.signature["normalise"] == "z"
    assert "(metric:ter " in got.signature["members"]
    assert (content["fitted"]["rows"], content["fitted"]["human"]) == (len(rows), "human")
    assert content["fitted"]["files"][0]["sha256"]
    assert metric.notes == ()
    signatures = content["fitted"]["signatures"]
    assert set(signatures) <= {"chrf", LONGER, "ter"}
    ter = signatures["ter"]
    signatures["ter"] = ter.replace("case_sensitive:no", "case_sensitive:yes")
    saved.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match=r"its member ter was fitted with case_sensitive yes \(now no\)"):
        bsx.get_metric("ensemble:mine")
    signatures["ter"] = ter.replace("sacrebleu:", "sacrebleu:0")
    saved.write_text(yaml.safe_dump(content))
    assert "ter was fitted with other versions" in bsx.get_metric("ensemble:mine").notes[0]


def test_an_ensemble_is_never_replaced(saved: Path, scores: Path, cli: Run) -> None:
    before = saved.read_bytes()
    command = ("ensemble", scores, "--columns", MEMBERS, "--human", "human", "--resamples", "20", "--save")
    for place in (("mine", "--registry", saved.parent.parent), (saved,)):
        done = cli(*command, *place)
        assert done.status == 2
        assert f"{saved} is there already" in done.err
    assert saved.read_bytes() == before


@pytest.mark.slow
def test_a_saved_ensemble_remembers_what_its_members_were_scored_with(scores: Path, cli: Run, tmp_path: Path) -> None:
    table, file = tmp_path / "bert.tsv", tmp_path / "kept.yaml"
    done = cli("score", scores, "--metrics", "bertscore,bleu", "-m", "minilm", "-l", "zh", "-o", table)
    assert done.status == 0, done.err
    members = ("--columns", "bertscore,bleu,chrf", "--human", "human", "--resamples", "20")
    assert cli("ensemble", table, *members, "--save", file).status == 0
    entry = yaml.safe_load(file.read_text())
    names = [member["metric"] for member in entry["combination"]["members"]]
    assert names == ["bertscore:model=minilm", "bleu:tokenize=zh", "chrf"]
    done = cli("score", scores, "--metrics", f"ensemble:{file}", "-o", tmp_path / "again.tsv")
    assert done.status == 0, done.err
    assert "other settings" not in done.err


def test_a_saved_ensemble_refuses_another_model_language_or_precision(
    scores: Path, cli: Run, tmp_path: Path, tiny_model: Callable[[str], str]
) -> None:
    table, folder, other = tmp_path / "t.tsv", tiny_model("bert"), tiny_model("roberta")
    done = cli("score", scores, "--metrics", "bertscore:layer=1,bertr", "-m", folder, "-o", table)
    assert done.status == 0, done.err
    file = tmp_path / "kept.yaml"
    members = ("--columns", "bertscore:layer=1,bertr", "--human", "human", "--resamples", "20", "--save", file)
    assert cli("ensemble", table, *members).status == 0
    use = ("score", scores, "--metrics", f"ensemble:{file}")
    assert cli(*use, "-m", folder).status == 0
    done = cli(*use, "-m", other)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "its member bertscore:layer=1 was fitted with model bert@" in done.err
    assert "(now roberta@" in done.err
    content = yaml.safe_load(file.read_text())
    signatures = content["fitted"]["signatures"]
    signatures["bertr"] = signatures["bertr"].replace("dtype:fp32", "dtype:bf16")
    file.write_text(yaml.safe_dump(content))
    assert "its member bertr was fitted with dtype bf16 (now fp32)" in cli(*use, "-m", folder).err


def test_ensembles_of_ranks_and_of_columns_with_other_names(scores: Path, cli: Run, tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.tsv"
    lines = scores.read_text(encoding="utf-8").split("\n")
    renamed.write_text("\n".join([lines[0].replace("ter", "edits", 1) if "\tter" in lines[0] else "", *lines[1:]]))
    file = tmp_path / "ranks.yaml"
    common = ["ensemble", renamed, "--columns", "chrf,edits", "--human", "human", "--resamples", "20", "--save", file]
    done = cli(*common, "--how", "rank", "--lower", "edits")
    assert (done.status, file.exists()) == (2, False)
    assert "unknown metric 'edits'" in done.err
    assert "members edits=METRIC" in done.err
    done = cli(*common, "--how", "rank", "--lower", "edits", "--members", "edits=ter")
    assert done.status == 0, done.err
    metric = bsx.get_metric(f"ensemble:{file}")
    table = columns(renamed)
    got = metric.score(table["candidate"], table["reference"])
    turned = np.array([[float(v) for v in table["chrf"]], [-float(v) for v in table["edits"]]])
    expected = np.mean((stats.rankdata(turned, axis=1) - 0.5) / turned.shape[1], axis=0)
    np.testing.assert_allclose(got, expected, atol=2e-3)  # scores of nine digits may swap places with near ones


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", MEMBERS, "--lower", "chrf", "--save", "x"], "lower must not name chrf"),
        (["--columns", MEMBERS, "--save", "x", "--members", "bleu=bleu"], "COLUMN=METRIC with one of the columns chrf"),
        (["--columns", "chrf,ter", "--save", "x", "--members", "ter=chrf"], "of chrf, higher is better"),
        (["--columns", f"chrf,{LONGER}", "--save", "x", "--members", f"{LONGER}=chrf"], "two members are the metric"),
    ],
)
def test_bad_input_leaves_nothing_behind(
    arguments: list[str], message: str, scores: Path, cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    registry = ["--registry", "registry"] if "--save" in arguments else []
    done = cli("ensemble", scores, "--human", "human", *arguments, *registry, "-o", "out.txt", "--resamples", "20")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert sorted(tmp_path.rglob("*")) == before


def test_ensembles_that_are_not_there_or_not_right(saved: Path, tmp_path: Path, cli: Run) -> None:
    for spec, kind, message in (
        ("ensemble:mien", UnknownNameError, r"unknown ensemble 'mien'\. Near: mine"),
        ("ensemble", InputError, "say which ensemble"),
        ("ensemble:nosuch/x.yaml", InputError, "there is no file nosuch/x.yaml"),
    ):
        with pytest.raises(kind, match=message):
            bsx.get_metric(spec)
    content = yaml.safe_load(saved.read_text())
    content["combination"]["members"][0]["metric"] = "ensemble:mine"
    nested = tmp_path / "nested.yaml"
    nested.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match="is an ensemble itself"):
        bsx.get_metric(f"ensemble:{nested}")
    assert "ensembles" in cli("registry", "validate").out
    del content["combination"]["members"][0]["centre"]
    saved.write_text(yaml.safe_dump(content))
    with pytest.raises(RegistryError, match="needs centre"):
        bsx.get_metric("ensemble:mine")


def test_members_share_encoders_and_read_sources(tmp_path: Path, tiny_model: Callable[[str], str], cli: Run) -> None:
    specs = ["sbert", "bertr", "msbert-qe"]
    members = [{"metric": spec, "weight": 0.5, "centre": 0.5, "spread": 0.1} for spec in specs]
    file = tmp_path / "mixed.yaml"
    file.write_text(entry("mixed", "z", members))
    metric = bsx.get_metric(f"ensemble:{file}", encoders=bsx.Encoders(model=tiny_model("bert")))
    assert metric.needs == {"candidate", "reference", "source"}
    texts = ["the cat sat", "a dog"], ["the cat is", "a man"], ["the cat was", "the rain"]
    got = metric.score(*texts)
    assert metric.encoders.sequences_encoded == 6
    encoders = bsx.Encoders(model=tiny_model("bert"))
    alone = [np.asarray(bsx.get_metric(spec, encoders=encoders).score(*texts)) for spec in specs]
    np.testing.assert_allclose(got, sum(0.5 * (one - 0.5) / 0.1 for one in alone), atol=1e-4)  # z blows rounding up
    table = tmp_path / "t.tsv"
    table.write_text("candidate\treference\nthe cat\ta cat\n")
    done = cli("score", table, "--metrics", f"ensemble:{file}", "--model", tiny_model("bert"))
    assert done.status == 2
    assert "source" in done.err


@pytest.mark.parametrize(
    ("setting", "name"),
    [("python=./evil.sh", "comet"), ("model=./evil", "comet-qe"), ("model_dir=./evil", "laser")],
)
def test_a_file_decides_on_no_code_to_run(
    setting: str, name: str, tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    members = [{"metric": spec, "weight": 0.5} for spec in ("chrf", f"{name}:{setting}")]
    folder = tmp_path / "registry" / "ensembles"
    folder.mkdir(parents=True)
    for file in (tmp_path / "nice.yaml", folder / "nice.yaml"):
        file.write_text(entry("nice", "none", members))
    table = tmp_path / "t.tsv"
    table.write_text("candidate\treference\tsource\na\tb\tc\n")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    for spec, where in (("./nice.yaml", "nice.yaml"), ("nice", "registry/ensembles/nice.yaml")):
        done = cli("score", table, "--metrics", f"ensemble:{spec}", "--registry", "registry", "-o", "out.tsv")
        assert (done.status, done.out) == (2, "")
        assert f"{where}: the member '{name}:{setting}' sets {setting.partition('=')[0]}" in done.err
        assert done.err.count("\n") == 1
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_an_ensemble_is_not_saved_with_what_a_file_may_not_set(cli: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("comet:python=x/bin/python\tchrf\th\n" + "".join(f"{i}\t{i * i}\t{i + 1}\n" for i in range(9)))
    members = ("--columns", "comet:python=x/bin/python,chrf", "--human", "h")
    done = cli("ensemble", table, *members, "--save", tmp_path / "e.yaml")
    assert done.status == 2
    assert "say which metric the column holds with members comet:python=x/bin/python=METRIC" in done.err
    assert not (tmp_path / "e.yaml").exists()


def test_members_are_computed_where_no_column_holds_them(cli: Run, scores: Path, tmp_path: Path) -> None:
    common = ("--human", "human", "--segment", "segment", "--how", "ridge", "--resamples", "20")
    stored = cli("ensemble", scores, "--columns", "chrf,ter", *common, "--format", "json")
    texts = tmp_path / "texts.tsv"
    file = tmp_path / "computed.yaml"
    done = cli("ensemble", texts, "--metrics", "chrf,ter", *common, "--save", file, "--format", "json")
    assert done.status == 0, done.err
    content, expected = json.loads(done.out), json.loads(stored.out)
    assert (content["members"], content["lower"]) == (["chrf", "ter"], ["ter"])
    assert content["groups"][0]["ensemble"] == pytest.approx(expected["groups"][0]["ensemble"], abs=1e-6)
    assert content["provenance"]["kind"] == "ensemble"
    assert content["provenance"]["signatures"] == expected["provenance"]["signatures"]
    kept = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert [member["lower"] for member in kept["combination"]["members"]] == [False, True]
    mixed = cli("ensemble", scores, "--columns", "chrf", "--metrics", "ter", *common, "--format", "json")
    assert json.loads(mixed.out)["members"] == ["chrf", "ter"]
    twice = cli("ensemble", scores, "--columns", "chrf,ter", "--metrics", "ter", *common)
    assert (twice.status, "ter is asked for twice" in twice.err) == (2, True)
