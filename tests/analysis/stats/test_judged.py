"""What human scores cannot say: raters of other systems, and rows that nobody judged."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bsx
from benchmarks.calibration.units import judgments, rated
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.stats.judged import raters_apart, unjudged


def test_z_scores_of_raters_who_saw_other_systems_are_said_with_the_table() -> None:
    human, systems, raters = rated(np.random.default_rng(1), seen=2)
    (notice,) = raters_apart(human, "score", systems, raters)
    assert (notice.name, notice.about) == ("raters-apart", "score")
    assert (notice.values["raters"], notice.values["systems"], notice.values["judged"]) == (6, 6, 2.0)
    assert notice.values["common"] == pytest.approx(6 / 15)  # of 15 pairs, 6 are neighbours, who share one system
    assert notice.values["table"]["r5"] == {"s5": 50, "s0": 50}
    assert not raters_apart(human, "score", systems, [""] * len(raters))
    human[0] = np.nan  # no judgment, whoever should have judged
    (fewer,) = raters_apart(human, "score", systems, raters)
    assert fewer.values["table"][raters[0]][systems[0]] == 49
    for name, seen, z in (("score", 6, True), ("score", 2, False), ("human_z", 2, False)):  # the last is called so
        human, systems, raters = rated(np.random.default_rng(1), seen=seen, z=z)
        assert bool(raters_apart(human, name, systems, raters)) == (name == "human_z")


def test_rows_without_judgments_are_said_with_the_metrics_means_where_they_are_others() -> None:
    human, metric = judgments(np.random.default_rng(1), 0.8)
    (notice,) = unjudged(human, "human", {"m": metric, "flat": np.ones(len(human))})
    gone = np.isnan(human)
    kept, dropped, apart = notice.values["means"]["m"]
    assert list(notice.values["means"]) == ["m"]
    assert (notice.values["kept"], notice.values["dropped"]) == ((~gone).sum(), gone.sum())
    assert (kept, dropped) == pytest.approx((metric[~gone].mean(), metric[gone].mean()))
    assert apart == pytest.approx((dropped - kept) / metric.std())
    assert not unjudged(human, "human", {"noise": np.random.default_rng(2).normal(size=len(human))})
    assert not unjudged(metric, "human", {"m": metric})


def test_meta_finds_raters_and_missing_judgments_and_keeps_their_figures() -> None:
    human, systems, raters = rated(np.random.default_rng(3), seen=2, segments=20)
    rng = np.random.default_rng(4)
    table: dict[str, Any] = {
        "chrf": human + rng.normal(size=len(human)),
        "human": np.where(human < -0.8, np.nan, human),
    }
    table |= {"system": systems, "annotator": raters, "segment": [f"{r} {i}" for i, r in enumerate(raters)]}
    result = bsx.meta(table, columns=["chrf"], nan="omit", resamples=50)
    assert isinstance(result, MetaResult)
    assert [notice.name for notice in result.warnings] == ["unjudged"]  # z-scores no more, with so many missing
    table |= {"human": human}
    result = bsx.meta(table, columns=["chrf"], resamples=50)
    assert [notice.name for notice in result.warnings] == ["raters-apart"]
    assert MetaResult.from_dict(json.loads(json.dumps(result.to_dict()))).warnings == result.warnings
    assert "6 raters" in result.to_text()
