"""LEX on texts as they are written: Unicode forms, and tokenizers that a language or a script needs."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from bsx.analysis.factors.lexical import default_tokenizer, tokenizer
from bsx.analysis.factors.zoo import compute_factors
from bsx.errors import MissingExtraError, ModelUnavailableError
from bsx.support.provenance import Signature


@pytest.mark.parametrize("lang", ["ja", "ko"])
def test_a_tokenizer_that_needs_a_package_is_one_line(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer.cache_clear()
    for package in ("MeCab", "mecab_ko"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"sacrebleu\[{lang}\].*lex:tokenize=char"):
        compute_factors("lex", ["雨が降る"], ["雨が降った"], lang=lang)
    assert compute_factors("lex:tokenize=char", ["雨が降る"], ["雨が降った"], lang=lang)


@pytest.mark.parametrize("lang", ["th", "lo", "km", "my"])
def test_a_tokenizer_whose_model_is_missing_is_one_line(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer.cache_clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("BSX_CACHE", "/nowhere")
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", "/nowhere")
    with pytest.raises(ModelUnavailableError, match="flores101.*lex:tokenize=char"):
        compute_factors("lex", ["a"], ["b"], lang=lang)


def test_the_script_of_the_texts_is_looked_at() -> None:
    assert default_tokenizer("en", ["the rain"]) == "treebank"
    assert default_tokenizer("en", ["北京在下雨"]) == default_tokenizer("zh") == "zh"
    assert default_tokenizer("ja", ["東京"]) == "ja-mecab"  # Japanese has Han characters too
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
