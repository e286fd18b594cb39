"""Model selection against all subsets and against sampling; hybrid systems against their limit and WMT20's figures."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bsx.analysis.stats import selection
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.systems.hybrid import hybrid_correlation_limit, hybrid_systems
from bsx.errors import InputError
from tests.helpers import wmt20

NAN = float("nan")


def all_subsets(m: list[float], h: list[float], sample: int) -> list[float]:
    """Hits@1, MRR and difference, averaged over every subset and over the tied best of each."""
    results = []
    for subset in combinations(range(len(m)), sample):
        best = max(m[i] for i in subset)
        top = max(h[i] for i in subset)
        for chosen in (picks := [i for i in subset if m[i] == best]):
            higher = sum(h[i] > h[chosen] for i in subset)
            share = 1 / len(picks)
            results.append((share * (higher == 0), share / (1 + higher), share * (top - h[chosen]), share))
    total = np.sum(results, axis=0)
    return [float(value / total[3]) for value in total[:3]]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_closed_form_counts_all_subsets_ties_included(data: st.DataObject) -> None:
    grades = st.integers(0, data.draw(st.integers(0, 9)))
    pairs = data.draw(st.lists(st.tuples(grades, grades), min_size=1, max_size=9))
    m, h = ([float(v) for v in column] for column in zip(*pairs, strict=True))
    sample = data.draw(st.integers(1, len(m)))
    result = expected_model_selection(m, h, sample)
    assert [result.hits_at_1, result.mrr, result.difference] == pytest.approx(all_subsets(m, h, sample), abs=1e-10)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_the_closed_form_has_its_limits(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    h = rng.normal(size=n)
    sample = int(rng.integers(1, n + 1))
    perfect = expected_model_selection(np.exp(h), h, sample)
    assert [perfect.hits_at_1, perfect.mrr, perfect.difference] == pytest.approx([1, 1, 0], abs=1e-9)
    other = expected_model_selection(rng.normal(size=n), h, sample)
    assert 0 <= other.hits_at_1 <= other.mrr + 1e-12 <= 1 + 1e-12
    assert other.difference >= 0
    everything = expected_model_selection(-h, h, n)
    assert [everything.hits_at_1, everything.mrr] == pytest.approx([0, 1 / n])
    assert expected_model_selection(-h, h, 1).hits_at_1 == pytest.approx(1)


@pytest.mark.parametrize(("n", "sample", "levels"), [(300, 20, 0), (60, 45, 0), (200, 10, 8), (10_000, 100, 0)])
def test_sampling_agrees_with_the_closed_form(n: int, sample: int, levels: int) -> None:
    """Draw samples, as Zhang et al. 2020 did (section 4)."""
    rng = np.random.default_rng(1)
    h = rng.normal(size=n)
    m = h + rng.normal(size=n)
    if levels:
        m, h = np.floor(m * levels / 4), np.floor(h * 5)
    subsets = np.array([rng.choice(n, sample, replace=False) for _ in range(20_000)])
    human, best = h[subsets], m[subsets].argmax(axis=1)[:, None]  # samples are in random order, and so are equals
    chosen = np.take_along_axis(human, best, axis=1)
    higher = np.count_nonzero(human > chosen, axis=1)
    exact = expected_model_selection(m, h, sample)
    drawn = {"hits_at_1": higher == 0, "mrr": 1 / (1 + higher), "difference": human.max(axis=1) - chosen[:, 0]}
    for name, values in drawn.items():
        error = values.std(ddof=1) / np.sqrt(20_000)
        assert values.mean() == pytest.approx(getattr(exact, name), abs=4 * error), name
        assert 0 < error < 0.03


def test_missing_scores_and_too_many_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = expected_model_selection([1, 3, 2], [3, 2, 1], 2)
    assert expected_model_selection([1, NAN, 3, 2], [3, 9, 2, 1], 2, nan="omit") == whole
    monkeypatch.setattr(selection, "MAX_TIE_CELLS", 3)
    with pytest.raises(InputError, match="up to 4 systems have the same metric score: too many ties"):
        expected_model_selection([1, 1, 1, 1], [1, 2, 3, 4], 2)


def test_the_published_toy(shared: Path) -> None:
    expected = wmt20.reference(shared)["hits_exact"]
    i = np.arange(1, expected["N"] + 1)
    h = np.sin(0.37 * i**1.1) + 0.1 * np.cos(i)
    m = h + expected["w"] * np.sin(1.7 * i + 0.5)
    result = expected_model_selection(m, h, expected["sample"])
    assert [result.hits_at_1, result.mrr, result.difference] == pytest.approx(
        [expected["hits1"], expected["mrr"], expected["diff"]], abs=1e-5
    )


# Hybrids


def test_hybrids_are_means_over_drawn_segments() -> None:
    """Scores that spell out where they come from: the mean tells which systems were drawn."""
    systems, segments = 3, 5
    powers = 10.0 ** np.arange(segments)
    metric = np.arange(systems)[:, None] * powers * segments
    metric[0, 0] = metric[1, 2] = metric[:, 4] = NAN
    hybrids, human = hybrid_systems(np.stack([metric, -metric]), metric, 3000, nan="omit")
    assert np.array_equal(hybrids[0], human)
    assert np.array_equal(hybrids[1], -human)
    digits = np.array([[int(d) for d in f"{round(v * 4 / 5):04d}"[::-1]] for v in human])
    for k, allowed in enumerate([(1, 2), (0, 1, 2), (0, 2), (0, 1, 2)]):
        drawn, counts = np.unique(digits[:, k], return_counts=True)
        assert tuple(drawn) == allowed
        assert stats.chisquare(counts).pvalue > 1e-3
    assert abs(np.corrcoef(digits.T) - np.eye(4)).max() < 0.08  # segment after segment independently
    again, other = (hybrid_systems(metric[None], metric, 3000, seed=seed, nan="omit")[1] for seed in (1, 2))
    assert (np.array_equal(human, again), np.array_equal(human, other)) == (True, False)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_limit_is_the_correlation_centred_within_segments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 5, 8))
    centred = [(z - z.mean(axis=0)).ravel() for z in (x, y)]
    result = hybrid_correlation_limit(x, y, resamples=50)
    assert result.estimate == pytest.approx(stats.pearsonr(*centred).statistic)
    # With one system the less on a segment, its variances are those of the systems left.
    x[0, 0] = NAN
    parts = np.zeros(3)
    for k in range(8):
        a, b = (z[~np.isnan(x[:, k]), k] for z in (x, y))
        parts += np.cov(a, b, ddof=0)[[0, 0, 1], [1, 0, 1]]
    holed = hybrid_correlation_limit(x, y, nan="omit", resamples=50)
    assert holed.estimate == pytest.approx(parts[0] / np.sqrt(parts[1] * parts[2]))


def test_false_alarms_of_the_limit_are_rare() -> None:
    rng = np.random.default_rng(6)
    alarms = sum(
        hybrid_correlation_limit(*rng.normal(size=(2, 5, 40)), resamples=199, seed=rng).p < 0.05 for _ in range(400)
    )
    assert 0.02 <= alarms / 400 <= 0.1


def test_wmt20_hybrids(shared: Path) -> None:
    values = wmt20.reference(shared)
    for name, expected in values["hybrid_correlation_limit"].items():
        _, pair, metric = name.split("_")
        scores = wmt20.complete(shared, pair)
        limit = hybrid_correlation_limit(scores[metric], scores["human_z"], resamples=100)
        assert limit.estimate == pytest.approx(expected["limit"], abs=1e-5)
        assert limit.ci[0] < limit.estimate < limit.ci[1]
        (drawn,), human = hybrid_systems(scores[metric][None], scores["human_z"])
        assert stats.pearsonr(drawn, human).statistic == pytest.approx(expected["limit"], abs=0.04)
