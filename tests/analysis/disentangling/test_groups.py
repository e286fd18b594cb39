"""Within and between groups, random effects and random intercepts, against closed forms and planted truths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

pytest.importorskip("statsmodels")
from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.disentangling.variants import pooled_mean
from bsx.data.columns import standardise
from bsx.errors import InputError
from bsx.support.checks import Array

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


def r2_rest(y: Array, x: Array) -> float:
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(rest @ rest)


def test_simpsons_paradox_is_warned_of_and_equal_slopes_are_not() -> None:
    result = disentangle(grouped(0.0, 2.0), ["m"], FACTORS, group="lp")
    assert result["m"].coef["lex"] > 0.4
    within, between = result.variant("within-groups")["m"], result.variant("between-groups")["m"]
    assert abs(within.coef["lex"]) < 0.1
    assert between.coef["lex"] > 0.8
    moved = next(w.values["differences"] for w in result.warnings if w.name == "simpson")
    moved = next(one for one in moved if one["factor"] == "lex")
    assert moved["pooled"] > 0.4 > moved["within"]
    assert result.to_text().startswith("Careful, Simpson's paradox: over all rows m rises with lex (")
    assert "within one lp lex adds nothing significant (" in result.to_text()
    assert result.pooled[0].p > 0.05  # groups standardised by themselves look alike
    assert within.details["groups"]["intercepts"] < 1e-10
    assert "simpson" not in {w.name for w in disentangle(grouped(1.0, 2.0), ["m"], FACTORS, group="lp").warnings}


def test_within_and_chow_are_the_regressions_with_dummies() -> None:
    table = grouped(0.4, 1.0)
    result = disentangle(table, ["m"], FACTORS, group="lp", se="classic")
    z = {name: (table[name] - table[name].mean()) / table[name].std() for name in ("m", *FACTORS)}
    dummies = (np.array(table["lp"])[:, None] == np.unique(table["lp"])).astype(float)
    x, y = np.column_stack([z[name] for name in FACTORS]), z["m"]
    fit = result.variant("within-groups")["m"]
    expected = np.linalg.lstsq(np.column_stack([x, dummies]), y, rcond=None)[0]
    assert list(fit.coef.values()) == pytest.approx(expected[:2])
    products = np.concatenate([x * dummies[:, [g]] for g in range(8)], axis=1)
    models = {
        "slopes": (np.column_stack([x, dummies]), np.column_stack([products, dummies])),
        "intercepts": (np.column_stack([x, np.ones(480)]), np.column_stack([x, dummies])),
        "slopes and intercepts": (np.column_stack([x, np.ones(480)]), np.column_stack([products, dummies])),
    }
    for name, (small, large) in models.items():
        df1, df2 = large.shape[1] - small.shape[1], 480 - large.shape[1]
        f = (r2_rest(y, small) - r2_rest(y, large)) / df1 / (r2_rest(y, large) / df2)
        assert fit.details["groups"][name] == pytest.approx(stats.f.sf(f, df1, df2), rel=1e-6)


def test_random_effects_by_their_definition() -> None:
    result = disentangle(grouped(0.4, 1.0), ["m"], FACTORS, group="lp")
    effects = np.array([part["m"].coef["lex"] for part in result.groups.values()])
    variances = np.array([part["m"].se["lex"] for part in result.groups.values()]) ** 2

    def q(tau2: float) -> float:
        weight = 1 / (variances + tau2)
        return float(weight @ (effects - weight @ effects / weight.sum()) ** 2)

    tau2 = optimize.brentq(lambda t: q(t) - 7, 0, 1) if q(0) > 7 else 0.0
    weight = 1 / (variances + tau2)
    fit = result.variant("random-effects")["m"]
    assert fit.details["tau2"]["lex"] == pytest.approx(tau2, abs=1e-5)
    assert fit.coef["lex"] == pytest.approx(weight @ effects / weight.sum(), abs=1e-5)
    assert fit.se["lex"] == pytest.approx(np.sqrt(q(tau2) / 7 / weight.sum()), rel=1e-3)
    assert fit.details["q_p"]["lex"] == pytest.approx(stats.chi2.sf(q(0), 7), rel=1e-6)
    assert fit.details["i2"]["lex"] == pytest.approx(max(0, 1 - 7 / q(0)), abs=1e-9)
    low, high = (fit.details[end]["lex"] for end in ("predict_low", "predict_high"))
    assert low < fit.ci["lex"][0] < fit.ci["lex"][1] < high


def test_crossed_random_intercepts_are_the_balanced_analysis_of_variance() -> None:
    rng = np.random.default_rng(2)
    segments, systems = 24, 6
    segment, system = np.repeat(np.arange(segments), systems), np.tile(np.arange(systems), segments)
    lex = rng.normal(size=(segments, systems))
    lex -= lex.mean(axis=1, keepdims=True)  # balanced and centred, so that variances have a closed form
    lex -= lex.mean(axis=0)
    noise = rng.normal(size=(segments, systems))
    metric = 0.5 * lex + rng.normal(size=(segments, 1)) + 0.8 * rng.normal(size=(1, systems)) + noise
    table: dict[str, Any] = {"m": metric.ravel(), "lex": lex.ravel()}
    table |= {"segment": [f"s{i}" for i in segment], "system": [f"y{i}" for i in system]}
    result = disentangle(table, ["m"], ["lex"], random=["segment", "system"])
    fit = result.variant("random-intercepts")["m"]
    y, x = ((v - v.mean()) / v.std() for v in (metric, lex))
    slope = float((x * y).sum() / (x * x).sum())
    rest = y - slope * x
    rest -= rest.mean()
    rows, columns = rest.mean(axis=1), rest.mean(axis=0)
    error = np.square(rest - rows[:, None] - columns).sum() / ((segments - 1) * (systems - 1) - 1)
    assert fit.coef["lex"] == pytest.approx(slope, abs=1e-6)
    assert fit.details["variance"]["rest"] == pytest.approx(error, rel=1e-5)
    assert fit.details["variance"]["segment"] == pytest.approx(rows.var(ddof=1) - error / systems, rel=1e-5)
    assert fit.details["variance"]["system"] == pytest.approx(columns.var(ddof=1) - error / segments, rel=1e-5)
    assert fit.details["df"]["lex"] == pytest.approx((segments - 1) * (systems - 1) - 1, rel=1e-3)
    with pytest.raises(InputError, match="144 levels in 144 rows; an intercept needs several rows a level"):
        disentangle({**table, "row": [str(i) for i in range(144)]}, ["m"], ["lex"], random=["row"])


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


def test_between_groups_is_weighted_least_squares_of_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(9)
    of = np.repeat(np.arange(9), [4, 6, 8, 12, 5, 20, 7, 9, 10])
    a, b = (rng.normal(size=9)[of] + rng.normal(size=len(of)) for _ in range(2))
    table = {"m": a - 0.5 * b + rng.normal(size=9)[of] + rng.normal(size=len(of)), "a": a, "b": b}
    result = disentangle({**table, "lp": [f"g{k}" for k in of]}, ["m"], ["a", "b"], group="lp")
    x, y = np.column_stack([standardise(n, table[n]) for n in "ab"]), standardise("m", table["m"])
    means = np.array([np.append(x[of == k].mean(axis=0), y[of == k].mean()) for k in range(9)])
    expected = sm.WLS(means[:, 2], sm.add_constant(means[:, :2]), weights=np.bincount(of)).fit()
    found = result.variant("between-groups")["m"]
    assert list(found.coef.values()) == pytest.approx(expected.params[1:])
    assert list(found.se.values()) == pytest.approx(expected.bse[1:])
    assert list(found.p.values()) == pytest.approx(expected.pvalues[1:])
