"""Figures of Google's mt-metrics-eval on real data; its `stats.py` computed those of mt_metrics_eval.tsv."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bsx import get_metric
from bsx.analysis import grouped, pairwise_accuracy_with_ties, soft_pairwise_accuracy
from bsx.analysis.stats.systems.grouped import grid
from bsx.data.tables import Table
from bsx.support.checks import Array
from tests.helpers import wmt20

FIGURES = Path(__file__).with_name("mt_metrics_eval.tsv")
FEW = 60


@cache
def theirs(data: str, metric: str) -> Mapping[str, float]:
    rows = [line.split("\t") for line in FIGURES.read_text(encoding="utf-8").splitlines()]
    return {row[2]: float(row[3]) for row in rows if row[:2] == [data, metric]}


def check(expected: Mapping[str, float], metric: Array, human: Array) -> None:
    """Recompute every figure that needs no random draw of its own."""
    assert len(expected) > 10
    for figure, value in expected.items():
        statistic, _, by = figure.partition(", ")
        x, y = (metric, human) if by == "item" else (metric[:, :FEW], human[:, :FEW])
        ours = (
            soft_pairwise_accuracy(metric, human, method="wmt", resamples=1).estimate
            if figure == "SPA"
            else getattr(
                pairwise_accuracy_with_ties(x, y, by=by, resamples=1, epsilon=None),  # type: ignore[arg-type]
                statistic.replace("acc_eq", "estimate"),
            )
            if statistic in ("acc_eq", "epsilon", "tau_eq")
            else grouped(metric, human, by=by, statistic=statistic, resamples=1, nan="omit").estimate  # type: ignore[arg-type]
        )
        # The figures have six digits; ties of SPA's single precision may round otherwise elsewhere.
        assert ours == pytest.approx(value, abs=2e-4 if figure == "SPA" else 1e-6), figure


def test_missing_judgments_of_wmt20(shared: Path) -> None:
    found = wmt20.judged(shared, "cs-en")
    people = np.where(np.isnan(found["chrF"]), np.nan, found["human_raw"])
    check(theirs("WMT20 cs-en raw, some cells missing", "chrF"), found["chrF"], people)


@pytest.mark.parametrize("name", ["overlap", "length"])
def test_mqm_of_newstest2021_with_its_ties(shared: Path, name: str) -> None:
    rows = [
        row
        for row in Table(shared / "data" / "mqm" / "newstest2021-en-de.tsv").rows()
        if not row.name("system").startswith("ref")
    ]
    texts = [[row.text(side) for row in rows] for side in ("candidate", "reference_C")]
    columns = {"human": [row.number("mqm") for row in rows], name: list(get_metric(name).score(*texts))}
    found = grid([row.name("system") for row in rows], [row.name("sid") for row in rows], columns)[1]
    check(theirs("newstest2021 en-de MQM", name), found[name], found["human"])
