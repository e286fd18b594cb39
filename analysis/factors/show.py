"""What factors of sentence pairs look like: how their values are spread, and which a table was scored by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bsx.analysis.factors.base import FactorScores, ScoredFactors
from bsx.analysis.present import charts
from bsx.analysis.present.cells import listed, plain_table
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
        yield plain_table(f"Factor, {counted}", [{name: float(value) for name, value in figures.items()}])
    yield Notes(result.notes)
    if len(known):
        alt = f"How the factor is spread over {counted}."
        yield Chart("Spread of the factor", alt, (("", charts.histogram(known.tolist(), alt=alt, axis="factor")),))


@lists(FactorScores)
def rows(result: FactorScores) -> Iterator[Mapping[str, object]]:
    """Yield a row a pair."""
    for place, value in enumerate(result.values, start=1):
        yield {"pair": place, "value": float(value)}


@presents(ScoredFactors, section=("scored", "Factors of sentence pairs"))
def scored(result: ScoredFactors) -> Iterator[Part]:
    """Yield which factors are defined for all pairs, for some, and left out; then mean and deviation of each."""
    kept, pairs = [entry for entry in result.factors if not entry.excluded], f"{result.pairs:,}"
    left = [entry.factor for entry in result.factors if entry.excluded]
    whole = [entry.factor for entry in kept if entry.n == result.pairs]
    every = f"{listed(whole)} {'is' if len(whole) == 1 else 'are'} defined for all {pairs} sentence pairs"
    clauses = [every] if whole else []
    clauses += [f"{entry.factor} is defined for {entry.n:,} of {pairs}" for entry in kept if entry.n < result.pairs]
    without = f" {listed(left)} {'is' if len(left) == 1 else 'are'} left out: the notes say why." if left else ""
    yield Answer(f"{'; '.join(clauses) or f'No factor is scored of {pairs} sentence pairs'}.{without}")
    known = [
        {"factor": entry.factor, "n": entry.n, "mean": "excluded" if entry.excluded else entry.mean, "sd": entry.sd}
        for entry in result.factors
    ]
    yield plain_table(f"Factors, n = {pairs} sentence pairs", known)
    yield Notes(result.notes)


@lists(ScoredFactors)
def factor_rows(result: ScoredFactors) -> Iterator[Mapping[str, object]]:
    """Yield a row a factor."""
    for entry in result.factors:
        yield {name: value for name, value in vars(entry).items() if name != "settings"}
