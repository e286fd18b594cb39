"""``bsx intervene``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bsx.data.columns import read_columns
from tests.conftest import Cli
from tests.helpers.tables import write_lines

ROWS = [
    ("The doctor often needs 27 photos.", "A doctor is often in need of 27 pictures.", 0.8),
    ("It was rarely cold in the north.", "In the north it was rarely cold.", 0.6),
    ("The company is not new, but it is large.", "This company is big, not new.", 0.5),
    ("Children usually believe that the film is true.", "The kids think the movie is real.", 0.7),
    ("We can nearly always buy more than 5 of them.", "One can buy 6 of them.", -0.4),
]
METRICS = ("chrf", "ter")  # ter ignores case
COMMAND = ("intervene", "--metrics", ",".join(METRICS), "--lang", "en")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "texts.tsv", [("reference", "candidate", "human"), *ROWS])


def test_all_that_it_writes(cli: Cli, table: Path, tmp_path: Path) -> None:
    kept, page = tmp_path / "pairs.tsv", tmp_path / "report.html"
    document, plot = tmp_path / "found.json", tmp_path / "found.svg"
    candidates = ("--candidate", "candidate", "--human", "human")
    done = cli(*COMMAND, table, *candidates, "--edits-out", kept, "--plot", plot, "-o", document)
    assert done.status == 0, done.err
    content = json.loads(document.read_text(encoding="utf-8"))
    assert [fit["n_observed"] for fit in content["fits"]] == [5, 5]
    named = {metric: {row["factor"] for row in content["effects"] if row["metric"] == metric} for metric in METRICS}
    assert named == {"chrf": {"sem", "lex", "surface"}, "ter": {"sem", "lex:lowercase=true", "surface"}}
    assert content["left_out"]["voice"].startswith("needs parses of the texts")
    assert set(content["provenance"]["signatures"]) == {"chrf", "ter"}
    assert any("lower is better" in note for note in content["notes"])  # ter
    pairs = read_columns(kept, ["fall of lex", "fall of chrf"], texts=["original", "edited", "edit"])
    assert len(pairs["edit"]) == sum(row["n"] for row in content["edits"])
    assert "<svg" in plot.read_text(encoding="utf-8")
    done = cli("report", document, "-o", page)
    assert done.status == 0, done.err
    assert "What metrics are associated with, and what they react to" in page.read_text(encoding="utf-8")
