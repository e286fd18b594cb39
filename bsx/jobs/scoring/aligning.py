"""Documents whose sentences do not line up with the reference's: aligned, counted, and written as a table to score."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.data.documents import DOCUMENTS, SENTENCES, DocumentText, read_documents
from bsx.data.long import SYSTEM
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.tables import Table
from bsx.encode.run_config import EncoderSettings
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.tables import FORMATS, Reported
from bsx.match.documents import AlignedDocument, AlignedDocuments, AlignedSystem
from bsx.match.sentences import AlignedSide, Bead, align_sentences, summed
from bsx.support.progress import told
from bsx.support.provenance import Provenance, provenance
from bsx.support.settings import Option, part, settled

if TYPE_CHECKING:
    from bsx.metrics.embedding.sentence import SentenceCosine

GAP, JOIN = 0.4, 0.3
"""What a sentence without a counterpart, and one more put together, cost; benchmarks/alignment.py chose both."""


class AlignRun(Reported, EncoderSettings):
    """Documents to align, and how."""

    candidates: Annotated[
        Sequence[str],
        Field(description=f"Tables of the systems' documents, one a system: {FORMATS}."),
        Option(("-c",), whole=True),
    ] = ()
    references: Annotated[
        Sequence[str],
        Field(description="Table of the reference's documents, by the same names."),
        Option(("-r",), whole=True),
    ] = ()
    document: Annotated[str | None, Field(description="Column that names the documents. [document, doc or doc_id]")] = (
        None
    )
    candidate: Annotated[
        Sequence[str],
        Field(description="Column of the systems' sentences. [candidate; sentence, sentences or text]"),
    ] = ()
    reference: Annotated[
        Sequence[str],
        Field(description="Column of the reference's sentences. [reference; sentence, sentences or text]"),
    ] = ()
    source: Annotated[
        str | None, Field(description="Column of the sources of the reference's sentences. [source, if there]")
    ] = None
    merge: Annotated[
        int, Field(ge=2, le=12, description="Sentences that may be put together, of both sides in all: 5 lets 2-3.")
    ] = 5
    gap: Annotated[
        float,
        Field(ge=0, description="What a sentence without a counterpart costs, where two taken at random cost about 1."),
    ] = GAP
    join: Annotated[
        float, Field(ge=0, description="What each sentence beyond one a side costs where several are put together.")
    ] = JOIN
    output: Annotated[
        Path | str | None,
        Field(description="Write a row for each group of sentences: .tsv, .csv, .jsonl, .parquet or .xlsx."),
        Option(("-o",), writable=True),
    ] = None


@dataclass(frozen=True)
class _Version:
    """The documents of one file.

    Attributes:
        name: of the system, or of the reference.
        file: in messages.
        documents: by name.
        vectors: unit vectors of each document's sentences (sentences, dim).
        mean: of the vectors of all sentences (dim,).
    """

    name: str
    file: str
    documents: Mapping[str, DocumentText]
    vectors: Mapping[str, NDArray[np.float64]]
    mean: NDArray[np.float64]


@settled(AlignRun)
@as_one_run
def align_documents(settings: AlignRun) -> AlignedDocuments:
    """Align the sentences of systems' documents with those of the reference, and write the groups as rows to score.

    A sentence without a counterpart makes a row whose other side is blank. Metrics score such a row as the empty text
    that it is, so that the score of a document counts what was added and left out, as in SEGALE (Wang et al. 2025).

    Args:
        settings: see `AlignRun`.

    Raises:
        InputError: if a file or document cannot be used, or is on one side only.
    """
    progress, output = told(settings.progress), None if settings.output is None else Path(settings.output)
    if not settings.candidates or len(settings.references) != 1:
        raise InputError("give candidates, a table for each system, and references, one table")
    if output is not None:
        check_table(output)
    reference = _read(settings.references[0], settings, "reference")
    (twice, times), *_ = Counter(Path(name).stem for name in settings.candidates).most_common(1)
    if times > 1:
        raise InputError(f"{times} tables of candidates are called {twice!r}: systems need distinct names")
    systems = {Path(name).stem: _read(name, settings, "candidate") for name in settings.candidates}
    for name, (file, documents) in systems.items():
        _refuse_unlike(name, file, documents, settings.references[0], reference[1])
    from bsx.metrics.embedding.sentence import SentenceCosine
    from bsx.metrics.zoo import get_metric

    metric = get_metric("sentence", encoders=Encoders(**part(settings, EncoderSettings)))
    assert isinstance(metric, SentenceCosine)  # noqa: S101 - the registry names it
    sources = any(document.sources for document in reference[1].values())
    total = sum(len(one.sentences) for _, documents in [reference, *systems.values()] for one in documents.values())
    done = 0

    def version(name: str, file: str, documents: Mapping[str, DocumentText]) -> _Version:
        nonlocal done
        vectors = {}
        for document, one in documents.items():
            vectors[document] = metric.unit(one.sentences)[0]
            done += len(one.sentences)
            if progress is not None:
                progress("sentences", done, total)
        return _Version(name, file, documents, vectors, np.concatenate([*vectors.values()]).mean(axis=0))

    standard = version("reference", *reference)
    versions = [version(name, *read) for name, read in systems.items()]
    found: list[AlignedDocument] = []
    kinds: dict[str, Counter[str]] = {one.name: Counter() for one in versions}
    costs: dict[str, list[float]] = {one.name: [] for one in versions}
    budget = metric.encoders.budget
    with ExitStack() as stack:
        table = None if output is None else stack.enter_context(ScoreTable(output))
        for place, (name, right) in enumerate(standard.documents.items(), start=1):
            spans = summed(standard.vectors[name], settings.merge - 1)
            for one in versions:
                left = one.documents[name]
                beads = align_sentences(
                    AlignedSide.of(summed(one.vectors[name], settings.merge - 1), standard.mean),
                    AlignedSide.of(spans, one.mean),
                    most=settings.merge,
                    gap=settings.gap,
                    join=settings.join,
                    budget=budget,
                )
                found.append(_counted(one.name, name, left, right, beads))
                kinds[one.name].update(bead.kind for bead in beads)
                costs[one.name] += [bead.cost for bead in beads if min(bead.sizes)]
                for row in _rows(name, left, right, beads, sources=sources) if table is not None else ():
                    table.write({**({"system": one.name} if len(versions) > 1 else {}), **row})  # type: ignore[union-attr]
            if progress is not None:
                progress("documents", place, len(standard.documents))
    files = [*settings.candidates, *settings.references]
    signature = {"sentence": str(metric.signature())}
    return AlignedDocuments(
        systems=tuple(_together(one.name, found, kinds[one.name], costs[one.name]) for one in versions),
        documents=tuple(found),
        model=signature["sentence"],
        merge=settings.merge,
        gap=settings.gap,
        join=settings.join,
        written="" if output is None else output.name,
        signatures=signature,
        notes=tuple(_notes(metric, [standard, *versions])),
        provenance=Provenance.read(provenance("align", files, signature)),
    )


def _read(name: str, settings: AlignRun, side: str) -> tuple[str, dict[str, DocumentText]]:
    """Return a file's name and its documents."""
    table = Table(name)
    asked = getattr(settings, side)
    if len(asked) > 1:
        raise InputError(f"{side} names {len(asked)} columns: sentences are in one")
    column = _column(table, side, next(iter(asked), None), (side, *SENTENCES))
    document = _column(table, "document", settings.document, DOCUMENTS)
    _refuse_systems(table, document)
    source = None
    if side == "reference":
        source = settings.source or ("source" if "source" in table.columns else None)
        table.require(*(one for one in (source,) if one is not None))
    return table.name, read_documents(table, document, column, source)


def _refuse_systems(table: Table, document: str) -> None:
    """Refuse a table of several systems, whose sentences would run on as if they were of one version."""
    if SYSTEM not in table.columns or document == SYSTEM:
        return
    first: object = None
    for row in table.rows(SYSTEM, only=True):
        first = row[SYSTEM] if first is None else first
        if row[SYSTEM] != first:
            after = f"the system {str(row[SYSTEM])!r} after {str(first)!r}"
            raise InputError(f"{row.where}: {after}: give each system a table of its own")


def _column(table: Table, setting: str, asked: str | None, usual: Sequence[str]) -> str:
    if asked is not None:
        table.require(asked)
        return asked
    found = next((name for name in usual if name in table.columns), None)
    if found is None:
        there = ", ".join(table.columns)
        raise InputError(f"{setting} must name a column ({' or '.join(usual)}); it has {there}", file=table.name)
    return found


def _refuse_unlike(
    system: str, file: str, documents: Mapping[str, DocumentText], other: str, reference: Mapping[str, DocumentText]
) -> None:
    """Refuse documents that one side lacks."""
    for here, there, lacks in ((reference, documents, file), (documents, reference, other)):
        missing = [name for name in here if name not in there]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            has = "the references have" if lacks == file else f"{system} has"
            raise InputError(
                f"the document {missing[0]!r}{more} is missing, which {has}: both sides need the same documents",
                file=lacks,
            )


def joined(sentences: Sequence[str]) -> str:
    """Return sentences as one text: with a space between, except between scripts that are written without.

    >>> joined(["It rained.", "We left."]), joined(["下雨了。", "我们走了。"])
    ('It rained. We left.', '下雨了。我们走了。')
    """
    text = ""
    for sentence in map(str.strip, sentences):
        tight = bool(text) and bool(sentence) and _tight(text[-1]) and _tight(sentence[0])
        text += ("" if tight or not text else " ") + sentence
    return text


def _tight(character: str) -> bool:
    wide = unicodedata.east_asian_width(character) in "WF"
    return wide and "HANGUL" not in unicodedata.name(character, "")


def _rows(
    name: str, left: DocumentText, right: DocumentText, beads: Sequence[Bead], *, sources: bool
) -> Iterator[dict[str, object]]:
    for number, bead in enumerate(beads, start=1):
        row: dict[str, object] = {
            "document": name,
            "segment": f"{name}:{number}",
            "candidate": joined(left.sentences[slice(*bead.left)]),
            "reference": joined(right.sentences[slice(*bead.right)]),
        }
        if sources:
            row["source"] = joined(right.sources[slice(*bead.right)])
        yield {**row, "aligned": bead.kind, "cost": bead.cost}


def _counted(system: str, name: str, left: DocumentText, right: DocumentText, beads: Sequence[Bead]) -> AlignedDocument:
    paired = [bead.cost for bead in beads if min(bead.sizes)]
    return AlignedDocument(
        system=system,
        document=name,
        candidate=len(left.sentences),
        reference=len(right.sentences),
        one_to_one=sum(bead.sizes == (1, 1) for bead in beads),
        merged=sum(min(bead.sizes) > 0 and max(bead.sizes) > 1 for bead in beads),
        added=sum(bead.sizes == (1, 0) for bead in beads),
        omitted=sum(bead.sizes == (0, 1) for bead in beads),
        cost=float(np.mean(paired)) if paired else float("nan"),
    )


def _together(
    system: str, every: Sequence[AlignedDocument], kinds: Counter[str], costs: Sequence[float]
) -> AlignedSystem:
    own = [one for one in every if one.system == system]
    return AlignedSystem(
        system=system,
        documents=len(own),
        rows=kinds.total(),
        kinds=dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        cost=float(np.mean(costs)) if costs else float("nan"),
        candidate=sum(one.candidate for one in own),
        reference=sum(one.reference for one in own),
        one_to_one=sum(one.one_to_one for one in own),
        merged=sum(one.merged for one in own),
        added=sum(one.added for one in own),
        omitted=sum(one.omitted for one in own),
    )


def _notes(metric: SentenceCosine, versions: Sequence[_Version]) -> Iterator[str]:
    for one in versions:
        blank = sum(document.blank for document in one.documents.values())
        if blank:
            yield f"{one.file}: {blank} blank sentence{'s' * (blank > 1)} left out"
    yield from dict.fromkeys([*metric.notes, *metric.encoders.notes])
