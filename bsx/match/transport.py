"""Optimal transport between the units of two texts: exact, by network simplex."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.match.ngrams import Units
from bsx.match.pairs import BATCH_NUMBERS, batches
from bsx.optional import need

Cost = Literal["squared", "euclidean"]
_WORTHWHILE = 32  # pairs for which a second thread pays
_SHARE = 16  # pairs a thread solves in a row


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
    ot = need("ot", "optimal transport")
    sources = _with_mass(units)
    targets = sources if right_units is None else _with_mass(right_units)
    costs = np.full(len(left), np.nan)
    defined = np.flatnonzero((sources.lengths[left] > 0) & (targets.lengths[right] > 0))
    masses = [_shares(side) for side in (sources, targets)]

    def solve(pair: int, distance: NDArray[np.float64]) -> None:
        a, b = masses[0](left[pair]), masses[1](right[pair])
        distance = np.ascontiguousarray(distance[: len(a), : len(b)])
        if trim:
            costs[pair] = _trimmed(ot.emd(a, b, distance, check_marginals=False), distance, trim)
        elif len(a) == 1 or len(b) == 1:
            costs[pair] = a @ distance @ b  # there is one plan only
        else:
            costs[pair] = ot.emd2(a, b, distance, check_marginals=False)

    def solve_some(pairs: Sequence[int], distances: NDArray[np.float64]) -> None:
        for pair, distance in zip(pairs, distances, strict=True):
            solve(pair, distance)

    # The solver lets go of Python's lock, so that pairs are solved side by side.
    workers = os.cpu_count() or 1 if len(defined) >= _WORTHWHILE else 1
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="bsx-transport") as pool:
        for chosen, distances in _distances(sources, targets, left[defined], right[defined], cost):
            pairs = defined[chosen].tolist()
            starts = range(0, len(pairs), _SHARE)
            parts = ((pairs[i : i + _SHARE], distances[i : i + _SHARE]) for i in starts)
            list(pool.map(solve_some, *zip(*parts, strict=True)))
    return costs


def _with_mass(units: Units) -> Units:
    """Return the units that have mass."""
    keep = units.masses > 0
    kept = np.concatenate([[0], np.cumsum(keep)])
    offsets = kept[units.offsets]
    rows = torch.from_numpy(np.flatnonzero(keep)).to(units.vectors.device)
    lengths = kept[units.offsets + units.lengths] - offsets
    return Units(units.vectors.index_select(0, rows), units.masses[keep], offsets, lengths)


def _shares(units: Units) -> Callable[[int], NDArray[np.float64]]:
    """Return a function: text -> its units' masses, which sum to 1."""
    masses = units.masses.astype(np.float64)
    totals = np.add.reduceat(np.append(masses, 0.0), units.offsets) if len(units.offsets) else np.zeros(0)

    def of(text: int) -> NDArray[np.float64]:
        first = units.offsets[text]
        return np.asarray(masses[first : first + units.lengths[text]] / totals[text])

    return of


def _distances(
    sources: Units, targets: Units, left: NDArray[np.int64], right: NDArray[np.int64], cost: Cost
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield pairs of similar sizes and their padded distances (pairs, left units, right units)."""
    dimensions = sources.vectors.shape[-1]
    budget = BATCH_NUMBERS.get(sources.vectors.device.type, 2_000_000)
    for chosen in batches(sources.lengths[left], targets.lengths[right], dimensions, budget):
        x = sources.vectors[_rows(sources, left[chosen])]
        y = targets.vectors[_rows(targets, right[chosen])]
        squared = (2 - 2 * torch.bmm(x, y.transpose(1, 2)).double()).clamp_min_(0)
        yield chosen, (squared if cost == "squared" else squared.sqrt_()).cpu().numpy()


def _rows(units: Units, texts: NDArray[np.int64]) -> torch.Tensor:
    """Return the rows of each text's units (texts, longest); padding points to any row, its cells are cut off."""
    lengths = units.lengths[texts]
    positions = np.minimum(np.arange(lengths.max())[None, :], lengths[:, None] - 1)
    return torch.from_numpy(units.offsets[texts][:, None] + positions).to(units.vectors.device)


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
