"""Published tables and ours: verdicts, data that are missing or damaged, the page, and the tables themselves."""

from __future__ import annotations

import csv
import gzip
import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
import bsx
from benchmarks.published import demetr, effeval, mteb, wmt17, wmt22_auto
from benchmarks.published.__main__ import TABLES, main, reproduce
from benchmarks.published.flickr8k import caption_words
from benchmarks.published.table import FactsPart, Figure, LeftOut, PublishedFacts, ReproducedTable, Work, judged
from bsx.analysis.datasets.challenge import load_challenge
from bsx.errors import DataUnavailableError, InputError, UnknownNameError

Capture = pytest.CaptureFixture[str]


def score(spec: str, candidates: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]) -> Any:
    return bsx.get_metric(spec).score(candidates, references)


def figures(table: ReproducedTable) -> dict[tuple[str, ...], Any]:
    return {tuple(figure.at.values()): (figure.ours, figure.verdict) for figure in table.figures}


def one(name: str, data: Path) -> ReproducedTable:
    return reproduce([name], data)[0][name]


def fields(file: Path) -> list[dict[str, str]]:
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return list(csv.DictReader(content.decode().split("\n")[:-1], delimiter="\t", quoting=csv.QUOTE_NONE))


def write(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def stated(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, **changes: Any) -> None:
    """Let a table state something else than was published."""
    facts = module.FACTS.model_copy(update=changes)
    monkeypatch.setattr(module, "FACTS", facts)
    monkeypatch.setitem(TABLES, name, (facts, module.recompute))


def test_verdicts() -> None:
    facts = PublishedFacts(
        title="t",
        source="s",
        data=[],
        tolerance=0.001,
        settings=[],
        exceptions=[
            {"pair": ["de-en", "fi-en"], "metric": "chrf", "reason": "other texts"},
            {"metric": "ter", "reason": "all of it"},
        ],
    )
    cells = [
        ({"metric": "chrf", "pair": "cs-en"}, 0.514, 0.515, "met"),  # exactly the tolerance, but for binary fractions
        ({"metric": "chrf", "pair": "cs-en"}, 0.514, 0.5151, "off"),
        ({"metric": "chrf", "pair": "cs-en"}, 0.514, math.nan, "off"),
        ({"metric": "chrf", "pair": "de-en"}, 0.5, 0.6, "exception"),
        ({"metric": "chrf", "pair": "fi-en"}, 0.5, 0.5, "exception no longer needed"),
        ({"metric": "bleu", "pair": "de-en"}, 0.5, 0.6, "off"),
        ({"metric": "ter", "pair": "de-en"}, 0.5, 0.6, "exception"),
        ({"metric": "own", "pair": "de-en"}, None, 0.6, "ours"),
    ]
    table = judged(facts, [Figure(at, published, ours) for at, published, ours, _ in cells], [])
    assert [figure.verdict for figure in table.figures] == [verdict for *_, verdict in cells]
    assert [figure.reason for figure in table.figures][3:7] == ["other texts", "other texts", "", "all of it"]
    assert table.count("off") == 3
    own = judged(facts, [Figure({"metric": "x"}, 15, 14.6, tolerance=0.5, reason="known")], [])
    assert (own.figures[0].verdict, own.figures[0].reason) == ("met", "known")
    with pytest.raises(DataUnavailableError, match="no texts"):
        judged(facts, [], [LeftOut(what="all", reason="no texts")])


def test_figures_that_nobody_printed_are_not_called_published(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert [name for name, (facts, _) in TABLES.items() if facts.called != "published"] == ["demetr"]
    facts, recompute = TABLES["effeval"]
    monkeypatch.setitem(TABLES, "demetr", (facts.model_copy(update={"called": "independent"}), recompute))
    assert main(["effeval", "demetr", "--data", str(small)]) == 0
    text = capsys.readouterr().out
    assert "6 of 6 published figures in 1 table are met within their tolerance. 6 of 6 independent figures in 1" in text
    assert "| set | metric | encoder | independent | ours |" in text


def test_what_the_tables_state() -> None:
    for name, (facts, recompute) in TABLES.items():
        module = importlib.import_module(recompute.__module__)
        assert facts is module.FACTS
        assert facts.data, name
        assert facts.settings, name
        assert all(stated["reason"] and len(stated) > 1 for stated in facts.exceptions), name
    with pytest.raises(ValueError, match="tolerence"):
        FactsPart.model_validate({"tolerence": 1})
    more = {"what": "a", "reason": "b", "or c": None}  # a comma outside quotes starts a key
    with pytest.raises(ValueError, match="or c"):
        PublishedFacts.model_validate(
            {"title": "t", "source": "s", "data": [], "tolerance": 0, "settings": [], "left_out": [more]}
        )


def scored(folder: Path, last: object = 3) -> None:
    """Write two sets of four segments, with the scores of three metrics; ``last`` is the last one of the first."""
    rows = [(1, 0, 0, 3, 1), (2, 1, 1, 2, 0), (3, 2, 2, 1, 0), (4, 3, last, 0, 1)]
    for name in ("wmt15", "wmt16"):
        cells = [dict(zip(("id", "human", "m-a", "m-b", "m-c"), row, strict=True)) for row in rows]
        write(folder / f"effeval/{name}.tsv", [{"lp": "de-en", **row} for row in cells])
    figures = {"m-a": 0.9995, "m-b": -1, "m-c": 0}
    published = [
        {"set": name, "column": column, "pearson": r} for name in ("wmt15", "wmt16") for column, r in figures.items()
    ]
    write(folder / "effeval/published.tsv", published)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with data of one table, small enough to compute by hand."""
    stated(monkeypatch, effeval, "effeval", rows={"wmt15": 4, "wmt16": 4}, tolerance=0.001)
    scored(tmp_path)
    return tmp_path


def test_all_lists_what_it_left_out(small: Path, capsys: Capture) -> None:
    assert main(["--data", str(small)]) == 0
    shown = capsys.readouterr().out
    assert "6 of 6 published figures in 1 table are met" in shown
    assert "| wmt15 | m | a | 0.9995 | 1 | +5.0e-04 | met |" in shown
    for name in TABLES:
        assert (f"Left out: {name}: {small}: has no " in shown) == (name != "effeval")
    (small / "effeval/wmt16.tsv").unlink()
    assert main(["--data", str(small)]) == 0
    shown = capsys.readouterr().out
    assert "3 of 3 published figures" in shown
    assert "- wmt16: " in shown.partition("Not recomputed:")[2]


def test_a_figure_that_is_off_is_an_exit_status(small: Path, capsys: Capture) -> None:
    scored(small, last=-3)
    assert main(["effeval", "--data", str(small)]) == 1
    shown = capsys.readouterr().out
    assert "Off without a reason: 2." in shown
    assert sum(line.endswith("| off |") for line in shown.splitlines()) == 2


def test_wrong_use_is_one_line(small: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        (["efeval", "--data", small], "efeval: no such table; known are kaster2021"),
        (["effeval", "--data", small / "none"], "none: there is no such folder of data"),
        (["paws", "--data", small], "has no paws/paws-qqp-dev.tsv"),
        (["kaster2021", "--data", small], "has no kaster2021/wmt-en.tsv (or data/scored/out_wmt_mono.tsv)"),
        (["--data", tmp_path / "empty"], "has the data of no published table"),
    ):
        assert main([str(each) for each in arguments]) == 2
        shown = capsys.readouterr()
        assert message in shown.err
        assert (shown.out, shown.err.count("\n")) == ("", 1)
    with pytest.raises(UnknownNameError):
        reproduce(["efeval"], small)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"m-a": "x", "m-b": 1, "m-c": 1}, "line 2"),
        ({"m-a": 1, "m-b": 1}, "has no column 'm-c'"),
        ({"m-a": 1, "m-b": 1, "m-c": 1}, "has 1 rows, 4 were published"),
    ],
)
def test_damaged_data_are_named(small: Path, capsys: Capture, cells: dict[str, Any], message: str) -> None:
    write(small / "effeval/wmt16.tsv", [{"lp": "de-en", "id": 1, "human": 1, **cells}])
    assert main(["--data", str(small)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "wmt16.tsv" in shown.err
    assert message in shown.err


def test_effeval_on_a_slice(monkeypatch: pytest.MonkeyPatch, shared: Path, tmp_path: Path) -> None:
    columns = ["bertscore-minilm6-384", "moverscore-bert"]
    rows = fields(shared / "data/effeval/wmt15.tsv")[::50]
    kept = [{name: row[name] for name in ("lp", "id", "human", *columns)} for row in rows]
    write(tmp_path / "wmt15.tsv", kept)
    numbers = {name: [float(row[name]) for row in kept] for name in ("human", *columns)}
    r = [np.corrcoef(numbers[name], numbers["human"])[0, 1] for name in columns]
    published = [
        {"set": "wmt15", "column": name, "pearson": repr(float(v))} for name, v in zip(columns, r, strict=True)
    ]
    write(tmp_path / "published.tsv", published)
    stated(monkeypatch, effeval, "effeval", rows={"wmt15": len(kept)})
    found = figures(one("effeval", tmp_path))
    assert found["wmt15", "bertscore", "minilm6-384"] == (pytest.approx(r[0], abs=1e-12), "met")
    write(tmp_path / "wmt15.tsv", kept[:-1])
    with pytest.raises(InputError, match=r"wmt15.tsv: has 39 rows, 40 were published"):
        one("effeval", tmp_path)


def test_wmt22_on_a_slice(monkeypatch: pytest.MonkeyPatch, shared: Path, tmp_path: Path) -> None:
    """Against sacreBLEU called on the whole slice at once, with its signatures."""
    metrics = pytest.importorskip("sacrebleu.metrics")
    references = fields(shared / "data/wmt22-auto/en-zh.ref.tsv")[:25]
    sids = {row["sid"] for row in references}
    outputs = [row for row in fields(shared / "data/wmt22-auto/en-zh.systems.tsv") if row["sid"] in sids]
    outputs = [row for row in outputs if row["system"] in ("GTCOM", "Online-Y")]
    a, b = ([row[f"reference_{name}"] for row in references] for name in "AB")
    kinds = {
        "bleu-A": (metrics.BLEU(tokenize="zh"), [a]),
        "bleu-all": (metrics.BLEU(tokenize="zh"), [a, b]),
        "chrf-B": (metrics.CHRF(), [b]),
        "chrf-all": (metrics.CHRF(), [b, a]),
    }
    published = []
    for system in ("GTCOM", "Online-Y"):
        own = [row["candidate"] for row in outputs if row["system"] == system]
        for metric, (computes, several) in kinds.items():
            value = computes.corpus_score(own, several).score
            published.append({"pair": "en-zh", "system": system, "metric": metric, "score": repr(value)})
        published.append({"pair": "en-zh", "system": system, "metric": "COMET-A", "score": "0.5"})
    write(tmp_path / "scores.tsv", published)
    write(tmp_path / "en-zh.ref.tsv", references)
    write(tmp_path / "en-zh.systems.tsv", outputs)
    facts = {"en-zh": wmt22_auto.PairFacts(tokenize="zh", segments=25)}
    stated(monkeypatch, wmt22_auto, "wmt22-auto", pairs=facts)
    found = one("wmt22-auto", tmp_path).figures
    assert [figure.verdict for figure in found] == ["met"] * 8
    assert max(abs(figure.ours - (figure.published or 0.0)) for figure in found) < 1e-9
    write(tmp_path / "en-zh.systems.tsv", outputs[:-1])
    with pytest.raises(InputError, match=r"en-zh.systems.tsv: the system Online-Y has no row for segment 25"):
        one("wmt22-auto", tmp_path)
    write(tmp_path / "en-zh.systems.tsv", outputs[:25])
    with pytest.raises(InputError, match=r"scores.tsv: names the system Online-Y, of which en-zh has no outputs"):
        one("wmt22-auto", tmp_path)


def test_wmt17_segments_of_one_pair(monkeypatch: pytest.MonkeyPatch, shared: Path, tmp_path: Path) -> None:
    """cs-en, where chrF's smoothing and the tokeniser decide: .514, .523 and .435 are printed."""
    rows = [row for row in fields(shared / "data/wmt/daseg-wmt17.tsv") if row["lp"] == "cs-en"]
    write(tmp_path / "daseg-wmt17.tsv", rows)
    table = wmt17.FACTS.tables[0]
    cut = table.model_copy(update={"cells": {name: {"cs-en": row["cs-en"]} for name, row in table.cells.items()}})
    stated(monkeypatch, wmt17, "wmt17", tables=[cut])
    found = figures(one("wmt17", tmp_path))
    known = {"SENTBLEU": 0.43504, "CHRF": 0.51443, "CHRF++": 0.52288}
    for metric, r in known.items():
        assert found["Zhang et al. 13", "segment", metric, "cs-en"] == (pytest.approx(r, abs=1e-4), "met")
    write(tmp_path / "daseg-wmt17.tsv", rows[:-1])
    with pytest.raises(InputError, match="has 559 rows of cs-en, 560 were judged"):
        one("wmt17", tmp_path)


def test_the_best_threshold_of_sentence_pairs() -> None:
    measures = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    cosines, labels = rng.integers(0, 12, 60) / 12, rng.integers(0, 2, 60).astype(float)  # many ties
    found = mteb._paraphrase(labels, cosines)
    called = [cosines >= cut for cut in np.unique(cosines)]
    assert found["cosine_ap"] == pytest.approx(measures.average_precision_score(labels, cosines))
    assert found["cosine_accuracy"] == pytest.approx(max(np.mean(one == labels) for one in called))
    assert found["cosine_f1"] == pytest.approx(max(measures.f1_score(labels, one) for one in called))


def test_the_words_of_captions() -> None:
    assert caption_words('A man (in a T-shirt) says: "Hello, you."') == "a man in a t-shirt says hello you"


def test_demetr_counts_right_and_ties(shared: Path) -> None:
    pairs = load_challenge(shared / "data/demetr/demetr.tsv.gz").pairs[:3000:500]
    found = demetr._right(Work(Path(), score), list(pairs))
    rows = fields(shared / "data/demetr/demetr.tsv.gz")[:3000:500]
    good, bad = (
        score("chrf", [r[kind] for r in rows], [r["reference"] for r in rows]).values for kind in ("good", "bad")
    )
    assert found == {"critical": {"rows": 6, "right": int((good > bad).sum()), "ties": int((good == bad).sum())}}


# What was measured: cells, of which met and of which exceptions.
MEASURED = {
    "kaster2021": (271, 262, 7),
    "effeval": (186, 186, 0),
    "wmt22-auto": (198, 198, 0),
    "flickr8k": (2, 2, 0),
    "paws": (6, 6, 0),
    "demetr": (31, 31, 0),
    "mteb": (21, 19, 2),
    "wmt17": (52, 42, 10),
    "wmt23": (564, 532, 0),
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", list(TABLES))
def test_whole_tables(shared: Path, name: str) -> None:
    for package in ("sklearn", "nltk", "sacrebleu"):
        pytest.importorskip(package)
    table = one(name, shared / "data")
    counts = (len(table.figures), table.count("met"), table.count("exception"))
    assert counts == MEASURED[name]
