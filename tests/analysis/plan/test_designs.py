"""Plans: closed forms, pilots whose truth is known, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from benchmarks.calibration.plan import COLUMNS, differences, judged, metrics
from bsx import BsxError
from bsx.analysis.plan.power import detectable, power_of, width_of
from bsx.analysis.plan.result import PlanResult
from bsx.analysis.plan.run import plan_compare, plan_meta
from bsx.analysis.stats.resample import bootstrap_indices

METRICS: dict[str, Any] = {"effect": 0.1, "columns": ["a", "b"], "human": "human", "resamples": 20}


@pytest.mark.parametrize(("effect", "power", "alpha"), [(0.5, 0.8, 0.05), (0.2, 0.8, 0.05), (0.35, 0.95, 0.01)])
def test_a_t_test_is_that_of_statsmodels(effect: float, power: float, alpha: float) -> None:
    needed = TTestPower().solve_power(effect, power=power, alpha=alpha)
    plan = plan_compare(effect=effect, sd=1, power=power, alpha=alpha)
    assert plan.needed.units == math.ceil(needed)
    expected = TTestPower().power(effect, nobs=plan.needed.units, alpha=alpha)
    assert plan.needed.power == pytest.approx(expected, abs=1e-9)
    # R: power.t.test(delta=.5, sd=1, power=.8, type="paired")$n is 33.367204, with sd=2 it is 127.51614
    assert (plan_compare(effect=0.5, sd=1).needed.units, plan_compare(effect=0.5, sd=2).needed.units) == (34, 128)


def test_the_variance_of_a_difference_of_correlations_is_that_of_normal_scores() -> None:
    stated = plan_meta(correlations=[0.6, 0.5, 0.577])
    found = plan_meta(metrics(np.random.default_rng(1), 100_000), **METRICS)
    assert found.needed.units == pytest.approx(stated.needed.units, rel=0.03)


def test_metrics_that_have_little_in_common_vary_more() -> None:
    r = np.array([[1, 0.6, 0.5], [0.6, 1, 0.1], [0.5, 0.1, 1]])  # human, a, b
    drawn = np.random.default_rng(1).normal(size=(50_000, 3))
    drawn -= drawn.mean(axis=0)
    whitened = drawn @ np.linalg.inv(np.linalg.cholesky(np.cov(drawn.T))).T
    scores = dict(zip(("human", "a", "b"), (whitened @ np.linalg.cholesky(r).T).T, strict=True))
    stated, found = plan_meta(correlations=[0.6, 0.5, 0.1]), plan_meta(scores, **METRICS)
    assert found.needed.units == pytest.approx(stated.needed.units, rel=0.03)


def test_the_variance_of_a_pilots_correlations_is_over_n_minus_3() -> None:
    """As in Fisher's interval: with each row twice, only n is another, for the texts are the same units."""
    pilot = metrics(np.random.default_rng(1), 30)
    once, twice = (plan_meta({k: list(v) * n for k, v in pilot.items()}, **METRICS).pilot for n in (1, 2))
    assert once is not None
    assert twice is not None
    assert (once.units, once.rows, twice.units, twice.rows) == (30, 30, 30, 60)
    assert twice.spread.sd / once.spread.sd == pytest.approx(math.sqrt((60 / 57) / (30 / 27)), rel=1e-12)


def test_a_design_effect_multiplies_the_segments() -> None:
    alone = plan_compare(effect=0.1, sd=1).needed
    together = plan_compare(effect=0.1, sd=1, icc=0.2, document_size=8)
    assert together.spread.design_effect == pytest.approx(1 + 7 * 0.2)
    assert together.needed.units == pytest.approx(alone.units * 2.4, rel=0.02)
    assert together.needed.documents == together.needed.units / 8


def test_more_documents_have_more_power_and_narrower_intervals() -> None:
    plan = plan_compare(effect=0.1, sd=1, icc=0.1, document_size=8)
    for figures in ([step.units for step in plan.steps], [step.power for step in plan.steps]):
        assert figures == sorted(figures)
    widths = [step.width for step in plan.steps]
    assert widths == sorted(widths, reverse=True)


def test_power_and_the_smallest_effect_agree() -> None:
    assert power_of(detectable(0.1, 50, 0.05, 0.8), 0.1, 50, 0.05) == pytest.approx(0.8)
    assert power_of(0.0, 0.1, 50, 0.05) == pytest.approx(0.05)
    for df in (1, 5, 101, 9_999, 10_001):
        found = [power_of(effect, 1, df, 0.05) for effect in np.linspace(0, 60, 61)]
        assert np.all(np.diff(found) >= -1e-9)
        assert found[-1] > 0.9


@pytest.mark.slow
def test_a_pilot_gives_back_what_documents_share() -> None:
    table = judged(np.random.default_rng(1), 3000, 2, 0.3)
    plan = plan_compare(table, effect=0.2, columns=["human"], resamples=20, **COLUMNS)
    assert plan.pilot is not None
    spread = plan.pilot.spread
    # of a variance of 1 a half is the error of one judgment, and each segment has two
    assert (spread.sd**2, spread.icc) == (pytest.approx(0.75, abs=0.03), pytest.approx(0.1 / 0.75, abs=0.03))
    assert spread.document_size == 8
    assert plan.pilot.estimate == pytest.approx(0.3, abs=0.03)
    stated = plan_compare(effect=0.2, sd=math.sqrt(0.75), icc=0.1 / 0.75, document_size=8)
    assert plan.needed.units == pytest.approx(stated.needed.units, rel=0.05)


def _plan_of(differences: np.ndarray, documents: np.ndarray, effect: float = 0.2) -> PlanResult:
    n = len(differences)
    table: dict[str, Any] = {
        "system": ["a"] * n + ["b"] * n,
        "segment": [f"s{i}" for i in range(n)] * 2,
        "document": [f"d{k}" for k in documents] * 2,
        "score": np.concatenate([differences, np.zeros(n)]),
    }
    return plan_compare(table, effect=effect, columns=["score"], **COLUMNS)


def test_a_pilots_standard_error_is_that_of_whole_documents() -> None:
    values = differences(np.random.default_rng(1), 400, 0.3, 0.1)
    plan = _plan_of(values.ravel(), np.repeat(np.arange(400), 8))
    assert plan.pilot is not None
    means = values.mean(axis=1)
    se = means.std(ddof=1) / math.sqrt(len(means))
    assert plan.pilot.width == pytest.approx(width_of(se, 399, 0.05), rel=1e-6)
    assert plan.pilot.estimate == pytest.approx(values.mean())
    assert plan.needed_ci is not None
    assert plan.needed_ci[0] < plan.needed.units < plan.needed_ci[1]
    small = _plan_of(values.ravel() / 100, np.repeat(np.arange(400), 8), effect=0.002)
    assert (small.needed.units, small.needed_ci) == (plan.needed.units, plan.needed_ci)  # the scale does not matter


def test_the_interval_of_the_number_is_that_of_resampled_documents() -> None:
    rng = np.random.default_rng(3)
    means = rng.standard_t(4, size=60)  # so far apart that they vary more than the least that is assumed
    values = means[:, None] + rng.normal(size=(60, 8))
    plan = _plan_of(values.ravel(), np.repeat(np.arange(60), 8), effect=0.5)
    drawn = [np.var(values.mean(axis=1)[documents], ddof=1) for documents in next(bootstrap_indices(1000, 60, 1))]
    spread = float(np.log(drawn).std(ddof=1)) * math.sqrt(60 / 59)
    assert spread > 1.2 * math.sqrt(2 / 59)
    wide = math.exp(stats.t.isf(0.025, 59) * spread)
    assert plan.needed_ci == (math.floor(plan.needed.units / wide), math.ceil(plan.needed.units * wide))


def test_a_pilots_standard_error_is_the_robust_one_where_small_documents_hang_together_more() -> None:
    rng = np.random.default_rng(2)
    sizes = np.array([2] * 60 + [5] * 20 + [10] * 5)
    of = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=len(sizes)) * (sizes == 2)
    values = 0.1 + shared[of] + rng.normal(size=len(of))
    n, plan = len(values), _plan_of(values, of)
    sums = np.bincount(of, values - values.mean())
    se = math.sqrt(len(sums) / (len(sums) - 1) * float(sums @ sums)) / n
    assert plan.pilot is not None
    assert plan.pilot.width == pytest.approx(width_of(se, len(sums) - 1, 0.05), rel=1e-6)


def test_segments_that_systems_share_count_once() -> None:
    table = metrics(np.random.default_rng(1), 100, 8, 0.5)
    together, alone = plan_meta(table, **METRICS), plan_meta(_without("segment", table), **METRICS)
    assert (together.units, alone.units) == ("segments", "rows")
    assert together.pilot is not None
    assert together.pilot.units == 100
    assert 1.5 < together.needed.units * 8 / alone.needed.units < 8


def test_the_sign_of_a_metric_is_turned_where_lower_is_better() -> None:
    table = metrics(np.random.default_rng(1), 100)
    turned = plan_meta({**table, "b": -table["b"]}, lower=["b"], **METRICS)
    assert turned.needed == plan_meta(table, **METRICS).needed


def _pilot(documents: int = 12) -> dict[str, Any]:
    n = documents * 4
    return {
        "system": ["a"] * n + ["b"] * n,
        "segment": [f"s{i}" for i in range(n)] * 2,
        "text": [f"d{i // 4}" for i in range(n)] * 2,
        **dict(zip(("score", "other", "human"), np.random.default_rng(1).normal(size=(3, 2 * n)), strict=True)),
    }


def _without(column: str, table: dict[str, Any]) -> dict[str, Any]:
    return {name: values for name, values in table.items() if name != column}


PILOT = _pilot()
ONE_TEXT, ALIKE = {**PILOT, "text": ["d"] * 96}, {**PILOT, "score": [1.0] * 96}
SEGMENTS: dict[str, Any] = {"system": "system", "segment": "segment", "columns": ["score"]}
TWO: dict[str, Any] = {"effect": 0.1, "columns": ["score", "other"]}


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: plan_compare(effect=1, sd=1, power=0.05), "power: must be more than alpha"),
        (lambda: plan_compare(sd=1), "effect: say how small"),
        (lambda: plan_compare(effect=1), "sd: without a pilot"),
        (lambda: plan_compare(effect=1, sd=1, icc=0.1), "document_size"),
        (lambda: plan_compare(effect=1e-9, sd=1), "effect: so small a one"),
        (lambda: plan_compare(PILOT, effect=1, sd=1, **SEGMENTS), "sd: goes without a table"),
        (lambda: plan_compare(PILOT, effect=1, document_size=3, **SEGMENTS), "no documents"),
        (lambda: plan_compare(_pilot(2), effect=1, **SEGMENTS), "8 segments is too small"),
        (lambda: plan_compare(_pilot(9), effect=1, document="text", **SEGMENTS), "9 documents is too small"),
        (lambda: plan_compare(ONE_TEXT, effect=1, document="text", **SEGMENTS), "the value 'd' in every"),
        (lambda: plan_compare(ALIKE, effect=1, **SEGMENTS), "has no variance"),
        (lambda: plan_compare(PILOT, effect=1, systems=["a", "x"], **SEGMENTS), "there is no system 'x'"),
        (lambda: plan_compare(PILOT, **{**SEGMENTS, **TWO}), "columns: name one column"),
        (lambda: plan_compare(_without("system", PILOT), effect=1, columns=["score"]), "system: names the column"),
        (lambda: plan_meta(correlations=[0.5, 0.4]), "state three"),
        (lambda: plan_meta(correlations=[0.5, 0.5, 0.6]), "no difference to find"),
        (lambda: plan_meta(correlations=[0.9, 0.1, 0.9]), "no three columns"),
        (lambda: plan_meta(correlations=[0.5, 0.4, 0.6], effect=0.2), "the correlations differ by 0.1"),
        (lambda: plan_meta(_without("human", PILOT), **TWO), "human"),
        (lambda: plan_meta(_without("segment", PILOT), **TWO, system="system"), "segment: rows are of systems"),
        (lambda: plan_meta(PILOT, **TWO, human="human", lower=["x"]), "lower: 'x'"),
    ],
)
def test_what_cannot_be_planned_is_refused(run: Any, message: str) -> None:
    with pytest.raises(BsxError, match=message) as caught:
        run()
    assert "\n" not in str(caught.value)


def test_several_judgments_of_a_segment_are_averaged() -> None:
    twice = {name: [*column, *column] for name, column in PILOT.items()}
    noise = np.random.default_rng(2).normal(size=96)
    twice["score"] = [*(PILOT["score"] + noise), *(PILOT["score"] - noise)]
    plans = [plan_compare(table, effect=1, **SEGMENTS).needed for table in (PILOT, twice)]
    assert plans[0].units == plans[1].units
    assert plans[0].power == pytest.approx(plans[1].power)


def test_the_result_can_be_read_back_and_says_first_what_to_take() -> None:
    plans = plan_compare(effect=0.2, sd=1), plan_compare(PILOT, effect=1, document="text", **SEGMENTS)
    for plan in plans:
        assert PlanResult.from_dict(plan.to_dict()).to_text(full=True) == plan.to_text(full=True)
    said = plans[1].to_text()
    assert said.startswith("To find a difference of 1 in score between a and b with 80 % power, take ")
    assert "Sampled are documents like these, of 4 segments each; the two systems stay the same." in said
    assert [notice.name for notice in plans[1].warnings] == ["few-documents"]
