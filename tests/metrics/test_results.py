"""A metric's scores as plain numbers."""

from __future__ import annotations

import math

import numpy as np

from bsx.metrics.results import MetricScores
from bsx.support.provenance import Signature

SIGNATURE = Signature.read("metric:m|layer:3")
NONE = np.zeros(0, dtype=np.int64)


def test_the_mean_of_a_metric_is_over_segments_that_have_a_score() -> None:
    values = np.array([0.5, math.nan, 1.0])
    flags = NONE, np.array([1]), np.array([0]), np.array([9])  # empty, undefined, truncated, and tokens lost of that
    found = MetricScores("m", values, 0.7, True, SIGNATURE, ("a", "b", "c"), *flags)
    counts = {"n": 3, "empty": 0, "undefined": 1, "truncated": 1, "tokens_lost": 9}
    assert found.to_dict().items() >= {**counts, "system": 0.7, "mean": 0.75}.items()
    assert (len(found), found[2], next(iter(found))) == (3, 1.0, 0.5)
    np.testing.assert_array_equal(np.asarray(found), values)
    assert found.to_frame()["m"].tolist()[::2] == [0.5, 1.0]
    none = MetricScores("m", np.full(1, math.nan), 0.7, True, SIGNATURE, ("a",), NONE, NONE, NONE, NONE)
    assert math.isnan(none.mean())
