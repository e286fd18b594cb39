"""The encoders of one run: where they run, which model is meant, and each loaded at most once."""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_languages, unseen, unseen_note
from bsx.data.writing import in_form
from bsx.encode.run_config import EncoderSettings, Precision, RunConfig, choose_device, choose_dtype, signed
from bsx.errors import InputError, LanguageError
from bsx.support.arrays import device_type
from bsx.support.memory import DEFAULT_SHARE, free_memory, parse_bytes
from bsx.support.settings import Option, made_of, set_fields, settled

# What finds and runs encoders is imported where one is opened: metrics without a model need none of it.
if TYPE_CHECKING:
    from bsx.encode.model import LocatedModel
    from bsx.encode.states import SharedEncoder
    from bsx.encode.vector_cache import VectorCache


def memory_budget(memory: str | int | None, device: str) -> int:
    """Return the bytes that vectors may take: what the setting ``memory`` says, or a quarter of what is free."""
    if memory is not None:
        return parse_bytes(str(memory))
    on_card = device_type(device) == "cuda"
    free = importlib.import_module("torch").cuda.mem_get_info(device)[0] if on_card else free_memory()
    return int(free * DEFAULT_SHARE)


class SessionSettings(EncoderSettings):
    """What `Encoders` are made of."""

    remember: Annotated[
        bool,
        Field(description="Keep vectors in memory for the next call; without it, for what the run needs again."),
        Option(python=True),
    ] = True
    context: Annotated[
        int,
        Field(ge=0, le=10_000, description="So many sentences of its document before each text are read as context."),
        Option(python=True),
    ] = 0


class Encoders:
    """The encoders that the metrics of one run share.

    Threads may share them too. Pickled or copied deeply, they are a recipe: the settings of other encoders like these,
    which load their weights anew.

    Args:
        settings: see `SessionSettings`; ``model`` is that of every metric that is not given one of its own.

    Attributes:
        config: the settings.
        catalog: the registry.
        model: the run's model.
        lang: the language of the texts.
        language: the registry's entry of ``lang``, of a pair that of the target.
        source: the entry of a pair's source language, which metrics that read sources go by too.

    Raises:
        InputError: for settings that are wrong.
        UnknownNameError: for a language that the registry does not have.
    """

    @settled(SessionSettings)
    def __init__(self, settings: SessionSettings) -> None:
        self.config = settings
        self.catalog = load_registry(settings.registry)
        self.model = None if settings.model is None else str(settings.model)
        self.lang = settings.lang
        pair = None if self.lang is None else find_languages(self.lang, self.catalog)
        self.language = None if pair is None else pair.target
        self.source = None if pair is None else pair.source
        self.device = choose_device(self.config.device)
        if device_type(self.device) != "cuda":
            _ = self.dtype
        self._uses: Counter[int] = Counter()
        self._lock = threading.RLock()
        self._cache: VectorCache | None = None
        if self.config.cache is not None:
            from bsx.encode.vector_cache import VectorCache

            self._cache = VectorCache(self.config.cache, self.config.cache_size)
            weakref.finalize(self, self._cache.publish)
        self._doubts: list[list[str]] = [[]]  # of the run, and of those that hear them
        self._replaced: list[str] = []
        self._remarks: dict[str, str] = {}
        self._models: dict[str, LocatedModel] = {}
        self._model_used = self.model is None
        if self.language is not None:
            self.uses_entry("language", self.language.code)
        self._encoders: dict[tuple[Path, bool], SharedEncoder] = {}

    @functools.cached_property
    def dtype(self) -> Precision:
        """The number format; a graphics card is asked for what it has when this is, so that processes may fork before.

        Raises:
            InputError: if the device has no arithmetic for the format that was asked for.
        """
        return choose_dtype(self.config.dtype, self.device)

    @property
    def signed_dtype(self) -> str:
        """The number format's name in signatures."""
        return signed(self.dtype)

    @functools.cached_property
    def budget(self) -> int:
        """The bytes that vectors may take; a graphics card is asked for what is free when this is."""
        return memory_budget(self.config.memory, self.device)

    def settings(self) -> dict[str, Any]:
        """Return what other encoders like these are made of, in another process too."""
        return {**set_fields(self.config), "lang": self.lang}

    def __reduce__(self) -> tuple[object, ...]:
        return made_of, (type(self), self.settings())

    def locate(
        self, model: str | Path | None, lang: str | None = None, *, default: str | None = None, sources: bool = False
    ) -> LocatedModel:
        """Return a metric's model.

        Args:
            model: what the metric was given; else the run's model.
            lang: what the metric was given; else the run's language, which chooses a model by the registry.
            default: the metric's own model, if neither the metric nor the run was given one; it comes before the
                choice by language.
            sources: whether it reads sources: their language counts too, if the run's ``lang`` is a pair.

        Raises:
            InputError: if nothing says which model to use.
            LanguageError: with ``strict``, for a model that was not trained on the language.
            ModelUnavailableError: if the model is not here and cannot be fetched.
        """
        from bsx.encode.model import LocatedModel, choose

        name = str(model) if model else self.model or default
        self._model_used |= name == self.model
        tag = lang or self.lang
        key = f"{name}|{tag}"
        choice = choose(name, tag, self.catalog)
        self.remark(f"model {key}", choice.note)
        if choice.entry is not None:
            self.uses_entry("model", choice.name)
            self.uses_entry("family", choice.entry.family)
        for language in (choice.language, self.source if sources else None):
            if choice.entry is not None and language is not None and unseen(choice.entry, language):
                self.doubt(unseen_note(choice.entry, language))
        if key not in self._models:
            if choice.note is not None:
                logging.getLogger("bsx.choice").warning("bsx: note: %s", choice.note)
            trust, budget = self.config.trust_remote_code, memory_budget(self.config.memory, "cpu")
            self._models[key] = LocatedModel.of(choice, self.catalog, trust_remote_code=trust, budget=budget)
        return self._models[key]

    def uses_entry(self, kind: str, name: str) -> None:
        """Note that the run goes by an entry of the registry: `notes` says if an overlay replaced another by it."""
        note = self.catalog.replacement(kind, name)
        if note is not None and note not in self._replaced:
            self._replaced.append(note)

    def doubt(self, note: str) -> None:
        """Keep what speaks against the language of the run, for `notes` and for those that `hearing_doubts`.

        Raises:
            LanguageError: instead, with ``strict``.
        """
        if self.config.strict:
            raise LanguageError(f"{note} (leave out strict to score all the same)")
        for heard in self._doubts:
            if note not in heard:
                heard.append(note)

    def remark(self, about: str, note: str | None) -> None:
        """Keep for `notes` what was found about the texts of a run, in place of what was said about it before."""
        self._remarks.pop(about, None)
        if note is not None:
            self._remarks[about] = note

    def in_form(self, texts: Iterable[str]) -> list[str]:
        """Return texts in the form in which the run compares them."""
        return [in_form(text, self.config.normalize) for text in texts]

    @contextlib.contextmanager
    def hearing_doubts(self) -> Iterator[list[str]]:
        """Yield a list that takes up what is doubted until the end, again if it was before."""
        heard: list[str] = []
        self._doubts.append(heard)
        try:
            yield heard
        finally:
            self._doubts[:] = [other for other in self._doubts if other is not heard]

    def encoder(self, located: LocatedModel, *, final_norm: bool = True) -> SharedEncoder:
        """Return the encoder of a model; always the same one for the same model."""
        from bsx.encode.model import Opener
        from bsx.encode.states import SharedEncoder

        key = (located.checkpoint.folder, final_norm)
        with self._lock:
            if key not in self._encoders:
                self._encoders[key] = SharedEncoder(
                    Opener(located, self.device, self.dtype, self.config.backend, final_norm),
                    self._cache,
                    batch_tokens=self.config.batch_tokens,
                    budget=lambda: self.budget // 2,
                    remember=self.config.remember,
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
        left = Counter(uses)

        def used(some: Counter[int]) -> None:
            with self._lock:
                for counts in (self._uses, left):
                    counts.subtract(some)
                    for name in some:
                        if not counts[name]:
                            del counts[name]
                for encoder in self._encoders.values():
                    encoder.settle()

        with self._lock:
            self._uses.update(left)
        try:
            yield lambda texts: used(Counter(map(hash, texts)) & left)
        finally:
            used(left.copy())

    def forget(self) -> None:
        """Let go of all vectors that are held in memory."""
        for encoder in list(self._encoders.values()):
            encoder.forget()

    def flush(self) -> None:
        """Write what a cache on disk does not hold yet; the end of the process does it too."""
        with self._lock:
            if self._cache is not None:
                self._cache.publish()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about models, their language and how they are run, one sentence each."""
        notes = [*self._replaced, *self._doubts[0], *self._remarks.values()]
        if not self._model_used:
            notes.insert(0, f"model: {self.model} is not used: every metric has a model of its own or none")
        notes += [note for encoder in list(self._encoders.values()) for note in encoder.opener.notes]
        return tuple(dict.fromkeys(notes))

    @property
    def sequences_encoded(self) -> int:
        """How many sequences went through all encoders so far."""
        return sum(encoder.sequences_encoded for encoder in list(self._encoders.values()))


class SharedSettings(EncoderSettings):
    """Encoders that are there already, or what to make some of."""

    encoders: Annotated[
        Encoders | None,
        Field(description="Encoders to share beyond this call; they say where to run, and which registry to use."),
        Option(python=True),
    ] = None

    def opened(self) -> Encoders:
        """Return the encoders.

        Raises:
            InputError: if encoders are given and how to make some, too.
        """
        if self.encoders is None:
            return Encoders(**set_fields(self, *(type(self).model_fields.keys() - EncoderSettings.model_fields)))
        refuse_beside(self, EncoderSettings)
        return self.encoders


def refuse_beside(settings: EncoderSettings, kind: type[RunConfig]) -> None:
    """Refuse settings of encoders beside encoders that are there.

    Raises:
        InputError: naming the first one.
    """
    for name in sorted({"normalize", *kind.model_fields} & settings.model_fields_set):
        if getattr(settings, name) != EncoderSettings.model_fields[name].default:
            raise InputError(f"encoders say where and how to run: give {name} to bsx.Encoders")
