"""The example data: shapes, labels, and the counts its data card states."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from bsx.analysis import Document, build_report, parse_document
from bsx.analysis.factors.parses import match_parses, read_conllu
from tests.conftest import Outcome

SYSTEMS = ("atlas", "brook", "cinder")
DATA = files("bsx.examples")


def rows(name: str) -> list[dict[str, str]]:
    lines = DATA.joinpath(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize(("name", "segments"), [("en-systems.tsv", 110), ("de-systems.tsv", 40)])
def test_systems(name: str, segments: int) -> None:
    table = rows(name)
    assert len(table) == segments
    assert len({row["id"] for row in table}) == len({row["reference"] for row in table}) == segments
    for row in table:
        assert None not in row.values()
        for system in SYSTEMS:
            assert row[system].strip()
            assert row[f"{system}_grade"] in "01234"
    means = [sum(int(row[f"{system}_grade"]) for row in table) / segments for system in SYSTEMS]
    assert means == sorted(means, reverse=True)


def test_triples() -> None:
    table = rows("en-triples.tsv")
    assert len(table) == 60
    for row in table:
        assert len({row["anchor"], row["paraphrase"], row["nonparaphrase"]}) == 3


def test_challenge() -> None:
    table = rows("en-challenge.tsv")
    assert set(Counter(row["phenomenon"] for row in table).values()) == {20}
    assert len({row["id"] for row in table}) == len({row["reference"] for row in table}) == len(table) == 120
    for row in table:
        assert len({row["reference"], row["good"], row["bad"]}) == 3


def test_metrics_win_and_lose_in_different_places(cli: Callable[..., Outcome]) -> None:
    """What the data were written for: each metric is clearly the best somewhere and the worst elsewhere."""
    done = cli("adversarial", "challenge", DATA / "en-challenge.tsv", "--metrics", "chrf,sentbleu", "--format", "json")
    found = json.loads(done.out)
    chrf, sentbleu = (found["metrics"][metric]["phenomena"] for metric in ("chrf", "sentbleu"))
    assert (chrf["another word"]["rate"], sentbleu["another word"]["rate"]) == (1.0, 0.05)
    assert (chrf["roles swapped"]["rate"], sentbleu["roles swapped"]["rate"]) == (0.2, 0.9)
    report = build_report([Document("challenge.json", None, parse_document(found, "challenge.json"))])
    assert [said for _, name, said in report.glance if name == "A surprise"] == [
        "chrf and sentbleu see opposite things: chrf sees “another word” in 100.0 % of rows, where sentbleu sees it in "
        "5.0 %; sentbleu sees “roles swapped” in 90.0 % of rows, where chrf sees it in 20.0 %."
    ]


@pytest.mark.parametrize("column", ["reference", *SYSTEMS])
def test_parses_are_those_of_the_texts(column: str) -> None:
    texts = [row[column] for row in rows("en-systems.tsv")]
    with as_file(DATA / f"en-{column}.conllu") as file:
        parses = match_parses(file, texts, column)
    assert len(read_conllu(Path(str(DATA / f"en-{column}.conllu")))) == len(texts)
    for text, parse in zip(texts, parses, strict=True):
        assert "".join(parse.words) == "".join(text.split())
        assert parse.heads.count(0) == 1
        assert all(parse.upos)


def test_the_data_card_states_the_counts() -> None:
    card = DATA.joinpath("DATA_CARD.md").read_text(encoding="utf-8")
    assert "CC0" in card
    assert "human judgment" in card.lower()
    for name in ("en-systems.tsv", "de-systems.tsv"):
        grades = Counter(row[f"{system}_grade"] for row in rows(name) for system in SYSTEMS)
        numbers = [str(grades[grade]) for grade in "43210"]
        assert re.search(r"\D+".join(numbers), card) or re.search(r"\D+".join(reversed(numbers)), card), name
