"""Texts as they are written: equal ones in two Unicode forms, and scripts that decide on words and doubt models."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

import bsx
from bsx.encode.session import Encoders
from bsx.errors import InputError, LanguageError, MissingExtraError
from bsx.metrics.base import Metric, get_metric
from tests.helpers.tables import read_rows, write_columns

SURFACE = ["chrf", "chrf++", "bleu", "sentbleu", "ter", "rouge-l:tokenizer=whitespace", "overlap", "length"]
ENCODED = ["bertscore", "sentence", "moverscore:layer=2,pmeans=false", "bertr"]
TEXTS = ["Đây là một câu tiếng Việt", "한국어 문장입니다", "Élève à l'école", "ガラスがある", "मैं ज़रूर आऊँगा"]
ZH = ["我很爱北京的天安门广场。", "今天的天气不错，我们出去吧。"]
ZH_CANDIDATES = ["我爱北京天安门广场。", "今天天气很好，我们出去吧。"]


def cut(texts: list[str]) -> list[str]:
    return [unicodedata.normalize("NFD", text) for text in texts]


def made(spec: str, **run: Any) -> Metric:
    return get_metric(spec, encoders=Encoders(**{"model": "minilm", **run}))


@pytest.mark.parametrize("spec", [*SURFACE, *ENCODED])
def test_equal_texts_in_two_forms_score_as_equal_ones(spec: str) -> None:
    lexical = spec in SURFACE
    metric = made(spec)
    same, other = metric.score(TEXTS, TEXTS), metric.score(cut(TEXTS), TEXTS)
    np.testing.assert_allclose(same.values, other.values, rtol=0, atol=0 if lexical else 1e-5)
    assert str(same.signature) == str(other.signature)
    assert other.signature["normalize"] == "nfc"
    assert sum("Unicode form" in note for note in metric.encoders.notes) == 1
    plain = made(spec, normalize="none")
    assert plain.score(TEXTS, TEXTS).signature["normalize"] == "none"
    if not lexical:
        np.testing.assert_array_equal(plain.score(TEXTS[::-1], TEXTS).values, metric.score(TEXTS[::-1], TEXTS).values)
    assert not lexical or not np.array_equal(plain.score(cut(TEXTS), TEXTS).values, same.values)
    matrices = metric.score_matrix(cut(TEXTS), TEXTS), metric.score_matrix(TEXTS, TEXTS)
    np.testing.assert_allclose(*matrices, rtol=0, atol=0 if lexical else 1e-5)


def test_idf_and_alignments_read_one_form() -> None:
    scorer = bsx.Scorer(model="minilm", normalize="nfc")
    assert scorer.count_idf(cut(TEXTS)).digest == scorer.count_idf(TEXTS).digest
    assert scorer.align(cut(TEXTS)[0], TEXTS[0]).f1 == scorer.align(TEXTS[0], TEXTS[0]).f1


def test_a_run_reads_one_form_and_encoders_say_which() -> None:
    with pytest.raises(InputError, match="normalize"):
        bsx.Scorer(normalize="none", encoders=Encoders(model="minilm"))
    from bsx.data.corpus import MemoryCorpus
    from bsx.metrics.results import score_corpus

    metrics = [made("chrf"), made("ter", normalize="none")]
    with pytest.raises(InputError, match="one form"):
        score_corpus(metrics, MemoryCorpus({"a": TEXTS}, TEXTS))


def test_bleu_and_ter_cut_chinese_as_sacrebleu_does_for_it() -> None:
    bleu = BLEU(tokenize="zh").corpus_score(ZH_CANDIDATES, [ZH]).score
    ter = TER(normalized=True, asian_support=True).corpus_score(ZH_CANDIDATES, [ZH]).score
    for run in ({}, {"lang": "zh"}):
        metric = made("bleu", **run)
        scored = metric.score(ZH_CANDIDATES, ZH)
        assert (scored.system, scored.signature["tokenize"]) == (pytest.approx(bleu), "zh")
        assert run or any("tokenizer zh" in note for note in metric.encoders.notes)
        metric = made("ter", **run)
        scored = metric.score(ZH_CANDIDATES, ZH)
        assert (scored.system, scored.signature["asian_support"]) == (pytest.approx(ter), "yes")
        assert any("characters" in note for note in metric.encoders.notes)
    assert made("ter:asian_support=false", lang="zh").score(ZH_CANDIDATES, ZH).signature["normalized"] == "no"
    assert made("ter").score(["a b"], ["a c"]).signature["asian_support"] == "no"
    assert made("bleu").score(["a b"], ["a c"]).signature["tokenize"] == "13a"
    assert made("bleu").signature()["tokenize"] == "script"  # no texts were seen
    old = made("bleu", normalize="none").score(ZH_CANDIDATES, ZH)
    assert (old.system, old.signature["tokenize"]) == (BLEU().corpus_score(ZH_CANDIDATES, [ZH]).score, "13a")
    assert made("chrf").score(ZH_CANDIDATES, ZH).system == made("chrf", lang="zh").score(ZH_CANDIDATES, ZH).system


@pytest.mark.parametrize(
    ("text", "run", "tokenizer"),
    [
        ("the rain", {}, "ascii"),
        ("der Regen", {"lang": "de"}, "whitespace"),
        ("идёт дождь", {}, "whitespace"),
        ("비가 온다", {}, "whitespace"),
        ("北京在下雨", {}, "characters"),
        ("ฝนตกหนัก", {"lang": "th"}, "characters"),
        ("北京在下雨", {"normalize": "none"}, "ascii"),
    ],
)
def test_rouge_cuts_words_by_language_or_script(text: str, run: dict[str, Any], tokenizer: str) -> None:
    metric = made("rouge-l", **run)
    scored = metric.score([text], [text])
    assert scored.signature["tokenizer"] == tokenizer
    assert any(f"tokenizer {tokenizer}" in note for note in metric.encoders.notes) == (tokenizer != "ascii")
    assert scored.values[0] == (1 if tokenizer != "ascii" or text.isascii() else metric.entry.empty or 0)


@pytest.mark.parametrize("text", ["雨が降っている", "비가 온다"])
def test_a_script_whose_tokenizer_is_missing_is_one_line(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("MeCab", "mecab_ko"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match="bleu:tokenize=char"):
        made("bleu").score([text], [text])
    assert made("bleu:tokenize=char").score([text], [text]).system > 0


def test_a_model_that_does_not_know_the_script_is_doubted() -> None:
    metric = made("bertscore")
    scored = metric.score(ZH_CANDIDATES, ZH)
    (note,) = scored.signature.notes
    assert "Han script" in note
    assert note in metric.encoders.notes
    assert metric.score(["a cat"], ["a dog"]).signature.notes == ()
    assert scored.signature.digest == metric.score(["a cat"], ["a dog"]).signature.digest
    with pytest.raises(LanguageError, match="Han script"):
        made("bertscore", strict=True).score(ZH_CANDIDATES, ZH)
    assert made("bertscore", strict=True, model="me5-small-q4").score(ZH_CANDIDATES, ZH).signature.notes == ()


def test_scripts_that_are_not_looked_at_decide_nothing() -> None:
    for form, drops in (("nfc", "no"), ("none", "yes")):
        scores = made("xmoverscore", normalize=form).score(ZH_CANDIDATES, sources=ZH)
        assert scores.signature["drop_subwords"] == drops


@pytest.mark.slow
def test_xmoverscore_keeps_pieces_where_words_have_no_spaces() -> None:
    run = {"model": "me5-small-q4"}
    english = ["I love Tiananmen Square.", "The weather is nice today."]
    metric = made("xmoverscore", **run)
    for candidates, sources in ((ZH, english), (english, ZH)):
        scored = metric.score(candidates, sources=sources)
        kept = made("xmoverscore:drop_subwords=false", **run).score(candidates, sources=sources)
        assert scored.signature["drop_subwords"] == "no"
        np.testing.assert_array_equal(scored.values, kept.values)
        assert any("drop_subwords" in note for note in metric.encoders.notes)
    scored = metric.score(english, sources=["Ich liebe den Platz.", "Das Wetter ist schön."])
    assert scored.signature["drop_subwords"] == "yes"
    assert not any("drop_subwords" in note for note in metric.encoders.notes)


def test_a_cache_mixes_no_forms(tmp_path: Path) -> None:
    plain = made("bertscore", normalize="none").score(cut(TEXTS), TEXTS).values
    for form in ("nfc", "none", "nfc"):
        values = made("bertscore", normalize=form, cache=str(tmp_path / "vectors")).score(cut(TEXTS), TEXTS).values
        np.testing.assert_allclose(values, plain if form == "none" else 1, atol=1e-5)


def test_what_is_written_keeps_texts_as_they_were_given(tmp_path: Path) -> None:
    from bsx.scoring.run import score_files

    table, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    given = cut(TEXTS)
    write_columns(table, {"one": given, "two": TEXTS, "reference": TEXTS})
    scored = score_files(table=str(table), candidate=["one", "two"], metrics=["chrf"], output=output)
    assert [row["candidate"] for row in read_rows(output) if row["system"] == "one"] == given
    assert any("Unicode form" in note for note in scored.notes())
    by_name = {row["system"]: row["score"] for row in scored.to_dict()["metrics"][0]["scores"]}
    assert by_name == {"one": pytest.approx(100), "two": pytest.approx(100)}
