"""Minimum Bayes risk by centroids and by completed matrices: as mbrs has them, and what they are at their limits."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.data.nbest import NBest
from bsx.errors import InputError
from bsx.metrics.blocks import Values
from bsx.metrics.mbr import Decoder, MbrSettings
from bsx.metrics.mbr_numerics import completed, first_centroids, k_means
from tests.metrics.test_mbr import lists

STORED = Path(__file__).parent / "mbrs_figures.json"  # by tests/helpers/mbrs_figures.py, which says how


@pytest.fixture(scope="module", params=["stored", "run"])
def figures(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What mbrs 0.1.8 found: once, and where it is, for other texts."""
    if request.param == "stored":
        return dict(json.loads(STORED.read_text(encoding="utf-8")))
    python = os.environ.get("BSX_MBRS_PYTHON")
    if not python:
        pytest.skip("BSX_MBRS_PYTHON names no interpreter that has mbrs")
    script = str(Path(__file__).parents[1] / "helpers" / "mbrs_figures.py")
    done = subprocess.run([python, script, "2"], capture_output=True, text=True, check=True, cwd="/")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_centroids_are_those_of_mbrs(figures: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for case in figures["centroid"]:
        rows, first = (np.array(case[name]) for name in ("vectors", "first"))
        centroids, _ = k_means(rows, np.ones(len(rows)), first, figures["rounds"])
        np.testing.assert_allclose(centroids, case["centroids"], atol=1e-6)  # single precision there
        of = dict(zip(case["texts"], rows, strict=True))

        def looked_up(texts: Sequence[str], of: dict[str, Values] = of) -> Values:
            return np.array([of[text] for text in texts])

        # The same vectors, and the same first centroids, which another generator of random numbers would not draw.
        metric = bsx.get_metric("sentence", encoders=bsx.Encoders(model="minilm"))
        monkeypatch.setattr(metric, "text_vectors", looked_up)
        monkeypatch.setattr("bsx.metrics.mbr.first_centroids", lambda *_, first=first: first)
        chosen = MbrSettings(
            method="centroid",
            centroids=len(first),
            rounds=figures["rounds"],
            centroid_weights="equal" if case["equal"] else "members",
        )
        found = Decoder(metric, chosen).decide(NBest("a", case["texts"]))[0]
        assert found.candidate == case["texts"][case["ranked"][0]]
        assert found.expected == pytest.approx(case["expected"][0], abs=1e-6)


def test_completed_matrices_are_those_of_mbrs(figures: dict[str, Any]) -> None:
    for case in figures["probabilistic"]:
        scores = bsx.get_metric("chrf").score_matrix(case["texts"], case["texts"])
        known = np.isin(np.arange(scores.size), case["drawn"]).reshape(scores.shape)
        start = np.array(case["start"])
        found = completed(scores, known, start, case["rounds"], case["regularisation"])
        # Of up to 100; there in single precision, whose systems of equations lose a few digits more.
        np.testing.assert_allclose(found, case["completed"], atol=0.05)
        hidden = completed(np.where(known, scores, 1e9), known, start, case["rounds"], case["regularisation"])
        assert (hidden == found).all()  # what is not known is not read


def decided(metric: bsx.Metric, texts: list[str], **settings: Any) -> Any:
    return Decoder(metric, MbrSettings(**settings)).decide(NBest("a", texts), check=True)[0]


def test_a_centroid_for_each_reference_is_all_pairs(tiny_model: Callable[[str], str]) -> None:
    cosine = bsx.get_metric("sentence", encoders=bsx.Encoders(model=tiny_model("bert")))
    for texts in lists(3, 8):
        texts = [*texts, "", texts[0]]  # a blank one, and one that counts twice
        whole = Decoder(cosine).decide(NBest("a", texts))[0]
        found = decided(cosine, texts, method="centroid", centroids=20)
        assert (found.candidate, found.loss) == (whole.candidate, 0)
        assert found.expected == pytest.approx(whole.expected, abs=1e-6)
        assert decided(cosine, texts, method="centroid", centroids=2).loss < 0.05
    assert decided(cosine, ["", " "], method="centroid").expected == cosine.entry.empty


def test_centroids_weigh_what_they_stand_for() -> None:
    points = np.array([[0.0, 0], [0, 1], [10, 0], [10, 3]])
    weights = np.array([1.0, 1, 2, 1])
    for seed in range(8):
        first = first_centroids(points, weights, 2, np.random.default_rng(seed))
        assert len({row[0] for row in first.tolist()}) == 2  # far from each other
        centroids, nearest = k_means(points, weights, first, 10)
        assert sorted(centroids.tolist()) == [[0, 0.5], [10, 1]]
        assert nearest[0] == nearest[1] != nearest[2] == nearest[3]
    same = first_centroids(np.zeros((4, 2)), weights, 3, np.random.default_rng(1))
    assert same.shape == (1, 2)


def test_a_matrix_of_low_rank_is_found_again() -> None:
    rng = np.random.default_rng(5)
    whole = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 25))
    known = rng.random(whole.shape) < 0.5
    found = completed(whole, known, rng.random((25, 2)), 200, 1e-3)
    assert np.abs(found - whole)[~known].max() < 0.05
    assert np.abs(completed(whole, known, rng.random((25, 2)), 1, 1e-3) - whole)[~known].max() > 0.05


@pytest.mark.parametrize("spec", ["chrf", "ter"])
def test_all_pairs_completed_are_all_pairs(spec: str) -> None:
    metric = bsx.get_metric(spec)
    for texts in lists(4, 12):
        whole = Decoder(metric).decide(NBest("a", texts))[0]
        found = decided(metric, texts, method="probabilistic", reduction=1, matrix_rank=12, regularisation=1e-6)
        assert found.expected == pytest.approx(whole.expected, abs=0.01)
        assert found.loss < 0.01
    # Of a third of the pairs, seeds make different draws; each is drawn again.
    found = [decided(metric, lists(1, 12)[0], method="probabilistic", reduction=3, seed=seed) for seed in (1, 2, 1)]
    assert found[0] == found[2]
    assert found[0].expected != found[1].expected


def test_a_candidate_that_was_not_drawn_is_average() -> None:
    # One pair in nine is known: by 0 for what is not, a candidate of which nothing is known had the least edit rate.
    ter = bsx.get_metric("ter")
    texts = ["a b c d", "a b c e", "q r s t u v w x y z"]
    for seed in range(10):
        found = decided(ter, texts, method="probabilistic", reduction=9, seed=seed)
        known = {ter.score([one], [other]).values[0] for one in texts for other in texts}
        assert any(found.expected == pytest.approx(value, abs=5) for value in known)


def test_what_cannot_be_done_is_refused(tiny_model: Callable[[str], str]) -> None:
    model = tiny_model("bert")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"metric": "chrf", "method": "centroid"}, "chrf has no vectors that stand for whole texts"),
        ({"metric": "bertscore:layer=1", "method": "centroid", "model": model}, "has no vectors that stand for whole"),
        ({"metric": "chrf", "method": "probabilistic", "reduction": 0.5}, "reduction: must lie between 1 and"),
        ({"metric": "chrf", "method": "probabilistic", "regularisation": 0}, "regularisation: must be more than 0"),
        (
            {
                "metric": "sentence",
                "model": model,
                "method": "centroid",
                "centroid_weights": "equal",
                "weights": [[1.0, 2.0]],
            },
            "weights of pseudo-references have no effect",
        ),
    ]
    for settings, message in wrong:
        with pytest.raises(InputError, match=message):
            bsx.mbr([["a", "b"]], **settings)
