"""Where the words of a parse stand in its text, and the names among them; names of months and weekdays."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.factors.parses import Parse

Span = tuple[int, int]

CALENDAR = {
    "en": (
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    ),
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira",
    ),
    "ru": (
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "понедельник вторник четверг воскресенье",
    ),
    "pl": (
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "poniedziałek wtorek czwartek piątek",
    ),
    "cs": (
        "ledna února března dubna května června července srpna září října listopadu prosince",
        "pondělí úterý",
    ),
    "sv": (
        "januari februari mars april juni juli augusti september oktober november december",
        "måndag tisdag onsdag torsdag fredag lördag söndag",
    ),
    "tr": (
        "Ocak Şubat Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        "Pazartesi Salı Çarşamba Perşembe",
    ),
    "id": (
        "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember",
        "Senin Selasa Rabu Kamis Jumat Sabtu",
    ),
    "hi": (
        "जनवरी फरवरी मार्च अप्रैल जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
        "सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार",
    ),
    "ko": ("", "월요일 화요일 수요일 목요일 금요일 토요일 일요일"),
    "zh": ("十二月 十一月 十月 二月 三月 四月 五月 六月 七月 八月 九月", "星期一 星期二 星期三 星期四 星期五 星期六"),
}
"""Language -> months, then weekdays; those that are nothing else besides."""


def word_spans(text: str, parse: Parse) -> list[Span | None]:
    """Return where each word of a parse stands in its text.

    Parsers split some words into parts that the text does not spell out (*zum* into *zu* and *dem*): those have no
    place, and the next word is looked for a little further on.
    """
    spans: list[Span | None] = []
    at = pending = 0
    for word in parse.words:
        result = text.find(word, at)
        skipped = len("".join(text[at:result].split()))
        if result < 0 or not word or skipped > (pending + 4 if pending else 0):
            spans.append(None)
            pending += len(word)
            continue
        spans.append((result, result + len(word)))
        at, pending = result + len(word), 0
    return spans


def named(text: str, parse: Parse, lang: str) -> list[tuple[Span, str]]:
    """Return where the names of a text stand and of which kind each is, as far as a parse tells.

    Kinds are ``weekday``, ``month``, ``date`` (one of these among other words), ``number``, ``code`` (letters and
    digits), ``person`` (parts joined by the relation *flat*, as UD has it), ``acronym`` and ``name`` for all others.
    What has neither letters nor digits, or small letters alone, is no name.
    """
    results = [(span, _kind(text[slice(*span)], lang, flat=flat)) for span, flat in _runs(text, parse)]
    return [(span, kind) for span, kind in results if kind]


def _runs(text: str, parse: Parse) -> list[tuple[Span, bool]]:
    """Return where each name stands, and whether its parts are joined by *flat*."""
    runs: list[tuple[Span, bool]] = []
    follows = False
    relations = parse.deprels or ("",) * len(parse.words)
    for span, tag, relation in zip(word_spans(text, parse), parse.upos, relations, strict=True):
        if tag != "PROPN" or span is None:
            follows = False
            continue
        if follows and not text[runs[-1][0][1] : span[0]].strip(" -\u2010\u2011\u00a0"):
            before, flat = runs[-1]
            runs[-1] = ((before[0], span[1]), flat or relation.startswith("flat"))
        else:
            runs.append((span, False))
        follows = True
    return runs


def _kind(name: str, lang: str, *, flat: bool) -> str:
    months, weekdays = (set(words.casefold().split()) for words in CALENDAR.get(lang, ("", "")))
    words = set(name.casefold().split())
    if words & (months | weekdays):
        return "month" if words <= months else "weekday" if words <= weekdays else "date"
    if name == name.lower() != name.upper():
        return ""  # where there are capitals, names have one: parsers err
    letters = any(character.isalpha() for character in name)
    if any(character.isdecimal() for character in name):
        return "code" if letters else "number"
    if not letters:
        return ""
    return "person" if flat else "acronym" if len(name) > 1 and name.isupper() else "name"


def names_of(texts: Sequence[str], parses: Sequence[Parse | None], lang: str) -> list[tuple[str, str]]:
    """Return the kinds and distinct names in texts, sorted."""
    result = {
        (kind, text[slice(*span)])
        for text, parse in zip(texts, parses, strict=True)
        if parse is not None
        for span, kind in named(text, parse, lang)
    }
    return sorted(result)
