"""Which layer agrees best with people: against NumPy, SciPy and a literal loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bsx.analysis.stats.correlation import bootstrap_correlations, pearson
from bsx.analysis.stats.layers import Statistic, layer_agreement
from bsx.analysis.stats.resample import all_counts
from bsx.analysis.stats.rowwise import ROWS, weighted_pearson
from bsx.analysis.stats.systems.grouped import grouped
from bsx.analysis.stats.systems.hybrid import hybrid_correlation_limit
from bsx.errors import InputError


def toy(n: int = 120) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    human = rng.normal(size=n)
    noise = np.array([2.0, 0.6, 1.2])[:, None]
    scores = (human + noise * rng.normal(size=(3, n))).astype(np.float32)
    return {"precision": scores, "recall": scores * 2 + 1, "f1": scores, "human": human}


def test_the_best_layer_and_its_interval() -> None:
    data = toy()
    groups = np.repeat(["a", "b"], 60)
    result = layer_agreement(**data, groups=groups.tolist(), resamples=500)
    expected = [
        np.mean([np.corrcoef(data["f1"][k, groups == g], data["human"][groups == g])[0, 1] for g in ("a", "b")])
        for k in range(3)
    ]
    assert [own.f1 for own in result.layers] == pytest.approx(expected, abs=1e-6)
    assert all(own.precision == pytest.approx(own.recall, abs=1e-6) for own in result.layers)  # r ignores scale
    assert result.best_layer == 1
    assert result.runner_up == 2
    assert result.win_share > 0.95
    assert all(own.f1_low < own.f1 < own.f1_high for own in result.layers)
    again = layer_agreement(**data, groups=groups.tolist(), resamples=500)
    assert again.layers == result.layers


def test_what_idf_adds_is_measured_where_neither_layer_was_chosen() -> None:
    data, groups, n = toy(), ["a"] * 120, 120
    same = layer_agreement(**data, groups=groups, idf=data["f1"], resamples=60)
    assert same.gain is not None
    assert (same.gain.estimate, *same.gain.ci) == (0, 0, 0)
    assert [own.idf for own in same.layers] == [own.f1 for own in same.layers]
    sharper = (data["human"] + 0.3 * np.random.default_rng(4).normal(size=(3, n))).astype(np.float32)
    result = layer_agreement(**data, groups=groups, idf=sharper, resamples=60)
    gains = []
    for drawn in all_counts(60, n, np.random.default_rng([1, 0])):
        out, reached = drawn == 0, []
        for scores in (data["f1"].astype(float), sharper.astype(float)):
            best = int(weighted_pearson(scores, data["human"], drawn[None])[0].argmax())
            reached.append(np.corrcoef(scores[best, out], data["human"][out])[0, 1])
        gains.append(reached[1] - reached[0])
    assert result.gain is not None
    assert result.gain.estimate == pytest.approx(np.mean(gains), abs=1e-9)
    assert 0 < result.gain.ci[0] < result.gain.estimate < result.gain.ci[1]
    assert result.chosen == layer_agreement(**data, groups=groups, resamples=60).chosen


def equal_layers(
    rng: np.random.Generator, segments: int = 60, each: int = 5
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Twelve layers of r .5 with human scores, on segments whose rows are alike: scores, human scores, segments."""
    of = np.repeat(np.arange(segments), each)

    def noise(k: int) -> np.ndarray:
        return (rng.normal(size=(k, segments))[:, of] + rng.normal(size=(k, len(of)))) / np.sqrt(2)

    quality = noise(1)
    return quality + noise(12), (quality + noise(1))[0], [f"s{i}" for i in of]


def test_the_figure_of_the_choice_is_not_the_winners() -> None:
    own, chosen, held = [], [], 0
    for run in range(20):
        f1, human, segments = equal_layers(np.random.default_rng([1, run]))
        given = {"human": human.tolist(), "groups": ["a"] * len(human), "resamples": 60, "clusters": segments}
        result = layer_agreement(f1, f1, f1, **given)
        assert result.chosen.n == 60
        own.append(result.layers[result.best_layer].f1)
        chosen.append(result.chosen.estimate)
        held += result.chosen.ci[0] <= 0.5 <= result.chosen.ci[1]
    assert np.mean(own) > 0.55
    assert abs(np.mean(chosen) - 0.5) < 0.03
    assert held >= 17


def test_no_layer_agrees_best_whose_choice_is_not_shown_to_agree_at_all() -> None:
    f1, human, segments = equal_layers(np.random.default_rng(7), 40, 2)
    f1 = f1.astype(np.float32)
    result = layer_agreement(f1, f1, f1, human.tolist(), ["all"] * 80, resamples=50, clusters=segments)
    sure = replace(result, win_share=1.0)
    none = replace(sure, chosen=replace(result.chosen, ci=(-0.1, 0.9)))
    said = [one.to_text().splitlines()[0] for one in (sure, none)]
    assert ["agrees best" in line for line in said] == [True, False]
    assert "No layer is shown to agree" in said[1]


@pytest.mark.parametrize("statistic", ["pearson", "kendall"])
def test_the_figure_of_the_choice_equals_a_literal_loop(statistic: Statistic) -> None:
    rng = np.random.default_rng(7)
    f1, human, segments = equal_layers(rng, 8, 3)
    f1 = f1.astype(np.float32)
    groups = ["a"] * 12 + ["b"] * 12
    how: dict[str, Any] = {"resamples": 30, "seed": 3, "clusters": segments, "unit": "documents"}
    result = layer_agreement(f1, f1, f1, human.tolist(), groups, statistic=statistic, **how)
    values = []
    drawn = [np.random.default_rng([3, g]).integers(4, size=(30, 4)) for g in range(2)]
    for b in range(30):
        rows = [np.concatenate([12 * g + 3 * k + np.arange(3) for k in drawn[g][b]]) for g in range(2)]
        inside = np.mean([ROWS[statistic](f1[:, i].astype(float), human[i]) for i in rows], axis=0)
        out = [np.setdiff1d(12 * g + np.arange(12), rows[g]) for g in range(2)]
        if all(len(i) for i in out):
            k = int(np.argmax(inside))
            values.append(np.mean([ROWS[statistic](f1[k, i].astype(float), human[i]) for i in out]))
    assert result.unit == "documents"
    assert result.chosen.estimate == pytest.approx(np.mean(values), abs=1e-9)
    best = result.layers[result.best_layer]
    moved = result.chosen.estimate - best.f1
    ends = (max(-1.0, best.f1_low + min(moved, 0)), best.f1_high + max(moved, 0))
    assert result.chosen.ci == pytest.approx(ends, abs=1e-9)


def test_a_single_layer_is_not_chosen_and_a_single_document_has_no_interval() -> None:
    data = {name: values[..., :60] for name, values in toy().items()}
    one = {name: values[:1] if values.ndim == 2 else values for name, values in data.items()}
    result = layer_agreement(**one, groups=["a"] * 60, resamples=50)
    assert result.chosen.estimate == pytest.approx(result.layers[0].f1)
    whole = layer_agreement(**data, groups=["a"] * 60, clusters=["d"] * 60, resamples=50)
    assert np.isnan([whole.chosen.estimate, *whole.chosen.ci, whole.layers[0].f1_low]).all()
    assert len(whole.notes) == 1


def test_unusable_judgments_are_named() -> None:
    data = toy(10)
    with pytest.raises(InputError, match="numbers must match"):
        layer_agreement(**data, groups=["a"] * 9)
    with pytest.raises(InputError, match="group 'b': needs at least 3"):
        layer_agreement(**data, groups=["a"] * 8 + ["b"] * 2)
    with pytest.raises(InputError, match="finite"):
        layer_agreement(**{**data, "human": np.full(10, np.nan)}, groups=["a"] * 10)
    for still in (np.ones((3, 10)), 1 - np.float32(2**-24) * np.arange(10)[None] % 2 * np.ones((3, 1))):
        with pytest.raises(InputError, match=r"same score.*layer 0 in 'a' \(f1\), layer 1 in 'a'"):
            layer_agreement(**{**data, "f1": still}, groups=["a"] * 10)


@pytest.mark.parametrize(("still", "more"), [(5, ""), (6, " and 1 more")])
def test_a_note_names_five_layers(still: int, more: str) -> None:
    data = toy()
    scores = np.vstack([np.ones((still, 120), dtype=np.float32), data["f1"]])
    given = {**dict.fromkeys(("precision", "recall", "f1"), scores), "human": data["human"]}
    (note,) = layer_agreement(**given, groups=["a"] * 120, resamples=20).notes
    assert note.endswith(f"layer 4 in 'a' (precision, recall, f1){more}")


@pytest.mark.parametrize("statistic", ["pearson", "kendall"])
@pytest.mark.parametrize("units", [0, 1, 3])
def test_a_figure_that_does_not_vary_costs_its_layer_only(statistic: Statistic, units: int) -> None:
    data, groups = toy(), ["a"] * 60 + ["b"] * 60
    whole = layer_agreement(**data, groups=groups, statistic=statistic, resamples=50)
    assert not whole.notes
    # The same on paper, and units in the last place of fp32 apart on some processors.
    same = (1 - np.random.default_rng(1).integers(0, units + 1, 60) * 2.0**-24).astype(np.float32)
    for figure, place in (("recall", 1), ("f1", 2)):
        changed = data[figure].copy()
        changed[0, :60] = same
        given = {**data, figure: changed}
        got = layer_agreement(**given, groups=groups, statistic=statistic, resamples=50)
        assert got.groups["b"] == whole.groups["b"]
        assert got.groups["a"][1:] == whole.groups["a"][1:]
        assert np.isnan(got.groups["a"][0]) == (place == 2)
        means = [[own.precision, own.recall, own.f1] for own in got.layers]
        assert np.argwhere(np.isnan(means)).tolist() == [[0, place]]
        assert (got.best_layer, got.runner_up) == (1, 2)
        assert [bool(np.isnan(own.f1_low)) for own in got.layers] == [place == 2, False, False]
        assert got.win_share > 0.9
        assert len(got.notes) == 1
        assert f"layer 0 in 'a' ({figure})" in got.notes[0]


def test_rounding_of_single_precision_is_no_variation_for_any_correlation() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    noise = rng.integers(-1, 2, 40) * 2.0**-23
    for level in (1.0, 0.5, 40.0):
        x = (level * (1 + noise)).astype(np.float32).astype(np.float64)
        assert np.ptp(x) > 0
        for name in ("pearson", "spearman", "kendall", "kendall_c"):
            both = np.stack([x, x + 1e-4 * level * y])
            values = ROWS[name](both, y)
            assert np.isnan(values[0]), name
            assert values[1] > 0.9, name
            assert np.isnan(ROWS[name](y, x)), name
            drawn = bootstrap_correlations(both, y, name, resamples=20, seed=1)
            assert np.isnan(drawn[:, 0]).all(), name
            assert (drawn[:, 1] > 0.8).all(), name
        with pytest.raises(InputError, match="rounding error"):
            pearson(x, y)
        grid, people = np.stack([x, y]), np.stack([y, y])
        found = grouped(grid, people, by="sys", statistic="pearson", resamples=20)
        assert (found.groups, found.estimate) == (1, pytest.approx(1.0))
        with pytest.raises(InputError, match="no pearson is defined"):
            grouped(np.stack([x, x]), people, by="sys", statistic="pearson", resamples=20)
        with pytest.raises(InputError, match="same scores"):
            hybrid_correlation_limit(np.stack([x, x[::-1]]), np.stack([y, y[::-1]]))


def test_few_zeros_in_a_resample_are_no_variation() -> None:
    # One item drawn over and over: the mean of squares less the square of the mean is rounding at most.
    x, y = np.array([[0.0, 3.0, 7.1, 2.2]]), np.array([1.0, 0.0, 5.3, 4.0])
    counts = np.eye(4) * 4
    assert np.isnan(weighted_pearson(x, y, counts)).all()
