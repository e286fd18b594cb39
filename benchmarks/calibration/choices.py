"""What `meta_evaluate` chooses by itself: tests, intervals, the average over groups; ensembles of unequal members."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.calibration.rates import covers, simulate, table
from bsx.analysis.ensemble.combine import combine
from bsx.analysis.meta.run import meta_evaluate
from bsx.support.checks import Array

DRAWS = 199  # resamples and permutations of each test
UNEQUAL = (1.0, 1.1, 1.2, 1.3, 1.5, 1.8)  # spread of six members' errors


def groups(rng: np.random.Generator, tails: int | None = None, n: int = 100, k: int = 5) -> dict[str, Array]:
    """Five language pairs of a hundred segments; two equally good metrics, r .5 with human judgments."""

    def noise() -> Array:
        if tails is None:
            return rng.normal(size=n * k)
        return np.asarray(rng.standard_t(tails, size=n * k) / np.sqrt(tails / (tails - 2)))

    quality = noise()
    columns = {name: quality + noise() for name in ("a", "b", "human")}
    return {**columns, "lp": np.repeat(np.arange(k), n)}


def unequal_groups(rng: np.random.Generator) -> dict[str, Array]:
    """Three small language pairs, with 20, 40 and 80 segments."""
    columns, sizes = groups(rng, n=140, k=1), (20, 40, 80)
    return {**columns, "lp": np.repeat(np.arange(3), sizes)}


def chosen(columns: dict[str, Array]) -> dict[str, bool]:
    """Tell what the defaults of a meta-evaluation find in the first group, and on average."""
    found = meta_evaluate(columns, ["a", "b"], "human", group="lp", resamples=DRAWS)
    first, average = found.groups[0], found.average
    assert average is not None
    return {
        "test in a group": first.tests[0].p_two_sided < 0.05,
        "test of the average": average.tests[0].p_two_sided < 0.05,
        "interval in a group": covers(first["a"].ci, 0.5),
        "interval of the average": covers(average["a"].ci, 0.5),
    }


def members(rng: np.random.Generator, spreads: tuple[float, ...], n: int = 200) -> dict[str, Array]:
    """Metrics whose errors are independent and spread so."""
    quality = rng.normal(size=n)
    columns = {f"m{j}": quality + spread * rng.normal(size=n) for j, spread in enumerate(spreads)}
    return {**columns, "human": quality + 0.7 * rng.normal(size=n)}


def gains(columns: dict[str, Array], spreads: tuple[float, ...]) -> dict[str, bool]:
    """Tell which intervals of the ensemble's gain over its best member hold the truth."""
    share = 1 / np.sqrt(1 + np.square(spreads))  # of quality in each standardised member
    together = share.sum() / np.sqrt(share.sum() ** 2 + (1 - share**2).sum())
    truth = float(together / share.max()) - 1
    names = [name for name in columns if name != "human"]
    held = {}
    for best in ("sample", "training"):
        found = combine(columns, names, "human", best=best, resamples=DRAWS).result
        held[f"gain over the best of the {best}"] = covers(found.average_ci, truth)
    return held


def section(runs: int) -> str:
    """Return the text of the section; ensembles take half as many replicates."""
    worlds: dict[str, Callable[[np.random.Generator], dict[str, Array]]] = {
        "five groups of 100, normal": groups,
        "five groups of 100, tails of t(5)": partial(groups, tails=5),
        "five groups of 100, tails of t(3)": partial(groups, tails=3),
        "groups of 20, 40 and 80, normal": unequal_groups,
    }
    rows: list[list[object]] = []
    for name, world in worlds.items():
        rows.append([name, *simulate(world, chosen, runs=runs).values()])
    half = max(runs // 2, 20)
    unequal: list[list[object]] = []
    for name, spreads in {"unequal": UNEQUAL, "one good, five poor": (0.8, *[2.0] * 5)}.items():
        found = simulate(partial(members, spreads=spreads), partial(gains, spreads=spreads), runs=half)
        unequal += [[name, interval, rate] for interval, rate in found.items()]
    parts = [
        "## What `meta_evaluate` chooses",
        "Two equally good metrics, r .5 with human judgments, in several groups; all settings at their defaults. So "
        "the weight of the tails decides between Fisher's interval with the Williams test, and bootstrap with "
        "permutation. The test of the average takes each group's standard error from its own test or interval.",
        table(["world", "size in a group", "size of the average", "coverage in a group", "of the average"], rows, runs),
        "With tails of t(3), intervals of r stay below their level: 100 rows say too little about such tails.",
        "### Ensembles of unequal members",
        table(["members", "interval", "coverage"], unequal, half),
    ]
    return "\n\n".join(parts)
