"""Every candidate against every reference at once is pair by pair, for metrics that count words or characters."""

from __future__ import annotations

import random

import numpy as np
import pytest

import bsx

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "The", "dog", "ran"]


def texts(seed: int) -> list[str]:
    drawn = random.Random(seed)  # noqa: S311 - words for a test
    made = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 12))) for _ in range(20)]
    return [*made, "", "  ", "the the the the the", "cat."]


@pytest.mark.parametrize(
    "spec",
    [
        "bleu",
        "bleu:effective_order=false,max_ngram_order=3",
        "bleu:smooth_method=floor",
        "bleu:smooth_method=add-k,smooth_value=2",
        "bleu:smooth_method=add-k,effective_order=false",
        "bleu:smooth_method=none,effective_order=false",
        "bleu:variant=coco",
        "bleu:lowercase=true",
        "sentbleu",
        "sentbleu:lowercase=true",
        "chrf",
        "chrf:whitespace=true",
        "chrf:char_order=15,beta=1",
        "chrf++:eps_smoothing=true",
        "chrf++:lowercase=true",
    ],
)
def test_a_product_is_pair_by_pair(spec: str) -> None:
    metric = bsx.get_metric(spec)
    candidates, references = texts(1), texts(2)
    flat = metric.score([text for text in candidates for _ in references], references * len(candidates))
    found = metric.score_matrix(candidates, references)
    # The same operations; only the logarithms of NumPy and of the C library may differ in the last bit.
    np.testing.assert_allclose(found, flat.values.reshape(found.shape), rtol=1e-13, atol=1e-13)


def test_a_product_in_parts_is_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = bsx.get_metric("chrf")
    whole = metric.score_matrix(texts(5), texts(6))
    monkeypatch.setattr("bsx.metrics.lexical.ngrams._COLUMNS", 7)
    assert (metric.score_matrix(texts(5), texts(6)) == whole).all()
