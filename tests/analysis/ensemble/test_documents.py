"""Ensembles keep documents together, in folds and in resamples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bsx
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.ensemble.combine import combine
from bsx.errors import InputError

DOCUMENTS, SIZE = 20, 6


def table() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    of = np.repeat(np.arange(DOCUMENTS), SIZE)
    quality = rng.normal(size=DOCUMENTS)[of] + rng.normal(size=DOCUMENTS * SIZE)
    columns: dict[str, Any] = {
        name: quality + rng.normal(size=DOCUMENTS)[of] + rng.normal(size=len(of)) for name in ("a", "b", "human")
    }
    return {**columns, "doc": [f"d{k}" for k in of], "segment": [f"g{k}" for k in range(len(of))]}


def test_documents_are_drawn_and_held_out_whole() -> None:
    columns = table()
    rows = combine(columns, ["a", "b"], "human", segment="segment", resamples=99).result
    whole = combine(columns, ["a", "b"], "human", segment="segment", document="doc", resamples=99).result
    assert (rows.groups[0].units, whole.groups[0].units) == (len(columns["doc"]), DOCUMENTS)
    assert whole.average_gain == rows.average_gain
    assert np.diff(whole.average_ci) > np.diff(rows.average_ci)
    assert rows.groups[0].decisive == rows.groups[0].tests["williams"].p
    assert whole.groups[0].decisive == whole.groups[0].tests["bootstrap"].p
    assert "(20 independent sets)" in whole.to_text().splitlines()[0]
    assert "rows that share segment or doc, directly or through others, are one set" in whole.to_text()
    assert "independent sets" not in rows.to_text().splitlines()[0]
    learnt = combine(columns, ["a", "b"], "human", document="doc", how="ridge", folds=5, resamples=20).result
    assert {fold.test for fold in learnt.folds} == {4 * SIZE}


def test_documents_that_cannot_be_are_refused() -> None:
    columns = table()
    with pytest.raises(InputError, match="at least 2 documents"):
        combine({**columns, "doc": ["one"] * len(columns["doc"])}, ["a", "b"], "human", document="doc")
    twice = {**columns, "segment": ["g1", "g1", *columns["segment"][2:]], "doc": ["x", *columns["doc"][1:]]}
    with pytest.raises(InputError, match="'g1' is in two documents"):
        combine(twice, ["a", "b"], "human", document="doc", segment="segment")


@pytest.mark.parametrize("name", ["document", "doc"])
def test_one_document_that_nobody_named_is_noted(name: str) -> None:
    columns = {key: list(column) for key, column in table().items() if key != "doc"}
    single = columns | {name: ["one"] * len(columns["a"])}
    how: dict[str, Any] = {"columns": ["a", "b"], "resamples": 20}
    alone, found = (bsx.ensemble(rows, human="human", **how) for rows in (columns, single))
    assert found.groups == alone.groups
    assert sum("all rows are of one document, one" in note for note in found.notes) == 1
    factors: dict[str, Any] = {"columns": ["a"], "factor_columns": ["b"]}
    plain, noted = (bsx.disentangle(rows, **factors) for rows in (columns, single))
    assert (noted.results, noted.sampled) == (plain.results, plain.sampled)
    assert sum("all rows are of one document, one" in note for note in noted.notes) == 1
    for run in (lambda: bsx.ensemble(single, human="human", document=name, **how),
                lambda: bsx.disentangle(single, document=name, **factors)):  # fmt: skip
        with pytest.raises(InputError, match="at least 2 documents") as refused:
            run()
        assert refused.value.setting == "document"


def test_rows_of_one_unit_are_refused() -> None:
    columns = table()
    of_rows = {name: column[:20] for name, column in columns.items() if name not in ("doc", "segment")}
    same = {**of_rows, "source": ["the same"] * 20}
    chained = {**columns, "source": [f"source {row if row % SIZE else 0}" for row in range(DOCUMENTS * SIZE)]}
    for run in (
        lambda: combine(same, ["a", "b"], "human", resamples=20),
        lambda: disentangle(same, ["a"], ["b"]),
        lambda: combine(chained, ["a", "b"], "human", document="doc", resamples=20),
        lambda: bsx.ensemble(chained, columns=["a", "b"], human="human", document="doc", resamples=20),
    ):
        with pytest.raises(InputError, match="nothing is known about others"):
            run()
