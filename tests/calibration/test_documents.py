"""Metrics are compared over whole documents and segments: the calibration page in small, and in full where slow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pytest

from benchmarks.calibration import documents
from benchmarks.calibration.rates import Rate, simulate


def rates(
    world: Callable[[np.random.Generator], documents.Rows],
    measure: Callable[[documents.Rows], Mapping[str, bool]],
    runs: int,
) -> dict[str, Rate]:
    return simulate(world, measure, runs=runs, seed=2)


def test_documents_keep_the_level_that_rows_lose() -> None:
    found = rates(partial(documents.documents, count=10), documents.by_documents, 60)
    assert found["size, documents"].near(0.05)
    assert found["coverage, documents"].near(0.95)
    assert not found["size, by itself"].near(0.05)
    assert not found["coverage, by itself"].near(0.95)


@pytest.mark.slow
def test_rows_of_one_segment_are_drawn_together() -> None:
    found = rates(partial(documents.documents, count=60, size=5), documents.by_segments, 60)
    assert found["size, segments"].near(0.05)
    assert found["coverage, segments"].near(0.95)
    assert not found["size, by itself"].near(0.05)


@pytest.mark.slow
def test_every_table_holds_its_level() -> None:
    for world in documents.SECTION.tables[0].worlds:
        counted = {name: Rate(*count) for name, count in world.counts(0, 300).items()}
        assert counted["size, documents"].near(0.05), world.name
        assert counted["coverage, documents"].near(0.95), world.name
    for world in documents.FEW.worlds:
        counted = {name: Rate(*count) for name, count in world.counts(0, 300).items()}
        assert counted["difference"].share >= 0.91, world.name
        assert counted["r"].share >= 0.91, world.name
