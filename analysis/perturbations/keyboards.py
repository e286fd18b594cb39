"""Which keys lie beside which."""

from __future__ import annotations

from functools import cache

_LATIN = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}
_LAYOUT = {
    "de": "qwertz",
    "cs": "qwertz",
    "sk": "qwertz",
    "hu": "qwertz",
    "sl": "qwertz",
    "hr": "qwertz",
    "fr": "azerty",
}
_OTHERS = (
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),  # Russian
    ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),  # Greek
    ("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),  # Hebrew
    ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),  # Arabic
)


@cache
def neighbours(lang: str) -> dict[str, str]:
    """Return letter -> the letters on the keys around it: QWERTY, QWERTZ or AZERTY by language, and other scripts.

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
