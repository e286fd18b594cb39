"""``bsx.plan_meta`` of tables whose columns of names say less than their texts."""

from __future__ import annotations

from typing import Any

import numpy as np

import bsx


def test_metrics_are_planned_over_segments_though_ids_number_rows() -> None:
    """Three systems on 60 segments."""
    human, *noise = np.random.default_rng(1).normal(size=(3, 180))
    table: dict[str, Any] = {"system": [*"abc"] * 60, "human": human.tolist()}
    table |= {"chrf": (human + noise[0]).tolist(), "ter": (human + 2 * noise[1]).tolist()}
    table |= {"id": [f"s{i // 3}" for i in range(180)], "source": [f"text of s{i // 3}" for i in range(180)]}
    shared = bsx.plan_meta(table=table, columns=["chrf", "ter"], human="human", effect=0.1)
    table["id"] = [*range(180)]
    table["system"][7] = ""  # of a system that is not known
    found = bsx.plan_meta(table=table, columns=["chrf", "ter"], human="human", effect=0.1)
    assert found.pilot is not None
    assert found.pilot == shared.pilot
    assert (found.pilot.units, found.needed.units) == (60, shared.needed.units)
    assert any("id" in note for note in found.notes)
