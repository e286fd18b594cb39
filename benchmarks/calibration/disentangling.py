"""Regressions on factors: are null factors called significant in 5 % of all data sets, do intervals cover?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from benchmarks.calibration.rates import Rate, covers, simulate, table
from bsx.analysis.disentangle.errors import bootstrap_regressions
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.settings import ErrorChoice
from bsx.analysis.stats.resample import percentile_interval
from bsx.support.checks import Array

FACTORS = ["sem", "syn", "lex"]
KINDS: tuple[ErrorChoice, ...] = ("classic", "hc3", "auto")
RESAMPLES = 200


@dataclass(frozen=True)
class Drawn:
    """A data set with its truth.

    Attributes:
        columns: of the table.
        truth: factor -> its true standardised coefficient.
        r2: true share of variance that the factors explain.
    """

    columns: dict[str, Array | list[str]]
    truth: dict[str, float] = field(default_factory=dict)
    r2: float = 0.0


def shared_segments(rng: np.random.Generator, segments: int = 60, each: int = 5) -> Drawn:
    """Rows of one segment share an error, and a factor that is constant within segments (syn) explains nothing."""
    n = segments * each
    segment = np.repeat(np.arange(segments), each)
    sem, lex = rng.normal(size=(2, n))
    syn = rng.normal(size=segments)[segment]
    error = np.sqrt(0.5) * (rng.normal(size=segments)[segment] + rng.normal(size=n))
    sd = float(np.sqrt(0.25 + 0.09 + 1))
    columns: dict[str, Array | list[str]] = {"m": 0.5 * sem + 0.3 * lex + error, "sem": sem, "syn": syn, "lex": lex}
    columns["segment"] = [f"s{i}" for i in segment]
    return Drawn(columns, {"sem": 0.5 / sd, "syn": 0.0, "lex": 0.3 / sd}, 0.34 / sd**2)


def heavy_tails(rng: np.random.Generator, n: int = 300) -> Drawn:
    """Residuals have heavy tails (t, 3 degrees of freedom) and spread more where a factor (sem) is extreme."""
    sem, syn, lex = rng.normal(size=(3, n))
    error = rng.standard_t(3, size=n) / np.sqrt(3) * (0.5 + np.abs(sem))
    spread = float(np.sqrt(0.25 + 0.09 + 0.25 + np.sqrt(2 / np.pi) + 1))
    columns: dict[str, Array | list[str]] = {"m": 0.5 * sem + 0.3 * lex + error, "sem": sem, "syn": syn, "lex": lex}
    return Drawn(columns, {"sem": 0.5 / spread, "syn": 0.0, "lex": 0.3 / spread}, 0.34 / spread**2)


def noisy_judgment(rng: np.random.Generator, reliability: float = 0.7, n: int = 500) -> Drawn:
    """The metric is meaning and noise, words go with meaning (r .6), and the judgment of meaning is made twice."""
    meaning = rng.normal(size=n)
    sem, again = np.sqrt(reliability) * meaning + np.sqrt(1 - reliability) * rng.normal(size=(2, n))
    lex = 0.6 * meaning + 0.8 * rng.normal(size=n)
    columns: dict[str, Array | list[str]] = {"m": 0.8 * meaning + 0.6 * rng.normal(size=n), "sem": sem, "lex": lex}
    return Drawn(columns | {"again": again, "syn": rng.normal(size=n)}, {"sem": 0.8, "syn": 0.0, "lex": 0.0})


def explained(rng: np.random.Generator, r2: float = 0.0, n: int = 200) -> Drawn:
    """Three factors that go together explain the given share of the metric."""
    common = rng.normal(size=n)
    sem, syn, lex = (0.5 * common + np.sqrt(0.75) * rng.normal(size=n) for _ in range(3))
    signal = (sem + syn + lex) / np.sqrt(3 + 6 * 0.25)
    columns: dict[str, Array | list[str]] = {"sem": sem, "syn": syn, "lex": lex}
    return Drawn(columns | {"m": np.sqrt(r2) * signal + np.sqrt(1 - r2) * rng.normal(size=n)}, r2=r2)


def groups(rng: np.random.Generator, apart: float = 0.0, slope: float = 0.3, each: int = 60) -> Drawn:
    """Ten groups; LEX has the same slope within each, and another between their means if they are apart."""
    at = np.repeat(rng.normal(size=10), each)
    lex, syn = at + rng.normal(size=len(at)), rng.normal(size=len(at))
    metric = slope * lex + apart * at + rng.normal(size=len(at))
    names = [f"g{value}" for value in np.repeat(np.arange(10), each)]
    return Drawn({"m": metric, "lex": lex, "syn": syn, "lp": names})


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


def noise(runs: int, reliability: float = 0.7) -> dict[str, Rate]:
    """Return way and what was counted -> how often."""

    def measure(drawn: Drawn) -> dict[str, bool]:
        stated = disentangle(drawn.columns, ["m"], FACTORS, reliability={"sem": reliability})
        twice = disentangle(drawn.columns, ["m"], ["both", "syn", "lex"], repeat={"both": ["sem", "again"]})
        moments, estimated = (result.variant("errors-in-variables")["m"] for result in (stated, twice))
        found = {}
        for way, fit, sem in (
            ("uncorrected", stated["m"], "sem"),
            ("method of moments", moments, "sem"),
            ("method of moments, reliability from two judgments", estimated, "both"),
        ):
            found[f"{way}: LEX"] = fit.p["lex"] < 0.05
            found[f"{way}: SYN"] = fit.p["syn"] < 0.05
            found[f"{way}: SEM"] = covers(fit.ci[sem], drawn.truth["sem"])
        return found

    return simulate(partial(noisy_judgment, reliability=reliability), measure, runs=runs)


def r2_intervals(runs: int) -> dict[str, dict[str, Rate]]:
    """Return world -> interval of R² -> how often it holds the true share."""

    def measure(drawn: Drawn) -> dict[str, bool]:
        result = disentangle(drawn.columns, ["m"], FACTORS, resamples=RESAMPLES)
        fit = result["m"]
        z = {name: (v - v.mean()) / v.std() for name, v in drawn.columns.items() if isinstance(v, np.ndarray)}
        x, y = np.column_stack([z[name] for name in FACTORS]), z["m"][:, None]
        segments = drawn.columns.get("segment")
        clusters = segments if isinstance(segments, list) else None
        plain = bootstrap_regressions(x, y, resamples=RESAMPLES, seed=1, clusters=clusters).r2[:, 0]
        return {
            "percentiles": covers(percentile_interval(plain), drawn.r2),
            "corrected": covers(fit.r2_bootstrap or (1, 0), drawn.r2),
            "inversion": covers(fit.r2_ci, drawn.r2),
        }

    worlds: dict[str, Callable[[np.random.Generator], Drawn]] = {
        f"R² {share:g}": (partial(explained, r2=share)) for share in (0.0, 0.05, 0.3, 0.7)
    }
    worlds |= {"segments share an error, R² .25": shared_segments, "heavy tails, R² .14": heavy_tails}
    return {name: simulate(world, measure, runs=runs) for name, world in worlds.items()}


def simpson(runs: int) -> dict[str, Rate]:
    """Return world -> how often pooling is warned of."""

    def measure(drawn: Drawn) -> dict[str, bool]:
        found = disentangle(drawn.columns, ["m"], ["lex", "syn"], group="lp")
        return {"warned": "simpson" in {notice.name for notice in found.warnings}}

    return {
        name: simulate(partial(groups, apart=apart, slope=slope), measure, runs=runs)["warned"]
        for name, apart, slope in (
            ("the same slope everywhere", 0.0, 0.3),
            ("only between groups", 1.0, 0.0),
            ("opposite signs", 1.5, -0.5),
        )
    }


def section(runs: int) -> str:
    """Return the text of the section."""
    errors = [
        [
            f"{world}: `{kind}`{' (the default)' if kind == 'auto' else ''}",
            rates[f"{kind} size"],
            rates[f"{kind} coverage"],
        ]
        for world, rates in standard_errors(runs).items()
        for kind in KINDS
    ]
    noisy = []
    for reliability in (0.7, 0.5):
        rates = noise(runs, reliability)
        for way in dict.fromkeys(name.rpartition(": ")[0] for name in rates):
            noisy.append([f"{reliability:g}, {way}", *(rates[f"{way}: {factor}"] for factor in ("LEX", "SYN", "SEM"))])
    held = [[name, *rates.values()] for name, rates in r2_intervals(runs).items()]
    warned = [[name, rate] for name, rate in simpson(runs).items()]
    return "\n\n".join(
        [
            "## Disentangling",
            INTRO,
            "### Standard errors",
            ERRORS,
            table(["world: standard errors", "size of SYN", "coverage of SEM"], errors, runs),
            "### Noise in a factor",
            NOISE,
            table(["reliability, way", "size of LEX", "size of SYN", "coverage of SEM"], noisy, runs),
            "### R²",
            R2,
            table(["true R²", "percentiles of the bootstrap", "`r2_bootstrap`", "`r2_ci`"], held, runs),
            "### Groups",
            GROUPS,
            table(["LEX is associated with the metric", "warned (`simpson`)"], warned, runs),
        ]
    )


INTRO = """`disentangle` on simulated scores; [What does a metric measure?](explain/disentangling.md) explains the
terms. Tests are at .05 and intervals at .95 throughout."""

ERRORS = """300 rows. SYN is a null factor. In the first world 60 segments have five rows each that share half of
their error, and SYN is constant within segments; in the second, residuals have heavy tails (t with 3 degrees of
freedom) and spread more where SEM is extreme."""

NOISE = """500 rows. The metric depends on meaning only (true coefficients SEM .8, SYN 0, LEX 0); LEX correlates .6
with meaning, and SEM is a judgment of it with the stated reliability. Without correction, LEX takes over what the
noise hides of SEM."""

R2 = f"""200 rows and three factors in the first four worlds, 300 in the others. A share of 0 lies outside every
interval of plain bootstrap percentiles. `r2_bootstrap` has the bias of resampling taken off ({RESAMPLES} resamples
here), `r2_ci` is found by inversion; a two-sided 95 % interval of a share that is 0 holds it in 97.5 %. With heavy
tails and uneven spread, no interval of R² reaches its level with 300 rows."""

GROUPS = """600 rows in ten groups. Where LEX has the same slope within groups and between them, the warning should be
rare."""
