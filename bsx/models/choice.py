"""From what a user says (a language tag, a model name, a folder) to one model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.models import LanguageEntry, ModelEntry, Source
from bsx.catalog.languages import find_languages
from bsx.errors import InputError, UnknownNameError
from bsx.support.folders import path_as_name


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


def choose(model: str | Path | None, lang: str | None, catalog: Catalog) -> Choice:
    """Choose the model: the one that is named, or else the registry's default for the language.

    Args:
        model: a registry name or alias, a folder (an absolute path or one starting with ``./``), or a hub id.
        lang: BCP-47 language tag, English name, or a pair such as ``en-de``, of which the target counts.
        catalog: the registry.

    Raises:
        InputError: if neither is given.
        UnknownNameError: if either is given and unknown.
    """
    try:
        asked = find_languages(lang, catalog) if lang is not None else None
    except UnknownNameError as error:
        raise UnknownNameError(f"{error} Without lang, a model that is named scores any text.") from error
    language = asked.target if asked is not None else None
    model = None if model is None else str(path_as_name(model))
    if model is None:
        if asked is None:
            raise InputError("say which language the texts are in (lang) or which model to use (model)")
        from bsx.models.ranking import rank

        entry = rank(asked.target, catalog, source=asked.source).entry
        return Choice(entry.name, entry.source, entry, asked.target)
    known = catalog.find(model)
    if known is not None:
        return Choice(known.name, known.source, known, language)
    if Path(model).is_dir():
        return Choice(model, Source(path=model), None, language)
    if model.count("/") == 1 and not model.startswith((".", "/", "~")):
        return Choice(model, Source(hub=model, revision="main"), None, language)
    entry = catalog.model(model)  # raises, naming near ones
    return Choice(entry.name, entry.source, entry, language)
