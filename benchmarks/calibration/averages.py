"""Averages over groups that share segments, and gains of ensembles over a best member that agrees little."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.ensemble.combine import combine
from bsx.analysis.meta.run import meta_evaluate
from bsx.support.checks import Array

DRAWS = 199  # resamples of each interval
Columns = dict[str, Array]


def sharing(rng: np.random.Generator, share: float, systems: int = 1, n: int = 80, k: int = 5) -> Columns:
    """Two equally good metrics, r .5 with people; groups have a share of every variance in common."""

    def part() -> Array:
        common, own = rng.normal(size=(1, n, systems)), rng.normal(size=(k, n, systems))
        drawn: Array = (math.sqrt(share) * common + math.sqrt(1 - share) * own).ravel()
        return drawn

    quality = part()
    columns = {name: quality + part() for name in ("a", "b", "human")}
    columns |= {"lp": np.repeat(np.arange(k), n * systems), "segment": np.tile(np.repeat(np.arange(n), systems), k)}
    return columns | ({"system": np.tile(np.arange(systems), n * k)} if systems > 1 else {})


def averaged(columns: Columns, **how: Any) -> dict[str, bool]:
    """Tell what the average over groups finds."""
    places: dict[str, Any] = {name: name for name in ("system", "segment") if name in columns}
    found = meta_evaluate(columns, ["a", "b"], "human", group="lp", resamples=DRAWS, **places, **how).average
    assert found is not None
    rates = {"size": found.tests[0].p_two_sided < 0.05}
    return rates | ({"coverage": covers(found["a"].ci, 0.5)} if not how else {})


def members(rng: np.random.Generator, loads: tuple[float, ...], n: int = 1000) -> Columns:
    """Metrics with so much of a quality of which people have half."""
    quality = rng.normal(size=n)
    columns = {f"m{j}": load * quality + math.sqrt(1 - load**2) * rng.normal(size=n) for j, load in enumerate(loads)}
    return columns | {"human": 0.5 * quality + math.sqrt(0.75) * rng.normal(size=n)}


def lost(columns: Columns, loads: tuple[float, ...]) -> dict[str, bool]:
    """Tell which intervals over the best member hold the truth."""
    load = np.array(loads)
    together = load.sum() / math.sqrt(len(load) + load.sum() ** 2 - float(load @ load))
    found = combine(columns, [name for name in columns if name != "human"], "human", resamples=DRAWS).result
    rates = {"difference of r": covers(found.average_difference_ci, 0.5 * float(together - load.max()))}
    if not math.isnan(found.average_gain):
        rates["gain"] = covers(found.average_ci, float(together / load.max()) - 1)
    return rates | {"gain without bounds": not found.bounded}


WEAK = {"r .12, and one upside down": (0.24, -0.117), "r .30, and five of noise": (0.6, *[0.0] * 5)}
WEAK["r .05, and one upside down"] = (0.1, -0.05)
FOUR: dict[str, dict[str, Any]] = {"pooled": {}, "acc_eq": {"statistic": "acc_eq"}}
FOUR["within segments"] = {"grouping": "item"}

SECTION = Section(
    "averages",
    "Averages over groups, and weak members",
    (
        Table(
            "Five groups that share 80 segments",
            "Two equally good metrics, r .5 with human judgments; groups have half or .7 of every variance in common.",
            ("size", "coverage"),
            [
                *(
                    World(f"rows, {share} in common", partial(sharing, share=share), averaged)
                    for share in (0.0, 0.5, 0.7)
                ),
                World(
                    "rows, 0.7 in common, Spearman",
                    partial(sharing, share=0.7),
                    partial(averaged, statistic="spearman"),
                ),
                *(
                    World(
                        f"four systems, 0.7 in common, {name}",
                        partial(sharing, share=0.7, systems=4),
                        partial(averaged, **how),
                    )
                    for name, how in FOUR.items()
                ),
            ],
        ),
        Table(
            "Ensembles that lose against a member that agrees little",
            "The ensemble is 60 % worse than its best member, on 1,000 rows. Coverage of intervals, and how often r "
            "of the best member is not clearly above 0, so that the gain has no bounds.",
            ("gain", "difference of r", "gain without bounds"),
            [World(name, partial(members, loads=loads), partial(lost, loads=loads)) for name, loads in WEAK.items()],
        ),
    ),
)
