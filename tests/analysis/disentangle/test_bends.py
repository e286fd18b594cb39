"""Curves of factors, against patsy, statsmodels and planted truths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.curves import _changes, _may_change, knots_of, natural_basis
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Chart
from bsx.errors import InputError


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
