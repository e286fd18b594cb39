"""`bsx compare --judged`: how often human judgments agree with differences between other systems."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Outcome

Cli = Callable[..., Outcome]
WORDS = ["the", "old", "harbour", "bridge", "closed", "to", "lorries", "on", "rainy", "day", "by", "its", "council"]


def write(path: Path, header: str, rows: Sequence[Sequence[object]]) -> Path:
    path.write_text("\n".join([header.replace(" ", "\t"), *("\t".join(map(str, row)) for row in rows)]) + "\n")
    return path


def damaged(draw: np.random.Generator, words: list[str], count: int) -> str:
    words = list(words)
    for place in draw.choice(len(words), count, replace=False):
        words[place] = "zzz"
    return " ".join(words)


def judged_rows(
    draw: np.random.Generator, segments: int, pairs: Sequence[str] = ("de-en", "fr-en")
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for lp in pairs:
        for segment in range(segments):
            words = draw.choice(WORDS, 12).tolist()
            for system in range(4):
                wrong = int(draw.integers(0, 4)) + 2 * system
                human = -wrong + draw.normal(0, 1)
                rows.append((lp, f"s{system}", segment, " ".join(words), damaged(draw, words, wrong), f"{human:.3f}"))
    return rows


COLUMNS = "lp system segment reference candidate human"


@pytest.fixture
def arguments(tmp_path: Path) -> list[str | Path]:
    """Two systems to compare, the second with more wrong words."""
    texts = [str(row[3]) for row in judged_rows(np.random.default_rng(5), 8)[:29]]
    for name, wrong in (("one", 1), ("two", 6)):
        draw = np.random.default_rng(wrong)
        (tmp_path / f"{name}.txt").write_text("".join(damaged(draw, text.split(), wrong) + "\n" for text in texts))
    (tmp_path / "references.txt").write_text("".join(f"{text}\n" for text in texts))
    files: list[str | Path] = [
        "-c",
        tmp_path / "one.txt",
        "-c",
        tmp_path / "two.txt",
        "-r",
        tmp_path / "references.txt",
    ]
    return ["compare", *files, "--metrics", "chrf"]


def test_compare_says_how_often_people_agreed(arguments: list[str | Path], tmp_path: Path, cli: Cli) -> None:
    # In one segment s0 and s1 wrote the same; no system is called x.
    rows = [
        *judged_rows(np.random.default_rng(6), 32),
        ("de-en", "s0+s1", 99, "the old bridge", "the bridge", "1"),
        ("de-en", "s1+x", 98, "a", "b", "0"),
    ]
    judged = write(tmp_path / "judged.tsv", COLUMNS, rows)
    found = json.loads(cli(*arguments, "--judged", judged, "--format", "json").out)
    curves = {curve["group"]: curve for curve in found["human"]}
    assert list(curves) == ["all", "de-en", "fr-en"]
    assert (curves["all"]["pairs"], curves["de-en"]["pairs"]) == (12, 6)  # of four systems each; none across pairs
    test = found["metrics"][0]["tests"][0]
    step = curves["all"]["steps"][0]
    assert test.get("human") == (step if abs(test["difference"]) <= step["high"] else None)
    assert "judged.tsv" in [file["name"] for file in found["provenance"]["files"]]
    assert "human" not in json.loads(cli(*arguments, "--format", "json").out)
    assert (curves["all"].get("apart", 0), curves["de-en"].get("apart", 0)) == (4, 4)  # s1+x is none of the systems


def test_judgments_of_several_languages_are_told_apart(arguments: list[str | Path], tmp_path: Path, cli: Cli) -> None:
    rows = judged_rows(np.random.default_rng(6), 31, ("de-en", "en-de"))
    judged = write(tmp_path / "judged.tsv", COLUMNS, rows)
    out = cli(*arguments, "--judged", judged)
    assert (out.status, out.err.count("\n")) == (2, 1)
    assert "into en, de: say into which with lang" in out.err
    found = json.loads(cli(*arguments, "--judged", judged, "-l", "en", "--format", "json").out)
    assert [curve["group"] for curve in found["human"]] == ["de-en"]
    out = cli(*arguments, "--judged", judged, "-l", "fr")
    assert (out.status, out.err.count("\n")) == (2, 1)
    assert "judged.tsv: holds no rows in fr" in out.err


def test_tables_without_judged_systems_are_refused(arguments: list[str | Path], tmp_path: Path, cli: Cli) -> None:
    few = judged_rows(np.random.default_rng(5), 15)
    for header, rows, complaint in (
        (COLUMNS, few, "no two systems have 30 segments in common, 15 at most"),
        ("sentence1 sentence2 label", [("a", "b", 1)], "judged needs texts with human scores"),
        (COLUMNS.replace("system", "who"), few, "no column system"),
        (COLUMNS, [], "judged.tsv: holds no rows"),
    ):
        out = cli(*arguments, "--judged", write(tmp_path / "judged.tsv", header, rows))
        assert (out.status, out.err.count("\n")) == (2, 1)
        assert complaint in out.err
