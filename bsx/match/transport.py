"""Optimal transport between the units of two texts: exact, by network simplex."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.match.ngrams import Units
from bsx.optional import need

Cost = Literal["squared", "euclidean"]


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
    sides = [_with_mass(side) for side in (units, right_units if right_units is not None else units)]
    costs = np.full(len(left), np.nan)
    for pair, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        a, x = sides[0](i)
        b, y = sides[1](j)
        if not len(a) or not len(b):
            continue
        distance = np.maximum(2.0 - 2.0 * (x @ y.T).astype(np.float64), 0.0)
        if cost == "euclidean":
            distance = np.sqrt(distance)
        if trim:
            costs[pair] = _trimmed(ot.emd(a, b, distance, check_marginals=False), distance, trim)
        elif len(a) == 1 or len(b) == 1:
            costs[pair] = a @ distance @ b  # there is one plan only
        else:
            costs[pair] = ot.emd2(a, b, distance, check_marginals=False)
    return costs


class _with_mass:  # noqa: N801 - a function with memory
    """Return the masses and vectors of one text's units that have mass; remembers texts that come again."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._vectors = units.vectors.cpu().numpy()
        self._seen: dict[int, tuple[NDArray[np.float64], NDArray[np.float32]]] = {}

    def __call__(self, text: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        if text not in self._seen:
            rows = slice(int(self._units.offsets[text]), int(self._units.offsets[text] + self._units.lengths[text]))
            masses = self._units.masses[rows].astype(np.float64)
            present = masses > 0
            self._seen[text] = masses[present] / max(masses.sum(), 1e-300), self._vectors[rows][present]
        return self._seen[text]


def _trimmed(flow: NDArray[np.float64], distance: NDArray[np.float64], share: float) -> float:
    """Return the cost of a plan without its smallest flows.

    Flows strictly below the max(floor(share * n), 1)-th smallest of the n positive ones count nothing. Source: the
    released code of Zhao et al. 2020, in which tiny masses added to every token make the smallest flows depend on the
    solver; here there are none.
    """
    positive = np.sort(flow[flow > 0])
    threshold = positive[max(int(share * len(positive)), 1) - 1]
    return float((np.where(flow < threshold, 0.0, flow) * distance).sum())
