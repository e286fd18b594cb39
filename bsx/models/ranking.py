"""Choosing a model for a language: by the papers' choice, by evidence, or by cost, within the user's constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, field_validator

from bsx.catalog.catalog import Catalog, Registry, load_registry
from bsx.catalog.entries import Judged
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.catalog.languages import Asked, codes_of, find_languages, knows, unseen_note
from bsx.errors import InputError
from bsx.models.evidence import CHRF, Pooled, Ranked, by_evidence, pooled
from bsx.models.files import is_here
from bsx.support.memory import parse_bytes
from bsx.support.settings import BaseSettings, Option, part, settled

PERMISSIVE = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "Unlicense")
_NAMED = 5  # models that a message names
_COUNTS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}


Prefer = Literal["paper", "quality", "speed"]


class SelectSettings(BaseSettings):
    """Settings of `select_model`: what a chosen model must satisfy, and how models are ranked."""

    max_parameters: Annotated[str | None, Field(description="At most this size, like 300M.")] = None
    max_memory: Annotated[str | None, Field(description="Weights (fp32) of at most this size, like 4GB.")] = None
    licence: Annotated[str | None, Field(description="permissive, or an SPDX identifier.")] = None
    available: Annotated[bool, Field(description="Only models that are on this machine.")] = False
    prefer: Annotated[
        Prefer,
        Field(
            description="Rank by agreement with human judgments (quality), by the papers' choice (paper) or by cost "
            "(speed)."
        ),
    ] = "quality"
    task: Annotated[
        Judged, Field(description="What is judged: figures of this say more than those of other tasks.")
    ] = "human-translation"
    registry: Annotated[Registry, Field(description="Folder laid over the registry.")] = None

    @field_validator("max_parameters", "max_memory", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def parse_count(text: int | str) -> int:
    """Return a number of parameters from ``300M``, ``1.5B`` or a plain number.

    >>> parse_count("22.7M")
    22700000
    """
    plain = str(text).strip().upper()
    number, unit = (plain[:-1], plain[-1]) if plain and plain[-1] in _COUNTS else (plain, "")
    try:
        count = float(number) * _COUNTS[unit]
    except ValueError as error:
        raise InputError(f"cannot read the number of parameters {text!r}: write it like 300M or 1.5B") from error
    if not 0 < count < 10**15:
        raise InputError(f"the number of parameters {text!r} must be positive")
    return int(count)


def narrow(
    pool: list[ModelEntry], constraints: SelectSettings, nothing: str
) -> tuple[list[ModelEntry], list[tuple[str, int]]]:
    """Return the models that satisfy constraints, and how many each of these excluded."""

    def at_most(parameters: float) -> Callable[[ModelEntry], bool]:
        return lambda entry: entry.parameters is not None and entry.parameters <= parameters

    tests: list[tuple[str, Callable[[ModelEntry], bool]]] = []
    if (licence := constraints.licence) is not None:
        allowed = PERMISSIVE if licence == "permissive" else (licence,)
        tests.append((f"licence {licence}", lambda entry: entry.licence in allowed))
    if (count := constraints.max_parameters) is not None:
        tests.append((f"max_parameters {count}", at_most(parse_count(count))))
    if (size := constraints.max_memory) is not None:
        tests.append((f"max_memory {size}", at_most(parse_bytes(size) / 4)))
    if constraints.available:
        tests.append(("available", lambda entry: is_here(entry.source)))
    excluded = []
    for name, test in tests:
        kept = [entry for entry in pool if test(entry)]
        excluded.append((name, len(pool) - len(kept)))
        if not kept:
            history = ", ".join(f"{label} excludes {count}" for label, count in excluded)
            raise InputError(f"{nothing}: {history}; loosen {name}")
        pool = kept
    return pool, excluded


@dataclass(frozen=True)
class ModelChoice:
    """The best model and those behind it.

    Attributes:
        language: the language asked for, the target of a pair.
        prefer: the rule of the ranking.
        ranking: the chosen model, then the others; at least one.
        recommended: the chosen model's name, or ``chrf`` where that is better, or nothing was measured in the language.
        advice: what to use, and why, as sentences.
        notes: what the reader should know about how the ranking came about.
        source: the source language of the pair, if one was asked for.
    """

    language: LanguageEntry
    prefer: Prefer
    ranking: tuple[Ranked, ...]
    recommended: str
    advice: str
    notes: tuple[str, ...]
    source: LanguageEntry | None = None

    @property
    def entry(self) -> ModelEntry:
        """The chosen model."""
        return self.ranking[0].entry

    @property
    def name(self) -> str:
        """The chosen model's name."""
        return self.entry.name

    @property
    def reason(self) -> str:
        """Why it was chosen."""
        return self.ranking[0].reason


def rank(
    language: LanguageEntry,
    catalog: Catalog,
    settings: SelectSettings | None = None,
    *,
    source: LanguageEntry | None = None,
) -> ModelChoice:
    """Rank the models that know a language and have a validated layer.

    By ``quality``: by agreement with human judgments, see `by_evidence`; by ``paper``: the papers' choice if it was
    trained on the language, then the others as by ``quality``; by ``speed``: by the encoder's cost up to the scored
    layer. ``source`` is the language that the texts were translated from: whether figures are of it is said.

    Raises:
        InputError: if no model is left, naming the constraint that excluded the last ones, or if no model with a
            validated layer was trained on the language.
    """
    settings = settings or SelectSettings()
    prefer = settings.prefer
    trained = [entry for entry in catalog.models.values() if knows(entry, language)]
    pool = [entry for entry in trained if isinstance(entry.layer, int)]
    if not pool:
        why = f"no model with a validated layer was trained on {language.name}: use a metric without a model, such as "
        why += "chrF"
        if trained:
            listed = ", ".join(entry.name for entry in trained[:_NAMED]) + " …" * (len(trained) > _NAMED)
            why += f", or name model and layer ({listed} {'was' if len(trained) == 1 else 'were'} trained on it)"
        raise InputError(why)
    pool, excluded = narrow(pool, settings, f"no model for {language.name} is left")
    notes = []
    if prefer == "paper" and language.model not in {e.name for e in pool}:
        reasons = ", ".join(name for name, count in excluded if count) or "its layer is unvalidated"
        whose = "the papers' choice" if language.papers is None else "the default"
        notes.append(f"{whose} for {language.name}, {language.model}, is left out ({reasons})")
    if prefer == "paper" and language.papers is not None:
        notes.append(unseen_note(catalog.models[language.papers], language))
    figures = pooled(catalog, settings.task)
    ranked = list(by_evidence([(entry, entry.name) for entry in pool], language, figures, source=source))
    if prefer == "paper":
        order = [language.model, *language.alternatives]
        ranked.sort(key=lambda row: order.index(row.entry.name) if row.entry.name in order else len(order))
    elif prefer == "speed":
        ranked.sort(key=lambda row: (cost(row.entry), row.entry.name))
        notes.append("cost is estimated from layers and dimensions, not measured")
    best = ranked[0].advantage
    good = prefer != "quality" or (best.sets > 0 and best.difference > 0)
    recommended = ranked[0].entry.name if good else CHRF
    advice = _advice(Asked(language, source), prefer, ranked, recommended, catalog, figures)
    return ModelChoice(language, prefer, tuple(ranked), recommended, advice, tuple(notes), source)


def _advice(
    asked: Asked, prefer: Prefer, ranked: list[Ranked], recommended: str, catalog: Catalog, figures: Pooled
) -> str:
    """Return what to use for a language, and why; whether it is on this machine is part of it."""
    first, language = ranked[0], asked.target
    here = next((row for row in ranked if is_here(row.entry.source)), None)
    placed = f"{first.entry.name}, which is {'' if here is first else 'not '}on this machine"
    if recommended != CHRF:
        why = ""
        if prefer == "speed":
            why = f"the cheapest, about {cost(first.entry) / 1e6:.0f} million multiply-adds a token: "
        elif prefer == "paper" and first.entry.name == language.model:
            why = "the papers' choice: " if language.papers is None else "the best that was trained on it: "
        advice = f"use {placed} ({why}{first.reason})."
    elif first.advantage.sets:
        advice = f"use chrF. The best of BERTScore's models is not better: {placed} ({first.reason})."
    else:

        def measured(entry: ModelEntry | MetricEntry) -> bool:
            """Tell whether it was compared with human judgments in the language."""
            codes = codes_of(language)
            return any(figure.language in codes and figure.kind != "similarity" for figure in entry.evidence)

        models = [name for name, entry in catalog.models.items() if measured(entry)]
        others = [
            name for name, entry in catalog.metrics.items() if "lexical" not in entry.implementation and measured(entry)
        ]
        why = f"of BERTScore nothing was measured in {language.name}"
        if models:
            named = ", ".join(models[:_NAMED]) + " …" * (len(models) > _NAMED)
            why = f"BERTScore was measured in {language.name} with other models only ({named})"
        elif others:
            why += f"; {', '.join(others)} {'was' if len(others) == 1 else 'were'}"
        advice = f"use chrF: {why}. Of its models, the first is {placed} ({first.reason})."
    if here is not first:
        advice += f" bsx models pull {first.entry.name} fetches it."
        if here is not None:
            difference, (low, high) = figures.difference(first.entry.name, here.entry.name, language)
            than = "the two are not told apart"
            if not low <= 0 <= high:
                than = f"it is {'worse' if difference > 0 else 'better'}"
            advice += f" On this machine: {here.entry.name} ({here.reason}); {than}."
    return f"{asked.name}: {advice}"


def unranked(catalog: Catalog, constraints: SelectSettings, *, by_cost: bool = False) -> list[ModelEntry]:
    """Return the models that satisfy constraints, in the registry's order, or the cheapest first.

    InputError is raised if no model is left.
    """
    pool, _ = narrow([*catalog.models.values()], constraints, "no model is left")
    return sorted(pool, key=lambda entry: (cost(entry), entry.name)) if by_cost else pool


def cost(entry: ModelEntry) -> float:
    """Return the estimated cost of scoring, in multiply-adds a token: 12 d^2 for each layer up to the scored one."""
    layers = entry.layer if isinstance(entry.layer, int) else entry.layers
    return 12.0 * max(layers, 1) * entry.dimensions**2


@settled(SelectSettings)
def select_model(lang: str, settings: SelectSettings) -> ModelChoice:
    """Choose a model for a language.

    Args:
        lang: BCP-47 tag, English name, or a pair such as ``en-de``: its target is scored, and whether figures are of
            the pair is said.
        settings: see `SelectSettings`.

    Returns:
        The choice, with its reasons and the models behind it.

    Raises:
        UnknownNameError: for an unknown language.
        InputError: if no model satisfies the constraints.
    """
    catalog = load_registry(settings.registry)
    asked = find_languages(lang, catalog)
    return rank(asked.target, catalog, settings, source=asked.source)


class ListSettings(SelectSettings):
    """Settings of `list_models`."""

    lang: Annotated[
        str | None,
        Field(description="Rank the models that know this language, or the target of a pair: en-de."),
        Option(flags=("-l",)),
    ] = None


@settled(ListSettings, "lang")
def list_models(settings: ListSettings) -> list[str]:
    """Return the names of the models that fit, as `bsx.Scorer` takes them; `bsx.select_model` says why.

    Args:
        settings: see `ListSettings`; ``lang`` may stand first. Errors are those of `select_model`.
    """
    if settings.lang is not None:
        return [row.entry.name for row in select_model(settings.lang, **part(settings, SelectSettings)).ranking]
    models = unranked(load_registry(settings.registry), settings, by_cost=settings.prefer == "speed")
    return [entry.name for entry in models]
