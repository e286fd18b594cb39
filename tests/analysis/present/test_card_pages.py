"""Pages of cards: findings with their tests first, one table for all metrics, details folded and merged."""

from __future__ import annotations

from dataclasses import replace

from bsx.analysis import Card, CardRun
from bsx.analysis.present.forms import in_form, parts_of
from bsx.analysis.present.parts import Answer, Findings, Heading, Part, TablePart
from bsx.support.result import Result
from tests.analysis.present.test_cards import card


def page(result: Result) -> list[Part]:
    return parts_of(result, page=True)


def findings(result: Result) -> tuple[str, ...]:
    return next(part.items for part in page(result) if isinstance(part, Findings))


def pair(p: float) -> CardRun:
    """Return the cards of two metrics that are tested against each other: m is better by 0.2."""
    first, second = card("m", 0.5, p=p), card("n", 0.3, p=p)

    def against(one: Card, other: str, difference: float) -> Card:
        assert one.parts.agreement is not None
        test = replace(one.parts.agreement.tests[0], b=other, difference=difference)
        parts = replace(one.parts, agreement=replace(one.parts.agreement, tests=(test,)))
        return replace(one, against=(other,), parts=parts)

    return CardRun(cards=(against(first, "n", 0.2), against(second, "m", -0.2)))


def test_a_page_opens_with_findings_and_a_table_of_all_metrics() -> None:
    answer, found, figures, *_ = page(pair(0.001))
    assert isinstance(answer, Answer)
    assert isinstance(found, Findings)
    assert 3 <= len(found.items) <= 12
    assert isinstance(figures, TablePart)
    assert {"m", "n"} <= set(figures.columns)
    assert "table" not in figures.columns  # there is one, which the caption names
    assert "t.tsv" in figures.caption


def test_a_finding_names_the_better_metric_only_with_a_test() -> None:
    clear, unclear = findings(pair(0.001))[0], findings(pair(0.3))[0]
    assert "m (0.500) is significantly better than n (p <= 0.001" in clear
    assert "better" not in unclear
    assert "m (0.500) and n are not told apart" in unclear


def test_of_two_cards_the_more_careful_p_counts() -> None:
    run = pair(0.001)
    second = run.cards[1]
    assert second.parts.agreement is not None
    test = replace(second.parts.agreement.tests[0], p_adjusted=0.2)
    parts = replace(second.parts, agreement=replace(second.parts.agreement, tests=(test,)))
    run = CardRun(cards=(run.cards[0], replace(second, parts=parts)))
    assert "not told apart" in findings(run)[0]


def test_what_is_broken_is_found_for_all_metrics_together() -> None:
    assert "Checks of invariance that are broken: unicode (m and n)." in findings(pair(0.3))


def test_details_are_folded_and_hold_all_metrics_in_one_table() -> None:
    parts = page(pair(0.3))
    headings = [part for part in parts if isinstance(part, Heading)]
    assert len(headings) == len({part.text for part in headings})
    assert all(part.folded and part.full for part in headings)
    first = next(place for place, part in enumerate(parts) if isinstance(part, Heading))
    tables = [part for part in parts[first:] if isinstance(part, TablePart)]
    assert len({part.caption for part in tables}) == len(tables)
    shown = next(part for part in tables if part.columns[:2] == ("metric", "table"))
    assert [row[0].text for row in shown.rows] == ["m", "n"]
    page_ = in_form(pair(0.3), "html")
    assert page_.count("<details>") == page_.count("</details>") == len(headings)


def test_one_card_is_a_page_of_the_same_order() -> None:
    answer, found, *_ = page(card("m_1", p=0.001))
    assert isinstance(answer, Answer)
    assert isinstance(found, Findings)
    assert "m_1 (0.400) is significantly better than other" in found.items[0]


def test_text_of_a_card_is_hostile_on_no_page() -> None:
    run = CardRun(cards=(card("<script>a"), card("n")))
    assert "<script>a" not in in_form(run, "html")
    assert "<script>a" not in in_form(run, "markdown")
