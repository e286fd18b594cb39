"""What is chosen, what is drawn whole, and what judgments cannot say: layers, families of systems, raters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.stats.judged import raters_apart, unjudged
from bsx.analysis.stats.layers import layer_agreement
from bsx.support.checks import Array

DRAWS = 300  # resamples of each interval


@dataclass(frozen=True)
class Layers:
    """Scores of layers (layers, n), human scores (n,), each row's segment, and each layer's r in the population."""

    f1: Array
    human: Array
    segments: list[str]
    truth: Array


def layers(rng: np.random.Generator, spreads: Array, segments: int = 60, each: int = 5) -> Layers:
    """Layers that see quality with errors spread so; half of quality and of each error is that of the segment."""
    of = np.repeat(np.arange(segments), each)

    def noise(k: int) -> Array:
        drawn = rng.normal(size=(k, segments))[:, of] + rng.normal(size=(k, len(of)))
        return np.asarray(drawn / np.sqrt(2))

    quality = noise(1)
    f1, human = quality + noise(len(spreads)) * spreads[:, None], (quality + noise(1))[0]
    return Layers(f1, human, [f"s{i}" for i in of], 1 / np.sqrt(2 * (1 + spreads**2)))


def chosen(drawn: Layers) -> dict[str, bool]:
    """Tell which intervals hold r of the layer that is chosen, and whether its figures are above it."""
    groups = ["all"] * len(drawn.human)
    how = {"resamples": DRAWS, "clusters": drawn.segments}
    result = layer_agreement(drawn.f1, drawn.f1, drawn.f1, drawn.human.tolist(), groups, **how)  # type: ignore[arg-type]
    best, truth = result.layers[result.best_layer], float(drawn.truth[result.best_layer])
    return {
        "the layer's own": covers((best.f1_low, best.f1_high), truth),
        "of the choice": covers(result.chosen.ci, truth),
        "own figure too high": best.f1 > truth,
        "figure of the choice too high": result.chosen.estimate > truth,
    }


def family_members(
    rng: np.random.Generator, systems: int = 24, families: int = 6, share: float = 0.5
) -> dict[str, Any]:
    """Systems of families, one score each; two equally good metrics of r .5, a share of all variance is families'."""
    of = np.arange(systems) % families

    def noise() -> Array:
        drawn = np.sqrt(share) * rng.normal(size=families)[of] + np.sqrt(1 - share) * rng.normal(size=systems)
        return np.asarray(drawn)

    quality = noise()
    columns: dict[str, Any] = {name: quality + noise() for name in ("a", "b", "human")}
    return columns | {"system": [f"s{i}" for i in range(systems)], "family": [f"f{i}" for i in of]}


def of_systems(columns: dict[str, Any]) -> dict[str, bool]:
    """Tell what is found at the level of systems, which are drawn one by one, or by families."""
    found = {}
    for drawn, family in (("systems", None), ("families", "family")):
        how: dict[str, Any] = {"level": "sys", "system": "system", "family": family, "resamples": DRAWS}
        group = meta_evaluate(columns, ["a", "b"], "human", **how).groups[0]
        found[f"size, {drawn} drawn"] = group.tests[0].p_two_sided < 0.05
        found[f"coverage of r, {drawn} drawn"] = covers(group["a"].ci, 0.5)
    return found


def own_scales(rng: np.random.Generator, raters: int = 5, documents: int = 40, each: int = 8) -> dict[str, Any]:
    """Raters with a mean and a scale of their own judge whole documents; two equally good metrics of r `OTHERS`."""
    of = np.repeat(np.arange(documents), each)
    rater = rng.permutation(np.arange(documents) % raters)[of]

    def noise() -> Array:
        drawn = np.sqrt(0.3) * rng.normal(size=documents)[of] + np.sqrt(0.7) * rng.normal(size=len(of))
        return np.asarray(drawn)

    quality = noise()
    judged = 0.5 * rng.normal(size=raters)[rater] + np.exp(0.3 * rng.normal(size=raters))[rater] * (quality + noise())
    columns: dict[str, Any] = {"a": quality + noise(), "b": quality + noise(), "human": judged}
    return columns | {"document": [f"d{i}" for i in of], "rater": [f"r{i}" for i in rater]}


# E[scale] / sqrt(2 (.25 + 2 E[scale²])) of the world above: r with the judgments of many raters.
OTHERS = float(np.exp(0.045) / np.sqrt(2 * (0.25 + 2 * np.exp(0.18))))


def other_raters(columns: dict[str, Any]) -> dict[str, bool]:
    """Tell what is found of documents, and of documents and raters."""
    found = {}
    for drawn, rater in (("documents", None), ("raters too", "rater")):
        how: dict[str, Any] = {"document": "document", "rater": rater, "resamples": DRAWS}
        group = meta_evaluate(columns, ["a", "b"], "human", **how).groups[0]
        found[f"size, {drawn}"] = group.tests[0].p_two_sided < 0.05
        found[f"coverage of r, {drawn}"] = covers(group["a"].ci, OTHERS)
    return found


def rated(
    rng: np.random.Generator, seen: int, segments: int = 50, z: bool = True
) -> tuple[Array, list[str], list[str]]:
    """Six systems, six raters who judge so many of them each, in z-scores or as they are: scores, systems, raters."""
    quality, scores, systems, raters = 0.5 * np.arange(6), list[Array](), list[str](), list[str]()
    for rater in range(6):
        judged = [(rater + k) % 6 for k in range(seen)]
        own = rng.normal() + np.concatenate([quality[k] + rng.normal(size=segments) for k in judged])
        scores.append((own - own.mean()) / own.std() if z else own)
        systems += [f"s{k}" for k in judged for _ in range(segments)]
        raters += [f"r{rater}"] * len(own)
    return np.concatenate(scores), systems, raters


def warned_of_raters(drawn: tuple[Array, list[str], list[str]]) -> dict[str, bool]:
    """Tell whether it is warned that raters saw other systems."""
    human, systems, raters = drawn
    return {"warned": bool(raters_apart(human, "score", systems, raters))}


def judgments(rng: np.random.Generator, missing: float, n: int = 300) -> tuple[Array, Array]:
    """Human scores and a metric's, r .61; a share of the worst third is not judged, of the rest 5 %."""
    human = rng.normal(size=n)
    metric = human + 1.3 * rng.normal(size=n)
    gone = rng.random(n) < np.where(human < np.quantile(human, 1 / 3), missing, 0.05)
    return np.where(gone, np.nan, human), metric


def warned_of_missing(drawn: tuple[Array, Array]) -> dict[str, bool]:
    """Tell whether it is warned that rows without judgments are of another kind."""
    return {"warned": bool(unjudged(drawn[0], "human", {"m": drawn[1]}))}


SECTION = Section(
    "units",
    "What is chosen, and what is drawn whole",
    [
        Table(
            "The layer that agrees best",
            "Twelve layers, 60 segments of five systems, whole segments drawn; intervals of r of the layer that is "
            "chosen. Its own figure owes much to chance where layers are alike; the figure of the choice is of "
            "segments that the layer was not chosen on. A figure without a bias is too high half of the time.",
            ["the layer's own", "of the choice", "own figure too high", "figure of the choice too high"],
            [
                World("all alike, r .50", partial(layers, spreads=np.ones(12)), chosen),
                World("r .55 to .37", partial(layers, spreads=np.linspace(0.8, 1.6, 12)), chosen),
                World("one of r .58, the others .39", partial(layers, spreads=np.r_[0.7, np.full(11, 1.5)]), chosen),
                World("all alike, 20 segments", partial(layers, spreads=np.ones(12), segments=20), chosen),
            ],
        ),
        Table(
            "Families of systems",
            "24 systems at the level `sys`, two equally good metrics of r .50; half of all variance is of families, "
            "or nothing. Taken one by one, systems of one family count as more than they are.",
            [f"{what}, {drawn} drawn" for what in ("size", "coverage of r") for drawn in ("systems", "families")],
            [
                World("6 families", family_members, of_systems),
                World("6 families, .8 of all variance", partial(family_members, share=0.8), of_systems),
                World("12 families", partial(family_members, families=12), of_systems),
                World("6 families that say nothing", partial(family_members, share=0.0), of_systems),
            ],
        ),
        Table(
            "Raters with scales of their own",
            "40 documents of eight rows, each judged by one rater, who has a mean and a scale; two equally good "
            "metrics. r of many raters is the truth.",
            [f"{what}, {drawn}" for what in ("size", "coverage of r") for drawn in ("documents", "raters too")],
            [World(f"{raters} raters", partial(own_scales, raters=raters), other_raters) for raters in (5, 10)],
        ),
        Table(
            "Raters who judged other systems",
            "Six systems, six raters. Scores standardised within raters of whom each judged two systems have lost "
            "what systems differ by: a warning is due. It is not where raters judged all, or scores are as they are.",
            ["warned"],
            [
                World("z-scores, two systems each", partial(rated, seen=2), warned_of_raters),
                World("z-scores, all systems each", partial(rated, seen=6), warned_of_raters),
                World("as they are, two systems each", partial(rated, seen=2, z=False), warned_of_raters),
            ],
        ),
        Table(
            "Judgments that are missing",
            "300 rows, a metric of r .61. Where bad outputs are not judged, r is lower: a warning is due. Rows "
            "that are missing by chance get one in 1 % of all data sets.",
            ["warned"],
            [
                World("80 % of the worst third", partial(judgments, missing=0.8), warned_of_missing),
                World("by chance", partial(judgments, missing=0.05), warned_of_missing),
            ],
        ),
    ],
)
