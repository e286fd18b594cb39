"""Which rows a cascade gives to its costly metric, and how the others are mapped: held against a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bsx.metrics.cascade import ANCHOR, BAND, BLANK, MAPPED, Band, Line, Unit, choose, numbered


def by_loop(
    good: list[float], segments: list[int], blank: list[bool], band: Band, unit: Unit, anchors: int
) -> list[int]:
    """The same in lists and sorts, as the docs say it."""
    rows = range(len(good))
    marks = [MAPPED] * len(good)
    of = {s: [row for row in rows if segments[row] == s] for s in dict.fromkeys(segments)}
    if unit == "segments":
        order = sorted(of, key=lambda s: sum(good[row] for row in of[s]) / len(of[s]))
        first, end = band.places(len(order))
        for s in order[first:end]:
            for row in of[s]:
                marks[row] = BAND
        out = [s for s in order if s not in order[first:end] and not all(blank[row] for row in of[s])]
        for s in spaced(out, math.ceil(anchors / (len(good) / len(of)))):
            for row in of[s]:
                marks[row] = ANCHOR
    else:
        for group in [list(rows)] if unit == "rows" else of.values():
            order = sorted(group, key=lambda row: good[row])
            first, end = band.places(len(order))
            for row in order[first:end]:
                marks[row] = BAND
        out = [row for row in sorted(rows, key=lambda row: good[row]) if marks[row] != BAND and not blank[row]]
        for row in spaced(out, anchors):
            marks[row] = ANCHOR
    return [BLANK if blank[row] else marks[row] for row in rows]


def spaced(items: list[int], wanted: int) -> list[int]:
    wanted = min(wanted, len(items))
    return [items[math.floor((i + 0.5) * len(items) / wanted)] for i in range(wanted)]


@pytest.mark.parametrize("unit", ["rows", "segments", "candidates"])
@pytest.mark.parametrize("band", ["0-25", "75-100", "40-60", "0-100", "12.5-13"])
@pytest.mark.parametrize("seed", range(4))
def test_choice_is_that_of_a_loop(unit: Unit, band: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    good = rng.integers(0, 30, n) / 8  # sums of eighths are exact; many are equal
    segments = numbered(rng.integers(0, max(2, n // 4), n))
    blank = rng.random(n) < 0.1
    anchors = int(rng.integers(1, 15))
    marks = choose(good, segments, blank, Band.read(band), unit, anchors)
    assert marks.tolist() == by_loop(good.tolist(), segments.tolist(), blank.tolist(), Band.read(band), unit, anchors)


def test_band_takes_at_least_one_of_any_number() -> None:
    for n in range(1, 40):
        for low, high in ((0.0, 1.0), (99.0, 100.0), (49.0, 51.0), (7.0, 14.0)):
            first, end = Band(low, high).places(n)
            assert 0 <= first < end <= n
    assert Band(7, 14).places(100) == (7, 14)  # though 0.07 * 100 is more than 7
    assert Band.read("0-100").places(7) == (0, 7)


@pytest.mark.parametrize(
    "text", ["", "25", "-", "0-", "-5", "25-25", "30-10", "0-101", "a-b", "0-2e1", "1-2-3", "nan-5"]
)
def test_band_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="band"):
        Band.read(text)


def test_line_is_least_squares_within_the_anchors_scores() -> None:
    rng = np.random.default_rng(0)
    cheap = rng.normal(50, 10, 300)
    costly = cheap / 100 + rng.normal(0, 0.05, 300)
    line = Line.fit(cheap, costly, alike=True)
    slope, intercept = np.polyfit(cheap, costly, 1)
    assert line.slope == pytest.approx(slope, rel=1e-9)
    assert line.intercept == pytest.approx(intercept, rel=1e-9)
    assert line.r == pytest.approx(np.corrcoef(cheap, costly)[0, 1], rel=1e-12)
    assert line(np.array([50.0]))[0] == pytest.approx(intercept + 50 * slope)
    assert line(np.array([-1e6, 1e6])).tolist() == [costly.min(), costly.max()]


def test_line_never_turns_the_cheap_metric_round() -> None:
    cheap, costly = np.arange(5.0), np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    line = Line.fit(cheap, costly, alike=True)
    assert (line.slope, line.r) == (0.0, pytest.approx(-1))
    assert line(cheap).tolist() == [2.0] * 5
    errors = Line.fit(cheap, costly, alike=False)  # of one metric lower is better
    assert (errors.slope, errors.r) == (pytest.approx(-1), pytest.approx(1))


def test_line_leaves_out_anchors_without_a_score() -> None:
    line = Line.fit(np.array([1.0, 2.0, 3.0]), np.array([1.0, np.nan, 3.0]), alike=True)
    assert (line.n, line.slope) == (2, pytest.approx(1))
    none = Line.fit(np.zeros(2), np.full(2, np.nan), alike=True)
    assert none.n == 0
    assert np.isnan(none(np.zeros(1))).all()
    assert math.isnan(Line.fit(np.ones(3), np.arange(3.0), alike=True).r)
