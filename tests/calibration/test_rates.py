"""The runner of the calibration page."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.rates import Rate, simulate, table


def test_a_known_size_is_found_and_replicates_do_not_depend_on_their_number() -> None:
    seen: list[float] = []

    def world(rng: np.random.Generator) -> float:
        seen.append(rng.random())
        return seen[-1]

    rate = simulate(world, lambda p: {"p": p < 0.05}, runs=2000)["p"]
    assert rate.near(0.05)
    assert not rate.near(0.1)
    simulate(world, lambda p: {"p": p < 0.05}, runs=3)
    assert seen[:3] == seen[-3:]


def test_rates_are_printed_with_their_error() -> None:
    assert str(Rate(20, 400)) == "0.050 ± 0.011"
    assert Rate(0, 100).error > 0
    assert table(["world", "size"], [["a", Rate(20, 400)]], 400).splitlines()[2] == "| a | 0.050 ± 0.011 |"
