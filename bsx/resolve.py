"""From what a user says (a language tag, a model name, a folder) to one model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bsx.catalog import Catalog
from bsx.entries import LanguageEntry, ModelEntry, Source
from bsx.errors import InputError, UnknownNameError
from bsx.near import near
from bsx.select import rank


@dataclass(frozen=True)
class Choice:
    """The model to score with.

    Attributes:
        name: registry name, hub id or folder, as it appears in the signature.
        source: where its files come from.
        entry: the registry's entry, or None for a model the registry does not know.
        language: the language that was asked for, or None.
    """

    name: str
    source: Source
    entry: ModelEntry | None
    language: LanguageEntry | None


def find_language(tag: str, catalog: Catalog) -> LanguageEntry:
    """Return the registry's entry for a BCP-47 language tag.

    Region, script and case are normalised (``zh-Hans``, ``pt_BR``, ``EN``), and so are three-letter and macro-language
    codes (``eng``, ``cmn``). Nothing is ever guessed beyond that.

    Raises:
        UnknownNameError: listing near codes, if the registry has no such language.
    """
    from langcodes import Language
    from langcodes.tag_parser import LanguageTagError

    wanted = tag.strip().replace("_", "-").lower()
    if wanted == "auto":
        raise InputError("the language can be detected only where texts are given: bsx score, or bsx.score")
    if wanted in catalog.languages:
        return catalog.languages[wanted]

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
    by_part |= {entry.name: label for label, entry in spelled.items()}
    close = list(dict.fromkeys(by_part[part] for part in near(tag.strip(), by_part)))
    hint = f" Near: {', '.join(close)}." if close else ""
    raise UnknownNameError(
        f"unknown language {tag!r}.{hint} `bsx models --languages` lists all {len(catalog.languages)}; "
        "any text can be scored by naming a model with --model."
    )


def choose(model: str | None, lang: str | None, catalog: Catalog) -> Choice:
    """Choose the model: the one that is named, or else the registry's default for the language.

    Args:
        model: a registry name or alias, a folder (an absolute path or one starting with ``./``), or a hub id.
        lang: BCP-47 language tag.
        catalog: the registry.

    Raises:
        InputError: if neither is given.
        UnknownNameError: if either is given and unknown.
    """
    language = find_language(lang, catalog) if lang is not None else None
    if model is None:
        if language is None:
            raise InputError("say which language the texts are in (--lang) or which model to use (--model)")
        entry = rank(language, catalog).entry
        return Choice(entry.name, entry.source, entry, language)
    known = catalog.find(model)
    if known is not None:
        return Choice(known.name, known.source, known, language)
    if Path(model).is_dir():
        return Choice(model, Source(path=model), None, language)
    if model.count("/") == 1 and not model.startswith((".", "/", "~")):
        return Choice(model, Source(hub=model, revision="main"), None, language)
    entry = catalog.model(model)  # raises, naming near ones
    return Choice(entry.name, entry.source, entry, language)
