"""Absorbed intercepts against columns of dummies."""

from __future__ import annotations

import numpy as np
import pytest

from bsx.analysis.stats import intercepts
from bsx.analysis.stats.intercepts import absorb, absorbed, level_codes, rows_within


def test_a_hundred_thousand_rows() -> None:
    rng = np.random.default_rng(1)
    segment, system = np.repeat(np.arange(10_000), 10), np.tile(np.arange(10), 10_000)
    x = rng.normal(size=100_000) + rng.normal(size=10_000)[segment]
    y = 0.5 * x + rng.normal(size=10_000)[segment] + 0.5 * rng.normal(size=10)[system] + rng.normal(size=100_000)
    left = absorb(np.column_stack([x, y]), [segment, system])
    assert float(left[:, 0] @ left[:, 1] / (left[:, 0] @ left[:, 0])) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("dense", [2000, 3])
def test_absorbing_is_regressing_on_dummies(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intercepts, "DENSE", dense)
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 40, 200), rng.integers(0, 12, 200)
    a[:30], b[:30] = a[:30] + 40, b[:30] % 4 + 12  # rows that nothing ties to the others
    codes = [np.unique(of, return_inverse=True)[1].astype(np.int64) for of in (a, b)]
    columns = rng.normal(size=(200, 3))
    for chosen in ([codes[0]], codes, codes[::-1]):
        dummies = np.concatenate([of[:, None] == np.arange(of.max() + 1) for of in chosen], axis=1).astype(float)
        expected = columns - dummies @ np.linalg.lstsq(dummies, columns, rcond=None)[0]
        assert np.abs(absorb(columns, chosen) - expected).max() < 1e-8
        assert absorbed(chosen) == np.linalg.matrix_rank(dummies)


def test_lonely_rows_are_left_out_until_none_is_left() -> None:
    segment = level_codes(["a", "a", "b", "b", "c", "d", "d"])
    system = level_codes(["x", "y", "x", "y", "x", "y", "z"])
    assert rows_within([segment]).tolist() == [0, 1, 2, 3, 5, 6]
    assert rows_within([segment, system]).tolist() == [0, 1, 2, 3]  # z is alone, and then d is
