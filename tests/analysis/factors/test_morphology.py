"""Retrofitting against a literal loop, lexicon rules on small texts, vectors, and MOR."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.analysis.factors.lexicon import as_lexicon, build_lexicon, feature_overlap, lexicon_word, read_lexicon
from bsx.analysis.factors.morphology import mor
from bsx.analysis.factors.retrofitting import retrofit, retrofit_fixed_point
from bsx.analysis.factors.vectors import normalise_vectors, read_vectors, train_vectors, write_vectors
from bsx.analysis.factors.zoo import compute_factors
from bsx.errors import InputError, ModelUnavailableError

PLURAL, PAST = "Number=Plur", "Mood=Ind|Tense=Past"


def literal(vectors: dict[str, Any], lexicon: dict[str, list[str]], iterations: int) -> dict[str, Any]:
    """The update as it is written down, word by word."""
    now = {word: vector.copy() for word, vector in vectors.items()}
    for _ in range(iterations):
        for word, neighbours in lexicon.items():
            known = [other for other in set(neighbours) if other in vectors]
            if word not in vectors or not known:
                continue
            total = len(known) * vectors[word]
            for other in known:
                total = total + now[other]
            now[word] = total / (2 * len(known))
    return now


@pytest.fixture
def random_case() -> tuple[dict[str, Any], dict[str, list[str]]]:
    rng = np.random.default_rng(0)
    words = [f"w{index}" for index in range(40)]
    vectors = {word: rng.normal(size=6) for word in words}
    keys = [str(word) for word in rng.permutation([*words[:30], "unknown"])]
    lexicon = {word: [*(words[k] for k in rng.integers(0, 40, rng.integers(0, 6))), "absent"] for word in keys}
    lexicon[keys[3]] += [keys[3], keys[4], keys[4]]  # its own neighbour; one named twice
    return vectors, lexicon


@pytest.mark.parametrize("iterations", [0, 1, 2, 10])
def test_sweeps_are_those_of_the_loop(random_case: Any, iterations: int) -> None:
    vectors, lexicon = random_case
    found, expected = retrofit(vectors, lexicon, iterations), literal(vectors, lexicon, iterations)
    assert found.keys() == expected.keys()
    for word in found:
        np.testing.assert_allclose(found[word], expected[word], atol=1e-12)


def test_both_converge_to_the_fixed_point(random_case: Any) -> None:
    vectors, lexicon = random_case
    fixed, many = retrofit_fixed_point(vectors, lexicon), retrofit(vectors, lexicon, 200)
    backwards = retrofit(vectors, dict(reversed(lexicon.items())), 200)
    for word in fixed:
        np.testing.assert_allclose(fixed[word], many[word], atol=1e-12)
        np.testing.assert_allclose(fixed[word], backwards[word], atol=1e-12)


def test_the_toy_of_the_reference(shared: Path) -> None:
    raw = {word: np.cos(np.arange(1, 4) * index) for index, word in enumerate("abcde", start=1)}
    lexicon = {"a": ["b", "c"], "b": ["a"], "d": ["c", "x"], "x": ["a"]}
    expected = json.loads((shared / "reference_values.json").read_text())["retrofit_toy"]
    found = retrofit(normalise_vectors(raw), lexicon)
    for word, vector in expected.items():
        np.testing.assert_allclose(found[word], vector, atol=1e-6)


def test_retrofitting_without_anything_to_move_and_wrong_vectors() -> None:
    vectors = {"a": np.ones(2), "b": np.zeros(2)}
    assert retrofit(vectors, {"a": ["x"], "y": ["a"]})["a"].tolist() == [1, 1]
    assert retrofit({}, {}) == {}
    with pytest.raises(InputError, match=r"same length, found shapes \[\(2,\), \(3,\)\]"):
        retrofit({"a": np.ones(2), "b": np.ones(3)}, {"a": ["b"]})
    with pytest.raises(InputError, match="not finite"):
        retrofit({"a": np.array([np.nan]), "b": np.ones(1)}, {"a": ["b"]})


def test_lexicon_words_and_files(tmp_path: Path) -> None:
    words = ("Dogs", "B2B", "--", "Ärzte")
    assert [lexicon_word(word) for word in words] == ["dogs", "---num---", "---punc---", "ärzte"]
    file = tmp_path / "lexicon.txt"
    file.write_text("Dogs cats Mice\nrun 4 eat\ndogs cows\n\n", encoding="utf-8")
    lexicon = read_lexicon(file)
    assert lexicon == {"dogs": ["cats", "mice", "cows"], "run": ["---num---", "eat"]}
    file.write_text("dogs cats\nalone\n")
    with pytest.raises(InputError, match="line 2: 'alone' has no neighbour"):
        read_lexicon(file)


def test_lexicon_joins_equal_features_and_other_forms() -> None:
    tokens = [("dogs", PLURAL), ("cats", PLURAL), ("ran", PAST), ("of", ""), ("dogs", PLURAL), ("Dogs", PLURAL)]
    pairs = build_lexicon(tokens, seed=1)
    assert {word for word, _ in pairs} == {"dogs", "cats", "Dogs"}  # nothing shares the features of "ran"
    assert all(word != other and other != "ran" for word, other in pairs)
    assert len(pairs) == len(set(pairs))
    assert pairs == build_lexicon(tokens, seed=1)
    assert {tuple(build_lexicon(tokens, seed=seed)) for seed in range(9)} != {tuple(pairs)}
    assert feature_overlap(tokens) == pytest.approx(4 / 6)
    assert as_lexicon(pairs).keys() == {"dogs", "cats"}


@pytest.mark.parametrize(
    ("tokens", "first", "second"),
    [  # the order of features does not matter, a subset is not equal; a word that fills its group finds another
        ([("went", "Tense=Past|Mood=Ind"), ("ran", PAST), ("seen", "Tense=Past")], "went", "ran"),
        ([("is", PAST)] * 500 + [("was", PAST)], "is", "was"),
    ],
)
def test_words_of_equal_features_are_joined(tokens: list[tuple[str, str]], first: str, second: str) -> None:
    assert set(build_lexicon(tokens)) == {(first, second), (second, first)}


def test_few_draws_find_rare_features_rarely() -> None:
    tokens = [("a", "X=1"), ("b", "X=1")] + [(f"w{i}", "") for i in range(998)]
    found = sum(len(build_lexicon(tokens, seed=seed, draws=100)) for seed in range(300))
    assert found / 600 == pytest.approx(0.1, abs=0.04)  # one fits among 1,000, a tenth of them is looked through


def test_lexicon_across_languages() -> None:
    english = [("dogs", PLURAL), ("ran", PAST), ("Haus", "Foreign=Yes|Number=Sing")]
    german = [("Hunde", "Foreign=Yes|Number=Plur"), ("dogs", PLURAL), ("lief", PAST + "|VerbForm=Fin")]
    german.append(("Haus", "Number=Sing"))
    pairs = {pair for seed in range(20) for pair in build_lexicon(english, german, seed=seed)}
    assert pairs == {("dogs", "Hunde"), ("dogs", "dogs")}
    assert feature_overlap(english, german) == pytest.approx(1 / 3)


def test_vectors_are_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "v.vec"
    rng = np.random.default_rng(1)
    vectors = {word: rng.normal(size=4).astype(np.float32) for word in ("cat", "naïve", "x")}
    write_vectors(file, vectors)
    again = read_vectors(file)
    assert list(again) == list(vectors)
    assert all((again[word] == vectors[word]).all() for word in vectors)
    assert list(read_vectors(file, {"cat"})) == ["cat"]
    file.write_text("Cat 1 2\ncat 3 4\nDog 5 6\n")
    assert {word: vector.tolist() for word, vector in read_vectors(file).items()} == {"cat": [3, 4], "dog": [5, 6]}
    with pytest.raises(InputError, match="none of the words wanted"):
        read_vectors(file, {"bird"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 3\na 1 2 3\nb 1 2\n", "line 3 has 2 numbers, not 3"),
        ("a 1 2\nb 1 2 3\n", "line 2 has 3 numbers, not 2"),
        ("a 1 two\n", "line 1: not all of its values are numbers"),
    ],
)
def test_vectors_of_the_wrong_dimension(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "v.vec"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_vectors(file)


def test_mor_is_the_cosine_of_means() -> None:
    vectors = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0])}
    assert mor(["A"], ["a", "zzz"], vectors) == pytest.approx(1)
    assert mor(["a"], ["b"], vectors) == 0
    assert mor(["a", "b"], ["b"], vectors) == pytest.approx(np.sqrt(0.5))
    assert np.isnan(mor(["zzz"], ["a"], vectors))


def test_trained_vectors_come_out_again(shared: Path) -> None:
    pytest.importorskip("fasttext", reason="fasttext is not installed: it is compiled on installation")
    lines = (shared / "data/kaster2021/sts-en.tsv").read_text(encoding="utf-8").splitlines()[1:300]
    texts = [text.split() for line in lines for text in line.split("\t")[:2]]
    first, second = (train_vectors(texts, {"dim": 20, "bucket": 20_000}) for _ in range(2))
    assert "man" in first
    assert "Man" not in first
    assert all((first[word] == second[word]).all() and first[word].shape == (20,) for word in first)
    with pytest.raises(InputError, match="cannot be trained on these 1 texts"):
        train_vectors([["once"]], {"bucket": 10})


def test_bin_files(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext", reason="fasttext is not installed: it is compiled on installation")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Yes no maybe\n" * 20)
    model = fasttext.train_unsupervised(str(corpus), dim=3, bucket=10, verbose=0, thread=1)
    model.save_model(str(tmp_path / "m.bin"))
    vectors = read_vectors(tmp_path / "m.bin", {"yes", "no"})
    np.testing.assert_allclose(vectors["yes"], model.get_word_vector("Yes"))
    (tmp_path / "bad.bin").write_text("nothing")
    with pytest.raises(InputError, match="is not a fastText model"):
        read_vectors(tmp_path / "bad.bin")


def test_the_factor_with_files(tmp_path: Path) -> None:
    vec, lex = tmp_path / "v.vec", tmp_path / "l.txt"
    vec.write_text("cat 1 0\ncats 0 1\ndog 1 1\n")
    lex.write_text("cats dog\n")
    specs = ["mor", "mor:retrofitting=none", "mor:preset=kaster2021,retrofitting=fixed-point"]
    found = compute_factors(specs, ["a cat", "?"], ["cats", "cat"], vectors=vec, lexicon=lex)
    plain = normalise_vectors({"cat": np.array([1, 0]), "cats": np.array([0, 1]), "dog": np.array([1, 1])})
    moved = retrofit(plain, {"cats": ["dog"]})
    assert found["mor"].values[0] == pytest.approx(mor(["cat"], ["cats"], moved))
    assert np.isnan(found["mor"].values[1])
    assert found["mor:retrofitting=none"].values[0] == 0
    assert found[specs[2]].values.tolist() == [pytest.approx(mor(["cat"], ["cats"], moved), abs=1e-3), 0]
    lexicon: Any = found["mor"].details["lexicon"]
    assert lexicon["file"] == "l.txt"
    with pytest.raises(ModelUnavailableError, match="vectors"):
        compute_factors("mor", ["a"], ["b"])
