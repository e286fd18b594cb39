"""Which language texts are in, asked only when it is given as ``auto``, and which scripts they are written in."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np

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
        texts: usually the references; read once.

    Raises:
        InputError: if the texts are empty, mixed, or say too little; says what was found.
        MissingExtraError: if py3langid is not installed.
    """
    identifier = _identifier()
    if isinstance(texts, str) or not isinstance(texts, Iterable):
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


def _identifier() -> Untyped:
    return _opened(need("py3langid.langid", "detecting the language, unless lang names it,"))


@cache
def _opened(module: ModuleType) -> Untyped:
    """Return what tells languages; reading its model takes a second."""
    return module.LanguageIdentifier.from_model_file(module.MODEL_FILE, norm_probs=True)


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


def other_script(text: str, script: str) -> str | None:
    """Return the script of a text most of whose letters are not of the expected script, or None for any other text.

    Args:
        text: the text; one without letters is in no script.
        script: ISO 15924 code, those of Chinese, Japanese and Korean included.

    >>> other_script("Es regnet", "Hans"), other_script("在下雨 (it rains)", "Jpan"), other_script("12 %", "Latn")
    ('Latn', 'Latn', None)
    """
    if text.isascii() and script == "Latn":
        return None
    letters = len(_letters(None).findall(text))
    if 2 * len(_letters(script).findall(text)) >= letters:
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
    """Return the script of most letters; see `script_of`.

    Args:
        letters: how often each stands in the texts; what is no letter does not count.
    """
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
