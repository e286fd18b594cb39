"""Costly steps look for what they need before they begin."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bsx import get_metric
from bsx.analysis import compute_factors
from bsx.analysis.factors import parsers
from bsx.data.output import check_picture
from bsx.errors import BsxError, InputError, MissingExtraError, ModelUnavailableError

TEXTS = ["The cat sat."], ["A cat sat down."]


@pytest.fixture
def never_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("parsed before the door was checked")

    monkeypatch.setattr("bsx.analysis.factors.syntax.parse_texts", refuse)
    monkeypatch.setattr("bsx.analysis.factors.morphology.parse_texts", refuse)
    monkeypatch.setattr(parsers.StanzaParser, "check", lambda self: None)


@pytest.mark.usefixtures("never_parses")
def test_what_a_later_factor_lacks_is_said_before_an_earlier_one_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailableError, match="needs word vectors"):
        compute_factors("syn,mor", *TEXTS)
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[morphology\]"):
        compute_factors("syn,mor", *TEXTS, train_vectors=True)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[morphology\]"):
        compute_factors("syn,mor", *TEXTS, vectors=Path("some.bin"))


@pytest.mark.usefixtures("never_parses")
def test_word_vectors_that_are_not_there_are_missed_before_parsing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.vec"):
        compute_factors("syn,mor", *TEXTS, vectors=tmp_path / "none.vec")


def test_a_parser_is_missed_before_lex_is_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "stanza", None)

    def refuse(*_: object) -> None:
        raise AssertionError("counted before the door was checked")

    monkeypatch.setattr("bsx.analysis.factors.lexical.Lexical.compute", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[syntax\]"):
        compute_factors("lex,syn", *TEXTS, parser_dir=tmp_path)


@pytest.mark.parametrize(
    ("tokenizer", "package"), [("ja-mecab", "MeCab"), ("ko-mecab", "mecab_ko")], ids=["Japanese", "Korean"]
)
def test_a_tokenizer_is_missed_when_the_metric_is_made(
    tokenizer: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in [name for name in sys.modules if name.startswith("sacrebleu.tokenizers.tokenizer_" + tokenizer[:2])]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(BsxError):
        get_metric(f"bleu:tokenize={tokenizer}")


@pytest.mark.parametrize("package", ["ot", "threadpoolctl"])
def test_a_solver_is_missed_when_the_metric_is_made(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[metrics\]"):
        get_metric("moverscore", model="minilm")


def test_wordnet_is_missed_without_nltk_being_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    if any(Path(place, "nltk_data").exists() for place in ("/usr/share", "/usr/local/share", "/usr/lib")):
        pytest.skip("this machine has data of NLTK for all users")
    with pytest.raises(InputError, match=r"nltk\.downloader wordnet"):
        get_metric("meteor")
    assert "nltk" not in sys.modules
    (tmp_path / "nltk" / "corpora" / "wordnet").mkdir(parents=True)
    assert get_metric("meteor").name == "meteor"


def test_what_draws_is_missed_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[report\]"):
        check_picture(tmp_path / "some.svg")
