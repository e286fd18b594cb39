"""Cross-validation folds for segments that share texts, and the check that none of them leaks."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.resample import Seed
from bsx.errors import InputError
from bsx.support.optional import need

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """Rows to train on and rows to test on.

    Attributes:
        name: of the fold, for readers.
        train: row numbers (t,).
        test: row numbers (m,).
    """

    name: str
    train: Rows
    test: Rows


def keys_of(labels: Sequence[str]) -> Rows:
    """Number the distinct labels, apart from case and white space; every blank one is a key of its own (n,)."""
    numbers: dict[str, int] = {}
    folded = [" ".join(label.casefold().split()) for label in labels]
    return np.array([numbers.setdefault(key or f"\0{i}", len(numbers)) for i, key in enumerate(folded)], dtype=np.int64)


def units(columns: Sequence[Sequence[str]], rows: int) -> Rows:
    """Number the sets of rows that belong together: rows that share a label in any column, directly or over others.

    Args:
        columns: labels (n,) each: a segment's name, a text. Case and white space do not count; blank cells bind
            nothing.
        rows: n.

    Returns:
        The unit of each row (n,), counted from 0.

    >>> units([["s1", "s2", "s3", "s4"], ["a cat", "A  cat", "dog", "ant"]], 4).tolist()
    [0, 0, 1, 2]
    """
    sparse = need("scipy.sparse", "cross-validation")
    graph = need("scipy.sparse.csgraph", "cross-validation")
    start, nodes, edges = rows, rows, []
    for column in columns:
        keys = keys_of(column) + start
        edges.append(keys)
        start = nodes = int(keys.max(initial=start - 1)) + 1
    if not edges:
        return np.arange(rows, dtype=np.int64)
    left, right = np.tile(np.arange(rows), len(edges)), np.concatenate(edges)
    matrix = sparse.coo_matrix((np.ones(len(left), dtype=np.int8), (left, right)), shape=(nodes, nodes))
    result = graph.connected_components(matrix, directed=False)[1][:rows]
    return np.unique(result, return_inverse=True)[1].astype(np.int64)


def unit_folds(of: Rows, folds: int, seed: Seed = 1) -> list[Fold]:
    """Divide rows into folds of about the same size; the rows of a unit come into the same fold.

    Args:
        of: unit of each row (n,), counted from 0.
        folds: how many.
        seed: of the order in which units of one size are dealt out.

    Raises:
        InputError: if there are fewer units than folds, or under 2 folds.
    """
    sizes = np.bincount(of)
    if folds < 2:
        raise InputError(f"folds={folds}: at least 2 are needed")
    if len(sizes) < folds:
        raise InputError(
            f"{folds} folds need as many segments that share no text; these rows have {len(sizes)}: ask for fewer folds"
        )
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]  # large units first: small ones even out
    dealt = np.empty(len(sizes), dtype=np.int64)
    filled = [(0, k) for k in range(folds)]  # a heap: the emptiest fold, of several the first
    for unit, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        rows, k = filled[0]
        dealt[unit] = k
        heapq.heapreplace(filled, (rows + size, k))
    digits, fold_of = len(str(folds)), dealt[of]  # as many digits in each name, so that names sort as numbers do
    return [
        Fold(f"fold {k + 1:0{digits}}", np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k))
        for k in np.unique(fold_of).tolist()
    ]


def refuse_leak(folds: Sequence[Fold], columns: Mapping[str, Sequence[str]]) -> None:
    """Check that no test row shares its segment or a text with a row that its weights are trained on.

    Args:
        folds: the folds.
        columns: column name -> label of each row (n,), as for `units`.

    Raises:
        InputError: naming the fold, the column, the shared label and a row of either part.
    """
    keys = {name: keys_of(column) for name, column in columns.items()}
    for fold in folds:
        both = np.intersect1d(fold.train, fold.test)
        if len(both):
            raise InputError(f"leak: {fold.name} tests row {both[0] + 1}, which it is trained on too")
        for name, key in keys.items():
            shared = np.isin(key[fold.test], key[fold.train])
            if shared.any():
                test = int(fold.test[np.argmax(shared)])
                train = int(fold.train[np.argmax(key[fold.train] == key[test])])
                raise InputError(
                    f"leak: {fold.name} tests row {test + 1} and is trained on row {train + 1}, which has the same "
                    f"{name}, {columns[name][test][:60]!r}; {int(shared.sum())} of its {len(fold.test)} test rows do "
                    "so. Put rows that share a segment or a text into one fold"
                )
