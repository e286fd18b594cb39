"""Does a planned study have the power it was planned for? Worlds of systems and metrics' correlations."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.plan.power import Study, smallest
from bsx.analysis.plan.result import PlanResult
from bsx.analysis.plan.run import plan_compare, plan_meta
from bsx.analysis.stats.resample import bootstrap_counts, bootstrap_p
from bsx.analysis.stats.significance import williams
from bsx.support.checks import Array

SIZE = 8  # segments of a document
LEVEL = 0.05
RESAMPLES = 999
Columns = dict[str, Any]


def differences(rng: np.random.Generator, documents: int, icc: float, effect: float, heavy: bool = False) -> Array:
    """Return the systems' differences (documents, SIZE) of variance 1, of which documents share ``icc``."""
    drawn = rng.standard_t(5, size=(documents, SIZE)) * np.sqrt(0.6) if heavy else rng.normal(size=(documents, SIZE))
    shared = rng.normal(size=(documents, 1))
    result: Array = effect + np.sqrt(icc) * shared + np.sqrt(1 - icc) * drawn
    return result


def judged(
    rng: np.random.Generator, documents: int, each: int, effect: float, icc: float = 0.1, noise: float = 0.5
) -> Columns:
    """Return a table of judgments of two systems: variance 1 of a difference of single ones, ``noise`` of it theirs."""
    n = documents * SIZE
    shared = np.repeat(rng.normal(size=documents), SIZE) * np.sqrt(icc)
    own = effect + shared + np.sqrt(1 - icc - noise) * rng.normal(size=n)
    level = rng.normal(size=n)
    sides = [level + side * own for side in (0.5, -0.5)]
    table: Columns = {"system": [], "segment": [], "document": [], "human": []}
    for name, scores in zip("ab", sides, strict=True):
        for _ in range(each):
            table["system"] += [name] * n
            table["segment"] += [f"s{i}" for i in range(n)]
            table["document"] += [f"d{i // SIZE}" for i in range(n)]
            table["human"].append(scores + np.sqrt(noise / 2) * rng.normal(size=n))
    return {**table, "human": np.concatenate(table["human"])}


COLUMNS: Columns = {"system": "system", "segment": "segment", "document": "document"}


def found_in_mean(values: Array) -> bool:
    """Return whether the paired bootstrap finds a mean other than 0."""
    n = len(values)
    drawn = np.concatenate([counts @ values / n for counts in bootstrap_counts(RESAMPLES, n, 1)])
    return bootstrap_p(drawn, units=n)[1] < LEVEL


def study_of(values: Array) -> bool:
    """Return whether a study of differences (documents, SIZE) finds them."""
    return found_in_mean(values.mean(axis=1))  # documents of one size: to draw them is to draw their means


def stated_documents(rng: np.random.Generator, icc: float, effect: float, known: bool = True) -> bool:
    """Draw the study that stated variances ask for, with or without what documents share, and test it."""
    plan = _stated(effect, icc) if known else _stated(effect, 0.0)
    documents = plan.needed.documents or max(2, round(plan.needed.units / SIZE))
    return study_of(differences(rng, documents, icc, effect))


@functools.cache
def _stated(effect: float, icc: float) -> PlanResult:
    how: dict[str, Any] = {"icc": icc, "document_size": SIZE} if icc else {}
    return plan_compare(effect=effect, sd=1, **how)


def single(rng: np.random.Generator, effect: float) -> Mapping[str, bool]:
    """Independent segments, stated variance."""
    n = _stated(effect, 0.0).needed.units
    return {"power": found_in_mean(rng.normal(effect, 1, size=n))}


def documents_stated(rng: np.random.Generator, icc: float, effect: float) -> Mapping[str, bool]:
    """Segments of documents, stated variances."""
    return {
        "power": stated_documents(rng, icc, effect),
        "power, documents ignored": stated_documents(rng, icc, effect, known=False),
    }


def from_pilot(rng: np.random.Generator, documents: int, effect: float) -> Mapping[str, bool]:
    """A pilot of documents whose segments are judged twice; the study it asks for, judged as often."""
    plan = plan_compare(judged(rng, documents, 2, effect), effect=effect, columns=["human"], resamples=200, **COLUMNS)
    low, high = plan.needed_ci or (0, 0)
    truth = plan_compare(effect=effect, sd=math.sqrt(0.75), icc=0.1 / 0.75, document_size=SIZE).needed.units
    alone = smallest(Study(effect, LEVEL, replace(plan.spread, icc=0.0), False, 1), 0.8)

    def found(documents: int) -> bool:
        noise = np.sqrt(0.5 / 2) * rng.normal(size=(documents, SIZE))
        shared, own = rng.normal(size=(documents, 1)), rng.normal(size=(documents, SIZE))
        return study_of(effect + np.sqrt(0.1) * shared + np.sqrt(0.4) * own + noise)

    return {
        "power": found(int(plan.needed.documents or 0)),
        "power, documents ignored": found(round(alone.units / SIZE)),
        "interval of n": low <= truth <= high,
    }


def heavy_pilot(rng: np.random.Generator, documents: int, effect: float) -> Mapping[str, bool]:
    """A pilot of one judgment a segment, t(5) differences, documents that share a fifth."""
    values = differences(rng, documents, 0.2, 0.0, heavy=True)
    n = values.size
    names = [f"s{i}" for i in range(n)]
    pilot: Columns = {
        "system": ["a"] * n + ["b"] * n,
        "segment": names * 2,
        "document": [f"d{i // SIZE}" for i in range(n)] * 2,
        "score": np.concatenate([values.ravel(), np.zeros(n)]),
    }
    plan = plan_compare(pilot, effect=effect, columns=["score"], resamples=200, **COLUMNS)
    low, high = plan.needed_ci or (0, 0)
    study = differences(rng, int(plan.needed.documents or 0), 0.2, effect, heavy=True)
    return {"power": study_of(study), "interval of n": low <= _stated(effect, 0.2).needed.units <= high}


def metrics(
    rng: np.random.Generator, segments: int, systems: int = 1, shared: float = 0.0, heavy: bool = False
) -> Columns:
    """Return human scores and two metrics, r .6 and .5 with them; segments share a part of every error."""
    shape = (segments, systems)

    def draw() -> Array:
        tails = rng.standard_t(5, size=shape) * np.sqrt(0.6) if heavy else rng.normal(size=shape)
        result: Array = np.sqrt(shared) * rng.normal(size=(segments, 1)) + np.sqrt(1 - shared) * tails
        return result

    human, common = draw(), draw()
    a = 0.6 * human + 0.8 * (np.sqrt(0.4) * common + np.sqrt(0.6) * draw())
    b = 0.5 * human + np.sqrt(0.75) * (np.sqrt(0.4) * common + np.sqrt(0.6) * draw())
    names = np.repeat([f"s{i}" for i in range(segments)], systems).tolist()
    return {"a": a.ravel(), "b": b.ravel(), "human": human.ravel(), "segment": names}


BETWEEN = 0.6 * 0.5 + 0.4 * 0.8 * np.sqrt(0.75)


def correlations_stated(rng: np.random.Generator) -> Mapping[str, bool]:
    """Independent segments, stated correlations; the Williams test."""
    columns = metrics(rng, _correlations().needed.units)
    return {"power": williams(columns["a"], columns["b"], columns["human"]).p_two_sided < LEVEL}


@functools.cache
def _correlations() -> PlanResult:
    return plan_meta(correlations=[0.6, 0.5, float(BETWEEN)])


def correlations_found(columns: Columns, systems: int) -> bool:
    """Return whether the bootstrap, of whole segments, finds a difference of the correlations."""
    a, b, human = (columns[name].reshape(-1, systems) for name in ("a", "b", "human"))
    n = len(human)
    sums = np.stack([z.mean(axis=1) for z in (a, b, human, a * a, b * b, human**2, a * human, b * human)], axis=1)
    drawn = np.concatenate([counts @ sums / n for counts in bootstrap_counts(RESAMPLES, n, 1)])
    mean, square, product = drawn[:, :3], drawn[:, 3:6], drawn[:, 6:]
    sd = np.sqrt(square - mean**2)
    r = (product - mean[:, :2] * mean[:, 2:]) / (sd[:, :2] * sd[:, 2:])
    return bootstrap_p(r[:, 0] - r[:, 1], units=n)[1] < LEVEL


def correlations_pilot(
    rng: np.random.Generator, segments: int, systems: int, shared: float, heavy: bool
) -> Mapping[str, bool]:
    """A pilot of segments that systems share; the study it asks for, by the bootstrap of whole segments."""
    pilot = metrics(rng, segments, systems, shared, heavy)
    how: Columns = {"effect": 0.1, "columns": ["a", "b"], "human": "human", "resamples": 200}
    plan = plan_meta(pilot, **how, segment="segment")
    low, high = plan.needed_ci or (0, 0)
    study = metrics(rng, plan.needed.units, systems, shared, heavy)
    found = {
        "power": correlations_found(study, systems),
        "interval of n": low <= _truth(systems, shared, heavy) <= high,
    }
    if systems > 1:
        rows = {name: column for name, column in pilot.items() if name != "segment"}
        naive = metrics(rng, round(plan_meta(rows, **how).needed.units / systems), systems, shared, heavy)
        found["power, shared segments ignored"] = correlations_found(naive, systems)
    return found


@functools.cache
def _truth(systems: int, shared: float, heavy: bool) -> int:
    """Return the segments that a very large pilot asks for."""
    large = metrics(np.random.default_rng(7), 60_000, systems, shared, heavy)
    how: Columns = {"effect": 0.1, "columns": ["a", "b"], "human": "human", "resamples": 20}
    return plan_meta(large, **how, segment="segment").needed.units


def _world(name: str, run: Any, **how: Any) -> World:
    """Return a world whose data set is its random numbers: what is drawn depends on what is planned."""
    return World(name, _same, partial(run, **how))


def _same(rng: np.random.Generator) -> np.random.Generator:
    return rng


SECTION = Section(
    "plan",
    "Planned studies",
    [
        Table(
            "Two systems",
            "Every replicate plans a study for a power of .80, draws it, and tests it by the paired bootstrap, of "
            "whole documents where there are some. Stated variances should give .80; from a pilot, whose variance is "
            "itself an estimate, the average should be near it. The interval of n should hold the number that the "
            "true variances ask for in 95 %. Planned as if segments of a document were independent, a study is too "
            "small.",
            ("power", "power, documents ignored", "interval of n"),
            [
                _world("stated: effect .2, independent segments", single, effect=0.2),
                _world("stated: effect .5, independent segments", single, effect=0.5),
                _world("stated: documents of 8, ICC .05", documents_stated, icc=0.05, effect=0.2),
                _world("stated: documents of 8, ICC .2", documents_stated, icc=0.2, effect=0.2),
                *(
                    _world(f"pilot: {count} documents, 2 judgments; 2 planned", from_pilot, documents=count, effect=0.2)
                    for count in (40, 15)
                ),
                _world("pilot: 40 documents, t(5), ICC .2", heavy_pilot, documents=40, effect=0.2),
            ],
        ),
        Table(
            "Two metrics",
            "Correlations of .6 and .5 with human judgments. Stated correlations: the Williams test. Pilots: the "
            "bootstrap of whole segments, with 1 or 8 systems a segment that share half of every error.",
            ("power", "power, shared segments ignored", "interval of n"),
            [
                _world("stated: r .6, .5 and .58", correlations_stated),
                _world("pilot: 200 segments", correlations_pilot, segments=200, systems=1, shared=0.0, heavy=False),
                _world(
                    "pilot: 200 segments, t(5)", correlations_pilot, segments=200, systems=1, shared=0.0, heavy=True
                ),
                _world(
                    "pilot: 60 segments x 8 systems",
                    correlations_pilot,
                    segments=60,
                    systems=8,
                    shared=0.5,
                    heavy=False,
                ),
            ],
        ),
    ],
)
