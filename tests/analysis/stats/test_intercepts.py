"""Absorbed intercepts against columns of dummies; random ones against lme4 and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")
from bsx.analysis.stats import intercepts
from bsx.analysis.stats.intercepts import Codes, CrossedIntercepts, absorb, absorbed, level_codes, rows_within
from bsx.support.checks import Array


def formula() -> tuple[Array, Array, list[Codes]]:
    """The design and levels (segment, system, document) that R has below, without any draw."""
    i = np.arange(300)
    segment, system = i % 30, (i * 7) // 3 % 8
    document = segment // 3
    x, w = np.sin(1.3 * i) + 0.5 * np.cos(segment), np.cos(1.1 * i + system)
    y = 0.5 * x + np.sin(2.1 * segment) + 0.6 * np.cos(1.7 * system) + 0.7 * np.cos(2.9 * document)
    y = y + 0.8 * np.sin(3.7 * i + i**2 / 50)
    kept = i % 11 != 3
    return np.column_stack([np.ones(300), x, w])[kept], y[kept], [of[kept] for of in (segment, system, document)]


# R 4, lme4: i <- 0:299; segment <- i %% 30; system <- (i * 7) %/% 3 %% 8; document <- segment %/% 3
# x <- sin(1.3*i) + .5*cos(segment); w <- cos(1.1*i + system)
# y <- .5*x + sin(2.1*segment) + .6*cos(1.7*system) + .7*cos(2.9*document) + .8*sin(3.7*i + i^2/50)
# lmer(y ~ x + w + (1|segment) + (1|system) + (1|document), REML=TRUE, data=d[i %% 11 != 3,],
#      control=lmerControl(optimizer="bobyqa", optCtrl=list(rhoend=1e-10))), likewise with fewer columns
LME4 = {
    1: (
        [0.05136079822, 0.48039444165, 0.25677568728],
        [0.16116029794, 0.06435493459, 0.12382173542],
        [0.7165511859],
        0.5693148102,
        701.402105425,
    ),
    2: (
        [0.05201915159, 0.45585953535, 0.23651719602],
        [0.24792436037, 0.05032418438, 0.09871545410],
        [0.6768975397, 0.3015743933],
        0.3289713079,
        588.166956372,
    ),
    3: (
        [0.0520191516, 0.4558595356, 0.2365171966],
        [0.24792435520, 0.05032418431, 0.09871545433],
        [0.6768975688, 0.3015743650, 0.0],
        0.3289713072,
        588.166956372,
    ),
}


@pytest.mark.parametrize("columns", LME4)
@pytest.mark.parametrize("dense", [2000, 3])
def test_random_intercepts_are_those_of_lme4(columns: int, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intercepts, "DENSE", dense)  # 3: the equations of systems are factorised as a sparse matrix
    x, y, levels = formula()
    coef, se, variances, rest, deviance = LME4[columns]
    found = CrossedIntercepts(x, levels[:columns]).fit(y)
    assert found.coef.tolist() == pytest.approx(coef, rel=1e-6)
    assert found.se.tolist() == pytest.approx(se, rel=1e-6)
    assert found.variances.tolist() == pytest.approx(variances, rel=1e-6)
    assert (found.rest, found.deviance) == (pytest.approx(rest, rel=1e-6), pytest.approx(deviance, rel=1e-9))
    assert found.converged


def test_order_of_columns_does_not_matter() -> None:
    x, y, (segment, system, _) = formula()
    one, other = (CrossedIntercepts(x, levels).fit(y) for levels in ([segment, system], [system, segment]))
    assert one.variances.tolist() == pytest.approx(other.variances[::-1].tolist(), rel=1e-8)


def test_degrees_of_freedom_of_a_balanced_design_are_exact() -> None:
    rng = np.random.default_rng(3)
    system, inside = np.repeat(np.arange(9), 20), np.tile(rng.normal(size=20), 9)
    of_system = rng.normal(size=9)[system]
    y = 2 * rng.normal(size=9)[system] + rng.normal(size=180)
    x = np.column_stack([np.ones(180), of_system, inside - inside.mean()])
    found = CrossedIntercepts(x, [system]).fit(y)
    # Nine means on an intercept and a slope leave 7; within systems, 180 - 9 - 1.
    assert found.df.tolist() == pytest.approx([7, 7, 170], rel=0.01)


def test_a_hundred_thousand_rows() -> None:
    rng = np.random.default_rng(1)
    segment, system = np.repeat(np.arange(10_000), 10), np.tile(np.arange(10), 10_000)
    x = np.column_stack([np.ones(100_000), rng.normal(size=100_000) + rng.normal(size=10_000)[segment]])
    y = 0.5 * x[:, 1] + rng.normal(size=10_000)[segment] + 0.5 * rng.normal(size=10)[system] + rng.normal(size=100_000)
    found = CrossedIntercepts(x, [segment, system]).fit(y)
    left = absorb(np.column_stack([x[:, 1], y]), [segment, system])
    assert found.coef[1] == pytest.approx(0.5, abs=0.02)
    assert found.variances[0] == pytest.approx(1, abs=0.05)
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
