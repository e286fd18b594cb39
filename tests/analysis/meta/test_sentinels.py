"""Controls beside metrics: measured and tested as metrics are, marked in every output, never winners."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.analysis.meta.run import made, matching, meta_evaluate
from bsx.errors import InputError, UnknownNameError
from tests.analysis.meta.test_evaluate import WHERE, invented

Run = Callable[..., Any]


def table() -> dict[str, list[Any]]:
    """The poor metric knows less of people than the length does."""
    columns = invented(1)
    rng = np.random.default_rng(2)
    columns["length"] = (np.array(columns["human"]) + 1.5 * rng.normal(size=len(columns["human"]))).tolist()
    return columns


def evaluated(**settings: Any) -> Any:
    return meta_evaluate(table(), ["good", "poor"], "human", **{"group": "lp", **WHERE, **settings})


def test_metrics_are_what_they_are_without_controls_and_these_are_measured_and_tested_as_metrics_are() -> None:
    as_metric: Any = meta_evaluate(table(), ["good", "poor", "length"], "human", group="lp", resamples=200, **WHERE)
    plain, beside = evaluated(resamples=200), evaluated(sentinels=["length", "shuffled"], resamples=200)
    for one, alone, other in zip(as_metric.groups, plain.groups, beside.groups, strict=True):
        assert (alone.metrics, alone.tests, alone.clusters) == (other.metrics[:2], other.tests, other.clusters)
        assert [metric.metric for metric in other.metrics if metric.control] == ["length", "shuffled"]
        assert replace(one["length"], control=True) == other["length"]
        expected = {(t.a, t.b): (t.difference, t.ci, t.p_two_sided) for t in one.tests if t.b == "length"}
        found = {(t.a, t.b): (t.difference, t.ci, t.p_two_sided) for t in other.control_tests if t.b == "length"}
        assert found == expected
    assert plain.average.metrics == beside.average.metrics[:2]
    assert beside.average.metrics[2].wins is None
    expected = {(t.a, t.b): t.p_two_sided for t in as_metric.average.tests if t.b == "length"}
    assert {(t.a, t.b): t.p_two_sided for t in beside.average.control_tests if t.b == "length"} == expected


def test_controls_are_marked_in_every_form() -> None:
    found = evaluated(sentinels=["length", "shuffled"])
    assert found.to_text(full=True).count("length (control)") == 3  # the summary and two groups
    assert "length (control)" in found.to_markdown()
    assert "length (control)" in found.to_latex()
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert {row["metric"] for row in rows if row["control"] == "1"} == {"length", "shuffled"}
    assert {row["winner"] for row in rows if row["control"] == "1"} == {""}
    document = found.to_dict()
    assert [row.get("control", False) for row in document["groups"][0]["metrics"]] == [False, False, True, True]
    assert len(document["groups"][0]["control_tests"]) == len(document["average"]["control_tests"]) == 4


@pytest.mark.parametrize("level", ["seg", "sys", "darr", "hybrid"])
def test_at_every_level(level: Any) -> None:
    more = {"threshold": 0.5} if level == "darr" else {}
    found = evaluated(level=level, sentinels=["length", "shuffled"], resamples=50, **more)
    assert all(len(group.control_tests) == 4 for group in found.groups)


def test_a_constant_is_right_about_ties_and_nothing_else() -> None:
    columns = table()
    columns["human"] = np.round(columns["human"]).tolist()
    found = meta_evaluate(columns, ["good"], "human", **WHERE, statistic="acc_eq", sentinels=["constant"])
    human = np.array(columns["human"]).reshape(5, 30)
    i, j = np.triu_indices(5, k=1)
    assert found.groups[0]["constant"].value == pytest.approx(np.mean(human[i] == human[j]))
    (test,) = found.groups[0].control_tests
    assert test.difference > 0
    assert test.decisive < 0.05


def test_shuffled_scores_are_the_groups_own_and_follow_the_seed() -> None:
    scores = np.array([1.0, np.nan, 3, 4, 5, 6, 7, 8])
    once, again, other = (made("shuffled", scores, [seed, 0]) for seed in (1, 1, 3))
    assert np.array_equal(once, again, equal_nan=True)
    assert not np.array_equal(once, other, equal_nan=True)
    assert np.isnan(once[1])
    assert sorted(once[~np.isnan(once)]) == sorted(scores[~np.isnan(scores)])


def test_what_cannot_be_a_control() -> None:
    for sentinels, message in (
        (["constant"], "a constant has no correlation"),
        (["good"], "'good' is among the metrics"),
        (["length", "length"], "named twice"),
        (["lenght"], r"'lenght' is neither a column .* Near: length"),
    ):
        with pytest.raises((InputError, UnknownNameError), match=message):
            evaluated(sentinels=sentinels)


def test_the_command_scores_controls_beside_metrics(cli: Run, tmp_path: Path) -> None:
    data = Path(str(bsx.__file__)).parent / "examples" / "en-systems.tsv"
    sides = [part for name in ("atlas", "brook") for part in ("--candidate", name, "--human", f"{name}_grade")]
    kept = tmp_path / "scores.tsv"
    controls = ("--sentinels", "length,shuffled", "--sentinels", "overlap:unit=characters")
    computed = ("--metrics", "chrf", *controls, "--scores-out", kept, "--resamples", 50)
    done = cli("meta", data, *computed, "--segment", "id", *sides, "--format", "json")
    assert done.status == 0, done.err
    names = [row["metric"] for row in json.loads(done.out)["groups"][0]["metrics"] if row.get("control")]
    assert names == ["length", "shuffled", "overlap:unit=characters"]
    columns = ["--human", "human", "--system", "system", "--segment", "id", "--resamples", 50]
    again = cli("meta", kept, "--columns", "chrf", "--sentinels", "length,shuffled", *columns, "--format", "json")
    first, second = (json.loads(out)["groups"][0]["metrics"][1] for out in (done.out, again.out))
    assert first == second
    # What was a control stays one in the table: only a column that is named is a metric.
    for asked, marked in ([], names[::2]), (["--columns", "chrf,length"], []):
        rows = json.loads(cli("meta", kept, *columns, *asked, "--format", "json").out)["groups"][0]["metrics"]
        assert [row["metric"] for row in rows] == (["chrf", *marked] if marked else ["chrf", "length"])
        assert [row["metric"] for row in rows if row.get("control")] == marked
    assert cli("report", kept, "-o", tmp_path / "report.md").status == 0
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| length (control) | atlas |" in page
    assert "| metric | system | n | corpus score | mean of segments |" in page


@pytest.mark.parametrize("group", ["lp", None])
def test_the_answer_says_which_metrics_are_better_than_the_best_control_and_which_are_worse(group: str | None) -> None:
    """Over several groups by their average, too."""
    columns = table()
    rng = np.random.default_rng(3)
    for name in ("close", "alike"):
        columns[name] = (np.array(columns["human"]) + 0.1 * rng.normal(size=len(columns["human"]))).tolist()
    rows = slice(None) if group else slice(0, columns["lp"].count(columns["lp"][0]))
    here = {name: cells[rows] for name, cells in columns.items()}
    found: Any = meta_evaluate(here, ["poor"], "human", sentinels=["close"], group=group, **WHERE)
    value = found.average.metrics[1].value if group else found.groups[0]["close"].value
    assert f"better than the control close ({value:.3f}); poor is significantly worse" in found.answer
    alike = meta_evaluate(here, ["alike"], "human", sentinels=["close"], group=group, **WHERE)
    assert alike.answer.endswith(f"No metric is significantly better than the control close ({value:.3f}).")
    good = meta_evaluate(here, ["good", "poor"], "human", sentinels=["length", "shuffled"], group=group, **WHERE)
    assert "good is significantly better than the best control, length" in good.answer


def test_a_table_keeps_its_own_constant() -> None:
    columns = {**invented(), "constant": np.arange(150.0).tolist()}
    found = meta_evaluate(columns, ["good"], "human", sentinels=["constant"])
    assert abs(found.groups[0]["constant"].value) < 0.3


def test_learned_sentinels_are_controls_by_their_names() -> None:
    learned = ["SENTINEL-SRC-DA", "SENTINEL-CAND-MQM"]
    names = {"good": "good", "poor": learned[0], "length": learned[1], "lp": "lp"}
    columns = {names.get(name, name): values for name, values in table().items()}
    cases: list[dict[str, Any]] = [{"columns": ["good", *learned]}, {"columns": ["good"], "sentinels": ["SENTINEL-*"]}]
    for asked in cases:
        found: Any = bsx.meta(columns, **asked, resamples=99)
        assert (found.metrics, sorted(found.sentinels)) == (("good",), sorted(learned))
    with pytest.raises(InputError):
        bsx.meta(columns, columns=learned[:1])
    with pytest.raises(UnknownNameError):
        matching("sentinels", ["SENTINEL-*"], ["good", "poor"])


def test_what_reads_no_candidate_is_no_control_of_systems() -> None:
    """At the level of systems it has one value; of segments it is a control like others."""
    columns = {name: cells[: invented(1)["lp"].count("xx-en")] for name, cells in invented(1).items()}
    places = {name: place for place, name in enumerate(dict.fromkeys(columns["segment"]))}
    columns["SENTINEL-SRC"] = [float(places[name] % 7) for name in columns["segment"]]
    how: dict[str, Any] = {"sentinels": ["SENTINEL-SRC"], **WHERE}
    found = {level: meta_evaluate(columns, ["good"], "human", level=level, **how) for level in ("sys", "seg")}
    assert [one.metric for one in found["seg"].groups[0].metrics] == ["good", "SENTINEL-SRC"]
    assert [one.metric for one in found["sys"].groups[0].metrics] == ["good"]
    assert any("SENTINEL-SRC" in note for note in found["sys"].notes)
    assert "SENTINEL-SRC" not in found["sys"].answer


@pytest.mark.parametrize(
    ("metrics", "answer"),
    [
        (["poor"], "the interval reaches 0."),
        (["bad"], "the correlation is negative."),
        (["bad", "poor"], "the correlation of bad is negative; every other interval reaches 0."),
        (["bad", "worse"], "the correlation of bad and worse is negative."),
    ],
)
def test_an_interval_below_zero_is_not_one_that_reaches_it(metrics: list[str], answer: str) -> None:
    columns = invented(1)
    rng, human = np.random.default_rng(6), np.array(columns["human"])
    columns |= {"poor": rng.normal(size=150).tolist()}
    columns |= {name: (rng.normal(size=150) - human).tolist() for name in ("bad", "worse")}
    found = meta_evaluate(columns, metrics, "human")
    assert [one.metric for one in found.groups[0].metrics if one.ci[1] < 0] == [m for m in metrics if m != "poor"]
    assert f"No agreement is shown: {answer}" in found.answer
