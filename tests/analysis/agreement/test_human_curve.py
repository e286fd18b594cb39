"""How often people agree with a difference that large: a world whose curve is known, and hand-made pairs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from bsx.analysis import human_curve, pairwise_accuracy
from bsx.analysis.agreement.human_curve import _pairs
from bsx.analysis.stats.preference import clustered_share, dyadic_share, wilson_interval
from bsx.errors import InputError
from bsx.jobs.scoring.human_curves import JudgedScores, JudgedSystems, shared_segments, system_pairs


def test_pairs_of_systems_by_hand() -> None:
    curve = human_curve([1, 2, 3, 4, 4], [1, 2, 4, 3, 3], level="systems", bins=1)
    assert (curve.pairs, curve.metric_ties, curve.human_ties) == (9, 1, 0)
    assert curve.steps[0].share == pytest.approx(7 / 9)  # 3 beside either 4 is wrong
    assert (curve.steps[0].low, curve.steps[0].high) == (1, 3)
    assert curve.at(-2) == curve.steps[0]
    assert curve.at(0) is None
    assert curve.at(3.5) is None


def test_only_pairs_within_a_set_count() -> None:
    curve = human_curve([1, 2, 5, 3], [1, 2, 1, 2], within=["a", "a", "b", "b"], bins=1)
    assert curve.pairs == 2
    assert curve.steps[0].share == 0.5


def test_known_curve_of_segments() -> None:
    """People's scores are the metric's plus noise: they agree with a difference d with probability Φ(d / sd √2)."""
    draw = np.random.default_rng(7)
    systems, texts = 6, 400
    metric = draw.normal(size=(systems, texts))
    human = metric + draw.normal(size=metric.shape)
    of = np.tile(np.arange(texts), systems).tolist()
    curve = human_curve(metric.ravel(), human.ravel(), of=of, within=of)
    assert len(curve.steps) == 10
    inside = 0
    one, two = np.triu_indices(systems, 1)
    differences = np.abs(metric[one] - metric[two])
    for step in curve.steps:
        truth = norm.cdf(differences[(differences >= step.low) & (differences <= step.high)] / np.sqrt(2)).mean()
        assert step.share == pytest.approx(truth, abs=0.05)
        inside += step.ci[0] <= truth <= step.ci[1]
    assert inside >= 8
    assert curve.steps[0].share < 0.6 < 0.9 < curve.steps[-1].share


def test_many_pairs_are_drawn_with_a_seed() -> None:
    draw = np.random.default_rng(1)
    metric = draw.normal(size=900)
    human = metric + draw.normal(size=900)
    one, two = (human_curve(metric, human) for _ in range(2))
    assert one == two
    assert 150_000 < one.pairs < 200_001
    truth = norm.cdf(one.steps[4].low / np.sqrt(2)), norm.cdf(one.steps[4].high / np.sqrt(2))
    assert truth[0] - 0.03 < one.steps[4].share < truth[1] + 0.03


def test_intervals_of_pairs_that_share_a_system_are_wider() -> None:
    draw = np.random.default_rng(3)
    sides = np.stack(np.triu_indices(20, 1), axis=1)
    right = (draw.normal(size=20)[sides] @ [1, -1] + 0.8) > 0
    low, high = dyadic_share(right, sides, 0.95)
    naive = wilson_interval(int(right.sum()), len(right))
    assert high - low > 1.3 * (naive[1] - naive[0])


def test_dyadic_interval_covers() -> None:
    """25 systems, 150 worlds, four steps each: coverage within what 150 dependent draws of .95 allow."""
    draw = np.random.default_rng(0)
    hits = total = 0
    for _ in range(150):
        metric = draw.normal(size=25)
        human = metric + draw.normal(0, 0.7, 25)
        differences = np.abs(metric[:, None] - metric)[np.triu_indices(25, 1)]
        for step in human_curve(metric, human, level="systems", bins=4).steps:
            some = differences[(differences >= step.low) & (differences <= step.high)]
            hits += step.ci[0] <= norm.cdf(some / (0.7 * np.sqrt(2))).mean() <= step.ci[1]
            total += 1
    assert 0.90 < hits / total < 0.99


def test_one_cluster_a_row_is_the_plain_interval() -> None:
    right = np.array([True] * 30 + [False] * 10)
    assert clustered_share(right, np.arange(40), 0.95) == pytest.approx(wilson_interval(30, 40), abs=0.01)


def test_systems_are_compared_on_the_segments_that_both_have() -> None:
    """Two halves of the segments, of which one is hard: systems of other halves are not compared, and A+B is both."""
    draw = np.random.default_rng(2)
    rows: list[tuple[str, str, float, float]] = []
    for name, first, last, good in (("A", 0, 60, 0.0), ("B", 0, 60, 0.5), ("C", 40, 100, 1.0), ("D", 60, 120, 2.0)):
        for k in range(first, last):
            hard = 5.0 * (k >= 50)
            rows.append((name, str(k), good - hard + draw.normal() / 9, good - hard + draw.normal() / 9))
    rows += [("A+B", str(k), -20.0, -20.0) for k in range(200, 240)]
    names, segments, metric, human = map(list, zip(*rows, strict=True))
    judged = JudgedSystems(["x"] * len(rows), None, None, np.array(human), ["xx-en"] * len(rows), names, segments)
    own, theirs, sides, apart = system_pairs(judged, JudgedScores(np.array(metric)), range(len(rows)))
    order = list(dict.fromkeys(name for name in names if "+" not in name))
    pairs = {(order[a], order[b]): (d, h) for (a, b), d, h in zip(sides.tolist(), own, theirs, strict=True)}
    assert apart == 4  # C and A or B share 20 segments, D and A or B none
    assert list(pairs) == [("A", "B"), ("C", "D")]
    assert pairs["A", "B"] == pytest.approx((-0.5 * 60 / 100, -0.5 * 60 / 100), abs=0.05)  # 40 segments are the same
    assert pairs["C", "D"] == pytest.approx((-1, -1), abs=0.1)
    assert shared_segments(judged) == (2, 100)


def test_nothing_to_compare_is_said() -> None:
    with pytest.raises(InputError, match="no pair of segments"):
        human_curve([1, 1, 1], [1, 2, 3])
    with pytest.raises(InputError, match="2 labels for 3 items"):
        human_curve([1, 2, 3], [1, 2, 3], within=["a", "b"])


def test_all_steps_together_are_the_pairwise_accuracy_on_wmt20(shared: Path) -> None:
    """Kocmi et al. 2021's accuracy of systems, computed by other code on the published scores of chrF and TER."""
    with (shared / "data/wmt/wmt20-cs-en.scores.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    systems = sorted({row["system"] for row in rows})
    for metric in ("chrF", "TER"):
        means = [
            [np.mean([float(row[name]) for row in rows if row["system"] == system]) for system in systems]
            for name in (metric, "human_z")
        ]
        curve = human_curve(*means, level="systems", fewest=5)
        right = sum(step.n * step.share for step in curve.steps)
        assert right / curve.pairs == pytest.approx(pairwise_accuracy(*means).estimate)
        assert curve.pairs == len(systems) * (len(systems) - 1) / 2


def test_pairs_are_all_those_within_a_set_or_a_sample_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = np.array([2, 0, 2, 1, 0, 2])
    every = {(i, j) for i in range(6) for j in range(i + 1, 6) if sets[i] == sets[j]}
    found = {(min(pair), max(pair)) for pair in zip(*(side.tolist() for side in _pairs(sets, 1)), strict=True)}
    assert found == every == {(1, 4), (0, 2), (0, 5), (2, 5)}
    monkeypatch.setattr("bsx.analysis.agreement.human_curve._MOST", 3)
    sampled = [(min(pair), max(pair)) for pair in zip(*(side.tolist() for side in _pairs(sets, 1)), strict=True)]
    assert 0 < len(sampled) == len(set(sampled)) <= 3
    assert set(sampled) <= every
