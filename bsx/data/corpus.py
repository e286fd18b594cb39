"""Texts in memory: what counts as a list of texts, and segments in a common shape."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Protocol, TypeAlias

from bsx.data import cells
from bsx.errors import InputError
from bsx.support.untyped import Untyped

Texts: TypeAlias = Iterable[str]
"""A list of texts: list, tuple, iterator, NumPy or Arrow array, pandas or polars Series. One text alone is refused."""
References: TypeAlias = Iterable[str | Iterable[str]]
"""One reference a segment, or a list of them."""
BREAK = "\x1f"
"""Stands in a text after each sentence of its context; see `InContext`."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment: every system's candidate for it, and its references.

    Attributes:
        id: how the segment is called in the output.
        candidates: one text for each system.
        references: at least one text, unless the corpus has no references at all.
        source: the text that was translated or summarised, or None.
        row: every column of the table row it was read from, if the table was asked to keep them.
        system: which system its one candidate is of, if its table holds several systems one below the other.
        document: which document it is from, if that is known.
    """

    id: str
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    source: str | None = None
    row: Mapping[str, object] | None = None
    system: str | None = None
    document: str | None = None


class Corpus(Protocol):
    """Segments that can be read more than once, from memory or from files.

    Attributes:
        systems: names of the systems, in the order of `Segment.candidates`.
        has: what its segments hold beside candidates: ``reference``, ``source`` or both.
    """

    systems: tuple[str, ...]
    has: frozenset[str]

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start."""
        ...


def as_list(values: object, name: str) -> list[Untyped]:
    """Return the items of a list-like object: list, tuple, iterator, NumPy or Arrow array, pandas or polars Series.

    InputError for a bare string, a mapping or a set, where a list is due.
    """
    if isinstance(values, str | bytes):
        raise InputError(f"{name} is a single {type(values).__name__}: give a list of texts, [{values[:30]!r}]")
    if isinstance(values, Mapping | set | frozenset):  # a set's order is chance, and texts are paired by theirs
        raise InputError(f"{name} is a {type(values).__name__}: give a list of texts")
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if not isinstance(values, Iterable):
        raise InputError(f"{name} is a {type(values).__name__}: give a list of texts")
    return list(values)


def as_texts(values: object, name: str) -> list[str]:
    """Return a list of texts from anything list-like (see `as_list`); InputError names the first that is not a text."""
    return [cells.text(value, f"{name}[{index}]") for index, value in enumerate(as_list(values, name))]


def as_references(values: object) -> list[tuple[str, ...]]:
    """Return each segment's references, from a list of texts or a list of lists of texts.

    InputError names the first item that is neither, or a segment without any reference.
    """
    references: list[tuple[str, ...]] = []
    for index, value in enumerate(as_list(values, "references")):
        where = f"references[{index}]"
        if isinstance(value, str):
            references.append((str(value),))
            continue
        if value is None or isinstance(value, float | int | bytes):
            cells.text(value, where)
        several = tuple(as_texts(value, where))
        if not several:
            raise InputError(f"{where} is an empty list: every segment needs at least one reference")
        references.append(several)
    return references


class MemoryCorpus:
    """Segments held in memory.

    Args:
        systems: system name -> its candidates (n texts each).
        references: n texts, or n lists of texts; None if there are none.
        sources: n texts; None if there are none.
        documents: n names of documents; None if they are not known.

    Raises:
        InputError: if anything is not a text or the numbers differ.
    """

    def __init__(
        self,
        systems: Mapping[str, object],
        references: object | None,
        sources: object | None = None,
        documents: object | None = None,
    ) -> None:
        if not systems:
            raise InputError("there is no system to score: give at least one list of candidates")
        if references is None and sources is None:
            raise InputError("there is nothing to score against: give references, or sources")
        self.systems = tuple(systems)
        self._references = as_references(references) if references is not None else None
        self._sources = as_texts(sources, "sources") if sources is not None else None
        self._documents = None
        if documents is not None:
            named = enumerate(as_list(documents, "documents"))
            self._documents = [cells.name(value, f"documents[{index}]") for index, value in named]
        kinds = {"reference": references, "source": sources}
        self.has = frozenset(kind for kind, given in kinds.items() if given is not None)
        self._candidates: list[Sequence[str]] = []
        others = {"references": self._references, "sources": self._sources, "documents": self._documents}
        for name, values in systems.items():
            label = "candidates" if len(systems) == 1 else f"candidates of {name}"
            texts = as_texts(values, label)
            for other, given in others.items():
                if given is not None and len(texts) != len(given):
                    raise InputError(f"{label}: {len(texts)} texts, {other}: {len(given)}; numbers must match")
            self._candidates.append(texts)
        if not self._candidates[0]:
            present = [other for other, given in others.items() if given is not None]
            raise InputError(f"there is nothing to score: {' and '.join(['candidates', *present])} are empty lists")

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start."""
        references = self._references if self._references is not None else repeat(())
        sources = self._sources if self._sources is not None else repeat(None)
        documents = self._documents if self._documents is not None else repeat(None)
        rows = zip(zip(*self._candidates, strict=True), references, sources, documents, strict=False)
        for number, (candidates, several, source, document) in enumerate(rows, start=1):
            yield Segment(str(number), candidates, several, source, document=document)


class InContext:
    """Segments whose texts have the sentences before them in front, each with a `BREAK` after it.

    The context of candidates and references alike is that of the first reference, from the same document; sources have
    that of sources. Without references, each system's candidates have their own. Rows of several systems one below the
    other have each their own sequence.

    Source: Vernikos et al. 2022, who give hypotheses the context of references, and their own where there are none.

    Args:
        corpus: the segments, in the order of their documents.
        sentences: how many sentences before count as context.
    """

    def __init__(self, corpus: Corpus, sentences: int) -> None:
        self._corpus, self._sentences = corpus, sentences
        self.systems, self.has = corpus.systems, corpus.has
        self.files = getattr(corpus, "files", [])
        self.layout = getattr(corpus, "layout", [])

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start; InputError for one without document, or whose document ended further up."""
        before: dict[str | None, list[deque[str]]] = {}
        current: dict[str | None, str] = {}
        seen: set[tuple[str | None, str]] = set()
        for segment in self._corpus:
            system, document = segment.system, segment.document
            if document is None:
                raise InputError(f"segment {segment.id}: nothing says which document it is from, which context needs")
            if current.get(system) != document:
                if (system, document) in seen:
                    raise InputError(
                        f"segment {segment.id}: the document {document!r} ended further up; its rows must be together"
                    )
                seen.add((system, document))
                current[system] = document
                before[system] = [deque(maxlen=self._sentences) for _ in range(1 + max(1, len(segment.candidates)))]
            source, candidates, references = (
                [text.replace(BREAK, " ") for text in texts]
                for texts in ([segment.source or ""], segment.candidates, segment.references)
            )
            of_source, *leads = ["".join(f"{text}{BREAK}" for text in queue) for queue in before[system]]
            leads = leads[:1] * len(candidates) if references else leads
            yield replace(
                segment,
                candidates=tuple([lead + text for lead, text in zip(leads, candidates, strict=True)]),
                references=tuple([leads[0] + text for text in references]),
                source=None if segment.source is None else of_source + source[0],
            )
            for queue, text in zip(before[system], [*source, *(references[:1] or candidates)], strict=False):
                if text.strip():
                    queue.append(text)


def without_context(text: str) -> str:
    """Return a text without the sentences that `InContext` put in front."""
    return text.rpartition(BREAK)[2]


def about_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many: letters of Latin script by three, others singly."""
    return (len(text) // 3 if text.isascii() else len(text)) + 2
