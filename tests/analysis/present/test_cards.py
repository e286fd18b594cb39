"""Cards and leaderboards as people see them: significance decides what is said, and every form says the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bsx.analysis import Card, CardRun, Leaderboard, compare_cards
from bsx.analysis.cards.result import (
    SCHEMA,
    AgreementPart,
    AgreementRow,
    CardData,
    CardParts,
    CardTest,
    FamilyRow,
    InvariancePart,
    InvarianceRow,
    PartStatus,
    SentinelRow,
    SentinelsPart,
)
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Answer, Notes, TablePart
from bsx.support.result import Result

WIDE = (-0.1, 0.9)
NARROW = (0.39, 0.41)


def card(metric: str, value: float = 0.4, ci: tuple[float, float] = WIDE, p: float = 0.3) -> Card:
    """Return a card with a figure of agreement, tested against a sentinel and against another metric."""
    where: dict[str, Any] = {"data": "t.tsv", "level": "segment", "group": "cs-en"}
    row = AgreementRow(
        **where, n=40, statistic="pearson", value=value, ci=ci, rank=None, of=None, others={}, method="Fisher"
    )
    tests = [
        CardTest(**where, figure="pearson", a=metric, b=b, difference=0.2, ci=None, p=p, p_adjusted=p)
        for b in ("other", "length")
    ]
    sentinel = SentinelRow(
        data="t.tsv",
        level="segment",
        group="cs-en",
        sentinel="length",
        figure="pearson",
        value=0.2,
        metric_value=value,
    )
    what = "rows in reverse order"
    checks = tuple(
        InvarianceRow(what=what, n=9, changed=0, largest=0.0, name=name, holds=holds, kind=kind)
        for name, holds, kind in (
            ("order", True, "invariance"),
            ("unicode", False, "invariance"),
            ("symmetry", False, "property"),
        )
    )
    return Card(
        schema_version=SCHEMA,
        metric=metric,
        of="metric",
        signature="s_1",
        signatures={"en": "s_1"},
        higher_is_better=True,
        partial=True,
        data=(
            CardData(
                name="t.tsv",
                kind="judged",
                n=40,
                sha256="1b" * 32,
                languages=("en",),
                groups=(),
                examples=False,
                rows="2c" * 32,
            ),
        ),
        against=("other",),
        status={"cost": PartStatus(status="failed", reason="no memory")},
        parts=CardParts(
            agreement=AgreementPart(rows=(row,), tests=(tests[0],)),
            sentinels=SentinelsPart(rows=(sentinel,), tests=(tests[1],)),
            invariance=InvariancePart(checks=checks, tolerance=1e-5),
        ),
        multiplicity=FamilyRow(tests=2, correction="holm", alpha=0.05, significant=2 * (p < 0.05)),
    )


RESULTS: dict[str, Result] = {
    "Card": card("m_1"),
    "CardRun": CardRun(cards=(card("m_1"), card("50% & n", 0.2))),
    "Leaderboard": compare_cards([card("m_1"), card("n")]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_form(name: str) -> None:
    result = RESULTS[name]
    assert type(result).from_dict(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()
    assert len(repr(result)) < 400
    page = result.to_html()
    assert page.count("<table>") == page.count("</table>") >= 1
    frame = result.to_pandas()
    assert frame["metric"][0] == "m_1"
    assert len(frame) == len(set(frame["metric"]))
    latex = result.to_latex(data="wmt_17 & co")
    assert r"wmt\_17 \& co: " in latex
    assert latex.count(r"\begin{table") == latex.count(r"\end{table") >= 1
    assert len(result.to_text().splitlines()) < 25
    assert len(result.to_text(full=True)) >= len(result.to_text())
    assert "t.tsv" in result.plot().svg()


def answer(result: Result) -> str:
    first = parts_of(result)[0]
    assert isinstance(first, Answer)
    return first.text


def test_a_metric_is_better_only_where_a_test_says_so() -> None:
    clear, unclear = answer(card("m_1", p=0.001)), answer(card("m_1", p=0.3))
    assert clear.count("significantly better in 1 of 1 test") == 2  # than the control, and than the other metric
    assert "better" not in unclear
    assert unclear.count("no significant difference in 1 test") == 2
    one = card("m_1", p=0.001)
    assert one.parts.sentinels is not None
    lost = replace(one.parts.sentinels, tests=tuple(replace(t, difference=-0.2) for t in one.parts.sentinels.tests))
    worse = replace(one, parts=replace(one.parts, sentinels=lost))
    assert "significantly worse in 1 of 1 test" in answer(worse)


def test_what_is_no_figure_to_go_by_is_counted_in_words() -> None:
    one = card("m_1", p=0.001)
    assert one.parts.sentinels is not None
    (test,) = one.parts.sentinels.tests
    for tests, said in (((replace(test, n=12),), "1 test of"), ((replace(test, n=12),) * 2, "2 tests of")):
        small = replace(one.parts.sentinels, tests=tests)
        told = answer(replace(one, parts=replace(one.parts, sentinels=small)))
        assert f"{said} fewer than" in told


def test_a_property_is_no_check_and_what_is_broken_is_named() -> None:
    assert "1 of 2 checks of invariance hold; broken: unicode." in answer(card("m_1"))


def test_figures_stand_beside_the_best_sentinel_and_failed_parts_are_told() -> None:
    parts = parts_of(card("m_1"))
    table = next(part for part in parts if isinstance(part, TablePart))
    assert [cell.value for cell in table.rows[0]][-2:] == [0.4, 0.2]
    notes = next(part for part in parts if isinstance(part, Notes) and not part.full)
    assert any("no memory" in note for note in notes.items)


def test_a_metric_is_in_front_only_if_it_is_alone() -> None:
    apart = compare_cards([card("m_1", 0.4, NARROW), card("n", 0.1, (0.09, 0.11))])
    assert [row.winner for row in apart.figures[0].standings] == [True, False]
    assert "m_1 (1)" in answer(apart)
    together = compare_cards([card("m_1", 0.4), card("n", 0.35)])
    assert isinstance(together, Leaderboard)
    assert "m_1" not in answer(together)
    assert answer(together).endswith("In none of 1 figures is one metric told apart from all others as the best.")
