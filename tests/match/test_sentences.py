"""The alignment of sentences against all monotone alignments written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bsx.errors import InputError
from bsx.match.sentences import AlignedSide, align_sentences, cost, kinds, summed

JOIN = 0.1
Path = tuple[tuple[int, int, int, int], ...]


def _sides(n: int, m: int, seed: int, most: int) -> tuple[AlignedSide, AlignedSide]:
    """Return two sides whose sentences are partly alike, and whose joined sentences are their sums."""
    draw = np.random.default_rng(seed)
    shared = draw.normal(size=(max(n, m), 6))
    both = []
    for size in (n, m):
        single = shared[:size] + 0.7 * draw.normal(size=(size, 6))
        both.append(summed(single / np.linalg.norm(single, axis=1, keepdims=True), most - 1))
    left, right = both
    return AlignedSide.of(left, right[0].mean(axis=0)), AlignedSide.of(right, left[0].mean(axis=0))


def _every(n: int, m: int, most: int, i: int = 0, j: int = 0) -> Iterator[Path]:
    """Yield all monotone alignments of what is left."""
    if (i, j) == (n, m):
        yield ()
        return
    for a, b in [*kinds(most), (1, 0), (0, 1)]:
        if i + a <= n and j + b <= m:
            for rest in _every(n, m, most, i + a, j + b):
                yield ((i, i + a, j, j + b), *rest)


def _total(left: AlignedSide, right: AlignedSide, path: Path, gap: float) -> float:
    return sum(cost(left, right, bead, JOIN) if bead[0] < bead[1] and bead[2] < bead[3] else gap for bead in path)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (4, 3), (3, 5)])
@pytest.mark.parametrize("most", [2, 3, 5])
@pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
def test_no_alignment_is_cheaper(n: int, m: int, most: int, gap: float) -> None:
    left, right = _sides(n, m, seed=n * 100 + m, most=most)
    found = align_sentences(left, right, most=most, gap=gap, join=JOIN)
    path = tuple((*bead.left, *bead.right) for bead in found)
    every = set(_every(n, m, most))
    least = min(_total(left, right, other, gap) for other in every)
    assert path in every
    assert _total(left, right, path, gap) == pytest.approx(least, abs=1e-12)
    assert sum(bead.cost for bead in found) == pytest.approx(least, abs=1e-12)


def test_same_sentences_stand_side_by_side() -> None:
    left, _ = _sides(40, 40, seed=3, most=5)
    twice = AlignedSide.of(left.spans, left.spans[0].mean(axis=0))
    found = align_sentences(twice, twice, most=5, gap=0.4, join=JOIN)
    assert [bead.kind for bead in found] == ["1-1"] * 40


def test_swapped_sides_are_the_same_alignment() -> None:
    left, right = _sides(30, 26, seed=5, most=5)
    there = align_sentences(left, right, most=5, gap=0.4, join=JOIN)
    back = align_sentences(right, left, most=5, gap=0.4, join=JOIN)
    assert sum(bead.cost for bead in there) == pytest.approx(sum(bead.cost for bead in back), abs=1e-9)


def test_a_document_beyond_the_memory_is_refused() -> None:
    spans = (np.ones((40_000, 1)),)
    side = AlignedSide.of(spans, np.ones(1))
    with pytest.raises(InputError, match="sentences"):
        align_sentences(side, side, most=2, gap=0.4, join=JOIN, budget=2**27)


def test_sums_are_of_sentences_that_follow_each_other() -> None:
    vectors = np.eye(4)
    one, two, three = summed(vectors, 3)
    assert (one == vectors).all()
    assert two[1] == pytest.approx([0, 0.5**0.5, 0.5**0.5, 0])
    assert three[1] == pytest.approx([0, *[3**-0.5] * 3])
    assert [len(span) for span in summed(vectors[:2], 3)] == [2, 1]


@pytest.mark.parametrize("join", [0.0, 0.1])
@pytest.mark.parametrize("sentences", [2, 5])
def test_repeated_sentences_stand_one_by_one_even_if_joining_costs_nothing(sentences: int, join: float) -> None:
    repeated = np.tile([[0.6, 0.8]], (sentences, 1))
    side = AlignedSide.of(summed(repeated, 4), np.array([0.8, 0.0]))
    found = align_sentences(side, side, most=5, gap=0.4, join=join)
    assert [(bead.left, bead.right) for bead in found] == [((i, i + 1), (i, i + 1)) for i in range(sentences)]
    assert [bead.cost for bead in found] == [0.0] * sentences


def test_the_cost_by_hand() -> None:
    left = AlignedSide.of(summed(np.array([[1.0, 0.0], [0.0, 1.0]]), 2), np.array([0.3, 0.4]))
    right = AlignedSide.of([np.array([[0.6, 0.8]])], np.array([0.5, 0.5]))
    assert left.far[0].tolist() == pytest.approx([0.7, 0.6])
    assert right.far[0].tolist() == pytest.approx([0.3])
    # Two sentences: 2 (1 - .6) / (.7 + .3) and 2 (1 - .8) / (.6 + .3).
    assert cost(left, right, (0, 1, 0, 1), 0.1) == pytest.approx(0.8)
    assert cost(left, right, (1, 2, 0, 1), 0.1) == pytest.approx(0.4 / 0.9)
    # Three: their sum is (1, 1) / sqrt 2, so 3 (1 - 1.4 / sqrt 2) / (1 - .7 / sqrt 2 + .3), and one joined.
    root = 2**0.5
    assert cost(left, right, (0, 2, 0, 1), 0.1) == pytest.approx(3 * (1 - 1.4 / root) / (1.3 - 0.7 / root) + 0.1)


def test_documents_without_sentences() -> None:
    side, none = AlignedSide.of([np.eye(2)], np.ones(2)), AlignedSide.of([], np.ones(2))
    assert (len(side), len(none)) == (2, 0)
    found = align_sentences(side, none, most=2, gap=0.4, join=JOIN)
    assert [(bead.kind, bead.cost) for bead in found] == [("1-0", 0.4)] * 2
    found = align_sentences(none, side, most=2, gap=0.4, join=JOIN)
    assert [(bead.left, bead.right) for bead in found] == [((0, 0), (0, 1)), ((0, 0), (1, 2))]
    assert align_sentences(none, none, most=2, gap=0.4, join=JOIN) == []
