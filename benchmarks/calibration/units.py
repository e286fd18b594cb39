"""What is chosen, and what is drawn whole: layers, families of systems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
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
    ],
)
