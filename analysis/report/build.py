"""From documents to a report: its sections, the token alignments of its worst examples, how to repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from bsx.analysis.present.cells import NONE, table, text
from bsx.analysis.present.forms import parts_of, section_of
from bsx.analysis.present.parts import AlignmentGrid, Answer, Cell, Commands, Example, Heading, Part, Section, Surprise
from bsx.analysis.report.documents import Document, ScoreRows
from bsx.analysis.report.result import Report
from bsx.analysis.report.scored import scored, segments
from bsx.errors import InputError
from bsx.support.provenance import Provenance
from bsx.support.result import Result
from bsx.support.settings import BaseSettings, Option, settled
from bsx.support.untyped import JsonObject

_ORDER = (
    *("meta", "meta-judgments", "raters", "train-curve", "compare", "disentangle", "intervene"),
    *("adversarial-challenge", "adversarial-triples", "adversarial-pairs", "adversarial-perturb"),
    *("probe", "ensemble", "protocol"),
)
"""Kinds of results in the order of their sections; others come after these."""

Align = Callable[[str, str], JsonObject]
"""From candidate and reference to what `bsx.bertscore.alignment.Alignment.to_dict` returns."""

_WIDEST = 40  # tokens of a side that fit on a page


class ReportSettings(BaseSettings):
    """How a report is called, and how much of it are examples."""

    title: Annotated[str, Field(description="Heading of the report.")] = "Evaluation report"
    examples: Annotated[
        int, Field(ge=0, le=10_000, description="Worst examples to show, and to align, of each document.")
    ] = 10


class ReportParts(ReportSettings):
    """What a report is made with beside its documents."""

    align: Annotated[
        Align | None,
        Field(
            description="From candidate and reference to the token alignment, as Scorer(...).align(c, r).to_dict() "
            "gives it; None leaves alignments out."
        ),
        Option(python=True),
    ] = None
    origin: Annotated[
        Mapping[str, object] | None,
        Field(description="Where the report itself comes from, see `bsx.support.provenance.provenance`."),
        Option(python=True),
    ] = None


def has_examples(document: Document) -> bool:
    """Return whether a document has examples whose tokens could be aligned."""
    parts = parts_of(document.content) if isinstance(document.content, Result) else ()
    return any(isinstance(part, Example) and part.pairs for part in parts)


@settled(ReportParts)
def build_report(documents: Sequence[Document], settings: ReportParts) -> Report:
    """Put a report together.

    Args:
        documents: from `bsx.analysis.read_document`.
        settings: see `ReportParts`.

    Raises:
        InputError: if there is nothing to report on.
    """
    if not documents:
        raise InputError("a report needs at least one table of scores or document of results")
    aligner = Aligner(settings.align)
    what = scored(documents)
    leads = any(isinstance(document.content, ScoreRows) for document in documents)  # else it is signatures alone
    results = [
        what if leads else None,
        *_presented(documents, aligner, settings.examples),
        segments(documents),
        None if leads else what,
        repeat(documents, settings.origin, aligner.signature),
    ]
    return Report(settings.title, tuple(section for section in results if section is not None))


def findings(documents: Sequence[Document], examples: int) -> list[Section]:
    """Return the sections of a report that say what was found, without its rows and without how to repeat it."""
    what = scored(documents)
    return [*_presented(documents, Aligner(None), examples), *([what] if what is not None else [])]


def _presented(documents: Sequence[Document], aligner: Aligner, examples: int) -> Iterator[Section]:
    """Yield the sections of results, headings between several of one section: the answers, then what they rest on."""
    sections: dict[tuple[str, str], list[tuple[str, Result]]] = {}
    results = [(document.name, document.content) for document in documents if isinstance(document.content, Result)]
    places = {kind: place for place, kind in enumerate(_ORDER)}
    for name, result in sorted(results, key=lambda named: places.get(named[1].kind, len(_ORDER))):
        if (of := section_of(result)) is not None:
            sections.setdefault(of, []).append((name, result))
    names = Counter[str]()
    for (kind, title), several in sections.items():
        names[kind] += 1
        section, leads = Section(f"{kind}-{names[kind]}" if names[kind] > 1 else kind, title), []
        summary: list[Part] = []
        if kind == "robustness":  # one sentence on all of them, in place of those of the results
            from bsx.analysis.adversarial.show_perturb import robustness

            summary += robustness(several)
        section.blocks += [part for part in summary if not isinstance(part, Answer)]
        for name, result in several:
            parts = parts_of(result)
            left = [id(part) for part in parts if isinstance(part, Example)][examples:]
            first, *rest = [part for part in parts if id(part) not in left]
            section.blocks += [Heading(name)] if len(several) > 1 else []
            if isinstance(first, Answer):
                leads.append(first.text)
                section.answers |= first.answers
            section.blocks += [aligner.align(part) for part in rest if not isinstance(part, Surprise)]
            section.surprises += [part for part in rest if isinstance(part, Surprise)]
        section.lead = " ".join([part.text for part in summary if isinstance(part, Answer)] or leads)
        yield section


@dataclass
class Aligner:
    """Aligns the texts of examples; ``signature`` is that of the alignments, once there is one."""

    draw: Align | None
    signature: str | None = None

    def align(self, part: Part) -> Part:
        """Return an example with the alignments of its pairs, or what stood in the way; another part as it is."""
        if self.draw is None or not isinstance(part, Example) or not part.pairs:
            return part
        grids, remarks = [], []
        for label, candidate, reference in part.pairs:
            try:
                result = self.draw(candidate, reference)
            except InputError as error:
                remarks.append(f"{label}: {error}")
                continue
            self.signature = str(result["signature"])
            grid = _grid(label, result)
            if max(len(grid.rows), len(grid.columns)) > _WIDEST:
                remarks.append(f"{label}: too long to draw ({len(grid.rows)} by {len(grid.columns)} tokens)")
            else:
                grids.append(grid)
        return replace(part, alignments=tuple(grids), remark="; ".join(remarks))


def _grid(label: str, alignment: JsonObject) -> AlignmentGrid:
    """Return an alignment without the tokens that weigh nothing, unless one is somebody's match."""
    sides = [alignment[name]["tokens"] for name in ("candidate", "reference")]
    kept = []
    for side, other in (sides, sides[::-1]):
        matched = {token["match"] for token in other if token["weight"]}
        kept.append([place for place, token in enumerate(side) if token["weight"] or place in matched])
    moved = [{old: new for new, old in enumerate(places)} for places in kept]
    shown = [[side[place] for place in places] for side, places in zip(sides, kept, strict=True)]
    matches = [
        tuple(others.get(token["match"], -1) if token["weight"] else -1 for token in side)
        for side, others in zip(shown, moved[::-1], strict=True)
    ]
    cosines = tuple(tuple(float(alignment["cosines"][row][column]) for column in kept[1]) for row in kept[0])
    tokens = [tuple(str(token["token"]) for token in side) for side in shown]
    summary = f"P {alignment['precision']:.3f}, R {alignment['recall']:.3f}, F1 {alignment['f1']:.3f}"
    return AlignmentGrid(label, tokens[0], tokens[1], cosines, matches[0], matches[1], summary)


def repeat(documents: Sequence[Document], origin: Mapping[str, object] | None, alignment: str | None) -> Section:
    """Return the section on repeating the report, which itself comes from `origin`, with the alignments' signature."""
    section = Section("repeat", "How to repeat this")
    origins = [(document, document.content.provenance) for document in documents]
    report_made = None if origin is None else Provenance.read(origin)
    every = [*((document.name, made) for document, made in origins), ("this report", report_made)]
    known = [(name, made) for name, made in every if made is not None]
    section.lead = f"The commands that made the {len(documents)} inputs of this report, in the order given."
    if unknown := [document.name for document, made in origins if made is None]:
        section.lead += f" How {', '.join(unknown)} came about is not known: there is no provenance with it."
    commands = dict.fromkeys(made.command for _, made in known if made is not report_made)
    section.blocks.append(Commands((*commands, *([] if report_made is None else [report_made.command]))))

    def add(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], *, folded: bool = True) -> None:
        if rows:
            section.blocks.append(table(caption, heads, rows, sortable=False, folded=folded))

    inputs, shown = [], list[list[Cell]]()
    for document, made in origins:
        kind = "scores" if made is None else made.kind
        settings = document.content.settings if isinstance(document.content, Result) else {}
        seed = getattr(document.content, "seed", None) or settings.get("seed")
        cells = [*map(text, (document.name, kind, NONE if seed is None else str(seed)))]
        inputs.append([*cells, text(document.sha256 or NONE, code=True)])
        named = ", ".join(
            f"{key.replace('_', ' ')} {'yes' if value is True else value}"
            for key, value in settings.items()
            if isinstance(value, str | int | float) and value is not False and value not in ("", "none")
        )
        shown += [[text(document.name), text(named)]] if named else []
    add("Inputs of this report", ["file", "kind", "seed", "sha256"], inputs, folded=False)
    add("Settings of the results", ["file", "settings"], shown)
    read = {(file.name, file.sha256): None for _, made in origins if made is not None for file in made.files}
    digests = [[text(name), text(digest, code=True)] for name, digest in read]
    add("Data that the commands read", ["file", "sha256"], digests)
    versions: dict[str, dict[str, list[str]]] = {}
    for name, made in known:
        for package, version in made.versions.items():
            versions.setdefault(package, {}).setdefault(version, []).append(name)
    packages = [
        [text(package), text(version), text("all" if len(by) == 1 else ", ".join(names))]
        for package, by in versions.items()
        for version, names in by.items()
    ]
    add("Versions", ["package", "version", "in"], packages)
    signatures = [] if alignment is None else [[text("token alignments"), text(alignment, code=True)]]
    add("Signature of the alignments", ["what", "signature"], signatures, folded=False)
    return section
