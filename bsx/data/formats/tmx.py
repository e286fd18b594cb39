"""TMX 1.1 to 1.4, translation memories, as a table: a row a unit, a column a language.

Source: LISA OSCAR, TMX 1.4b Specification (2005).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from bsx.data.formats.markup import UnitReader, inline_text, language_of, quoted
from bsx.data.lines import NamedFile, Problems
from bsx.data.sources import Row, RowSource
from bsx.errors import InputError

_MOST = 1000
"""Languages of a memory; there are about 200 that are translated."""
ANY = "*all*"


class Unit(NamedTuple):
    """A translation unit.

    Attributes:
        name: its ``tuid``, if it has one.
        line: where it begins.
        texts: language, in small letters -> the language as it is written, and the text.
        again: how many texts of a language that was there already were left out.
    """

    name: str
    line: int
    texts: Mapping[str, tuple[str, str]]
    again: int


class _Units(UnitReader[Unit]):
    def __init__(self, file: NamedFile) -> None:
        super().__init__(file, ["tu"], ["prop", "note", "ude"])
        self.source = ""  # what the memory says that its source language is

    def begin(self, space: str, element: Element) -> None:
        if self.is_first and element.tag != "tmx":
            tag = quoted(f"{{{space}}}{element.tag}" if space else element.tag)
            raise self.refuse(f"is no TMX: its first element is {tag}, not tmx")
        if element.tag == "header":
            self.source = element.get("srclang", "").strip()
        elif element.tag == "tuv" and not language_of(element, "lang"):
            raise self.refuse("a tuv does not say its language: xml:lang is missing")

    def unit(self, element: Element, line: int) -> Iterator[Unit]:
        texts: dict[str, tuple[str, str]] = {}
        again = 0
        for variant in element.iter("tuv"):
            language = language_of(variant, "lang").replace("_", "-")
            for segment in variant.iterfind("seg"):
                again += language.lower() in texts
                texts.setdefault(language.lower(), (language, inline_text(segment)))
        yield Unit(element.get("tuid", "").strip(), line, texts, again)


class Memory(RowSource):
    """A translation memory; see `bsx.data.sources.RowSource`.

    Columns are ``id`` (``tuid`` where Indonesian takes that name) and one for each language, named as the file names
    it; that of the language in ``srclang`` is called ``source``. Units that lack a language which is read are left out,
    and counted in a note. The file is read once from start to end, and again for the rows.
    """

    total: int

    def __init__(self, file: NamedFile) -> None:
        self._file = file
        names: dict[str, str] = {}
        self._counts = Counter[str]()
        self.total = again = 0
        units, source_tag = _Units(file), ""
        for unit in units:
            self.total += 1
            again += unit.again
            source_tag = units.source
            for key, (language, _) in unit.texts.items():
                names.setdefault(key, language)
                self._counts[key] += 1
            if len(names) > _MOST:
                raise InputError(f"has texts in more than {_MOST} languages", file=file.name, line=unit.line)
        if not names:
            raise InputError("holds no texts", file=file.name)
        key = source_tag.replace("_", "-").lower()  # which language is meant; none if that is not certain
        alike = [key] if key in names else [tag for tag in names if key and tag.split("-")[0] == key.split("-")[0]]
        self._source = alike[0] if len(alike) == 1 else ""
        self._names = {key: "source" if key == self._source else name for key, name in names.items()}
        self._id = "tuid" if "id" in self._names.values() else "id"
        self.columns = [self._id, *(["source"] if self._source else [])]
        self.columns += [name for key, name in self._names.items() if key != self._source]
        self.languages = {self._names[key]: names[key] for key in names}
        self.notes: list[str] = [self._roles_note(source_tag)]
        if again:
            more = "text of a unit's language is" if again == 1 else "texts of a unit's language are"
            self.notes.append(f"{file.name}: {again:,} further {more} left out")

    def _roles_note(self, source_tag: str) -> str:
        others = ", ".join(name for key, name in self._names.items() if key != self._source)
        if self._source:
            which = f"the source is {self.languages['source']}; the other columns are {others or 'none'}"
        else:
            why = f"names the source language {quoted(source_tag)}" if source_tag else "names no source language"
            why = "says that any language may be the source" if source_tag.lower() == ANY else why
            which = f"{why}: name a column as source; there are {others}"
        lacking = {self._names[key]: self.total - count for key, count in self._counts.items() if count < self.total}
        left = "".join(f"; {count:,} of {self.total:,} units lack {name}" for name, count in sorted(lacking.items()))
        return f"{self._file.name}: {which}{left}{', and are left out where it is read' if left else ''}"

    def rows(self, problems: Problems, needed: Sequence[str]) -> Iterator[Row]:
        """Yield the units that have the languages that are needed; see `bsx.data.sources.RowSource`."""
        wanted = {name for name in needed if name in self.languages}
        for number, unit in enumerate(_Units(self._file), start=1):
            cells: dict[str, object] = dict.fromkeys(self.columns, "")
            cells[self._id] = unit.name or str(number)
            texts = {self._names[key]: text for key, (_, text) in unit.texts.items()}
            if wanted <= texts.keys():
                where = f"{self._file.name}: unit {cells[self._id]} (line {unit.line})"
                yield Row(where, cells | texts, number)
