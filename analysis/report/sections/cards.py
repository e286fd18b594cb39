"""Metric cards: what a card rests on, then each of its parts as a section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bsx.analysis.documents.cards import CardDocument, CardTest
from bsx.analysis.present.cells import NONE, interval, number, p_value, table, text
from bsx.analysis.present.parts import Part, Section
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted
from bsx.analysis.report.sections.parts import PARTS

_TITLES = {
    "agreement": "Agreement with people",
    "factors": "What its scores go with",
    "paraphrase": "Paraphrases",
    "perturbations": "Controlled changes",
    "challenge": "Challenge sets",
    "sentinels": "What is trivial",
    "invariance": "What should change nothing",
    "cost": "Cost",
    "languages": "Languages",
}


def cards(documents: Sequence[Document]) -> list[Section]:
    """Return the sections of all cards among a report's documents."""
    found = [content for _, content in contents(documents, CardDocument)]
    return [section for place, card in enumerate(found, start=1) for section in card_sections(card, place, len(found))]


def card_sections(card: CardDocument, place: int = 1, of: int = 1) -> Iterator[Section]:
    """Yield the sections of a card.

    Args:
        card: the card.
        place: its number among several on a page.
        of: how many there are.
    """
    before = f"{card.metric}: " if of > 1 else ""
    yield _summary(card, f"card-{place}", before)
    parts = card.parts.made()
    for name, title in _TITLES.items():
        part = parts.get(name)
        if part is None:
            continue
        section = Section(f"card-{place}-{name}", f"{before}{title}")
        section.blocks += PARTS[name](part)
        section.blocks += _tests(part.tests)
        section.blocks += noted(part.notes)
        yield section


def _summary(card: CardDocument, identity: str, before: str) -> Section:
    section = Section(identity, f"{before}What this card rests on")
    examples = [one for one in card.data if one.examples]
    family = card.multiplicity
    tables = "table" if len(card.data) == 1 else "tables"
    section.lead = (
        f"{card.metric}, {'published scores' if card.kind == 'column' else 'scored here'}, on {len(card.data)} "
        f"{tables}{' of shipped examples' if examples else ''}. {family.tests} tests "
        f"were made, all corrected together ({family.correction.capitalize()}): {family.significant} are below "
        f"{family.alpha:g}."
    )
    rows = [
        [
            text(one.name),
            text(one.kind),
            text(", ".join(one.languages)),
            number(one.n),
            text(", ".join(one.groups[:12]) + (", …" if len(one.groups) > 12 else "")),
            text(one.sha256[:12], code=True),
        ]
        for one in card.data
    ]
    section.blocks.append(
        table("Data", ["table", "kind", "language", "rows", "groups", "sha256"], rows, sortable=False)
    )
    rows = [[text(_TITLES[name]), text(one.status), text(one.reason or NONE)] for name, one in card.status.items()]
    section.blocks.append(table("Parts", ["part", "status", "why"], rows, sortable=False))
    signed = [[text(lang), text(signature, code=True)] for lang, signature in card.signatures.items()]
    if signed:
        section.blocks.append(table("Signatures", ["language", "signature"], signed, sortable=False))
    section.blocks += noted(card.notes)
    return section


def _tests(tests: Sequence[CardTest]) -> Iterator[Part]:
    if not tests:
        return
    rows = [
        [
            text(test.data),
            text(" ".join(filter(None, (test.level, test.group))) or NONE),
            text(test.figure),
            text(test.a),
            text(test.b),
            number(test.difference),
            interval(test.ci),
            p_value(test.p),
            p_value(test.p_adjusted),
        ]
        for test in tests
    ]
    heads = ["table", "where", "figure", "A", "B", "A less B", "interval", "p", "p (all tests of the card)"]
    methods = "; ".join(dict.fromkeys(test.method for test in tests if test.method))
    yield table("Tests", heads, rows, note=f"{methods}.", folded=len(rows) > 12)
