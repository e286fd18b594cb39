"""Which of the registry's languages a tag or a name means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.models import LanguageEntry
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import near

_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")


def find_language(tag: str, catalog: Catalog) -> LanguageEntry:
    """Return the registry's entry for a BCP-47 language tag, or for a language's English name.

    Region, script and case are normalised (``zh-Hans``, ``pt_BR``, ``EN``), and so are three-letter and macro-language
    codes (``eng``, ``cmn``). Names are those of the registry (``Swahili``), without regard to case, accents and what
    stands in brackets. Nothing is ever guessed beyond that.

    Raises:
        UnknownNameError: listing near codes, if the registry has no such language.
        RegistryError: if an overlay's list of languages is broken.
    """
    catalog.require("languages.yaml")
    from langcodes import Language
    from langcodes.tag_parser import LanguageTagError

    wanted = tag.strip().replace("_", "-").lower()
    if wanted == "auto":
        raise InputError("the language can be detected only where texts are given, as to `bsx score`")
    if wanted in catalog.languages:
        return catalog.languages[wanted]
    named = {_folded(name): entry for entry in reversed(catalog.languages.values()) for name in names_of(entry)}
    if _folded(tag) in named:
        return named[_folded(tag)]

    def macro(code: str) -> str | None:
        return Language.get(code).prefer_macrolanguage().language

    try:
        parsed = Language.get(wanted)
        # A subtag that is neither script nor region nor variant names something else: en-sci is not plain en.
        plain = not parsed.extlangs and parsed.private is None
        known_language = parsed.language if plain else None
        wider = macro(wanted) if plain else None
    except LanguageTagError:
        known_language = wider = None
    if known_language in catalog.languages:
        return catalog.languages[known_language]
    if wider is not None:
        for code, entry in catalog.languages.items():
            if macro(code) == wider:
                return entry
    spelled = {f"{entry.code} ({entry.name})": entry for entry in catalog.languages.values()}
    by_part = {entry.code: label for label, entry in spelled.items()}
    by_part |= {name: label for label, entry in spelled.items() for name in names_of(entry)}
    close = list(dict.fromkeys(by_part[part] for part in near(tag.strip(), by_part)))
    hint = f" Near: {', '.join(close)}." if close else ""
    raise UnknownNameError(
        f"unknown language {tag!r}.{hint} `bsx models --languages` lists all {len(catalog.languages)}."
    )


def count_languages(codes: Iterable[str]) -> int:
    """Return how many languages a list names; Norwegian counts once where it stands as ``no`` and as ``nb``."""
    named = set(codes)
    return len(named) - ({"no", "nb"} <= named)


def language_code(tag: str) -> str:
    """Return the registry's code of a language, given by tag or name; a code that it lacks stays as it is.

    Args:
        tag: as for `find_language`, in the shipped registry with the user's overlays.

    Raises:
        UnknownNameError: for what is neither a known name nor spelled like a code.
    """
    try:
        return find_language(tag, load_registry()).code
    except UnknownNameError:
        if _CODE.fullmatch(tag.strip()) is None:
            raise
        return tag.strip()


def language_pair(tags: str) -> tuple[str, str]:
    """Return the codes of two languages with a hyphen between them, ``de-en``, or of one that is both.

    Raises:
        UnknownNameError: as `language_code` does.
    """
    first, hyphen, second = tags.partition("-")
    code = language_code(first)
    return code, language_code(second) if hyphen else code


def names_of(entry: LanguageEntry) -> list[str]:
    """Return a language's English names; of a name with brackets, also what stands before them if that is its own."""
    plain = entry.name.partition(" (")[0]
    return [entry.name, *entry.names, *([plain] if entry.code.isalpha() and plain != entry.name else [])]


def _folded(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.strip().casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
