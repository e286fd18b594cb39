"""On a graphics card: the figures of the CPU, and what low precision does to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import bsx
from tests.helpers.paths import BATCHES, PAIRS, assert_equal

AVAILABLE = torch.cuda.is_available
pytestmark = pytest.mark.skipif(not AVAILABLE(), reason="there is no CUDA device")


@pytest.fixture(autouse=True)
def _card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", AVAILABLE)


def test_fp32_is_the_cpu(tiny_model: Callable[[str], str]) -> None:
    texts = ["the cat sat on the mat", "a dog", "", "rain at the old station bridge", "the bank"]
    for kind in ("bert", "roberta", "t5"):
        on_cpu, on_card = (
            bsx.Scorer(model=tiny_model(kind), layer=2, device=device).score(texts, texts[::-1])
            for device in ("cpu", "cuda")
        )
        np.testing.assert_allclose(on_card.f1, on_cpu.f1, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta-v2"])
def test_any_texts_in_any_batches(kind: str, tiny_model: Callable[[str], str]) -> None:
    model = tiny_model(kind)

    @settings(max_examples=20, deadline=None)
    @given(pairs=PAIRS, batch_tokens=BATCHES)
    def holds(pairs: list[tuple[str, str]], batch_tokens: int) -> None:
        assert_equal(model, pairs, batch_tokens, "torch", "cuda")

    holds()


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_low_precision_on_real_pairs(dtype: Any, wmt17: Any) -> None:
    candidates, references, human = wmt17.candidates[:1000], wmt17.references[:1000], wmt17.human[:1000]
    formats: list[Any] = ["fp32", dtype]
    exact, low = (
        bsx.Scorer(model="minilm", device="cuda", dtype=name).score(candidates, references).f1 for name in formats
    )
    assert np.abs(exact - low).max() < 2e-3
    assert np.corrcoef(low, human)[0, 1] == pytest.approx(np.corrcoef(exact, human)[0, 1], abs=5e-4)


def test_matrix_and_cache_on_the_card(tiny_model: Callable[[str], str], tmp_path: Any) -> None:
    texts = ["the cat sat on the mat", "a dog", "rain at the old station bridge"]
    metric = bsx.get_metric("bertscore:layer=2", model=tiny_model("bert"), device="cuda")
    flat = metric.score([a for a in texts for _ in texts], texts * 3).values
    np.testing.assert_allclose(metric.score_matrix(texts, texts).reshape(-1), flat, atol=1e-5)
    scores = []
    for _ in range(2):
        scorer = bsx.Scorer(model=tiny_model("bert"), layer=2, device="cuda", cache=tmp_path)
        scores.append(scorer.score(texts, texts[::-1]).f1)
        scorer.encoders.flush()
    assert np.array_equal(scores[0], scores[1])
