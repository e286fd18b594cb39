"""Optimal transport between the units of two texts: exact, by network simplex."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.encode.run_config import threads
from bsx.match.greedy import BATCH_NUMBERS, batches, halving, padded_rows
from bsx.match.ngrams import Units
from bsx.support.arrays import Array, device_type, fetch
from bsx.support.optional import need
from bsx.support.untyped import Untyped

Cost = Literal["squared", "euclidean"]
# From positions in a row of pairs to their distances: a matrix each, the text with fewer units along its rows, because
# the solver is faster so. Of two texts with as many the left one.
Distances = Callable[[range], list[NDArray[np.float64]]]
_WORTHWHILE = 32  # pairs for which a second thread pays
_SHARE = 128  # pairs a thread solves in a row at most; handing over a share takes as long as a pair or two
_MOST_PIVOTS = 100_000  # ot.emd2's default


def transport_costs(
    units: Units,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    *,
    cost: Cost,
    right_units: Units | None = None,
    trim: float = 0.0,
) -> NDArray[np.float64]:
    """Return the least cost of moving each left text's mass to its right text.

    Solves min <F, C> with F >= 0, F 1 = a, F' 1 = b, both masses normalised to 1, by POT's network simplex. The cost
    is that of unit vectors: 2 - 2 cos, or its root. Source: Kusner et al. 2015; Zhao et al. 2019, equation 1.

    Args:
        units: units of all texts.
        left: index of each pair's left text (pairs,).
        right: index of each pair's right text (pairs,).
        cost: squared or plain Euclidean distance.
        right_units: units of the right texts, if they are others than the left texts'.
        trim: this share of the flows, the smallest ones, is left out of the cost; see `_trimmed`.

    Returns:
        Costs (pairs,); NaN where a text has no mass.
    """
    solver = need("ot.lp.emd_wrap", "optimal transport")
    sources, targets = units, units if right_units is None else right_units
    spans = [_spans(side) for side in (sources, targets)]
    totals = [_by_text(side.masses.astype(np.float64), side) for side in (sources, targets)]
    costs = np.full(len(left), np.nan)
    defined = np.flatnonzero((totals[0] > 0)[left] & (totals[1] > 0)[right])

    shares, sums = [], []  # each unit's share of its text's mass, what they add up to; the solver passes over zeros
    for side, mass in zip((sources, targets), totals, strict=True):
        whole = np.repeat(mass, side.lengths)
        shares.append(np.divide(side.masses, whole, out=np.zeros(len(whole)), where=whole > 0))
        sums.append(_by_text(shares[-1], side))
    scales = np.divide(sums[0][left], sums[1][right], out=np.ones(len(left)), where=sums[1][right] > 0).tolist()
    lefts, rights = left.tolist(), right.tolist()

    def solve(pair: int, distance: NDArray[np.float64]) -> float:
        a, b = shares[0][spans[0][lefts[pair]]], shares[1][spans[1][rights[pair]]] * scales[pair]  # of equal sums
        if len(a) > len(b):
            a, b = b, a
        if not trim and len(a) == 1:
            return float(a @ distance @ b)  # there is one plan only
        # The compiled solver itself, since ot.emd2 takes longer around it than it takes.
        flow, least, _, _, outcome = solver.emd_c(a, b, distance, _MOST_PIVOTS, 1)
        solver.check_result(outcome)  # warns unless the optimum was found
        return _trimmed(flow, distance, trim) if trim else float(least)

    def solve_some(pairs: NDArray[np.int64], distances: Distances, start: int) -> None:
        positions = range(start, min(start + share, len(pairs)))
        some = pairs[start : positions.stop].tolist()
        costs[some] = [solve(pair, distance) for pair, distance in zip(some, distances(positions), strict=True)]

    # Solver and np.dot (not np.matmul) let go of Python's lock, so pairs are done side by side; each product by one
    # thread, because threads that share products of this size wait for each other more than they compute.
    workers = threads() if len(defined) >= _WORTHWHILE else 1
    share = min(_SHARE, max(1, -(-len(defined) // workers)))
    with (
        _blas().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(max_workers=workers, thread_name_prefix="bsx-transport") as pool,
    ):
        way = _sliced if device_type(sources.vectors.device) == "cpu" else _batched
        for chosen, distances in way(sources, targets, left[defined], right[defined], cost):
            pairs = defined[chosen]
            list(pool.map(partial(solve_some, pairs, distances), range(0, len(pairs), share)))
    return costs


def check_solver() -> None:
    """Raise MissingExtraError unless the packages that solve transport problems are here."""
    need("ot.lp.emd_wrap", "optimal transport")
    need("threadpoolctl", "optimal transport")


@cache
def _blas() -> Untyped:
    """Return what sets the threads of NumPy's linear algebra."""
    return need("threadpoolctl", "optimal transport").ThreadpoolController()


def _spans(units: Units) -> list[slice]:
    """Return where the units of each text are (texts,)."""
    return [*map(slice, units.offsets, units.offsets + units.lengths)]


def _by_text(masses: NDArray[np.float64], units: Units) -> NDArray[np.float64]:
    """Return sums of what the units of each text have (texts,)."""
    if not len(units.offsets):
        return np.zeros(0)
    return np.where(units.lengths > 0, np.add.reduceat(np.append(masses, 0.0), units.offsets), 0.0)


def _sliced(
    sources: Units, targets: Units, left: NDArray[np.int64], right: NDArray[np.int64], cost: Cost
) -> Iterator[tuple[NDArray[np.int64], Distances]]:
    """Multiply two slices when a pair's turn comes, where a batch would first have to copy them."""
    x, y = (fetch(side.vectors) for side in (sources, targets))
    spans = _spans(sources), _spans(targets)
    sizes = sources.lengths[left] * targets.lengths[right]
    lefts, rights = left.tolist(), right.tolist()

    def products(positions: range) -> list[NDArray[np.float64]]:
        ends = np.cumsum(sizes[positions.start : positions.stop])
        flat = np.empty(ends[-1], dtype=np.float32)
        parts = []
        for at, end in zip(positions, ends.tolist(), strict=True):
            a, b = x[spans[0][lefts[at]]], y[spans[1][rights[at]]]
            if len(a) > len(b):
                a, b = b, a
            np.dot(a, b.T, out=flat[end - len(a) * len(b) : end].reshape(len(a), len(b)))
            parts.append((end, len(a), len(b)))
        costs = _length(flat, cost)  # of all at once: the matrices are small, and a call takes as long as its work
        return [costs[end - rows * columns : end].reshape(rows, columns) for end, rows, columns in parts]

    yield np.arange(len(left)), products


def _batched(
    sources: Units, targets: Units, left: NDArray[np.int64], right: NDArray[np.int64], cost: Cost
) -> Iterator[tuple[NDArray[np.int64], Distances]]:
    """Multiply pairs of similar sizes at once, where a device wants large products and few transfers."""
    budget = BATCH_NUMBERS.get(device_type(sources.vectors.device), 2_000_000)
    done: list[tuple[NDArray[np.int64], Array]] = []

    def multiply(pairs: NDArray[np.int64]) -> None:
        x, y = sources.vectors[padded_rows(sources, left[pairs])], targets.vectors[padded_rows(targets, right[pairs])]
        done.append((pairs, x @ y.mT))

    def fetched() -> Iterator[tuple[NDArray[np.int64], Distances]]:
        ready = [(chosen, fetch(products)) for chosen, products in done]
        done.clear()
        return (
            (chosen, partial(_cut, products, sources.lengths[left[chosen]], targets.lengths[right[chosen]], cost))
            for chosen, products in ready
        )

    for batch in batches(sources.lengths[left], targets.lengths[right], sources.vectors.shape[-1], budget):
        before = fetched()
        halving(multiply, batch)  # a card does it while those before are solved
        yield from before
    yield from fetched()


def _cut(
    products: NDArray[np.float32], rows: NDArray[np.int64], columns: NDArray[np.int64], cost: Cost, pairs: range
) -> list[NDArray[np.float64]]:
    cut = (products[pair, : rows[pair], : columns[pair]] for pair in pairs)
    return [_length(part.T if part.shape[0] > part.shape[1] else part, cost) for part in cut]


def _length(products: NDArray[np.float32], cost: Cost) -> NDArray[np.float64]:
    """Return distances of unit vectors from their inner products."""
    squared = products.astype(np.float64, order="C")
    squared *= -2
    squared += 2
    np.maximum(squared, 0, out=squared)
    return squared if cost == "squared" else np.sqrt(squared, out=squared)


def _trimmed(flow: NDArray[np.float64], distance: NDArray[np.float64], share: float) -> float:
    """Return the cost of a plan without its smallest flows.

    Flows strictly below the max(floor(share * n), 1)-th smallest of the n positive ones count nothing. Source: the
    released code of Zhao et al. 2020, in which tiny masses added to every token make the smallest flows depend on the
    solver. Here a flow that is only the solver's rounding is none, and flows equal but for rounding are equal.
    """
    rounding = 1e-12
    positive = np.sort(flow[flow > rounding])
    threshold = positive[max(int(share * len(positive)), 1) - 1] - rounding
    return float((np.where(flow < threshold, 0.0, flow) * distance).sum())
