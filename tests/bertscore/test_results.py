"""Scores and alignments as plain numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bsx.bertscore.alignment import Alignment, Side
from bsx.bertscore.results import Scores
from bsx.errors import InputError
from bsx.support.provenance import Signature

SIGNATURE = Signature.read("metric:bertscore|model:minilm@sha256:0|layer:3")
NONE = np.zeros(0, dtype=np.int64)


def scores(figures: np.ndarray, layers: tuple[int, ...]) -> Scores:
    p, r, f = (np.asarray(figures[..., k], dtype=np.float32) for k in range(3))
    ids = ("a", "b", "c")[: p.shape[-1]]
    return Scores(
        p, r, f, SIGNATURE, layers, ids, np.array([1]), NONE, np.array([0, 2]), np.array([4, 3], dtype=np.int64)
    )


ONE = np.array([[0.5, 0.25, 0.75], [0.0, 0.5, 0.25], [0.25, 0.75, 0.5]])


def test_scores_of_one_layer_are_averaged_over_segments() -> None:
    found = scores(ONE, (3,))
    assert found.mean() == {"precision": 0.25, "recall": 0.5, "f1": 0.5}
    summary = found.to_dict()
    assert [summary[name] for name in ("metric", "model", "layer", "n")] == ["bertscore", "minilm", 3, 3]
    assert [summary[name] for name in ("empty", "unweighted", "truncated", "tokens_lost")] == [1, 0, 2, 7]
    rows = list(found.rows())
    assert rows[1] == {"id": "b", "precision": 0.0, "recall": 0.5, "f1": 0.25}
    assert found.to_frame().to_dict("records") == rows
    content = json.loads(found.to_json())
    assert (content["ids"], content["scores"]["f1"]) == (["a", "b", "c"], [0.75, 0.25, 0.5])
    assert "F1=" in repr(found) or "f1=0.5000" in repr(found)


def test_scores_of_all_layers_are_averaged_in_each() -> None:
    found = scores(np.stack([ONE, ONE / 2]), (0, 2))
    assert found.mean()["recall"] == [0.5, 0.25]
    assert found.to_dict()["layer"] == "all"
    rows = list(found.rows())
    assert [(row["id"], row["layer"]) for row in rows] == [(name, layer) for name in "abc" for layer in (0, 2)]
    assert rows[5] == {"id": "c", "layer": 2, "precision": 0.125, "recall": 0.375, "f1": 0.25}
    assert "layers=2" in repr(found)


def test_no_scores_have_no_mean() -> None:
    with pytest.raises(InputError):
        scores(np.zeros((0, 3)), (3,)).mean()


def test_an_alignment_names_what_each_token_is_matched_with() -> None:
    cosines = np.array([[0.5, 0.25], [0.75, 1.0]], dtype=np.float32)
    left = Side("a b", ["a", "b"], np.array([1, 2], np.float32), np.array([0, 1]), np.array([0.5, 1.0], np.float32))
    right = Side("c d", ["c", "d"], np.array([1, 1], np.float32), np.array([1, 1]), np.array([0.75, 1.0], np.float32))
    found = Alignment(left, right, cosines, 0.5, 0.25, 0.125, SIGNATURE)
    plain = found.to_dict()
    assert plain["candidate"] == {
        "text": "a b",
        "tokens": [
            {"token": "a", "weight": 1.0, "match": 0, "match_token": "c", "similarity": 0.5},
            {"token": "b", "weight": 2.0, "match": 1, "match_token": "d", "similarity": 1.0},
        ],
    }
    assert [token["match_token"] for token in plain["reference"]["tokens"]] == ["b", "b"]  # type: ignore[index]
    assert plain["cosines"] == [[0.5, 0.25], [0.75, 1.0]]
    assert (plain["precision"], plain["recall"], plain["f1"]) == (0.5, 0.25, 0.125)
    assert "2 x 2 tokens" in repr(found)
