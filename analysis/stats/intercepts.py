"""Intercepts of many levels, absorbed without a column each, by sparse least squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped

Codes = NDArray[np.int64]
"""Level of each row (n,), numbered from 0 without gaps."""

DENSE = 2000
"""Levels of the smaller column up to which its equations are solved as a full matrix."""


def level_codes(labels: Sequence[str]) -> Codes:
    """Return the level of each row, numbered from 0."""
    return np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1].astype(np.int64)


def rows_within(codes: Sequence[Codes]) -> NDArray[np.int64]:
    """Return the rows that tell something about what is within levels: none is the only row of a level.

    Rows are left out until none of the rest is alone in its level, in any column.

    Source: Correia 2015, "Singletons, cluster-robust standard errors and fixed effects: a bad mix".
    """
    rows = np.arange(len(codes[0]))
    while True:
        alone = np.any([np.bincount(of[rows])[of[rows]] < 2 for of in codes], axis=0)
        if not alone.any():
            return rows
        rows = rows[~alone]


def absorbed(codes: Sequence[Codes]) -> int:
    """Return how many degrees of freedom the intercepts of one or two columns take.

    Of two columns that is the number of all levels, less that of the sets of rows that no level ties to one another.
    """
    levels = [int(of.max()) + 1 for of in codes]
    return sum(levels) - (0 if len(codes) == 1 else int(_components(codes)[0]))


def absorb(columns: Array, codes: Sequence[Codes]) -> Array:
    """Take the intercepts of one or two columns of levels out of others: residuals of least squares on all dummies.

    The intercepts of the column with more levels are means, so that only those of the other are left to be solved for.

    Of columns (n, k) as much is left (n, k).

    Source: Frisch & Waugh 1933 for taking out; Gaure 2013 and Correia 2017 for two columns.
    """
    if len(codes) == 1:
        return _centred(columns, codes[0])
    large, small = sorted(codes, key=lambda of: -int(of.max()))
    sparse, linalg = need("scipy.sparse", "absorbing"), need("scipy.sparse.linalg", "absorbing")
    cells = _crossed(large, small)
    weights = sparse.diags(1 / np.bincount(large))
    equations = (sparse.diags(np.bincount(small).astype(np.float64)) - cells.T @ weights @ cells).tocsr()
    right = _sums(_centred(columns, large), small)
    of_level = _components((large, small))[1][int(large.max()) + 1 :]
    free = np.setdiff1d(np.arange(len(of_level)), np.unique(of_level, return_index=True)[1])  # one a set is 0
    solved = np.zeros_like(right)
    if len(free):
        equations = equations[free][:, free]
        if len(free) <= DENSE:
            dense = need("scipy.linalg", "absorbing")
            solved[free] = dense.solve(equations.toarray(), right[free], assume_a="pos")
        else:
            scale = sparse.diags(1 / equations.diagonal())
            for j in range(right.shape[1]):
                solved[free, j] = linalg.cg(equations, right[free, j], rtol=1e-11, maxiter=5000, M=scale)[0]
    return _centred(columns - solved[small], large)


def _sums(columns: Array, of: Codes) -> Array:
    """Return the sums over levels (levels, k) of columns (n, k)."""
    return np.column_stack([np.bincount(of, column) for column in columns.T])


def _centred(columns: Array, of: Codes) -> Array:
    return np.asarray(columns - (_sums(columns, of) / np.bincount(of)[:, None])[of])


def _crossed(a: Codes, b: Codes) -> Untyped:
    """Return how many rows have each pair of levels, as a sparse matrix (levels of a, levels of b)."""
    sparse = need("scipy.sparse", "intercepts")
    return sparse.coo_matrix((np.ones(len(a)), (a, b)), shape=(int(a.max()) + 1, int(b.max()) + 1)).tocsr()


def _components(codes: Sequence[Codes]) -> tuple[int, NDArray[np.int32]]:
    """Return how many sets of rows no level ties together, and of which each level is, those of the first first."""
    sparse, graph = need("scipy.sparse", "intercepts"), need("scipy.sparse.csgraph", "intercepts")
    cells = _crossed(codes[0], codes[1])
    parts: tuple[int, NDArray[np.int32]] = graph.connected_components(sparse.bmat([[None, cells], [cells.T, None]]))
    return parts
