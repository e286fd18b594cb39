"""``bsx plan``: pilots in tables, stated variances, and what is refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bsx
from tests.conftest import Cli
from tests.helpers.tables import write_lines


@pytest.fixture
def pilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three systems on 15 documents of 4 segments."""
    rng = np.random.default_rng(1)
    lines = [["system", "id", "doc", "human", "chrf", "ter"]]
    for system in "abc":
        for i in range(60):
            human = rng.normal()
            numbers = [human, human + rng.normal(), human + 2 * rng.normal()]
            lines.append([system, f"s{i}", f"d{i // 4}", *(f"{number:.4f}" for number in numbers)])
    monkeypatch.chdir(tmp_path)
    return write_lines(tmp_path / "pilot.tsv", lines)


def test_metrics_are_planned_over_documents(pilot: Path, cli: Cli) -> None:
    done = cli("plan", "meta", "pilot.tsv", "--columns", "chrf,ter", "--effect", "0.1", "-o", "plan.md")
    assert done.status == 0, done.err
    assert "documents" in Path("plan.md").read_text()
    done = cli("plan", "meta", "pilot.tsv", "--columns", "chrf,ter", "--effect", "0.1")
    assert done.out.startswith("To find a difference of 0.1 between the correlations of chrf and ter with human")
    assert "the 3 systems stay the same" in done.out


def test_metrics_are_planned_over_segments_though_ids_number_rows(pilot: Path) -> None:
    head, *rows = [line.split("\t") for line in pilot.read_text().splitlines()]
    numbered = [[*row, f"text of {row[1]}", f"{place}"] for place, row in enumerate(rows)]
    table = dict(zip([*head, "source", "number"], map(list, zip(*numbered, strict=True)), strict=True))
    del table["doc"]
    shared = bsx.plan_meta(table=table, columns=["chrf", "ter"], human="human", effect=0.1)
    del table["id"]
    table["id"] = table.pop("number")
    table["system"][7] = ""  # of a system that is not known
    found = bsx.plan_meta(table=table, columns=["chrf", "ter"], human="human", effect=0.1)
    assert found.pilot is not None
    assert found.pilot == shared.pilot
    assert (found.pilot.units, found.needed.units) == (60, shared.needed.units)
    assert any("id" in note for note in found.notes)
