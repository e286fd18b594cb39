"""What lies beside a table of scores: read by one class, refused with its key where bsx did not write it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bsx.data.sidecar import known_metrics, read_sidecar
from bsx.errors import InputError

ENTRY = {"metric": "ter", "higher_is_better": False, "signature": "metric:ter", "scores": [{"system": "a", "score": 3}]}


def written(folder: Path, content: object) -> Path:
    (folder / "t.tsv.signatures.json").write_text(json.dumps(content), encoding="utf-8")
    return folder / "t.tsv"


def test_a_sidecar_says_what_columns_are(tmp_path: Path) -> None:
    table = written(tmp_path, {"metrics": [ENTRY, {"metric": "x", "higher_is_better": True}], "segments": 2})
    assert [entry.higher_is_better for entry in known_metrics(table)] == [False, True]
    assert [entry.signature for entry in known_metrics(table)] == ["metric:ter", ""]
    found = read_sidecar(table)
    assert found is not None
    assert found.metrics[0].scores[0].score == 3


def test_without_a_sidecar_nothing_is_known(tmp_path: Path) -> None:
    assert read_sidecar(tmp_path / "t.tsv") is None
    assert known_metrics(written(tmp_path, {"factors": []})) == []
    assert known_metrics("-") == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ([], "t.tsv.signatures.json: the whole: "),
        ({"metrics": [{"metric": "x"}]}, "metrics.0.higher_is_better: is missing; bsx did not write"),
        ({"metrics": [ENTRY | {"higher_is_better": "so-so"}]}, "metrics.0.higher_is_better: input should be a valid"),
        ({}, "metrics: is missing"),
    ],
)
def test_a_sidecar_of_somebody_else_is_refused_with_its_key(tmp_path: Path, content: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace(".", r"\.")):
        read_sidecar(written(tmp_path, content))
