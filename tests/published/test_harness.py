"""Published tables and ours: verdicts, data that are missing or damaged, the ways out, and the tables themselves."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
import bsx
import bsx.jobs
from benchmarks.published import demetr, effeval, mteb, paws, wmt17, wmt22_auto
from benchmarks.published.flickr8k import caption_words
from benchmarks.published.harness import TABLES, reproduce
from benchmarks.published.table import FactsPart, Figure, PublishedFacts, Work, judged
from bsx.analysis.datasets.challenge import load_challenge
from bsx.analysis.present.forms import parts_of, records_of
from bsx.analysis.present.parts import TablePart
from bsx.analysis.published import LeftOut, Reproduced, ReproducedTable
from bsx.errors import DataUnavailableError, InputError, UnknownNameError
from bsx.jobs import reporting

Run = Callable[..., Any]


def score(spec: str, candidates: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]) -> Any:
    return bsx.get_metric(spec).score(candidates, references)


def figures(result: Reproduced, name: str) -> dict[tuple[str, ...], Any]:
    return {tuple(cell.at.values()): (cell.ours or 0.0, cell.verdict) for cell in result[name].cells}


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
    assert [cell.verdict for cell in table.cells] == [verdict for *_, verdict in cells]
    assert [cell.reason for cell in table.cells][3:7] == ["other texts", "other texts", "", "all of it"]
    assert table.count("off") == 3
    assert table.cells[3].difference == pytest.approx(0.1)
    own = judged(facts, [Figure({"metric": "x"}, 15, 14.6, tolerance=0.5, remark="known")], [])
    assert (own.cells[0].verdict, own.cells[0].reason) == ("met", "known")
    with pytest.raises(DataUnavailableError, match="no texts"):
        judged(facts, [], [LeftOut(what="all", reason="no texts")])


def test_figures_that_nobody_printed_are_not_called_published(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [name for name, (facts, _) in TABLES.items() if facts.called != "published"] == ["demetr"]
    facts, recompute = TABLES["effeval"]
    monkeypatch.setitem(TABLES, "demetr", (facts.model_copy(update={"called": "independent"}), recompute))
    result = reproduce(["effeval", "demetr"], small)
    text = result.to_text()
    assert "6 of 6 published figures in 1 table are met within their tolerance. 6 of 6 independent figures in 1" in text
    tables = [part for part in parts_of(result) if isinstance(part, TablePart) and part.caption.startswith("Figures")]
    assert [part.columns[3] for part in tables] == ["published", "independent"]
    assert [row["called"] for row in records_of(result)] == ["published"] * 6 + ["independent"] * 6


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


def test_the_command_names_every_table(cli: Run) -> None:
    shown = " ".join(cli("reproduce", "--help").out.split())
    assert f"Tables: {', '.join(TABLES)}." in shown


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


def test_a_table_is_asked_for_by_its_name(small: Path) -> None:
    result = reproduce(["effeval"], small)
    assert result.ok
    with pytest.raises(UnknownNameError, match=r"there are effeval"):
        result["efeval"]


def test_all_lists_what_it_left_out(cli: Run, small: Path) -> None:
    done = cli("reproduce", "--all", "--data-dir", small)
    assert done.status == 0, done.err
    assert "6 of 6 published figures in 1 table are met" in done.out
    for name in TABLES:
        assert (f"Left out: {name}: {small}: has no " in done.out) == (name != "effeval")
    (small / "effeval/wmt16.tsv").unlink()
    done = cli("reproduce", "--all", "--data-dir", small, "--format", "json")
    content = json.loads(done.out)
    assert (done.status, content["ok"], len(content["tables"]["effeval"]["cells"])) == (0, True, 3)
    assert content["tables"]["effeval"]["left_out"][-1]["what"] == "wmt16"
    assert "has no effeval/wmt16.tsv" in content["tables"]["effeval"]["left_out"][-1]["reason"]
    assert content["provenance"]["kind"] == "reproduce"
    assert [file["name"] for file in content["provenance"]["files"]] == ["published.tsv", "wmt15.tsv"]


def test_a_cell_that_is_off_fails_the_command(cli: Run, small: Path) -> None:
    scored(small, last=-3)
    done = cli("reproduce", "effeval", "--data-dir", small)
    assert done.status == 1
    assert "Off without a reason: 2." in done.out
    assert sum(line.startswith("effeval") and "wmt1" in line for line in done.out.splitlines()) == 2


def test_every_way_out_says_the_same(cli: Run, small: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"out.{suffix}" for suffix in ("txt", "md", "json")]
    for file in files:
        assert cli("reproduce", "effeval", "--data-dir", small, "-o", file).status == 0
    text, markdown, content = (file.read_text(encoding="utf-8") for file in files)
    shown = cli("reproduce", "effeval", "--data-dir", small, "--full").out
    assert shown.partition("How to repeat")[0] == text.partition("How to repeat")[0]  # the commands differ
    summary = "6 of 6 published figures in 1 table are met within their tolerance."
    assert summary in text
    assert summary in markdown
    assert "| wmt15 | m | a | 0.9995 | 1.0000 | +0.0005 | met |" in markdown
    assert "bsx reproduce effeval" in markdown
    cell = json.loads(content)["tables"]["effeval"]["cells"][0]
    assert cell["difference"] == pytest.approx(0.0005)
    # The document is one that reports read.
    assert cli("report", files[2], "-o", tmp_path / "report.md").status == 0
    assert summary in (tmp_path / "report.md").read_text(encoding="utf-8")
    # Several are summed up as one, and of a table left out in one of them another has the figures.
    other = json.loads(content)
    other["tables"] = {"other": other["tables"]["effeval"]}
    other["left_out"] = [{"what": "effeval", "reason": "no data"}, {"what": "paws", "reason": "no data"}]
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    assert cli("report", files[2], tmp_path / "other.json", "-o", tmp_path / "report.md").status == 0
    both = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "12 of 12 published figures in 2 tables are met" in both
    assert "Left out: paws: no data" in both
    assert "| effeval | no data |" not in both
    pytest.importorskip("jinja2")
    done = cli("reproduce", "effeval", "--data-dir", small, "-o", tmp_path / "out.html")
    assert done.status == 0, done.err
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert summary in page
    assert summary in cli("reproduce", "effeval", "--data-dir", small, "--format", "html").out


def test_wrong_use_is_one_line(cli: Run, small: Path, tmp_path: Path) -> None:
    cases: list[tuple[list[object], str]] = [
        (["--data-dir", small], "name tables, or give all"),
        (["effeval", "--all", "--data-dir", small], "name tables, or give all"),
        (["effeval"], "has no effeval/"),
        (["efeval", "--data-dir", small], "efeval: no such table; known are kaster2021"),
        (["efeval", "--data-dir", small], "Near: effeval."),
        (["effeval", "--data-dir", small / "none"], "none: there is no such folder of data"),
        (
            ["demetr", "--data-dir", small, "--metrics", "chrf"],
            "metrics needs a table that other metrics can stand in",
        ),
        (["paws", "--data-dir", small, "--metrics", "chfr"], "chfr"),
        (["paws", "--data-dir", small], "has no paws/paws-qqp-dev.tsv"),
        (["kaster2021", "paws", "--data-dir", small], "has no kaster2021/wmt-en.tsv (or data/scored/out_wmt_mono.tsv)"),
    ]
    for arguments, message in cases:
        done = cli("reproduce", *arguments)
        assert done.status == 2, arguments
        assert message in done.err
        assert done.err.count("\n") == 1
    (tmp_path / "empty").mkdir()
    done = cli("reproduce", "--all", "--data-dir", tmp_path / "empty")
    assert (done.status, done.out) == (2, "")
    assert "has the data of no published table" in done.err


def test_without_a_clone_one_line_says_so(
    cli: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("reproduce", "effeval", "--data-dir", small, "-o", tmp_path / "found.json").status == 0
    monkeypatch.setattr(reporting, "_CLONE", tmp_path / "benchmarks" / "published")
    with pytest.raises(DataUnavailableError, match="clone"):
        bsx.jobs.reproduce(tables=["effeval"], data_dir=small)
    for tables in (["effeval"], ["kaster2021"], ["--all"]):
        done = cli("reproduce", *tables, "--data-dir", small)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert "a clone of the repository" in done.err
    assert cli("report", tmp_path / "found.json", "-o", tmp_path / "report.md").status == 0


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"m-a": "x", "m-b": 1, "m-c": 1}, "line 2"),
        ({"m-a": 1, "m-b": 1}, "has no column 'm-c'"),
        ({"m-a": 1, "m-b": 1, "m-c": 1}, "has 1 rows, 4 were published"),
    ],
)
def test_damaged_data_are_named(cli: Run, small: Path, tmp_path: Path, cells: dict[str, Any], message: str) -> None:
    write(small / "effeval/wmt16.tsv", [{"lp": "de-en", "id": 1, "human": 1, **cells}])
    output = tmp_path / "out.md"
    done = cli("reproduce", "--all", "--data-dir", small, "-o", output)
    assert done.status == 2
    assert "wmt16.tsv" in done.err
    assert message in done.err
    assert not output.exists()


def test_scoring_is_needed_where_texts_are_scored(shared: Path) -> None:
    with pytest.raises(DataUnavailableError, match=r"sentbleu.* is to be computed: give score"):
        reproduce(["paws"], shared / "data")


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
    result = reproduce(["effeval"], tmp_path, score=score)
    assert result.ok
    found = figures(result, "effeval")
    assert found["wmt15", "bertscore", "minilm6-384"] == (pytest.approx(r[0], abs=1e-12), "met")
    # With the texts beside them, metrics of one's own stand beside the published ones.
    texts = {(row["lp"], row["id"]): row for row in fields(shared / "data/wmt/daseg-wmt15.tsv")}
    beside = [texts[row["lp"], row["id"]] for row in kept]
    write(tmp_path / "daseg-wmt15.tsv", beside)
    result = reproduce(["effeval"], tmp_path, score=score, own=["chrf", "ter"])
    own = score("ter", [row["candidate"] for row in beside], [row["reference"] for row in beside]).values
    expected = -np.corrcoef(own, numbers["human"])[0, 1]
    assert figures(result, "effeval")["wmt15", "ter", ""] == (pytest.approx(expected), "ours")
    write(tmp_path / "daseg-wmt15.tsv", beside[:-1])
    with pytest.raises(InputError, match=r"daseg-wmt15.tsv: has no row with lp .* and id .*, which wmt15.tsv has"):
        reproduce(["effeval"], tmp_path, score=score, own=["chrf"])
    write(tmp_path / "wmt15.tsv", kept[:-1])
    with pytest.raises(InputError, match=r"wmt15.tsv: has 39 rows, 40 were published"):
        reproduce(["effeval"], tmp_path)


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
    result = reproduce(["wmt22-auto"], tmp_path, score=score)
    cells = result["wmt22-auto"].cells
    assert [cell.verdict for cell in cells] == ["met"] * 8
    assert max(abs(cell.difference or 0.0) for cell in cells) < 1e-9
    write(tmp_path / "en-zh.systems.tsv", outputs[:-1])
    with pytest.raises(InputError, match=r"en-zh.systems.tsv: the system Online-Y has no row for segment 25"):
        reproduce(["wmt22-auto"], tmp_path, score=score)
    write(tmp_path / "en-zh.systems.tsv", outputs[:25])
    with pytest.raises(InputError, match=r"scores.tsv: names the system Online-Y, of which en-zh has no outputs"):
        reproduce(["wmt22-auto"], tmp_path, score=score)


def test_wmt17_segments_of_one_pair(monkeypatch: pytest.MonkeyPatch, shared: Path, tmp_path: Path) -> None:
    """cs-en, where chrF's smoothing and the tokeniser decide: .514, .523 and .435 are printed."""
    rows = [row for row in fields(shared / "data/wmt/daseg-wmt17.tsv") if row["lp"] == "cs-en"]
    write(tmp_path / "daseg-wmt17.tsv", rows)
    table = wmt17.FACTS.tables[0]
    one = table.model_copy(update={"cells": {name: {"cs-en": row["cs-en"]} for name, row in table.cells.items()}})
    stated(monkeypatch, wmt17, "wmt17", tables=[one])
    found = figures(reproduce(["wmt17"], tmp_path, score=score), "wmt17")
    known = {"SENTBLEU": 0.43504, "CHRF": 0.51443, "CHRF++": 0.52288}
    for metric, r in known.items():
        assert found["Zhang et al. 13", "segment", metric, "cs-en"] == (pytest.approx(r, abs=1e-4), "met")
    write(tmp_path / "daseg-wmt17.tsv", rows[:-1])
    with pytest.raises(InputError, match="has 559 rows of cs-en, 560 were judged"):
        reproduce(["wmt17"], tmp_path, score=score)


def test_metrics_beside_the_published_ones(
    cli: Run, monkeypatch: pytest.MonkeyPatch, shared: Path, tmp_path: Path
) -> None:
    rows = fields(shared / "data/paws/paws-qqp-dev.tsv")[:60]
    write(tmp_path / "paws-qqp-dev.tsv", rows)
    stated(monkeypatch, paws, "paws", rows=60)
    done = cli("reproduce", "paws", "--data-dir", tmp_path, "--metrics", "chrf,ter", "--format", "json")
    assert done.status == 1  # a slice has other areas than the whole
    content = json.loads(done.out)
    own = {cell["at"]["metric"]: cell for cell in content["tables"]["paws"]["cells"] if cell["verdict"] == "ours"}
    assert list(own) == ["chrf", "ter"]
    labels = np.array([int(row["label"]) for row in rows])
    scores = score("ter", [row["sentence2"] for row in rows], [row["sentence1"] for row in rows]).values
    wins = [(a < b) + (a == b) / 2 for a in scores[labels == 1] for b in scores[labels == 0]]
    assert own["ter"]["ours"] == pytest.approx(np.mean(wins))
    assert (own["ter"]["published"], own["ter"]["tolerance"]) == (None, None)
    assert set(content["provenance"]["signatures"]) > {"chrf", "ter", "rouge-l:variant=coco"}


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
    "kaster2021": (269, 262, 7),
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
@pytest.mark.parametrize("name", list(TABLES))
def test_whole_tables(shared: Path, name: str) -> None:
    for package in ("sklearn", "nltk", "sacrebleu"):
        pytest.importorskip(package)
    from bsx.jobs import reproduce as with_metrics

    table: ReproducedTable = with_metrics(tables=[name], data_dir=shared / "data")[name]
    counts = (len(table.cells), table.count("met"), table.count("exception"))
    assert counts == MEASURED[name]
