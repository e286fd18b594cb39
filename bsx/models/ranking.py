"""Choosing a model for a language: by the papers' choice, by evidence, or by cost, within the user's constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bsx.catalog.catalog import Catalog, Registry, load_registry
from bsx.catalog.entries import Evidence, LanguageEntry, ModelEntry
from bsx.errors import InputError
from bsx.support.memory import parse_bytes

Prefer = Literal["paper", "quality", "speed"]
PERMISSIVE = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "Unlicense")
_COUNTS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}


@dataclass(frozen=True)
class Constraints:
    """What a chosen model must satisfy.

    Attributes:
        max_parameters: a number, or text like ``300M``.
        max_memory: bytes of fp32 weights, or text like ``4GB``.
        licence: ``permissive``, or an SPDX identifier.
        available: only models whose files are on this machine.
    """

    max_parameters: int | str | None = None
    max_memory: int | str | None = None
    licence: str | None = None
    available: bool = False

    def filters(self) -> list[tuple[str, Callable[[ModelEntry], bool]]]:
        """Return each constraint as it was asked for and a test."""
        tests: list[tuple[str, Callable[[ModelEntry], bool]]] = []
        if self.licence is not None:
            allowed = PERMISSIVE if self.licence == "permissive" else (self.licence,)
            tests.append((f"`licence={self.licence!r}`", lambda e: e.licence in allowed))
        if self.max_parameters is not None:
            most = parse_count(self.max_parameters)
            tests.append(
                (
                    f"`max_parameters={self.max_parameters!r}`",
                    lambda e: e.parameters is not None and e.parameters <= most,
                )
            )
        if self.max_memory is not None:
            size = parse_bytes(self.max_memory)
            tests.append(
                (f"`max_memory={self.max_memory!r}`", lambda e: e.parameters is not None and 4 * e.parameters <= size)
            )
        if self.available:
            tests.append(("`available=True`", _is_here))
        return tests


@dataclass(frozen=True)
class Ranked:
    """One model in a ranking.

    Attributes:
        entry: the registry's entry.
        reason: why it stands where it does.
        evidence: the figure it was ranked by, if any.
    """

    entry: ModelEntry
    reason: str
    evidence: Evidence | None


@dataclass(frozen=True)
class ModelChoice:
    """The best model and those behind it.

    Attributes:
        language: the language asked for.
        prefer: the rule of the ranking.
        ranking: best first; at least one.
        notes: what the reader should know about how the ranking came about.
    """

    language: LanguageEntry
    prefer: Prefer
    ranking: tuple[Ranked, ...]
    notes: tuple[str, ...]

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


def _is_here(entry: ModelEntry) -> bool:
    from bsx.models.files import is_here

    return is_here(entry.source)


def knows(entry: ModelEntry, language: LanguageEntry) -> bool:
    """Tell whether a model was made for a language."""
    if entry.name == language.model or entry.name in language.alternatives:
        return True
    return entry.languages == "multilingual" or language.code in entry.languages


def rank(
    language: LanguageEntry, catalog: Catalog, *, prefer: Prefer = "paper", constraints: Constraints | None = None
) -> ModelChoice:
    """Rank the models that know a language and have a validated layer.

    Args:
        language: the registry's entry.
        catalog: the registry.
        prefer: ``paper``: the papers' choice, then the registry's alternatives; ``quality``: by measured agreement
            with people in that language, or else in a language of the same script, or else in any; ``speed``: by the
            encoder's cost up to the scored layer.
        constraints: what every ranked model must satisfy.

    Raises:
        InputError: if no model is left, naming the constraint that excluded the last ones.
    """
    pool = [e for e in catalog.models.values() if knows(e, language) and isinstance(e.layer, int)]
    pool, excluded = _narrow(pool, constraints or Constraints(), f"no model for {language.name} is left")
    notes = [] if pool and language.model in {e.name for e in pool} else [_missing_default(language, excluded)]
    if language.unseen and not notes:
        notes = [unseen_note(catalog.models[language.model], language)]
    ranked, more = {"paper": _by_paper, "quality": _by_quality, "speed": _by_speed}[prefer](pool, language, catalog)
    return ModelChoice(language, prefer, tuple(ranked), (*notes, *more))


def _narrow(
    pool: list[ModelEntry], constraints: Constraints, nothing: str
) -> tuple[list[ModelEntry], list[tuple[str, int]]]:
    """Return the models that satisfy constraints, and how many each of these excluded."""
    excluded = []
    for name, test in constraints.filters():
        kept = [entry for entry in pool if test(entry)]
        excluded.append((name, len(pool) - len(kept)))
        if not kept:
            history = ", ".join(f"{label} excludes {count}" for label, count in excluded)
            raise InputError(f"{nothing}: {history}; loosen {name}")
        pool = kept
    return pool, excluded


def list_models(
    catalog: Catalog, *, prefer: Prefer = "paper", constraints: Constraints | None = None
) -> list[ModelEntry]:
    """Return the models for any language, in the registry's order, or with ``speed`` by the encoder's cost.

    Args:
        catalog: the registry.
        prefer: the order; agreement with people (``quality``) is measured in a language.
        constraints: what every model must satisfy.

    Raises:
        InputError: for ``quality``, or if no model is left.
    """
    if prefer == "quality":
        raise InputError("`prefer='quality'` ranks by agreement with people in a language: name it with `lang=`")
    pool, _ = _narrow(list(catalog.models.values()), constraints or Constraints(), "no model is left")
    return sorted(pool, key=lambda e: (cost(e), e.name)) if prefer == "speed" else pool


def unseen(entry: ModelEntry, language: LanguageEntry) -> bool:
    """Tell whether a model was trained on other languages than this one, as far as the registry says."""
    if entry.name == language.model:
        return language.unseen
    return not knows(entry, language) and language.code.partition("-")[0] not in entry.languages  # en-sci is English


def unseen_note(entry: ModelEntry, language: LanguageEntry) -> str:
    """Return what the user of a model should know that was not trained on the language."""
    papers = ", the papers' choice," if entry.name == language.model else ""
    hint = f"; models that were: {', '.join(language.alternatives[:3])}" if language.alternatives else ""
    return f"{entry.name}{papers} was not trained on {language.name}{hint}"


def _missing_default(language: LanguageEntry, excluded: list[tuple[str, int]]) -> str:
    reasons = ", ".join(name for name, count in excluded if count) or "its layer is unvalidated"
    return f"the papers' choice for {language.name}, {language.model}, is left out ({reasons})"


def _by_paper(
    pool: list[ModelEntry], language: LanguageEntry, catalog: Catalog
) -> tuple[list[Ranked], tuple[str, ...]]:
    order = [language.model, *language.alternatives]
    places = {name: place for place, name in enumerate(order)}
    by_evidence = {r.entry.name: i for i, r in enumerate(_by_quality(pool, language, catalog)[0])}
    pool = sorted(pool, key=lambda e: (places.get(e.name, len(order)), by_evidence[e.name]))
    ranked = []
    for entry in pool:
        if entry.name == language.model:
            reason = f"the papers' choice for {language.name}"
        elif entry.name in places:
            reason = f"alternative {places[entry.name]} of the registry for {language.name}"
        else:
            reason = f"knows {language.name}; by evidence behind the registry's alternatives"
        ranked.append(Ranked(entry, reason, best_evidence(entry, language, catalog)[0]))
    return ranked, ()


def best_evidence(entry: ModelEntry, language: LanguageEntry, catalog: Catalog) -> tuple[Evidence | None, int]:
    """Return the most telling figure for a language, and how near it is: 0 same language, 1 same script, 2 any."""

    def nearness(evidence: Evidence) -> int:
        if evidence.language == language.code:
            return 0
        other = catalog.languages.get(evidence.language)
        return 1 if other is not None and other.script == language.script else 2

    if not entry.evidence:
        return None, 3
    best = min(entry.evidence, key=lambda e: (nearness(e), -e.value))
    return best, nearness(best)


def _by_quality(
    pool: list[ModelEntry], language: LanguageEntry, catalog: Catalog
) -> tuple[list[Ranked], tuple[str, ...]]:
    scored = [(entry, *best_evidence(entry, language, catalog)) for entry in pool]
    scored.sort(key=lambda row: (row[2], -(row[1].value if row[1] is not None else 0), row[0].name))
    ranked = []
    for entry, evidence, nearness in scored:
        if evidence is None:
            ranked.append(Ranked(entry, "no figure is known", None))
            continue
        basis = ("measured in this language", "measured in another language of the same script", "measured elsewhere")
        ranked.append(Ranked(entry, f"{evidence.value:.4f} on {evidence.dataset}, {basis[nearness]}", evidence))
    nearest = scored[0][2] if scored else 3
    fallbacks = {
        1: f"there is no evidence for {language.name}: ranked by figures for another language of its script",
        2: f"there is no evidence for {language.name} or its script: ranked by figures for other languages",
        3: f"there is no evidence at all for these models: {language.name} is ranked by name",
    }
    return ranked, (fallbacks[nearest],) if nearest in fallbacks else ()


def cost(entry: ModelEntry) -> float:
    """Return the estimated cost of scoring, in multiply-adds a token: 12 d^2 for each layer up to the scored one."""
    layers = entry.layer if isinstance(entry.layer, int) else entry.layers
    return 12.0 * max(layers, 1) * entry.dimensions**2


def _by_speed(
    pool: list[ModelEntry], language: LanguageEntry, catalog: Catalog
) -> tuple[list[Ranked], tuple[str, ...]]:
    pool = sorted(pool, key=lambda e: (cost(e), e.name))
    return [
        Ranked(
            entry,
            f"about {cost(entry) / 1e6:.0f} million multiply-adds a token (estimated)",
            best_evidence(entry, language, catalog)[0],
        )
        for entry in pool
    ], ("cost is estimated from layers and dimensions, not measured",)


def select_model(
    lang: str,
    *,
    prefer: Prefer = "paper",
    max_parameters: int | str | None = None,
    max_memory: int | str | None = None,
    licence: str | None = None,
    available: bool = False,
    registry: Registry = None,
) -> ModelChoice:
    """Choose a model for a language.

    Args:
        lang: BCP-47 tag.
        prefer: ``paper``, ``quality`` or ``speed``; see `rank`.
        max_parameters: a number, or text like ``300M``.
        max_memory: bytes of fp32 weights, or text like ``4GB``.
        licence: ``permissive``, or an SPDX identifier.
        available: only models whose files are on this machine.
        registry: the registry, or a folder laid over it; the shipped one with the user's overlays unless given.

    Returns:
        The choice, with its reasons and the models behind it.

    Raises:
        UnknownNameError: for an unknown language.
        InputError: if no model satisfies the constraints.
    """
    from bsx.catalog.languages import find_language

    if prefer not in ("paper", "quality", "speed"):
        raise InputError(f"prefer is {prefer!r}: use paper, quality or speed")
    catalog = load_registry(registry)
    wanted = Constraints(max_parameters, max_memory, licence, available)
    return rank(find_language(lang, catalog), catalog, prefer=prefer, constraints=wanted)
