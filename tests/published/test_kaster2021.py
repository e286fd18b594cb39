"""The published tables of Kaster, Zhao & Eger 2021 from the published scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("statsmodels")
from benchmarks.published.kaster.result import Reproduction, published
from benchmarks.published.kaster2021 import reproduce
from bsx.errors import InputError

Run = Callable[..., Any]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "explain"


@pytest.fixture(scope="module")
def reproduction(shared: Path) -> Reproduction:
    pytest.importorskip("nltk")
    return reproduce(shared / "data/kaster2021")


def test_the_figures_carried_are_the_published_ones(shared: Path) -> None:
    content = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))["regression_tables"]
    tables = published()["tables"]
    assert len(tables) == len(content)
    for own, theirs in zip(tables, content.values(), strict=True):
        assert published()["files"][own["file"]]["file"] == theirs["file"]
        flat = [cell for row in own["cells"].values() for cell in row]
        assert flat == [cell["published"] for cell in theirs["cells"]]


@pytest.mark.slow
def test_all_tables_are_reproduced(reproduction: Reproduction, shared: Path) -> None:
    assert len(reproduction.cells) == 225
    assert reproduction.ok
    assert not reproduction.off
    different = [cell for cell in reproduction.cells if not cell.matches]
    known = {("10", "xmover", "syn"), ("10", "xmover", "bleu_s"), ("12", "labse", "morph")}
    assert {(c.table, c.metric, c.term) for c in different} == known
    assert len(reproduction.different) == 3
    assert "222 of 225 cells" in (DOCS / "disentangling.md").read_text(encoding="utf-8")
    assert all(cell.exception for cell in different)
    assert len(reproduction.stars_unexplained) == 13
    content = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))["regression_tables"]
    computed = [cell["computed"] for table in content.values() for cell in table["cells"]]
    assert [cell.ours for cell in reproduction.cells] == pytest.approx(computed, abs=1e-7)


@pytest.mark.slow
def test_lex_and_table_1(reproduction: Reproduction, shared: Path) -> None:
    by_file = {column.file: column for column in reproduction.lex}
    assert {name: column.rows for name, column in by_file.items()} == {"wmt-en": 8595, "sts-en": 5749}
    assert all(column.equal / column.rows > 0.995 for column in by_file.values())
    assert all(column.coefficients < 0.001 for column in by_file.values())
    fitted = "with an empty list 8368 rows (WMT) and 5523 rows (STS) are equal, with the list 8590 and 5744"
    assert [column.equal for column in by_file.values()] == [8590, 5744]
    assert fitted in reproduction.to_text(full=True)
    assert fitted in str(reproduction.lex_notes)
    assert sum(column.rows - column.equal for column in by_file.values()) == 10
    assert "all but ten of the published" in (DOCS / "factors.md").read_text(encoding="utf-8")
    assert len(reproduction.table1) == 8
    assert all(example.matches for example in reproduction.table1)


@pytest.mark.slow
def test_table_13_is_reproduced_with_the_papers_join(reproduction: Reproduction, shared: Path) -> None:
    content = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))["table13"]
    found = reproduction.table13
    assert found is not None
    assert found.ok
    pairs = [cell for cell in found.cells if cell.group != "Avg"]
    assert found.count == len(pairs) == 28
    assert found.match == sum(cell.matches for cell in pairs) == 22
    assert found.averages_match == 4
    assert found.dropped == content["rows_dropped_plus"]
    assert found.rows == content["rows_available"]
    for cell in found.cells:
        theirs = content[cell.ensemble]
        assert cell.paper == theirs["published_pct"][cell.group]
        # Both are deterministic statistics of the same rows.
        assert cell.ours == pytest.approx(theirs["computed_drop_plus_z17"][cell.group], abs=1e-5)
        assert cell.proper == pytest.approx(theirs["computed_all_rows_z17"][cell.group], abs=1e-5)
        assert cell.low < cell.high
    assert sum(round(cell.proper) == cell.paper for cell in pairs) == 11
    assert "22 of 28 cells and 4 of 4 averages" in reproduction.to_text(full=True)


@pytest.mark.slow
def test_table_13_needs_the_judgments(shared: Path, tmp_path: Path) -> None:
    for name in published()["files"]:
        (tmp_path / f"{name}.tsv").write_bytes((shared / f"data/kaster2021/{name}.tsv").read_bytes())
    without = reproduce(tmp_path, lex=False)
    assert without.table13 is None
    assert without.ok
    assert "Table 13 needs the human judgments of WMT17" in without.to_text()
    judged = (shared / "data/wmt/daseg-wmt17.tsv").read_text(encoding="utf-8").split("\n")
    (tmp_path / "other.tsv").write_text("\n".join([judged[0], *judged[300:]]), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"other.tsv: has no cs-en row with the texts of row \d+ of the published scores"
    ):
        reproduce(tmp_path, lex=False, wmt17=tmp_path / "other.tsv")


@pytest.mark.slow
def test_figure_3_and_table_6(reproduction: Reproduction, shared: Path) -> None:
    values = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))
    assert reproduction.triples is not None
    expected = values["figure3_preference"]
    found = {f"{one.set}_{one.n}_{one.metric}": one for one in reproduction.triples.figure3}
    assert set(found) == set(expected)
    for key, one in found.items():
        assert (one.prefers_paraphrase, one.ties, one.n) == tuple(expected[key][k] for k in ("prefers_B", "ties", "n"))
    cells = {(cell.name, cell.pair): cell for cell in reproduction.triples.table6}
    for name, facts in values["table6"].items():
        computed = facts.get("computed_cleaned") or facts["computed_all300_cleaned"]
        for i, pair in enumerate(("A-B", "A-C")):
            cell = cells[name, pair]
            assert (float(cell.paper), cell.printed_n) == (facts["published"][i], facts["published"][2])
            assert cell.ours == pytest.approx(computed[i], abs=6e-5)  # given to four digits
            if name == "paws":
                assert cell.first == pytest.approx(facts["computed_first100_cleaned"][i], abs=6e-5)
            else:
                assert cell.first is None
    assert "over all 300" in reproduction.to_text(full=True)
    whole: dict[str, Any] = reproduction.to_dict()
    content = whole["triples"]
    assert (len(content["figure3"]), len(content["table6"])) == (27, 4)


@pytest.mark.slow
def test_the_text_names_what_does_not_match(reproduction: Reproduction) -> None:
    shown = reproduction.to_text()
    assert "222 of 225 cells have the paper's digits" in shown
    assert "Table 12 MLQE de: labse morph" in shown
    assert "For 13 of 177 coefficients the star is not explained" in reproduction.to_text(full=True)
    content = json.loads(json.dumps(reproduction.to_dict()))
    assert Reproduction.from_dict(content).to_dict() == content


def theirs(source: Path, target: Path) -> None:
    """Write the tidy copies the way the authors' repository has them."""
    target.mkdir(parents=True)
    for name, facts in published()["files"].items():
        lines = (source / f"{name}.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
        with (target / facts["file"]).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t").writerows(line.split("\t") for line in lines)


@pytest.mark.slow
def test_a_checkout_of_the_authors_works_too(cli: Run, shared: Path, tmp_path: Path) -> None:
    theirs(shared / "data/kaster2021", tmp_path / "data/scored")
    done = cli("reproduce", "kaster2021", "--data-dir", tmp_path, "--no-lex", "--format", "json")
    assert done.status == 0, done.err
    content = json.loads(done.out)
    assert (content["ok"], content["count"], content["match"]) == (True, 225, 222)
    assert len(content["different"]) == 3
    assert len(content["stars_unexplained"]) == 13
    assert content["off"] == []
    assert content["triples"] is None


@pytest.mark.slow
def test_a_cell_that_is_off_fails_the_command(cli: Run, shared: Path, tmp_path: Path) -> None:
    for name in published()["files"]:
        (tmp_path / f"{name}.tsv").write_bytes((shared / f"data/kaster2021/{name}.tsv").read_bytes())
    file = tmp_path / "mlqe-zh.tsv"
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    column = rows[0].index("laser")
    for row in rows[1:200]:
        row[column] = "0.9"
    file.write_text("\n".join("\t".join(row) for row in rows) + "\n", encoding="utf-8")
    done = cli("reproduce", "kaster2021", "--data-dir", tmp_path, "--no-lex")
    assert done.status == 1
    assert "NOT REPRODUCED" in done.out
    assert "Table 12 MLQE zh: laser" in done.out.partition("NOT REPRODUCED")[2]
    file.write_text("\n".join("\t".join(row) for row in rows[:500]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="has 499 rows, the published file has 1000"):
        reproduce(tmp_path, lex=False)


def test_a_folder_without_the_data_is_named(cli: Run, tmp_path: Path) -> None:
    done = cli("reproduce", "kaster2021", "--data-dir", tmp_path)
    assert done.status == 2
    assert "has neither wmt-en.tsv nor data/scored/out_wmt_mono.tsv" in done.err
    assert cli("reproduce", "other", "--data-dir", tmp_path).status == 2
