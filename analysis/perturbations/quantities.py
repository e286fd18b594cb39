"""Another number, another month or weekday."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Mapping

import regex

from bsx.analysis.perturbations.base import Item, register
from bsx.analysis.perturbations.names import CALENDAR

# Digits of any script, not those inside a word such as A4 or MP3.
_NUMBER = regex.compile(
    r"(?<![\p{Latin}\p{Cyrillic}\p{Greek}\p{Nd}])\p{Nd}+(?:[.,:]\p{Nd}+)*(?![\p{Latin}\p{Nd}])|\p{Nd}+(?=(?:st|nd|rd|th|s)\b)"
)
_YEAR = regex.compile(r"(?:1[0-9]|20)[0-9]{2}")
# Number words that are nothing else besides, in groups that can stand for one another.
_WORDS = {
    "en": (
        "two three four five six seven eight nine ten eleven twelve",
        "twenty thirty forty fifty sixty seventy eighty ninety",
    ),
    "de": (
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig",
    ),
    "es": (
        "dos tres cuatro cinco seis siete ocho nueve diez doce",
        "veinte treinta cuarenta cincuenta sesenta setenta",
    ),
    "fr": ("deux trois quatre cinq six sept huit dix onze douze", "vingt trente quarante cinquante soixante"),
    "it": (
        "due tre quattro cinque sei sette otto nove dieci undici dodici",
        "venti trenta quaranta cinquanta sessanta",
    ),
    "nl": (
        "twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "twintig dertig veertig vijftig zestig zeventig",
    ),
    "ru": (  # each group asks for one form of what it counts
        "три четыре",
        "пять шесть семь восемь девять",
        "десять одиннадцать двенадцать",
        "двадцать тридцать пятьдесят шестьдесят семьдесят",
        "пяти шести семи восьми девяти",
    ),
    "zh": ("三 四 五 六 七 八 九",),
}
# Parts of compound numbers stay, as there is no twenty-eleven; a Chinese number stands before a measure.
_AROUND = {
    "en": (r"\b(?<!ty-)", r"\b(?!-(?:one|two|three|four|five|six|seven|eight|nine)\b)"),
    "es": (r"\b(?<!ta y )", r"\b(?! y (?:un|dos|tres|cuatro|cinco|seis|siete|ocho|nueve))"),
    "fr": (r"\b(?<!\p{L}-)(?<!\bet )", r"\b(?!-\p{L}| et une?\b)"),
    "zh": ("(?<![一二两兩三四五六七八九十百千万萬零第])", "(?=[个個名位次年天本家人岁歲元种種条條座辆輛周週倍块塊])"),
}
# "May" and "March" are a month only where the words around them say so.
_BEFORE = (
    r"(?<=\b(?:in|of|on|by|since|until|till|last|next|this|from|to|and|early|late|mid|\d|\dth|\dst|\dnd|\drd)[ -])"
)
_AMBIGUOUS = {month: rf"(?:{_BEFORE}{month}|{month}(?=,? \d))" for month in ("May", "March")}


def _pattern(lang: str, words: list[str], *, numbers: bool) -> regex.Pattern[str]:
    spelled = "|".join(_AMBIGUOUS.get(word, word) if lang == "en" else word for word in words)
    if lang == "zh" and not numbers:
        return regex.compile(f"(?<![一二三四五六七八九十])(?:{spelled})")
    before, after = _AROUND.get(lang, (r"\b", r"\b")) if numbers else (r"\b", r"\b")
    return regex.compile(f"{before}(?:{spelled}){after}", regex.IGNORECASE if numbers else 0)


def _lists(
    table: Mapping[str, tuple[str, ...]], *, numbers: bool
) -> dict[str, list[tuple[list[str], regex.Pattern[str]]]]:
    return {
        lang: [(words.split(), _pattern(lang, words.split(), numbers=numbers)) for words in groups]
        for lang, groups in table.items()
    }


_WORD_LISTS, _DATE_LISTS = _lists(_WORDS, numbers=True), _lists(CALENDAR, numbers=False)


def _named(item: Item, lists: list[tuple[list[str], regex.Pattern[str]]], rng: random.Random) -> str | None:
    """Replace one of the words of the lists by another of its list."""
    results = [(match.span(), words) for words, pattern in lists for match in pattern.finditer(item.text)]
    if not results:
        return None
    (start, end), words = rng.choice(sorted(results))
    old = item.text[start:end]
    new = rng.choice([word for word in words if word.lower() != old.lower()])
    new = new[0].upper() + new[1:] if old[0].isupper() else new
    return item.text[:start] + new + item.text[end:]


def _numbers(item: Item, strength: float, rng: random.Random) -> str | None:
    results = [match.span() for match in _NUMBER.finditer(item.text)]
    if not results:
        return _named(item, _WORD_LISTS.get(item.lang, []), rng)
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


def _dates(item: Item, strength: float, rng: random.Random) -> str | None:
    return _named(item, _DATE_LISTS[item.lang], rng)


register(
    "numbers",
    "one digit of one number becomes another; without digits, one number word",
    False,
    _numbers,
    acts_on=f"texts with digits of any script, or with number words of {', '.join(_WORDS)}",
    aim="sem",
    place=80,
)
register(
    "dates",
    "one month or weekday becomes another",
    False,
    _dates,
    languages=tuple(CALENDAR),
    acts_on="texts that name a month or a weekday",
    aim="sem",
    place=90,
)
