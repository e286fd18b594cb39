"""Another number, another month or weekday."""

from __future__ import annotations

import random
import unicodedata
from functools import cache

import regex

from bsx.analysis.perturbations.base import Item, register
from bsx.catalog.words import words

# Digits of any script, not those inside a word such as A4 or MP3.
_NUMBER = regex.compile(
    r"(?<![\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}])\p{Nd}+(?:[.,:]\p{Nd}+)*(?![\p{Latin}\p{Nd}])|\p{Nd}+(?=(?:st|nd|rd|th|s)\b)"
)
_YEAR = regex.compile(r"(?:1[0-9]|20)[0-9]{2}")
_NOT_NUMBERS = regex.compile(r"&#\p{Nd}+;")  # an apostrophe written as in HTML
Listed = tuple[list[str], regex.Pattern[str]]
"""Words of which each may stand for another, and what finds them."""


@cache
def _numbers_of(lang: str) -> list[Listed]:
    numbers = words(lang).numbers
    return [
        (group, regex.compile(f"{numbers.before}(?:{'|'.join(group)}){numbers.after}", regex.IGNORECASE))
        for group in numbers.groups
    ]


@cache
def _dates_of(lang: str) -> list[Listed]:
    dates = words(lang).dates
    around = "(?<![一二三四五六七八九十])(?:{})" if lang in ("zh", "ja", "ko") else r"\b(?:{})\b"
    return [
        (listed, regex.compile(around.format("|".join(dates.spelled.get(word, word) for word in listed))))
        for listed in (dates.months, dates.weekdays)
        if listed
    ]


def _named(item: Item, lists: list[Listed], rng: random.Random) -> str | None:
    """Replace one of the words of the lists by another of its list."""
    results = [(match.span(), listed) for listed, pattern in lists for match in pattern.finditer(item.text)]
    if not results:
        return None
    (start, end), listed = rng.choice(sorted(results))
    old = item.text[start:end]
    if item.lang != "en" and len(listed) == 12 and regex.search(r"\b(?:29|3[01])\.?(?: de)? $", item.text[:start]):
        listed = [listed[month] for month in (0, 2, 4, 6, 7, 9, 11)]
    if item.lang == "ru" and regex.search(r"\bво $", item.text[:start]):
        return None  # which only one weekday asks for
    if item.lang == "fr" and regex.search(r"['’]$", item.text[:start]):
        listed = [word for word in listed if word[0] in "ao"]
    new = rng.choice([word for word in listed if word.lower() != old.lower()])
    new = new[0].upper() + new[1:] if old[0].isupper() else new
    return item.text[:start] + new + item.text[end:]


def _number_matches(text: str) -> list[regex.Match[str]]:
    """Return the numbers of a text; not those with digits that Python knows no value of, as of newer scripts."""
    return [match for match in _NUMBER.finditer(text) if all(c in ".,:" or c.isdecimal() for c in match[0])]


@register(
    "numbers",
    "one digit of one number becomes another; without digits, one number word",
    False,
    acts_on="texts with digits of any script, or with number words of en, de, es, fr, it, nl, ru, zh, pt, sv, tr, id, "
    "hi, pl, cs",
    aim="sem",
    place=80,
)
def _numbers(item: Item, strength: float, rng: random.Random) -> str | None:
    if item.lang not in ("", "en"):
        return _careful_numbers(item, rng)
    results = [match.span() for match in _number_matches(item.text)]
    if not results:
        return _named(item, _numbers_of(item.lang), rng)
    start, end = rng.choice(results)
    number = item.text[start:end]
    digits = [at for at, character in enumerate(number) if character.isdecimal()]
    # Another century would give a year away.
    at = rng.choice(digits[-2:] if _YEAR.fullmatch(number) else digits)
    value = unicodedata.decimal(number[at])
    # The first digit does not become 0, so that the number keeps its length.
    fitting = [digit for digit in range(10) if digit != value and (digit or at or len(digits) == 1)]
    digit = chr(ord(number[at]) - value + rng.choice(fitting))
    return item.text[:start] + number[:at] + digit + number[at + 1 :] + item.text[end:]


def _careful_numbers(item: Item, rng: random.Random) -> str | None:
    """Change a digit so that the number can stand where it stands: no month 13, no singular, no year ahead."""
    html = [match.span() for match in _NOT_NUMBERS.finditer(item.text)]
    results = []
    for match in _number_matches(item.text):
        start, end = match.span()
        if any(first <= start < last for first, last in html):
            continue
        number = match[0]
        for at, character in enumerate(number):
            if not character.isdecimal():
                continue
            value = unicodedata.decimal(character)
            for digit in range(10):
                new = number[:at] + chr(ord(character) - value + digit) + number[at + 1 :]
                if digit != value and _possible(item, start, end, new):
                    results.append((start, end, new))
    if not results:
        return _named(item, _numbers_of(item.lang), rng)
    span = rng.choice(sorted({(start, end) for start, end, _ in results}))
    start, end, new = rng.choice([result for result in results if result[:2] == span])
    return f"{item.text[:start]}{new}{item.text[end:]}"


def _possible(item: Item, start: int, end: int, new: str) -> bool:
    """Tell whether a number may stand in the place of another one."""
    old, before, after = item.text[start:end], item.text[:start], item.text[end:]
    if len(old) > 1 and old[0] not in "0٠०" and unicodedata.decimal(new[0]) == 0:
        return False
    if not old.isdecimal():
        hours, now = (regex.fullmatch(r"([0-2]?\d)([:.])([0-5]\d)", number) for number in (old, new))
        return hours is None or (now is not None and int(now[1]) < 24)
    was, value = int(old), int(new)
    if regex.search(r"\d\s*[-–—~]+\s*$", before) or regex.match(r"\s*[-–—~]+\s*\d", after):
        return False  # one end of a span
    if value == 0 or 1 in (was, value):
        return False
    if regex.match(r"-х\b|-tal|[年]代", after):
        century = was < 1000 or not was % 100 or value // 100 == was // 100
        return century and value % 10 == was % 10 and 9 < value <= 2024
    if item.lang == "tr" and regex.match(r"['’]", after):
        return False  # its ending follows the sound of the number
    if len(old) == 4 and 1000 <= was <= 2100:  # a year, more often than not: its century gives it away
        return value // 100 == was // 100 and (value <= 2024 or was > 2024)
    if item.lang in ("zh", "ja", "ko") and regex.match(r"\s*(?:月(?!球)|월)", after):
        return value <= 12
    months = "|".join(words(item.lang).dates.months) or "(?!)"
    if regex.match(rf"\s*(?:[日号號]|일)|\.?(?:º|er)? (?:de )?(?:{months})\b", after):
        return value <= 28
    if regex.match(r"\s*(?:Uhr|heures?\b|h\b|часо?в?\b|[点點时時](?![代间間])|シ|時(?!代|間)|시(?! ?간))", after):
        return value <= 23
    if item.lang in ("ru", "uk", "pl", "cs", "sk") and not regex.match(r"-|\.|\s*%", after):
        return _counted(was) == _counted(value) and value % 10 != 1
    if regex.match(r"[年]代|s\b|er\b|-х\b", after):
        return value % 10 == was % 10 and value > 9
    return True


def _counted(number: int) -> int:
    """Return which form of a noun a number asks for in Slavic languages: 1, 2 to 4, or more."""
    if number % 100 in range(11, 20):
        return 5
    return {1: 1, 2: 2, 3: 2, 4: 2}.get(number % 10, 5)


_ZH_DAY = regex.compile(r"(?<=(?:星期|[周週]|[礼禮]拜))[一二三四五六日天](?![年月个個次天到至]|[一二三四五六七八九十])")
_ZH_MONTH = regex.compile(r"(?<![\p{Nd}第.\-–—~至到])(1[0-2]|[1-9]|１[０-２]|[１-９])(?=月(?!球|餅|饼|29|3[01]))")


@register(
    "dates",
    "one month or weekday becomes another",
    False,
    languages=("en", "de", "es", "fr", "it", "nl", "pt", "ru", "pl", "cs", "sv", "tr", "id", "hi", "ko", "zh"),
    acts_on="texts that name a month or a weekday",
    aim="sem",
    place=90,
)
def _dates(item: Item, strength: float, rng: random.Random) -> str | None:
    if item.lang == "zh":
        places = [match.span() for pattern in (_ZH_DAY, _ZH_MONTH) for match in pattern.finditer(item.text)]
        if places:
            start, end = rng.choice(sorted(places))
            old = item.text[start:end]
            group = list("一二三四五六") if old in "一二三四五六日天" else [str(month) for month in range(1, 13)]
            if old[0] in "１２３４５６７８９":
                group = [month.translate(str.maketrans("0123456789", "０１２３４５６７８９")) for month in group]
            return item.text[:start] + rng.choice([other for other in group if other != old]) + item.text[end:]
    return _named(item, _dates_of(item.lang), rng)
