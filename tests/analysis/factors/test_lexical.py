"""LEX against published scores, NLTK and sacreBLEU; sentence splitting; dictionaries; Unicode forms and scripts."""

from __future__ import annotations

import csv
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.analysis.factors import lexical, treebank
from bsx.analysis.factors.base import FactorScores
from bsx.analysis.factors.lexical import bleu1, jaccard, read_dictionary, unigram_precision
from bsx.analysis.factors.treebank import split_sentences, treebank_tokens
from bsx.analysis.factors.zoo import compute_factors
from bsx.errors import InputError, MissingExtraError, ModelUnavailableError
from bsx.support.provenance import Signature


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [("a b c d", "a b"), ("a a b", "a a a"), ("a b", "c d"), ("a b c", "c b a"), ("the cat sat", "the the the the")],
)
def test_bleu1_is_nltks(reference: str, hypothesis: str) -> None:
    from nltk.translate.bleu_score import sentence_bleu

    one, two = reference.split(), hypothesis.split()
    expected = sentence_bleu([one], two, weights=(1,)) if set(one) & set(two) else 0.0
    assert bleu1(one, two) == pytest.approx(expected, abs=1e-12)


def test_edges() -> None:
    assert bleu1([], []) == bleu1(["a"], []) == bleu1([], ["a"]) == 0
    assert unigram_precision(["a"], []) == jaccard([], []) == 0
    assert unigram_precision(["a", "b", "c", "d"], ["a", "b"]) == 1 > bleu1(["a", "b", "c", "d"], ["a", "b"])


@pytest.mark.parametrize(("name", "count"), [("wmt", 1500), ("sts", 1500)])
def test_the_published_column_comes_out_again(shared: Path, name: str, count: int) -> None:
    with (shared / f"data/kaster2021/{name}-en.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))[-count:]
    found = [bleu1(treebank_tokens(row["sentence1"]), treebank_tokens(row["sentence2"])) for row in rows]
    equal = sum(abs(ours - float(row["bleu"])) < 1e-9 for ours, row in zip(found, rows, strict=True))
    assert equal / count > 0.99


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Really? Yes! No.", ["Really?", "Yes!", "No."]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("It was 30. in August. I saw J. Smith.", ["It was 30. in August.", "I saw J. Smith."]),
        ("Wait... what? Wait... What?", ["Wait... what?", "Wait...", "What?"]),
        ("Dr. No lives in the U.S. today", ["Dr. No lives in the U.S. today"]),
        ("", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_variants_agree_with_sacrebleu() -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    first, second = ["The cat sat on the mat."], ["A cat is on the mat."]
    specs = ["lex:variant=bleu,tokenize=13a", "lex:preset=chrf", "lex:preset=jaccard", "lex:preset=precision"]
    bleu, chrf, overlap, precision = (s.values[0] for s in compute_factors(specs, first, second).values())
    assert bleu == pytest.approx(BLEU(effective_order=True).sentence_score(second[0], first).score / 100)
    assert chrf == pytest.approx(CHRF().sentence_score(second[0], first).score / 100)
    assert overlap == pytest.approx(5 / 8)  # cat, on, the, mat, . of these, sat, a and is
    assert precision == pytest.approx(5 / 7)


def test_roles_and_case() -> None:
    first, second = ["a b c d"], ["A b"]
    plain, swapped, lower = (
        compute_factors(f"lex:tokenize=whitespace{more}", first, second)[f"lex:tokenize=whitespace{more}"].values[0]
        for more in ("", ",reference=sentence2", ",lowercase=true")
    )
    assert plain == bleu1(first[0].split(), second[0].split())
    assert swapped == bleu1(second[0].split(), first[0].split())
    assert lower > plain


def test_across_languages_by_translation_or_dictionary(tmp_path: Path) -> None:
    first, second = ["der Hund schläft", "die Katze"], ["the dog sleeps", "the cat"]
    with pytest.raises(InputError, match="translation.*dictionary"):
        compute_factors("lex", first, second, lang="de-en")
    columns = {"google": ["the dog is asleep", "the cat"]}
    found = compute_factors("lex", first, second, lang="de-en", columns=columns, translation="google")["lex"]
    assert found.values[1] == 1 > found.values[0] > 0
    words = tmp_path / "words.tsv"
    words.write_text("der\tthe\ndie\tthe\nHund\tdog\tignored\nschläft\tis asleep\nKatze\tcat\n", encoding="utf-8")
    found = compute_factors("lex", first, second, lang="de-en", dictionary=words)["lex"]
    assert found.values.tolist() == [bleu1(["the", "dog", "is", "asleep"], second[0].split()), 1.0]
    lacking = compute_factors("lex", ["Die neue"], ["the neue"], lang="de-en", dictionary=words)["lex"]
    assert lacking.values.tolist() == [1]  # what the dictionary lacks stays as it is, and capitals are looked up too
    words.write_text("der the\n")
    with pytest.raises(InputError, match="line 1 is not 'word TAB translation'"):
        read_dictionary(words)


def test_unknown_tokenizer_and_blank_sides() -> None:
    with pytest.raises(InputError, match=r"no tokenizer 'mose'.*treebank, whitespace"):
        compute_factors("lex:tokenize=mose", ["a"], ["a"])
    found = compute_factors("lex", ["a", ""], ["a", "b"])["lex"]
    assert found.values.tolist() == [1.0, 0.0]
    assert "1 of 2 pairs" in found.notes[0]


@pytest.mark.timeout(100)  # a fraction of a second, or over two minutes where every character begins anew
@pytest.mark.parametrize("part", ["a", ".", "'", ".'", "a.", "汉", "a. "])
def test_a_long_word_is_read_once_not_once_for_each_of_its_characters(part: str) -> None:
    text = part * (100_000 // len(part))
    assert "".join(treebank_tokens(text)).startswith(part[0])


@given(st.text(st.sampled_from("aA1.?!\"')]} \t\n\u00a0-"), max_size=30))
def test_sentences_end_where_any_part_of_a_word_would_say_so(text: str) -> None:
    anywhere = re.compile(treebank._END.pattern.removeprefix(r"(?<!\S)"))
    spans, spans_anywhere = ([end.span() for end in pattern.finditer(text)] for pattern in (treebank._END, anywhere))
    assert spans == spans_anywhere


def test_scores_of_a_factor_are_shown_and_listed() -> None:
    found = FactorScores(np.array([0.25, np.nan, 0.75]), {"column": "x"}, ("one is missing.",))
    assert "2 of 3 sentence pairs" in found.to_text()
    assert found.to_dict()["values"] == [0.25, None, 0.75]
    assert found.to_frame()["value"].tolist()[::2] == [0.25, 0.75]
    empty = FactorScores(np.array([np.nan]), {})
    assert "none of 1" in empty.to_text()


@pytest.mark.parametrize("lang", ["ja", "ko"])
def test_a_tokenizer_that_needs_a_package_is_one_line(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lexical.tokenizer.cache_clear()
    for package in ("MeCab", "mecab_ko"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"sacrebleu\[{lang}\].*lex:tokenize=char"):
        compute_factors("lex", ["雨が降る"], ["雨が降った"], lang=lang)
    assert compute_factors("lex:tokenize=char", ["雨が降る"], ["雨が降った"], lang=lang)


@pytest.mark.parametrize("lang", ["th", "lo", "km", "my"])
def test_a_tokenizer_whose_model_is_missing_is_one_line(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lexical.tokenizer.cache_clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("BSX_CACHE", "/nowhere")
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", "/nowhere")
    with pytest.raises(ModelUnavailableError, match="flores101.*lex:tokenize=char"):
        compute_factors("lex", ["a"], ["b"], lang=lang)


def test_the_script_of_the_texts_is_looked_at() -> None:
    assert lexical.default_tokenizer("en", ["the rain"]) == "treebank"
    assert lexical.default_tokenizer("en", ["北京在下雨"]) == lexical.default_tokenizer("zh") == "zh"
    assert lexical.default_tokenizer("ja", ["東京"]) == "ja-mecab"  # Japanese has Han characters too
    result = compute_factors("lex", ["北京在下雨"], ["北京下雨"])["lex"]
    assert result.details["tokenize"] == "zh"
    assert any("zh" in note for note in result.notes)
    assert result.values[0] > 0.5


def test_equal_texts_in_two_forms_have_all_words_in_common() -> None:
    text = "Élève à l'école"
    cut = unicodedata.normalize("NFD", text)
    assert compute_factors("lex", [text], [cut])["lex"].values[0] == 1
    assert compute_factors("lex:normalize=none", [text], [cut])["lex:normalize=none"].values[0] < 1
    assert compute_factors("lex", [text], [cut], preset="kaster2021")["lex"].details["normalize"] == "none"


def test_a_signature_from_before_there_were_forms_is_of_the_same_settings() -> None:
    old, new, none = (Signature.read(f"metric:chrf{form}") for form in ("", "|normalize:nfc", "|normalize:none"))
    assert (old.differs(new), new.differs(old), new.differs(none)) == ([], [], ["normalize"])
