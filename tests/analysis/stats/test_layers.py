"""Which layer agrees best with people: against NumPy, SciPy and a literal loop."""

from __future__ import annotations

import numpy as np
import pytest

from bsx.analysis.stats.correlation import bootstrap_correlations
from bsx.analysis.stats.layers import layer_agreement
from bsx.analysis.stats.rowwise import kendall_rows, pearson_rows
from bsx.errors import InputError


def test_correlations_equal_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 40)), rng.integers(0, 6, 40).astype(float)
    for row, r, tau in zip(x, pearson_rows(x, y), kendall_rows(x, y), strict=True):
        assert r == pytest.approx(stats.pearsonr(row, y).statistic, abs=1e-12)
        assert tau == pytest.approx(stats.kendalltau(row, y).statistic, abs=1e-12)


def toy(n: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    human = rng.normal(size=n)
    noise = np.array([2.0, 0.6, 1.2])[:, None]
    scores = (human + noise * rng.normal(size=(3, n))).astype(np.float32)
    return {"precision": scores, "recall": scores * 2 + 1, "f1": scores, "human": human}


def test_the_best_layer_and_its_interval() -> None:
    data = toy()
    groups = np.repeat(["a", "b"], 60)
    result = layer_agreement(**data, groups=groups.tolist(), resamples=500)  # type: ignore[arg-type]
    expected = [
        np.mean([np.corrcoef(data["f1"][k, groups == g], data["human"][groups == g])[0, 1] for g in ("a", "b")])
        for k in range(3)
    ]
    np.testing.assert_allclose(result.mean[:, 2], expected, atol=1e-6)
    np.testing.assert_allclose(result.mean[:, 0], result.mean[:, 1], atol=1e-6)  # r ignores scale
    assert result.best_layer == 1
    assert result.runner_up == 2
    assert result.win_share > 0.95
    assert (result.low < result.mean[:, 2]).all()
    assert (result.mean[:, 2] < result.high).all()
    again = layer_agreement(**data, groups=groups.tolist(), resamples=500)  # type: ignore[arg-type]
    assert again.low.tolist() == result.low.tolist()


def test_the_bootstrap_equals_a_literal_loop() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 30)), rng.normal(size=30)
    got = bootstrap_correlations(x, y, "pearson", resamples=7, seed=5)
    for b, index in enumerate(np.random.default_rng(5).integers(30, size=(7, 30))):
        for k in range(2):
            assert got[b, k] == pytest.approx(np.corrcoef(x[k, index], y[index])[0, 1], abs=1e-10)


def test_unusable_judgments_are_named() -> None:
    data = toy(10)
    with pytest.raises(InputError, match="numbers must match"):
        layer_agreement(**data, groups=["a"] * 9)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="group 'b': needs at least 3"):
        layer_agreement(**data, groups=["a"] * 8 + ["b"] * 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="finite"):
        layer_agreement(**{**data, "human": np.full(10, np.nan)}, groups=["a"] * 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="same score"):
        layer_agreement(**{**data, "f1": np.ones((3, 10), np.float32)}, groups=["a"] * 10)  # type: ignore[arg-type]
