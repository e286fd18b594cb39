"""`bsx probe`, and the frozen vectors it works on, against transformers by hand."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.encode.features import Features, Pooling, pooled_features
from bsx.encode.session import Encoders
from bsx.errors import InputError
from tests.conftest import Cli, Model
from tests.helpers.tables import read_rows

TEXTS = ["the cat sat on the mat", "rain", "an old station un-slowly said", "the cat sat on the mat"]
WORDS = [tuple(text.split()) for text in TEXTS]


def opened(model: str, layers: tuple[int, ...] = (0, 1, 3)) -> tuple[Any, Any, Any]:
    encoders = Encoders(model=model)
    located = encoders.locate(None)
    return located, located.tokenizer(), encoders.encoder(located).view(layers)


def features(opened_model: tuple[Any, Any, Any], pooling: Pooling, sentences: Any, budget: int = 2**30) -> Features:
    _, tokenizer, view = opened_model
    return pooled_features(sentences, tokenizer, view, pooling=pooling, budget=budget)


def by_hand(located: Any, text: str, layers: tuple[int, ...] = (0, 1, 3)) -> tuple[np.ndarray, list[int], Any]:
    """Return (layers, tokens, dim), the ids and the tokenizer, from transformers alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(located.checkpoint.folder)
    model = AutoModel.from_pretrained(located.checkpoint.folder).eval()
    encoded = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        states = model(**encoded, output_hidden_states=True).hidden_states
    return torch.stack([states[i][0] for i in layers]).numpy(), encoded["input_ids"][0].tolist(), tokenizer


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_sentence_vectors_equal_transformers(pooling: Pooling, tiny_model: Model) -> None:
    located, _, view = found = opened(tiny_model("bert"))
    got = features(found, pooling, [(text,) for text in TEXTS])
    assert got.vectors.shape == (3, 4, 32)
    assert got.vectors.dtype == np.float32
    assert got.present.all()
    assert view.shared.sequences_encoded == 3  # one text stands twice
    for i, text in enumerate(TEXTS):
        states, _, _ = by_hand(located, text)
        words = states[:, 1:-1]
        expected = {"cls": states[:, 0], "mean": words.mean(axis=1), "max": words.max(axis=1)}[pooling]
        np.testing.assert_allclose(got.vectors[:, i], expected, atol=2e-5)


@pytest.mark.parametrize(("pooling", "sentences"), [("mean", [(text,) for text in TEXTS]), ("words", WORDS)])
def test_vectors_beyond_the_budget_are_the_same_in_a_file(pooling: Pooling, sentences: Any, tiny_model: Model) -> None:
    found = opened(tiny_model("bert"))
    mapped = features(found, pooling, sentences, budget=0)
    assert isinstance(mapped.vectors, np.memmap)
    np.testing.assert_array_equal(mapped.vectors, features(found, pooling, sentences).vectors)


@pytest.mark.usefixtures("any_backend")
@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "t5"])
def test_a_word_is_the_mean_of_its_pieces(kind: str, tiny_model: Model) -> None:
    located, tokenizer, _ = found = opened(tiny_model(kind))
    got = features(found, "words", WORDS)
    assert got.vectors.shape[1] == sum(map(len, WORDS))
    assert got.present.all()
    item = 0
    for words, owner in zip(WORDS, tokenizer.word_of(WORDS), strict=True):
        ids = tokenizer.tokenize([" ".join(words)])[0].ids
        assert len(owner) == len(ids)
        for place, word in enumerate(words):
            spelled = "".join(tokenizer.pieces(ids[owner == place].tolist()))
            assert spelled.replace("##", "").strip("▁Ġ") == word
        if kind == "bert":
            states, expected, _ = by_hand(located, " ".join(words))
            assert expected == ids.tolist()
            for place in range(len(words)):
                vectors = states[:, owner == place].mean(axis=1)
                np.testing.assert_allclose(got.vectors[:, item + place], vectors, atol=2e-5)
        item += len(words)


def test_a_word_may_hold_a_space(tiny_model: Model) -> None:
    found = opened(tiny_model("bert"))
    whole = features(found, "words", [("the cat", "sat")])
    apart = features(found, "words", [("the", "cat", "sat")])
    np.testing.assert_allclose(whole.vectors[:, 0], apart.vectors[:, :2].mean(axis=1), atol=1e-6)
    np.testing.assert_array_equal(whole.vectors[:, 1], apart.vectors[:, 2])


@pytest.mark.usefixtures("any_backend")
def test_words_beyond_the_limit_have_no_vector(tiny_model: Model) -> None:
    got = features(opened(tiny_model("bert")), "words", [("cat",) * 70, ("dog", "\u200b", "rain")])
    assert got.truncated == 1
    assert got.present[:70].tolist() == [True] * 62 + [False] * 8
    assert got.present[70]
    assert got.present[72]
    assert (got.vectors[:, 62:70] == 0).all()
    with pytest.raises(InputError, match="no special token in front of a text: use pooling mean or max"):
        features(opened(tiny_model("t5")), "cls", [("cat",)])


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """60 sentences whose label is their first word, as the embedding layer can tell."""
    rng = np.random.default_rng(0)
    words = ["cat", "dog", "rain", "train", "river", "house", "bank", "bridge"]
    lines = [f"{'the old' if i % 2 else 'one young'} {' '.join(rng.choice(words, 3))}\tL{i % 2}" for i in range(60)]
    (tmp_path / "first.te.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "first.te.txt"


def test_json_of_a_tiny_model(cli: Cli, task: Path, tiny_model: Model, tmp_path: Path) -> None:
    command = ("probe", task, "-m", tiny_model("bert"), "--resamples", 50, "--repeats", 2, "--train-sizes", "10,500")
    out, plot = tmp_path / "rows.tsv", tmp_path / "p.svg"
    done = cli(*command, "--format", "json", "-o", out, "--plot", plot)
    assert done.status == 0, done.err
    assert "bsx: note: first: no curve at 500:" in done.err
    content = json.loads(done.out)
    (found,) = content["tasks"]
    assert (found["task"], found["split"], found["labels"], found["seeds"]) == ("first", "drawn", ["L0", "L1"], [1, 2])
    assert found["train"] + found["validation"] + found["test"] == found["n"] == 60
    assert [row["layer"] for row in found["layers"]] == [0, 1, 2, 3]
    assert found["layers"][0]["accuracy"] > 0.9 > found["baseline"] + 0.2
    assert found["control"]["types"] == 2
    assert [size["size"] for size in found["curve"]] == [10]
    rows = read_rows(out)
    assert [row["task"] for row in rows] == ["first"] * 4
    assert float(rows[2]["accuracy"]) == pytest.approx(found["layers"][2]["accuracy"])
    assert float(rows[2]["accuracy_at_10"]) == pytest.approx(found["curve"][0]["accuracy"][2])
    assert (tmp_path / "rows.tsv.signature.txt").read_text().strip() in content["signatures"].values()
    assert "<svg" in plot.read_text()


def test_other_formats_and_a_judged_table(cli: Cli, task: Path, tiny_model: Model, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [f"the cat sat {i % 3}\tthe cat {'sat' if i % 2 else 'walked'} {i}\t{rng.random()}" for i in range(12)]
    judged = tmp_path / "judged.tsv"
    judged.write_text("mt\tref\tda\n" + "\n".join(rows) + "\n")
    named = ("--candidate", "mt", "--reference", "ref", "--human", "da")
    fast = ("--repeats", 1, "--resamples", 20, "--layers", "3,0,2")
    command = ("probe", task, "-m", tiny_model("bert"), *fast, "--judged", judged, *named)
    people = json.loads(cli(*command, "--format", "json").out)["agreement"]
    assert (people["n"], [*people["groups"]], people["data"]) == (12, ["all"], ["judged"])
    tuned = cli("registry", "tune", tiny_model("bert"), judged, "-l", "en", *named, "--format", "json")
    expected = json.loads(tuned.out)
    assert people["layers"][3]["f1"] == pytest.approx(expected["layers"][3]["f1"], abs=1e-6)
    assert people["signatures"] == expected["signatures"]
    assert "selectivity" not in cli(*command, "--detail", "control_task=false").out
    assert "selectivity" in cli(*command, "--full").out
    table = list(csv.DictReader(io.StringIO(cli(*command, "--format", "csv").out)))
    assert [row["layer"] for row in table] == ["0", "2", "3"]
    assert float(table[1]["agreement"]) == pytest.approx(people["layers"][2]["f1"], abs=1e-5)
    difference = float(table[1]["accuracy"]) - float(table[1]["control"])
    assert float(table[1]["selectivity"]) == pytest.approx(difference, abs=2e-6)


def test_words_with_labels(cli: Cli, tiny_model: Model, tmp_path: Path) -> None:
    tags = {"the": "D", "cat": "N", "sat": "V", "slowly": "A"}
    orders = list(itertools.permutations(tags)) * 2  # each sentence stands twice
    lines = [f"{word}\t{tags[word]}" if word else "" for order in orders for word in (*order, "")]
    (tmp_path / "pos.txt").write_text("\n".join(["\u200b\tN", *lines]), encoding="utf-8")
    command = ("--repeats", 1, "--resamples", 20, "--format", "json", "-m", tiny_model("bert"))
    done = cli("probe", tmp_path / "pos.txt", "--tokens", "--layers", "0", "--probe", "mlp", "--limit", 40, *command)
    assert done.status == 0, done.err
    (found,) = json.loads(done.out)["tasks"]
    assert 157 <= found["n"] <= 160
    assert found["layers"][0]["accuracy"] == 1
    assert "vector:word" in next(iter(json.loads(done.out)["signatures"].values()))


def test_probes_are_tested_on_further_files(cli: Cli, task: Path, tiny_model: Model, tmp_path: Path) -> None:
    other, plot = tmp_path / "first.zh.txt", tmp_path / "p.svg"
    other.write_text(task.read_text(encoding="utf-8").replace("rain", "train"), encoding="utf-8")
    command = ("probe", task, "-m", tiny_model("bert"), "--resamples", 50, "--repeats", 2, "--layers", "0,3")
    done = cli(*command, "--test-data", other, "--detail", "parallel=true", "--format", "json", "--plot", plot)
    assert done.status == 0, done.err
    (found,) = json.loads(done.out)["tasks"]
    (further,) = found["tested_on"]
    assert (further["name"], further["n"]) == ("first.zh.txt", found["test"])
    assert further["layers"][0]["accuracy"] > 0.9
    assert set(further["layers"][0]) >= {"low", "high", "control", "selectivity", "selectivity_low"}
    assert "on first.zh.txt" in plot.read_text()
    (whole,) = json.loads(cli(*command, "--test-data", other, "--format", "json").out)["tasks"]
    assert further["n"] < whole["tested_on"][0]["n"] <= 60  # copies of what was trained on stay out all the same
    assert whole["layers"] == found["layers"] == json.loads(cli(*command, "--format", "json").out)["tasks"][0]["layers"]
    text = cli(*command, "--test-data", other, "--detail", "parallel=true").out
    assert f"first.zh.txt, n = {further['n']}" in text
    rows = list(csv.DictReader(io.StringIO(cli(*command, "--test-data", other, "--format", "csv").out)))
    assert [row["tested_on"] for row in rows] == ["first"] * 2 + ["first.zh.txt"] * 2


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    """48 sentences in CoNLL-U."""
    tags = {"the": "DET\t_\t_", "cat": "NOUN\t_\tNumber=Sing", "cats": "NOUN\t_\tNumber=Plur", "sat": "VERB\t_\t_"}
    lines: list[str] = []
    for order in [*itertools.permutations(tags)] * 2:
        lines += [f"{at}\t{word}\t_\t{tags[word]}\t{at - 1}\tdep\t_\t_" for at, word in enumerate(order, 1)] + [""]
    (tmp_path / "en.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "en.conllu"


def test_a_treebank_gives_the_figures_of_a_file_of_words(
    cli: Cli, treebank: Path, tiny_model: Model, tmp_path: Path
) -> None:
    rows = [line.split("\t") for line in treebank.read_text().split("\n")]
    (tmp_path / "w.txt").write_text("\n".join(f"{row[1]}\t{row[3]}" if len(row) > 1 else "" for row in rows))
    fast = ("--tokens", "-m", tiny_model("bert"), "--repeats", 1, "--resamples", 20, "--layers", "0,2", "--limit", 40)
    (tmp_path / "de.conllu").write_bytes(treebank.read_bytes().replace(b"sat", b"rain"))
    beside = ("--test-data", tmp_path / "de.conllu", "--detail", "parallel=true", "--format", "json")
    done = cli("probe", treebank, *fast, *beside)
    assert done.status == 0, done.err
    (found,) = json.loads(done.out)["tasks"]
    (expected,) = json.loads(cli("probe", tmp_path / "w.txt", *fast, *beside).out)["tasks"]
    assert (found.pop("task"), expected.pop("task")) == ("en:upos", "w")
    assert found == expected
    assert found["tested_on"][0]["name"] == "de.conllu"


def test_wrong_use_is_one_line(cli: Cli, task: Path, treebank: Path, tiny_model: Model, tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("a b\tL0\nc d\tL1\n")
    for message, *arguments in (
        ("test on are called first.te.txt: rename one", task, "--test-data", task, "--test-data", task),
        ("short.txt has 2 sentences, first 60", task, "--test-data", short, "--detail", "parallel=true"),
        ("--test-data is for the probes of one task, and there are 2", task, short, "--test-data", short),
        ("en.conllu: is CoNLL-U, where words have labels", treebank),
    ):
        done = cli("probe", *arguments, "-m", tiny_model("bert"))
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert str(message) in done.err
