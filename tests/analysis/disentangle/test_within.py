"""Coefficients within segments and systems: against dummies, with clusters, and whether pooling is warned of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx.analysis.disentangle.curves import _p_of_curve
from bsx.analysis.disentangle.errors import Errors
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.sample import RegressionSample
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.within import _far, inside, simpson, within
from bsx.errors import InputError, UnknownNameError
from tests.conftest import Outcome
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


def test_shown_beside_the_main_estimate(cli: Callable[..., Outcome], tmp_path: Path) -> None:
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
