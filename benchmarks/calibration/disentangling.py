"""Regressions on factors: are null factors called significant in 5 % of all data sets?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.rates import Rate, covers, simulate, table
from bsx.analysis import disentangle
from bsx.analysis.disentangling.errors import ErrorChoice
from bsx.support.checks import Array

FACTORS = ["sem", "syn", "lex"]
KINDS: tuple[ErrorChoice, ...] = ("classic", "hc3", "auto")


@dataclass(frozen=True)
class Drawn:
    """A data set with its truth.

    Attributes:
        columns: of the table.
        truth: factor -> its true standardised coefficient.
    """

    columns: dict[str, Array | list[str]]
    truth: dict[str, float]


def shared_segments(rng: np.random.Generator, segments: int = 60, each: int = 5) -> Drawn:
    """Rows of one segment share an error, and a factor that is constant within segments (syn) explains nothing."""
    n = segments * each
    segment = np.repeat(np.arange(segments), each)
    sem, lex = rng.normal(size=(2, n))
    syn = rng.normal(size=segments)[segment]
    error = np.sqrt(0.5) * (rng.normal(size=segments)[segment] + rng.normal(size=n))
    metric = 0.5 * sem + 0.3 * lex + error
    sd = float(np.sqrt(0.25 + 0.09 + 1))
    columns: dict[str, Array | list[str]] = {"m": metric, "sem": sem, "syn": syn, "lex": lex}
    columns["segment"] = [f"s{i}" for i in segment]
    return Drawn(columns, {"sem": 0.5 / sd, "syn": 0.0, "lex": 0.3 / sd})


def heavy_tails(rng: np.random.Generator, n: int = 300) -> Drawn:
    """Residuals have heavy tails (t, 3 degrees of freedom) and spread more where a factor (sem) is extreme."""
    sem, syn, lex = rng.normal(size=(3, n))
    error = rng.standard_t(3, size=n) / np.sqrt(3) * (0.5 + np.abs(sem))
    spread = float(np.sqrt(0.25 + 0.09 + 0.25 + np.sqrt(2 / np.pi) + 1))
    columns: dict[str, Array | list[str]] = {"m": 0.5 * sem + 0.3 * lex + error, "sem": sem, "syn": syn, "lex": lex}
    return Drawn(columns, {"sem": 0.5 / spread, "syn": 0.0, "lex": 0.3 / spread})


def standard_errors(runs: int) -> dict[str, dict[str, Rate]]:
    """Return world -> kind of standard errors and what was counted -> how often."""

    def measure(drawn: Drawn) -> dict[str, bool]:
        found = {}
        for kind in KINDS:
            fit = disentangle(drawn.columns, ["m"], FACTORS, se=kind)["m"]
            found[f"{kind} size"] = fit.p["syn"] < 0.05
            found[f"{kind} coverage"] = covers(fit.ci["sem"], drawn.truth["sem"])
        return found

    return {
        "segments share an error": simulate(shared_segments, measure, runs=runs),
        "heavy tails, uneven spread": simulate(heavy_tails, measure, runs=runs),
    }


def section(runs: int) -> str:
    """Return the text of the section."""
    rows = []
    for world, rates in standard_errors(runs).items():
        for kind in KINDS:
            default = " (the default)" if kind == "auto" else ""
            rows.append([f"{world}: `{kind}`{default}", rates[f"{kind} size"], rates[f"{kind} coverage"]])
    return "\n\n".join(
        ["## Disentangling", "### Standard errors", table(["world", "size of SYN", "coverage of SEM"], rows, runs)]
    )
