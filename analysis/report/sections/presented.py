"""Sections of results that `analysis.present` shows: the answers first, then everything that they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bsx.analysis.present.forms import SECTIONS, load_presenters, parts_of
from bsx.analysis.present.parts import Answer, Example, Heading, Part, Passages, Section, Surprise
from bsx.analysis.report.alignments import Aligner
from bsx.analysis.report.documents import Document
from bsx.support.result import Result


def presented(
    documents: Sequence[Document],
    kind: type[Result] | tuple[type[Result], ...],
    aligner: Aligner,
    examples: int | None = None,
) -> Section | None:
    """Return the section of all results of a class, headings between several; None without any.

    Args:
        documents: the inputs of the report.
        kind: the class; or several that share a section, in the order of their parts.
        aligner: for the tokens of examples.
        examples: how many of each result; None for all.
    """
    load_presenters()
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = [(one.name, one.content) for each in kinds for one in documents if isinstance(one.content, each)]
    if not found:
        return None
    section = Section(*SECTIONS[kinds[0]])
    leads = []
    for name, result in found:
        first, *rest = _at_most(parts_of(result), examples)
        if isinstance(first, Answer):
            leads.append(first.text)
            section.answers |= first.answers
        section.blocks += [Heading(name)] if len(found) > 1 else []
        section.blocks += [_fitted(part, aligner, examples) for part in rest if not isinstance(part, Surprise)]
        section.surprises += [part for part in rest if isinstance(part, Surprise)]
    section.lead = " ".join(leads)
    return section


def _fitted(part: Part, aligner: Aligner, examples: int | None) -> Part:
    if isinstance(part, Passages):
        return replace(part, rows=part.rows[:examples])
    if not isinstance(part, Example) or not part.pairs:
        return part
    grids, remark = aligner.align(part.pairs)
    return replace(part, alignments=grids, remark=remark)


def _at_most(parts: Sequence[Part], examples: int | None) -> list[Part]:
    """Return parts without the examples beyond so many; None keeps all."""
    left = [part for part in parts if isinstance(part, Example)][examples:] if examples is not None else []
    return [part for part in parts if not any(part is one for one in left)]
