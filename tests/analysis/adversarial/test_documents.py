"""Pairs and triples of one document are no independent rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.tables import write_columns

DOCUMENTS, SIZE = 20, 6


def texts(rows: int) -> dict[str, Any]:
    """Two rows of opposite labels about each text, and a metric that knows nothing."""
    anchors, others = [f"anchor {k // 2}" for k in range(rows)], [f"other {k}" for k in range(rows)]
    scores = np.random.default_rng(1).normal(size=rows)
    return {"label": [1, 0] * (rows // 2), "sentence1": anchors, "sentence2": others, "m": scores}


def test_pairs_of_a_document_are_one_set(cli: Callable[..., Any], tmp_path: Path) -> None:
    rng, of = np.random.default_rng(1), np.repeat(np.arange(DOCUMENTS), SIZE)
    quality = rng.normal(size=DOCUMENTS)[of] + rng.normal(size=len(of))
    metric, people = (quality + rng.normal(size=DOCUMENTS)[of] for _ in range(2))
    apart = {"a": metric, "label": (people > 0).astype(int)}
    found = []
    for columns in (apart | {"doc": of}, apart):
        file = write_columns(tmp_path / "p.tsv", columns)
        done = cli("adversarial", "pairs", file, "--columns", "a", "--resamples", "99", "--format", "json")
        found.append(json.loads(done.out))
    wide, narrow = (np.diff(one["results"][0]["ci"]) for one in found)
    assert wide > narrow
    assert "20 sets" in found[0]["notes"][0]
    one = write_columns(tmp_path / "one.tsv", apart | {"doc": [1] * DOCUMENTS * SIZE})
    refused = cli("adversarial", "pairs", one, "--columns", "a")
    assert (refused.status, refused.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("column", ["doc", "text_id"])
def test_triples_of_a_document_are_one_set(cli: Callable[..., Any], tmp_path: Path, column: str) -> None:
    columns = texts(2 * DOCUMENTS * SIZE) | {column: np.repeat(np.arange(DOCUMENTS), 2 * SIZE)}
    file = write_columns(tmp_path / "t.tsv", columns)
    named = [] if column == "doc" else ["--document", column]
    found = json.loads(cli("adversarial", "triples", file, "--resamples", "99", "--format", "json", *named).out)
    assert [one["metric"] for one in found["results"]] == ["m"]
    assert any("their 20 sets" in note for note in found["notes"])


@pytest.mark.parametrize("form", ["pairs", "triples"])
def test_rows_that_one_text_chains_together_are_refused(cli: Callable[..., Any], tmp_path: Path, form: str) -> None:
    columns = texts(2 * DOCUMENTS)
    apart = write_columns(tmp_path / "apart.tsv", columns)
    assert cli("adversarial", form, apart, "--columns", "m", "--resamples", "99").status == 0
    # Neighbouring rows share their first text or their second, by turns: one set.
    chained = columns | {"sentence2": ["other 0", *(f"link {(k + 1) // 2}" for k in range(1, 2 * DOCUMENTS))]}
    file = write_columns(tmp_path / "chained.tsv", chained)
    refused = cli("adversarial", form, file, "--columns", "m", "--resamples", "99")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "chained.tsv" in refused.err
