"""Reading XML that nobody vouches for, as a stream: no entities, no declarations, nothing fetched, bounded memory.

What is refused: a document type with declarations of its own (which entities need, and so every "billion laughs" and
whatever lies in other files), a tag or comment of more than 4 MiB, and a text that does not end within
`bsx.data.lines.LONGEST_LINE`. A document type that only names a file
(``<!DOCTYPE tmx SYSTEM "tmx14.dtd">``, which most translation memories have) passes; that file is never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from bsx.data.lines import NamedFile
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


class Handler(Generic[Item]):
    """What is told of each element; it puts what it makes of them into `found`.

    Attributes:
        found: what was made of the elements so far and not yet taken.
        path: names of the elements that are open, from the root, each as expat gives it: ``namespace}name``.
    """

    name = ""
    _expat: Untyped = None

    def __init__(self) -> None:
        self.found: list[Item] = []
        self.path: list[str] = []
        self._spaces: list[bool] = [False]
        self._depths: list[int] = [0]

    @property
    def line(self) -> int:
        """The line that is being read, from 1."""
        return int(self._expat.CurrentLineNumber)

    @property
    def preserves(self) -> bool:
        """Whether white space counts here (``xml:space``)."""
        return self._spaces[-1]

    def refuse(self, problem: str) -> InputError:
        """Return an error that names file, line and column."""
        return InputError(f"line {self.line}, column {self._expat.CurrentColumnNumber + 1}: {problem}", file=self.name)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note that an element begins; its namespace and a brace stand before its name."""
        path = self.path
        path.append(tag)
        if _PRESERVE in attributes:
            self._spaces.append(attributes[_PRESERVE] == "preserve")
            self._depths.append(len(path))
        space, _, local = tag.rpartition("}")
        self.begin(space, local, attributes)

    def end(self, tag: str) -> None:
        """Note that an element ends."""
        space, _, local = tag.rpartition("}")
        self.finish(space, local)
        path = self.path
        if self._depths[-1] == len(path):
            self._depths.pop()
            self._spaces.pop()
        path.pop()

    def parent(self, above: int = 1) -> str:
        """Return the local name of the element around the one that is open last."""
        return self.path[-1 - above].rpartition("}")[2] if len(self.path) > above else ""

    def begin(self, space: str, local: str, attributes: Mapping[str, str]) -> None:
        """Take an element's namespace, name and attributes."""
        raise NotImplementedError

    def finish(self, space: str, local: str) -> None:
        """Take an element's end."""
        raise NotImplementedError

    def text(self, text: str) -> None:
        """Take a piece of text."""
        raise NotImplementedError


def walk(file: NamedFile, handler: Handler[Item], what: str) -> Iterator[Item]:
    """Read a file from its start, and yield what a handler makes of it.

    Args:
        file: the file.
        handler: a new one.
        what: what the file should be, for messages: ``XLIFF``.

    Raises:
        InputError: naming file, line and column of what is no well-formed or no harmless XML.
    """
    from xml.parsers import expat

    parser: Untyped = expat.ParserCreate(namespace_separator="}")
    handler.name, handler._expat = file.name, parser

    def declared(name: str, system: str | None, public: str | None, inner: bool) -> None:
        if inner:
            raise handler.refuse("declares entities or elements of its own (DOCTYPE […]), which is refused as unsafe")

    def skipped(entity: str, *more: object) -> None:
        problem = f"refers to the entity {quoted(entity)}, which it does not declare"
        raise handler.refuse(problem + _HINTS["undefined entity"])

    parser.StartDoctypeDeclHandler = declared
    parser.SkippedEntityHandler = skipped
    parser.StartElementHandler, parser.EndElementHandler = handler.start, handler.end
    parser.CharacterDataHandler = handler.text
    parser.buffer_text = True
    try:
        fed = waiting = 0
        with file.reading() as stream:
            # What waits for its end is parsed anew with what follows: ever more follows at once, or that would be slow.
            while chunk := stream.read(max(_CHUNK, waiting)):
                parser.Parse(chunk)
                yield from _taken(handler)
                fed += len(chunk)
                waiting = fed - max(0, parser.CurrentByteIndex)
                if waiting > _LONGEST_TAG:
                    raise handler.refuse(f"a tag or comment is longer than {show_bytes(_LONGEST_TAG)}")
            parser.Parse(b"", True)
        yield from _taken(handler)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        hint = _HINTS.get(reason, "")
        raise InputError(
            f"line {error.lineno}, column {error.offset + 1}: is not well-formed XML ({reason}){hint}", file=file.name
        ) from error
    except (ValueError, LookupError) as error:  # an encoding that Python does not know, or that is none of bytes
        raise handler.refuse(f"cannot be decoded ({error}): save the file as UTF-8") from error


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


def _taken(handler: Handler[Item]) -> Iterator[Item]:
    units, handler.found = handler.found, []
    yield from units


def language_of(attributes: Mapping[str, str], *others: str) -> str:
    """Return the language that an element is in, by ``xml:lang`` or another attribute; nothing if it does not say."""
    return next((attributes[name].strip() for name in (_LANG, *others) if attributes.get(name)), "")


def quoted(text: str) -> str:
    """Return a name from the file for a message, cut where it is long."""
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…")


_CODE = frozenset(["x", "bx", "ex", "ph", "bpt", "ept", "it", "ut", "sc", "ec", "sm", "em"])
_BREAK = re.compile(r"\s*(<br\s*/?>|\\n|\n)\s*", re.IGNORECASE)


class InlineText:
    """The text of an element without its inline tags.

    Tags that stand around text (``g``, ``pc``, ``mrk``, ``hi``) leave it as it is. Tags that stand for codes of the
    original (``x``, ``ph``, ``bpt``, ``ept``, ``it``, ``ut`` and their like) go, and the code in them; where the tag
    says what it stands for (``equiv-text``, ``equiv``), that is the text, unless it is itself a tag (``<…>``); a line
    break becomes a blank. White space is kept where ``xml:space`` is ``preserve``; else any amount of it is one blank,
    and none at the ends.

    Args:
        preserves: whether white space is kept.
        segmented: whether ``mrk`` of the type ``seg`` divide it into segments.
    """

    def __init__(self, *, preserves: bool, segmented: bool = False) -> None:
        self._preserves, self._segmented = preserves, segmented
        self._pieces: dict[str | None, list[str]] = {None: []}
        self._key: str | None = None
        self._marks: list[str | None] = []
        self._codes: list[str] = []
        self._native: list[str] = []
        self._instead = ""
        self._ends: list[str] = []

    def begin(self, local: str, attributes: Mapping[str, str]) -> None:
        """Take the start of an inline tag."""
        if self._codes or local in _CODE or (local == "mrk" and attributes.get("mtype") == "x-sdl-deleted"):
            if not self._codes:
                self._instead, self._native = " ", []
                if (
                    "lb" not in (attributes.get("ctype"), attributes.get("type"))
                    and attributes.get("subType") != "xlf:lb"
                ):
                    equivalent = attributes.get("equiv-text") or attributes.get("equiv") or ""
                    self._instead = _plain(equivalent, attributes.get("disp", ""))
            self._codes.append(local)
        elif local == "mrk":
            self._marks.append(self._key)
            if self._segmented and attributes.get("mtype") == "seg":
                self._key = attributes.get("mid", "")
                self._pieces.setdefault(self._key, [])
        elif local == "cp":
            code = attributes.get("hex", "")  # a character that XML cannot hold, by its number
            number = int(code, 16) if re.fullmatch("[0-9A-Fa-f]{1,6}", code) else 0
            self._add(chr(number) if 0 < number < 0xD800 else "")
        elif local == "pc":
            self._add(_plain(attributes.get("equivStart", ""), attributes.get("dispStart", "")))
            self._ends.append(_plain(attributes.get("equivEnd", ""), attributes.get("dispEnd", "")))

    def end(self, local: str) -> None:
        """Take the end of an inline tag."""
        if self._codes:
            self._codes.pop()
            if not self._codes:
                self._add(self._instead or (" " if _BREAK.fullmatch("".join(self._native)) else ""))
        elif local == "mrk":
            self._key = self._marks.pop()
        elif local == "pc":
            self._add(self._ends.pop())

    def text(self, text: str) -> None:
        """Take a piece of text."""
        if self._codes:
            self._native.append(text)
        else:
            self._pieces[self._key].append(text)

    def _add(self, text: str) -> None:
        self._pieces[self._key].append(text)

    def whole(self) -> str:
        """Return all text, in order where it is not divided."""
        return self._trimmed("".join(text for pieces in self._pieces.values() for text in pieces))

    def segments(self) -> dict[str, str]:
        """Return the text of each marked segment by its name."""
        return {key: self._trimmed("".join(text)) for key, text in self._pieces.items() if key is not None}

    def _trimmed(self, text: str) -> str:
        if self._preserves:
            return text
        plain = "  " not in text and "\n" not in text and "\t" not in text and "\r" not in text  # as nearly all are
        return (text if plain else XML_SPACE.sub(" ", text)).strip(" ")


def _plain(text: str, shown: str) -> str:
    """Return what a tag says that it stands for, unless that is a tag, or it is shown as one."""
    return "" if any(side.startswith("<") and side.endswith(">") for side in (text, shown)) else text
