"""The published tables of Kaster, Zhao & Eger 2021 from the published scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("statsmodels")
from benchmarks.published.__main__ import reproduce
from benchmarks.published.kaster2021 import FACTS
from benchmarks.published.table import Figure, ReproducedTable
from bsx.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "explain"


@pytest.fixture(scope="module")
def table(shared: Path) -> ReproducedTable:
    pytest.importorskip("nltk")
    return reproduce(["kaster2021"], shared / "data")[0]["kaster2021"]


@pytest.fixture(scope="module")
def values(shared: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))
    return content


def of(table: ReproducedTable, *numbers: str) -> list[Figure]:
    return [figure for figure in table.figures if figure.at["table"] in numbers]


def test_the_figures_carried_are_the_published_ones(values: Mapping[str, Any]) -> None:
    content = values["regression_tables"]
    assert len(FACTS.tables) == len(content)
    for own, theirs in zip(FACTS.tables, content.values(), strict=True):
        assert FACTS.files[own.file].file == theirs["file"]
        flat = [cell for row in own.cells.values() for cell in row]
        assert flat == [cell["published"] for cell in theirs["cells"]]


@pytest.mark.slow
def test_all_tables_are_reproduced(table: ReproducedTable, values: Mapping[str, Any]) -> None:
    regressions = of(table, "3", "4", "10", "12")
    assert len(regressions) == 225
    assert table.count("off", "exception no longer needed") == 0
    assert [figure.at["metric"] for figure in regressions if figure.verdict == "exception"] == ["labse"]
    assert "224 of 225" in (DOCS / "disentangling.md").read_text(encoding="utf-8")
    computed = [cell["computed"] for part in values["regression_tables"].values() for cell in part["cells"]]
    assert [figure.ours for figure in regressions] == pytest.approx(computed, abs=1e-7)
    assert [figure.verdict for figure in of(table, "1")] == ["met"] * 8


@pytest.mark.slow
def test_lexical_overlap_from_the_texts(table: ReproducedTable) -> None:
    found = of(table, "LEX from the texts")
    assert [(figure.ours, figure.at["term"]) for figure in found] == [
        (8590, "as published, of 8595"),
        (5744, "as published, of 5749"),
    ]
    assert "all but ten of the published" in (DOCS / "factors.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_table_13_is_reproduced_with_the_papers_join(table: ReproducedTable, values: Mapping[str, Any]) -> None:
    found = of(table, "13")
    pairs = [figure for figure in found if figure.at["term"] != "Avg"]
    assert (len(pairs), sum(figure.verdict == "met" for figure in pairs)) == (28, 22)
    for figure in found:
        theirs = values["table13"][figure.at["part"]]
        assert figure.published == theirs["published_pct"][figure.at["term"]]
        # Both are deterministic statistics of the same rows.
        assert figure.ours == pytest.approx(theirs["computed_drop_plus_z17"][figure.at["term"]], abs=1e-5)


@pytest.mark.slow
def test_table_6(table: ReproducedTable, values: Mapping[str, Any]) -> None:
    found = {(figure.at["part"], figure.at["term"]): figure for figure in of(table, "6")}
    for name, facts in values["table6"].items():
        computed = facts.get("computed_cleaned") or facts["computed_all300_cleaned"]
        for i, pair in enumerate(("A-B", "A-C")):
            assert found[name, pair].published == facts["published"][i]
            assert found[name, pair].ours == pytest.approx(computed[i], abs=6e-5)  # given to four digits


@pytest.mark.slow
def test_a_checkout_of_the_authors_works_too(shared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data/scored"
    folder.mkdir(parents=True)
    for name, facts in FACTS.files.items():
        lines = (shared / f"data/kaster2021/{name}.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
        with (folder / facts.file).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t").writerows(line.split("\t") for line in lines)
    found = reproduce(["kaster2021"], tmp_path)[0]["kaster2021"]
    assert found.count("off") == 0
    assert len(of(found, "3", "4", "10", "12")) == 225
    assert {part.what for part in found.left_out} >= {"Table 6", "Table 13"}
    file = folder / FACTS.files["mlqe-zh"].file
    file.write_text("\n".join(file.read_text(encoding="utf-8").split("\n")[:499]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="has 499 rows, 1,000 were published"):
        reproduce(["kaster2021"], tmp_path)
