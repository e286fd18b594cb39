"""Long tables: systems whose rows stand one below the other, scored, compared, and compared by scores on disk."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import bsx
from bsx import compare
from bsx.data.long import rows_by_system
from bsx.frames.settings import Input
from tests.conftest import Cli
from tests.helpers.tables import read_rows, write_lines, write_rows

EXAMPLES = Path(bsx.__file__).parent / "examples" / "en-systems.tsv"
SYSTEMS = ("atlas", "brook", "cinder")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped examples, wide and long: 40 segments of three systems, the long rows shuffled."""
    folder = tmp_path_factory.mktemp("long")
    rows = read_rows(EXAMPLES)[:40]
    write_rows(folder / "wide.tsv", [{name: row[name] for name in ("id", "reference", *SYSTEMS)} for row in rows])
    below = [(name, row["id"], row[name], row["reference"]) for row in rows for name in SYSTEMS]
    random.Random(1).shuffle(below)  # noqa: S311
    write_lines(folder / "long.tsv", [("mt", "sid", "candidate", "reference"), *below])
    (folder / "nameless.tsv").write_text("system\tchrf\na\t1\nb\t2\n", encoding="utf-8")
    return folder


LONG = ("--system", "mt", "--segment", "sid")


@pytest.mark.parametrize("metric", ["chrf", "bleu", "ter"])
def test_a_long_table_compares_as_a_wide_one(tables: Path, cli: Cli, metric: str) -> None:
    how = ("--metrics", metric, "--all-pairs", "--format", "json")
    wide = json.loads(cli("compare", tables / "wide.tsv", "--candidate", ",".join(SYSTEMS), *how).out)
    long = json.loads(cli("compare", tables / "long.tsv", "--systems", ",".join(SYSTEMS), *LONG, *how).out)
    for document in (wide, long):
        del document["provenance"]
    # The long table's segments come in another order, and with them the resamples; what is no draw is equal.
    for one, other in zip(wide["metrics"], long["metrics"], strict=True):
        assert [row["system"] for row in one["systems"]] == [row["system"] for row in other["systems"]] == list(SYSTEMS)
        assert [row["score"] for row in one["systems"]] == pytest.approx([row["score"] for row in other["systems"]])
        for test, again in zip(one["tests"], other["tests"], strict=True):
            assert again["difference"] == pytest.approx(test["difference"])
            assert again["p_two_sided"] == pytest.approx(test["p_two_sided"], abs=0.06)  # 1000 draws, four errors
    assert long["segments"] == 40


def test_scores_on_disk_compare_as_scores_computed_now(tables: Path, cli: Cli, tmp_path: Path) -> None:
    scores = tmp_path / "scores.tsv"
    table = tables / "long.tsv"
    scored = cli("score", table, *LONG, "--metrics", "sentbleu,ter", "-o", scores)
    assert scored.status == 0
    assert "the column 'mt' names 3 systems" in scored.err
    chosen = ("--systems", "atlas,brook")
    now = json.loads(cli("compare", table, *LONG, *chosen, "--metrics", "sentbleu", "--format", "json").out)
    kept = cli("compare", scores, *LONG, *chosen, "--format", "json")
    then = json.loads(kept.out)
    kept_scores, new_scores = then["metrics"][0], now["metrics"][0]
    assert kept_scores["signature"] == new_scores["signature"]
    for one, other in zip(kept_scores["systems"], new_scores["systems"], strict=True):
        assert one["system"] == other["system"]
        assert [one["score"], *one["ci"]] == pytest.approx([other["score"], *other["ci"]], rel=1e-6)  # nine digits kept
    assert kept_scores["tests"][0]["p"] == new_scores["tests"][0]["p"]
    assert [found["higher_is_better"] for found in then["metrics"]] == [True, False]  # as the sidecar says
    assert "): systems are compared by the mean of their segments' scores" in kept.err
    found = compare(table=str(scores), columns=["ter"], lower=["ter"], system="mt", segment="sid", all_pairs=True)
    assert len(found.metrics[0].systems) == len(found.metrics[0].tests) == 3


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("long.tsv", "--metrics", "chrf"), "the column of systems, system"),
        (("long.tsv", *LONG, "--metrics", "chrf", "--candidate", "nosuch"), "no column 'nosuch'"),
        (("long.tsv", *LONG), "columns names the scores"),
        (("long.tsv", *LONG, "--columns", "candidate"), "candidate"),
        (("wide.tsv", "--system", "atlas", "--columns", "brook"), "no two systems meet under 'id'"),
        (("nameless.tsv", "--columns", "chrf"), "segment names the column of segments"),
        (("long.tsv", *LONG, "--columns", "sid", "--metrics", "chrf"), "column 'sid' is"),
        (("long.tsv", *LONG, "--columns", "sid", "--reference", "sid"), "reference needs metrics"),
        (("nosuch.tsv", "--columns", "chrf"), "there is no such file"),
        (("-c", "a.txt", "-c", "b.txt"), "candidates needs metrics"),
    ],
)
def test_bad_input_is_one_line(
    tables: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tables)
    found = cli("compare", *words)
    assert (found.status, found.out) == (2, "")
    assert complaint in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("systems", "segments", "texts", "told"),
    [
        ("aa", "11", None, "'a' has the segment '1' twice, in rows 1 and 2"),
        ("aab", "121", None, r"all 2 systems have 1 segment in common.*such as b \(1 of 2\)"),
        ("aab", "123", None, r"all 2 systems have no segment in common.*such as b \(1 of 3\)"),
        ("aabb", "1221", [1, 2, 3, 1], "row 3.*row 2"),
    ],
)
def test_rows_that_do_not_fit_are_refused(systems: str, segments: str, texts: list[int] | None, told: str) -> None:
    with pytest.raises(bsx.InputError, match=told):
        rows_by_system("t.tsv", list(systems), list(segments), texts=texts)


def test_rows_of_a_system_are_those_of_the_segments_that_all_wanted_ones_have() -> None:
    found = rows_by_system("t.tsv", list("abbac"), list("xyxyz"), ["b", "a"], [1, 2, 1, 2, 9])
    assert {name: rows.tolist() for name, rows in found.items()} == {"b": [1, 2], "a": [3, 0]}


def test_systems_are_compared_on_the_segments_that_they_share(tables: Path, tmp_path: Path) -> None:
    rows = [row for row in read_rows(tables / "long.tsv") if (row["mt"], row["sid"][-1]) != ("brook", "3")]
    named: Any = {"system": "mt", "segment": "sid", "metrics": ["chrf"], "all_pairs": True}
    found = compare(str(write_rows(tmp_path / "some.tsv", rows)), **named)
    whole = [row for row in rows if row["sid"][-1] != "3"]
    same = compare(str(write_rows(tmp_path / "shared.tsv", whole)), **named)
    assert (found.metrics, found.segments) == (same.metrics, 36)
    assert [note for note in found.notes if note not in same.notes] == [
        "compared on the 36 of 40 segments that all systems have; brook has the fewest, 36"
    ]
    assert compare(str(tmp_path / "some.tsv"), systems=["atlas", "cinder"], **named).segments == 40


def test_segments_of_a_long_table_keep_their_names(tables: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "t.tsv").write_text("system\tsegment\tcandidate\treference\nx\ts7\ta cat\ta cat\ny\ts7\ta dog\ta cat\n")
    assert cli("score", "-m", "minilm", tmp_path / "t.tsv", "-o", tmp_path / "o.tsv").status == 0
    rows = [line.split("\t")[:2] for line in (tmp_path / "o.tsv").read_text().splitlines()]
    assert rows == [["id", "system"], ["s7", "x"], ["s7", "y"]]
    asked = Input(table=str(tables / "wide.tsv"), candidate=["atlas", "brook"], system="id")
    with pytest.raises(bsx.InputError, match="are the systems already"):
        asked.open(frozenset({"reference"}), keep_rows=False)
    wide = Input(table=str(tmp_path / "t.tsv"), candidate=["candidate", "reference"], reference=["reference"])
    assert [segment.system for segment in wide.open(frozenset({"reference"}), keep_rows=False)] == [None, None]


def test_a_segment_without_references_is_the_same_segment_for_all_systems(tmp_path: Path) -> None:
    names = ("ours", "theirs")
    rows = [(name, f"s{n}", f"the {name} cat {n}", f"cat {n}" if n != 3 else "") for n in range(9) for name in names]
    file = write_lines(tmp_path / "t.tsv", [("system", "segment", "candidate", "reference"), *rows])
    result = compare(table=str(file), metrics=["chrf"], resamples=50)
    assert (result.segments, result.systems) == (9, names)
