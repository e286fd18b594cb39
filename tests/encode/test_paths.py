"""Scores do not depend on the path: PyTorch and the graphs that bsx builds agree on whatever text there is.

tests/test_cuda.py asks the same of a graphics card.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from tests.encode.test_onnx import BUILT
from tests.helpers.paths import BATCHES, PAIRS, assert_equal

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("kind", BUILT)
def test_any_texts_in_any_batches(kind: str, tiny_model: Callable[[str], str]) -> None:
    model = tiny_model(kind)

    @settings(max_examples=8, deadline=None)
    @given(pairs=PAIRS, batch_tokens=BATCHES)
    def holds(pairs: list[tuple[str, str]], batch_tokens: int) -> None:
        assert_equal(model, pairs, batch_tokens, "onnx")

    holds()


@settings(max_examples=3, deadline=None)
@given(pairs=PAIRS, batch_tokens=BATCHES)
def test_any_texts_with_real_weights(pairs: list[tuple[str, str]], batch_tokens: int) -> None:
    assert_equal("minilm", pairs, batch_tokens, "onnx")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*BUILT, "minilm", "me5-small-q4"])
def test_many_more_texts(kind: str, tiny_model: Callable[[str], str]) -> None:
    model = tiny_model(kind) if kind in BUILT else kind

    @settings(max_examples=400 if kind in BUILT else 60, deadline=None)
    @given(pairs=PAIRS, batch_tokens=BATCHES)
    def holds(pairs: list[tuple[str, str]], batch_tokens: int) -> None:
        assert_equal(model, pairs, batch_tokens, "onnx")

    holds()
