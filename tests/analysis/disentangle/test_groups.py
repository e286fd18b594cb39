"""Groups and random effects over them, against closed forms and planted truths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.variants import pooled_mean
from bsx.data.columns import standardise

FACTORS = ["syn", "lex"]


def grouped(slope: float, apart: float, groups: int = 8, each: int = 60) -> dict[str, Any]:
    """Groups whose means of LEX and of the metric go together; within a group LEX has the slope."""
    rng = np.random.default_rng(5)
    at = np.repeat(np.linspace(-1, 1, groups), each)
    n = groups * each
    lex = apart * at + rng.normal(size=n)
    syn = rng.normal(size=n)
    metric = slope * (lex - apart * at) + apart * at + 0.3 * syn + rng.normal(size=n)
    return {"m": metric, "syn": syn, "lex": lex, "lp": [f"g{round(9 * g):+d}" for g in at]}


def test_simpsons_paradox_is_warned_of_and_equal_slopes_are_not() -> None:
    result = disentangle(grouped(0.0, 2.0), ["m"], FACTORS, group="lp")
    assert result["m"].coef["lex"] > 0.4
    moved = next(w.values["differences"] for w in result.warnings if w.name == "simpson")
    moved = next(one for one in moved if one["factor"] == "lex")
    assert moved["pooled"] > 0.4 > 0.1 > abs(moved["within"])
    answer = result.to_text().splitlines()[0]
    assert answer.startswith("Careful: over all rows m rises with lex (")
    assert ", not significant; the difference comes from how levels of lp differ" in answer
    turned = disentangle(grouped(-0.5, 2.0), ["m"], FACTORS, group="lp").to_text()
    assert turned.startswith("Careful, Simpson's paradox: over all rows m rises with lex (")
    assert result.pooled[0].p > 0.05  # groups standardised by themselves look alike
    table = grouped(0.0, 2.0)
    table["weak"] = table["m"] + 2 * np.random.default_rng(6).normal(size=len(table["m"]))
    both = next(w for w in disentangle(table, ["weak", "m"], FACTORS, group="lp").warnings if w.name == "simpson")
    assert [one["metric"] for one in both.values["differences"]] == ["m", "weak"]  # the largest first
    assert "simpson" not in {w.name for w in disentangle(grouped(1.0, 2.0), ["m"], FACTORS, group="lp").warnings}


def test_the_answer_claims_no_more_of_pooling_than_is_significant() -> None:
    result = disentangle(grouped(0.0, 2.0), ["m"], FACTORS, group="lp")
    (fit,) = result.results
    unsure = replace(fit, significant=dict.fromkeys(fit.significant, False))
    answer = replace(result, results=(unsure,)).to_text().splitlines()[0]
    assert "rises" not in answer
    assert "Careful" not in answer  # neither over all rows nor within
    assert "coefficients within one lp differ" in result.to_text()
    rng = np.random.default_rng(1)
    table = {name: rng.normal(size=60) for name in ("m", "syn", "lex")}
    none = disentangle({**table, "lp": ["a", "b"] * 30}, ["m"], FACTORS, within=["lp"], alpha=1e-6)
    answer = none.to_text().splitlines()[0]
    assert "Within one lp, no coefficient is significant either" in answer
    assert "same coefficients are significant" not in answer


@pytest.mark.parametrize("effects", [[0.5, 0.1, 0.9, 0.4], [0.30, 0.31, 0.29, 0.33]])
def test_pooling_independent_groups_is_paule_and_mandels_of_statsmodels(effects: list[float]) -> None:
    from statsmodels.stats.meta_analysis import combine_effects

    variances = np.array([0.01, 0.04, 0.02, 0.015])
    found = pooled_mean(np.array(effects), np.diag(variances))
    expected = combine_effects(np.array(effects), variances, method_re="iterated", use_t=True)
    tau2 = max(float(expected.tau2), 0.0)
    # Both solve the same equation, statsmodels to about 1e-5.
    assert found.tau2 == pytest.approx(tau2, abs=1e-4)
    weights = 1 / (variances + found.tau2)
    mean = float(weights @ effects / weights.sum())
    squares = float(weights @ np.square(np.array(effects) - mean))
    assert found.mean == pytest.approx(mean)
    assert found.se == pytest.approx(np.sqrt(squares / 3 / weights.sum()))  # Hartung & Knapp
    plain = 1 / variances
    q = float(plain @ np.square(np.array(effects) - plain @ effects / plain.sum()))
    assert found.q_p == pytest.approx(float(stats.chi2.sf(q, 3)))
    assert found.i2 == pytest.approx(max(1 - 3 / q, 0))


def test_pooling_dependent_groups_makes_the_squares_what_they_are_expected_to_be() -> None:
    effects = np.array([0.5, 0.1, 0.9, 0.4])
    covariance = np.diag([0.01, 0.04, 0.02, 0.015]) + 0.008
    found = pooled_mean(effects, covariance)
    total = covariance + found.tau2 * np.eye(4)
    weights = 1 / np.diag(total)
    shares = weights / weights.sum()
    centre = np.eye(4) - np.outer(np.ones(4), shares)
    expected = sum(weights[k] * (centre[k] @ total @ centre[k]) for k in range(4))
    assert found.tau2 > 0
    assert float(weights @ np.square(effects - shares @ effects)) == pytest.approx(expected, rel=1e-8)
    assert found.se == pytest.approx(np.sqrt(shares @ total @ shares), rel=1e-6)
    # What the groups share does not make the variance smaller where the effects lie close together.
    close = pooled_mean(np.array([0.3, 0.3001, 0.3, 0.2999]), covariance)
    own = 1 / np.diag(covariance)
    own /= own.sum()
    assert (close.tau2, close.se) == (0, pytest.approx(np.sqrt(own @ covariance @ own)))


@pytest.mark.parametrize("intercept", [False, True])
def test_an_intercept_is_not_pooled_with_the_factors(intercept: bool) -> None:
    result = disentangle(grouped(0.4, 1.0), ["m"], FACTORS, group="lp", intercept=intercept, se="classic")
    pooled = result.variant("random-effects")["m"]
    for name in FACTORS:
        coefs, errors = (
            np.array([getattr(part["m"], what)[name] for part in result.groups.values()]) for what in ("coef", "se")
        )
        expected = pooled_mean(coefs, np.diag(errors**2))
        assert (pooled.coef[name], pooled.se[name]) == (pytest.approx(expected.mean), pytest.approx(expected.se))
        for what in ("tau2", "i2", "q_p"):
            assert pooled.details[what][name] == pytest.approx(getattr(expected, what), abs=1e-9)
        many = len(coefs)
        ends = expected.mean + np.array([-1, 1]) * stats.t.isf(0.025, many - 1) * expected.se
        assert pooled.ci[name] == pytest.approx(tuple(ends))
        reach = stats.t.isf(0.025, many - 2) * np.sqrt(expected.tau2 + expected.se**2)
        assert pooled.details["predict_low"][name] == pytest.approx(expected.mean - reach)
        assert pooled.details["predict_high"][name] == pytest.approx(expected.mean + reach)
    own = result["m"]
    assert (own.intercept is None, own.intercept_se is None) == (not intercept, not intercept)
    if intercept:  # of standardised columns it is 0, with the standard error of a mean
        x = np.column_stack([np.ones(result.n), *(standardise(n, grouped(0.4, 1.0)[n]) for n in FACTORS)])
        rest = (1 - own.r2) * result.n / (result.n - len(FACTORS) - 1)
        assert own.intercept == pytest.approx(0, abs=1e-12)
        assert own.intercept_se == pytest.approx(np.sqrt(rest * np.linalg.inv(x.T @ x)[0, 0]))
