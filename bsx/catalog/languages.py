"""Which of the registry's languages, or which pair of them, a tag or a name means."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.errors import InputError, UnknownNameError, near

_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")
_NOWHERE = re.compile(r"(?i)aa|q[m-z]|x[a-jl-z]|zz")
"""Codes that ISO 3166 gives no country."""


@dataclass(frozen=True)
class Asked:
    """What a user says about the language of texts: one language, or a pair with the source first.

    Attributes:
        target: the language of the candidates, which scoring goes by.
        source: the language that they were translated from; None if only one language was named.
        script: ISO 15924 code of the script that the tag names (``sr-Latn``), if any.
    """

    target: LanguageEntry
    source: LanguageEntry | None = None
    script: str | None = None

    @property
    def name(self) -> str:
        """``German``, or ``English to German``."""
        return self.target.name if self.source is None else f"{self.source.name} to {self.target.name}"


def find_languages(tag: str, catalog: Catalog) -> Asked:
    """Return what a language tag, a language's English name, or a pair of either (``en-de``) means.

    This is what every ``lang`` is read by. Region, script and case of a tag are normalised (``zh-Hans``, ``pt_BR``,
    ``EN``), and so are three-letter and macro-language codes (``eng``, ``cmn``). Names are those of the registry
    (``Swahili``), without regard to case, accents and what stands in brackets. Two languages with a hyphen between them
    are a pair, the source first; a second half in capitals behind a first in small letters is a region (``fr-CA``).
    Nothing is ever guessed beyond that: ``es-ar``, which could be a pair or Spanish in Argentina, is refused.

    Raises:
        UnknownNameError: listing near codes, if the registry has no such language, or naming the half of a pair.
        InputError: for ``auto``, and for what could be a pair or a region.
        RegistryError: if an overlay's list of languages is broken.
    """
    if not isinstance(tag, str):
        raise InputError(f"a language is named by a text, such as 'de' or 'en-de' (got {tag!r})")
    catalog.require("languages.yaml")
    halves = _halves(tag, catalog)
    if halves is None:
        parts = tag.strip().replace("_", "-").split("-")
        script = next((part.title() for part in parts[1:] if re.fullmatch("[A-Za-z]{4}", part)), None)
        return Asked(_find_one(tag, catalog), script=script)
    source, target = (_find_one(half, catalog) for half in halves)
    return Asked(target) if source == target else Asked(target, source)


def find_language(tag: str, catalog: Catalog) -> LanguageEntry:
    """Return the language that texts are in, the target of a pair; see `find_languages`, which it raises as."""
    return find_languages(tag, catalog).target


def _halves(tag: str, catalog: Catalog) -> tuple[str, str] | None:
    """Return the halves of a tag that names a pair of languages, or None for any other tag.

    Raises:
        UnknownNameError: if one half is a language and the other is nothing that a tag may hold.
        InputError: if one half is ``auto``, or the second could be a region.
    """
    first, hyphen, second = tag.strip().replace("_", "-").partition("-")
    if not hyphen or "-" in second or _known(tag, catalog) is not None:
        return None
    from langcodes import Language
    from langcodes.tag_parser import LanguageTagError

    of_first, of_second = (  # a code as the registry has it, a name, or a code of three letters
        _known(half, catalog) is not None
        or (len(half) == 3 and half.isalpha() and _by_standards(half.lower(), catalog) is not None)
        for half in (first, second)
    )
    if not (of_first and of_second):
        if "auto" in (first.casefold(), second.casefold()):
            raise InputError(f"lang {tag!r}: a pair names both languages; auto stands alone")
        whole, wrong = tag.strip().replace("_", "-").lower(), None
        if of_first:  # what follows may be a region, a script or a variant
            if len(second) == 2:
                wrong = second if _NOWHERE.fullmatch(second) else None
            elif _by_standards(whole, catalog) is None or not Language.get(whole).is_valid():
                wrong = second
        elif of_second and _by_standards(first.lower(), catalog) is None:
            wrong = first
        if wrong is not None:
            raise UnknownNameError(f"unknown language {wrong!r} in {tag!r}.{_hint(wrong, catalog)}")
        return None
    if second.isupper() and not first.isupper():
        return None
    with contextlib.suppress(LanguageTagError):
        if len(second) == 3 and Language.get(f"{first}-{second}".lower()).language == second.lower():
            return None  # zh-yue is Cantonese
    region = Language.make(territory=second.upper()).maximize().language if len(second) == 2 else None
    if region == first.lower() and region not in ("en", second.lower()):
        names = (_find_one(half, catalog).name for half in (first, second))
        long = "-".join(Language.get(half).to_alpha3() for half in (first, second))
        raise InputError(
            f"lang {tag!r} could be {' to '.join(names)} or a region: write {long} for the pair, or "
            f"{first.lower()}-{second.upper()}"
        )
    return first, second


def _find_one(tag: str, catalog: Catalog) -> LanguageEntry:
    wanted = tag.strip().replace("_", "-").lower()
    if wanted == "auto":
        raise InputError("the language can be detected only where texts are given, as to `bsx score`")
    entry = _known(tag, catalog) or _by_standards(wanted, catalog)
    if entry is None:
        raise UnknownNameError(f"unknown language {tag!r}.{_hint(tag.strip(), catalog)}")
    return entry


def _known(tag: str, catalog: Catalog) -> LanguageEntry | None:
    """Return the language that the registry calls so, by code or name."""
    wanted = tag.strip().replace("_", "-").lower()
    if wanted in catalog.languages:
        return catalog.languages[wanted]
    called = {code: entry for entry in reversed(catalog.languages.values()) for code in entry.codes}
    named = {_folded(name): entry for entry in reversed(catalog.languages.values()) for name in names_of(entry)}
    return called.get(wanted) or named.get(_folded(tag))


def _by_standards(wanted: str, catalog: Catalog) -> LanguageEntry | None:
    """Return the language of a BCP-47 tag in small letters, if the registry has it."""
    from langcodes import Language
    from langcodes.tag_parser import LanguageTagError

    def macro(code: str) -> str | None:
        return Language.get(code).prefer_macrolanguage().language

    try:
        parsed = Language.get(wanted)
        # A subtag that is neither script nor region nor variant names something else: en-sci is not plain en.
        plain = not parsed.extlangs and parsed.private is None
        known_language = parsed.language if plain else None
        wider = macro(wanted) if plain else None
    except LanguageTagError:
        return None
    if known_language in catalog.languages:
        return catalog.languages[known_language]
    if wider is not None:
        for code, entry in catalog.languages.items():
            if macro(code) == wider:
                return entry
    return None


def _hint(wrong: str, catalog: Catalog) -> str:
    spelled = {f"{entry.code} ({entry.name})": entry for entry in catalog.languages.values()}
    by_part = {entry.code: label for label, entry in spelled.items()}
    by_part |= {name: label for label, entry in spelled.items() for name in names_of(entry)}
    close = list(dict.fromkeys(by_part[part] for part in near(wrong, by_part)))
    hint = f" Near: {', '.join(close)}." if close else ""
    return f"{hint} `bsx models --languages` lists all {len(catalog.languages)}."


def count_languages(codes: Iterable[str]) -> int:
    """Return how many languages a list names; Norwegian counts once where it stands as ``no`` and as ``nb``."""
    named = set(codes)
    return len(named) - ({"no", "nb"} <= named)


def language_code(tag: str) -> str:
    """Return the registry's code of a language, given by tag or name; a code that it lacks stays as it is.

    Of a pair, the target counts. UnknownNameError is raised for what is neither a known name nor spelled like a code.
    """
    return language_pair(tag)[1]


def language_pair(tags: str) -> tuple[str, str]:
    """Return the codes of the two languages of a pair, ``de-en``, or of one that is both; errors as `language_code`."""
    try:
        asked = find_languages(tags, load_registry())
    except UnknownNameError:
        if _CODE.fullmatch(tags.strip()) is None:
            raise
        first, hyphen, second = tags.strip().partition("-")
        if hyphen and re.fullmatch("[a-z]{2,3}", first) and re.fullmatch("[a-z]{2,3}", second):
            return language_pair(first)[1], language_pair(second)[1]
        return tags.strip(), tags.strip()
    return (asked.target if asked.source is None else asked.source).code, asked.target.code


def codes_of(entry: LanguageEntry) -> tuple[str, ...]:
    """Return the codes that lists and figures have for a language; en-sci is English."""
    return entry.code, *entry.codes, entry.code.partition("-")[0]


def names_of(entry: LanguageEntry) -> list[str]:
    """Return a language's English names; of a name with brackets, also what stands before them if that is its own."""
    plain = entry.name.partition(" (")[0]
    return [entry.name, *entry.names, *([plain] if entry.code.isalpha() and plain != entry.name else [])]


def _folded(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip().casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def knows(entry: ModelEntry, language: LanguageEntry) -> bool:
    """Tell whether a model was trained on a language, as far as somebody says so; en-sci is English."""
    if entry.name == language.model or entry.name in language.alternatives:
        return True
    return entry.languages != "multilingual" and not set(codes_of(language)).isdisjoint(entry.languages)


def unseen(entry: ModelEntry, language: LanguageEntry) -> bool:
    """Tell whether a model was trained on other languages than this one, as far as the registry says."""
    return not knows(entry, language) and entry.languages != "multilingual"


def unseen_note(entry: ModelEntry, language: LanguageEntry) -> str:
    """Return what the user of a model should know that was not trained on the language."""
    who = entry.name
    if entry.name == language.papers:
        who = f"the papers' choice, {entry.name},"
    other = f"{language.model} was" if language.model is not None else "no model with a validated layer was"
    return f"{who} was not trained on {language.name}; {other}"
