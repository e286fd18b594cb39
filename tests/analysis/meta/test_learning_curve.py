"""Learning curves: which instances and judgments are drawn, and the agreement with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import TablePart
from bsx.analysis.train.curve import Sample, learning_curve
from bsx.errors import InputError

RNG = np.random.default_rng(1)
JUDGED = RNG.normal(size=(50, 3))
HUMAN = RNG.normal(size=40)
GROUPS = ["cs-en"] * 15 + ["de-en"] * 25


def curve(seen: list[Sample] | None = None, judgments: Any = JUDGED, **settings: Any) -> Any:
    """A metric that is the worse, the fewer instances it has seen."""

    def train(sample: Sample) -> Any:
        if seen is not None:
            seen.append(sample)
        noise = np.random.default_rng([sample.seed, len(sample.rows)]).normal(size=len(HUMAN))
        return HUMAN + 20 / len(sample.rows) * noise

    return learning_curve(train, judgments, HUMAN, GROUPS, **{"sizes": (10, 40), **settings})


def test_agreement_and_interval_are_scipys() -> None:
    found = curve(sizes=(10, 40), seeds=(1, 2, 3, 4))
    assert [(point.instances, point.judgments) for point in found.points] == [(10, 0), (40, 0)]
    for point in found.points:
        expected = []
        for seed in (1, 2, 3, 4):
            noise = np.random.default_rng([seed, point.instances]).normal(size=len(HUMAN))
            scores = HUMAN + 20 / point.instances * noise
            by_pair = [stats.pearsonr(scores[at], HUMAN[at])[0] for at in (slice(0, 15), slice(15, 40))]
            expected.append(np.mean(by_pair))
        np.testing.assert_allclose(point.values, expected, atol=1e-12)
        assert point.estimate == pytest.approx(np.mean(expected))
        interval = stats.t.interval(0.95, 3, np.mean(expected), stats.sem(expected))
        assert (point.low, point.high) == pytest.approx(interval)
    assert found.points[0].estimate < found.points[1].estimate
    wide = curve(seeds=(2, 3)).points[0]
    assert (wide.low, wide.high) == (-1, 1)  # r goes no further
    assert (found.n, found.groups, found.seeds) == (40, ("cs-en", "de-en"), (1, 2, 3, 4))


def test_larger_parts_hold_the_smaller_ones() -> None:
    seen: list[Sample] = []
    curve(seen, sizes=(40, 10), seeds=(1, 2))
    parts = {(sample.seed, len(sample.rows)): set(sample.rows.tolist()) for sample in seen}
    for seed in (1, 2):
        assert parts[seed, 10] < parts[seed, 40]
    assert parts[1, 10] != parts[2, 10]
    for sample in seen:  # all judgments there are
        np.testing.assert_allclose(sample.scores, JUDGED[sample.rows].mean(axis=1))
        assert (np.diff(sample.rows) > 0).all()


def test_judgments_are_drawn_from_those_there_are() -> None:
    judged = JUDGED.copy()
    judged[:20, 2] = np.nan  # twenty instances have two judgments only
    seen: list[Sample] = []
    curve(seen, judgments=judged, sizes=(30,), per_instance=(1, 3), seeds=(1, 2))
    assert {sample.judgments for sample in seen} == {1, 3}
    for sample in seen:
        assert sample.rows.min() >= 20  # all numbers of judgments are compared on the same instances
        rows = judged[sample.rows]
        if sample.judgments == 3:
            np.testing.assert_allclose(sample.scores, rows.mean(axis=1))
        else:
            assert (rows == sample.scores[:, None]).sum() == 30  # each is one of the three
    with pytest.raises(InputError, match="31 instances are wanted, 30 have 3 judgments"):
        curve(judgments=judged, sizes=(31,), per_instance=(1, 3))
    # A vector is one judgment of each.
    seen = []
    curve(seen, judgments=judged[:, 0], sizes=(50,))
    np.testing.assert_array_equal(seen[0].scores, judged[:, 0])


def test_forms_and_one_seed_without_an_interval() -> None:
    alone, found = curve(seeds=(1,)), curve(per_instance=(1, 2), seeds=(1, 2))
    assert alone.to_dict()["points"][0]["low"] is None
    assert "[" not in alone.to_text()
    (table,) = (part for part in parts_of(found) if isinstance(part, TablePart))
    cells = [(row[0].value, row[2].value) for row in table.rows]
    assert cells == [(point.instances, point.estimate) for point in found.points]
    rows = found.to_csv().splitlines()
    assert rows[0] == "instances,judgments,seed,r,mean,low,high"
    assert len(rows) == 9


def test_wrong_numbers_are_named() -> None:
    for settings, message in (
        ({"sizes": (51,)}, "51 instances are wanted, 50 are there"),
        ({"sizes": ()}, "sizes: 2 or more"),
        ({"sizes": (1,)}, "sizes: 2 or more"),
        ({"per_instance": (-1,)}, "judgments: 0 or more"),
        ({"seeds": ()}, "one seed"),
        ({"confidence": 1.0}, "confidence"),
    ):
        with pytest.raises(InputError, match=message):
            curve(**settings)
    with pytest.raises(InputError, match="groups: 1 for 40"):
        learning_curve(lambda sample: HUMAN, JUDGED, HUMAN, ["a"], sizes=(10,))
    with pytest.raises(InputError, match="scores: all 40 items have the value 1"):
        learning_curve(lambda sample: np.ones(40), JUDGED, HUMAN, GROUPS, sizes=(10,))
