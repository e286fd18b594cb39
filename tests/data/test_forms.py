"""Forms of texts: Unicode's, marks that may be left out, two scripts of one language; and scripts by their letters."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.catalog.catalog import shipped
from bsx.data import writing
from bsx.data.corpus import MemoryCorpus, Segment
from tests.conftest import Cli

ANY = st.text(st.characters(exclude_categories=["Cs"]))


@given(ANY)
def test_two_forms_of_a_text_are_one_and_nfc_stays_as_it_is(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert writing.in_form(composed, "nfc") == composed
    assert writing.in_form(unicodedata.normalize("NFD", text), "nfc") == composed
    assert writing.in_form(text, "none") == text
    for form in ("nfc", "nfkc", "tashkeel", "sr-latn"):
        assert writing.in_form(writing.in_form(text, form), form) == writing.in_form(text, form)
    assert writing.form_of(text) == {(True, True): "both", (True, False): "NFC", (False, True): "NFD"}.get(
        (unicodedata.is_normalized("NFC", text), unicodedata.is_normalized("NFD", text)), "neither"
    )


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("nfkc", "Ｃａｆé　１２", "Café 12"),
        ("nfc", "Ｃａｆé", "Ｃａｆé"),
        ("tashkeel", "كَتَبَ الدَّرْسَ فِي الْمَدْرَسَةِ", "كتب الدرس في المدرسة"),
        ("tashkeel", "القــرآن وأُسْرَة", "القرآن وأسرة"),  # hamza and madda are part of a letter
        ("tashkeel", unicodedata.normalize("NFD", "القرآن"), "القرآن"),
        ("sr-latn", "Џеп, њихов, ЊЕГОВ, Љ. Ђорђевић жели", "Džep, njihov, NJEGOV, Lj. Đorđević želi"),
        ("sr-latn", "već latinica", "već latinica"),
        ("nfc", "क\u093c", unicodedata.normalize("NFC", "\u0958")),
    ],
)
def test_forms(form: str, text: str, expected: str) -> None:
    assert writing.in_form(text, form) == expected  # type: ignore[arg-type]


def test_a_corpus_in_a_form_keeps_the_cells_of_its_rows() -> None:
    cut = unicodedata.normalize("NFD", "été")
    segment = Segment("1", (cut,), (cut, "a"), cut, row={"candidate": cut})
    assert writing.segment_in_form(segment, "none") is segment
    composed = writing.segment_in_form(segment, "nfc")
    assert (composed.candidates, composed.references, composed.source) == (("été",), ("été", "a"), "été")
    assert composed.row == {"candidate": cut}
    assert writing.segment_in_form(composed, "nfc") is composed
    corpus = writing.InForm(MemoryCorpus({"a": [cut]}, [[cut]]), "nfc")
    assert [item.candidates for item in corpus] == [("été",)]
    assert (corpus.systems, corpus.has) == (("a",), {"reference"})


def test_a_note_says_how_many_texts_are_in_which_form() -> None:
    assert writing.forms_note({"NFC": 2, "both": 5}, "nfc") is None
    note = writing.forms_note({"NFC": 2, "NFD": 3, "both": 5, "neither": 1}, "none") or ""
    assert all(part in note for part in ("11 texts", "2 are in Unicode form NFC", "3 in NFD", "1 in neither"))


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("the rain", "Latn"),
        ("Дождь", "Cyrl"),
        ("北京在下雨 (rain, it says)", "Hani"),
        ("東京は雨です", "Hira"),
        ("コーヒー", "Hira"),
        ("비가 온다", "Hang"),
        ("ฝนตก", "Thai"),
        ("बारिश", "Deva"),
        ("١٢ %", None),
        ("", None),
    ],
)
def test_script_of_letters(text: str, script: str | None) -> None:
    assert writing.script_of([text]) == script
    assert script is None or script in writing.SCRIPTS


def test_the_script_is_that_of_the_first_segments_whatever_follows() -> None:
    texts = ["北京"] * writing.SAMPLE + ["rain " * 50] * writing.SAMPLE
    corpus = MemoryCorpus({"a": texts}, texts)
    assert writing.InForm(corpus, "nfc").scripts == {"candidate": "Hani", "reference": "Hani"}


@pytest.mark.parametrize(
    ("text", "script", "other"),
    [
        ("你好，世界", "Hans", None),
        ("你好，世界", "Hant", None),
        ("hello 你好", "Hans", "Latn"),
        ("", "Hans", None),
        ("東京へ行きます", "Jpan", None),
        ("東京へ行きます", "Latn", "Hira"),
        ("한국어 (漢字)", "Kore", None),
        ("Straße", "Latn", None),
        ("Straße", "Cyrl", "Latn"),
        ("Привет", "Latn", "Cyrl"),
        ("12 % – 3", "Cyrl", None),
        ("እንደምን", "Arab", "Ethi"),
        ("ᏣᎳᎩ", "Latn", "Zzzz"),
    ],
)
def test_the_script_of_most_letters_counts(text: str, script: str, other: str | None) -> None:
    assert writing.other_script(text, script) == other


def test_a_script_that_the_tag_names_is_expected(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "a.sr"
    file.write_text("Ovo je kuća.\nPada kiša.\n", encoding="utf-8")
    files = ("score", "-c", file, "-r", file, "--metrics", "chrf", "--lang")
    assert cli(*files, "sr-Latn").err == ""
    assert "2 of 2 references are in another language or script than Serbian (Cyrl)" in cli(*files, "sr").err


def test_every_script_of_the_registry_is_known_to_unicode() -> None:
    for language in shipped().languages.values():
        assert writing.other_script("ᏣᎳᎩ", language.script) == "Zzzz"


def test_texts_in_another_script_are_counted(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mt.zh").write_text("我们在这里\nhello there\n12 %\nПривет мир\n", encoding="utf-8")
    (tmp_path / "ref.zh").write_text("我们在这里\n你好\n12 %\n你好\n", encoding="utf-8")
    files = ("-c", tmp_path / "mt.zh", "-r", tmp_path / "ref.zh", "--metrics", "chrf")
    result = cli("score", *files, "--lang", "chinese")
    assert result.status == 0
    note = "bsx: note: candidates in another script: 2 of 4 (segments 2, 4)\n"
    assert result.err == note
    assert cli("score", *files).err == note, "the references are Chinese"
