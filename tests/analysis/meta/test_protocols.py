"""WMT's official tables: the shipped protocols, a small folder of mt-metrics-eval as of WMT24, tables, and WMT23."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx import protocol_table
from bsx.analysis.datasets.mtme import load_mt_metrics_eval, load_mt_metrics_eval_tables, references_of
from bsx.analysis.datasets.testsets import load_test_set
from bsx.analysis.meta.protocol import ProtocolResult
from bsx.catalog.protocols import ProtocolEntry, load_protocols
from bsx.errors import DataUnavailableError, InputError
from tests.conftest import Outcome

Run = Callable[..., Outcome]

SEGMENTS = 12
SYSTEMS = ("one", "two", "three", "four", "refA", "refB", "MSLC")


def lines(path: Path, content: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")


def put_scores(path: Path, scores: dict[str, list[Any]]) -> None:
    lines(path, [f"{system}\t{value}" for system, values in scores.items() for value in values])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A test set as that of WMT24: three language pairs, two references, an outlier, segments that nobody judged."""
    rng = np.random.default_rng(4)
    root = tmp_path / "mt-metrics-eval-v2" / "wmt24"
    for pair in ("en-de", "en-es", "ja-zh"):
        lines(root / f"sources/{pair}.txt", [f"s{i}" for i in range(SEGMENTS)])
        lines(root / f"documents/{pair}.docs", [f"news d{i // 4}" for i in range(SEGMENTS)])
        references = ("refA", "refB") if pair == "en-de" else ("refA",)
        for name in references:
            lines(root / f"references/{pair}.{name}.txt", [f"r{i}" for i in range(SEGMENTS)])
        quality = dict(zip(SYSTEMS, (0.0, 1, 2, 3, 4, 5, -5), strict=True))
        systems = [name for name in SYSTEMS if not name.startswith("ref") or name in references]
        human: dict[str, list[Any]] = {}
        for system in systems:
            lines(root / f"system-outputs/{pair}/{system}.txt", [f"{system} {i}" for i in range(SEGMENTS)])
            human[system] = [round(float(quality[system] + rng.normal()), 2) for _ in range(SEGMENTS)]
            human[system][-2:] = [None, None]
        put_scores(root / f"human-scores/{pair}.mqm.seg.score", human)
        put_scores(root / f"human-scores/{pair}.mqm.sys.score", {s: [np.mean(v[:-2])] for s, v in human.items()})
        put_scores(root / f"human-scores/{pair}.esa.seg.score", human)
        standard = "refB" if pair == "en-de" else "refA"
        noises = {f"XCOMET-{standard}": 0.2, "XCOMET-QE-src": 2.0, f"BLEU-{standard}": 8.0, "mine-src": 0.1}
        for name, noise in noises.items():
            judged = {s: values for s, values in human.items() if s not in (references_of(name)[1] or ())}
            of = {s: [round(float((v or 0) + noise * rng.normal()), 4) for v in vs] for s, vs in judged.items()}
            put_scores(root / f"metric-scores/{pair}/{name}.seg.score", of)
            put_scores(root / f"metric-scores/{pair}/{name}.sys.score", {s: [np.mean(v)] for s, v in of.items()})
    # A variant that uses the other reference is not this year's.
    german = root / "metric-scores/en-de"
    shutil.copy(german / "XCOMET-QE-src.seg.score", german / "BLEU-refA.seg.score")
    return tmp_path


def test_what_the_shipped_protocols_state() -> None:
    entries = load_protocols()
    assert list(entries) == ["wmt22", "wmt23", "wmt24", "wmt25"]
    assert all(entry.source.startswith("google-research/mt-metrics-eval, commit ") for entry in entries.values())
    assert {rules.gold for rules in entries["wmt25"].language_pairs.values()} == {"mqm", "esa-human1"}
    wrong = {"tasks": [{"level": "sys", "statistic": "acc_eq"}]}
    with pytest.raises(ValueError, match="level"):
        ProtocolEntry.model_validate({**entries["wmt23"].model_dump(), **wrong})


def test_a_folder_as_of_wmt24(folder: Path) -> None:
    result = protocol_table(protocol="wmt24", table=str(folder), resamples=50)
    assert [task.name for task in result.tasks] == [
        f"{pair} {task}" for task in ("sys spa", "seg acc_eq") for pair in ("en-de", "en-es", "ja-zh")
    ]
    assert [task.systems for task in result.tasks[:3]] == [(5,), (4,), (4,)]  # en-de: refA is ranked like a system
    assert {task.segments for task in result.tasks} == {SEGMENTS - 2}
    references = {(s.pair, s.system) for s in result.left_out if s.why == "reference"}
    assert references == {("en-de", "refB"), ("en-es", "refA"), ("ja-zh", "refA")}
    assert [s.system for s in result.left_out if s.why != "reference"] == ["MSLC"] * 3
    assert {s.why for s in result.left_out} == {"reference", "outlier"}
    assert [metric.metric for metric in result.metrics] == ["XCOMET", "XCOMET-QE[noref]", "BLEU"]
    assert [metric.baseline for metric in result.metrics] == [False, False, True]
    assert "MEE4" in result.missing_metrics
    assert result.provenance is not None
    assert result.provenance.files


def test_metrics_of_one_s_own(folder: Path) -> None:
    result = protocol_table(protocol="wmt24", table=str(folder), resamples=20, also=["mine"])
    assert [metric.metric for metric in result.metrics if not metric.primary] == ["mine[noref]"]
    every = protocol_table(protocol="wmt24", table=str(folder), resamples=20, also=["all"])
    assert every.metrics == result.metrics
    with pytest.raises(InputError, match="also: there are no scores of 'mime'"):
        protocol_table(protocol="wmt24", table=str(folder), also=["mime"])


def test_some_language_pairs_are_not_the_official_table(folder: Path, cli: Run) -> None:
    shutil.rmtree(folder / "mt-metrics-eval-v2/wmt24/metric-scores/ja-zh")
    with pytest.raises(InputError, match=r"needs ja-zh.*language_pairs en-de,en-es"):
        protocol_table(protocol="wmt24", table=str(folder))
    called = ("meta", str(folder), "--protocol", "wmt24", "--detail", "language_pairs=en-de,en-es", "--resamples", "20")
    shown = cli(*called).out
    assert shown.startswith("XCOMET is first of 3 metrics")
    assert "not the official table: ja-zh is left out" in shown
    result = ProtocolResult.from_dict(json.loads(cli(*called, "--format", "json").out))
    assert result.missing_pairs == ("ja-zh",)
    assert cli(*called, "--test", "none").out.count("Nothing was tested") == 1


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("human-scores/en-de.mqm.seg.score", "no human scores mqm of the level seg"),
        ("references/en-de.refB.txt", "the reference refB is not there; there are refA"),
        ("metric-scores/en-de/XCOMET-refB.seg.score", "XCOMET has no score for 10 judged segments of the system one"),
    ],
)
def test_missing_parts_are_named(folder: Path, cli: Run, broken: str, message: str) -> None:
    file = folder / "mt-metrics-eval-v2/wmt24" / broken
    kept = [line for line in file.read_text().splitlines() if not line.startswith("one\t")]
    file.unlink()
    if broken.startswith("metric"):
        lines(file, kept)
    result = cli("meta", str(folder), "--protocol", "wmt24")
    assert result.status == 2
    assert message in result.err


def test_wrong_use_is_one_line(folder: Path, cli: Run, tmp_path: Path) -> None:
    for arguments, message in (
        (("--protocol", "wmt99"), "wmt22, wmt23, wmt24, wmt25"),
        (("--protocol", "wmt24", "--detail", "language_pairs=en-fr"), "wmt24 has no en-fr"),
        (("--protocol", "wmt24", "--level", "sys"), "level has no effect with protocol"),
        (("--protocol", "wmt24", "--test", "williams"), "test williams"),
        (("--protocol", "wmt23"), "has no scores of wmt23"),
        (("--detail", "language_pairs=en-de"), "--detail language_pairs needs protocol"),
    ):
        result = cli("meta", str(folder), *arguments)
        assert result.status == 2
        assert message in result.err
        assert len([line for line in result.err.splitlines() if "error" in line]) == 1
    with pytest.raises(DataUnavailableError):
        protocol_table(protocol="wmt24", table=str(tmp_path / "mt-metrics-eval-v2/wmt24/sources"))
    with pytest.raises(InputError, match="is wmt24; the protocol wmt22 is of wmt22"):
        protocol_table(protocol="wmt22", table=str(folder / "mt-metrics-eval-v2/wmt24"), language_pairs=["en-de"])
    with pytest.raises(InputError, match="no folder"):
        protocol_table(protocol="wmt24", table=str(tmp_path / "nothing"))


def test_texts_as_json_and_several_human_scores(folder: Path) -> None:
    root = folder / "mt-metrics-eval-v2/wmt24"
    plain = load_mt_metrics_eval(root, "en-de", human="all", metrics="all")
    assert {"mqm", "esa", "XCOMET-refB"} <= set(plain.columns)
    assert "human" not in plain
    for place, field in (("sources", "source"), ("references", "target"), ("system-outputs/en-de", "hypothesis")):
        for file in (root / place).glob("*.txt"):
            if place == "system-outputs/en-de" or file.name.startswith("en-de"):
                texts = file.read_text().splitlines()
                lines(file.with_suffix(".jsonl"), [json.dumps({field: text, "more": 1}) for text in texts])
                file.unlink()
    again = load_mt_metrics_eval(root, "en-de", human="all", metrics="all")
    for name in plain.columns:
        np.testing.assert_array_equal(plain[name], again[name])
    judged = load_test_set(f"{root}/en-de")
    np.testing.assert_array_equal(judged["human"], plain["mqm"])
    lines(root / "sources/en-de.jsonl", ["[]"] * SEGMENTS)
    with pytest.raises(InputError, match="line 1 is no JSON object with the field 'source'"):
        load_mt_metrics_eval(root, "en-de", human="mqm")


def as_tables(folder: Path, out: Path) -> None:
    """Write the language pair en-de of the folder as tables, as they are made of WMT23."""
    root = folder / "mt-metrics-eval-v2/wmt24"
    judged = load_mt_metrics_eval(root, "en-de", human="mqm", metrics="all")
    systems = load_mt_metrics_eval(root, "en-de", human="mqm", level="sys", metrics="all")
    out.mkdir()

    def table(name: str, heads: list[str], columns: list[object]) -> None:
        cells = [["" if value != value else str(value) for value in column] for column in columns]  # type: ignore[attr-defined]
        with gzip.open(out / name, "wt", encoding="utf-8") as stream:
            rows = list(map(list, zip(*cells, strict=True)))  # the order of rows says nothing
            rows = rows[::-1] if "metrics" in name or "sys" in name else rows
            stream.write("\n".join("\t".join(row) for row in [heads, *rows]) + "\n")

    keys = [judged["system"], judged["segment"]]
    texts = ["document", "domain", "source", "reference", "reference2", "candidate"]
    heads = ["system", "seg", "doc", "domain", "source", "reference_refA", "reference_refB", "candidate"]
    table("en-de.texts.tsv.gz", heads, [*keys, *(judged[name] for name in texts)])
    table("en-de.human.tsv.gz", ["system", "seg", "mqm"], [*keys, judged["human"]])
    table("en-de.metrics.tsv.gz", ["system", "seg", *judged.metrics], [*keys, *(judged[m] for m in judged.metrics)])
    heads = ["system", "mqm", *systems.metrics]
    table("en-de.sys.tsv.gz", heads, [systems["system"], systems["human"], *(systems[m] for m in systems.metrics)])


def test_tables_say_what_the_folder_says(folder: Path, tmp_path: Path) -> None:
    as_tables(folder, tmp_path / "wmt24")
    given: dict[str, Any] = {"protocol": "wmt24", "language_pairs": ["en-de"], "resamples": 20}
    of_files, of_tables = (
        protocol_table(table=str(place), **given) for place in (folder / "mt-metrics-eval-v2/wmt24", tmp_path / "wmt24")
    )
    for part in ("metrics", "tasks", "left_out"):
        assert getattr(of_files, part) == getattr(of_tables, part)
    plain = load_mt_metrics_eval(folder / "mt-metrics-eval-v2/wmt24", "en-de", human="mqm", metrics="all")
    table = load_mt_metrics_eval_tables(tmp_path / "wmt24", "en-de", human="mqm")
    for name in set(plain.columns) - {"dataset"}:
        np.testing.assert_array_equal(plain[name], table[name])
    assert load_test_set(f"{tmp_path}/wmt24/en-de").columns.keys() == table.columns.keys()
    wrong = {"texts": "83 rows, 84 are due", "sys": r"rows, \d+ are due", "metrics": "rows, 84 are due"}
    for kind, message in wrong.items():
        file = tmp_path / f"wmt24/en-de.{kind}.tsv.gz"
        whole = file.read_bytes()
        rows = gzip.decompress(whole).decode().splitlines()
        changed = [*rows, rows[1]] if kind == "sys" else rows[:-1]
        file.write_bytes(gzip.compress(("\n".join(changed) + "\n").encode()))
        with pytest.raises(InputError, match=message):
            load_mt_metrics_eval_tables(tmp_path / "wmt24", "en-de", human="mqm")
        file.write_bytes(whole)


@pytest.mark.slow
def test_the_table_of_wmt23(shared: Path) -> None:
    """The clusters of Freitag et al. 2023, Table 1 are of three language pairs; these are of the two that are here."""
    result = protocol_table(
        protocol="wmt23", data_dir=shared / "data", language_pairs=["en-de", "he-en"], resamples=200
    )
    assert len(result.metrics) == 32
    assert result.metrics[0].metric == "XCOMET-Ensemble"
    assert [metric.metric for metric in result.metrics if metric.rank == 1] == ["XCOMET-Ensemble"]
    assert {metric.metric for metric in result.metrics[-2:]} == {"Random-sysname[noref]", "prismSrc[noref]"}
    gemba = next(metric for metric in result.metrics if metric.metric == "GEMBA-MQM[noref]")
    # Seven digits, as guardians-mt-eval prints mt-metrics-eval's figure.
    assert gemba.figures["en-de sys pearson"].value == pytest.approx(0.9929749, abs=1e-7)
    assert [task.systems for task in result.tasks[:3]] == [(12, 13), (12,), (13,)]
    assert [(s.pair, s.system, s.why) for s in result.left_out] == [
        ("en-de", "refA", "reference"),
        ("en-de", "synthetic_ref", "outlier"),
        ("he-en", "refB", "reference"),
    ]
