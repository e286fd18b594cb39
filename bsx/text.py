"""Texts in memory: what counts as a list of texts, and segments in a common shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bsx.errors import InputError


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment: every system's candidate for it, and its references.

    Attributes:
        id: how the segment is called in the output.
        candidates: one text for each system.
        references: at least one text.
    """

    id: str
    candidates: tuple[str, ...]
    references: tuple[str, ...]


class Corpus(Protocol):
    """Segments that can be read more than once, from memory or from files.

    Attributes:
        systems: names of the systems, in the order of `Segment.candidates`.
    """

    systems: tuple[str, ...]

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start."""
        ...


def as_list(values: object, name: str) -> list[Any]:
    """Return the items of a list-like object: list, tuple, iterator, NumPy or Arrow array, pandas or polars Series.

    Raises:
        InputError: for a bare string or a mapping, where a list is due.
    """
    if isinstance(values, str | bytes):
        raise InputError(f"{name} is a single {type(values).__name__}: give a list of texts, [{values[:30]!r}]")
    if isinstance(values, Mapping):
        raise InputError(f"{name} is a {type(values).__name__}: give a list of texts")
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if not isinstance(values, Iterable):
        raise InputError(f"{name} is a {type(values).__name__}: give a list of texts")
    return list(values)


def check_text(value: object, where: str) -> str:
    """Return ``value`` if it is a text.

    Raises:
        InputError: saying where and what it is instead (a number, None, NaN, …).
    """
    if isinstance(value, str):
        return str(value)
    shown = repr(value)
    raise InputError(f"{where} is {shown[:40]} ({type(value).__name__}), not a text; empty texts are written ''")


def as_texts(values: object, name: str) -> list[str]:
    """Return a list of texts from anything list-like; see `as_list`.

    Raises:
        InputError: naming the first item that is not a text.
    """
    return [check_text(value, f"{name}[{index}]") for index, value in enumerate(as_list(values, name))]


def as_references(values: object, name: str = "references") -> list[tuple[str, ...]]:
    """Return each segment's references, from a list of texts or a list of lists of texts.

    Raises:
        InputError: naming the first item that is neither, or a segment without any reference.
    """
    references: list[tuple[str, ...]] = []
    for index, value in enumerate(as_list(values, name)):
        where = f"{name}[{index}]"
        if isinstance(value, str):
            references.append((str(value),))
            continue
        if value is None or isinstance(value, float | int | bytes):
            check_text(value, where)
        several = tuple(as_texts(value, where))
        if not several:
            raise InputError(f"{where} is an empty list: every segment needs at least one reference")
        references.append(several)
    return references


class MemoryCorpus:
    """Segments held in memory.

    Args:
        systems: system name -> its candidates (n texts each).
        references: n texts, or n lists of texts.

    Raises:
        InputError: if anything is not a text or the numbers differ.
    """

    def __init__(self, systems: Mapping[str, object], references: object) -> None:
        if not systems:
            raise InputError("there is no system to score: give at least one list of candidates")
        self.systems = tuple(systems)
        self._references = as_references(references)
        self._candidates: list[Sequence[str]] = []
        for name, values in systems.items():
            label = "candidates" if len(systems) == 1 else f"candidates of {name}"
            texts = as_texts(values, label)
            if len(texts) != len(self._references):
                raise InputError(
                    f"{label}: {len(texts)} texts, references: {len(self._references)}; numbers must match"
                )
            self._candidates.append(texts)
        if not self._references:
            raise InputError("there is nothing to score: candidates and references are empty lists")

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start."""
        rows = zip(zip(*self._candidates, strict=True), self._references, strict=True)
        for number, (candidates, references) in enumerate(rows, start=1):
            yield Segment(str(number), candidates, references)
