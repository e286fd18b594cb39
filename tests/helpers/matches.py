"""Scores of the same matches, summed in another order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def assert_same_matches(found: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    """Assert that precision, recall and F1 (…, 3) are those expected, up to the order of sums in fp32.

    Precision and recall differ by a few units in the last place. F1 is the ratio of two such sums, of which the lower
    may be near 0 where vectors are random and cosines take both signs: it is compared where it is not.
    """
    np.testing.assert_allclose(found[..., :2], expected[..., :2], atol=2e-6)
    p, r = expected[..., 0], expected[..., 1]
    steady = np.isnan(p) | np.isnan(r) | (np.abs(p + r) > 0.1)
    np.testing.assert_allclose(found[steady][:, 2], expected[steady][:, 2], atol=1e-4)
