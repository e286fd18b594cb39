"""Regressions whose rows depend on one another: documents, systems that share segments, few and uneven clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.disentangle.errors import choose_errors
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.sample import RegressionSample
from bsx.analysis.disentangle.settings import DisentangleSettings
from bsx.analysis.disentangle.variants import pooled_mean, random_effects
from bsx.analysis.stats.regression import fit_ols, pooled_test
from bsx.analysis.stats.resample import Indices
from bsx.support.checks import Array

FACTORS = ("sem", "lex")


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes:
        columns: its columns.
        before: how rows were clustered until they were recognised (n,); None for errors of single rows.
        sem: true standardised coefficient of SEM, in a population of clusters; NaN where it is not asked for.
    """

    columns: dict[str, Array | list[str]]
    before: Indices | None
    sem: float = float("nan")


def _numbers(rng: np.random.Generator, of: Indices, lex: Array, errors: Array) -> Rows:
    """Return a table in which SEM counts, LEX does not, and errors are what they are (n,), of variance 1."""
    sem = rng.normal(size=len(of))
    return Rows({"m": 0.5 * sem + errors, "sem": sem, "lex": lex}, of, 0.5 / np.sqrt(1.25))


def documents(rng: np.random.Generator, many: int) -> Rows:
    """Documents of eight segments share half of the error, and differ in LEX."""
    of = np.repeat(np.arange(many), 8)
    lex, errors = (np.sqrt(0.5) * rng.normal(size=many)[of] + np.sqrt(0.5) * rng.normal(size=len(of)) for _ in range(2))
    made = _numbers(rng, of, lex, errors)
    names = {"doc": [f"d{i}" for i in of], "segment": [str(i) for i in range(len(of))]}
    return Rows({**made.columns, **names}, None, made.sem)


def systems(rng: np.random.Generator, many: int, *, slope: float = 0.3) -> Rows:
    """Systems translate the same 60 segments; the effect of LEX differs by system and is 0 on average."""
    system, segment = np.repeat(np.arange(many), 60), np.tile(np.arange(60), many)
    sem, lex = rng.normal(size=(2, 60 * many))
    errors = slope * rng.normal(size=many)[system] * lex + 0.6 * rng.normal(size=60)[segment]
    metric = 0.5 * sem + errors + 0.8 * rng.normal(size=60 * many)
    names = {"system": [f"s{i}" for i in system], "segment": [str(i) for i in segment]}
    # Shares of variance: SEM .25, the slopes of LEX, and the rest.
    truth = 0.5 / np.sqrt(0.25 + slope**2 + 1.0)
    return Rows({"m": metric, "sem": sem, "lex": lex, **names}, segment, truth)


def clusters(rng: np.random.Generator, sizes: Sequence[int]) -> Rows:
    """Segments of these numbers of rows share half of the error; LEX is the same in all rows of a segment."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    shared, lex = rng.normal(size=(2, len(sizes)))
    made = _numbers(rng, of, lex[of], np.sqrt(0.5) * shared[of] + np.sqrt(0.5) * rng.normal(size=len(of)))
    return Rows({**made.columns, "segment": [str(i) for i in of]}, of, made.sem)


ZIPF = tuple(max(1, round(50 / rank)) for rank in range(1, 151))


def sandwich(design: Array, y: Array, of: Indices | None) -> tuple[Array, Array]:
    """Return coefficients and their covariance over clusters, corrected by G / (G - 1) · (n - 1) / (n - p) (CR1)."""
    n, p = design.shape
    inverse = np.linalg.inv(design.T @ design)
    coef = inverse @ design.T @ y
    scores = design * (y - design @ coef)[:, None]
    many = int(of.max()) + 1 if of is not None else n
    sums = scores if of is None else np.column_stack([np.bincount(of, column, many) for column in scores.T])
    return coef, inverse @ (sums.T @ sums) @ inverse * many / (many - 1) * (n - 1) / (n - p)


def _z(values: Array) -> Array:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def errors(rows: Rows) -> dict[str, bool]:
    """Tell whether LEX, which has no effect, is significant, and whether the interval of SEM holds the truth.

    The default is what `disentangle` chooses for the table.
    """
    x, y = (_z(np.column_stack([np.asarray(rows.columns[name]) for name in names])) for names in (FACTORS, ["m"]))
    if rows.before is None:
        old = fit_ols(y[:, 0], x, se="hc3").p[1]
    else:
        coef, covariance = sandwich(x, y[:, 0], rows.before)
        many = int(rows.before.max()) + 1
        old = 2 * stats.t.sf(abs(coef[1]) / np.sqrt(covariance[1, 1]), many - 1)
    fit = choose_errors(rows.columns, ["m", *FACTORS], 2, DisentangleSettings()).fit(y[:, 0], x)
    return {
        "LEX, before": bool(old < 0.05),
        "LEX, default": bool(fit.p[1] < 0.05),
        "SEM, default": covers((fit.low[0], fit.high[0]), rows.sem),
    }


def groups(rng: np.random.Generator, many: int, segments: int, *, spread: float = 0.0) -> Rows:
    """Systems share segments, whose difficulty no factor names; LEX, too, is associated with the segment."""
    group, segment = np.repeat(np.arange(many), segments), np.tile(np.arange(segments), many)
    n = many * segments
    sem, own, noise = rng.normal(size=(3, n))
    lex = 0.8 * rng.normal(size=segments)[segment] + 0.6 * own
    slopes = 0.3 + spread * rng.normal(size=many)[group]
    metric = slopes * lex + 0.3 * sem + 0.7 * rng.normal(size=segments)[segment] + 0.5 * noise
    names = {"system": [f"s{i}" for i in group], "segment": [str(i) for i in segment]}
    # The mean over systems of what a system's standardised coefficient is, by quadrature over their slopes.
    at, weight = np.polynomial.hermite_e.hermegauss(40)
    own_slope = 0.3 + spread * at
    truth = float((weight / weight.sum()) @ (own_slope / np.sqrt(own_slope**2 + 0.09 + 0.49 + 0.25)))
    return Rows({"m": metric, "sem": sem, "lex": lex, **names}, segment, truth)


def pooled(rows: Rows) -> dict[str, bool]:
    """Tell whether the interval of LEX over systems holds the truth, and whether systems are said to differ.

    These are the steps that `disentangle` takes with ``group="system"``.
    """
    how = DisentangleSettings(group="system")
    names = rows.columns["system"]
    places = {name: np.flatnonzero(np.asarray(names) == name) for name in dict.fromkeys(names)}
    parts = {
        name: tuple(
            _z(np.column_stack([np.asarray(rows.columns[c])[own] for c in names])) for names in (["m"], FACTORS)
        )
        for name, own in places.items()
    }
    chosen = choose_errors(rows.columns, ["m", *FACTORS], 2, how)
    fits = {name: [chosen.of(own).fit(parts[name][0][:, 0], parts[name][1])] for name, own in places.items()}
    numbers = {name: np.asarray(rows.columns[name]) for name in ("m", *FACTORS)}
    mean = random_effects(RegressionSample(numbers, ["m"], FACTORS, chosen, how), "system", fits, places)[0]["m"]
    labels = {name: [str(chosen.clusters[i]) for i in own] for name, own in places.items()} if chosen.clusters else None
    stacked = {name: (y[:, 0], x) for name, (y, x) in parts.items()}
    same = pooled_test("m", FACTORS, stacked, se=chosen.kind, clusters=labels)
    many, of = len(places), np.concatenate([np.asarray(rows.before)[own] for own in places.values()])
    lex = np.array([fit.coef[1] for (fit,) in fits.values()])
    alone = pooled_mean(lex, np.diag([fit.se[1] ** 2 for (fit,) in fits.values()]))
    wide = stats.t.isf(0.025, many - 1) * alone.se
    design = np.zeros((len(of), 2 * many))
    design[:, :2] = np.vstack([x for _, x in stacked.values()])
    start = 0
    for g, (y, x) in enumerate(stacked.values()):
        design[start : start + len(y), 2 * g : 2 * g + 2] = x
        start += len(y)
    coef, covariance = sandwich(design, np.concatenate([y for y, _ in stacked.values()]), of)
    tested = 2 * (many - 1)
    chow = float(coef[2:] @ np.linalg.pinv(covariance[2:, 2:], hermitian=True) @ coef[2:]) / tested
    results = {
        "mean, before": covers((alone.mean - wide, alone.mean + wide), rows.sem),
        "mean, default": covers(mean.ci["lex"], rows.sem),
        "Chow, before": bool(stats.f.sf(chow, tested, int(of.max())) < 0.05),
        "Chow, default": same.p < 0.05,
        "Chow of LEX, default": same.by_factor["lex"] < 0.05,
    }
    return {name: bool(value) for name, value in results.items()}


def mqm(rng: np.random.Generator, n: int, effect: float, groups: int = 1) -> dict[str, Array | list[str]]:
    """SEM is like MQM's: 60 % of the rows have none of its errors, the others a gamma variable of them (kurtosis 45).

    LEX goes with SEM and explains nothing; groups are alike.
    """
    n *= groups
    sem = -rng.gamma(0.35, size=n) * (rng.random(n) < 0.4)
    lex, noise = rng.normal(size=(2, n))
    sd = np.sqrt(0.4 * 0.35 * (1.35 - 0.4 * 0.35))
    names = [f"g{i}" for i in np.arange(n) % groups]
    return {"m": effect * sem / sd + noise, "sem": sem, "lex": 0.5 * sem / sd + lex, "lp": names}


def tails(columns: dict[str, Array | list[str]]) -> dict[str, bool]:
    """Tell whether the interval of SEM, whose slope is .6 sd, holds the truth, and whether LEX is significant."""
    found = disentangle(columns, ["m"], FACTORS)
    covered = covers(found["m"].ci["sem"], 0.6 / np.sqrt(1.36))
    warned = "product" in {notice.name for notice in found.warnings}
    return {"SEM, coverage": covered, "LEX, size": found["m"].p["lex"] < 0.05, "warned (`product`)": warned}


def alike(columns: dict[str, Array | list[str]]) -> dict[str, bool]:
    """Tell whether groups are said to have other coefficients, and other slopes."""
    test = disentangle(columns, ["m"], FACTORS, group="lp").pooled[0]
    return {"coefficients": test.p < 0.05, "slopes": getattr(test, "p_slopes", 1.0) < 0.05}


def explained(rows: Rows) -> dict[str, bool]:
    """Tell whether the interval of R², in truth .2, holds it, and whether few clusters are warned of."""
    found = disentangle(rows.columns, ["m"], FACTORS)
    warned = "few-clusters" in {notice.name for notice in found.warnings}
    return {"R², coverage": covers(found["m"].r2_ci, rows.sem**2), "warned (`few-clusters`)": warned}


ERRORS = """SEM counts and LEX does not: LEX should be significant in 5 %, and the interval of SEM hold the truth in
95 %. *Before* are the errors that bsx used to choose: HC3 where only a column of documents told that rows belong
together, otherwise clusters of rows that share a segment, with the correction G / (G - 1) and t with G - 1 degrees of
freedom (CR1, what most software does). *Default* are CR2 errors with Satterthwaite's degrees of freedom; documents are
recognised, and systems are clusters in a second way. Documents have eight segments, which share half of the error and
half of LEX. Systems translate the same 60 segments; the effect of LEX differs by system (standard deviation .3) and is
0 on average, or is 0 for every system. (Fewer than five systems are held fixed: what is said is about these.) Uneven
clusters have 50, 25, 17, … 1 rows, and LEX is the same in all rows of a cluster."""
GROUPS = """One regression a system, on the same segments, whose difficulty moves the metric in all systems; LEX goes
with the segment too. All systems have the same coefficients, except in the last row, where that of LEX differs by
system (standard deviation .2), so there the tests should reject. *Before*, groups counted as independent where their
coefficients were pooled (Hartung & Knapp), and Chow's test had CR1 errors. The default pools with the joint covariance
of the groups' coefficients, and tests by Hotelling's T² with CR2 errors; with few segments for many coefficients, the
test of all coefficients is not defined."""
TAILS = """SEM is like a judgment by MQM: 60 % of the rows have the best score, the kurtosis of the rest is high. Its
standard deviation is estimated too, which the delta method allows for (Yuan & Chan 2011; Jones & Waller 2015); LEX goes
with SEM and is a null factor."""
ALIKE = """The same factors in identical groups: "all groups have the same standardised coefficients" and "the same
slopes" should each be rejected in 5 %."""
EXPLAINED = """Documents as above; the share that SEM and LEX explain is .2."""

SECTION = Section(
    "regressions",
    "Regressions on rows that depend on one another",
    [
        Table(
            "Standard errors over clusters",
            ERRORS,
            ("LEX, before", "LEX, default", "SEM, default"),
            [
                *(World(f"{n} documents", partial(documents, many=n), errors) for n in (10, 20, 40)),
                *(World(f"{n} systems, LEX differs", partial(systems, many=n), errors) for n in (5, 8, 12)),
                World("12 systems, LEX 0 for all", partial(systems, many=12, slope=0.0), errors),
                World("150 clusters of 50 to 1 rows", partial(clusters, sizes=ZIPF), errors),
                World("8 clusters of 20 rows", partial(clusters, sizes=(20,) * 8), errors),
                World("22 clusters of 20 rows", partial(clusters, sizes=(20,) * 22), errors),
            ],
        ),
        Table(
            "Groups that share segments",
            GROUPS,
            ("mean, before", "mean, default", "Chow, before", "Chow, default", "Chow of LEX, default"),
            [
                World("10 systems, 60 segments", partial(groups, many=10, segments=60), pooled),
                World("6 systems, 30 segments", partial(groups, many=6, segments=30), pooled),
                World("4 systems, 100 segments", partial(groups, many=4, segments=100), pooled),
                World(
                    "10 systems, 60 segments, LEX differs", partial(groups, many=10, segments=60, spread=0.2), pooled
                ),
            ],
        ),
        Table(
            "A factor with heavy tails",
            TAILS,
            ("SEM, coverage", "LEX, size", "warned (`product`)"),
            [World(f"{n:,} rows", partial(mqm, n=n, effect=0.6), tails) for n in (200, 1000, 5000)],
        ),
        Table(
            "Groups with heavy tails",
            ALIKE,
            ("coefficients", "slopes"),
            [
                World(f"{many} groups of {n:,} rows", partial(mqm, n=n, effect=0.6, groups=many), alike)
                for many, n in ((4, 150), (2, 2000))
            ],
        ),
        Table(
            "R² of few documents",
            EXPLAINED,
            ("R², coverage", "warned (`few-clusters`)"),
            [World(f"{n} documents", partial(documents, many=n), explained) for n in (8, 15, 40)],
        ),
    ],
)
