"""Averages over groups, and gains over weak members, keep their promises: the section of the page in small."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.calibration import averages
from benchmarks.calibration.rates import simulate


@pytest.mark.slow
def test_groups_that_share_segments_are_not_taken_for_independent() -> None:
    found = simulate(partial(averages.sharing, share=0.7), averages.averaged, runs=60)
    assert found["size"].near(0.05)
    assert found["coverage"].share > 0.85  # of independent groups, .72


def test_the_loss_against_a_weak_member_is_covered() -> None:
    loads = averages.WEAK["r .12, and one upside down"]
    found = simulate(partial(averages.members, loads=loads), partial(averages.lost, loads=loads), runs=40)
    assert found["gain"].near(0.95)
    assert found["difference of r"].near(0.95)
    assert found["gain without bounds"].share < 0.2
