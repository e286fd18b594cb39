"""Rows of several languages in one table: each scored as its language is, the output in the order of the input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.data.sidecar import known_metrics
from tests.helpers.tables import read_rows, write_lines

Cli = Callable[..., Any]
ROWS = [
    ("a", "de", "der alte Mann sitzt", "der alte Mann sass"),
    ("b", "zh", "猫坐在垫子上。", "猫坐在那张垫子上。"),
    ("c", "German", "es regnet", "es hat geregnet"),
    ("d", "zh-Hans", "雨很慢。", "雨下得很慢。"),
    ("e", "zh", "老火车", "旧火车"),
]
CODES = ["de", "zh", "de", "zh", "zh"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "rows.tsv", [("name", "language", "candidate", "reference"), *ROWS])


def test_each_row_is_scored_as_its_language_is(cli: Cli, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    command = ["score", table, "--lang-column", "language", "--metrics", "sentbleu,chrf", "-o", out]
    done = cli(*command, "--format", "json")
    assert done.status == 0, done.err
    found = read_rows(out)
    assert [row["name"] for row in found] == [row[0] for row in ROWS]
    for row, code, given in zip(found, CODES, ROWS, strict=True):
        metric = bsx.get_metric("sentbleu", encoders=bsx.Encoders(lang=code))  # whose tokenizer is that of the language
        assert float(row["sentbleu"]) == pytest.approx(metric.score([given[2]], [given[3]]).values[0])
    plain = bsx.get_metric("sentbleu:tokenize=13a").score([ROWS[1][2]], [ROWS[1][3]]).values[0]
    assert float(found[1]["sentbleu"]) != pytest.approx(plain)
    summary = json.loads(done.out)["languages"]
    assert list(summary) == ["de", "zh"]
    assert [summary[code]["segments"] for code in summary] == [2, 3]
    assert "|tokenize:zh|" in summary["zh"]["metrics"][0]["signature"]
    assert {entry.metric for entry in known_metrics(out) if entry.signature} == {"sentbleu", "chrf"}


def test_bertscore_by_itself(cli: Cli, table: Path, tmp_path: Path, tiny_model: Callable[[str], str]) -> None:
    out = tmp_path / "out.tsv"
    done = cli(
        *("score", table, "--lang-column", "language", "--segment", "name", "-o", out),
        *("-m", tiny_model("bert"), "--layer", 2),
    )
    assert done.status == 0, done.err
    found = read_rows(out)
    assert [(row["id"], row["language"]) for row in found] == [(row[0], c) for row, c in zip(ROWS, CODES, strict=True)]
    scorer = bsx.Scorer(model=tiny_model("bert"), layer=2)
    scores = scorer.score([row[2] for row in ROWS], [row[3] for row in ROWS])
    assert np.array([float(row["f1"]) for row in found]) == pytest.approx(scores.f1, abs=1e-5)
    assert done.out.startswith("de: ")
    lines = out.with_name("out.tsv.signature.txt").read_text(encoding="utf-8").splitlines()
    assert [line[:4] for line in lines] == ["de: ", "zh: "]


def test_what_does_not_go(cli: Cli, table: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text(table.read_text(encoding="utf-8").replace("\tGerman\t", "\tGermann\t"), encoding="utf-8")
    lines = tmp_path / "lines.txt"
    lines.write_text("a\n", encoding="utf-8")
    column = ["--lang-column", "language", "--metrics", "chrf"]
    wrong: list[tuple[list[object], str]] = [
        ([bad, *column], "bad.tsv: line 4, column 'language': "),
        ([table, "--lang-column", "lang", "--metrics", "chrf"], "has no column 'lang'"),
        ([table, *column, "--lang", "de"], "--lang and --lang-column exclude each other"),
        ([table, *column, "--resume", "-o", tmp_path / "o.tsv"], "--lang-column cannot be combined with resume"),
        (["-c", lines, "-r", lines, *column], "--lang-column names a column of a table"),
    ]
    for arguments, message in wrong:
        done = cli("score", *arguments)
        assert (done.status, message in done.err, done.err.count("\n")) == (2, True, 1), done.err
