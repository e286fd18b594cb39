"""The tests of benchmarks/languages.py."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

languages: Any = importlib.import_module("benchmarks.languages")


@pytest.mark.parametrize("better", [True, False])
def test_a_difference_is_as_clear_in_either_direction(better: bool) -> None:
    """Its p was one-sided: near 1 for what was clearly better, or clearly worse, whichever was named first."""
    rng = np.random.default_rng(1)
    human = rng.normal(size=80)
    noise = {"chrf": 2.0, "bertscore": 0.2} if better else {"chrf": 0.2, "bertscore": 2.0}
    scores = {name: (human + rng.normal(scale=scale, size=80)).tolist() for name, scale in noise.items()}
    scores["length"] = rng.normal(size=80).tolist()
    found = languages.agreement(
        languages.Judged("A", 2020, "en-de", "a.tsv"), "human", {"scores": scores, "human": {"human": human}}, {}
    )
    difference, p = found["figures"]["bertscore"]["against_chrf"]
    assert (difference > 0) == better
    assert p < 0.01
