"""The battery: how far each metric's scores fall under each perturbation, against a change that keeps the meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.adversarial.falls import fall, metric_range, worst_rows
from bsx.analysis.adversarial.result import CaseResult, DropExample, NotApplied, PerturbedScores, Robustness
from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import Perturbation
from bsx.analysis.perturbations.catalogue import DEFAULT_CONTROL, PERTURBATIONS, get_perturbation
from bsx.analysis.perturbations.perturb import Perturbed, perturb
from bsx.analysis.perturbations.units import units
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.analysis.stats.resample import Resampling
from bsx.analysis.stats.validate import settings
from bsx.data.corpus import as_texts
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import in_range

Metric = Callable[[Sequence[str], Sequence[str]], ArrayLike]
STRENGTHS = (0.1, 0.3)
_UNRELATED = "unrelated"


@in_range
def robustness(
    references: Sequence[str],
    metrics: Mapping[str, Metric],
    perturbations: Sequence[str] | None = None,
    *,
    candidates: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    parses: Sequence[Parse | None] | None = None,
    lang: str | None = None,
    strengths: Sequence[float] = STRENGTHS,
    control: str = DEFAULT_CONTROL,
    seed: int = 1,
    resamples: int = 1000,
    confidence: float = 0.95,
    correction: Correction = "none",
    worst: int = 3,
    nan: NanPolicy = "error",
    progress: Watch = None,
) -> Robustness:
    """Perturb texts, score them, and compare the scores with those of the texts as they were.

    A metric is called once for each perturbation with all rows, in their order; rows whose text did not change stand
    in as they are and count for nothing. So a metric that counts something over a corpus, such as idf, sees the same
    references every time.

    Args:
        references: n texts.
        metrics: name -> function (n candidates, n references) -> (n,), higher is better.
        perturbations: names; all that can be applied unless given.
        candidates: n clean texts to perturb; the references themselves unless given.
        sources: n source texts of the clean texts.
        parses: n parses of the clean texts, None for a text without one.
        lang: language of the clean texts.
        strengths: shares of words or letters, for perturbations that have one.
        control: a perturbation without strength that keeps the meaning, to measure the others against.
        seed: of perturbations and resamples.
        resamples: of bootstrap intervals and of swaps.
        confidence: level of the intervals.
        correction: of p for the number of tests in the table: ``none``, ``holm`` or ``bh``.
        worst: how many rows to show for each metric, perturbation and strength.
        nan: ``error`` refuses scores that are NaN; ``omit`` leaves such rows out and counts them.
        progress: called with the metric's name, perturbations scored and perturbations in all; True draws bars.

    Returns:
        Drops, their excess over the control's, examples and notes.

    Raises:
        UnknownNameError: for an unknown perturbation.
        InputError: if sizes differ, a perturbation that was named lacks something, scores are missing or infinite, or a
            setting is wrong.
    """
    choice("correction", correction, ("none", "holm", "bh"))
    settings(resamples=resamples, confidence=confidence)
    found = perturbed_scores(
        references,
        metrics,
        perturbations,
        candidates=candidates,
        sources=sources,
        parses=parses,
        lang=lang,
        strengths=strengths,
        control=control,
        seed=seed,
        nan=nan,
        progress=progress,
    )
    return falls(found, resamples=resamples, confidence=confidence, correction=correction, worst=worst)


@in_range
def perturbed_scores(
    references: Sequence[str],
    metrics: Mapping[str, Metric],
    perturbations: Sequence[str] | None = None,
    *,
    candidates: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    parses: Sequence[Parse | None] | None = None,
    lang: str | None = None,
    strengths: Sequence[float] = STRENGTHS,
    control: str = DEFAULT_CONTROL,
    seed: int = 1,
    nan: NanPolicy = "error",
    progress: Watch = None,
) -> PerturbedScores:
    """Perturb texts and score them, text by text; `falls` says what that comes to.

    Args and errors: as `robustness`.
    """
    progress = told(progress)
    references = as_texts(references, "references")
    clean = as_texts(candidates, "candidates") if candidates is not None else references
    if len(clean) != len(references):
        raise InputError(f"{len(clean)} candidates, {len(references)} references: numbers must match")
    if not references or not metrics:
        raise InputError("there is nothing to measure: give at least one text and one metric")
    base = get_perturbation(control)
    if base.graded or not base.preserves:
        fit = ", ".join(name for name, one in PERTURBATIONS.items() if one.preserves and not one.graded)
        raise InputError(f"control {control!r}: use one that keeps the meaning and has no strength: {fit}")
    given = {"source": sources is not None, "parse": parses is not None}
    chosen, left_out = _choose(perturbations, base, lang, **given)
    cases = [
        perturb(clean, one, strength=strength, seed=seed, lang=lang, sources=sources, parses=parses)
        for one in chosen
        for strength in (dict.fromkeys(strengths) if one.graded else (None,))
    ]
    unrelated = next(
        (case for case in cases if case.perturbation.name == _UNRELATED), perturb(clean, _UNRELATED, seed=seed)
    )
    clean_scores, case_scores, unrelated_scores = {}, {}, {}
    for name, metric in metrics.items():
        scored = _Scored(name, metric, references, nan, progress, len(cases) + 2)
        clean_scores[name] = scored.score(clean, np.ones(len(clean), dtype=np.bool_), "the clean texts")
        after = {id(case): scored.score(case.texts, case.changed, _called(case)) for case in [*cases, unrelated]}
        case_scores[name] = np.array([after[id(case)] for case in cases])
        unrelated_scores[name] = after[id(unrelated)]
    return PerturbedScores(
        tuple(references),
        tuple(clean),
        tuple(cases),
        next(place for place, case in enumerate(cases) if case.perturbation is base),
        clean_scores,
        case_scores,
        unrelated_scores,
        left_out,
        {
            "clean": "references" if candidates is None else "candidates",
            "control": control,
            "lang": lang,
            "strengths": list(strengths),
            "rows": len(clean),
            "seed": seed,
        },
    )


def falls(
    found: PerturbedScores,
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    correction: Correction = "none",
    worst: int = 3,
) -> Robustness:
    """Return how far scores fall under each perturbation, beside the control.

    Args:
        found: of `perturbed_scores`.
        resamples: of bootstrap intervals and of swaps.
        confidence: level of the intervals.
        correction: of p for the number of tests in the table: ``none``, ``holm`` or ``bh``.
        worst: how many rows to show for each metric, perturbation and strength.
    """
    references, clean, cases = found.references, found.clean, found.cases
    base = cases[found.control].perturbation
    towards = [_towards(case, clean, references) for case in cases]
    notes = _notes(cases, len(clean), found.settings["clean"] == "references", sum(int(rows.sum()) for rows in towards))
    how: Resampling = {"resamples": resamples, "confidence": confidence, "seed": found.settings["seed"]}
    results: list[CaseResult] = []
    examples: list[DropExample] = []
    ranges = []
    for name, before in found.clean_scores.items():
        after = found.case_scores[name]
        scale = metric_range(name, before, found.unrelated_scores[name])
        ranges.append(scale)
        if not scale.range > 0:
            why = "unrelated texts score no lower than clean ones" if scale.n else "there is no unrelated text"
            notes.append(f"{name}: {why}, so relative drops are undefined")
        own = before - after[found.control]
        for place, (case, nearer) in enumerate(zip(cases, towards, strict=True)):
            every = {other: (found.clean_scores[other], rows[place]) for other, rows in found.case_scores.items()}
            results.append(fall(name, case, before, after[place], own, scale, base, how, nearer))
            examples += worst_rows(name, case, before, after[place], references, clean, worst, nearer, every)
    adjusted = adjust([result.p for result in results], correction)
    return Robustness(
        tuple(replace(one, p_adjusted=float(p)) for one, p in zip(results, adjusted, strict=True)),
        tuple(examples),
        tuple(ranges),
        tuple(NotApplied(name, why) for name, why in found.left_out.items()),
        (),
        notes=tuple(notes),
        settings={**found.settings, "correction": correction, **how},
    )


def _choose(
    names: Iterable[str] | None, base: Perturbation, lang: str | None, *, source: bool, parse: bool
) -> tuple[list[Perturbation], dict[str, str]]:
    """Return the perturbations to apply, the control among them, and why others were left out."""
    wanted = [get_perturbation(name) for name in (PERTURBATIONS if names is None else dict.fromkeys(names))]
    if base not in wanted:
        wanted.insert(0, base)
    lacking = {one.name: why for one in wanted if (why := one.lacks(lang, source=source, parse=parse)) is not None}
    if lacking and (names is not None or base.name in lacking):
        name = base.name if base.name in lacking else next(iter(lacking))
        raise InputError(f"perturbation {name} {lacking[name]}")
    return [one for one in wanted if one.name not in lacking], lacking


def _called(case: Perturbed) -> str:
    return case.perturbation.name + (f" {case.strength:g}" if case.strength is not None else "")


def _notes(cases: Sequence[Perturbed], rows: int, self_scored: bool, nearer: int) -> list[str]:
    notes = []
    if nearer:
        notes.append(
            f"{nearer} change{'s' * (nearer > 1)} of meaning brought a text nearer to its reference in words: "
            "a score that rises there is right, so they are counted (nearer) and not listed among the worst rows"
        )
    if self_scored:
        notes.append(
            "the clean texts are the references themselves: most metrics give them their highest score, so a drop can "
            "hardly be negative"
        )
    notes += [
        f"{_called(case)} changed none of {rows} texts ({case.not_applicable} not applicable, {case.unchanged} "
        "unchanged): its drop is undefined, not 0"
        for case in cases
        if not case.changed.any()
    ]
    return notes


def _towards(case: Perturbed, clean: Sequence[str], references: Sequence[str]) -> NDArray[np.bool_]:
    """Return where a change of meaning left a text more like its reference than the clean text is, (n,)."""
    found = np.zeros(len(clean), dtype=np.bool_)
    if case.perturbation.preserves:
        return found
    for row in map(int, np.flatnonzero(case.changed)):
        before, wanted = _words(clean[row]), _words(references[row])
        found[row] = before != wanted and _alike(_words(case.texts[row]), wanted) > _alike(before, wanted)
    return found


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


class _Scored:
    """One metric on one set of references."""

    def __init__(
        self,
        name: str,
        metric: Metric,
        references: Sequence[str],
        nan: NanPolicy,
        progress: Progress | None,
        total: int,
    ) -> None:
        self._name, self._metric, self._references, self._nan = name, metric, references, nan
        self._progress, self._done, self._total = progress, 0, total

    def score(self, texts: Sequence[str], changed: NDArray[np.bool_], what: str) -> Array:
        """Return scores (n,), NaN where a text did not change; nothing is scored if none did."""
        if self._progress is not None:
            self._progress(self._name, self._done, self._total)
        self._done += 1
        values = np.full(len(texts), np.nan)
        if changed.any():
            found = np.asarray(self._metric(texts, self._references), dtype=np.float64)
            if found.shape != values.shape:
                raise InputError(f"{self._name} on {what}: {len(texts)} rows, scores of shape {found.shape}")
            values[changed] = found[changed]
            if self._nan == "error" and np.isnan(found[changed]).any():
                row = int(np.flatnonzero(changed & np.isnan(found))[0]) + 1
                raise InputError(f"{self._name} on {what}: row {row} has no score; `nan='omit'` leaves such rows out")
            if np.isinf(values).any():
                row = int(np.flatnonzero(np.isinf(values))[0]) + 1
                raise InputError(f"{self._name} on {what}: row {row} has an infinite score")
        return values
