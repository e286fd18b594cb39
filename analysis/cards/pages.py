"""Cards and leaderboards as text for a terminal, and as reports: one HTML page, or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bsx.analysis.documents.cards import CardDocument
from bsx.analysis.present.parts import Heading, Notes, Page, Part, Prose, TablePart
from bsx.analysis.report.result import Report
from bsx.analysis.report.sections.cards import card_sections
from bsx.errors import InputError
from bsx.support.aligned import text_table


def card_report(cards: Sequence[CardDocument]) -> Report:
    """Return a page of one card, or of several.

    Raises:
        InputError: if there is none.
    """
    if not cards:
        raise InputError("there is no card to show")
    names = ", ".join(card.metric for card in cards)
    sections = [
        section for place, card in enumerate(cards, start=1) for section in card_sections(card, place, len(cards))
    ]
    return Report(f"Metric card{'s' if len(cards) > 1 else ''}: {names}", tuple(sections))


def page_text(page: Page) -> str:
    """Return a page as text for a terminal: tables in aligned columns, no charts."""
    lines = [page.title]
    for section in page.sections:
        lines += ["", section.title, "=" * len(section.title), *([section.lead] if section.lead else [])]
        for block in section.blocks:
            lines += _block(block)
    return "\n".join(lines) + "\n"


def _block(block: Part) -> Iterator[str]:
    if isinstance(block, Heading | Prose):
        yield from ("", block.text)
    elif isinstance(block, Notes):
        yield from ("", *(f"note: {item}" for item in block.items))
    elif isinstance(block, TablePart):
        align = "".join("r" if place in block.numeric else "l" for place in range(len(block.columns)))
        rows = [list(block.columns), *([cell.text for cell in row] for row in block.rows)]
        yield from ("", block.caption, text_table(rows, align), *([block.note] if block.note else []))
