"""In which scripts texts are written, by ISO 15924 codes."""

from __future__ import annotations

import functools
from collections import Counter

from bsx.support.untyped import Untyped

_PARTS = {"Hans": "Hani", "Hant": "Hani", "Jpan": "Hani Hira Kana", "Kore": "Hang Hani"}
# Of a text in none of these, ISO 15924 says Zzzz: uncoded.
_COMMON = (
    "Latn Cyrl Arab Hani Hira Kana Hang Grek Hebr Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Thai Laoo Tibt "
    "Mymr Geor Armn Ethi Khmr Mong"
)


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
    counts = Counter({name: len(_letters(name).findall(text)) for name in _COMMON.split()})
    name, most = counts.most_common(1)[0]
    return name if most else "Zzzz"


@functools.cache
def _letters(script: str | None) -> Untyped:
    """Return the pattern of one letter of a script, or of any."""
    import regex

    if script is None:
        return regex.compile(r"\p{L}")
    parts = "".join(rf"\p{{Script={part}}}" for part in _PARTS.get(script, script).split())
    return regex.compile(rf"[[{parts}]&&\p{{L}}]", regex.VERSION1)
