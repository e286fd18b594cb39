"""The battery: how far each metric's scores fall under each perturbation, against a change that keeps the meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.adversarial.result import CaseResult, DropExample, MetricRange, NotApplied, Robustness
from bsx.analysis.adversarial.settings import RobustnessSettings
from bsx.analysis.perturbations.perturb import PERTURBATIONS, Perturbed, get_perturbation, perturb
from bsx.analysis.perturbations.scoring import Function, score_changed
from bsx.analysis.perturbations.units import units
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.resample import Resampling, Seed, bootstrap_counts, percentile_interval, permutation_p, swaps
from bsx.analysis.stats.validate import vectors
from bsx.data.corpus import as_texts
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.progress import reporter
from bsx.support.settings import settled

ROUNDING = 1e-6  # encoders give the same text slightly different vectors in another batch
_UNRELATED = "unrelated"


@settled(RobustnessSettings)
def robustness(references: Sequence[str], metrics: Mapping[str, Function], settings: RobustnessSettings) -> Robustness:
    """Perturb texts, score them, and compare the scores with those of the texts as they were.

    A metric is called once for each perturbation with all rows, in their order; rows whose text did not change stand
    in as they are and count for nothing. So a metric that counts something over a corpus, such as idf, sees the same
    references every time.

    Args:
        references: n texts.
        metrics: name -> function (n candidates, n references) -> (n,), higher is better.
        settings: see `RobustnessSettings`.

    Returns:
        Drops, their excess over the control's, examples and notes.

    Raises:
        UnknownNameError: for an unknown perturbation.
        InputError: if sizes differ, a perturbation that was named lacks something, scores are missing or infinite, or a
            setting is wrong.
    """
    progress, seed = reporter(settings.progress), settings.seed
    references = as_texts(references, "references")
    clean = as_texts(settings.candidates, "candidates") if settings.candidates is not None else references
    if len(clean) != len(references):
        raise InputError(f"{len(clean)} candidates, {len(references)} references: numbers must match")
    if not references or not metrics:
        raise InputError("there is nothing to measure: give at least one text and one metric")
    base = get_perturbation(settings.control_perturbation)
    if base.graded or not base.preserves:
        fit = ", ".join(name for name, item in PERTURBATIONS.items() if item.preserves and not item.graded)
        use = f"use one that keeps the meaning and has no strength: {fit}"
        raise InputError(f"control_perturbation {base.name!r}: {use}", setting="control_perturbation")
    beside = {name: getattr(settings, name) for name in ("lang", "sources", "parses", "inflections")}
    names = settings.perturbations
    wanted = [get_perturbation(name) for name in (PERTURBATIONS if names is None else dict.fromkeys(names))]
    if base not in wanted:
        wanted.insert(0, base)
    given = {"source": "sources", "parse": "parses", "inflections": "inflections"}
    has = {need: beside[name] is not None for need, name in given.items()}
    left_out = {item.name: why for item in wanted if (why := item.lacks(settings.lang, **has)) is not None}
    if left_out and (names is not None or base.name in left_out):
        name = base.name if base.name in left_out else next(iter(left_out))
        raise InputError(f"perturbation {name} {left_out[name]}")
    cases = [
        perturb(clean, perturbation, strength=strength, seed=seed, **beside)
        for perturbation in wanted
        if perturbation.name not in left_out
        for strength in (dict.fromkeys(settings.strengths) if perturbation.graded else (None,))
    ]
    at = next((place for place, case in enumerate(cases) if case.perturbation.name == _UNRELATED), len(cases))
    more = [] if at < len(cases) else [perturb(clean, _UNRELATED, seed=seed)]
    versions: list[tuple[Sequence[str], NDArray[np.bool_], str]] = [
        (clean, np.ones(len(clean), dtype=np.bool_), "the clean texts"),
        *((case.texts, case.changed, _called(case)) for case in (*cases, *more)),
    ]
    scored: dict[str, list[Array]] = {}  # of each metric, all versions (n,) in their order
    for name, metric in metrics.items():
        scored[name] = []
        for done, (texts, changed, what) in enumerate(versions):
            if progress is not None:
                progress(name, done, len(versions))
            scores = score_changed(metric, texts, references, changed, name=f"{name} on {what}", nan=settings.nan)
            scored[name].append(scores)
    if settings.keep is not None:
        settings.keep(cases, scored)
    control = next(place for place, case in enumerate(cases) if case.perturbation is base)
    towards = [_towards(case, clean, references) for case in cases]
    notes = []
    if closer := sum(int(rows.sum()) for rows in towards):
        notes.append(
            f"{closer} change{'s' * (closer > 1)} of meaning brought a text nearer to its reference in words: "
            "a score that rises there is right, so they are counted (nearer) and not listed among the worst rows"
        )
    if settings.candidates is None:
        notes.append(
            "the clean texts are the references themselves: most metrics give them their highest score, so a drop can "
            "hardly be negative"
        )
    notes += [
        f"{_called(case)} changed none of {len(clean)} texts ({case.not_applicable} not applicable, {case.unchanged} "
        "unchanged): its drop is undefined, not 0"
        for case in cases
        if not case.changed.any()
    ]
    how: Resampling = {"resamples": settings.resamples, "confidence": settings.confidence, "seed": seed}
    results: list[CaseResult] = []
    examples: list[DropExample] = []
    ranges = []
    for name, (before, *after) in scored.items():
        both = ~np.isnan(before) & ~np.isnan(after[at])
        top, least = _mean(before[both] if both.any() else before[~np.isnan(before)]), _mean(after[at][both])
        scale = MetricRange(name, top, least, top - least, int(both.sum()))
        ranges.append(scale)
        if not scale.range > 0:
            why = "unrelated texts score no lower than clean ones" if scale.n else "there is no unrelated text"
            notes.append(f"{name}: {why}, so relative drops are undefined")
        for place, (case, nearer) in enumerate(zip(cases, towards, strict=True)):
            control_drop = None if place == control else before - after[control]
            results.append(_fall(case, before, after[place], control_drop, scale, how, nearer))
            # The smallest drops if the meaning changed, away from the reference, and the largest if it stayed.
            drops = before - after[place]
            order = np.argsort(-drops if case.perturbation.preserves else drops, kind="stable")
            rows = [int(row) for row in order if not np.isnan(drops[row]) and not nearer[row]][: settings.worst]
            examples += [
                DropExample(
                    metric=name,
                    perturbation=case.perturbation.name,
                    strength=case.strength,
                    row=row + 1,
                    reference=references[row],
                    original=clean[row],
                    perturbed=case.texts[row],
                    drop=float(drops[row]),
                    scores={
                        other: (float(every[0][row]), float(every[place + 1][row])) for other, every in scored.items()
                    },
                )
                for row in rows
            ]
    adjusted = adjust([result.p for result in results], settings.correction)
    return Robustness(
        tuple(replace(result, p_adjusted=float(p)) for result, p in zip(results, adjusted, strict=True)),
        tuple(examples),
        tuple(ranges),
        tuple(NotApplied(name, why) for name, why in left_out.items()),
        skipped=(),
        notes=tuple(notes),
        settings={
            "clean": "references" if settings.candidates is None else "candidates",
            "control_perturbation": settings.control_perturbation,
            "lang": settings.lang,
            "strengths": list(settings.strengths),
            "rows": len(clean),
            "seed": seed,
            "correction": settings.correction,
            **how,
        },
    )


def _called(case: Perturbed) -> str:
    return case.perturbation.name + (f" {case.strength:g}" if case.strength is not None else "")


def _towards(case: Perturbed, clean: Sequence[str], references: Sequence[str]) -> NDArray[np.bool_]:
    """Return where a change of meaning left a text more like its reference than the clean text is, (n,)."""
    nearer = np.zeros(len(clean), dtype=np.bool_)
    if case.perturbation.preserves:
        return nearer
    for row in np.flatnonzero(case.changed).tolist():
        before, wanted = _words(clean[row]), _words(references[row])
        nearer[row] = before != wanted and _alike(_words(case.texts[row]), wanted) > _alike(before, wanted)
    return nearer


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in units(text)]


def _alike(words: list[str], wanted: list[str]) -> float:
    """Return twice the length of the longest common subsequence over that of both (ROUGE-L's F1, Lin 2004)."""
    previous = [0] * (len(wanted) + 1)
    for word in words:
        row = [0]
        for place, other in enumerate(wanted):
            row.append(previous[place] + 1 if word == other else max(previous[place + 1], row[place]))
        previous = row
    return 2 * previous[-1] / max(1, len(words) + len(wanted))


def _fall(
    case: Perturbed,
    before: Array,
    after: Array,
    control: Array | None,
    scale: MetricRange,
    how: Resampling,
    nearer: NDArray[np.bool_],
) -> CaseResult:
    """Return how far a metric's scores (n,) fall under a perturbation, and how far beyond the control's falls (n,)."""
    drops = before - after
    scored = ~np.isnan(drops)
    drop, low, high = _mean_interval(drops[scored], **how)
    excess = np.array([]) if control is None else (drops - control)[scored & ~np.isnan(control)]
    more, more_low, more_high = _mean_interval(excess, **how)
    noticed = drops[scored] > ROUNDING * np.maximum(1.0, np.abs(before[scored]))
    p = float("nan")  # one-sided, of "the mean excess is above 0" if each might as well have the other sign
    if len(excess) > 1:
        signed = [
            np.where(mask, -excess, excess).mean(axis=1) for mask in swaps(how["resamples"], len(excess), how["seed"])
        ]
        p = permutation_p(np.concatenate(signed), float(excess.mean()))
    return CaseResult(
        metric=scale.metric,
        perturbation=case.perturbation.name,
        strength=case.strength,
        preserves=case.perturbation.preserves,
        n=int(scored.sum()),
        unchanged=case.unchanged,
        not_applicable=case.not_applicable,
        failed=int((case.changed & ~scored).sum()),
        nearer=int((nearer & scored).sum()),
        mean_clean=_mean(before[scored]),
        mean_score=_mean(after[scored]),
        drop=drop,
        relative_drop=drop / scale.range if scale.range > 0 else float("nan"),
        unnoticed=1 - _mean(noticed.astype(np.float64)),
        excess=more,
        excess_n=len(excess),
        p=p,
        p_adjusted=p,
        ci=(low, high),
        excess_ci=(more_low, more_high),
    )


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else float("nan")


def _mean_interval(values: Array, *, resamples: int, confidence: float, seed: Seed) -> tuple[float, float, float]:
    """Return the mean of values (n,) and its percentile bootstrap interval; rows are the items resampled."""
    if len(values) < 2:
        return _mean(values), float("nan"), float("nan")
    (values,) = vectors({"drop": values}, minimum=2)
    draws = np.concatenate([counts @ values for counts in bootstrap_counts(resamples, len(values), seed)]) / len(values)
    return (float(values.mean()), *percentile_interval(draws, confidence))
