"""Reading XML that nobody vouches for, as a stream: no entities, no declarations, nothing fetched, bounded memory.

What is refused: a document type with declarations of its own (which entities need, and so every "billion laughs" and
whatever lies in other files), a tag or comment of more than 4 MiB, elements of a unit nested more than `_DEEPEST` deep,
and a unit that does not end within `bsx.data.lines.LONGEST_LINE` of text and elements. A document type that only names
a file (``<!DOCTYPE tmx SYSTEM "tmx14.dtd">``, which most translation memories have) passes; that file is never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from bsx.data.lines import LONGEST_LINE, NamedFile
from bsx.errors import InputError
from bsx.support.memory import show_bytes
from bsx.support.untyped import Untyped

Item = TypeVar("Item")
XML_SPACE = re.compile("[ \t\r\n]+")
_LANG = "http://www.w3.org/XML/1998/namespace}lang"
_PRESERVE = "http://www.w3.org/XML/1998/namespace}space"
_CHUNK = 1 << 16
_LONGEST_TAG = 4 << 20
_LONGEST_QUOTE = 60
_DEEPEST = 200
_ELEMENT = 300
"""Bytes of memory that an element takes beside its text."""


class UnitReader(Generic[Item]):
    """Reads a file whose units come one by one, each as a tree of elements without their namespaces.

    Every element of a tree says whether white space counts in it (``xml:space``, inherited).

    Args:
        file: the file.
        units: names of the elements that are units.
        aside: names of elements that are left out with what is in them.
        strict: leave out elements that are in another namespace than the first one, too.
    """

    def __init__(
        self, file: NamedFile, units: Iterable[str], aside: Iterable[str] = (), *, strict: bool = False
    ) -> None:
        self._file, self._units, self._aside, self._strict = file, frozenset(units), frozenset(aside), strict
        self._parser: Untyped = expat.ParserCreate(namespace_separator="}")
        self._items: list[Item] = []
        self._spaces = [""]
        self._skipped = 0
        self._tree: TreeBuilder | None = None

    def begin(self, space: str, element: Element) -> None:
        """Take the beginning of an element: its namespace, name and attributes; InputError if it is no such file."""
        raise NotImplementedError

    def unit(self, element: Element, line: int) -> Iterable[Item]:
        """Return what a unit, which begins in a line, is made into."""
        raise NotImplementedError

    @property
    def is_first(self) -> bool:
        """Whether the element that begins is the file's first."""
        return len(self._spaces) == 2

    def refuse(self, problem: str) -> InputError:
        """Return an error that names file, line and column."""
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        return InputError(f"line {line}, column {column}: {problem}", file=self._file.name)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        space, _, local = tag.rpartition("}")
        if len(self._spaces) == 1:
            self._space = space
        elif self._skipped or local in self._aside or (self._strict and space != self._space):
            self._skipped += 1
            return
        self._spaces.append(attributes.setdefault(_PRESERVE, self._spaces[-1]))
        if self._tree is None and local in self._units:
            self._tree, self._depth, self._size = TreeBuilder(), len(self._spaces), 0
            self._line = int(self._parser.CurrentLineNumber)
            self._name = attributes.get("id", attributes.get("tuid", "")).strip()
        if self._tree is None:
            self.begin(space, Element(local, attributes))
            return
        if len(self._spaces) - self._depth > _DEEPEST:
            raise self.refuse(f"elements are nested more than {_DEEPEST} deep")
        self._grow(_ELEMENT)
        self.begin(space, self._tree.start(local, attributes))

    def _end(self, tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        if self._tree is not None:
            element = self._tree.end(tag.rpartition("}")[2])
            if len(self._spaces) == self._depth:
                self._items += self.unit(element, self._line)
                self._tree = None
        self._spaces.pop()

    def _text(self, text: str) -> None:
        if self._tree is not None and not self._skipped:
            self._tree.data(text)
            self._grow(len(text))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST_LINE:
            raise self.refuse(f"unit {quoted(self._name)} is longer than {show_bytes(LONGEST_LINE)}")

    def _declared(self, name: str, system: str | None, public: str | None, inner: bool) -> None:
        if inner:
            raise self.refuse("declares entities or elements of its own (DOCTYPE […]), which is refused as unsafe")

    def _entity(self, name: str, *more: object) -> None:
        problem = f"refers to the entity {quoted(name)}, which it does not declare"
        raise self.refuse(problem + _HINTS["undefined entity"])

    def __iter__(self) -> Iterator[Item]:
        """Read the file once; InputError names file, line and column of what is no well-formed or no harmless XML."""
        parser = self._parser
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler, parser.SkippedEntityHandler = self._declared, self._entity
        parser.buffer_text = True
        try:
            fed = waiting = 0
            with self._file.reading() as stream:
                # What waits for its end is parsed anew with what follows: ever more at once, or that would be slow.
                while chunk := stream.read(max(_CHUNK, waiting)):
                    parser.Parse(chunk)
                    yield from self._items
                    self._items.clear()
                    fed += len(chunk)
                    waiting = fed - max(0, parser.CurrentByteIndex)
                    if waiting > _LONGEST_TAG:
                        raise self.refuse(f"a tag or comment is longer than {show_bytes(_LONGEST_TAG)}")
                parser.Parse(b"", True)
            yield from self._items
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(
                f"line {error.lineno}, column {error.offset + 1}: is not well-formed XML ({reason})"
                f"{_HINTS.get(reason, '')}",
                file=self._file.name,
            ) from error
        except (ValueError, LookupError) as error:  # an encoding that Python does not know, or that is none of bytes
            raise self.refuse(f"cannot be decoded ({error}): save the file as UTF-8") from error


_HINTS = {
    "no element found": "; the file is cut off: save or send it again",
    "unclosed token": "; the file is cut off: save or send it again",
    "unknown encoding": ": save the file as UTF-8",
    "encoding specified in XML declaration is incorrect": ": line 1 names another encoding than the file has; "
    "save it as UTF-8",
    "junk after document element": ": take out what stands behind the end of the first element",
    "not well-formed (invalid token)": "; a bare & or < in a text (written &amp; and &lt;), a control character, or "
    "bytes that are not in the encoding that line 1 names: save it as UTF-8",
    "reference to invalid character number": ": take out the control character",
    "undefined entity": ": write the character itself, or its number, as &#160; for &nbsp;",
    "XML or text declaration not at start of entity": ": take out what stands before <?xml",
}


def language_of(element: Element, *others: str) -> str:
    """Return the language that an element is in, by ``xml:lang`` or another attribute; nothing if it does not say."""
    return next((element.get(name, "").strip() for name in (_LANG, *others) if element.get(name)), "")


def quoted(text: str) -> str:
    """Return a name from the file for a message, cut where it is long."""
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…")


_CODE = frozenset(["x", "bx", "ex", "ph", "bpt", "ept", "it", "ut", "sc", "ec", "sm", "em"])
_BREAK = re.compile(r"\s*(<br\s*/?>|\\n|\n)\s*", re.IGNORECASE)


def inline_text(element: Element | None) -> str:
    """Return the text of an element without its inline tags; of none, no text.

    Tags that stand around text (``g``, ``pc``, ``mrk``, ``hi``) leave it as it is. Tags that stand for codes of the
    original (``x``, ``ph``, ``bpt``, ``ept``, ``it``, ``ut`` and their like) go, and the code in them; where the tag
    says what it stands for (``equiv-text``, ``equiv``), that is the text, unless it is itself a tag (``<…>``); a line
    break becomes a blank. White space is kept where ``xml:space`` is ``preserve``; else any amount of it is one blank,
    and none at the ends.
    """
    return "" if element is None else _trimmed((text for _, text in _pieces(element)), element)


def marked_texts(element: Element) -> dict[str, str]:
    """Return the text of each of an element's segments, marked with ``mrk`` of the type ``seg``, by its name."""
    pieces: dict[str, list[str]] = {}
    for mark, text in _pieces(element):
        if mark is not None:
            pieces.setdefault(mark, []).append(text)
    return {mark: _trimmed(texts, element) for mark, texts in pieces.items()}


def _pieces(element: Element, mark: str | None = None) -> Iterator[tuple[str | None, str]]:
    """Yield the pieces of an element's text, each with the name of the marked segment that it is in."""
    yield mark, element.text or ""
    for child in element:
        before = after = ""
        within = mark
        is_code = child.tag in _CODE or (child.tag == "mrk" and child.get("mtype") == "x-sdl-deleted")
        is_break = "lb" in (child.get("ctype"), child.get("type")) or child.get("subType") == "xlf:lb"
        if is_code and is_break:
            before = " "
        elif is_code:
            before = _plain(child.get("equiv-text") or child.get("equiv") or "", child.get("disp", ""))
            before = before or (" " if _BREAK.fullmatch("".join(child.itertext())) else "")
        elif child.tag == "mrk" and child.get("mtype") == "seg":
            within = child.get("mid", "")
        elif child.tag == "cp":
            code = child.get("hex", "")  # a character that XML cannot hold, by its number
            number = int(code, 16) if re.fullmatch("[0-9A-Fa-f]{1,6}", code) else 0
            before = chr(number) if 0 < number < 0xD800 else ""
        elif child.tag == "pc":
            before = _plain(child.get("equivStart", ""), child.get("dispStart", ""))
            after = _plain(child.get("equivEnd", ""), child.get("dispEnd", ""))
        yield mark, before
        if not is_code:
            yield from _pieces(child, within)
        yield mark, after + (child.tail or "")


def _plain(text: str, shown: str) -> str:
    """Return what a tag says that it stands for, unless that is a tag, or it is shown as one."""
    return "" if any(side.startswith("<") and side.endswith(">") for side in (text, shown)) else text


def _trimmed(pieces: Iterable[str], element: Element) -> str:
    text = "".join(pieces)
    if element.get(_PRESERVE) == "preserve":
        return text
    plain = "  " not in text and "\n" not in text and "\t" not in text and "\r" not in text  # as nearly all are
    return (text if plain else XML_SPACE.sub(" ", text)).strip(" ")
