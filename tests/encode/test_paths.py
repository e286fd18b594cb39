"""Scores do not depend on the path: PyTorch and the graphs that bsx builds agree on whatever text there is.

tests/test_cuda.py asks the same of a graphics card.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.conftest import Model
from tests.encode.test_onnx import BUILT
from tests.helpers.paths import BATCHES, PAIRS, assert_equal

pytestmark = pytest.mark.usefixtures("one_thread")


def many(kind: str, examples: int) -> object:
    return pytest.param(kind, examples, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        *((kind, 8) for kind in BUILT),
        ("minilm", 3),
        *(many(kind, 400) for kind in BUILT),
        *(many(kind, 60) for kind in ("minilm", "me5-small-q4")),
    ],
)
def test_any_texts_in_any_batches(kind: str, examples: int, tiny_model: Model) -> None:
    model = tiny_model(kind) if kind in BUILT else kind

    @settings(max_examples=examples, deadline=None)
    @given(pairs=PAIRS, batch_tokens=BATCHES)
    def holds(pairs: list[tuple[str, str]], batch_tokens: int) -> None:
        assert_equal(model, pairs, batch_tokens, "onnx")

    holds()
