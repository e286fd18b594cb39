"""MQM spans: scores by hand, published scores of segments, columns by category, wrong files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.analysis import load_mqm
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from tests.helpers.tables import write_plain

Run = Callable[..., Any]
HEADER = "system\tdoc\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
ROWS = (
    "A\td1\t1\tr1\tsrc one\tThe <v>cat</v> sat.\tAccuracy/Mistranslation\tMajor",
    "A\td1\t1\tr1\tsrc one\tThe cat sat<v>.</v>\tFluency/Punctuation\tMinor",
    "A\td1\t1\tr2\tsrc one\tThe cat sat.\tNo-error\tNo-error",
    "A\td1\t2\tr1\tsrc two\tX\tNon-translation!\tMajor",
    "A\td1\t1\tr1\tsrc one\tThe <v>cat</v> sat.\tFound\tHOTW-test",
    "ref\td1\t1\tr1\tsrc <v>one</v>\tA cat sat.\tAccuracy/Omission\tMinor",
)


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    return write_plain(tmp_path / "mqm_en-de.tsv", HEADER, *ROWS)


def test_spans_become_scores(spans: Path) -> None:
    table = load_mqm(spans)
    assert table["system"] == ["A", "A", "ref"]
    assert set(table["lp"]) == {"en-de"}
    assert table["candidate"] == ["The cat sat.", "X", "A cat sat."]
    assert table["source"] == ["src one", "src two", "src one"]
    assert table.numbers("human").tolist() == pytest.approx([-(5 + 0.1) / 2, -25, -1])
    assert table.numbers("judgments").tolist() == [2, 1, 1]
    assert table.numbers("human_accuracy").tolist() == [-2.5, 0, -1]
    assert table.numbers("human_accuracy_omission").tolist() == [0, 0, -1]
    assert table.numbers("human_minor").tolist() == pytest.approx([-0.05, 0, -1])
    assert table.notes == (
        "1 attention checks (HOTW-test) are left out",
        "translations have 1 to 2 raters; scores are their means",
        "1 rows are human translations (ref)",
    )
    assert table.numbers("human_system").tolist() == [0, 0, 1]
    parts = [table.numbers(f"human_{part}") for part in ("accuracy", "fluency", "non_translation")]
    np.testing.assert_allclose(sum(parts), table.numbers("human"))


def test_weights_references_and_raters(spans: Path) -> None:
    dear = load_mqm(spans, weights={"Minor Accuracy/Omission": 7, "major": 3})
    assert dear.numbers("human").tolist() == pytest.approx([-(3 + 0.1) / 2, -25, -7])
    judged = load_mqm(spans, reference="ref")
    assert judged.references == [["A cat sat."]]  # segment 2 has no reference
    assert "1 translations of segments that ref lacks are left out" in judged.notes
    single = load_mqm(spans, per_rater=True, lp="en-xx")
    assert single["judge"] == ["r1", "r2", "r1", "r1"]
    assert single.numbers("human").tolist() == pytest.approx([-5.1, 0, -25, -1])
    assert set(single["lp"]) == {"en-xx"}


def test_segments_numbered_by_document(tmp_path: Path) -> None:
    rows = [f"A\td{k}\t1\tr1\ts\tt\tNo-error\tNo-error" for k in (1, 2)]
    assert load_mqm(write_plain(tmp_path / "x.tsv", HEADER, *rows))["segment"] == ["d1:1", "d2:1"]


def test_wrong_spans(spans: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="has no system 'Ref' to take references from; it has A, ref"):
        load_mqm(spans, reference="Ref")
    file = write_plain(tmp_path / "y.tsv", HEADER, "A\td\t1\tr\ts\tt\tStyle/Awkward\tTerrible")
    with pytest.raises(InputError, match=r"y.tsv: line 2: the severity 'Terrible' .* has no weight; weights "):
        load_mqm(file)
    assert load_mqm(file, weights={"terrible": 9}).numbers("human").tolist() == [-9]
    with pytest.raises(UnknownNameError, match="has no column 'seg'"):
        load_mqm(write_plain(file, "system\tdoc", "A\td"))


def test_the_command_writes_a_table(cli: Run, spans: Path, tmp_path: Path) -> None:
    kept = tmp_path / "raters.tsv"
    options = ("--per-rater", "--drop-human", "--weights", "major=3, minor fluency/punctuation=1")
    done = cli("data", "table", spans, "--loader", "mqm", *options, "-o", kept)
    assert done.status == 0, done.err
    assert "attention checks" in done.err
    by_rater = [(row.name("judge"), row.number("human")) for row in Table(kept).rows()]
    assert by_rater == [("r1", -4), ("r2", 0), ("r1", -25)]
    for arguments, said in {
        ("--loader", "mqm", "--weights", "major"): "weights: 'major': write WHAT=NUMBER",
        ("--loader", "mqn"): "loader: there is no 'mqn'",
        ("--loader", "esa", "--reference", "x"): "has no setting 'reference'",
        (): "is not a data set",
    }.items():
        wrong = cli("data", "table", spans, *arguments, "-o", tmp_path / "u.tsv")
        assert wrong.status == 2, arguments
        assert said in wrong.err or not arguments, wrong.err
        assert not (tmp_path / "u.tsv").exists()


def test_published_scores_of_segments(shared: Path) -> None:
    """All 7,406 published scores of WMT21's TED talks."""
    folder = shared / "data" / "mqm"
    published = {
        (row.name("system"), row.name("seg")): row.number("mqm") for row in Table(folder / "ted-en-de.avg.tsv").rows()
    }
    table = load_mqm(folder / "ted-en-de.spans.tsv")
    keys = zip(("ref-A" if s == "ref" else s for s in table.texts("system")), table.texts("segment"), strict=True)
    expected = np.array([published[key] for key in keys])
    assert len(table) == 7406
    np.testing.assert_allclose(table.numbers("human"), expected, rtol=0, atol=1e-9)  # printed in full
