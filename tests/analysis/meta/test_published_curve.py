"""How often people agree with a difference: the published curve's own figures, and where nothing is said."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bsx.analysis.compare.result import CompareResult, PublishedCurve
from bsx.analysis.compare.run import compare_systems, together
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Prose, TablePart
from bsx.catalog.catalog import shipped
from bsx.catalog.entries import read_lists
from bsx.catalog.thresholds import StudyEntry
from bsx.support.untyped import to_json
from tests.helpers.tables import read_rows

STUDY = read_lists(StudyEntry, shipped().folders)["kocmi2024"]


def curve(name: str, metric: str = "m") -> PublishedCurve:
    of = next(one for one in STUDY.curves if one.name == name)
    return PublishedCurve(
        metric=metric,
        curve=of.called,
        version=of.version,
        source=STUDY.called,
        citation=STUDY.citation,
        data=STUDY.data,
        population=STUDY.population,
        pairs=STUDY.system_pairs,
        languages=STUDY.languages,
        a=of.a / 100,
        b=of.b,
        scale=of.scale or 1.0,
        agreement=of.accuracy.all / 100,
        versions=of.accuracy.versions / 100,
        unrelated=of.accuracy.unrelated / 100,
        fewest=STUDY.fewest_segments,
    )


def test_all_published_differences_follow_from_the_parameters(shared: Path) -> None:
    """Table 2 and its appendix: 170 cells, to the printed digit; a dash where a curve does not reach."""
    cells = read_rows(shared / "data/published/mt-thresholds.deltas.tsv")
    assert len(cells) == 170
    for cell in cells:
        needed, printed = curve(cell["metric"]).needed(float(cell["accuracy"]) / 100), cell["delta"]
        if not printed:
            assert needed is None
            continue
        assert needed is not None
        half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
        assert abs(needed - float(printed)) <= half * (1 + 1e-9)


def test_the_shares_of_the_authors_tool() -> None:
    """Figures of the README and the tests of MT-Thresholds (commit f27ee1bf8c9b)."""
    for name, delta, percent in (("bleu", 1.0, 63.989), ("bleu", 5.0, 87.635), ("xcometXXL", 5.0, 98.640)):
        assert 100 * curve(name).share(delta) == pytest.approx(percent, abs=5e-4)
    assert curve("xcometXXL").needed(0.98) == pytest.approx(4.001, abs=5e-4)
    assert curve("bleu").needed(0.98) is None


def test_scores_up_to_one_are_counted_in_points_of_a_hundred() -> None:
    known = curve("comet22").at(-0.0056)
    assert known is not None
    assert known.delta == pytest.approx(0.56)
    assert 100 * known.share == pytest.approx(80, abs=0.5)  # the published 80 % of .56, which is rounded
    assert [curve("comet22").at(difference) for difference in (0.0, math.nan)] == [None, None]


def compared(segments: int, systems: int = 2) -> CompareResult:
    draw = np.random.default_rng(1)
    scores = {f"s{place}": draw.normal(30 + place, 5, segments) for place in range(systems)}
    found = compare_systems(scores, metric="m", resamples=200)
    return together([found], [curve("bleu"), replace(curve("chrf"), metric="other")])


def test_tests_get_their_share_and_survive_json() -> None:
    result = compared(600, 3)
    for test in result.metrics[0].tests:
        assert test.published is not None
        assert test.published.delta == abs(test.difference)
        assert test.published.share == pytest.approx(
            88.33333333333225 / (1 + math.exp(-0.9663926931178954 * abs(test.difference))) / 100
        )
    assert CompareResult.from_dict(result.to_dict()) == result
    assert "published_share" in result.to_csv().splitlines()[0]
    (needed,) = (part for part in parts_of(result) if isinstance(part, TablePart) and "80 %" in part.columns)
    assert needed.full
    assert [row[2].text for row in needed.rows] == ["2.34", "1.63"]


def test_few_segments_claim_nothing_and_say_so_in_full() -> None:
    result = compared(499)
    assert [test.published for test in result.metrics[0].tests] == [None]
    assert not any(one.claimed for one in result.published)
    said = [part for part in parts_of(result) if isinstance(part, Prose)]
    assert [part.full for part in said] == [True]
    assert "people agree" not in result.answer
    assert "people agree" in compared(500).answer
    assert '"claimed"' in to_json(result.to_dict())
