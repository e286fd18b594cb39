"""Parsed sentences: what a parse is, reading CoNLL-U and matching it with texts, and a cache on disk."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, compress, groupby
from pathlib import Path

from bsx.data import cells
from bsx.data.lines import NamedFile
from bsx.data.output import atomic_text
from bsx.errors import InputError
from bsx.support.folders import claim_cache
from bsx.support.untyped import Untyped

_log = logging.getLogger("bsx.cache")


@dataclass(frozen=True)
class Parse:
    """One parsed text.

    Attributes:
        words: syntactic words in order.
        heads: 1-based head of each word, 0 for a root; empty if the text was tagged only.
        upos: universal part of speech of each word; empty text if unknown.
        feats: universal features of each word as in CoNLL-U (``Case=Nom|Number=Sing``), empty text if it has none.
        deprels: relation of each word to its head (``nsubj``), empty text if unknown; empty if it was tagged only.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    upos: tuple[str, ...]
    feats: tuple[str, ...]
    deprels: tuple[str, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Untyped]) -> Parse:
        """Build a parse from lists by field name; relations may be missing, as in caches of before they were kept."""
        words, heads, upos, feats = (tuple(fields[name]) for name in ("words", "heads", "upos", "feats"))
        return cls(words, heads, upos, feats, tuple(fields.get("deprels", ())))

    @classmethod
    def joined(cls, parses: Sequence[Parse]) -> Parse:
        """Return consecutive sentences as one text; each keeps its root."""
        heads: list[int] = []
        for parse in parses:
            offset = len(heads)
            heads += [head and head + offset for head in parse.heads]
        words, upos, feats, deprels = (
            tuple(chain.from_iterable(getattr(parse, field) for parse in parses))
            for field in ("words", "upos", "feats", "deprels")
        )
        return cls(words, tuple(heads), upos, feats, deprels)

    def without(self, drop: Callable[[str, str], bool]) -> Parse:
        """Return the parse without words for which ``drop`` is true, given the word and its part of speech.

        Their dependents become those of the nearest head that stays; of a root that is dropped, roots.
        """
        stays = [not drop(word, tag) for word, tag in zip(self.words, self.upos, strict=True)]
        if all(stays):
            return self
        number = dict(zip(compress(range(1, len(stays) + 1), stays), range(1, len(stays) + 1), strict=False))
        heads = []
        for head in compress(self.heads, stays):
            for _ in stays:  # no farther than there are words, should heads run in a circle
                if head == 0 or head in number:
                    break
                head = self.heads[head - 1]
            heads.append(number.get(head, 0))
        words, upos, feats, deprels = (
            tuple(compress(values, stays)) for values in (self.words, self.upos, self.feats, self.deprels)
        )
        return Parse(words, tuple(heads), upos, feats, deprels)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a CoNLL-U file.

    Attributes:
        parse: its words.
        surface: the text without white space, as its tokens spell it.
        line: where it starts in the file.
        xpos: the treebank's own tag of each word; empty text if unknown.
    """

    parse: Parse
    surface: str
    line: int
    xpos: tuple[str, ...] = ()


def read_conllu(file: Path) -> list[Sentence]:
    """Read a CoNLL-U file (universaldependencies.org/format.html); empty nodes are left out.

    Raises:
        InputError: naming the line of a row that has not ten fields, or a number, head or feature that does not fit.
    """
    sentences = []
    lines = [(number, line) for number, line in enumerate(NamedFile(file).lines(), start=1) if line[:1] != "#"]
    for blank, group in groupby(lines, key=lambda numbered: not numbered[1].strip()):
        if not blank:
            sentences.append(_sentence(file, [(number, line.split("\t")) for number, line in group]))
    if not sentences:
        raise InputError("holds no sentences", file=file)
    return sentences


def _sentence(file: Path, rows: Sequence[tuple[int, list[str]]]) -> Sentence:
    words: list[list[str]] = []
    surface, covered = [], 0
    for number, fields in rows:
        identifier = fields[0]
        if len(fields) != 10:
            raise InputError(f"{file}: line {number} has {len(fields)} tab-separated fields, CoNLL-U has 10")
        if "." in identifier:
            continue
        if "-" in identifier:
            surface.append(fields[1])
            last = identifier.partition("-")[2]
            covered = cells.whole(last, f"{file}: line {number}: the end of the words {identifier!r}")
            continue
        if identifier != str(len(words) + 1):
            raise InputError(f"word {identifier!r} stands where word {len(words) + 1} should", file=file, line=number)
        cells.whole(fields[6], f"{file}: line {number}: the head of word {identifier}")
        if fields[5] != "_" and not all("=" in feature[1:] for feature in fields[5].split("|")):
            raise InputError(f"the features {fields[5][:60]!r} are not Name=Value|…", file=file, line=number)
        words.append(fields)
        if len(words) > covered:
            surface.append(fields[1])
    beyond = [fields for fields in words if int(fields[6]) > len(words)]
    if beyond:
        message = f"word {beyond[0][0]} has head {beyond[0][6]}, the sentence {len(words)} words"
        raise InputError(message, file=file, line=rows[0][0])
    upos, xpos, feats, deprels = (
        tuple("" if fields[column] == "_" else fields[column] for fields in words) for column in (3, 4, 5, 7)
    )
    heads = tuple(int(fields[6]) for fields in words)
    parse = Parse(tuple(fields[1] for fields in words), heads, upos, feats, deprels)
    return Sentence(parse, "".join("".join(surface).split()), rows[0][0], xpos)


def match_parses(file: Path, texts: Sequence[str], column: str, prepared: Sequence[str] | None = None) -> list[Parse]:
    """Return a parse of each text (n,) from a CoNLL-U file with the same sentences in the same order.

    A text may be one sentence of the file or several on end. Texts and parses are compared without white space. A text
    without content needs no sentence. Parses may be of the n texts as they were ``prepared`` for a parser instead;
    messages call them by their ``column``.

    Raises:
        InputError: naming the first sentence that does not match its text, or if sentences are missing or left over.
    """
    sentences = read_conllu(file)
    wanted = [
        {"".join(text.split()), "".join(other.split())} for text, other in zip(texts, prepared or texts, strict=True)
    ]
    parses, at = [], 0
    for row, spellings in enumerate(wanted, start=1):
        if "" in spellings and not (at < len(sentences) and sentences[at].surface in spellings):
            parses.append(Parse((), (), (), ()))
            continue
        pieces, surface = [], ""
        while surface not in spellings:
            text = _short(texts[row - 1])
            if at == len(sentences):
                message = f"ends after {len(sentences)} sentences; row {row} of {column} has no parse: {text}"
                raise InputError(message, file=file)
            sentence = sentences[at]
            surface += sentence.surface
            if not any(spelling.startswith(surface) for spelling in spellings):
                message = f"sentence {at + 1} (line {sentence.line}) does not match row {row} of {column}: it reads "
                message += f"{_short(' '.join(sentence.parse.words))}, the row {text}"
                raise InputError(message, file=file)
            pieces.append(sentence.parse)
            at += 1
        parses.append(Parse.joined(pieces))
    if at < len(sentences):
        message = f"has {len(sentences)} sentences, {column} needs only {at}: sentence {at + 1} (line "
        message += f"{sentences[at].line}) is of no row: {_short(' '.join(sentences[at].parse.words))}"
        raise InputError(message, file=file)
    return parses


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


class ParseCache:
    """Parses on disk, one JSON object a line, by a digest of the text; one file for each parser identity.

    Lines are appended as parses come in, so a run that was interrupted goes on where it stopped; a line that was cut
    off is dropped.

    Args:
        folder: where to keep the file; None keeps parses in memory only.
        identity: everything about a parser that changes its parses.
    """

    def __init__(self, folder: Path | None, identity: Mapping[str, object]) -> None:
        self._known: dict[str, Parse | None] = {}
        self._file: Path | None = None
        if folder is None:
            return
        claim_cache(folder)
        spelled = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        self._file = folder / f"parses-{hashlib.sha256(spelled.encode()).hexdigest()[:16]}.jsonl"
        if not self._file.exists():
            with atomic_text(self._file, internal=True) as stream:
                stream.write(json.dumps({"parser": dict(identity)}, ensure_ascii=False) + "\n")
            return
        raw = self._file.read_bytes()
        end = raw.rfind(b"\n") + 1
        if end < len(raw):
            with self._file.open("r+b") as whole:
                whole.truncate(end)
        damaged = 0
        for line in raw[:end].split(b"\n")[1:-1]:
            try:
                record = json.loads(line)
                self._known[record["text"]] = record["parse"] and Parse.of(record["parse"])
            except (ValueError, KeyError, TypeError):
                damaged += 1
        if damaged:
            _log.warning("bsx: note: %s: damaged lines: %s; what they held is parsed again", self._file, damaged)

    def parse(
        self,
        texts: Sequence[str],
        parser: Callable[[Sequence[str]], Iterator[list[Parse | None]]],
        report: Callable[[int, int], None],
    ) -> list[Parse | None]:
        """Return a parse of each text (n,), from the cache or else from the parser, which yields some at a time."""
        keys = {text: hashlib.sha256(text.encode()).hexdigest()[:32] for text in texts}
        missing = [text for text, key in keys.items() if key not in self._known]
        done = len(keys) - len(missing)
        report(done, len(keys))
        at = 0
        for some in parser(missing) if missing else ():
            lines = []
            for text, parse in zip(missing[at : at + len(some)], some, strict=True):
                self._known[keys[text]] = parse
                record = {"text": keys[text], "parse": parse and asdict(parse)}
                lines.append(json.dumps(record, ensure_ascii=False) + "\n")
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as stream:
                    stream.write("".join(lines))
            at += len(some)
            report(done + at, len(keys))
        return [self._known[keys[text]] for text in texts]
