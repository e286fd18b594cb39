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


def pairs() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    of = np.repeat(np.arange(DOCUMENTS), SIZE)
    quality = rng.normal(size=DOCUMENTS)[of] + rng.normal(size=len(of))
    return {
        "a": quality + rng.normal(size=DOCUMENTS)[of],
        "label": (quality + rng.normal(size=DOCUMENTS)[of] > 0).astype(int),
        "doc": of,
    }


def test_pairs_of_a_document_are_one_set(cli: Callable[..., Any], tmp_path: Path) -> None:
    file = write_columns(tmp_path / "p.tsv", pairs())
    whole = cli("adversarial", "pairs", file, "--columns", "a", "--resamples", "99", "--format", "json")
    apart = write_columns(tmp_path / "apart.tsv", {name: column for name, column in pairs().items() if name != "doc"})
    rows = cli("adversarial", "pairs", apart, "--columns", "a", "--resamples", "99", "--format", "json")
    ends = [np.diff(json.loads(done.out)["results"][0]["ci"]) for done in (whole, rows)]
    assert ends[0] > ends[1]
    assert "20 sets" in json.loads(whole.out)["notes"][0]
    one = write_columns(tmp_path / "one.tsv", {**pairs(), "doc": [1] * DOCUMENTS * SIZE})
    refused = cli("adversarial", "pairs", one, "--columns", "a")
    assert (refused.status, refused.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("column", ["doc", "text_id"])
def test_triples_of_a_document_are_one_set(cli: Callable[..., Any], tmp_path: Path, column: str) -> None:
    rng = np.random.default_rng(1)
    n = 2 * DOCUMENTS * SIZE
    columns: dict[str, Any] = {
        "label": [1, 0] * (n // 2),
        "sentence1": [f"anchor {k // 2}" for k in range(n)],
        "sentence2": [f"other {k}" for k in range(n)],
        "m": rng.normal(size=n),
        column: np.repeat(np.arange(DOCUMENTS), 2 * SIZE),
    }
    file = write_columns(tmp_path / "t.tsv", columns)
    named = [] if column == "doc" else ["--document", column]
    found = json.loads(cli("adversarial", "triples", file, "--resamples", "99", "--format", "json", *named).out)
    assert [one["metric"] for one in found["results"]] == ["m"]
    assert any("their 20 sets" in note for note in found["notes"])


@pytest.mark.parametrize("form", ["pairs", "triples"])
def test_rows_that_one_text_chains_together_are_refused(cli: Callable[..., Any], tmp_path: Path, form: str) -> None:
    n = 2 * DOCUMENTS
    columns: dict[str, Any] = {
        "label": [1, 0] * DOCUMENTS,
        "sentence1": [f"anchor {k // 2}" for k in range(n)],
        "sentence2": [f"other {k}" for k in range(n)],
        "m": np.random.default_rng(1).normal(size=n),
    }
    apart = write_columns(tmp_path / "apart.tsv", columns)
    assert cli("adversarial", form, apart, "--columns", "m", "--resamples", "99").status == 0
    # Neighbouring rows share their first text or their second, by turns: one set.
    chained = columns | {"sentence2": ["other 0", *(f"link {(k + 1) // 2}" for k in range(1, n))]}
    file = write_columns(tmp_path / "chained.tsv", chained)
    refused = cli("adversarial", form, file, "--columns", "m", "--resamples", "99")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "chained.tsv" in refused.err
