"""The documents of one kind in a report, and a section with a part for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from bsx.analysis.documents.base import ResultDocument
from bsx.analysis.present.parts import Heading, Notes, Part, Section
from bsx.analysis.report.documents import Document

Kind = TypeVar("Kind", bound=ResultDocument)
Content = TypeVar("Content")


def contents(documents: Sequence[Document], kind: type[Kind]) -> list[tuple[str, Kind]]:
    """Return names and contents of the documents of one kind."""
    return [(document.name, document.content) for document in documents if isinstance(document.content, kind)]


def titles(found: Sequence[tuple[str, Content]], describe: Callable[[Content], str]) -> list[str]:
    """Return headings that say what each content shows, with the file's name only where two would be the same."""
    said = [describe(content) for _, content in found]
    return [what if said.count(what) == 1 else f"{what} ({name})" for what, (name, _) in zip(said, found, strict=True)]


def section_of(
    section: Section,
    found: Sequence[tuple[str, Content]],
    describe: Callable[[Content], str],
    lead: Callable[[Content], str],
    blocks: Callable[[Content], Iterable[Part]],
) -> Section | None:
    """Return a section with the blocks of all contents, headings between several, and their leads; None without any."""
    for head, (_, content) in zip(titles(found, describe), found, strict=True):
        section.blocks += [Heading(head)] if len(found) > 1 else []
        section.blocks += blocks(content)
    section.lead = " ".join(lead(content) for _, content in found)
    return section if found else None


def noted(notes: Sequence[str]) -> list[Part]:
    """Return notes as a block, if there are any."""
    return [Notes(tuple(notes))] if notes else []
