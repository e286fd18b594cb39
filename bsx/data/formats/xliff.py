"""XLIFF 1.2 and 2.x as a table: a row a translated segment, with its source, its target and where it is from.

Source: OASIS, XLIFF Version 1.2 (2008), XLIFF Version 2.1 (2018).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bsx.data.formats.markup import Handler, InlineText, quoted, walk
from bsx.data.lines import LONGEST_LINE, NamedFile, Problems
from bsx.data.sources import Found, RowSource
from bsx.errors import InputError
from bsx.support.memory import show_bytes

_SPACE = "urn:oasis:names:tc:xliff:document:"
_OURS = ("1.0", "1.1", "1.2", "2.0", "2.1", "2.2")
_TEXTS = ("source", "seg-source", "target")
_ASIDE = frozenset(["alt-trans", "bin-unit", "header", "ignorable", "originalData", "skeleton", "context-group"])
"""What holds texts that are no translation of this file."""
_UNTRANSLATED = frozenset(["new", "needs-translation", "initial"])
"""States of a target that nobody has translated; tools put a copy of the source there, or a draft."""
_NO_TARGET, _COPY, _FIXED = (
    ("has no target", "have no target"),
    ("is a copy of the source in the state {}", "are copies of the source in the state {}"),
    ("is not to be translated", "are not to be translated"),
)
"""Why segments are left out, of one and of several."""


class Translated(NamedTuple):
    """A segment; ``target`` is None where there is none, ``state`` empty unless it says that nobody translated it."""

    document: str
    documents: int
    unit: str
    part: str
    line: int
    source: str
    target: str | None
    state: str
    fixed: bool
    note: str
    languages: tuple[str, str]

    @property
    def name(self) -> str:
        """What it is called within its document."""
        return f"{self.unit}/{self.part}" if self.part else self.unit

    @property
    def left(self) -> tuple[str, str] | None:
        """Why it is left out; None if it counts."""
        if self.fixed:
            return _FIXED
        if self.target is None:
            return _NO_TARGET
        return _COPY if self.state and self.target == self.source else None


class _Units(Handler[Translated]):
    def __init__(self) -> None:
        super().__init__()
        self._space = ""
        self._languages = ("", "")
        self._documents: dict[str, int] = {}
        self._document = ""
        self._aside = 0
        self._into: InlineText | None = None
        self._inside = 0
        self._note: list[str] | None = None
        self._unit = ""
        self._line = 0
        self._begin_unit("", 0)

    def _begin_unit(self, name: str, line: int, *, fixed: bool = False) -> None:
        self._unit, self._line, self._fixed = name, line, fixed
        self._state = ""
        self._texts: dict[str, InlineText] = {}
        self._notes: list[str] = []
        self._parts: list[tuple[str, str, dict[str, InlineText]]] = []
        self._size = 0

    def begin(self, space: str, local: str, attributes: Mapping[str, str]) -> None:
        if len(self.path) == 1:
            self._root(space, local, attributes)
        elif self._into is not None:
            self._inside += 1
            if self._aside or space != self._space:
                self._aside += 1
            else:
                self._into.begin(local, attributes)
        elif self._aside or space != self._space or local in _ASIDE:
            self._aside += 1
        elif local == "file":
            self._file(attributes)
        elif local in ("trans-unit", "unit"):
            self._begin_unit(attributes.get("id", ""), self.line, fixed=attributes.get("translate") == "no")
        elif local == "segment":
            self._texts = {}
            self._parts.append((attributes.get("id", ""), _untranslated(attributes), self._texts))
        elif local in _TEXTS and self.parent() in ("trans-unit", "segment") and local not in self._texts:
            self._into = InlineText(preserves=self.preserves, segmented=self.parent() == "trans-unit")
            self._texts[local] = self._into
            if local == "target":
                self._state = _untranslated(attributes)
        elif local == "note" and (
            self.parent() == "trans-unit" or (self.parent(), self.parent(2)) == ("notes", "unit")
        ):
            self._note = []

    def _root(self, space: str, local: str, attributes: Mapping[str, str]) -> None:
        version = space.removeprefix(_SPACE) if space else attributes.get("version", "")
        if local != "xliff" or (space and not space.startswith(_SPACE)):
            tag = quoted(f"{{{space}}}{local}" if space else local)
            raise self.refuse(f"is no XLIFF: its first element is {tag}, not xliff in the namespace {_SPACE}1.2 or 2.0")
        if version not in _OURS:
            raise self.refuse(f"is XLIFF {quoted(version)}; versions {', '.join(_OURS)} are read")
        self._space = space
        self._languages = (attributes.get("srcLang", ""), attributes.get("trgLang", ""))

    def _file(self, attributes: Mapping[str, str]) -> None:
        name = attributes.get("original") or attributes.get("id") or "file"
        name = " ".join(name.split())
        count = self._documents[name] = self._documents.get(name, 0) + 1
        self._document = name if count == 1 else f"{name} ({count})"
        languages = attributes.get("source-language"), attributes.get("target-language")
        self._languages = (
            languages[0] or self._languages[0],
            languages[1] or ("" if languages[0] else self._languages[1]),
        )

    def text(self, text: str) -> None:
        if self._aside:
            return
        if self._into is not None:
            self._into.text(text)
        elif self._note is not None:
            self._note.append(text)
        else:
            return
        self._size += len(text)
        if self._size > LONGEST_LINE:
            raise self.refuse(f"unit {quoted(self._unit)} is longer than {show_bytes(LONGEST_LINE)}")

    def finish(self, space: str, local: str) -> None:
        if self._into is not None:
            if self._aside:
                self._aside -= 1
            elif self._inside:
                self._into.end(local)
            else:
                self._into = None
            self._inside = max(0, self._inside - 1)
        elif self._aside:
            self._aside -= 1
        elif local == "note" and self._note is not None:
            self._notes.append(" ".join("".join(self._note).split()))
            self._note = None
        elif local in ("trans-unit", "unit"):
            self._finish_unit(local)

    def _finish_unit(self, local: str) -> None:
        note = " ".join(filter(None, self._notes))
        pieces: list[tuple[str, str, str, str | None]] = [
            (
                name or str(number),
                state,
                each["source"].whole(),
                each["target"].whole() or None if "target" in each else None,
            )
            for number, (name, state, each) in enumerate(self._parts, start=1)
            if "source" in each
        ]
        if local == "trans-unit":
            pieces = list(self._of_one())
        for part, state, source, target in pieces:
            place = part if len(pieces) > 1 else ""
            self.found.append(
                Translated(
                    self._document,
                    sum(self._documents.values()),
                    self._unit,
                    place,
                    self._line,
                    source,
                    target,
                    state,
                    self._fixed,
                    note,
                    self._languages,
                )
            )
        self._begin_unit("", 0)

    def _of_one(self) -> Iterator[tuple[str, str, str, str | None]]:
        """Yield the segments of a unit of XLIFF 1: those that are marked in source and target, or the unit itself."""
        source, target = self._texts.get("source"), self._texts.get("target")
        if source is None:
            return
        divided = self._texts["seg-source"].segments() if "seg-source" in self._texts else {}
        if divided:
            targets = target.segments() if target is not None else {}
            if targets or target is None or not target.whole():
                yield from ((name, self._state, text, targets.get(name) or None) for name, text in divided.items())
                return
        yield "", self._state, source.whole(), (target.whole() or None) if target is not None else None


def _untranslated(attributes: Mapping[str, str]) -> str:
    state = attributes.get("state", "")
    return state if state in _UNTRANSLATED else ""


class Xliff(RowSource):
    """An XLIFF file; see `bsx.data.sources.RowSource`.

    Columns are ``id``, ``source`` and ``candidate`` (the target), ``document`` if it is made of several files, and
    ``note`` if any unit has one. Segments without a target, copies of the source that their state calls untranslated,
    and units that are not to be translated are left out, and counted in a note. Alternative translations, and segments
    that are not to be translated between segments, do not count.

    Args:
        file: the file, which is read once from start to end, and again for the rows.

    Raises:
        InputError: naming line and column, if it is no XLIFF; or if no segment has a target.
    """

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        pairs: set[tuple[str, str]] = set()
        self._several = noted = False
        left = Counter[tuple[str, str]]()
        states: dict[bool, set[str]] = {True: set(), False: set()}
        first: Translated | None = None
        segments = drafts = 0
        for segment in walk(file, _Units(), "XLIFF"):
            segments += 1
            pairs.add(segment.languages)
            self._several |= segment.documents > 1
            noted |= bool(segment.note)
            why = segment.left
            if why is not None:
                left[why] += 1
                first = first or segment
            if segment.state and why in (None, _COPY):
                states[why is None].add(segment.state)
                drafts += why is None
        self.total = segments - left.total()
        copied = " or ".join(sorted(states[False]))
        lacks = [
            f"{left[why]:,} {f'of {segments:,} segments ' if at == 0 else ''}{why[left[why] > 1].format(copied)}"
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
            known_as = " or ".join(sorted(states[True]))
            self.notes.append(f"{file.name}: targets in the state {known_as} count, and may be drafts: {drafts:,}")
        sources, targets = ({pair[side] for pair in pairs} for side in (0, 1))
        known = {"source": sources, "candidate": targets}
        self.languages = {
            name: next(iter(codes)) for name, codes in known.items() if len(codes) == 1 and "" not in codes
        }
        if len(pairs) > 1:
            several = ", ".join(sorted(f"{a or '?'} to {b or '?'}" for a, b in itertools.islice(pairs, 10)))
            self.notes.append(f"{file.name}: its files are in several languages ({several})")

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Found]:
        """Yield the segments that count; see `bsx.data.sources.RowSource`."""
        number = 0
        for segment in walk(self._file, _Units(), "XLIFF"):
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
            yield Found(where, number, {column: cells[column] for column in self.columns})
