"""Every loader on tiny files of its layout, whole and broken, and on the real data where they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.analysis.datasets.flickr8k import load_flickr8k
from bsx.analysis.datasets.judged import JudgedTable
from bsx.analysis.datasets.mtme import load_mt_metrics_eval
from bsx.analysis.datasets.obtain import verify_dataset
from bsx.analysis.datasets.pairs import load_paws, load_qqp, load_stsb
from bsx.analysis.datasets.store import LOADERS, load_data
from bsx.analysis.datasets.systems import load_metric_scores, load_system_outputs
from bsx.analysis.datasets.tabular import load_multi_reference, load_table
from bsx.analysis.datasets.wmt import load_darr, load_mlqe, load_wmt_da, load_wmt_da_system
from bsx.catalog.datasets import DatasetEntry, LoaderName, load_datasets
from bsx.catalog.entries import read_list
from bsx.errors import InputError, RegistryError, UnknownNameError
from tests.helpers.tables import write_plain

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes lines to a file below a temporary folder."""

    def put(name: str, *lines: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_plain(path, *lines)

    return put


def cells(table: JudgedTable) -> list[tuple[Any, ...]]:
    """Return the names of a table's columns, but for that of the data set, and its rows."""
    shown = {name: list(values) for name, values in table.columns.items() if name != "dataset"}
    return [tuple(shown), *zip(*shown.values(), strict=True)]


DA = "lp\tsystem\tsid\tsource\treference\tcandidate\thuman"
DARR, DARR_ROW = "LP DATA SID BETTER WORSE", "kk-en newstest2019 4 A B"
PAIR = '{"candidate": "c", "reference": "a"}'


def test_a_da_table_comes_out_tidy(write: Write) -> None:
    path = write("da.tsv", DA, 'cs-en\tA+B\t7\ts\t"r" x\tc\u2028d\t-0.5', "de-en\tA\t8\ts\tr\t\t1e-3")
    table = load_wmt_da(path)
    assert cells(table) == [
        ("lp", "system", "segment", "source", "candidate", "reference", "human"),
        ("cs-en", "A+B", "7", "s", "c\u2028d", '"r" x', -0.5),
        ("de-en", "A", "8", "s", "", "r", 0.001),
    ]
    assert (table.name, table["dataset"], len(table)) == ("da", ["da", "da"], 2)
    assert table.references == [['"r" x'], ["r"]]
    assert list(load_wmt_da(path, lp="de-en")["segment"]) == ["8"]
    assert table.where(system="A")["human"].tolist() == [0.001]  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"da: no row has lp='xx-en'"):
        table.where(lp="xx-en")
    with pytest.raises(UnknownNameError, match=r"no column 'humans'; it has dataset, lp, .*Near: human\."):
        table["humans"]
    with pytest.raises(InputError, match="'lp' holds texts, not numbers"):
        table.numbers("lp")
    with pytest.raises(InputError, match="'human' holds numbers, not texts"):
        table.texts("human")


BROKEN = [
    ("cs-en\tA\t1\ts\tr\tc", "line 3 has 6 fields, 7 are due"),
    ("cs-en\tA\t1\ts\tr\tc\tgood", "line 3, column 'human' is 'good', not a finite number"),
    ("cs-en\tA\t1\ts\tr\tc\tinf", "line 3, column 'human' is 'inf', not a finite number"),
    ("cs-en\tA\t1\ts\tr\tc\t1_0", "line 3, column 'human' is '1_0', not a finite number"),
    ("\tA\t1\ts\tr\tc\t1", "line 3, column 'lp' is empty"),
    ("", "line 3 has 1 fields, 7 are due"),
]


@pytest.mark.parametrize(("row", "message"), BROKEN)
def test_a_malformed_row_is_named_or_listed(row: str, message: str, write: Write) -> None:
    path = write("da.tsv", DA, "cs-en\tA\t1\ts\tr\tc\t1", row, "cs-en\tB\t1\ts\tr\tc\t2")
    with pytest.raises(InputError, match=r"da\.tsv: ") as caught:
        load_wmt_da(path)
    assert str(caught.value) == f"{path}: {message}"
    table = load_wmt_da(path, skip_malformed=True)
    assert table["human"].tolist() == [1.0, 2.0]  # type: ignore[union-attr]
    assert table.problems == (f"{path}: {message}",)
    assert table.notes == ("1 malformed rows were skipped; .problems lists them",)


@pytest.mark.parametrize(
    ("load", "name", "lines", "message"),
    [
        (load_wmt_da, "head.tsv", [DA], "holds no rows that can be used"),
        (partial(load_wmt_da, skip_malformed=True), "a.tsv", [DA, "x", "y"], "; all 2 are malformed, the first: "),
        (load_wmt_da, "few.tsv", ["lp\tcandidate\thuman", "a\tb\t1"], "has no column 'reference'; it has lp"),
        (load_wmt_da, "bad.jsonl", ["[1]"], "line 1 is not a JSON object"),
        (load_wmt_da_system, "s.csv", ["LP HUMAN", "cs-en 1"], "has no column 'system'; it has lp, human"),
        (load_darr, "x.csv", [DARR, "kk-en newstest2019 4 A A"], "line 2 prefers A to itself"),
        (load_darr, "x.csv", [DARR, f"{DARR_ROW} 25.5", DARR_ROW], "line 3 has 5 fields, 6 are due"),
        (load_stsb, "y.tsv", ["sentence1\tsentence2\tscore", "a\tb\t7"], "'score' is '7', not a grade from 0 to 5"),
        (load_multi_reference, "n.tsv", ["candidate\thuman", "c\t1"], "has no column of references"),
        (load_table, "b.jsonl", [PAIR, '{"candidate": 3, "reference": "a"}'], "'candidate' is 3 (int), not a text"),
        (load_table, "b.jsonl", [PAIR, '{"candidate": "c"}'], "'reference' is None (NoneType), not a text"),
        (load_table, "b.jsonl", [PAIR, "{"], "line 2 is not JSON"),
        (load_table, "b.jsonl", [PAIR, f'{PAIR[:-1]}, "human": true}}'], "'human' is 'True', not a finite number"),
    ],
)
def test_files_that_cannot_be_used(
    load: Callable[[Path], JudgedTable], name: str, lines: list[str], message: str, write: Write
) -> None:
    with pytest.raises((InputError, UnknownNameError)) as caught:
        load(write(name, *lines))
    assert message in str(caught.value)


def test_the_archive_of_2016(write: Write, tmp_path: Path) -> None:
    for pair, name in (("cs-en", "DAseg.newstest2016"), ("ru-en", "newstest2015")):
        for kind, texts in (
            ("source", ("s1", "s2")),
            ("reference", ("r1", "NO REFERENCE AVAILABLE")),
            ("mt-system", ("c1", "c2")),
            ("human", ("0.5", "-1")),
        ):
            write(f"DAseg/inner/{name}.{kind}.{pair}", *texts)
    table = load_wmt_da(tmp_path / "DAseg", name="wmt")
    assert cells(table) == [
        ("lp", "segment", "source", "candidate", "reference", "human"),
        *((lp, *row) for lp in ("cs-en", "ru-en") for row in (("1", "s1", "c1", "r1", 0.5), ("2", "s2", "c2", "", -1))),
    ]
    assert table.notes == ("2 rows have no reference ('NO REFERENCE AVAILABLE' in the file): an empty text",)
    assert len(load_wmt_da(tmp_path / "DAseg", lp="ru-en")) == 2
    write("DAseg/inner/newstest2015.human.ru-en", "1", "x")
    with pytest.raises(InputError, match=r"newstest2015\.human\.ru-en: line 2 is 'x', not a finite number"):
        load_wmt_da(tmp_path / "DAseg")
    write("DAseg/inner/newstest2015.human.ru-en", "1")
    with pytest.raises(InputError, match=r"line counts differ: .*source\.ru-en has 2, .*human\.ru-en has 1"):
        load_wmt_da(tmp_path / "DAseg")
    with pytest.raises(InputError, match=r"needs exactly one file DA-seglevel.csv or files newstest"):
        load_wmt_da(write("nothing/x", "x").parent)


def wmt17_archive(write: Write, *judgments: str) -> Path:
    for system, lines in (("A.1", ("a1", "a2")), ("B+C.2", ("b1", "b2"))):
        write(f"pack/input/txt/system-outputs/newstest2017/cs-en/newstest2017.{system}.cs-en", *lines)
    write("pack/input/txt/sources/newstest2017-csen-src.cs", "s1", "s2")
    write("pack/input/txt/references/newstest2017-csen-ref.en", "r1", "r2")
    return write("pack/manual-evaluation/DA-seglevel.csv", "LP DATA SYSTEM SID HUMAN", *judgments)


def test_the_archive_of_2017(write: Write, tmp_path: Path) -> None:
    file = wmt17_archive(
        write,
        "cs-en newstest2017 A.1 2 0.25",
        "cs-en newstest2017 Z.9+A.1 1 1",
        "cs-en newstest2017 B+C.2 1 0",
        "cs-en newstest2017 old.3 2 -1",
    )
    table = load_wmt_da(tmp_path / "pack", renames={"old.3": "A.1"})
    assert cells(table) == [
        ("lp", "testset", "system", "segment", "source", "candidate", "reference", "human"),
        ("cs-en", "newstest2017", "A.1", "2", "s2", "a2", "r2", 0.25),
        ("cs-en", "newstest2017", "Z.9+A.1", "1", "s1", "a1", "r1", 1),
        ("cs-en", "newstest2017", "B+C.2", "1", "s1", "b1", "r1", 0),
        ("cs-en", "newstest2017", "old.3", "2", "s2", "a2", "r2", -1),
    ]
    with pytest.raises(InputError, match=r"DA-seglevel\.csv: line 5: there is no output of old\.3 .*renames can map"):
        load_wmt_da(tmp_path / "pack")
    assert len(load_wmt_da(tmp_path / "pack", skip_malformed=True)) == 3
    alone = load_wmt_da(file)
    assert "candidate" not in alone
    assert "there are no texts" in alone.notes[0]
    assert len(load_wmt_da(file, texts=tmp_path / "pack", skip_malformed=True).problems) == 1
    wmt17_archive(write, "cs-en newstest2017 A.1 3 0.25")
    with pytest.raises(InputError, match="line 2: segment '3' is not one of 1 to 2"):
        load_wmt_da(tmp_path / "pack")


def test_system_level_da(write: Write) -> None:
    path = write("DA-syslevel.csv", "LP HUMAN SYSTEM", "cs-en 0.5 A", "cs-en x B", "de-en 0.25 A C")
    table = load_wmt_da_system(path, skip_malformed=True)
    assert cells(table) == [("lp", "system", "human"), ("cs-en", "A", 0.5)]
    assert [problem.partition("csv: ")[2] for problem in table.problems] == [
        "line 3, column 'human' is 'x', not a finite number",
        "line 4 has 4 fields, 3 are due",
    ]
    comma = write("t.csv", "lp,system,human", 'cs-en,"A, B",1')
    assert load_wmt_da_system(comma)["system"] == ["A, B"]


def test_darr_in_its_years(write: Write) -> None:
    names, row = ("lp", "testset", "segment", "better", "worse"), tuple(DARR_ROW.split())
    assert cells(load_darr(write("2019.csv", DARR, DARR_ROW))) == [names, row]
    assert cells(load_darr(write("2018.csv", DARR.replace("DATA ", ""), DARR_ROW))) == [names, row]
    tabs = write("own.tsv", "lp\tdata\tsid\tbetter\tworse", "\t".join(row))
    assert cells(load_darr(tabs)) == [names, row]
    newer = load_darr(write("2020.csv", DARR, f"{DARR_ROW} 25.5"))
    assert cells(newer) == [(*names, "difference"), (*row, 25.5)]
    with pytest.raises(InputError, match="holds no rows that can be used"):
        load_darr(tabs, lp="lt-en")


def test_system_outputs_meet_their_judgments(write: Write) -> None:
    systems = write("n-cs-en.systems.tsv", "system\tsid\tcandidate", "A\t1\ta1", "A\t2\ta2", "B\t1\tb1")
    references = write("n-cs-en.ref.tsv", "sid\tsource\treference", "1\ts1\tr1", "2\ts2\tr2")
    human = write("n-cs-en.human.tsv", "system\tsid\traw\tz\tn", "B\t1\t70\t0.5\t3", "A\t2\t60\t-0.5\t1")
    table = load_system_outputs(systems, references, human)
    assert table.name == "n-cs-en"
    assert table["lp"] == ["cs-en"] * 3
    assert table["candidate"] == ["a1", "a2", "b1"]
    assert table["source"] == ["s1", "s2", "s1"]
    np.testing.assert_equal(table["human"], [np.nan, -0.5, 0.5])
    np.testing.assert_equal(table["judgments"], [np.nan, 1, 3])
    assert "1 of 3 rows have no 'human'" in table.notes
    assert "human" not in load_system_outputs(systems, references)
    whole = human.read_text()
    human.write_text(whole + "HUMAN\t1\t90\t1.5\t3\nHuman-A.0\t9\t90\t1.5\t3\n")
    with_people = load_system_outputs(systems, references, human)
    assert "2 judgments of human translators are left out: no system's output belongs to them" in with_people.notes
    np.testing.assert_equal(with_people["human"], table["human"])
    human.write_text(whole)
    for name, line, message in (
        ("n-cs-en.human.tsv", "C\t1\t70\t0.5\t3", "there is no output of C for segment 1"),
        ("n-cs-en.human.tsv", "B\t1\t70\t0.5\t3", "a second judgment of B for segment 1"),
        ("n-cs-en.systems.tsv", "A\t1\tx", "a second output of A for segment 1"),
        ("n-cs-en.systems.tsv", "A\t9\tx", "segment 9 has no reference in"),
        ("n-cs-en.ref.tsv", "2\ts\tr", "a second reference for segment 2"),
    ):
        file = systems.with_name(name)
        whole = file.read_text()
        file.write_text(whole + line + "\n")
        with pytest.raises(InputError, match=rf"{name}: line \d: {message}"):
            load_system_outputs(systems, references, human)
        assert len(load_system_outputs(systems, references, human, skip_malformed=True).problems) == 1
        file.write_text(whole)


def test_metric_scores(write: Write) -> None:
    head = "system\tsid\thuman_raw\thuman_z\tchrF\tTER"
    rows = ("A\td::1\t50\t0\t\t-1", "A\td::2\t\t1\t2\t", "A\td::3\t60\t1\t3\tNaN")
    path = write("wmt-km-en.scores.tsv", head, *rows)
    table = load_metric_scores(path)
    assert table.metrics == ("chrF", "TER")
    assert list(table.columns) == ["dataset", "lp", "system", "segment", "human", "human_raw", "chrF", "TER"]
    np.testing.assert_equal(table["chrF"], [np.nan, 2, 3])
    assert table.notes == tuple(
        f"{n} of 3 rows have no '{name}'" for n, name in ((1, "human_raw"), (1, "chrF"), (2, "TER"))
    )
    assert load_metric_scores(path, metrics=["TER"]).metrics == ("TER",)
    with pytest.raises(UnknownNameError, match="has no column 'chrf'"):
        load_metric_scores(path, metrics=["chrf"])


def test_columns_may_be_called_as_what_rows_hold(write: Write) -> None:
    table = load_table(write("t.tsv", "candidate\treference\treferences\thuman", "a\tb\tc\t1"))
    assert list(table.columns) == ["dataset", "candidate", "reference", "human"]
    scores = load_metric_scores(write("wmt-km-en.scores.tsv", "system\tsid\thuman\thuman_z", "A\t1\t5\t6"))
    assert (scores.metrics, list(scores["human"])) == (("human",), [5.0])


def test_a_segment_with_a_malformed_source_is_left_out(write: Write) -> None:
    systems = write("newstest-de-en.systems.tsv", "system\tsid\tcandidate", "A\t1\tx", "A\t2\ty")
    row = '{{"sid": "{}", "reference": "r", "source": {}}}'
    references = write("r.jsonl", row.format(1, '"s"'), row.format(2, "null"))
    table = load_system_outputs(systems, references, skip_malformed=True)
    assert (list(table["candidate"]), list(table["source"]), len(table.problems)) == (["x"], ["s"], 2)


def test_mt_metrics_eval_layout(write: Write, tmp_path: Path) -> None:
    write("wmt22/sources/en-de.txt", "s1", "s2")
    for name in ("refA", "refB"):
        write(f"wmt22/references/en-de.{name}.txt", f"{name} 1", f"{name} 2")
    for name in ("sys1", "refB"):
        write(f"wmt22/system-outputs/en-de/{name}.txt", f"{name} 1", f"{name} 2")
    write("wmt22/documents/en-de.docs", "news d1", "news\td2")
    mqm = write("wmt22/human-scores/en-de.mqm.v2.seg.score", "sys1\t-1", "sys1\tNone", "refB 0", "refB 0")
    write("wmt22/human-scores/en-de.mqm.v2.sys.score", "sys1\t-0.5")
    chrf = write("wmt22/metric-scores/en-de/chrF-refA.seg.score", "sys1\t10", "sys1\t20", "refB\t30", "refB\t40")
    table = load_mt_metrics_eval(tmp_path / "wmt22", "en-de", metrics="all")
    assert " ".join(table.columns) == (
        "dataset lp system segment document domain source candidate reference reference2 human human_system chrF-refA"
    )
    assert table["system"] == ["refB", "refB", "sys1", "sys1"]
    assert table["document"] == ["d1", "d2"] * 2
    assert table.references[3] == ["refA 2", "refB 2"]
    np.testing.assert_equal(table["human"], [0, 0, -1, np.nan])
    np.testing.assert_equal(table["chrF-refA"], [30, 40, 10, 20])
    np.testing.assert_equal(table["human_system"], [1, 1, 0, 0])
    assert "refB: system and reference at once" in " ".join(table.notes)
    assert "reference2" not in load_mt_metrics_eval(tmp_path, "en-de", testset="wmt22", references=["refA"])
    systems = load_mt_metrics_eval(tmp_path / "wmt22", "en-de", level="sys", human="mqm.v2")
    np.testing.assert_equal(systems["human"], [np.nan, -0.5])
    assert "candidate" not in systems
    with pytest.raises(UnknownNameError, match=r"language pair 'en-fr' is not one of en-de\. Near: en-de\."):
        load_mt_metrics_eval(tmp_path / "wmt22", "en-fr")
    with pytest.raises(UnknownNameError, match="human scores 'mqm' is not one of mqm.v2"):
        load_mt_metrics_eval(tmp_path / "wmt22", "en-de", human="mqm")
    with pytest.raises(InputError, match="is this the folder of one test set"):
        load_mt_metrics_eval(tmp_path, "en-de")
    for file, lines, message in (
        (mqm, ["sys1 1"], "sys1 has 1 scores, 2 are due"),
        (mqm, ["sys9 1"], "line 1: there is no output of the system 'sys9'"),
        (mqm, ["sys1 a b"], "line 1 has 3 fields, 2 are due: SYSTEM SCORE"),
        (chrf, ["sys1 None"], "line 1: metrics must score every segment"),
        (tmp_path / "wmt22/documents/en-de.docs", ["news d"], "has 1 lines, the sources have 2"),
        (tmp_path / "wmt22/system-outputs/en-de/sys1.txt", ["x"], "line counts differ"),
    ):
        whole = file.read_text()
        file.write_text("\n".join(lines) + "\n")
        with pytest.raises(InputError, match=message):
            load_mt_metrics_eval(tmp_path / "wmt22", "en-de", metrics="all")
        file.write_text(whole)
    write("wmt22/human-scores/en-de.esa.seg.score", "sys1\t-1", "sys1\t1")
    with pytest.raises(InputError, match=r"\(human\): there are esa, mqm\.v2"):
        load_mt_metrics_eval(tmp_path / "wmt22", "en-de")


def test_sts_benchmark_in_its_layouts(write: Write) -> None:
    rows = ('1\t5.000\tA "b, c\td', "2\t0.5\te\tf\tlicence", "3\t0.5\te")
    original = write("sts-dev.csv", *(f"g\tf\t2012\t{row}" for row in rows))
    with pytest.raises(InputError, match=r"sts-dev\.csv: line 3 has 6 fields, at least 7 are due"):
        load_stsb(original)
    table = load_stsb(original, skip_malformed=True)
    assert cells(table) == [
        ("segment", "candidate", "reference", "human", "genre", "file", "year", "index"),
        ("1", 'A "b, c', "d", 5, "g", "f", "2012", "1"),
        ("2", "e", "f", 0.5, "g", "f", "2012", "2"),
    ]
    assert "1 rows have further fields" in table.notes[0]
    plain = load_stsb(write("x.tsv", "sentence1\tsentence2\tscore", "a\tb\t2.5"))
    assert cells(plain) == [("segment", "candidate", "reference", "human"), ("1", "a", "b", 2.5)]
    headless = load_stsb(write("de.csv", '"a, b",c,2.5', "d,e,0.0"))
    assert (headless["candidate"], headless["segment"]) == (["a, b", "d"], ["1", "2"])


def test_paraphrase_pairs(write: Write) -> None:
    path = write("x.tsv", "id\tsentence1\tsentence2\tlabel", "5\ta\tb\t0", "6\tNS\tb\t1", "7\ta\tb\t2")
    with pytest.raises(InputError, match="line 4, column 'label' is '2', not 0 or 1"):
        load_paws(path)
    kept = load_paws(path, skip_malformed=True)
    assert cells(kept)[1:] == [("5", "a", "b", 0), ("6", "NS", "b", 1)]
    assert "1 rows with the placeholder 'NS' instead of a sentence are kept" in kept.notes[0]
    dropped = load_paws(path, skip_malformed=True, drop_placeholders=True)
    assert dropped["segment"] == ["5"]
    assert "are left out" in dropped.notes[0]
    noisy = load_paws(write("n.tsv", "sentence1\tsentence2\tnoisy_label", "a\tb\t1"))
    assert "noisy" in noisy.notes[0]


def test_qqp_quoted_and_not(write: Write) -> None:
    head = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"
    plain = write("plain.tsv", head, '1\t2\t3\tIs "x" y?\t"z"\t1')
    assert load_qqp(plain)["candidate"] == ['Is "x" y?']
    assert load_qqp(plain)["reference"] == ['"z"']
    rows = ('1\t2\t3\t"Is ""x""\ty?', 'really"\tz\t0', '4\t5\t6\t"a"b\tc\t0', "7\t8\t9\td\te\t1")
    table = load_qqp(write("quoted.tsv", head, *rows), quoted=True, skip_malformed=True)
    assert table["candidate"] == ['Is "x"\ty?\nreally', "d"]
    assert table["segment"] == ["1", "7"]
    assert "quoted.tsv: line 4:" in table.problems[0]


def test_mlqe(write: Write, tmp_path: Path) -> None:
    head = "index\toriginal\ttranslation\tscores\tmean\tz_scores\tz_mean\tmodel_scores"
    rows = ('0\ts "\tt\t[90, 80.5]\t85.25\t[0.1, 0.3]\t0.2\t-0.5', "1\ts\tt\t90\t1\t\t1\t1")
    path = write("en-de/test20.ende.df.short.tsv", head, *rows)
    with pytest.raises(InputError, match="line 3, column 'scores' is '90', not a list of numbers"):
        load_mlqe(path)
    table = load_mlqe(tmp_path, skip_malformed=True)
    assert table.name == "test20.ende"
    assert cells(table) == [
        ("lp", "segment", "source", "candidate", "human", "human_raw", "judgments", "model_scores"),
        ("en-de", "0", 's "', "t", 0.2, 85.25, 2, -0.5),
    ]
    with pytest.raises(UnknownNameError, match="has no column 'reference'"):
        _ = table.references
    write("en-de/again.df.short.tsv", head)
    for folder, count in ((write("none/x", "y").parent, 0), (tmp_path, 2)):
        with pytest.raises(InputError, match=rf"needs exactly one file \*\.df\.short\.tsv, has {count}; name one"):
            load_mlqe(folder)


def test_flickr8k_as_table_and_original(write: Write) -> None:
    head = "imageid\tcandidate\tref1\tref2\tjudge1\tjudge2\tjudge3"
    path = write("f.tsv", head, "i.jpg\ta\ta\tb\t1\t2\t4", "i.jpg\tc\ta\tb\t1\t1\t1", "i.jpg\tc\ta\tb\t1\t1\t5")
    with pytest.raises(InputError, match="line 4, column 'judge3' has the judgment '5', not one of 1 to 4"):
        load_flickr8k(path)
    table = load_flickr8k(path, skip_malformed=True)
    assert table["human"].tolist() == [7 / 3, 1.0]  # type: ignore[union-attr]
    assert table.references == [["a", "b"]] * 2
    assert table.notes[0] == "1 candidates equal one of their own references: kept; drop_own=True leaves them out"
    each = load_flickr8k(path, skip_malformed=True, drop_own=True, per_judge=True)
    assert len(each) == 3
    assert each["judge"].tolist() == [1, 2, 3]  # type: ignore[union-attr]
    write("Flickr8k_text/Flickr8k.token.txt", "i.jpg#0\tcap 0", "i.jpg#1\tcap 1", "k.jpg#0\tother")
    folder = write("Flickr8k_text/ExpertAnnotations.txt", "i.jpg\tk.jpg#0\t1\t2\t3", "i.jpg\ti.jpg#1\t4\t4\t4").parent
    original = load_flickr8k(folder)
    assert original["candidate"] == ["other", "cap 1"]
    assert original["caption"] == ["k.jpg#0", "i.jpg#1"]
    assert original.references == [["cap 0", "cap 1"]] * 2
    write("Flickr8k_text/ExpertAnnotations.txt", "i.jpg\tx.jpg#0\t1\t2\t3")
    with pytest.raises(InputError, match=r"line 1: there is no caption of x\.jpg#0"):
        load_flickr8k(folder)


def test_several_references(write: Write, tmp_path: Path) -> None:
    path = write("m.tsv", "source\tref2\tref1\tcandidate\thuman_z", "s\tb\ta\tc\t1", "s\t\ta\tc\t2", "s\t\t\tc\t2")
    with pytest.raises(InputError, match="line 4 has no reference"):
        load_multi_reference(path)
    table = load_multi_reference(path, lp="et-en", skip_malformed=True)
    assert table.references == [["a", "b"], ["a"]]
    assert table["lp"] == ["et-en"] * 2
    assert "1 of 2 rows have fewer than 2 references" in table.notes
    for name, lines in (("src.et", "s"), ("mt.en", "c"), ("ref-1.en", "a"), ("ref-2.en", "b"), ("DA-z.scores", "0.5")):
        write(f"folder/{name}", lines)
    folder = load_multi_reference(tmp_path / "folder")
    assert folder["lp"] == ["et-en"]
    assert folder.references == [["a", "b"]]
    write("folder/DA-z.scores", "0.5", "1")
    with pytest.raises(InputError, match="line counts differ"):
        load_multi_reference(tmp_path / "folder")


def test_a_plain_table_in_every_format(write: Write, tmp_path: Path) -> None:
    path = write("p.tsv", "hyp\treference\tref2\tscore\tBLEU\tid", "c\ta\tb\t1\t0.5\t01", "d\ta\t\t\t\t02")
    table = load_table(path, columns={"candidate": "hyp", "human": "score"}, metrics=["BLEU"])
    assert table.metrics == ("BLEU",)
    assert list(table.columns) == ["dataset", "candidate", "reference", "reference2", "human", "id", "BLEU"]
    assert table["id"] == ["01", "02"]
    assert table.notes == (
        "1 of 2 rows have fewer than 2 references",
        "1 of 2 rows have no 'human'",
        "1 of 2 rows have no 'BLEU'",
    )
    for suffix in (".tsv", ".csv", ".jsonl", ".parquet"):
        saved = tmp_path / f"p{suffix}"
        table.save(saved)
        again = load_table(saved, metrics=["BLEU"])
        assert again.name == "p"
        assert again.notes == table.notes
        for name in table.columns:
            np.testing.assert_array_equal(again[name], table[name])
    assert json.loads((tmp_path / "p.jsonl").read_text().splitlines()[1])["human"] is None
    frame = table.to_frame()
    assert frame["reference2"].tolist() == ["b", ""]
    lists = '{"candidate": "c", "reference": ["a", "b"], "human": 1, "extra": 5}'
    loaded = load_table(write("l.jsonl", lists, PAIR))
    assert loaded.references == [["a", "b"], ["a"]]
    assert loaded["extra"] == ["5", ""]
    assert "1 of 2 rows have no 'human'" in loaded.notes
    with pytest.raises(UnknownNameError, match="columns: 'humman' is not one of lp, "):
        load_table(path, columns={"humman": "score"})
    with pytest.raises(UnknownNameError, match="has no column 'bleu'"):
        load_table(path, metrics=["bleu"])
    with pytest.raises(InputError, match="'hyp' cannot be read as 'candidate': the file has a column of that name too"):
        load_table(write("both.tsv", "hyp\tcandidate", "a\tb"), columns={"candidate": "hyp"})


ENTRY: dict[str, Any] = {"title": "t", "name": "a", "homepage": None, "licence": "x", "citation": "c", "files": []}
LOCAL = {"path": "x.tsv", "loader": "table"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"licence": None}, "[0].licence: Input should be"),
        ({"name": None}, "[0].name"),
        ({"colour": "red"}, "[0].colour: Extra inputs are not permitted"),
        ({"local": {"path": "../x.tsv", "loader": "table"}}, "must be a relative path that stays inside"),
        ({"local": {"path": "x.tsv", "loader": "nothing"}}, "[0].local.loader: Input should be"),
        ({"layout": {"path": "x", "loader": "table"}}, "files and layout go together"),
    ],
)
def test_a_wrong_entry_names_file_and_field(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    entry = json.dumps([{**ENTRY, "language_pairs": [], "layout": None, "local": LOCAL, **change}])
    (tmp_path / "datasets.yaml").write_text(entry)  # JSON is YAML
    with pytest.raises(RegistryError) as caught:
        read_list(DatasetEntry, tmp_path / "datasets.yaml")
    assert "datasets.yaml: " in str(caught.value)
    assert message in str(caught.value)


def test_the_registry_of_data_sets() -> None:
    entries = load_datasets()
    assert len(entries) > 25
    assert {"wmt15-da", "wmt16-da", "wmt17-da", "flickr8k", "qqp", "mt-metrics-eval"} <= set(entries)
    used = {layout.loader for entry in entries.values() for layout in (entry.layout, entry.local) if layout is not None}
    assert used == set(LOADERS) == set(LoaderName.__args__)  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError, match=r"unknown data set 'wmt17da'\. Near: wmt17-da"):
        load_data("wmt17da")


ROWS = {
    "wmt15-da": 2000,
    "wmt16-da": 3920,
    "wmt17-da": 5040,
    "wmt17-da-system": 152,
    "wmt17-darr-from-en": 43010,
    "wmt19-darr-kk-lt-gu": 51700,
    "wmt20-cs-en": 7532,
    "wmt20-ru-en": 9863,
    "wmt20-iu-en": 12097,
    "wmt20-km-en": 6659,
    "newstest2017-cs-en": 12020,
    "newstest2019-gu-en": 12192,
    "stsb-en-train": 5749,
    "stsb-en-dev": 1500,
    "stsb-de-dev": 1500,
    "stsb-zh-dev": 1500,
    "paws-wiki-test": 8000,
    "paws-qqp-dev": 677,
    "pawsx-de-dev": 1932,
    "pawsx-zh-dev": 1984,
    "qqp": 3004,
    "mlqe-et-en": 1000,
    "wmt21-ted-mqm-en-de": 7406,
    "flickr8k": 5822,
    "demetr": 19930,
    "wmt22-en-de": 18333,
    "eval4nlp-et-en-dev": 1000,
    "newstest2021-mqm-en-de": 5797,
    "mteb-sts": 974,
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (ROWS[n] > 10_000)) for n in ROWS])
def test_real_data_have_the_rows_their_card_names(shared: Path, name: str) -> None:
    table = load_data(name, data_dir=shared / "data")
    assert len(table) == ROWS[name]
    assert not table.problems


def test_every_table_at_hand_has_the_checksum_of_the_registry(shared: Path) -> None:
    for entry in load_datasets().values():
        if entry.local is not None and entry.name != "aces":  # which is not at hand
            assert set(entry.local.sha256) == set(entry.local.paths), entry.name
            found = verify_dataset(entry.name, data_dir=shared / "data")
            assert set(found.values()) == {"ok"}, entry.name
