"""The paths that scores can take: PyTorch on the CPU or a card, and ONNX Runtime on bsx's own graphs, held together."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

import bsx

PIECES = (
    *("the", "cat", "walked", "slowly", "Rain,", "2,000", "(it's)", "--", "e\u0301", "ẞ", "İstanbul", "ＡＢＣ①"),
    *("我们", "在这里", "नमस्ते", "สวัสดี", "مرحبا", "שלום", "Он", "🤗", "👩\u200d👩\u200d👧", "x" * 70),
    *("\u200b", "\ufffd", "\u0000", "", "\t", "\u00a0"),
    *("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<s>", "</s>", "<pad>", "<mask>", "<unk>"),
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=14).map(" ".join)
LONG = TEXTS.map(lambda text: text * 9)  # beyond what a tiny model reads
PAIRS = st.lists(st.tuples(TEXTS | LONG, TEXTS), min_size=1, max_size=6)
BATCHES = st.sampled_from([1, 16, 64, 1000])
TOLERANCE = 1e-5


@functools.lru_cache(maxsize=16)
def scorer(model: str, backend: Any, device: str, batch_tokens: int | None) -> bsx.Scorer:
    return bsx.Scorer(model=model, all_layers=True, backend=backend, device=device, batch_tokens=batch_tokens)


def assert_equal(
    model: str, pairs: list[tuple[str, str]], batch_tokens: int, backend: str, device: str = "cpu"
) -> None:
    """Compare a path, in other batches and another order, with PyTorch's on the CPU: P, R and F1 of every layer.

    F1 not where P or R is negative, as with random weights it may be: it blows rounding up.
    """
    expected = scorer(model, "torch", "cpu", None).score(*map(list, zip(*pairs, strict=True)))
    order = np.random.default_rng(len(pairs)).permutation(len(pairs))
    got = scorer(model, backend, device, batch_tokens).score(*map(list, zip(*(pairs[i] for i in order), strict=True)))
    assert sorted(order[got.empty].tolist()) == expected.empty.tolist()
    for name in ("precision", "recall"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name)[:, order], atol=TOLERANCE, rtol=0)
    tame = (np.minimum(expected.precision, expected.recall) >= 0)[:, order]
    np.testing.assert_allclose(got.f1[tame], expected.f1[:, order][tame], atol=TOLERANCE, rtol=0)
