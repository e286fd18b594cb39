"""Coefficients within levels and groups, and in curves: against dummies, closed forms, patsy and planted truths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.curves import _changes, _may_change, _p_of_curve, knots_of, natural_basis
from bsx.analysis.disentangle.errors import Errors
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.sample import RegressionSample
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.variants import pooled_mean
from bsx.analysis.disentangle.within import _far, inside, simpson, within
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Chart
from bsx.data.columns import standardise
from bsx.errors import InputError, UnknownNameError
from tests.conftest import Cli
from tests.helpers.tables import write_columns


def crossed(apart: float = 1.5, slope: float = 0.2, segments: int = 60, systems: int = 5, seed: int = 1) -> Any:
    """Segments under systems; easy segments have high LEX and high scores where they are apart."""
    rng = np.random.default_rng(seed)
    segment, system = np.repeat(np.arange(segments), systems), np.tile(np.arange(systems), segments)
    easy, n = rng.normal(size=segments)[segment], segments * systems
    lex, syn = apart * easy + rng.normal(size=n), rng.normal(size=n)
    metric = slope * lex + apart * easy + 0.3 * rng.normal(size=systems)[system] + rng.normal(size=n)
    table = {"m": metric, "lex": lex, "syn": syn}
    return {**table, "segment": [f"s{i}" for i in segment], "system": [f"y{i}" for i in system]}


def test_within_is_the_regression_with_dummies() -> None:
    import statsmodels.api as models

    table = {name: column[:-2] for name, column in crossed().items()}
    n = len(table["m"])
    z = {name: (table[name] - table[name].mean()) / table[name].std() for name in ("m", "lex", "syn")}
    names = {name: np.array(table[name]) for name in ("segment", "system")}
    for columns in (["segment"], ["system"], ["segment", "system"]):
        dummies = np.concatenate(
            [names[c][:, None] == np.unique(names[c])[place > 0 :] for place, c in enumerate(columns)], 1
        )
        model = models.OLS(z["m"], np.column_stack([z["lex"], z["syn"], dummies.astype(float)]))
        result = disentangle(table, ["m"], ["lex", "syn"], within=columns, se="classic")
        variant = result.variant("within")
        expected = model.fit()
        assert list(variant["m"].coef.values()) == pytest.approx(expected.params[:2].tolist())
        assert list(variant["m"].se.values()) == pytest.approx(expected.bse[:2].tolist())
        assert list(variant["m"].p.values()) == pytest.approx(expected.pvalues[:2].tolist())
        figures = {"rows": n, "intercepts": dummies.shape[1], "df": expected.df_resid, "r2": expected.rsquared}
        assert variant["m"].details["within"] == pytest.approx(figures, abs=1e-9)
        assert variant.levels == tuple(columns)
        assert f"{expected.df_resid:,.0f} degrees of freedom" in variant.what
        if len(columns) == 1:
            robust = disentangle(table, ["m"], ["lex", "syn"], within=columns, se="hc3").variant("within")["m"]
            assert list(robust.se.values()) == pytest.approx(model.fit(cov_type="HC3").bse[:2].tolist())


def test_clusters_within_which_levels_lie_are_not_counted_twice() -> None:
    table = crossed()
    found = disentangle(table, ["m"], ["lex", "syn"], within=["segment"], cluster="segment").variant("within")["m"]
    # clubSandwich 0.5.8: coef_test(lm(m ~ lex + syn + factor(segment)), vcov = "CR2", cluster = segment), standardised
    assert list(found.se.values()) == pytest.approx([0.0642, 0.0443], abs=5e-5)
    assert list(found.p.values()) == pytest.approx([0.3597608149, 0.7426517532], rel=1e-8)
    # The intercepts of systems lie across segments: they count.
    both = disentangle(table, ["m"], ["lex", "syn"], within=["segment", "system"]).variant("within")["m"]
    assert both.se["lex"] == pytest.approx(found.se["lex"], rel=0.2)
    assert both.details["within"]["intercepts"] == 64


def test_pooling_is_looked_at_without_being_asked() -> None:
    result = disentangle(crossed(slope=0.5), ["m"], ["lex", "syn"])
    found = {notice.about: notice.values["differences"] for notice in result.warnings if notice.name == "simpson"}
    assert list(found) == ["segment"]
    one = found["segment"][0]
    assert one["factor"] == "lex"
    assert one["pooled"] > one["within"] + 0.3
    assert result.to_text().startswith("Careful: over all rows m rises with lex (")
    assert f"within one segment the coefficient is {one['within']:.2f};" in result.to_text()
    assert not result.variants
    same = disentangle(crossed(apart=0.0), ["m"], ["lex", "syn"])
    assert "simpson" not in {notice.name for notice in same.warnings}
    pairs = crossed()
    pairs["lp"] = ["de-en", "zh-en"] * 150  # a segment is one of its language pair
    inner = disentangle(pairs, ["m"], ["lex", "syn"], within=["segment"]).variant("within")["m"]
    assert inner.details["within"]["intercepts"] == 120


def test_shown_beside_the_main_estimate(cli: Cli, tmp_path: Path) -> None:
    file = write_columns(tmp_path / "scores.tsv", crossed())
    command = ("disentangle", file, "--columns", "m", "--factor-columns", "lex,syn")
    done = cli(*command, "--within", "segment,system", "--full")
    assert done.status == 0, done.err
    assert "within segment and system" in done.out
    assert "Coefficients within segment and system" in done.out
    assert done.out.count("bsx intervene") == 1
    for wrong, message in (
        (("--within", "segmnt"), "segmnt"),
        (("--within", "segment,system,m"), "name one column or two"),
        (("--within", "segment,segment"), "named twice"),
        (("--group", "segment"), "within segment holds its differences constant"),
    ):
        done = cli(*command, *wrong)
        assert (done.status, message in done.err, done.err.count("\n")) == (2, True, 1)


def test_what_cannot_be_within() -> None:
    table = crossed()
    n = len(table["m"])
    table["row"], table["one"] = [str(i) for i in range(n)], ["a"] * n
    table["pair"] = [f"{a}{b}" for a, b in zip(table["segment"], table["system"], strict=True)]
    table["twice"] = [str(i // 2) for i in range(n)]
    table["fixed"] = np.unique(table["segment"], return_inverse=True)[1].astype(float)
    for columns, factors, message in (
        (["row"], ["lex"], "300 levels in 300 rows; an intercept needs several rows a level"),
        (["pair"], ["lex"], "an intercept needs several rows a level"),
        (["one"], ["lex"], "within: one has one level in all 300 rows"),
        (["segment"], ["fixed"], "no factor varies within one segment"),
    ):
        with pytest.raises(InputError, match=message):
            disentangle(table, ["m"], factors, within=columns)
    with pytest.raises(UnknownNameError, match="there is no column 'who'"):
        disentangle(table, ["m"], ["lex"], within=["who"])
    with pytest.raises(InputError, match="two columns need se cluster or classic"):
        disentangle(table, ["m"], ["lex"], within=["segment", "system"], se="hc3")
    few = {name: column[:6] for name, column in table.items()} | {"half": list("aabbcc"), "side": list("xyxyxy")}
    with pytest.raises(InputError, match="6 rows are too few for 4 intercepts and 2 coefficients"):
        disentangle(few, ["m"], ["lex", "syn"], within=["half", "side"])
    fixed = disentangle(table, ["m"], ["lex", "fixed"], within=["segment"]).variant("within")["m"]
    assert np.isnan(fixed.coef["fixed"])
    assert not np.isnan(fixed.coef["lex"])


def test_too_few_clusters_for_a_test_of_form_are_no_finding() -> None:
    rng = np.random.default_rng(4)
    y, x, more = rng.normal(size=12), rng.normal(size=(12, 1)), rng.normal(size=(12, 3))
    clusters = np.arange(12) // 6
    assert _p_of_curve(y, x, more, Errors("cluster", [str(one) for one in clusters], clusters, "")) == 1.0
    assert _p_of_curve(y, x, more, Errors("hc3", None, np.arange(12), "")) < 1.0


@pytest.mark.parametrize("segments", [11, 10])
def test_few_degrees_of_freedom_within_levels_say_nothing(segments: int) -> None:
    # Two rows a segment leave as many degrees of freedom as segments, less one coefficient; ten are enough.
    rng = np.random.default_rng(5)
    segment = np.arange(segments).repeat(2)
    lex = rng.normal(size=segments).repeat(2) * 3 + rng.normal(size=2 * segments)
    across = lex.reshape(-1, 2).mean(axis=1).repeat(2)
    table = {"m": across - (lex - across) * 0.9 + 0.05 * rng.normal(size=2 * segments), "lex": lex}
    labels = [str(k) for k in segment]
    table["other"] = rng.normal(size=2 * segments)
    sample = RegressionSample(table, ["m"], ["lex"], Errors("cluster", labels, segment, ""), DisentangleSettings())
    assert inside(sample, {"segment": labels}).df == segments - 1
    notices = simpson(sample, "segment", labels)
    assert [notice.about for notice in notices] == (["segment"] if segments == 11 else [])
    # With a factor more the limit is twenty degrees of freedom.
    assert simpson(replace(sample, factors=["lex", "other"]), "segment", labels) == []


def test_a_difference_that_is_far_but_not_significant_says_nothing() -> None:
    rng, segment = np.random.default_rng(8), np.arange(12).repeat(3)
    lex = rng.normal(size=36)
    table, labels = {"m": lex + 2 * rng.normal(size=36), "lex": lex}, [str(k) for k in segment]
    sample = RegressionSample(table, ["m"], ["lex"], Errors("cluster", labels, segment, ""), DisentangleSettings())
    coef = within(sample, {"segment": labels})["m"].coef["lex"]
    assert _far(float(np.corrcoef(table["m"], lex)[0, 1]), coef)
    assert simpson(sample, "segment", labels) == []


@pytest.mark.parametrize(
    ("pooled", "inner", "far"),
    [
        (0.5, 0.39, True),
        (0.5, 0.41, False),  # by less than .1, and by less than half
        (0.12, 0.05, True),  # by .07, more than half of .12
        (0.08, 0.04, False),  # by less than .05
        (-0.04, 0.03, True),
    ],
)
def test_which_differences_are_far(pooled: float, inner: float, far: bool) -> None:
    assert _far(pooled, inner) == far


def test_two_columns_have_the_clusters_of_the_one_with_more_levels() -> None:
    table = crossed()
    levels = {"system": list(table["system"]), "segment": list(table["segment"])}
    assert len(set(levels["segment"])) > len(set(levels["system"]))
    units = np.arange(len(table["m"]))
    chosen = RegressionSample(table, ["m"], ["lex", "syn"], Errors("hc3", None, units, "chosen"), DisentangleSettings())
    named = replace(chosen, errors=Errors("cluster", levels["segment"], units, ""))
    assert within(chosen, levels)["m"].se == pytest.approx(within(named, levels)["m"].se)


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


def planted(n: int = 400, seed: int = 1) -> dict[str, Any]:
    """LEX acts in a curve on ``bent``; nothing bends in ``straight``."""
    rng = np.random.default_rng(seed)
    lex, syn = rng.normal(size=(2, n))
    sem = 0.6 * lex + 0.2 * syn + 0.7 * rng.normal(size=n)
    noise = 0.5 * rng.normal(size=(2, n))
    return {
        "sem": sem,
        "syn": syn,
        "lex": lex,
        "bent": np.tanh(2 * lex) + 0.3 * sem + noise[0],
        "straight": 0.5 * lex + 0.3 * sem + noise[1],
    }


def test_the_basis_spans_what_patsys_does() -> None:
    patsy = pytest.importorskip("patsy")
    values = np.random.default_rng(2).normal(size=200)
    knots = knots_of("x", values)
    own = np.column_stack([np.ones(200), values, natural_basis(values, knots)])
    formula = "cr(x, knots=inner, lower_bound=low, upper_bound=high) - 1"
    other = np.asarray(patsy.dmatrix(formula, {"x": values, "inner": knots[1:-1], "low": knots[0], "high": knots[-1]}))
    assert own.shape == other.shape
    for a, b in ((own, other), (other, own)):  # the same curves, straight beyond the outermost knots
        assert np.abs(a - b @ np.linalg.lstsq(b, a, rcond=None)[0]).max() < 1e-8


def test_a_bend_is_found_where_there_is_one() -> None:
    result = disentangle(planted(), ["bent", "straight"], ["sem", "syn", "lex"], spline=["lex", "sem"], se="classic")
    found = {(bend.metric, bend.factor): bend for bend in result.bends}
    assert set(found) == {(m, f) for m in ("bent", "straight") for f in ("lex", "sem", "lex + sem")}
    bent, straight = found["bent", "lex"], found["straight", "lex"]
    assert bent.p < 1e-8
    assert bent.out_curve > bent.out_line + 0.02
    assert straight.p > 0.01
    assert straight.out_curve < straight.out_line + 0.005
    value, effect, low, high, line = np.array(bent.curve).T
    true = np.tanh(2 * value) / planted()["bent"].std()
    inside = (true - true[20] + effect[20] > low - 0.05) & (true - true[20] + effect[20] < high + 0.05)
    assert inside.mean() > 0.9
    assert np.ptp(line) > np.ptp(effect)  # the line cannot level off
    assert bent.r2_line == pytest.approx(result["bent"].r2)
    assert "What is gained if factors act in curves" in result.to_text(full=True)
    charts = [part.title for part in parts_of(result) if isinstance(part, Chart)]
    assert charts[-2:] == ["The curve of lex", "The curve of sem"]


def test_the_f_test_is_that_of_statsmodels() -> None:
    import pandas
    import statsmodels.formula.api as models

    table = planted(150)
    bend = disentangle(table, ["bent"], ["sem", "lex"], spline=["lex"], se="classic").bends[0]
    extra = natural_basis(table["lex"], bend.knots)
    frame = pandas.DataFrame({**table, **{f"k{i}": column for i, column in enumerate(extra.T)}})
    small = models.ols("bent ~ sem + lex", frame).fit()
    large = models.ols("bent ~ sem + lex + k0 + k1 + k2", frame).fit()
    f, p, _ = large.compare_f_test(small)
    assert (bend.statistic, bend.p) == (pytest.approx(f), pytest.approx(p))
    assert bend.r2_curve == pytest.approx(large.rsquared)


def saturated(bend: float, n: int = 600, seed: int = 1) -> dict[str, Any]:
    """A metric that saturates in SEM; LEX grows with the cube of SEM and explains nothing; SYN does."""
    rng = np.random.default_rng(seed)
    sem = rng.uniform(size=n)
    lex, syn = sem**3 + 0.15 * rng.normal(size=n), rng.normal(size=n)
    signal = np.expm1(-bend * sem) / np.expm1(-bend) if bend else sem
    return {"m": signal + 0.1 * syn + 0.2 * rng.normal(size=n), "sem": sem, "syn": syn, "lex": lex}


def test_the_coefficient_that_hangs_on_a_straight_line_is_named() -> None:
    result = disentangle(saturated(3.0), ["m"], ["sem", "syn", "lex"], spline=["sem"])
    assert result["m"].p["lex"] < 1e-6
    notice = next(notice for notice in result.warnings if notice.name == "bent")
    (changed,) = notice.values["changed"]
    assert (notice.about, changed["factor"], list(changed["bent"])) == ("m", "lex", ["sem"])
    assert changed["bent"]["sem"] < 1e-6
    assert (changed["line"], changed["line_p"]) == (result["m"].coef["lex"], result["m"].p["lex"])
    assert abs(changed["coef"]) < abs(changed["line"]) / 2
    assert changed["p"] > 0.05
    bend = result.bends[0]
    assert (bend.coef["lex"], bend.coef_p["lex"]) == (pytest.approx(changed["coef"]), pytest.approx(changed["p"]))
    assert set(bend.coef) == {"syn", "lex"}
    said = result.to_text()
    assert said.startswith(
        f"Careful: the coefficient of lex in m is {changed['line']:.2f} with straight lines in sem, "
    )
    assert "a curve in sem" in said
    assert type(result).from_dict(result.to_dict()) == result


def test_bends_that_decide_nothing_are_passed_over() -> None:
    line = disentangle(saturated(0.0), ["m"], ["sem", "syn", "lex"])
    assert "bent" not in {notice.name for notice in line.warnings}
    # With 20,000 rows the slight bend is significant beyond doubt; SYN, which is beside the question, is not named.
    many = saturated(1.0, 20_000)
    many["lex"] = np.random.default_rng(5).normal(size=20_000) + many["sem"]
    slight = disentangle(many, ["m"], ["sem", "syn", "lex"], spline=["sem"])
    assert slight.bends[0].p < 1e-20
    assert "bent" not in {notice.name for notice in slight.warnings}


@pytest.mark.parametrize("factor", ["mor", "few"])
def test_what_cannot_be_bent(factor: str) -> None:
    rng = np.random.default_rng(1)
    table = {"m": rng.normal(size=30), "lex": rng.normal(size=30), "few": np.arange(30) % 2}
    with pytest.raises(InputError, match=f"spline: '{factor}'"):
        disentangle(table, ["m"], ["lex", "few"], spline=[factor])


@pytest.mark.parametrize(
    ("line", "p", "se", "bent", "may"),
    [
        # A straight line that is not significant: it has to move by a quarter, and beyond 1.5 standard errors.
        (0.10, 0.2, 0.1, 0.20, True),
        (0.10, 0.2, 0.1, 0.15, False),
        (0.19, 0.2, 0.1, 0.20, False),
        # A significant one: by a quarter and to under three standard errors, by .05, or to the other side.
        (0.40, 0.01, 0.1, 0.28, True),
        (0.40, 0.01, 0.1, 0.44, False),
        (0.40, 0.01, 0.1, 0.38, False),
        (0.08, 0.01, 0.02, 0.05, True),
        (0.08, 0.01, 0.01, 0.05, False),
        (0.80, 0.01, 0.1, 0.74, True),
        (0.01, 0.01, 0.001, -0.01, True),
    ],
)
def test_which_coefficients_a_first_look_leaves(line: float, p: float, se: float, bent: float, may: bool) -> None:
    assert _may_change(line, p, se, bent, 0.05) == may


@pytest.mark.parametrize(
    ("line", "line_p", "bent", "bent_p", "changes"),
    [
        (0.10, 0.01, 0.04, 0.2, True),  # no longer significant, half as large, and .06 away
        (0.10, 0.01, 0.06, 0.2, False),  # not by half
        (0.06, 0.01, 0.02, 0.2, False),  # by .04 only
        (0.04, 0.2, 0.12, 0.01, True),
        (0.30, 0.01, 0.10, 0.01, True),  # significant both, .2 away
        (0.30, 0.01, 0.22, 0.01, False),
        (0.16, 0.01, 0.07, 0.01, False),  # by .09 only
        (0.30, 0.2, 0.10, 0.2, False),  # neither
        (0.03, 0.01, -0.03, 0.01, True),  # turned
        (0.02, 0.01, -0.02, 0.01, False),
    ],
)
def test_which_bends_decide(line: float, line_p: float, bent: float, bent_p: float, changes: bool) -> None:
    assert _changes(line, line_p, bent, bent_p, 0.05) == changes


def test_knots_need_as_many_values_as_there_are_quantiles() -> None:
    assert knots_of("a", np.arange(5).repeat(20).astype(float)) == (0, 1, 2, 3, 4)
    with pytest.raises(InputError):
        knots_of("a", np.arange(4).repeat(20).astype(float))
