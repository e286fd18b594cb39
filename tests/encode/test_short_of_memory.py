"""What happens where a batch does not fit: nothing of it is kept alive, what waits is planned anew, matching halves."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import bsx
from bsx.encode.batching import Batcher
from bsx.encode.torch_encoder import TransformerEmbedder
from bsx.errors import InputError
from bsx.match import greedy
from bsx.match.greedy import FlatVectors, match_pairs, match_product
from tests.conftest import Model
from tests.helpers.matches import assert_same_matches


def opened(folder: str, dtype: Any = "fp32") -> TransformerEmbedder:
    located = bsx.Encoders(backend="torch").locate(folder)
    return TransformerEmbedder(located.architecture, layers=[2], device="cpu", dtype=dtype)


def test_failed_batches_are_let_go_and_the_rest_is_planned_anew(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = opened(tiny_model("bert"))
    sequences = [[2, *range(5, 5 + length), 3] for length in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) for _ in range(12)]

    def encoded(batcher: Batcher) -> dict[int, NDArray[np.float32]]:
        batches = batcher.run(sequences)
        return {i: vectors[0, row, : len(sequences[i])] for batch, vectors in batches for row, i in enumerate(batch)}

    expected = encoded(Batcher(embedder, 64))
    failed: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []
    sizes: list[int] = []
    plain = embedder.hidden_states

    def on_a_small_card(ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        gc.collect()
        alive.append(sum(1 for ref in failed if ref() is not None))
        sizes.append(ids.numel())
        states = plain(ids, mask)
        if ids.numel() > 110:
            failed.append(weakref.ref(states))
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return states

    monkeypatch.setattr(embedder, "hidden_states", on_a_small_card)
    batcher = Batcher(embedder, 800)
    found = encoded(batcher)
    assert found.keys() == expected.keys()
    for i, vectors in found.items():
        np.testing.assert_allclose(vectors, expected[i], atol=1e-5)
    # 792, 396, 204 do not fit, 108 does: each size is tried once, because what waits is planned anew.
    assert len(failed) == sum(size > 110 for size in sizes) == 3
    assert max(alive) == 0
    assert batcher.batch_tokens <= 110


def queueing(folder: str, monkeypatch: pytest.MonkeyPatch, most: int = 10**9) -> tuple[Any, list[tuple[str, int]]]:
    """Return an embedder that takes batches as a graphics card does, and what it is told: begin or ask, and tokens.

    Batches that were begun and not asked for yet take memory together; with ``most`` tokens it is full.
    """
    embedder, log, held = opened(folder), list[tuple[str, int]](), list[int]()
    plain = embedder.begin

    def begin(ids: Any, mask: Any) -> Callable[[], Any]:
        log.append(("begin", ids.size))
        if sum(held) + ids.size > most:
            raise MemoryError("CUDA out of memory.")
        held.append(ids.size)
        finished = plain(ids, mask)

        def ask() -> Any:
            log.append(("ask", ids.size))
            held.remove(ids.size)
            return finished()

        return ask

    monkeypatch.setattr(embedder, "queues", True)
    monkeypatch.setattr(embedder, "begin", begin)
    return embedder, log


def test_a_card_has_the_next_batch_before_one_is_asked_for(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = [[2, *range(5, 5 + length), 3] for length in (1, 2, 3, 4, 5, 6) for _ in range(4)]
    embedder, log = queueing(tiny_model("bert"), monkeypatch)
    expected = [(batch, vectors.copy()) for batch, vectors in Batcher(opened(tiny_model("bert")), 16).run(sequences)]
    found = list(Batcher(embedder, 16).run(sequences))
    assert [batch for batch, _ in found] == [batch for batch, _ in expected]
    for (_, ours), (_, theirs) in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    in_flight = np.cumsum([1 if what == "begin" else -1 for what, _ in log])
    assert len(found) > 4
    assert in_flight.max() == 2
    # Whenever one is asked for, but for the last, the card has another one to work on.
    left = [int(n) for n, (what, _) in zip(in_flight, log, strict=True) if what == "ask"]
    assert left == [1] * (len(found) - 1) + [0]


def test_a_card_short_of_memory_has_one_batch_at_a_time(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two of 12 tokens do not fit beside one another; each fits alone, and is one sequence that cannot be halved.
    embedder, log = queueing(tiny_model("bert"), monkeypatch, most=20)
    sequences = [[2, *range(5, 15), 3]] * 4
    found = list(Batcher(embedder, 12).run(sequences))
    assert sorted(i for batch, _ in found for i in batch) == [0, 1, 2, 3]
    assert [what for what, _ in log] == ["begin", "begin", "ask", "begin", "ask", "begin", "ask", "begin", "ask"]
    embedder, log = queueing(tiny_model("bert"), monkeypatch, most=10)
    with pytest.raises(InputError, match="one text of 12 tokens does not fit"):
        list(Batcher(embedder, 12).run(sequences))


def test_vectors_that_are_no_numbers_are_found_when_a_batch_is_asked_for(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, _ = queueing(tiny_model("bert"), monkeypatch)
    states = embedder.hidden_states
    monkeypatch.setattr(embedder, "hidden_states", lambda ids, mask: states(ids, mask) * float("nan"))
    begun = embedder.begin(np.array([[2, 5, 3]]), None)
    with pytest.raises(InputError, match="no finite numbers"):
        begun()


def test_an_unpadded_batch_has_no_mask(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = opened(tiny_model("bert"))
    masks: list[torch.Tensor | None] = []
    plain = embedder.hidden_states

    def noting(ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        masks.append(mask)
        return plain(ids, mask)

    monkeypatch.setattr(embedder, "hidden_states", noting)
    list(Batcher(embedder, 1).run([[2, 5, 6, 3], [2, 7, 3]]))
    assert masks == [None, None]


def test_products_have_the_precision_of_the_number_format(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    torch.set_float32_matmul_precision("medium")  # somebody else's
    try:
        for dtype in ("fp32", "tf32"):
            embedder = opened(tiny_model("bert"), dtype)

            def noting(*batch: Any, plain: Any = embedder.hidden_states) -> Any:
                seen.append(torch.get_float32_matmul_precision())
                return plain(*batch)

            monkeypatch.setattr(embedder, "hidden_states", noting)
            list(Batcher(embedder, 64).run([[2, 5, 3]]))
            assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["highest", "high"]


def window(texts: int) -> FlatVectors:
    random = np.random.default_rng(3)
    lengths = random.integers(1, 6, texts)
    vectors = random.standard_normal((1, int(lengths.sum()) + 1, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    vectors[:, -1] = 0
    weights = np.append(np.ones(int(lengths.sum()), np.float32), np.float32(0))
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return FlatVectors(vectors, weights, weights > 0, offsets, lengths)


def test_matching_halves_its_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = window(12)
    left, right = (grid.reshape(-1) for grid in np.meshgrid(np.arange(6), np.arange(6, 12), indexing="ij"))
    one_by_one, product = match_pairs(texts, left, right), match_product(texts, np.arange(6), np.arange(6, 12))
    plain, tried = greedy.padded_rows, []

    def on_a_small_card(of: FlatVectors, chosen: NDArray[np.int64]) -> Any:
        tried.append(len(chosen))
        if len(chosen) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return plain(of, chosen)

    monkeypatch.setattr(greedy, "padded_rows", on_a_small_card)
    assert_same_matches(match_pairs(texts, left, right), one_by_one)
    assert max(tried) == 36
    assert_same_matches(match_product(texts, np.arange(6), np.arange(6, 12)), product)
    monkeypatch.setattr(greedy, "padded_rows", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("CUDA …")))
    with pytest.raises(InputError, match="one pair of texts does not fit"):
        match_pairs(texts, left, right)


def test_encoders_ask_a_card_for_nothing_before_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from bsx.encode import session

    asked: list[str] = []

    def asking(what: str, answer: object) -> Callable[..., object]:
        def ask(*_: object) -> object:
            asked.append(what)
            return answer

        return ask

    monkeypatch.setattr(session, "choose_device", lambda _: "cuda")
    monkeypatch.setattr(session, "choose_dtype", asking("dtype", "fp32"))
    monkeypatch.setattr(session, "memory_budget", asking("memory", 1))
    encoders = bsx.Encoders(dtype="bf16")
    assert asked == []  # a process may still fork
    assert encoders.budget == 1
    assert encoders.dtype == "fp32"
    assert asked == ["memory", "dtype"]
