"""Challenge sets: metrics of the zoo, or scores in the file, on good and bad translations of the same segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from bsx.analysis.adversarial.challenge import ChallengeExample, ChallengeResult, challenge
from bsx.analysis.datasets.challenge import ChallengeSet, load_challenge
from bsx.bertscore.config import ScorerConfig
from bsx.errors import InputError
from bsx.jobs.adversarial.scores import open_distinct
from bsx.jobs.settings.adversarial import ChallengeColumns, ChallengeSettings
from bsx.metrics.failures import RowScores, score_all
from bsx.metrics.summary import about
from bsx.support.checks import Array
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import complete, in_range, set_fields, takes


@in_range
@takes(ChallengeSettings)
def challenge_metrics(
    file: Path,
    *,
    columns: Sequence[str] = (),
    metrics: Sequence[str] = (),
    lower: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[ChallengeSettings],
) -> ChallengeResult:
    """Count how often metrics score a good translation above a bad one, by phenomenon and severity.

    Args:
        file: challenge set; see `bsx.analysis.load_challenge` for its layouts.
        columns: metrics with scores in the file: of ``chrf`` the columns ``chrf-good`` and ``chrf-bad``.
        metrics: specs of metrics to score the texts with; those without references compare with the sources.
        lower: those of ``columns`` of which lower is better: their sign is turned.
        weights: severity -> weight of its rows; critical 25, major 5, minor 1 unless given.
        settings: model, language, and where and within what limits ``metrics`` run.
        progress: called with phase, done and total; True draws bars.
        **how: see `bsx.jobs.settings.adversarial.ChallengeSettings`.

    Raises:
        InputError: for a file or metric that cannot be used.
    """
    progress = told(progress)
    if not columns and not metrics:
        raise InputError("give `columns=COL,…` for columns of scores, or `metrics=METRICS` to compute them")
    asked = complete(how, ChallengeSettings)
    kinds = {name: "lang" if name == "lang_column" else name for name in ChallengeColumns.__annotations__}
    given = {kinds[name]: column for name, column in asked.items() if name in kinds and isinstance(column, str)}
    found = load_challenge(file, columns, given)
    scores = dict(found.scores)
    for name in lower:
        if name not in scores:
            raise InputError(f"`lower={name}`: is none of the columns of scores ({', '.join(scores)})")
        scores[name] = (-scores[name][0], -scores[name][1])
    notes, said = list(found.notes), list[str]()
    signatures: dict[str, str] = {}
    if metrics:
        rows, said = _scored(found, metrics, scores, settings, asked["skip_errors"], progress)
        for one in rows:
            half = len(found.pairs)
            scores[one.metric] = (one.values[:half], one.values[half:])
            signatures[one.metric] = one.signature
            notes += one.notes
    missing = any(np.isnan(side).any() for both in scores.values() for side in both)
    result = challenge(
        found.pairs,
        scores,
        weights=weights,
        anchor=asked["anchor"],
        correction=asked["correction"],
        confidence=asked["confidence"],
        nan="omit" if missing and asked["skip_errors"] else asked["nan"],
    )
    kept = np.flatnonzero(np.all([np.isfinite(side) for both in scores.values() for side in both], axis=0)).tolist()
    left = len(found.pairs) - len(kept)
    if left:
        notes.append(f"{left} of {len(found.pairs)} pairs miss a score and are left out for all metrics")
    named = {
        **asked,
        "columns": list(columns),
        "metrics": list(metrics),
        "lower": list(lower),
        "weights": dict(result.weights),
    }
    named |= {name: str(value) for name, value in set_fields(settings).items()}
    examples = _examples(found, scores, kept, asked["examples"])
    return replace(
        result, examples=examples, settings=named, signatures=signatures, notes=(*said, *notes, *result.notes)
    )


def _examples(
    found: ChallengeSet, scores: Mapping[str, tuple[Array, Array]], kept: Sequence[int], most: int
) -> tuple[ChallengeExample, ...]:
    """Return rows of each phenomenon: those that metrics disagree on, then those that fool all; most fooled first."""
    fooled = np.sum([~(good > bad) for good, bad in scores.values()], axis=0)
    rows: dict[str, list[int]] = {}
    for place in sorted(kept, key=lambda i: (fooled[i] == len(scores), -fooled[i])):
        if fooled[place]:
            rows.setdefault(found.pairs[place].phenomenon, []).append(place)
    return tuple(
        ChallengeExample(
            row=place + 1,
            phenomenon=name,
            reference=found.pairs[place].reference,
            source=found.pairs[place].source,
            good=found.pairs[place].good,
            bad=found.pairs[place].bad,
            scores={metric: (float(good[place]), float(bad[place])) for metric, (good, bad) in scores.items()},
        )
        for turn in range(most)
        for name, places in rows.items()
        for place in places[turn : turn + 1]
    )


def _scored(
    found: ChallengeSet,
    named: Sequence[str],
    columns: Mapping[str, tuple[Array, Array]],
    settings: ScorerConfig | None,
    skip: bool,
    progress: Progress | None,
) -> tuple[list[RowScores], list[str]]:
    metrics = open_distinct(named, settings, columns)
    for metric in metrics:
        lacks = metric.needs - {"candidate"} - found.has
        if lacks:
            place = next(p.where for p in found.pairs if any(getattr(p, kind) is None for kind in lacks))
            raise InputError(
                f"{metric.spec} needs a {' and a '.join(sorted(lacks))}, and {place} has none: leave it out"
            )
    pairs, n = found.pairs, len(found.pairs)

    def where(place: int) -> str:
        return f"the {'good' if place < n else 'bad'} text of {pairs[place % n].where}"

    candidates = [pair.good for pair in pairs] + [pair.bad for pair in pairs]
    references, sources = (
        [str(getattr(pair, kind)) for pair in pairs] * 2 if kind in found.has else None
        for kind in ("reference", "source")
    )
    rows = score_all(metrics, candidates, references, sources, skip_errors=skip, where=where, progress=progress)
    return rows, about(metrics)
