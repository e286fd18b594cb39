"""Agreement by kind of error, and tau-c at every level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bsx
from bsx.analysis import MetaResult
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.present.forms import parts_of
from bsx.errors import InputError, UnknownNameError
from tests.analysis.meta.test_evaluate import WHERE, invented


def table() -> dict[str, list[Any]]:
    """A metric that sees mistranslations and is blind to omissions."""
    rng = np.random.default_rng(4)
    columns = {name: invented()[name] for name in ("system", "segment", "lp")}
    n = len(columns["system"])
    errors = {kind: -rng.poisson(0.8, n).astype(float) for kind in ("mistranslation", "omission")}
    columns |= {f"human_{kind}": values.tolist() for kind, values in errors.items()}
    columns["human"] = sum(errors.values()).tolist()  # type: ignore[union-attr]
    columns["human_never"] = [0.0] * n
    columns["metric"] = (errors["mistranslation"] + 0.3 * rng.normal(size=n)).tolist()
    columns["other"] = (columns["human"] + 2 * rng.normal(size=n)).tolist()
    return columns


KINDS = ["human_mistranslation", "human_omission", "human_never"]
METRICS = ["metric", "other"]


def test_each_category_is_a_group_of_its_own() -> None:
    columns = table()
    found = meta_evaluate(columns, METRICS, "human", **WHERE, categories=KINDS, resamples=200)
    assert [group.group for group in found.groups] == ["human", "human_mistranslation", "human_omission"]
    for group in found.groups:
        alone = meta_evaluate(columns, METRICS, group.group, **WHERE, resamples=200).groups[0]
        assert (group.metrics, group.tests, group.clusters) == (alone.metrics, alone.tests, alone.clusters)
    assert "human_never is the same in all rows and left out" in found.notes
    below = sum(value < 0 for value in columns["human_omission"])
    assert f"human_omission: {below} of 150 rows are below 0" in found.notes
    assert found.average is None
    first, table_part, *_ = parts_of(found)
    assert "human_omission (metric)" in first.text  # type: ignore[union-attr]
    assert [row[0].text for row in table_part.rows] == [group.group for group in found.groups]  # type: ignore[union-attr]
    assert "average" not in found.to_text()
    assert "\naverage," not in found.to_csv()
    assert MetaResult.from_dict(found.to_dict()) == found


def test_categories_within_groups() -> None:
    found = meta_evaluate(table(), METRICS, "human", **WHERE, group="lp", categories=["human_omission"], resamples=50)
    pairs = ["yy-en", "xx-en"]
    names = [f"{lp}: {kind}" for kind in ("human", "human_omission") for lp in pairs]
    assert [group.group for group in found.groups] == names
    with pytest.raises(UnknownNameError, match="there is no column 'human_omision'"):
        meta_evaluate(table(), METRICS, "human", **WHERE, categories=["human_omision"])
    with pytest.raises(InputError, match="none of human_never varies"):
        meta_evaluate(table(), METRICS, "human_never", **WHERE, categories=["human_never"])


def test_categories_are_named_by_a_pattern() -> None:
    found: Any = bsx.meta(table(), columns=["metric"], categories=["human_*"], resamples=50)
    assert [group.group for group in found.groups] == ["human", "human_mistranslation", "human_omission"]
    with pytest.raises(UnknownNameError, match=r"categories: no column matches 'mqm_\*'"):
        bsx.meta(table(), columns=["metric"], categories=["mqm_*"])


@pytest.mark.parametrize("level", ["seg", "sys"])
def test_tau_c(level: Any) -> None:
    columns = invented(2)
    columns["human"] = np.round(columns["human"]).tolist()
    how: dict[str, Any] = {"level": level, "statistic": "kendall_c", "resamples": 50, **WHERE}
    found = meta_evaluate(columns, ["good", "poor"], "human", **how).groups[0]
    sides = [np.array(columns[name]).reshape(5, 30) for name in ("good", "human")]
    both = [side.mean(axis=1) if level == "sys" else side.ravel() for side in sides]
    assert found["good"].value == pytest.approx(stats.kendalltau(*both, variant="c").statistic)
    assert found["good"].figures["kendall"] == pytest.approx(stats.kendalltau(*both).statistic)
    assert found["good"].ci[0] <= found["good"].value <= found["good"].ci[1]
    assert len(found.tests) == 2


def test_missing_judgments_of_a_category_are_no_rows_below_the_best() -> None:
    kind = [0.0, *[np.nan] * 3, *[-1.0] * 3, -2.0]
    columns = {"human": [3.0, 2.0, 1.0, 2.0] * 2, "kind": kind, "m": [1.0, 2.0, 4.0, 3.0] * 2}
    how: dict[str, Any] = {"categories": ["kind"], "nan": "omit", "test": "none", "resamples": 20}
    assert "kind: 4 of 5 rows are below 0" in meta_evaluate(columns, ["m"], "human", **how).notes
    grouped = meta_evaluate({**columns, "lp": ["a"] * 4 + ["b"] * 4}, ["m"], "human", group="lp", **how).notes
    # In a the only judgment of this kind does not vary; in b one of four is below -1.
    assert grouped[:2] == ("a: kind is the same in all rows and left out", "b: kind: 1 of 4 rows are below -1")
