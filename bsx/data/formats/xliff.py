"""XLIFF 1.2 and 2.x as a table: a row a translated segment, with its source, its target and where it is from.

Source: OASIS, XLIFF Version 1.2 (2008), XLIFF Version 2.1 (2018).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias
from xml.etree.ElementTree import Element

from bsx.data.formats.markup import UnitReader, inline_text, marked_texts, quoted
from bsx.data.lines import NamedFile, Problems
from bsx.data.sources import Row, RowSource
from bsx.errors import InputError

_SPACE = "urn:oasis:names:tc:xliff:document:"
_OURS = ("1.0", "1.1", "1.2", "2.0", "2.1", "2.2")
_ASIDE = frozenset(["alt-trans", "bin-unit", "header", "ignorable", "originalData", "skeleton"])
_ASIDE |= {"context-group", "count-group", "prop-group"}
"""What holds texts that are no translation of this file, and what says other things of it."""
_NOTES = {True: "note", False: "notes/note"}
_UNTRANSLATED = frozenset(["new", "needs-translation", "initial"])
"""States of a target that nobody has translated; tools put a copy of the source there, or a draft."""
_NO_TARGET, _COPY, _FIXED = (
    ("has no target", "have no target"),
    ("is a copy of the source in the state {}", "are copies of the source in the state {}"),
    ("is not to be translated", "are not to be translated"),
)
"""Why segments are left out, of one and of several."""


class Translated(NamedTuple):
    """A segment.

    Attributes:
        document: the file that it is from, ``documents`` the number of files up to there.
        name: what it is called within its document.
        line: where its unit begins.
        state: of the target, if that says that nobody translated it.
        left: why it is left out; None if it counts.
    """

    document: str
    documents: int
    name: str
    line: int
    source: str
    target: str
    state: str
    left: tuple[str, str] | None
    note: str
    languages: tuple[str, str]


class _Segments(UnitReader[Translated]):
    def __init__(self, file: NamedFile) -> None:
        super().__init__(file, ["trans-unit", "unit"], _ASIDE, strict=True)
        self._languages = ("", "")
        self._documents = Counter[str]()
        self._document = ""

    def begin(self, space: str, element: Element) -> None:
        if self.is_first:
            version = space.removeprefix(_SPACE) if space else element.get("version", "")
            if element.tag != "xliff" or (space and not space.startswith(_SPACE)):
                tag = quoted(f"{{{space}}}{element.tag}" if space else element.tag)
                problem = f"is no XLIFF: its first element is {tag}, not xliff in the namespace {_SPACE}1.2 or 2.0"
                raise self.refuse(problem)
            if version not in _OURS:
                raise self.refuse(f"is XLIFF {quoted(version)}; versions {', '.join(_OURS)} are read")
            self._languages = (element.get("srcLang", ""), element.get("trgLang", ""))
        elif element.tag == "file":
            name = " ".join((element.get("original") or element.get("id") or "file").split())
            self._documents[name] += 1
            count = self._documents[name]
            self._document = name if count == 1 else f"{name} ({count})"
            source, target = element.get("source-language"), element.get("target-language")
            if source:
                self._languages = (source, target or "")
            elif target:
                self._languages = (self._languages[0], target)

    def unit(self, element: Element, line: int) -> Iterator[Translated]:
        first_version = element.tag == "trans-unit"
        segments = list(_of_first_version(element) if first_version else _of_second_version(element))
        notes = (" ".join("".join(note.itertext()).split()) for note in element.iterfind(_NOTES[first_version]))
        note = " ".join(filter(None, notes))
        for part, state, source, target in segments:
            name = "/".join([element.get("id", ""), *([part] if part and len(segments) > 1 else [])])
            draft = state if state in _UNTRANSLATED else ""
            left = _NO_TARGET if not target else _COPY if draft and target == source else None
            left = _FIXED if element.get("translate") == "no" else left
            files = self._documents.total()
            yield Translated(self._document, files, name, line, source, target, draft, left, note, self._languages)


_Segment: TypeAlias = tuple[str, str, str, str]
"""The name of a segment within its unit, the state of its target, its source and its target, empty without one."""


def _of_first_version(unit: Element) -> Iterator[_Segment]:
    """Yield the segments of a unit of XLIFF 1: those that are marked in source and target, or the unit itself."""
    source, divided, target = map(unit.find, ("source", "seg-source", "target"))
    if source is None:
        return
    state = target.get("state", "") if target is not None else ""
    marked = marked_texts(divided) if divided is not None else {}
    targets = marked_texts(target) if target is not None else {}
    if marked and (targets or not inline_text(target)):
        yield from ((name, state, text, targets.get(name, "")) for name, text in marked.items())
    else:
        yield "", state, inline_text(source), inline_text(target)


def _of_second_version(unit: Element) -> Iterator[_Segment]:
    for number, segment in enumerate(unit.iter("segment"), start=1):
        source, target = map(segment.find, ("source", "target"))
        if source is not None:
            name = segment.get("id") or str(number)
            yield name, segment.get("state", ""), inline_text(source), inline_text(target)


class Xliff(RowSource):
    """An XLIFF file; see `bsx.data.sources.RowSource`.

    Columns are ``id``, ``source`` and ``candidate`` (the target), ``document`` if it is made of several files, and
    ``note`` if any unit has one. Segments without a target, copies of the source that their state calls untranslated,
    and units that are not to be translated are left out, and counted in a note. Alternative translations, and segments
    that are not to be translated between segments, do not count. The file is read once from start to end, and again for
    the rows.
    """

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        pairs: set[tuple[str, str]] = set()
        self._several = noted = False
        left = Counter[tuple[str, str]]()
        drafts, copied = Counter[str](), set[str]()
        first: Translated | None = None
        segments = 0
        for segment in _Segments(file):
            segments += 1
            pairs.add(segment.languages)
            self._several |= segment.documents > 1
            noted |= bool(segment.note)
            why = segment.left
            if why is not None:
                left[why] += 1
                first = first or segment
            if why == _COPY:
                copied.add(segment.state)
            elif why is None and segment.state:
                drafts[segment.state] += 1
        self.total = segments - left.total()
        states = " or ".join(sorted(copied))
        lacks = [
            f"{left[why]:,} {f'of {segments:,} segments ' if at == 0 else ''}{why[left[why] > 1].format(states)}"
            for at, why in enumerate(why for why in (_NO_TARGET, _COPY, _FIXED) if left[why])
        ]
        if not self.total:
            if [*left] == [_NO_TARGET]:
                lacks = [f"none of its {segments:,} segments has a target"]
            raise InputError(f"{', '.join(lacks) or 'holds no segments'}: there is nothing to score", file=file.name)
        self.columns = [*(["document"] if self._several else []), "id", "source", "candidate"]
        self.columns += ["note"] if noted else []
        self.notes: list[str] = []
        if first is not None:
            where = f"the first is unit {first.name} (line {first.line})"
            self.notes.append(f"{file.name}: {', '.join(lacks)}; they are left out, {where}")
        if drafts:
            states = " or ".join(sorted(drafts))
            note = f"targets in the state {states} count, and may be drafts: {drafts.total():,}"
            self.notes.append(f"{file.name}: {note}")
        sources, targets = ({pair[side] for pair in pairs} for side in (0, 1))
        known = {"source": sources, "candidate": targets}
        self.languages = {
            name: next(iter(codes)) for name, codes in known.items() if len(codes) == 1 and "" not in codes
        }
        if len(pairs) > 1:
            several = ", ".join(sorted(f"{a or '?'} to {b or '?'}" for a, b in itertools.islice(pairs, 10)))
            self.notes.append(f"{file.name}: its files are in several languages ({several})")

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Row]:
        """Yield the segments that count; see `bsx.data.sources.RowSource`."""
        number = 0
        for segment in _Segments(self._file):
            if segment.left is not None:
                continue
            number += 1
            name = segment.name or str(number)
            cells: dict[str, object] = {
                "document": segment.document,
                "id": f"{segment.document}/{name}" if self._several else name,
                "source": segment.source,
                "candidate": segment.target,
                "note": segment.note,
            }
            where = f"{self._file.name}: unit {name} (line {segment.line})"
            yield Row(where, {column: cells[column] for column in self.columns}, number)
