"""R²: intervals that can hold 0, new rows, permutation importance, commonality; controls and length."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("statsmodels")
from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.disentangling.further import lengths
from bsx.analysis.disentangling.standard_errors import Errors
from bsx.analysis.disentangling.variance import out_of_sample
from bsx.analysis.stats.folds import unit_folds
from bsx.data.columns import read_columns
from bsx.errors import InputError
from tests.analysis.disentangling.test_fit import FACTORS, make


def test_parts_in_common_sum_to_r2_and_single_ones_are_semipartial() -> None:
    fit = disentangle(make(), ["m"], FACTORS)["m"]
    assert sum(fit.commonality.values()) == pytest.approx(fit.r2)
    assert list(fit.commonality) == ["sem", "syn", "lex", "sem+syn", "sem+lex", "syn+lex", "sem+syn+lex"]
    for name in FACTORS:
        assert fit.commonality[name] == pytest.approx(fit.semipartial_r2[name])
        # What a factor explains alone is what it explains by itself and in common with others.
        alone = sum(value for part, value in fit.commonality.items() if name in part.split("+"))
        assert alone == pytest.approx(disentangle(make(), ["m"], [name])["m"].r2)


def test_importance_is_the_mean_over_all_permutations_of_a_fold() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 2))
    y = x @ [1.0, 0.3] + rng.normal(size=20)
    units = np.arange(20) // 2
    found, importance = out_of_sample(x, y, Errors("cluster", None, units, ""), 1)
    left, worse, total = 0.0, np.zeros(2), 0.0
    for fold in unit_folds(units, 10, 1):
        assert not set(units[fold.train]) & set(units[fold.test])
        design = np.column_stack([np.ones(len(fold.train)), x[fold.train]])
        coef = np.linalg.lstsq(design, y[fold.train], rcond=None)[0]
        tested, true = x[fold.test], y[fold.test]
        left += np.square(true - coef[0] - tested @ coef[1:]).sum()
        total += np.square(true - y[fold.train].mean()).sum()
        for j in range(2):
            errors = []
            for order in permutations(range(len(true))):
                shuffled = tested.copy()
                shuffled[:, j] = tested[list(order), j]
                errors.append(np.square(true - coef[0] - shuffled @ coef[1:]).sum())
            worse[j] += np.mean(errors)
    assert found == pytest.approx(1 - left / total)
    assert importance == pytest.approx((worse - left) / total)


def test_intervals_hold_0_where_the_coefficients_do() -> None:
    fit = disentangle(make(), ["m"], FACTORS, resamples=200)["m"]
    for name, (low, high) in fit.partial_r2_ci.items():
        assert (low == 0) == (fit.ci[name][0] <= 0 <= fit.ci[name][1])
        assert low <= fit.partial_r2[name] <= high
        assert fit.semipartial_r2_ci[name][0] <= fit.semipartial_r2[name] <= fit.semipartial_r2_ci[name][1]
    assert fit.r2_ci[0] < fit.adj_r2 < fit.r2_ci[1]
    noise = {name: np.random.default_rng(8 + i).normal(size=100) for i, name in enumerate(["m", *FACTORS])}
    none = disentangle(noise, ["m"], FACTORS, resamples=200)["m"]
    assert (none.r2_ci[0], (none.r2_bootstrap or (1, 1))[0], none.r2_out < 0.02) == (0, 0, True)
    assert all(low == 0 for low, _ in none.r2_share_bootstrap.values())
    exact = {"m": [1.0, 2, 3, 4, 5, 7], "a": [2.0, 4, 6, 8, 10, 14]}
    assert disentangle(exact, ["m"], ["a"])["m"].r2_ci == pytest.approx((1, 1))


def test_lengths_are_counted_in_words_or_signs() -> None:
    table = {"candidate": ["a b c", "", "猫が好き"], "reference": ["a b c d e f", "x", "他 dogs"]}
    found = lengths(table)
    assert found["length"] == pytest.approx(np.log([9, 2, 6]))
    assert found["length-ratio"] == pytest.approx(np.log([2, 1, 2]))
    assert lengths({"m": [1.0]}) == {}


def test_controls_are_columns_beside_the_factors() -> None:
    table: dict[str, Any] = make(120)
    table["age"] = table["sem"] + np.random.default_rng(1).normal(size=120) * 5
    result = disentangle(table, ["m"], FACTORS, controls=["age"])
    joint = disentangle(table, ["m"], [*FACTORS, "age"])["m"]
    assert result.variant("controls")["m"].coef == pytest.approx(joint.coef)
    assert result.variant("controls")["m"].se == pytest.approx(joint.se)
    assert result["m"].coef == disentangle(table, ["m"], FACTORS)["m"].coef
    with pytest.raises(InputError, match="there is neither a column 'length' nor a pair of texts"):
        disentangle(table, ["m"], FACTORS, controls=["length"])
    with pytest.raises(InputError, match="^controls: 'lex'"):
        disentangle(table, ["m"], FACTORS, controls=["lex"])


def test_a_factor_that_is_mostly_length_is_named() -> None:
    table: dict[str, Any] = make(120)
    rng = np.random.default_rng(1)
    words = rng.integers(1, 30, size=120)
    table |= {"candidate": ["w " * k for k in words], "reference": [f"r{i} {'w ' * k}" for i, k in enumerate(words)]}
    table["syn"] = np.log(words) + 0.3 * rng.normal(size=120)
    said = {w.name: w for w in disentangle(table, ["m"], FACTORS).warnings}
    assert said["mostly-length"].about == "syn"
    assert said["mostly-length"].values["share"] > 0.5
    table["syn"] = rng.normal(size=120)
    assert "mostly-length" not in {w.name for w in disentangle(table, ["m"], FACTORS).warnings}


def test_length_takes_from_syn_on_the_published_rows(shared: Path) -> None:
    factors = ["sem", "syn", "bleu", "morph"]
    table = read_columns(shared / "data/kaster2021/sts-en.tsv", ["mover", *factors], texts=["sentence1", "sentence2"])
    result = disentangle(table, ["mover"], factors, controls=["length"])
    assert result["mover"].coef["syn"] == pytest.approx(0.242, abs=6e-4)
    # .137 by another count of words.
    assert result.variant("controls")["mover"].coef["syn"] == pytest.approx(0.137, abs=0.003)
    assert np.sign(result["mover"].coef["morph"]) == np.sign(result.variant("controls")["mover"].coef["morph"])
