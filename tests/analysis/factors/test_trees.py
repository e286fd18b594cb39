"""Tree edit distance against two independent packages and known examples."""

# ruff: noqa: S311

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.analysis.factors.syntax import syn, syn_scores, tree_edit_distance
from bsx.errors import InputError


def random_heads(n: int, rng: random.Random, roots: int = 1) -> list[int]:
    """A random tree (or forest) on n words, bushy or deep, projective or not."""
    order = rng.sample(range(1, n + 1), n)
    deep = rng.random()
    heads = [0] * n
    for place, word in enumerate(order):
        if place >= roots:
            nearest = max(0, place - 3) if rng.random() < deep else 0
            heads[word - 1] = order[rng.randrange(nearest, place)]
    return heads


def from_brackets(text: str) -> list[int]:
    """Heads of a tree written {a{b}{c}}, its nodes as words in preorder: sibling order is all that counts."""
    heads, stack = [], [0]
    for mark in re.findall(r"\{|\}", text):
        if mark == "{":
            heads.append(stack[-1])
            stack.append(len(heads))
        else:
            stack.pop()
    return heads


def test_distance_equals_zss_and_apted() -> None:
    """Forests too, below a node above their roots: where renaming is free, it goes with the one of the other side."""
    zss = pytest.importorskip("zss")
    apted = pytest.importorskip("apted")
    rng = random.Random(7)

    def zss_tree(heads: list[int]) -> object:
        nodes = [zss.Node("x") for _ in range(len(heads) + 1)]
        for word, head in enumerate(heads, start=1):
            nodes[head].addkid(nodes[word])
        return nodes[0]

    class Free(apted.Config):  # type: ignore[misc, name-defined]
        def rename(self, one: object, two: object) -> int:
            return 0

    def brackets(heads: list[int], word: int) -> str:
        return "{x" + "".join(brackets(heads, w) for w, head in enumerate(heads, start=1) if head == word) + "}"

    for roots in (1, 2) * 40:
        a, b = (random_heads(rng.randint(roots, 18), rng, roots) for _ in range(2))
        ours = tree_edit_distance(a, b)
        assert ours == zss.simple_distance(zss_tree(a), zss_tree(b))
        one, two = (apted.helpers.Tree.from_text(brackets(heads, 0)) for heads in (a, b))
        assert ours == apted.APTED(one, two, Free()).compute_edit_distance()


def test_distance_of_the_reference_examples(shared: Path) -> None:
    examples = json.loads((shared / "reference_values.json").read_text())["ted_examples"]
    for example in examples:
        a, b = from_brackets(example["t1"]), from_brackets(example["t2"])
        assert tree_edit_distance(a, b) == example["ted"], example
        assert syn(a, b) == pytest.approx(example["syn"], abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 25))
def test_distance_is_symmetric_bounded_and_of_the_right_parity(seed: int, n: int, m: int) -> None:
    rng = random.Random(seed)
    a, b = random_heads(n, rng), random_heads(m, rng)
    distance = tree_edit_distance(a, b)
    assert distance == tree_edit_distance(b, a)
    assert abs(n - m) <= distance <= n + m - 2
    assert (distance - n - m) % 2 == 0
    assert tree_edit_distance(a, a) == 0


def test_forests_and_nothing() -> None:
    assert tree_edit_distance([], []) == 0
    assert tree_edit_distance([], [0, 1]) == 2
    assert tree_edit_distance([0, 0, 0], [0, 0]) == 1
    assert tree_edit_distance([0, 0], [0, 1]) == 2  # side by side against one above the other
    assert syn([], [0]) == 0
    assert syn([], []) != syn([], [])  # NaN: nothing to compare


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 5], "word 2 has head 5, but there are 2 words"),
        ([-1], "word 1 has head -1"),
        ([2, 1], "2 of 2 words hang together in a circle"),
        ([0, 3, 2], "2 of 3 words hang together in a circle"),
        ([1], "1 of 1 words"),
    ],
)
def test_broken_trees_are_refused(heads: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tree_edit_distance(heads, [0])


def test_many_pairs_are_the_same_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    pairs = [tuple(tuple(random_heads(rng.randint(1, 9), rng)) for _ in range(2)) for _ in range(40)]
    monkeypatch.setattr("bsx.analysis.factors.syntax._AT_ONCE", 15)
    reports: list[tuple[int, int]] = []
    scores = syn_scores(pairs, report=lambda *state: reports.append(state))  # type: ignore[arg-type]
    assert scores.tolist() == [syn(a, b) for a, b in pairs]
    assert reports[-1][0] == reports[-1][1]
