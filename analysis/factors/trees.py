"""Ordered trees from dependency heads, and how much of two of them matches when labels do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError

Indices = NDArray[np.int32]
# A row of the table holds several subproblems side by side; each is lifted above the one before it by this much, so
# that one running maximum serves them all. Counts of words stay far below.
_LIFT = 1 << 14


class Tree:
    """A sentence's words as an ordered tree: dependents in the order of the words, the root without a parent node.

    A sentence with several roots is a forest, in the order of its roots. Subtrees need not be contiguous in the
    sentence (non-projective parses are trees like others).

    Args:
        heads: 1-based head of each word, 0 for a root, words in sentence order; empty for no words.

    Raises:
        InputError: naming the word, if a head does not exist or words depend on each other in a circle.
    """

    def __init__(self, heads: Sequence[int]) -> None:
        count = len(heads)
        if count >= _LIFT - 1:
            raise InputError(f"heads: {count} words are more than a sentence has")
        self.children: list[list[int]] = [[] for _ in range(count + 1)]
        for word, head in enumerate(heads, start=1):
            if not 0 <= head <= count:
                raise InputError(f"heads: word {word} has head {head}, but there are {count} words")
            self.children[head].append(word)
        self.size = count
        self.roots = len(self.children[0])
        self._walks: dict[tuple[bool, bool], Walk] = {}
        reached = len(self._postorder(mirrored=False)) - 1
        if reached != count:
            raise InputError(f"heads: {count - reached} of {count} words hang together in a circle, off every root")

    def _postorder(self, *, mirrored: bool) -> list[tuple[int, int]]:
        """Return (word, number of its children), children before their parent; the artificial top comes last."""
        # A walk that takes parents first and children from the far end is, read backwards, the order wanted.
        order, stack = [], [0]
        while stack:
            word = stack.pop()
            below = self.children[word]
            order.append((word, len(below)))
            stack.extend(reversed(below) if mirrored else below)
        return order[::-1]

    def walk(self, *, mirrored: bool, topped: bool) -> Walk:
        """Return the tree's decomposition along leftmost paths, or rightmost ones, as if children were ``mirrored``.

        If ``topped``, it has an artificial node above the roots.
        """
        if (mirrored, topped) not in self._walks:
            first: list[int] = []
            tops: list[int] = []  # subtrees not yet given to a parent, as indices of their roots
            for index, (_, degree) in enumerate(self._postorder(mirrored=mirrored)):
                below = tops[len(tops) - degree :]
                del tops[len(tops) - degree :]
                first.append(first[below[0]] if below else index)
                tops.append(index)
            self._walks[mirrored, topped] = Walk(first if topped else first[:-1])
        return self._walks[mirrored, topped]


@dataclass(frozen=True, eq=False)
class Walk:
    """A tree in postorder: for each node, the first node of its subtree (its leftmost leaf)."""

    first: list[int]

    @cached_property
    def keyroots(self) -> list[int]:
        """The last node of every leftmost path, in order."""
        return sorted({leaf: node for node, leaf in enumerate(self.first)}.values())

    @cached_property
    def cost(self) -> int:
        """Sum of the sizes of the subtrees of all keyroots: rows or columns of the table."""
        return sum(node - self.first[node] + 1 for node in self.keyroots)

    @cached_property
    def columns(self) -> tuple[Indices, Indices, Indices, Indices, Indices]:
        """This tree's keyroots side by side, each an empty column and one a node.

        Returns:
            node of each column (the number of nodes for an empty one); column before each column's subtree; height of
            an empty row; for each node, the column before it on its own path, and that column's height.
        """
        count = len(self.first)
        nodes: list[int] = []
        before: list[int] = []
        lift: list[int] = []
        own_column = [0] * count
        for number, root in enumerate(self.keyroots):
            empty, leaf = len(nodes), self.first[root]
            nodes.append(count)
            before.append(empty)
            for node in range(leaf, root + 1):
                start = empty + self.first[node] - leaf
                if start == empty:
                    own_column[node] = len(nodes) - 1
                nodes.append(node)
                before.append(start)
            lift += [number * _LIFT] * (root - leaf + 2)
        heights = np.array(lift, dtype=np.int32)
        own_before = np.array(own_column, dtype=np.intp)
        columns = (np.array(nodes, dtype=np.intp), np.array(before, dtype=np.intp), heights, own_before)
        return (*columns, heights[own_before])  # type: ignore[return-value]


def largest_match(a: Walk, b: Walk) -> int:
    """Return how many nodes of two trees can be mapped onto each other, order and ancestry kept.

    Zhang & Shasha 1989 (SIAM J. Comput. 18:1245) turned from costs to matches, which needs no case distinction when
    labels are free: with M(x, y) for the forests up to nodes x and y, M(x, y) = max(M(x - 1, y), M(x, y - 1),
    M(before x, before y) + T(x, y)), where T(x, y) = 1 + M(x - 1, y - 1) on the paths from the first leaves of both.
    T of a row depends on the row above only, so a row of all of b's subproblems is a handful of array operations: a's
    rows are gone through one by one, b's columns are done at once.
    """
    nodes, before, heights, own_before, own_heights = b.columns
    count = len(b.first)
    trees = np.zeros((len(a.first), count + 1), dtype=np.int32)
    gain = 1 - own_heights
    for root in a.keyroots:
        leaf = a.first[root]
        table = np.empty((root - leaf + 2, len(nodes)), dtype=np.int32)
        table[0] = heights
        above = table[0]
        for node in range(leaf, root + 1):
            start = a.first[node] - leaf
            matched = trees[node]
            if start == 0:
                np.add(above.take(own_before), gain, out=matched[:count])
            row = table[node - leaf + 1]
            np.add(table[start].take(before), matched.take(nodes), out=row)
            np.maximum(row, above, out=row)
            np.maximum.accumulate(row, out=row)
            above = row
    return int(trees[-1, count - 1])
