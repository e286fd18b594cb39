"""The example data: shapes, labels, and the counts its data card states."""

from __future__ import annotations

import csv
import re
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from bsx.analysis.factors.parses import match_parses, read_conllu

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
