"""Outputs that are no translation: empty, copied, repeating themselves, of another length, script or language.

Metrics score them without a word. Here they are counted; nothing is left out or scored otherwise because of them. The
figures behind the thresholds are in benchmarks/results/outputs.md.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import median

from bsx.data.corpus import Corpus, Segment, without_context
from bsx.data.writing import SAMPLE, detect_language, identified, other_script, probabilities, script_of
from bsx.errors import BsxError
from bsx.support.result import Notice

KINDS = {
    "empty": "empty candidates",
    "copy": "copies of the source",
    "script": "candidates in another script",
    "language": "candidates in another language",
    "loop": "candidates that repeat themselves",
    "length": "candidates that are cut off or far too long",
    "untranslated": "candidates that keep a stretch of the source",
}
"""Kind -> what such candidates are called."""
GATES: dict[str, tuple[str, ...]] = {name: (name,) for name in ("empty", "copy", "loop", "untranslated")}
GATES |= {"wrong-language": ("script", "language"), "wrong-length": ("length",)}
"""What a gate is called -> the kinds that it counts."""

_EXAMPLES = 3
_SHOWN = 80  # characters of an example
_WORDS = 8  # of a text whose language is told
_READ = 500  # characters by which it is
_MOST = 20_000  # characters of a text that are looked at
_ROUND = 60  # words of a phrase that is said again and again, at most
_TIMES = 2.0  # as probable must another language be as that of the texts
_SCRIPT = 0.2  # of the letters of a text in another script are of the one expected, at most
_LETTERS = 8  # of a text in another script, so that it is no name or number
_ALIKE = 0.8  # of the words of a copy are the source's, and the other way round
_ALONE = 0.8  # of the bounds of lengths hold where there is no reference
_STRETCH = 6  # words in a row that stand in the source too
_LEARNT = 0.5  # of the words of references (candidates, without any) stand in their sources: no translation, or of kin
_CLOSE = (
    {"hr", "bs", "sr", "sh"}, {"id", "ms"}, {"no", "nn", "nb"}, {"zh", "wuu", "yue", "gan", "lzh", "nan"}, {"zu", "xh"},
    {"es", "an", "ext"}, {"ar", "arz", "ary"}, {"en", "en-sci", "pcm"}, {"is", "fo"}, {"gl", "an"}, {"cs", "gd"},
    {"he", "hbo"}, {"mr", "gom"}, {"kok", "gom"}, {"fr", "oc"}, {"ca", "oc"}, {"gn", "gug"}, {"ki", "kik"},
)  # fmt: skip
"""Languages that single sentences do not tell apart, and other codes of py3langid for the registry's languages."""
_SINGLE = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_SINGLE}]|[^\s{_SINGLE}!-/:-@\[-`{{-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff20]+")
_STUTTER = re.compile(r"(\w{1,12}?)\1{5,}")
_CODE = re.compile(r"\w[(\[]|[{}\\=<>|_]")
_END = re.compile(r"[.!?。！？।؟…:;]['\"”’»)\]]*\s*$")


@dataclass(frozen=True)
class Look:
    """A text as its words: letters of scripts without spaces count as one each."""

    text: str
    units: tuple[str, ...]
    single: bool

    @property
    def words(self) -> float:
        """How many words it has, about."""
        return len(self.units) / 2 if self.single else len(self.units)

    @property
    def plain(self) -> int:
        """How many of its words are no names, numbers or code, as far as capitals tell."""
        return sum(map(_plain, self.units))

    @functools.cached_property
    def folded(self) -> list[str]:
        """Its words without capitals; numbers are none."""
        return [unit.casefold() for unit in self.units if any(map(str.isalpha, unit))]


@functools.lru_cache(16)  # the references and the source of a segment's systems
def look(text: str) -> Look:
    """Return a text, of a long one its beginning, as its words."""
    units = tuple(_UNIT.findall(text := without_context(text)[:_MOST]))
    return Look(text, units, sum(len(unit) == 1 and unit > "\u0dff" for unit in units) * 2 > len(units))


def shared(units: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of one text's words that stand in the other, each as often as there."""
    return (Counter(units) & Counter(other)).total() / max(1, len(units))


def repeated(units: Sequence[str]) -> int:
    """Return how many words of a text only repeat what stands right before them, in its longest loop of three rounds.

    >>> repeated("it is so so so so good".split()), repeated("a b a b a b".split()), repeated("a b a b".split())
    (3, 4, 0)
    """
    places: dict[tuple[str, str], list[int]] = {}
    for at, pair in enumerate(pairwise(units)):
        places.setdefault(pair, []).append(at)
    often = [of for of in places.values() if len(of) > 2]
    longest = 0
    for period in {later - before for of in often for before, later in pairwise(of) if later - before <= _ROUND}:
        run = 0
        for unit, other in zip(units, units[period:], strict=False):
            run = run + 1 if unit == other else 0
            if run >= 2 * period:
                longest = max(longest, run)
    return longest


class OutputCheck:
    """Tells candidates that are no translation.

    What is expected is what was asked for, and what the first segments' references are like.

    Args:
        corpus: the segments.
        language: code of the language that was asked for; that of the references unless given.
        script: ISO 15924 code of its script.

    Attributes:
        language: that code; None where nothing says it.
        unread: why no language can be told; empty where they can.
        references: how many of those references are in another script or language than was asked for, and of how many.
    """

    def __init__(self, corpus: Corpus, language: str | None = None, script: str | None = None) -> None:
        some = list(islice(corpus, SAMPLE))
        references = [without_context(text) for segment in some for text in segment.references]
        self._script, self.language, self.unread = script or script_of(references), language, ""
        codes: dict[str, float] = {}
        try:
            codes = probabilities("")
        except BsxError as error:  # not installed, or no room for it
            self.unread = str(error)
        if language is None and references and codes:
            with contextlib.suppress(BsxError):  # unclear: mixed, or too little
                self.language = detect_language(references).code
        self._near = {str(self.language)}.union(*(several for several in _CLOSE if self.language in several))
        self._known = not self._near.isdisjoint(codes)
        looks = [text for text in map(look, references) if text.units] if language is not None else []
        wrong = sum(self._of_other_script(text, ()) or self._of_other_language(text, ()) for text in looks)
        self.references = (wrong, len(looks))
        self._sources = any(segment.source is not None for segment in some)
        pairs = [(look(t), look(s.source or "")) for s in some for t in s.references[:1] or s.candidates]
        pairs = [(text, source) for text, source in pairs if text.units and source.units]
        alike = [shared(text.folded, source.folded) for text, source in pairs if text.folded != source.folded]
        self._translated = not alike or median(alike) < _LEARNT
        self._ratio = median(len(text.text) / len(source.text) for text, source in pairs) if pairs else None

    @functools.cached_property
    def unchecked(self) -> dict[str, str]:
        """What a gate is called -> why it cannot judge these texts."""
        nothing = "nothing says in which language the candidates should be: name it with lang"
        unknown = f"py3langid does not know the language {self.language}" if self.language else nothing
        reasons = {} if self._known else {"wrong-language": self.unread or unknown}
        why = "" if self._translated else "most words of the texts stand in their sources"
        why = why if self._sources else "there are no sources to compare the candidates with"
        return reasons | (dict.fromkeys(("copy", "untranslated"), why) if why else {})

    def kinds(self, candidate: str, references: Sequence[str], source: str | None) -> tuple[str, ...]:
        """Return what is wrong with a candidate, of `KINDS`; nothing with a translation, however bad."""
        text, others = look(candidate), [look(reference) for reference in references]
        origin = look(source) if source is not None else None
        compared = [other for other in (*others, origin) if other is not None and other.units]
        if not text.units:
            return ("empty",) if compared else ()
        copied = origin is not None and self._copies(text, others, origin)
        script, loops = self._of_other_script(text, others), _loops(text, compared)
        signs = {"copy": copied, "script": script, "loop": loops}
        signs["language"] = not script and self._of_other_language(text, others)
        signs["length"] = not copied and not loops and self._of_other_length(text, others, origin)
        signs["untranslated"] = not copied and origin is not None and self._keeps(text, others, origin)
        return tuple(kind for kind in KINDS if signs.get(kind))

    def _copies(self, text: Look, others: Sequence[Look], source: Look) -> bool:
        if not self._translated or min(text.words, source.words) < 3:
            return False
        mine, given = text.folded, source.folded
        if len(given) < 3 or len({*mine} & {*given}) < len({*given}) / 2:  # most rows, without counting
            return False
        alike = min(shared(mine, given), shared(given, mine))
        if others:  # names, numbers and code stay as they are in references too
            kept = max(shared(other.folded, given) for other in others)
            return alike >= _ALIKE and alike - kept >= 0.3 and (source.plain >= 2 or source.words >= 5)
        if _CODE.search(source.text) or source.plain < 2 or source.words < 4:
            return False
        return mine == given or (alike >= 0.9 and source.plain >= 4)

    def _of_other_script(self, text: Look, others: Sequence[Look]) -> bool:
        script = self._script
        if script == "Latn" and len(text.text.encode("latin-1", "ignore")) > 0.9 * len(text.text):
            return False  # without counting letters
        if script is None or (other := other_script(text.text, script, _SCRIPT)) is None:
            return False
        letters = sum(map(str.isalpha, text.text))
        if letters < (_LETTERS // 2 if text.single or other == "Hang" else _LETTERS):
            return False
        return not others or any(other_script(other.text, script) is None and other.units for other in others)

    def _of_other_language(self, text: Look, others: Sequence[Look]) -> bool:
        words = {*text.units}
        if text.words < _WORDS or any(len(words & {*other.units}) >= len(words) / 2 for other in others):
            return False  # in the words of its reference
        if not self._odd(text.text):
            return False
        return not others or not all(self._odd(other.text) for other in others)

    def _odd(self, text: str) -> bool:
        """Tell whether another language is as probable as that of the texts, so many times."""
        text = text[:_READ]
        if not self._known or identified(text)[0] in self._near:
            return False
        shares = probabilities(text)
        expected = math.fsum(shares.pop(code, 0.0) for code in self._near)
        return max(shares.values()) > _TIMES * expected

    def _of_other_length(self, text: Look, others: Sequence[Look], source: Look | None) -> bool:
        expected = [len(other.text) for other in others if other.units]
        if source is not None and source.units and self._ratio is not None:
            expected.append(round(self._ratio * len(source.text)))
        if not expected:
            return False
        length, room = len(text.text), 15 if text.single else 40
        low, high = min(expected), max(expected)
        ended = any(_END.search(other.text) for other in (*others, source)[: len(others) or 1] if other is not None)
        stops = ended and not _END.search(text.text)
        sure = 1.0 if others else _ALONE
        if length < low:
            return low - length > room and length < low * (0.5 if stops else 0.3) * sure
        return length - high > room and length > high * 2.5 / sure

    def _keeps(self, text: Look, others: Sequence[Look], source: Look) -> bool:
        if not self._translated:
            return False
        size = _STRETCH if not source.single else 2 * _STRETCH
        if len({*source.units} & {*text.units}) < size / 2:  # most rows, without looking for any
            return False
        given = {source.units[at : at + size] for at in range(len(source.units) - size + 1)}
        kept = [run for at in range(len(text.units) - size + 1) if (run := text.units[at : at + size]) in given]
        allowed = {other.units[at : at + size] for other in others for at in range(len(other.units) - size + 1)}
        return any(sum(map(_plain, run)) > size / 2 for run in kept if run not in allowed)


def _plain(unit: str) -> bool:
    return unit[0].isalpha() and not unit[0].isupper()


def _loops(text: Look, others: Sequence[Look]) -> bool:
    """Tell whether a text repeats itself, more than its references and its source do."""
    times = repeated(text.units)
    if times >= (6 if text.single else 4) and times > 3 + max((repeated(other.units) for other in others), default=0):
        return True
    if max(map(len, text.units)) < 16:
        return False
    return bool(_STUTTER.search(text.text)) and not any(_STUTTER.search(other.text) for other in others)


class OutputCounts:
    """What is wrong with the candidates of each system; ``asked`` is the language and script asked for, in words."""

    def __init__(self, check: OutputCheck, asked: str | None = None) -> None:
        self.check, self._asked = check, asked
        self._rows = Counter[str]()
        self._by_kind: dict[str, dict[str, list[dict[str, str]]]] = {kind: {} for kind in KINDS}
        self._counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}

    def add(self, segment: Segment, systems: Sequence[str]) -> None:
        """Count the candidates of a segment in, each for its system."""
        for system, text in zip(systems, segment.candidates, strict=True):
            self._rows[system] += 1
            for kind in self.check.kinds(text, segment.references, segment.source):
                self._counts[kind][system] += 1
                examples = self._by_kind[kind].setdefault(system, [])
                if len(examples) < _EXAMPLES:
                    examples.append({"segment": segment.id, "candidate": without_context(text)[:_SHOWN]})

    def notices(self) -> tuple[Notice, ...]:
        """Return a notice for each kind and system: how many of how many candidates, and the first of them."""
        return tuple(
            Notice(kind, system, {"count": self._counts[kind][system], "of": self._rows[system], "examples": examples})
            for kind, segments in self._by_kind.items()
            for system, examples in segments.items()
        )

    def notes(self) -> list[str]:
        """Return one sentence for each kind of candidates, and for what was not checked."""
        notes = []
        wrong, several = self.check.references
        if wrong:
            first = "the first " if several >= SAMPLE else ""
            wrong_references = f"{wrong:,} of {first}{several:,} references"
            notes.append(f"{wrong_references} are in another language or script than {self._asked}")
        for kind, segments in self._by_kind.items():
            counts, named = self._counts[kind].most_common(), list[str]()
            for system, count in counts[:_EXAMPLES]:
                where = ", ".join(example["segment"] for example in segments[system])
                more = ", …" if count > len(segments[system]) else ""
                whose = f" of {system}" if len(self._rows) > 1 else ""
                s = "s" * (len(segments[system]) > 1)
                named.append(f"{count:,} of {self._rows[system]:,}{whose} (segment{s} {where}{more})")
            if counts:
                left = len(counts) - _EXAMPLES
                rest = f"; and some of {left} other system{'s' * (left > 1)}" if left > 0 else ""
                notes.append(f"{KINDS[kind]}: {'; '.join(named)}{rest}")
        if (why := self.check.unchecked.get("wrong-language")) and (self.check.language or self.check.unread):
            notes.append(f"the language of candidates was not checked: {why}")
        return notes

    def shares(self, gate: str) -> dict[str, tuple[int, int]]:
        """Return how many candidates of each system a gate counts, and how many there are."""
        counts = [self._counts[kind] for kind in GATES[gate]]  # of which a candidate has one at most
        return {system: (sum(count[system] for count in counts), rows) for system, rows in self._rows.items()}
