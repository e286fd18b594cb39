"""Scripts of texts, told from the language that the user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.catalog.catalog import shipped
from bsx.data.writing import other_script
from tests.conftest import Cli

TEXTS = [
    ("你好，世界", "Hans", None),
    ("你好，世界", "Hant", None),
    ("東京へ行きます", "Jpan", None),
    ("東京へ行きます", "Latn", "Hira"),
    ("한국어 (漢字)", "Kore", None),
    ("hello 你好", "Hans", "Latn"),
    ("Straße", "Latn", None),
    ("Straße", "Cyrl", "Latn"),
    ("Привет", "Latn", "Cyrl"),
    ("እንደምን", "Arab", "Ethi"),
    ("ᏣᎳᎩ", "Latn", "Zzzz"),
    ("12 % – 3", "Cyrl", None),
    ("", "Hans", None),
]


@pytest.mark.parametrize(("text", "script", "other"), TEXTS)
def test_the_script_of_most_letters_counts(text: str, script: str, other: str | None) -> None:
    assert other_script(text, script) == other


def test_a_script_that_the_tag_names_is_expected(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "a.sr"
    file.write_text("Ovo je kuća.\nPada kiša.\n", encoding="utf-8")
    files = ("score", "-c", file, "-r", file, "--metrics", "chrf", "--lang")
    assert cli(*files, "sr-Latn").err == ""
    assert "2 of 2 references are in another language or script than Serbian (Cyrl)" in cli(*files, "sr").err


def test_every_script_of_the_registry_is_known_to_unicode() -> None:
    for language in shipped().languages.values():
        assert other_script("ᏣᎳᎩ", language.script) == "Zzzz"


def test_texts_in_another_script_are_counted(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mt.zh").write_text("我们在这里\nhello there\n12 %\nПривет мир\n", encoding="utf-8")
    (tmp_path / "ref.zh").write_text("我们在这里\n你好\n12 %\n你好\n", encoding="utf-8")
    files = ("-c", tmp_path / "mt.zh", "-r", tmp_path / "ref.zh", "--metrics", "chrf")
    result = cli("score", *files, "--lang", "chinese")
    assert result.status == 0
    note = "bsx: note: candidates in another script: 2 of 4 (segments 2, 4)\n"
    assert result.err == note
    assert cli("score", *files).err == note, "the references are Chinese"
