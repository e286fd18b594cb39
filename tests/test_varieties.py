"""The page on romanised, mixed and regional texts: its figures are the result file's, and how its texts are made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.varieties import (
    MARKS,
    PAGE,
    RESULT,
    Tree,
    Unit,
    in_latin,
    joined,
    romanised,
    switched,
    tables,
    typed,
    unrelated,
)


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(RESULT.read_text(encoding="utf-8"))["cases"]
    return cases


def parts() -> tuple[str, str]:
    """Return the page's prose and its tables."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    shown, _, after = rest.partition(MARKS[1])
    return before + after, shown.strip()


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, float | int):
        yield value


def test_the_page_shows_the_result(found: list[dict[str, Any]]) -> None:
    prose, shown = parts()
    assert shown == tables(found)
    known = {f"{value:.3f}".removeprefix("0") for value in numbers(found)}
    assert {figure for figure in re.findall(r"(?<![\d.])\.\d+", prose) if figure != ".5"} <= known
    assert len(prose.split()) <= 400


def test_what_the_page_concludes_is_beyond_the_intervals(found: list[dict[str, Any]]) -> None:
    for case in found:
        latin = "Pinyin" in case["case"] or "romanised" in case["case"]
        for name, metric in case["metrics"].items():
            low, high = metric["reference_form"]["ci"]
            if latin and name != "sentence":
                assert high < 0.5
            elif case["case"] != "German, all in English":
                assert low > 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("भारत", "bhaarat"),
        ("हिन्दी में", "hindii men"),
        ("क्षमा, टीका।", "kshamaa, tiikaa."),
        ("ऋषि चाय १९", "rishi chaay 19"),
        ("पढ़ाई abc", "padhaaii abc"),
    ],
)
def test_devanagari_in_latin_letters(text: str, expected: str) -> None:
    assert in_latin(text) == expected


def test_pinyin_of_a_treebank() -> None:
    words = [["1", "“", "", "PUNCT"], ["2", "科", "", "NOUN"], ["3", "好", "", "ADJ"], ["4", "。", "", "PUNCT"]]
    latin = ["“", "'kē", "hǎo", "."]
    rows = [
        [*row, *("_" * 5), f"SpaceAfter=No|Translit={one}|LTranslit=x"] for row, one in zip(words, latin, strict=True)
    ]
    assert romanised(rows) == "“kē hǎo."
    assert typed("kē hǎo.") == "ke hao."


def tree(words: str, heads: list[int], relations: str, upos: str) -> Tree:
    units = [
        Unit(word.strip("-"), not word.endswith("-"), range(at, at + 1)) for at, word in enumerate(words.split(), 1)
    ]
    return Tree(joined(units), units, heads, relations.split(), upos.split(), "")


def test_phrases_come_from_the_translation() -> None:
    english = tree("the dog saw cats- .", [2, 3, 0, 3, 3], "det nsubj root obj punct", "DET NOUN VERB NOUN PUNCT")
    german = tree("Katzen sah der Hund- .", [2, 0, 4, 2, 2], "obj root det nsubj punct", "NOUN VERB DET NOUN PUNCT")
    assert switched([english], [german]) == (["the dog saw cats."], ["der Hund saw Katzen."])
    pronoun = tree("er sah- .", [2, 0, 2], "nsubj root punct", "PRON VERB PUNCT")
    assert switched([english], [pronoun]) == ([], [])
    apart = tree("dog saw big- .", [2, 0, 1, 2], "nsubj root amod punct", "NOUN VERB ADJ PUNCT")
    assert apart.phrase("nsubj") is None


def test_an_unrelated_text_is_another_one_of_about_the_length() -> None:
    texts = ["aaaa", "b", "cc", "ddd"]
    assert unrelated(texts) == [3, 2, 3, 0]
