"""Intercepts of many levels: absorbed without a column each, or random and crossed, by sparse least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Shown
from bsx.support.untyped import Untyped

Codes = NDArray[np.int64]
"""Level of each row (n,), numbered from 0 without gaps."""

DENSE = 2000
"""Levels of the smaller column up to which its equations are solved as a full matrix."""
ZERO = 1e-4
"""A random intercept whose standard deviation is a smaller share of the rest's has none."""
LEAST, MOST = 1e-10, 1e6
"""Least share of a response that is taken to be unexplained, and largest ratio of an intercept's standard deviation to
the rest's: beyond them, as in a perfect fit, rounding decides about the equations."""


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

    Source: Frisch & Waugh 1933 for taking out; Gaure 2013 and Correia 2017 for two columns.

    Args:
        columns: (n, k).
        codes: level of each row, of one or two columns.

    Returns:
        What is left (n, k).
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
    left: Array = columns - (_sums(columns, of) / np.bincount(of)[:, None])[of]
    return left


def _crossed(a: Codes, b: Codes) -> Untyped:
    """Return how many rows have each pair of levels, as a sparse matrix (levels of a, levels of b)."""
    sparse = need("scipy.sparse", "intercepts")
    return sparse.coo_matrix((np.ones(len(a)), (a, b)), shape=(int(a.max()) + 1, int(b.max()) + 1)).tocsr()


def _components(codes: Sequence[Codes]) -> tuple[int, NDArray[np.int32]]:
    """Return how many sets of rows no level ties together, and of which each level is, those of the first first."""
    sparse, graph = need("scipy.sparse", "intercepts"), need("scipy.sparse.csgraph", "intercepts")
    cells = _crossed(codes[0], codes[1])
    found: tuple[int, NDArray[np.int32]] = graph.connected_components(sparse.bmat([[None, cells], [cells.T, None]]))
    return found


@dataclass(frozen=True, repr=False)
class Mixed(Shown):
    """A linear model with crossed random intercepts.

    Attributes:
        coef: fixed effects (p,).
        se: their standard errors (p,).
        df: their degrees of freedom, after Satterthwaite (p,).
        variances: of the intercepts of each column (k,).
        rest: residual variance.
        deviance: minus twice the restricted log-likelihood.
        converged: whether the search ended.
    """

    coef: Array
    se: Array
    df: Array
    variances: Array
    rest: float
    deviance: float
    converged: bool


@dataclass(frozen=True)
class _Profile:
    """What is known at given ratios of standard deviations.

    Attributes:
        determinants: logarithms of the two determinants, summed.
        left: penalised residual sum of squares.
        coef: fixed effects (p,).
        inverse: covariance of the fixed effects over the residual variance (p, p).
    """

    determinants: float
    left: float
    coef: Array = field(repr=False)
    inverse: Array = field(repr=False)


class CrossedIntercepts:
    """A linear model with a random intercept for each level of one or more columns, such as segment and system.

    The criterion is the profiled restricted deviance of Bates, Mächler, Bolker & Walker 2015, eq. 41, a function of
    the ratios of the intercepts' standard deviations to that of the rest. Its penalised least-squares equations have a
    diagonal block for the column with the most levels, which is taken out first; the others' block is then factorised,
    as a full matrix up to `DENSE` levels and as a sparse one beyond. All that is needed of the rows are cross products.

    Args:
        x: fixed effects, an intercept among them (n, p).
        codes: level of each row, for each column.
    """

    def __init__(self, x: Array, codes: Sequence[Codes]) -> None:
        sparse = need("scipy.sparse", "random intercepts")
        self.x = x
        self.order = sorted(range(len(codes)), key=lambda k: -int(codes[k].max()))
        self.first = codes[self.order[0]]
        self.others = [codes[k] for k in self.order[1:]]
        self.sizes = np.bincount(self.first).astype(np.float64)
        self.owner = np.repeat(np.arange(len(self.others)), [int(of.max()) + 1 for of in self.others])
        if self.others:
            self.cells = sparse.hstack([_crossed(self.first, of) for of in self.others]).tocsr()
            self.inner = sparse.bmat([[_crossed(a, b) for b in self.others] for a in self.others]).tocsr()
            if len(self.owner) <= DENSE:
                self.inner = self.inner.toarray()
                if self.cells.shape[0] * self.cells.shape[1] <= 5e6:
                    self.cells = self.cells.toarray()

    def fit(self, y: Array) -> Mixed:
        """Fit a response (n,) by restricted maximum likelihood.

        Degrees of freedom are those of Satterthwaite 1946 as Kuznetsova, Brockhoff & Christensen 2017 compute them.
        """
        optimize = need("scipy.optimize", "random intercepts")
        n, p = self.x.shape
        both = np.column_stack([self.x, y])
        moments = both.T @ both
        sums = (_sums(both, self.first), *(_sums(both, of) for of in self.others))

        def at(ratios: Array) -> _Profile:
            return self._profile(np.clip(ratios, -MOST, MOST), moments, sums)

        def deviance(ratios: Array) -> float:
            found = at(ratios)
            value: float = found.determinants + (n - p) * (1 + math.log(2 * math.pi * found.left / (n - p)))
            return value

        start = np.ones(len(self.order))
        found = optimize.minimize(  # ratios enter by their squares, so that the deviance is smooth at 0
            deviance, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9, "maxfev": 2000}
        )
        ratios = np.minimum(np.abs(found.x), MOST)
        ratios = np.where(ratios < ZERO, 0.0, ratios)
        best = at(ratios)
        rest = best.left / (n - p)
        variances = np.empty(len(ratios))
        variances[self.order] = np.square(ratios) * rest
        return Mixed(
            coef=best.coef,
            se=np.sqrt(np.diag(best.inverse) * rest),
            df=self._satterthwaite(at, ratios, rest),
            variances=variances,
            rest=rest,
            deviance=deviance(ratios),
            converged=bool(found.success),
        )

    def _profile(self, ratios: Array, moments: Array, sums: tuple[Array, ...]) -> _Profile:
        p = self.x.shape[1]
        scaled = ratios[0] ** 2 * self.sizes + 1
        weight = ratios[0] ** 2 / scaled
        determinants = float(np.log(scaled).sum())
        left = moments - sums[0].T @ (weight[:, None] * sums[0])
        if self.others:
            by = ratios[1:][self.owner]
            right = by[:, None] * (np.vstack(sums[1:]) - self.cells.T @ (weight[:, None] * sums[0]))
            solved, more = self._solve(weight, by, right)
            determinants += more
            left = left - right.T @ solved
        factor = np.linalg.cholesky(left[:p, :p])
        determinants += 2 * float(np.log(np.diag(factor)).sum())
        inverse = np.linalg.inv(left[:p, :p])
        coef = inverse @ left[:p, p]
        rest = max(float(left[p, p] - left[:p, p] @ coef), LEAST * float(moments[p, p]), 1e-300)
        return _Profile(determinants, rest, coef, inverse)

    def _solve(self, weight: Array, by: Array, right: Array) -> tuple[Array, float]:
        """Return the solution of the other columns' equations, and the logarithm of their determinant."""
        if isinstance(self.inner, np.ndarray):
            if isinstance(self.cells, np.ndarray):
                taken = self.cells.T @ (weight[:, None] * self.cells)
            else:
                taken = (self.cells.T @ self.cells.multiply(weight[:, None])).toarray()
            matrix = by[:, None] * (self.inner - taken) * by + np.eye(len(by))
            dense = need("scipy.linalg", "random intercepts")
            factor = dense.cho_factor(matrix, lower=True)
            return dense.cho_solve(factor, right), 2 * float(np.log(np.diag(factor[0])).sum())
        sparse, linalg = need("scipy.sparse", "random intercepts"), need("scipy.sparse.linalg", "random intercepts")
        scale = sparse.diags(by)
        inner = self.inner - self.cells.T @ sparse.diags(weight) @ self.cells
        equations = (scale @ inner @ scale + sparse.identity(len(by))).tocsc()
        split = linalg.splu(equations, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        return split.solve(right), float(np.log(np.abs(split.U.diagonal())).sum())

    def _satterthwaite(self, at: Untyped, ratios: Array, rest: float) -> Array:
        """Return the degrees of freedom of each fixed effect (p,), from derivatives by differences."""
        n, p = self.x.shape
        moving = np.flatnonzero(ratios > 0)
        steps = np.append(1e-3 * np.maximum(ratios[moving], 1e-2), 1e-3)

        def evaluate(shift: Array) -> tuple[float, Array]:
            moved = ratios.copy()
            moved[moving] += shift[:-1]
            scale = rest * math.exp(float(shift[-1]))
            found = at(moved)
            return found.determinants + (n - p) * math.log(scale) + found.left / scale, scale * np.diag(found.inverse)

        many = len(steps)
        unit = np.diag(steps)
        middle, variance = evaluate(np.zeros(many))
        ends = [(evaluate(unit[i]), evaluate(-unit[i])) for i in range(many)]
        gradient = np.array([(up[1] - down[1]) / (2 * steps[i]) for i, (up, down) in enumerate(ends)])  # (many, p)
        hessian = np.empty((many, many))
        for i in range(many):
            hessian[i, i] = (ends[i][0][0] - 2 * middle + ends[i][1][0]) / steps[i] ** 2
            for j in range(i):
                corners = [a * b * evaluate(a * unit[i] + b * unit[j])[0] for a in (1, -1) for b in (1, -1)]
                hessian[i, j] = hessian[j, i] = sum(corners) / (4 * steps[i] * steps[j])
        spread = np.einsum("ip,ij,jp->p", gradient, 2 * np.linalg.pinv(hessian, hermitian=True), gradient)
        df = 2 * np.square(variance) / np.maximum(spread, 1e-300)
        clipped: Array = np.clip(df, 1.0, float(n - p))
        return clipped


def refuse_levels(setting: str, column: str, codes: Codes) -> None:
    """Raise InputError for a column in which no intercept is told from the rows: one level, or a level a row."""
    levels, n = int(codes.max()) + 1, len(codes)
    if levels < 2:
        raise InputError(f"{setting}: {column} has one level in all {n:,} rows: there is nothing to tell apart")
    if levels == n:
        raise InputError(f"{setting}: {column}: {n:,} levels in {n:,} rows; an intercept needs several rows a level")
