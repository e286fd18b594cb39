"""Which keys lie beside which, and which Chinese characters are typed for one another."""

from __future__ import annotations

from functools import cache

_LATIN = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
    "spanish": ("qwertyuiop", "asdfghjklñ", "zxcvbnm"),
}
_LAYOUT = {
    "de": "qwertz",
    "cs": "qwertz",
    "sk": "qwertz",
    "hu": "qwertz",
    "sl": "qwertz",
    "hr": "qwertz",
    "fr": "azerty",
    "es": "spanish",
}
_OTHERS = (
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),  # Russian
    ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),  # Greek
    ("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),  # Hebrew
    ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),  # Arabic
)

_SAME_SOUND = "的得地 在再 做作 像象 坐座 需须 需須 候侯 即既 以已 带戴 帶戴 帐账 帳賬 吗嘛 嗎嘛"
HOMOPHONES = {written: group.replace(written, "") for group in _SAME_SOUND.split() for written in group}
"""Chinese character -> characters of the same sound, tones aside, that are often typed in its place."""


@cache
def neighbours(lang: str) -> dict[str, str]:
    """Return letter -> the letters on the keys around it, on the keyboard of a language, and of other scripts.

    >>> neighbours("en")["s"], neighbours("de")["t"]
    ('adwezx', 'rzfg')
    """
    found: dict[str, str] = {}
    for rows in (_LATIN[_LAYOUT.get(lang, "qwerty")], *_OTHERS):
        for number, row in enumerate(rows):
            for at, key in enumerate(row):
                # Each row of keys lies a little to the right of the one above it.
                around = [
                    (number, at - 1),
                    (number, at + 1),
                    (number - 1, at),
                    (number - 1, at + 1),
                    (number + 1, at - 1),
                    (number + 1, at),
                ]
                found[key] = "".join(rows[r][c] for r, c in around if 0 <= r < len(rows) and 0 <= c < len(rows[r]))
    return found
