"""What factors of sentence pairs look like: how their values are spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bsx.analysis.factors.base import FactorScores
from bsx.analysis.present import charts
from bsx.analysis.present.cells import number, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Chart, Notes, Part


@presents(FactorScores)
def parts(result: FactorScores) -> Iterator[Part]:
    """Yield how many pairs have the factor, mean, deviation and ends, and how the values are spread."""
    known = result.values[~np.isnan(result.values)]
    counted = f"{len(known):,} of {len(result.values):,} sentence pairs"
    if not len(known):
        yield Answer(f"The factor is defined for none of {len(result.values):,} sentence pairs.")
    else:
        yield Answer(f"The factor is defined for {counted}, with a mean of {known.mean():.3f}.")
        figures = {"mean": known.mean(), "sd": known.std(), "lowest": known.min(), "highest": known.max()}
        results = [[text(name), number(float(value))] for name, value in figures.items()]
        yield table(f"Factor, {counted}", ["figure", "value"], results)
    yield Notes(result.notes)
    if len(known):
        alt = f"How the factor is spread over {counted}."
        yield Chart("Spread of the factor", alt, (("", charts.histogram(known.tolist(), alt=alt, axis="factor")),))


@lists(FactorScores)
def rows(result: FactorScores) -> Iterator[Mapping[str, object]]:
    """Yield a row a pair."""
    for place, value in enumerate(result.values, start=1):
        yield {"pair": place, "value": float(value)}
