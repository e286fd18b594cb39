"""Finding a factor by name, and computing several for the same sentence pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from bsx.analysis.factors.base import Factor, FactorScores, FactorSettings, Resources, SentencePairs
from bsx.catalog.catalog import Registry, load_registry
from bsx.catalog.languages import language_pair
from bsx.catalog.specs import class_of, read_spec, split_specs
from bsx.data.columns import column_names
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.optional import source_of
from bsx.support.settings import Option, build_config, read_spelled, settled
from bsx.support.untyped import Untyped

FactorSetting: TypeAlias = str | int | float | bool | None
"""A setting of a factor; which there are depends on the factor."""


def get_factor(spec: str, *, preset: str | None = None, registry: Registry = None, **settings: FactorSetting) -> Factor:
    """Return a factor, ready to compute.

    Args:
        spec: a name, or ``name:field=value,…``, ``name:preset=PRESET,…``.
        preset: a named set of settings of its registry entry, unless ``spec`` names one.
        registry: the registry, or a folder laid over it.
        settings: fields of the factor's ``Config``, such as ``variant="jaccard"``; these win over the preset.

    Raises:
        UnknownNameError: for an unknown factor or preset; lists those there are.
        InputError: for wrong settings.

    >>> get_factor("lex:variant=jaccard").config.variant
    'jaccard'
    """
    catalog = load_registry(registry)
    name, spelled = read_spec(spec)
    entry = catalog.factor(name)
    if entry is None:
        known = sorted(catalog.factors)
        raise UnknownNameError(f"unknown factor {name!r}; there are {', '.join(known)}.{did_you_mean(name, known)}")
    kind = class_of(catalog, entry, Factor)
    chosen = spelled.pop("preset", preset or entry.default)
    if chosen not in entry.presets:
        raise UnknownNameError(f"factor {name}: there is no preset {chosen!r}; it has {', '.join(entry.presets)}")
    try:
        read = {field: read_spelled(kind.Config, field, text) for field, text in spelled.items()}
        config = build_config({**entry.presets[chosen], **read, **settings}, kind.Config)
    except InputError as error:
        raise InputError(f"factor {name}: {error}") from error
    return kind(entry, config, spec)  # type: ignore[abstract] # a class that defines compute


def scored(factor: Factor, pairs: SentencePairs, resources: Resources) -> FactorScores:
    """Return a factor's scores, after checking that there is one for each pair.

    Raises:
        InputError: as `Factor.compute`, or naming the factor's file if what that returns is something else.
    """
    factor.check(pairs, resources)
    result = factor.compute(pairs, resources)
    if not isinstance(result, FactorScores) or np.shape(result.values) != (len(pairs),):
        shown = f"values of shape {np.shape(result.values)}" if isinstance(result, FactorScores) else repr(result)[:100]
        raise InputError(
            f"{source_of(type(factor))}: {type(factor).__name__}.compute returned {shown} for {len(pairs)} pairs; "
            "FactorScores with a value for each are due"
        )
    return result


def get_factors(specs: str | Sequence[str], *, preset: str | None = None, registry: Registry = None) -> list[Factor]:
    """Return several factors.

    Args:
        specs: names or ``name:field=value``, as a list or as one comma-separated text.
        preset: preset of those that do not name their own.
        registry: the registry, or a folder laid over it.

    Raises:
        InputError: as `get_factor`, or if none is named, or one twice.
    """
    named = split_specs(specs) if isinstance(specs, str) else list(specs)
    if not named:
        raise InputError(f"name at least one factor: {', '.join(sorted(load_registry(registry).factors))}")
    repeated = [spec for index, spec in enumerate(named) if spec in named[:index]]
    if repeated:
        raise InputError(f"factor {repeated[0]!r} is named twice")
    catalog = load_registry(registry)
    return [get_factor(spec, preset=preset, registry=catalog) for spec in named]


class FactorData(FactorSettings):
    """The same of sentence pairs that stand in Python."""

    columns: Annotated[
        Untyped,
        Field(description="Further columns, n cells each, for factors that read one: a mapping or a DataFrame."),
        Option(python=True),
    ] = None


@settled(FactorData)
def compute_factors(
    factors: str | Sequence[str] | Sequence[Factor],
    sentence1: Sequence[str],
    sentence2: Sequence[str],
    settings: FactorData,
) -> dict[str, FactorScores]:
    """Compute factors of sentence pairs.

    Args:
        factors: names, ``name:field=value``, or what `get_factor` returned.
        sentence1: n texts; the reference side of LEX.
        sentence2: n texts.
        settings: see `FactorSettings` and `bsx.analysis.factors.base.Resources`; ``columns`` holds further columns.

    Returns:
        Scores by the name that each factor was given.

    Raises:
        InputError: if a factor lacks something or it does not fit the sentences.

    >>> found = compute_factors("lex", ["A plane is taking off."], ["An air plane is taking off."])
    >>> found["lex"].values.round(3).tolist()
    [0.714]
    """
    lang1, lang2 = language_pair(settings.lang)
    columns, preset = settings.columns, settings.preset
    further = {} if columns is None else {name: list(columns[name]) for name in column_names(columns)}
    pairs = SentencePairs(sentence1, sentence2, lang1, lang2, further)
    made = (
        get_factors(factors, preset=preset)
        if isinstance(factors, str)
        else [factor if isinstance(factor, Factor) else get_factor(factor, preset=preset) for factor in factors]
    )
    for factor in made:
        factor.check(pairs, settings)  # of all, before any computes
    return {factor.spec: scored(factor, pairs, settings) for factor in made}
