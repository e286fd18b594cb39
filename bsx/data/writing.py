"""What texts are written in: language, asked only when it is given as ``auto``, script, and form of Unicode."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from types import ModuleType
from typing import Literal, TypeAlias

import numpy as np

from bsx.data.corpus import Corpus, Segment
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.untyped import Untyped

SAMPLE = 500
MINIMUM_SHARE = 0.8
MINIMUM_PROBABILITY = 0.8
"""Of 9,287 single sentences that it lets pass, 4 are taken for another language: benchmarks/results/detection.md."""


@dataclass(frozen=True)
class Detection:
    """The language of a set of texts.

    Attributes:
        code: language code, as py3langid names it.
        share: share of the sampled characters that stand in texts of this language, each text as far as it is clear.
        probability: of this language among all, from all sampled texts together.
        texts: how many texts were sampled.
    """

    code: str
    share: float
    probability: float
    texts: int

    def __str__(self) -> str:
        sure = f"probability {self.probability:.3f}"
        return f"{self.code} ({self.share:.0%} of {self.texts} sampled texts, by length; {sure})"


def detect_language(texts: Iterable[str]) -> Detection:
    """Detect the language of texts, from a random sample of them.

    Args:
        texts: usually the references, read once; or one text.

    Raises:
        InputError: if the texts are empty, mixed, or say too little; says what was found.
        MissingExtraError: if py3langid is not installed.
    """
    identifier = _identifier()
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, Iterable):
        raise InputError(f"texts is a {type(texts).__name__}: give a list of texts")
    rng = np.random.default_rng(1)
    sampled: list[str] = []
    number = 0
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"one of the texts is {text!r} ({type(text).__name__}), not a text")
        if not text.strip():
            continue
        if number < SAMPLE:
            sampled.append(text)
        elif (place := int(rng.integers(number + 1))) < SAMPLE:  # reservoir sampling
            sampled[place] = text
        number += 1
    if not sampled:
        raise InputError("the language cannot be detected: there is no text; name it with lang")
    weights: Counter[str] = Counter()
    for text in sampled:
        code, sure = identifier.classify(text)
        weights[code] += len(text) * sure
    shares = [(name, weight / weights.total()) for name, weight in weights.most_common()]
    worded = [text for text in sampled if any(map(str.isalpha, text))] or sampled  # numbers say nothing
    together: list[tuple[str, float]] = identifier.rank("\n".join(worded))
    code, share = shares[0]
    probability = dict(together)[code]
    if share < MINIMUM_SHARE or probability < MINIMUM_PROBABILITY or code == "zxx":  # no language: numbers, signs
        result = ", ".join(f"{name} {part:.0%}" for name, part in (shares if share < MINIMUM_SHARE else together)[:3])
        raise InputError(f"the language is not clear from {len(sampled)} sampled texts ({result}): name it with lang")
    return Detection(code, share, probability, len(sampled))


def identified(text: str) -> tuple[str, float]:
    """Return the language that a text is taken for, however unclear it is, and how probable it is among all."""
    code, sure = _identifier().classify(text)
    return code, float(sure)


def probabilities(text: str) -> dict[str, float]:
    """Return how probable each language is that py3langid knows."""
    return dict(_identifier().rank(text))


def _identifier() -> Untyped:
    return _opened(need("py3langid.langid", "telling in which language texts are"))


@cache
def _opened(module: ModuleType) -> Untyped:
    """Return what tells languages; reading its model, through a temporary file, takes a second."""
    try:
        return module.LanguageIdentifier.from_model_file(module.MODEL_FILE, norm_probs=True)
    except OSError as error:
        raise InputError(f"py3langid, which tells languages, cannot unpack its model ({error})") from error


_PARTS = {"Hans": "Hani", "Hant": "Hani", "Jpan": "Hani Hira Kana", "Kore": "Hang Hani"}
SCRIPTS = {
    "Latn": "Latin", "Cyrl": "Cyrillic", "Arab": "Arabic", "Hani": "Han", "Hira": "Hiragana", "Kana": "Katakana",
    "Hang": "Hangul", "Grek": "Greek", "Hebr": "Hebrew", "Deva": "Devanagari", "Beng": "Bengali", "Guru": "Gurmukhi",
    "Gujr": "Gujarati", "Orya": "Odia", "Taml": "Tamil", "Telu": "Telugu", "Knda": "Kannada", "Mlym": "Malayalam",
    "Sinh": "Sinhala", "Thai": "Thai", "Laoo": "Lao", "Tibt": "Tibetan", "Mymr": "Burmese", "Geor": "Georgian",
    "Armn": "Armenian", "Ethi": "Ethiopic", "Khmr": "Khmer", "Mong": "Mongolian",
    "Olck": "Ol Chiki", "Cans": "Canadian Syllabics", "Mtei": "Meetei Mayek",
}  # fmt: skip
"""ISO 15924 code -> English name. Of a text in none of these, ISO says Zzzz: uncoded."""
UNSPACED = {"Hani": "zh", "Hira": "ja", "Thai": "th", "Laoo": "lo", "Khmr": "km", "Mymr": "my"}
"""Scripts that are written without spaces between words -> a language of each, for its tokenizers."""
IMPLIED = {**UNSPACED, "Hang": "ko"}
"""Script -> the language whose tokenizers texts need that are written in it, where no language is named."""
_KANA = 0.05  # of Japanese letters, at least this share is kana; Chinese has none


def other_script(text: str, script: str, share: float = 0.5) -> str | None:
    """Return the script of a text few of whose letters are of the expected script, or None for any other text.

    Args:
        text: the text; one without letters is in no script.
        script: ISO 15924 code, those of Chinese, Japanese and Korean included.
        share: of its letters are of the expected script, at most.

    >>> other_script("Es regnet", "Hans"), other_script("在下雨 (it rains)", "Jpan"), other_script("12 %", "Latn")
    ('Latn', 'Latn', None)
    """
    if text.isascii() and script == "Latn":
        return None
    letters = len(_letters(None).findall(text))
    if len(_letters(script).findall(text)) >= share * letters:
        return None
    counts = Counter({name: len(_letters(name).findall(text)) for name in SCRIPTS})
    name, most = counts.most_common(1)[0]
    return name if most else "Zzzz"


def script_of(texts: Iterable[str]) -> str | None:
    """Return the script of most letters of some texts; Japanese is ``Hira``. None without a letter of a known script.

    >>> script_of(["在下雨 (rain)"]), script_of(["雨が降っている"]), script_of(["비가 온다"]), script_of(["12 %"])
    ('Hani', 'Hira', 'Hang', None)
    """
    return script_of_letters(Counter("".join(texts)))


def script_of_letters(letters: Mapping[str, int]) -> str | None:
    """Return the script of most letters, each with how often it stands in the texts; see `script_of`."""
    counts = Counter[str]()
    for letter, count in letters.items():
        if (script := _script(letter)) is not None:
            counts[script] += count
    kana = counts["Hira"] + counts["Kana"]
    if kana and kana >= _KANA * (kana + counts["Hani"]):
        counts["Hira"] = kana + counts.pop("Hani", 0)
    counts.pop("Kana", None)
    # A Han character stands for about two letters: a Chinese text with English names is Chinese.
    weighed = {script: count * (2 if script in ("Hani", "Hira") else 1) for script, count in counts.items() if count}
    return max(sorted(weighed), key=lambda script: weighed[script]) if weighed else None


def parts_of(script: str) -> frozenset[str]:
    """Return the scripts that a language's script is made of: those of Japanese are Han, Hiragana and Katakana."""
    return frozenset(_PARTS.get(script, script).split())


@functools.cache
def _script(letter: str) -> str | None:
    if letter.isascii():
        return "Latn" if letter.isalpha() else None
    if not letter.isalpha():
        return None
    return next((script for script in SCRIPTS if _letters(script).match(letter)), None)


@functools.cache
def _letters(script: str | None) -> Untyped:
    """Return the pattern of one letter of a script, or of any."""
    import regex

    if script is None:
        return regex.compile(r"\p{L}")
    parts = "".join(rf"\p{{Script={part}}}" for part in _PARTS.get(script, script).split())
    return regex.compile(rf"[[{parts}]&&\p{{L}}]", regex.VERSION1)


Form: TypeAlias = Literal["nfc", "nfkc", "tashkeel", "sr-latn", "none"]
"""NFC; NFKC; NFC without Arabic vowel marks; NFC with Serbian in Latin letters; texts as they are."""

# Short vowels, doubling, Koranic signs, and the stroke that stretches a word; hamza and madda are part of a letter.
_TASHKEEL = re.compile("[\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]")
_SERBIAN = dict(zip("АБВГДЂЕЖЗИЈКЛМНОПРСТЋУФХЦЧШ", "ABVGDĐEŽZIJKLMNOPRSTĆUFHCČŠ", strict=True))
_SERBIAN |= {"Љ": "Lj", "Њ": "Nj", "Џ": "Dž"}
_SERBIAN |= {cyrillic.lower(): latin.lower() for cyrillic, latin in _SERBIAN.items()}
_TWO = re.compile("[ЉЊЏ](?=[А-ЯЂЈЉЊЋЏ])|(?<=[А-ЯЂЈЉЊЋЏ])[ЉЊЏ](?![а-яђјљњћџ])")


def in_form(text: str, form: Form) -> str:
    """Return a text in a form; one that is in it already is returned as it is.

    >>> in_form("Ａ１", "nfkc"), in_form("كَتَبَ", "tashkeel"), in_form("Љубав, ЉУБАВ", "sr-latn")
    ('A1', 'كتب', 'Ljubav, LJUBAV')
    """
    if form == "none" or text.isascii():
        return text
    text = unicodedata.normalize("NFKC" if form == "nfkc" else "NFC", text)
    if form == "tashkeel":
        return unicodedata.normalize("NFC", _TASHKEEL.sub("", text))
    if form == "sr-latn":
        text = _TWO.sub(lambda letter: _SERBIAN[letter[0]].upper(), text)
        return "".join(_SERBIAN.get(letter, letter) for letter in text)
    return text


def form_of(text: str) -> str:
    """Return in which of Unicode's forms a text is: ``NFC``, ``NFD``, ``both`` or ``neither``."""
    if text.isascii():
        return "both"
    composed, cut = (unicodedata.is_normalized(form, text) for form in ("NFC", "NFD"))
    return ("both" if cut else "NFC") if composed else ("NFD" if cut else "neither")


def forms_note(counts: Mapping[str, int], form: Form) -> str | None:
    """Return what the user should know about the forms of the texts; None if all of them are in NFC.

    >>> forms_note({"NFC": 3, "NFD": 2, "both": 1}, "nfc")
    'of 6 texts, 3 are in Unicode form NFC, 2 in NFD, 0 in neither: all are compared in NFC (normalize)'
    """
    if not counts.get("NFD") and not counts.get("neither"):
        return None
    several = [f"{counts.get('NFC', 0):,} are in Unicode form NFC", f"{counts.get('NFD', 0):,} in NFD"]
    several.append(f"{counts.get('neither', 0):,} in neither")
    what = f"all are compared in {'NFKC' if form == 'nfkc' else 'NFC'} (normalize)"
    if form == "none":
        what = "they are compared as they are, so equal texts in two forms do not match; normalize nfc makes them equal"
    return f"of {sum(counts.values()):,} texts, {', '.join(several)}: {what}"


class InForm:
    """The segments of a corpus with their texts in a form; each row's own cells stay as they are."""

    def __init__(self, corpus: Corpus, form: Form) -> None:
        self._corpus, self._form = corpus, form
        self.systems, self.has = corpus.systems, corpus.has

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start."""
        return (segment_in_form(segment, self._form) for segment in self._corpus)

    @cached_property
    def scripts(self) -> dict[str, str]:
        """The script of candidates, references and sources; see `scripts_of`."""
        return scripts_of(self._corpus)


def segment_in_form(segment: Segment, form: Form) -> Segment:
    """Return a segment with its texts in a form."""
    if "".join((*segment.candidates, *segment.references, segment.source or "")).isascii():
        return segment
    candidates = tuple([in_form(text, form) for text in segment.candidates])
    references = tuple([in_form(text, form) for text in segment.references])
    source = None if segment.source is None else in_form(segment.source, form)
    if (candidates, references, source) == (segment.candidates, segment.references, segment.source):
        return segment
    return replace(segment, candidates=candidates, references=references, source=source)


def scripts_of(corpus: Corpus) -> dict[str, str]:
    """Return the script in which candidates, references and sources are written; sides without letters are left out.

    What the first `bsx.data.writing.SAMPLE` segments are mostly written in, so that it does not depend on batches.
    """
    if isinstance(corpus, InForm):
        return corpus.scripts
    texts: dict[str, list[str]] = {"candidate": [], "reference": [], "source": []}
    for segment in islice(corpus, SAMPLE):
        texts["candidate"] += segment.candidates
        texts["reference"] += segment.references
        texts["source"] += [] if segment.source is None else [segment.source]
    scripts = {side: script_of(several) for side, several in texts.items()}
    return {side: script for side, script in scripts.items() if script is not None}
