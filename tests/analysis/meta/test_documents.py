"""Documents are drawn whole at every level, and rows that share a segment where no column names systems."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bsx
from bsx.analysis.compare.run import compare_systems
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.stats.resample import all_counts, bootstrap_rows, cluster_codes
from bsx.analysis.stats.rowwise import weighted_spearman
from bsx.errors import InputError

SYSTEMS, DOCUMENTS, SIZE = 4, 12, 5


WHERE = {"system": "system", "segment": "segment"}


def table(seed: int = 1, *, systems: int = SYSTEMS) -> dict[str, Any]:
    """Two metrics and people; documents differ."""
    rng = np.random.default_rng(seed)
    n, of = DOCUMENTS * SIZE, np.repeat(np.arange(DOCUMENTS), SIZE)
    shape = (systems, n)
    columns: dict[str, Any] = {}
    quality = rng.normal(size=(systems, DOCUMENTS))[:, of] + rng.normal(size=shape)
    for name in ("a", "b", "human"):
        columns[name] = (quality + rng.normal(size=(systems, DOCUMENTS))[:, of] + rng.normal(size=shape)).ravel()
    columns["system"] = [f"s{k}" for k in range(systems) for _ in range(n)]
    columns["segment"] = [f"g{k}" for k in range(n)] * systems
    columns["doc"] = [f"d{k}" for k in of] * systems
    return columns


def evaluated(columns: dict[str, Any], **how: Any) -> MetaResult:
    return meta_evaluate(columns, ["a", "b"], "human", **{"resamples": 99, **how})


LEVELS: list[dict[str, Any]] = [
    {},
    {"statistic": "spearman"},
    {"grouping": "item"},
    {"grouping": "sys", "statistic": "spearman"},
    {"test": "permutation"},
    {"resample": "both"},
    {"statistic": "acc_eq"},
    {"statistic": "acc_eq", "test": "bootstrap"},
    {"level": "darr", "threshold": 1},
    {"level": "hybrid", "hybrids": 50, "sample": 10},
    {"level": "sys", "resample": "segments"},
    {"level": "sys", "resample": "both"},
]


@pytest.mark.parametrize("how", LEVELS)
def test_a_document_a_segment_changes_nothing_and_documents_do(how: dict[str, Any]) -> None:
    columns = table()
    alone = evaluated(columns, **WHERE, **how)
    each = {**columns, "doc": [f"of {name}" for name in columns["segment"]]}
    single, whole = (evaluated(of, document="doc", **WHERE, **how) for of in (each, columns))
    for one, same, other in zip(*(of.groups[0].metrics for of in (alone, single, whole)), strict=True):
        assert (one.value, *one.ci) == pytest.approx((same.value, *same.ci), abs=1e-9)
        assert other.value == one.value
        assert other.ci != one.ci or one.ci == (-1, 1)
        assert "document" in other.method
    assert [test.p for test in alone.groups[0].tests] == pytest.approx(
        [test.p for test in single.groups[0].tests], abs=0.02
    )
    assert all("document" in test.method for test in whole.groups[0].tests)
    assert "documents" in whole.target


def test_rows_without_systems_are_drawn_by_document_or_by_segment() -> None:
    columns = table(systems=1)
    rows = evaluated(columns)
    by_document = evaluated(columns, document="doc")
    assert rows.groups[0].test == "williams"
    assert by_document.groups[0].test == "bootstrap"
    assert by_document.target == "other documents like these"
    # One by one, segments without systems are rows; those that repeat are drawn whole, as documents of that name are.
    assert evaluated(columns, segment="segment").groups == rows.groups
    shared = evaluated({**columns, "segment": columns["doc"]}, segment="segment")
    assert shared.target == "other segments like these"
    assert shared.groups[0]["a"].ci == by_document.groups[0]["a"].ci
    nested = evaluated(columns, document="doc", segment="segment")
    assert nested.groups == by_document.groups
    swapped = evaluated(columns, document="doc", test="permutation")
    assert swapped.groups[0].tests[0].method == "difference of pearson, permutation of documents"


def test_documents_that_cannot_be_are_refused() -> None:
    columns, doc = table(), {**WHERE, "document": "doc"}
    lp = ["en-de" if name < "s2" else "en-cs" for name in columns["system"]]
    mixed = ["one" if pair == "en-cs" else name for pair, name in zip(lp, columns["doc"], strict=True)]
    wrong: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"doc": ["one"] * len(lp)}, doc, "'one' in every row: at least 2 documents"),
        ({"doc": ["other", *columns["doc"][1:]]}, doc, "'g0' is in two documents"),
        ({"segment": ["g"] * len(lp)}, {"segment": "segment"}, "'segment' names one segment"),
        ({"doc": mixed, "lp": lp}, {**doc, "group": "lp"}, "group en-cs: document"),
    ]
    for change, how, message in wrong:
        with pytest.raises(InputError, match=message):
            evaluated({**columns, **change}, **how)


def test_neighbours_that_are_alike_are_pointed_at() -> None:
    columns = table()
    columns["segment"] = [str(k) for k in range(DOCUMENTS * SIZE)] * SYSTEMS
    assert any("neighbouring segments" in note for note in evaluated(columns, **WHERE).notes)
    assert not any("neighbouring" in note for note in evaluated(columns, document="doc", **WHERE).notes)
    assert not any("neighbouring" in note for note in evaluated(columns, level="sys", **WHERE).notes)


@pytest.mark.parametrize("clustered", [False, True])
def test_spearman_of_counts_is_that_of_resampled_rows(clustered: bool) -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(2, 40)), 1)
    y = np.round(x[0] + rng.normal(size=40), 1)
    clusters = cluster_codes((rng.integers(0, 9, 40)).tolist()) if clustered else None
    expected = [
        [stats.spearmanr(row[rows], y[rows]).statistic for row in x] for rows in bootstrap_rows(20, 40, 3, clusters)
    ]
    assert weighted_spearman(x, y, all_counts(20, 40, 3, clusters)) == pytest.approx(np.array(expected), abs=1e-12)


def test_documents_are_found_and_segments_used_without_systems() -> None:
    how: dict[str, Any] = {"columns": ["a", "b"], "resamples": 99}
    found: Any = bsx.meta(table(), **how)
    assert found.target == "these systems on other documents like these"
    assert found.groups[0].metrics[0].method.endswith("bootstrap over documents")
    rows = {name: cells for name, cells in table().items() if name not in ("doc", "system")}
    found = bsx.meta(rows, **how)
    assert found.target == "other segments like these"
    named: Any = bsx.meta(rows, segment="segment", **how)
    assert named.groups == found.groups
    with pytest.raises(InputError, match="system"):
        bsx.meta(rows, document="segment", level="sys", **how)


def test_mqm_is_named_as_judged_against_the_source() -> None:
    columns = table()
    result = replace(evaluated(columns), human="mqm")
    assert "MQM judges a translation against its source" in result.to_text()
    assert "MQM" not in evaluated(columns).to_text()


def test_few_documents_are_said_to_be_few() -> None:
    quality, *noise = np.random.default_rng(1).normal(size=(3, 40))
    columns = {"a": quality + noise[0], "b": quality + noise[1], "human": quality}
    for size, few in ((10, True), (4, False)):
        found = evaluated({**columns, "doc": [f"d{i // size}" for i in range(40)]}, document="doc")
        assert any("4 documents are few" in note for note in found.notes) == few


def test_no_note_contradicts_the_caption_on_what_is_drawn() -> None:
    columns = table()
    columns["id"] = [str(k) for k in range(len(columns["doc"]))]  # unique: no two systems meet
    for left_out in ((), ("segment", "id")):
        kept = {name: cells for name, cells in columns.items() if name not in (*left_out, "segment")}
        found = bsx.meta(kept, columns=["a", "b"], resamples=99)
        assert isinstance(found, MetaResult)
        assert found.target == "other documents like these"
        assert any("document" in note for note in found.notes)
        assert not any("independent" in note for note in found.notes)


def test_judgments_are_the_unit_that_is_named_where_they_are_drawn() -> None:
    found = evaluated(table(), level="darr", threshold=1, unit="judgment", **WHERE)
    assert found.target == "these systems on other judgments like these"


def test_a_comparison_draws_the_documents_of_its_segments() -> None:
    columns = table(systems=2)
    order = np.random.default_rng(4).permutation(len(columns["a"])).tolist()
    mixed = {name: [column[row] for row in order] for name, column in columns.items()}
    found = bsx.compare(mixed, columns=["a"], document="doc", resamples=200, system="system", segment="segment")
    document_of = dict(zip(mixed["segment"], mixed["doc"], strict=True))
    scores: dict[str, dict[str, float]] = {}
    for system, segment, score in zip(mixed["system"], mixed["segment"], mixed["a"], strict=True):
        scores.setdefault(system, {})[segment] = score
    kept = list(next(iter(scores.values())))
    expected = compare_systems(
        {system: [by_segment[segment] for segment in kept] for system, by_segment in scores.items()},
        documents=[document_of[segment] for segment in kept],
        resamples=200,
    )
    assert found.documents == DOCUMENTS
    assert found.metrics[0].tests[0].ci == pytest.approx(expected.metrics[0].tests[0].ci)
    assert found.metrics[0].tests[0].p == pytest.approx(expected.metrics[0].tests[0].p)
