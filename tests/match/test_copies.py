"""How often matching waits for a device: results are copied back together, however many batches there were."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode

from bsx.encode.states import normalise
from bsx.match import greedy, transport
from bsx.match.greedy import BATCH_NUMBERS, FlatVectors, match_pairs, match_product
from bsx.match.ngrams import Units
from bsx.support.arrays import gathered

# What tells the processor how many numbers there are, or which, when it computes on tensors.
ASKS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal")


class _Asked(TorchDispatchMode):
    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts = counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition(".")[0]
        if name in ASKS:
            self.counts["asked"] += 1
        if name == "aten::bmm" or name == "aten::mm":
            self.counts["products"] += 1
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def waits() -> Iterator[Counter[str]]:
    """Count what would wait for a graphics card if these tensors were on one: copies, and questions."""
    counts = Counter[str]()
    copy = torch.Tensor.cpu

    def copied(self: torch.Tensor) -> torch.Tensor:
        counts["copies"] += 1
        return copy(self)

    with pytest.MonkeyPatch.context() as patch, _Asked(counts):
        patch.setattr(torch.Tensor, "cpu", copied)
        yield counts


def made(texts: int) -> Units:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 9, texts)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    vectors = torch.from_numpy(rng.normal(size=(int(lengths.sum()), 8)).astype(np.float32))
    return Units(normalise(vectors), rng.random(len(vectors)).astype(np.float32), offsets, lengths)


@pytest.fixture(autouse=True)
def _as_on_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep results in tensors, as on a card; on the processor they would be NumPy's."""
    monkeypatch.setattr(greedy, "zeros", lambda shape, device: torch.zeros(shape, device=device))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BATCH_NUMBERS, "cpu", 400)


def test_what_waits_is_counted() -> None:
    with waits() as counts:
        numbers = torch.ones(3)
        numbers.cpu()
        float(numbers.sum())
        numbers.nonzero()
    assert counts == {"copies": 1, "asked": 2}


@pytest.mark.usefixtures("small")
def test_pairs_are_copied_once() -> None:
    window, left, right = FlatVectors.of(made(40)), np.arange(20), np.arange(20, 40)
    with waits() as counts:
        match_pairs(window, left, right)
    assert counts["products"] > 5
    assert (counts["copies"], counts["asked"]) == (1, 0)


@pytest.mark.parametrize(("held", "copies"), [(1200, 1), (1199, 2), (599, 3), (1, 10)])
def test_a_product_is_copied_when_there_is_much_of_it(held: int, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # 20 x 20 pairs have 1,200 numbers; two candidates, 120.
    window, left, right = FlatVectors.of(made(40)), np.arange(20), np.arange(20, 40)
    whole = match_product(window, left, right)
    monkeypatch.setitem(BATCH_NUMBERS, "cpu", held)
    by_two = [np.arange(i, i + 2) for i in range(0, 20, 2)]
    monkeypatch.setattr(greedy, "_groups", lambda *_: iter(by_two))
    with waits() as counts:
        found = match_product(window, left, right)
    np.testing.assert_allclose(found[..., :2], whole[..., :2], atol=2e-6)
    assert (counts["products"], counts["copies"], counts["asked"]) == (100, copies, 0)


@pytest.mark.usefixtures("small")
def test_transport_copies_each_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    units, left, right = made(40), np.arange(20), np.arange(20, 40)
    batches = list(greedy.batches(units.lengths[left], units.lengths[right], 8, BATCH_NUMBERS["cpu"]))
    assert len(batches) > 3
    order = list[str]()
    with waits() as counts:
        for _ in transport._batched(units, units, left, right, "euclidean"):
            order.append(f"{counts['products']} {counts['copies']}")
    assert (counts["copies"], counts["asked"]) == (len(batches), 0)
    # While the pairs of a batch are solved, the device has the next one already.
    assert order == [f"{min(i + 2, len(batches))} {i + 1}" for i in range(len(batches))]


def test_parts_are_gathered_by_one_copy() -> None:
    parts: list[tuple[list[int] | NDArray[np.int64], torch.Tensor]]
    parts = [([3, 0], torch.tensor([0.5, 1.5]).double()), (np.array([2]), torch.tensor([2.5]).double())]
    with waits() as counts:
        values = gathered(parts, 5)
    assert values.tolist() == [1.5, 0.0, 2.5, 0.5, 0.0]
    assert counts == {"copies": 1}
    assert gathered([], 2).tolist() == [0, 0]
