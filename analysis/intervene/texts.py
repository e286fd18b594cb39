"""What a metric reacts to: edits that move single factors, their size measured, and the falls of scores explained.

A regression on texts as they come tells what scores go with; it cannot tell a factor from what needs it. Here
factors are moved on purpose, and the same factors explain how far scores fall (Pearl 2009, ch. 3; minimal pairs as in
Gardner et al. 2020 and Kaushik, Hovy & Lipton 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.factors.lexical import Lexical
from bsx.analysis.factors.zoo import compute_factors, get_factor
from bsx.analysis.intervene.edits import AIMS, STRENGTH, SURFACE, EditScores, Versions
from bsx.analysis.intervene.result import ROUNDING, Effect, Interventions, ignoring_case
from bsx.analysis.intervene.settings import InterveneData
from bsx.analysis.intervene.sides import SEM, Sides
from bsx.analysis.perturbations.perturb import Perturbed, get_perturbation, perturb
from bsx.analysis.perturbations.scoring import Function, as_values, score_changed
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.folds import units
from bsx.data.corpus import as_texts
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy
from bsx.support.progress import reporter
from bsx.support.result import Notice
from bsx.support.settings import set_fields, settled


@settled(InterveneData)
def intervene_texts(
    references: Sequence[str], metrics: Mapping[str, Function], settings: InterveneData
) -> Interventions:
    """Edit texts factor by factor, measure by how much each factor changed, and explain the falls of scores by that.

    Two regressions stand side by side, on one scale (standard deviations of scores and factors among the candidates):
    of the candidates' scores on their factors, as `bsx.disentangle` fits it (*observed*), and of the falls of
    scores from a text to its edited form on the falls of its factors (*edited*), without an intercept, because nothing
    edited is nothing lost. Both have standard errors by sentence. Where a factor is in both, a test tells whether the
    coefficients agree (`compare_sides`).

    SEM is declared: an edit changes the meaning or keeps it, and no person rated how much. Its coefficient is per
    changed meaning, and is compared with the observed one only if ``meaning`` says how far the human score would fall.
    ``surface`` is declared likewise: what an edit of writing alone costs. Such edits enter no other factor.

    LEX, named without saying whether it is to ignore case (``lex:lowercase=true``), does so for metrics whose scores
    stay when texts are written in small letters; on both sides, and it is called so in the result. Edits under
    which no score of a metric changes leave its regression.

    Source: Kaster, Zhao & Eger 2021, section 3, for the factors; see `compare_sides` for the test.

    Args:
        references: n texts.
        metrics: name -> function of candidates and references that returns n scores, higher is better. Each call has
            all rows in their order, those of texts that an edit does not change too.
        settings: see `InterveneSettings` and `InterveneData`; edits are names out of `edits.AIMS`.

    Returns:
        The coefficients, their differences, and every edit with what it moved on average.

    Raises:
        InputError: if sizes do not match, an edit or factor cannot be used, or a regression is not defined.
    """
    progress, candidates, human, base = reporter(settings.progress), settings.candidates, settings.human, settings.base
    references = as_texts(references, "references")
    written = as_texts(candidates, "candidates") if candidates is not None else None
    if not metrics or not references:
        raise InputError("there is nothing to measure: give at least one text and one metric")
    for name, column in (("candidates", written), ("human", human)):
        if column is not None and len(column) != len(references):
            raise InputError(f"{len(references)} references, {len(column)} {name}: numbers must match")
    if written is None and (base == "candidate" or human is not None):
        raise InputError(f"{'base candidate' if base == 'candidate' else 'human'} needs candidates")
    if human is not None and np.isinf(np.asarray(human, dtype=np.float64)).any():
        raise InputError(
            f"human: row {int(np.flatnonzero(np.isinf(np.asarray(human)))[0]) + 1} is infinite", setting="human"
        )
    if settings.meaning is not None and human is None:
        raise InputError("meaning is in units of human scores: give those with human", setting="meaning")
    texts = written if base == "candidate" and written is not None else references
    made, left_out = _edited(settings, texts)
    versions = Versions(references, texts, written, made)
    names = list(settings.factors)
    for reserved in (SEM, SURFACE):
        if reserved in names:
            raise InputError(f"factor {reserved!r} is not computed here: it is declared, by the kind of each edit")
    uncased = {  # words in common that were told nothing about case can be measured without it
        name: ignoring_case(name)
        for name in (() if isinstance(settings.factors, Mapping) else names)
        if isinstance(factor := get_factor(name), Lexical) and "lowercase" not in factor.config.model_fields_set
    }
    measured, notes = _measured(settings, names, versions)
    scores = []
    for done, (name, metric) in enumerate(metrics.items()):
        if progress is not None:
            progress(f"scoring with {name}", done, len(metrics))
        scores.append(_scored(name, metric, versions, settings.nan, casing=bool(uncased)))
    casings = sorted({bool(of_metric.ignores_case) for of_metric in scores})
    if True in casings:
        more, told_more = _measured(settings, list(uncased.values()), versions)
        measured, notes = measured | more, list(dict.fromkeys([*notes, *told_more]))
    sentences = units([references, *([written] if written is not None else [])], len(references))
    by_casing = {
        blind: list(dict.fromkeys(uncased.get(name, name) if blind else name for name in names)) for blind in casings
    }
    shown = {name: measured[name] for factors in by_casing.values() for name in factors}
    sides = {
        blind: Sides(versions, human, shown, factors, sentences, settings.meaning)
        for blind, factors in by_casing.items()
    }
    first = sides[casings[0]]
    tables = [sides[bool(of_metric.ignores_case)].of_metric(of_metric, settings.confidence) for of_metric in scores]
    coefficients, fits, drops, remarks = zip(*tables, strict=True)
    effects: list[Effect] = list(chain.from_iterable(coefficients))
    for kind in ("p", "edited_p"):
        values = [getattr(effect, kind) for effect in effects]
        p = adjust([np.nan if value is None else value for value in values], settings.correction)
        effects = [
            effect if value is None else replace(effect, **{f"{kind}_adjusted": float(new)})  # type: ignore[arg-type] # of two names
            for effect, value, new in zip(effects, values, p, strict=True)
        ]
    if settings.keep is not None:
        settings.keep(first.pairs({of_metric.name: of_metric.falls for of_metric in scores}))
    scales = {scale.factor: scale for side in sides.values() for scale in side.scales()}
    warnings: list[Notice] = []
    for notice in (each for side in sides.values() for each in side.warnings):
        warnings += [] if notice in warnings else [notice]
    if True in casings:
        blind_metrics = [of_metric.name for of_metric in scores if of_metric.ignores_case]
        warnings.append(Notice("case-ignored", ", ".join(uncased), {"metrics": blind_metrics}))
    warnings += chain.from_iterable(remarks)
    ordered = sorted(scales, key=lambda name: name == SURFACE)
    return Interventions(
        base=base,
        factors=tuple(ordered),
        effects=tuple(effects),
        fits=fits,
        edits=tuple(first.edits()),
        drops=tuple(chain.from_iterable(drops)),
        scales=tuple(scales[name] for name in ordered),
        left_out=left_out,
        confidence=settings.confidence,
        correction=settings.correction,
        skipped=(),
        warnings=tuple(warnings),
        settings={**{name: getattr(settings, name) for name in ("lang", "seed", "meaning")}, "rows": len(references)},
        notes=tuple(notes),
    )


def _edited(settings: InterveneData, texts: Sequence[str]) -> tuple[list[Perturbed], dict[str, str]]:
    """Return the texts after each edit that can be made, and why others cannot: name -> reason."""
    wanted = list(dict.fromkeys(settings.edits)) or list(AIMS)
    beside = {name: getattr(settings, name) for name in ("seed", "lang", "parses", "inflections")}
    has = {"parse": settings.parses is not None, "inflections": settings.inflections is not None}
    made, left_out = list[Perturbed](), dict[str, str]()
    for name in wanted:
        perturbation = get_perturbation(name)
        if name not in AIMS:
            raise InputError(f"edit {name}: it aims at no single factor; use some of {', '.join(AIMS)}")
        why = perturbation.lacks(settings.lang, source=False, **has)
        if why is None:
            made.append(perturb(texts, perturbation, strength=STRENGTH if perturbation.graded else None, **beside))
        elif settings.edits:
            raise InputError(f"edit {name} {why}")
        else:
            left_out[name] = why
    if not any(pairs.changed.any() for pairs in made):
        raise InputError(f"none of the edits ({', '.join(wanted)}) changes any of the {len(texts)} texts")
    return made, left_out


def _scored(name: str, metric: Function, versions: Versions, nan: NanPolicy, *, casing: bool) -> EditScores:
    """Score the texts before and after every edit, and the candidates; with ``casing`` in small letters too."""
    texts, written, made = versions.texts, versions.written, versions.made
    whole = np.ones(len(texts), dtype=np.bool_)

    def score(of: Sequence[str], changed: NDArray[np.bool_] = whole, policy: NanPolicy = nan) -> Array:
        return score_changed(metric, of, versions.references, changed, name=name, nan=policy)

    before = score(texts)
    falls = [before - score(pairs.texts, pairs.changed) for pairs in made]
    observed = None if written is None else score(written)
    moved = np.concatenate([fall[~np.isnan(fall)] for fall in falls])
    if not len(moved):
        raise InputError(f"{name}: no edited text has a score")
    if observed is None:
        unit = float(np.sqrt(np.square(moved).mean()))
    else:
        unit = 0.0 if np.isnan(observed).all() else float(np.nanstd(observed))
        if not unit > 0:
            raise InputError(f"{name}: all candidates have the same score")
    rounding = ROUNDING * unit
    if not rounding > 0:
        raise InputError(f"{name}: no edit changes its score")
    ignores = None
    for of, scores in ((texts, before), (written, observed)) if casing else ():
        if of is None or scores is None:
            continue
        small = [text.lower() for text in of]
        changed = np.array([old != new for old, new in zip(of, small, strict=True)])
        lowered = next((fall for fall, pairs in zip(falls, made, strict=True) if list(pairs.texts) == small), None)
        change = lowered if lowered is not None and of is texts else scores - score(small, changed, "omit")
        change = change[changed & ~np.isnan(change)]
        if len(change):
            ignores = bool((np.abs(change) < rounding).all())
            break
    return EditScores(name, observed, falls, rounding, ignores)


def _measured(
    settings: InterveneData, names: Sequence[str], versions: Versions
) -> tuple[dict[str, list[Array]], list[str]]:
    """Return each factor's values of the candidates, the texts before, and after each edit, and what is to know."""
    references, written, made = versions.references, versions.written, versions.made
    unedited = [versions.texts] if written is None else [written, versions.texts]
    kept = np.stack([np.ones(len(references), dtype=np.bool_)] * len(unedited) + [item.changed for item in made])
    every = [*unedited, *(item.texts for item in made)]
    first = [text for keep in kept for text in compress(references, keep)]
    second = [text for version, keep in zip(every, kept, strict=True) for text in compress(version, keep)]
    notes: list[str] = []
    columns: dict[str, Array] = {}
    factors = settings.factors
    if isinstance(factors, Mapping):
        for name, measure in factors.items():
            columns[name] = as_values(measure(first, second), f"factor {name}", len(first))
    elif factors:
        given = set_fields(settings.resources)
        for name, scores in compute_factors(names, first, second, lang=settings.lang or "en", **given).items():
            notes += scores.notes
            if scores.excluded is not None:
                raise InputError(scores.excluded)
            columns[name] = scores.values
    results = {}
    for name, column in columns.items():
        if np.isinf(column).any():
            raise InputError(f"factor {name} is infinite for {second[int(np.flatnonzero(np.isinf(column))[0])]!r:.60}")
        parts = np.full(kept.shape, np.nan)
        parts[kept] = column
        results[name] = [*parts] if written is not None else [np.full(len(references), np.nan), *parts]
    return results, notes
