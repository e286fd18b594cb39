"""Agreement with people, tests between metrics, detection, ensembles: size at .05, coverage at .95, world by world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration.rates import Rate, covers, simulate, table
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis import (
    Comparison,
    bootstrap_correlations,
    compare_auc,
    compare_darr,
    compare_grouped,
    compare_ties,
    grouped,
    paired_bootstrap,
    pearson,
    perm_both,
    roc_auc,
    williams,
)
from bsx.analysis.ensemble.combine import combine
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.stats.systems.darr import preferences
from bsx.support.checks import Array

DRAWS = 199  # resamples and permutations of each test


@dataclass(frozen=True)
class Pair:
    """Two equally good metrics and people.

    Attributes:
        a: scores (systems, segments), or (n,).
        b: scores of the second, of the same shape.
        human: human scores.
        truth: the correlation of either with people that intervals are about; NaN where none is known.
    """

    a: Array
    b: Array
    human: Array
    truth: float = float("nan")


def exchangeable(rng: np.random.Generator) -> Pair:
    """Ten systems, sixty segments; errors of cells are independent."""
    quality = rng.normal(size=(10, 60))
    noise = rng.normal(size=(3, 10, 60))
    a, b, human = quality + noise
    return Pair(a, b, human, truth=0.5)


def shared_errors(rng: np.random.Generator) -> Pair:
    """A metric errs alike on all outputs of a segment, and people find some segments worse than others."""
    human = rng.normal(size=(10, 60)) + rng.normal(size=(1, 60))
    a, b = human + 0.3 * rng.normal(size=(2, 10, 60)) + rng.normal(size=(2, 1, 60))
    return Pair(a, b, human)


def biased_systems(rng: np.random.Generator) -> Pair:
    """A metric favours some systems and people do not."""
    human = rng.normal(size=(10, 60)) + rng.normal(size=(10, 1))
    a, b = human + rng.normal(size=(2, 10, 60)) + rng.normal(size=(2, 10, 1))
    return Pair(a, b, human)


def uneven_segments(rng: np.random.Generator) -> Pair:
    """On some segments one metric is good and the other poor; which of them is chance."""
    human = np.round(rng.normal(size=(8, 40)))  # with many ties
    a, b = human + rng.normal(size=(2, 8, 40)) * np.exp(rng.normal(size=(2, 1, 40)))
    return Pair(a, b, human)


def independent_rows(rng: np.random.Generator, tails: float = np.inf, n: int = 100) -> Pair:
    """Rows; with ``tails``, all three scores of a row are large together, as t of so many degrees of freedom."""
    scale = 1.0 if np.isinf(tails) else np.sqrt(tails / rng.chisquare(tails, n))
    quality = rng.normal(size=n)
    a, b, human = (quality + rng.normal(size=(3, n))) * scale
    return Pair(a, b, human, truth=0.5)


Tests = Mapping[str, Callable[[Pair], Comparison]]


def by_segments(pair: Pair) -> Comparison:
    """Compare DARR taus, with preferences from half a standard deviation on."""
    better, worse = preferences(pair.human, threshold=0.5)
    a, b = ((scores[better], scores[worse]) for scores in (pair.a, pair.b))
    return compare_darr(a, b, better[1], resamples=DRAWS)


def matrices(test: Callable[..., Comparison], **how: object) -> Callable[[Pair], Comparison]:
    """Return a test of a pair's scores."""
    return lambda pair: test(pair.a, pair.b, pair.human, resamples=DRAWS, **how)


def of_means(pair: Pair) -> Comparison:
    """Williams test of system means."""
    return williams(*(z.mean(axis=1) for z in (pair.a, pair.b, pair.human)))


POOLED: Tests = {
    "bootstrap over segments (default)": matrices(compare_grouped),
    "permutation of segments": matrices(perm_both, swap="segments", plus_one=True),
    "PERM-BOTH (mt-metrics-eval)": matrices(perm_both),
}
SYSTEMS: Tests = {
    "Williams (default)": of_means,
    "permutation of systems (mt-metrics-eval)": matrices(perm_both, by="means", swap="systems", plus_one=True),
    "bootstrap over systems": matrices(compare_grouped, by="means", resample="systems"),
    "bootstrap over both": matrices(compare_grouped, by="means", resample="both"),
    "bootstrap over segments: other target": matrices(compare_grouped, by="means"),
    "PERM-BOTH: other target": matrices(perm_both, by="means"),
}
TIES: Tests = {
    "acc_eq, whole segments (default)": matrices(compare_ties, epsilon_a=0.5, epsilon_b=0.5, plus_one=True),
    "acc_eq, pairs (mt-metrics-eval)": matrices(compare_ties, epsilon_a=0.5, epsilon_b=0.5, swap="pairs"),
    "DARR, bootstrap over segments (default)": by_segments,
}
ROWS: Tests = {
    "Williams": lambda pair: williams(pair.a, pair.b, pair.human),
    "permutation of rows": matrices(perm_both, plus_one=True),
    "paired bootstrap": matrices(paired_bootstrap),
}
WORLDS: dict[str, tuple[Callable[[np.random.Generator], Pair], Tests]] = {
    "pooled r, independent errors": (exchangeable, POOLED),
    "pooled r, segments share errors": (shared_errors, POOLED),
    "r of systems, independent errors": (exchangeable, SYSTEMS),
    "r of systems, biased systems": (biased_systems, SYSTEMS),
    "ties, uneven segments": (uneven_segments, TIES),
    "r of rows, normal": (independent_rows, ROWS),
    "r of rows, tails of t(3)": (partial(independent_rows, tails=3), ROWS),
}


def sizes(
    runs: int, worlds: Mapping[str, tuple[Callable[[np.random.Generator], Pair], Tests]] = WORLDS
) -> list[list[object]]:
    """Return world, test, and how often the test calls two equally good metrics different."""
    rows: list[list[object]] = []
    for name, (world, tests) in worlds.items():
        rates = simulate(
            world,
            lambda pair, tests=tests: {test: run(pair).p_two_sided < 0.05 for test, run in tests.items()},  # type: ignore[misc]
            runs=runs,
        )
        rows += [[name, test, rate] for test, rate in rates.items()]
    return rows


def intervals(pair: Pair) -> dict[str, bool]:
    """Tell which intervals of a correlation hold the truth."""
    if pair.a.ndim == 2:
        return {"bootstrap over segments": covers(grouped(pair.a, pair.human, resamples=DRAWS).ci, pair.truth)}
    found = {
        "Fisher": pearson(pair.a, pair.human),
        "bootstrap": pearson(pair.a, pair.human, interval="bootstrap", resamples=DRAWS),
    }
    return {name: covers(one.ci, pair.truth) for name, one in found.items()}


def clustered(rng: np.random.Generator) -> tuple[Array, Array, NDArray[np.int64], float]:
    """Eighty sets of four pairs that share a sentence: labels, scores, sets, and the true area (0.760)."""
    of = np.repeat(np.arange(80), 4)
    labels = (rng.normal(size=80)[of] + 0.3 * rng.normal(size=320) > 0).astype(np.float64)
    scores = labels + rng.normal(size=80)[of] * 0.9 + rng.normal(size=320) * 0.4359
    return labels, scores, of, 0.7602499389065233


def areas(drawn: tuple[Array, Array, NDArray[np.int64], float]) -> dict[str, bool]:
    """Tell which intervals of the area hold the truth, and which tests find a difference of two equal metrics."""
    labels, scores, of, truth = drawn
    rng = np.random.default_rng(int(1e6 * abs(scores[0])))
    other = labels + rng.normal(size=80)[of] * 0.9 + rng.normal(size=320) * 0.4359
    return {
        "clusters: coverage": covers(roc_auc(labels, scores, cluster=of).ci, truth),
        "rows: coverage": covers(roc_auc(labels, scores).ci, truth),
        "clusters: size": compare_auc(scores, other, labels, cluster=of).p_two_sided < 0.05,
        "rows: size": compare_auc(scores, other, labels).p_two_sided < 0.05,
    }


Columns = dict[str, Array]


def many(rng: np.random.Generator, k: int, units: int, size: int = 1, better: float = 0.0) -> Columns:
    """Metrics that are equally good, but for the first where it is better, and people; units hold rows alike by half.

    Args:
        rng: of the draws.
        k: metrics.
        units: documents, or rows.
        size: rows of a document.
        better: share of the first metric's error variance that is gone.
    """

    def drawn() -> Array:
        whole: Array = rng.normal(size=units * size)
        return whole if size == 1 else (np.repeat(rng.normal(size=units), size) + whole) / np.sqrt(2)

    quality = drawn()
    columns = {f"m{i}": quality + np.sqrt(1 - better * (i == 0)) * drawn() for i in range(k)}
    return {**columns, "human": quality + drawn(), "doc": np.repeat(np.arange(units), size)}


def announced(columns: Columns, document: str | None = None) -> dict[str, bool]:
    """Tell whether the first sentence of `meta` calls a metric worse than the highest, and the first the best."""
    metrics = [name for name in columns if name.startswith("m")]
    ways: dict[str, dict[str, Any]] = {"default (Holm)": {}, "uncorrected": {"correction": "none"}}
    found = {}
    for name, how in ways.items():
        group = meta_evaluate(columns, metrics, "human", document=document, **how).groups[0]
        best = max(group.metrics, key=lambda one: one.value).metric
        worse = [test.decisive < 0.05 for test in group.tests if test.a == best]
        found[f"a metric is called worse, {name}"] = any(worse)
        found[f"the first is called the best, {name}"] = best == "m0" and all(worse)
    return found


def tied(rng: np.random.Generator, noise: float, ties: float, k: int = 3) -> Columns:
    """Metrics of six systems and 60 segments, errors of outputs whose counts often tie; infinite noise is no metric."""
    errors = rng.poisson(-np.log(ties) / 2, size=360).astype(np.float64)
    columns = {f"m{i}": -errors * np.isfinite(noise) + min(noise, 1.0) * rng.normal(size=360) for i in range(k)}
    places = {"system": np.repeat(np.arange(6), 60), "segment": np.tile(np.arange(60), 6)}
    return {**columns, "human": -errors, **places}


def above_chance(columns: Columns) -> dict[str, bool]:
    """Tell whether `meta` shows some metric to beat chance, and whether some accuracy is higher."""
    metrics = [name for name in columns if name.startswith("m")]
    how: dict[str, Any] = {"statistic": "acc_eq", "system": "system", "segment": "segment", "test": "none"}
    found = meta_evaluate(columns, metrics, "human", resamples=DRAWS, **how).groups[0].metrics
    return {
        "interval above chance": any(one.ci[0] > one.figures["chance"] for one in found),  # type: ignore[operator]
        "accuracy above chance": any(one.value > one.figures["chance"] for one in found),  # type: ignore[operator]
    }


_WORSE = [f"a metric is called worse, {name}" for name in ("default (Holm)", "uncorrected")]
_BEST = [f"the first is called the best, {name}" for name in ("default (Holm)", "uncorrected")]
SECTION = Section(
    "many",
    "Many metrics at once, and chance",
    [
        Table(
            "Metrics that are equally good",
            "What the first sentence of `meta` says: that some metric is significantly worse than the highest, which "
            "is wrong here. Rows are independent (Williams test) or in documents of eight (bootstrap).",
            _WORSE,
            [
                *(World(f"{k} metrics, 200 rows", partial(many, k=k, units=200), announced) for k in (2, 5, 10)),
                *(
                    World(
                        f"{k} metrics, {units} documents",
                        partial(many, k=k, units=units, size=8),
                        partial(announced, document="doc"),
                    )
                    for k, units in ((5, 20), (5, 40), (10, 40))
                ),
            ],
        ),
        Table(
            "One metric that is better",
            "What the correction costs: the first metric, of less noise, is called the best, better than all others.",
            _BEST,
            [
                World("5 metrics, 200 rows", partial(many, k=5, units=200, better=0.9), announced),
                World(
                    "5 metrics, 40 documents",
                    partial(many, k=5, units=40, size=8, better=1.0),
                    partial(announced, document="doc"),
                ),
            ],
        ),
        Table(
            "Pairwise accuracy with ties, and chance",
            "Three metrics of six systems and 60 segments. Ties are calibrated on the same data, so that a score that "
            "knows nothing is at chance or a little above.",
            ["interval above chance", "accuracy above chance"],
            [
                World("nothing known, few ties", partial(tied, noise=np.inf, ties=0.3), above_chance),
                World("nothing known, many ties", partial(tied, noise=np.inf, ties=0.6), above_chance),
                World("good metrics, many ties", partial(tied, noise=0.5, ties=0.6), above_chance),
            ],
        ),
    ],
)


SPREAD = 1.3


def equal_members(rng: np.random.Generator, n: int = 200, k: int = 6) -> dict[str, Array]:
    """Six equally good metrics whose errors are independent."""
    quality = rng.normal(size=n)
    columns = {f"m{j}": quality + SPREAD * rng.normal(size=n) for j in range(k)}
    return {**columns, "human": quality + 0.7 * rng.normal(size=n)}


def gains(columns: dict[str, Array]) -> dict[str, bool]:
    """Tell which intervals of the ensemble's gain hold the truth."""
    members = [name for name in columns if name != "human"]
    truth = float(np.sqrt((1 + SPREAD**2) / (1 + SPREAD**2 / len(members)))) - 1
    found = {}
    for best in ("sample", "training"):
        result = combine(columns, members, "human", best=best, resamples=DRAWS).result
        found[f"gain over the best of the {best} (default)".replace("training (default)", "training")] = covers(
            result.average_ci, truth
        )
    scores = np.stack([columns[name] for name in members])
    together = np.vstack([scores, ((scores.T - scores.mean(axis=1)) / scores.std(axis=1)).sum(axis=1)])
    r = bootstrap_correlations(together, columns["human"], "pearson", resamples=DRAWS)
    anew = np.percentile(r[:, -1] / r[:, :-1].max(axis=1) - 1, [2.5, 97.5])
    found["percentiles, the best member chosen anew in each resample"] = covers(anew.tolist(), truth)
    return found


def section(runs: int) -> str:
    """Return the text of the section; the slower simulations take half as many replicates."""
    held: list[list[object]] = []
    worlds: dict[str, Callable[[np.random.Generator], Pair]] = {
        "rows, normal": independent_rows,
        "rows, tails of t(3)": partial(independent_rows, tails=3),
        "matrices, independent errors": exchangeable,
    }
    for name, world in worlds.items():
        held += [[name, interval, rate] for interval, rate in simulate(world, intervals, runs=runs).items()]
    area: dict[str, Rate] = simulate(clustered, areas, runs=runs)
    half = max(runs // 2, 20)
    parts = [
        "## Agreement and significance",
        "Two metrics of each world are equally good. A test of another target asks whether these very systems would be "
        "ordered otherwise on other segments. With biased systems they would: it is right to reject, and wrong to "
        "conclude that one metric is better on other systems. mt-metrics-eval's choices are named; the figures are "
        "from bsx's implementation of them.",
        "### Size of tests between two metrics",
        table(["world", "test", "size"], sizes(half), half),
        "### Coverage of intervals of a correlation",
        table(["world", "interval", "coverage"], held, runs),
        "The default takes the bootstrap where tails are heavy, and the permutation instead of the Williams test.",
        "### Pairs that share sentences: area under the ROC curve",
        table(
            ["taken as independent", "coverage", "size of the paired test"],
            [[kind, area[f"{kind}: coverage"], area[f"{kind}: size"]] for kind in ("clusters", "rows")],
            runs,
        ),
        "### Ensembles of six equal members",
        table(
            ["interval", "coverage"],
            [[name, rate] for name, rate in simulate(equal_members, gains, runs=half).items()],
            half,
        ),
    ]
    return "\n\n".join(parts)
