"""Baselines: means and standard errors of the very pairs that are drawn, and which baseline a scorer finds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.bertscore.baseline import BaselineRun
from bsx.bertscore.rescale import LayerBaselines, find_baseline, read_baseline
from bsx.catalog.catalog import shipped
from bsx.catalog.entries.models import Source
from bsx.encode.model import Choice
from bsx.errors import InputError
from tests.conftest import Model

SENTENCES = ["the old cat", "rain at the station", "a young dog walked", "people had water", "the river bank"]


def drawn(seed: int, pairs: int, block: int) -> tuple[list[str], list[str]]:
    """The pairs of two different sentences that a seed gives, block after block."""
    left, right = [], []
    for number in range(math.ceil(pairs / block)):
        rng = np.random.default_rng([seed, number])
        first = rng.integers(len(SENTENCES), size=block)
        left += [SENTENCES[i] for i in first]
        right += [SENTENCES[(i + k) % 5] for i, k in zip(first, rng.integers(1, 5, size=block), strict=True)]
    return left[:pairs], right[:pairs]


def test_mean_and_standard_error_are_those_of_the_pairs(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bsx.bertscore.baseline.BLOCK", 6)
    scorer = bsx.Scorer(model=tiny_model("bert"), all_layers=True)
    run = BaselineRun(scorer, [SENTENCES[0], "", *SENTENCES, " "], seed=2)
    with pytest.raises(InputError):
        run.mean()
    run.run(9)
    left, right = drawn(2, 9, 6)
    assert all(a != b for a, b in zip(left, right, strict=True))
    scores = scorer.score(left, right)
    figures = np.stack([scores.precision, scores.recall, scores.f1], axis=-1).astype(np.float64)
    assert run.pairs == 9
    # Texts are encoded in other batches here: units in the last place of fp32.
    assert run.mean() == pytest.approx(figures.mean(axis=1), abs=1e-6)
    assert run.standard_error() == pytest.approx(figures.std(axis=1, ddof=1) / 3, rel=1e-4, abs=1e-6)
    entry = run.result("en", "toy")
    assert entry.recall == pytest.approx(run.mean()[:, 1], abs=1e-8)
    assert (entry.precision[-1], entry.f1[-1]) == pytest.approx(tuple(run.mean()[-1, [0, 2]]), abs=1e-8)
    single = BaselineRun(scorer, SENTENCES[:2], seed=1)
    single.run(1)
    assert single.standard_error().max() < 1e-6
    # A tolerance is looked at after each whole block, not before the first.
    stopped = BaselineRun(scorer, SENTENCES, seed=2)
    stopped.run(18, tolerance=1.0)
    assert stopped.pairs == 6
    stopped.run(18, tolerance=float(stopped.standard_error().max()))
    assert stopped.pairs == 6
    stopped.run(18, tolerance=0.0)
    assert stopped.pairs == 18


@pytest.mark.parametrize(
    ("settings", "sentences"),
    [
        ({"layer": 1}, SENTENCES),
        ({"all_layers": True, "idf": True}, SENTENCES),
        ({"all_layers": True}, ["rain", "rain", " "]),
    ],
)
def test_a_baseline_is_of_all_layers_plain_weights_and_two_sentences(
    settings: dict[str, Any], sentences: list[str], tiny_model: Model
) -> None:
    scorer = bsx.Scorer(model=tiny_model("bert"), **settings)
    with pytest.raises(InputError):
        BaselineRun(scorer, sentences)


FIGURES = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, -0.25]], dtype=np.float32)


def test_rescaling_is_its_formula() -> None:
    scores = np.array([[[1.0, 0.2, 0.0], [0.5, 0.6, 1.0]], [[0.4, 0.2, 0.65], [0.1, 1.0, 0.3]]], dtype=np.float32)
    found = LayerBaselines(FIGURES, "here").apply(scores, [1, 0])
    expected = np.array([[[1, -1, 0.2], [0, 0, 1]], [[0.3 / 0.9, 0, 0.35 / 0.7], [0, 1, 0]]])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.dtype == np.float32


def test_the_digest_is_of_the_figures() -> None:
    assert LayerBaselines(FIGURES, "here").digest == LayerBaselines(FIGURES.copy(), "there").digest
    assert LayerBaselines(FIGURES, "here").digest != LayerBaselines(FIGURES + np.float32(1e-3), "here").digest


@pytest.mark.parametrize(
    ("languages", "asked", "found"),
    [
        (["en"], None, True),  # the only one of a monolingual model
        (["en", "de"], None, False),  # the model does not say which
        ([], None, False),
        (["en", "de"], "en", True),
        (["de"], "en", True),  # what is asked for counts
    ],
)
def test_the_language_of_a_baseline(languages: list[str], asked: str | None, found: bool) -> None:
    catalog = shipped()
    entry = catalog.models["minilm"].model_copy(update={"languages": languages})
    language = None if asked is None else catalog.languages[asked]
    choice = Choice("minilm", entry.source, entry, language)
    baseline = catalog.baseline("en", "minilm")
    assert baseline is not None
    layers = len(baseline.f1) - 1
    if found:
        figures = find_baseline(layers, choice, catalog, "").figures
        np.testing.assert_allclose(figures.T, [baseline.precision, baseline.recall, baseline.f1], rtol=1e-6)
        with pytest.raises(InputError, match="53aa51172d14"):  # it was made with other weights of the same name
            find_baseline(layers, choice, catalog, "minilm@sha256-000000000000")
    else:
        with pytest.raises(InputError):
            find_baseline(layers, choice, catalog, "")


TABLE = "LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.5,0.6,-0.25\n"


@pytest.mark.parametrize(
    ("table", "layers", "right"),
    [
        (TABLE, 1, True),
        (TABLE, 2, False),
        (TABLE, 0, False),
        (TABLE.replace("1,0.5", "2,0.5"), 1, False),
        (TABLE.replace("0.6", ""), 1, False),
        (TABLE.replace("-0.25", "-1"), 1, True),
        (TABLE.replace("-0.25", "-1.01"), 1, False),
        *(
            (TABLE.replace("0.6", figure), 1, False)
            for figure in ("1", "0.99999999", "1e39", "inf", "-inf", "nan", "x")
        ),
        (TABLE.replace(",F", ""), 1, False),
    ],
)
def test_files_of_bert_score_are_read_or_refused(table: str, layers: int, right: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.tsv"
    path.write_text(table, encoding="utf-8")
    unknown = Choice("own", Source(path="own"), None, None)
    if not right:
        with pytest.raises(InputError):
            read_baseline(path, layers, unknown, shipped(), "")
        return
    found = read_baseline(path, layers, unknown, shipped(), "")
    expected = [[float(cell) for cell in line.split(",")[1:]] for line in table.splitlines()[1:]]
    np.testing.assert_allclose(found.figures, expected, rtol=1e-6)
    assert found.notes == ()
