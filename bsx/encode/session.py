"""The encoders of one run: where they run, which model is meant, and each loaded at most once."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.languages import find_language
from bsx.encode.architecture import Architecture
from bsx.encode.devices import Precision, choose_device, choose_dtype
from bsx.encode.run_config import RunConfig, RunSettings
from bsx.encode.tokenizer import LongText, Specials, Tokenizer, load_tokenizer
from bsx.errors import InputError, LanguageError
from bsx.models.choice import Choice, choose, path_as_name
from bsx.models.files import TOKENIZERS, part_of
from bsx.models.locate import Checkpoint, locate
from bsx.models.ranking import unseen, unseen_note
from bsx.support.arrays import device_type
from bsx.support.memory import DEFAULT_SHARE, free_memory, parse_bytes
from bsx.support.settings import build_config, made_of, takes
from bsx.support.untyped import Settings, Untyped, blaming

# What runs encoders is imported where one is opened: metrics without a model need none of it.
if TYPE_CHECKING:
    from bsx.encode.shared import SharedEncoder
    from bsx.encode.vector_cache import VectorCache


def memory_budget(memory: str | None, device: str) -> int:
    """Return the bytes that vectors may take: what the setting ``memory`` says, or a quarter of what is free."""
    if memory is not None:
        return parse_bytes(memory)
    if device_type(device) == "cuda":
        free = int(importlib.import_module("torch").cuda.mem_get_info(device)[0])
    else:
        free = free_memory()
    return int(free * DEFAULT_SHARE)


@dataclass(frozen=True)
class LocatedModel:
    """A chosen model with its files on this machine.

    Attributes:
        choice: what was chosen.
        checkpoint: its files.
        architecture: its configuration.
        trust_remote_code: whether it may bring its own tokenizer code.
        budget: bytes of memory that one text may take; None if unlimited.
    """

    choice: Choice
    checkpoint: Checkpoint
    architecture: Architecture
    trust_remote_code: bool = False
    budget: int | None = None

    @property
    def identity(self) -> str:
        """Name and shortened digest, for a signature."""
        unknown = self.choice.entry is None and self.choice.source.path
        name = Path(os.path.realpath(unknown)).name if unknown else self.choice.name  # where it lies changes no score
        return f"{name}@{self.checkpoint.label}"

    @cached_property
    def _inner_tokenizer(self) -> Untyped:
        kind = self.architecture.kind
        return load_tokenizer(self.checkpoint.folder, kind, trust_remote_code=self.trust_remote_code)

    def tokenizer(
        self,
        *,
        limit: int | None = None,
        leading_space: bool | None = None,
        specials: Specials = "match",
        long: LongText = "truncate",
        before: str = "",
        keep_before: bool = False,
        context: bool = False,
    ) -> Tokenizer:
        """Return the model's tokenizer with its rules.

        Args:
            limit: a further limit on the tokens of a text.
            leading_space: put a space before each text; what the registry says unless given.
            specials: whether special tokens may be matched.
            long: what happens to a text that is too long.
            before: a text that every text follows.
            keep_before: whether its vectors are kept.
            context: whether texts come with context in front.
        """
        entry = self.choice.entry
        limits = [self.architecture.position_limit, entry.max_tokens if entry is not None else None, limit]
        if leading_space is None:
            leading_space = entry.leading_space if entry is not None else False
        folder = self.checkpoint.folder
        with blaming(f"{folder}: {part_of(folder, 'its tokenizer', TOKENIZERS)} cannot be used"):
            return Tokenizer(
                self._inner_tokenizer,
                position_limit=min((at for at in limits if at is not None), default=None),
                leading_space=leading_space,
                specials=specials,
                long=long,
                before=before,
                keep_before=keep_before,
                context=context,
                vocabulary=self.architecture.vocabulary,
                budget=self.budget,
                # Scores of attention, their bias, and both once more while they are worked on.
                pair_bytes=16 * self.architecture.heads,
            )


def locate_model(
    choice: Choice, catalog: Catalog, *, trust_remote_code: bool = False, budget: int | None = None
) -> LocatedModel:
    """Find or fetch a model's files and read its configuration.

    Raises:
        ModelUnavailableError: if its files are neither here nor to be had.
        InputError: if the files are not what the registry says.
    """
    catalog.require("families.yaml")
    checkpoint = locate(choice, catalog)
    architecture = Architecture.read(checkpoint.folder, catalog.families, trust_remote_code=trust_remote_code)
    entry = choice.entry
    if entry is not None and entry.layers != architecture.depth:
        raise InputError(
            f"{entry.name}: the registry says {entry.layers} layers, the checkpoint in {checkpoint.folder} "
            f"has {architecture.depth}: correct the entry"
        )
    return LocatedModel(choice, checkpoint, architecture, trust_remote_code, budget)


class Encoders:
    """The encoders that the metrics of one run share.

    Threads may share them too. Pickled or copied deeply, they are a recipe: the settings of other encoders like these,
    which load their weights anew.

    Args:
        model: the model of every metric that is not given one of its own.
        lang: the language of the texts, for metrics that choose their model by language.
        registry: the registry to use, or a folder laid over it; the shipped one with the user's overlays unless given.
        remember: keep vectors in memory for the next call; without it, for what the run at hand needs again.
        settings: other fields of `bsx.encode.run_config.RunConfig` (device, dtype, memory, …).

    Attributes:
        language: the registry's entry of ``lang``.

    Raises:
        InputError: for settings that are wrong.
        UnknownNameError: for a language that the registry does not have.
    """

    @takes(RunConfig)
    def __init__(
        self,
        *,
        model: str | Path | None = None,
        lang: str | None = None,
        registry: Catalog | str | Path | None = None,
        remember: bool = True,
        **settings: Unpack[RunSettings],
    ) -> None:
        folder = None if isinstance(registry, Catalog) else registry
        self.config = build_config({**settings, "registry": folder}, RunConfig)
        self.catalog = registry if isinstance(registry, Catalog) else load_registry(self.config.registry)
        self._own_catalog = isinstance(registry, Catalog)
        self.model = None if model is None else str(path_as_name(model))
        self.lang = lang
        self.language = find_language(lang, self.catalog) if lang is not None else None
        self.device = choose_device(self.config.device)
        self.dtype: Precision = choose_dtype(self.config.dtype, self.device)
        self.budget = memory_budget(self.config.memory, self.device)
        self._remember = remember
        self._uses: Counter[int] = Counter()
        self._lock = threading.RLock()
        self._cache: VectorCache | None = None
        if self.config.cache is not None:
            from bsx.encode.cached import open_cache

            self._cache = open_cache(self.config.cache, self.config.cache_size)
        self._doubts: list[str] = []
        self._replaced: list[str] = []
        self._heard: list[list[str]] = []
        self._models: dict[str, LocatedModel] = {}
        self._model_used = model is None
        if self.language is not None:
            self.uses_entry("language", self.language.code)
        self._encoders: dict[tuple[Path, bool], SharedEncoder] = {}

    def in_language(self, lang: str) -> Encoders:
        """Return these encoders for texts in another language: models are chosen by it, what is loaded is shared.

        Raises:
            UnknownNameError: for an unknown language.
        """
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found.lang, found.language = lang, find_language(lang, self.catalog)
        found._doubts, found._heard, found._replaced = [], [], [*self._replaced]
        found.uses_entry("language", found.language.code)
        return found

    def settings(self) -> Settings:
        """Return what other encoders like these are made of, in another process too; a given `Catalog` is not in it."""
        run = self.config.model_dump()
        return {**run, "model": self.model, "lang": self.lang, "remember": self._remember}

    def __reduce__(self) -> tuple[object, ...]:
        settings = self.settings()
        if self._own_catalog:
            settings["registry"] = self.catalog
        return made_of, (type(self), settings)

    def locate(self, model: str | None, lang: str | None = None, *, default: str | None = None) -> LocatedModel:
        """Return a metric's model.

        Args:
            model: what the metric was given; else the run's model.
            lang: what the metric was given; else the run's language, which chooses a model by the registry.
            default: the metric's own model, if neither the metric nor the run was given one; it comes before the
                choice by language.

        Raises:
            InputError: if nothing says which model to use.
            LanguageError: with ``strict``, for a model that was not trained on the language.
            ModelUnavailableError: if the model is not here and cannot be fetched.
        """
        name = model or self.model or default
        self._model_used |= name == self.model
        tag = lang or self.lang
        key = f"{name}|{tag}"
        choice = choose(name, tag, self.catalog)
        if choice.entry is not None:
            self.uses_entry("model", choice.name)
            self.uses_entry("family", choice.entry.family)
        if choice.entry is not None and choice.language is not None and unseen(choice.entry, choice.language):
            self.doubt(unseen_note(choice.entry, choice.language))
        if key not in self._models:
            trust = self.config.trust_remote_code
            self._models[key] = locate_model(choice, self.catalog, trust_remote_code=trust, budget=self.budget)
        return self._models[key]

    def uses_entry(self, kind: str, name: str) -> None:
        """Note that the run goes by an entry of the registry: `notes` says if an overlay replaced another by it."""
        said = self.catalog.replacement(kind, name)
        if said is not None and said not in self._replaced:
            self._replaced.append(said)

    def doubt(self, note: str) -> None:
        """Keep what speaks against the language of the run, for `notes` and for those that `hearing_doubts`.

        Raises:
            LanguageError: instead, with ``strict``.
        """
        if self.config.strict:
            raise LanguageError(f"{note} (drop `strict=True` to score all the same)")
        for heard in (self._doubts, *self._heard):
            if note not in heard:
                heard.append(note)

    @contextlib.contextmanager
    def hearing_doubts(self) -> Iterator[list[str]]:
        """Yield a list that takes up what is doubted until the end, again if it was before."""
        heard: list[str] = []
        self._heard.append(heard)
        try:
            yield heard
        finally:
            self._heard[:] = [other for other in self._heard if other is not heard]

    def encoder(self, located: LocatedModel, *, final_norm: bool = True) -> SharedEncoder:
        """Return the encoder of a model; always the same one for the same model."""
        from bsx.encode.opening import Opener
        from bsx.encode.shared import SharedEncoder

        key = (located.checkpoint.folder, final_norm)
        with self._lock:
            if key not in self._encoders:
                opener = Opener(
                    located.architecture,
                    identity=located.checkpoint.identity,
                    device=self.device,
                    dtype=self.dtype,
                    backend=self.config.backend,
                    final_norm=final_norm,
                    trust_remote_code=located.trust_remote_code,
                    cache=self._cache,
                )
                self._encoders[key] = SharedEncoder(
                    opener,
                    batch_tokens=self.config.batch_tokens,
                    budget=self.budget // 2,
                    remember=self._remember,
                    uses=self._uses,
                    lock=self._lock,
                )
            return self._encoders[key]

    @contextlib.contextmanager
    def expecting(self, uses: Mapping[int, int]) -> Iterator[Callable[[Iterable[str]], None]]:
        """Keep the vectors of texts that a run will use more than once, until their last use or the run's end.

        Args:
            uses: hash of a text -> how many uses there will be.

        Yields:
            What counts uses of texts, and lets go of vectors that are not needed again.
        """
        left = dict(uses)

        def used(texts: Iterable[str]) -> None:
            with self._lock:
                for name in map(hash, texts):
                    if name in left:
                        self._take(name, 1)
                        left[name] -= 1
                        if not left[name]:
                            del left[name]
                self._settle()

        with self._lock:
            self._uses.update(left)
            self._settle()
        try:
            yield used
        finally:
            with self._lock:
                for name, count in left.items():
                    self._take(name, count)
                self._settle()

    def _take(self, name: int, count: int) -> None:
        self._uses[name] -= count
        if not self._uses[name]:
            del self._uses[name]

    def _settle(self) -> None:
        for encoder in self._encoders.values():
            encoder.settle()

    def forget(self) -> None:
        """Let go of all vectors that are held in memory."""
        for encoder in list(self._encoders.values()):
            encoder.forget()

    def flush(self) -> None:
        """Write what a cache on disk does not hold yet; the end of the process does it too."""
        for encoder in list(self._encoders.values()):
            encoder.flush()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about models, their language and how they are run, one sentence each."""
        unused = f"`model={self.model}` is not used: every metric has a model of its own or none"
        said = (note for encoder in list(self._encoders.values()) for note in encoder.opener.notes)
        return tuple(dict.fromkeys([*([] if self._model_used else [unused]), *self._replaced, *self._doubts, *said]))

    @property
    def sequences_encoded(self) -> int:
        """How many sequences went through all encoders so far."""
        return sum(encoder.sequences_encoded for encoder in list(self._encoders.values()))
