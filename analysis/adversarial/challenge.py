"""Challenge sets: how often a metric scores the good translation above the bad one, by phenomenon and severity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from bsx.analysis.adversarial.settings import ChallengeSettings
from bsx.analysis.adversarial.triples import complete_sides, paired_tests
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.analysis.stats.preference import McNemar, clustered_share, wilson_interval
from bsx.analysis.stats.validate import several_units
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Interval, Number, Result
from bsx.support.settings import settled

BASE = "base"
"""The severity of extreme cases that DEMETR has as anchors."""


@dataclass(frozen=True)
class Accuracy:
    """How often a metric is right on some rows.

    Attributes:
        n: rows.
        right: rows on which the good translation scores strictly higher.
        tied: rows on which both score the same; they count as wrong.
        items: different sentences among the rows.
        rate: right / n.
        ci: Wilson interval of ``rate``, with the number of rows reduced to what rows about the same sentences are
            worth.
        drop: mean of the good's score minus the bad's.
    """

    n: int
    right: int
    tied: int
    items: int
    rate: Number
    ci: Interval
    drop: Number


@dataclass(frozen=True)
class PhenomenonAccuracy(Accuracy):
    """The same on the rows of one phenomenon.

    Attributes:
        severity: of the phenomenon; several are joined by ``/``.
    """

    severity: str


@dataclass(frozen=True)
class Challenged:
    """One metric on a challenge set.

    Attributes:
        overall: on all rows but those of severity ``base``; None if there are no others.
        macro: mean of the phenomena's rates, those of severity ``base`` left out.
        severities: severity -> on its rows.
        phenomena: phenomenon -> on its rows.
    """

    overall: Accuracy | None
    macro: Number
    severities: dict[str, Accuracy]
    phenomena: dict[str, PhenomenonAccuracy]


@dataclass(frozen=True)
class ChallengeExample:
    """A row of a challenge set that fools some metric.

    Attributes:
        row: its number, from 1.
        phenomenon: what is wrong with the bad translation.
        reference: if there is one.
        source: if there is one.
        good: the good translation.
        bad: the bad translation.
        scores: every metric's score of the good and of the bad translation.
    """

    row: int | str
    phenomenon: str
    reference: str | None
    source: str | None
    good: str
    bad: str
    scores: dict[str, tuple[Number, Number]]


@dataclass(frozen=True, repr=False)
class ChallengeResult(Result):
    """Metrics on one challenge set.

    Attributes:
        metrics: metric -> what it does.
        tests: of each pair of metrics, on all rows but those of severity ``base``; exact where each is about its own
            sentence, else with sentences as clusters.
        examples: rows of each phenomenon that fool some metric.
    """

    kind: ClassVar[str] = "adversarial-challenge"

    metrics: Annotated[dict[str, Challenged], Field(min_length=1)]
    tests: tuple[McNemar, ...]
    examples: tuple[ChallengeExample, ...] = ()


@settled(ChallengeSettings)
def challenge(
    pairs: Sequence[MinimalPair], scores: Mapping[str, tuple[ArrayLike, ArrayLike]], settings: ChallengeSettings
) -> ChallengeResult:
    """Measure how often metrics score the good translation strictly above the bad one.

    Source: Karpinska et al. 2022 (DEMETR): accuracy with ties as errors; Wilson 1927, with the effective number of rows
    of Korn & Graubard 1998, since several rows may be about one sentence.

    Args:
        pairs: n minimal pairs.
        scores: metric -> (scores of the good (n,), of the bad (n,)), higher is better.
        settings: see `ChallengeSettings`.

    Raises:
        InputError: if sizes differ, numbers are missing, there is nothing to compare, or all is about one sentence.
    """
    if any(len(np.atleast_1d(np.asarray(side))) != len(pairs) for both in scores.values() for side in both):
        raise InputError(f"{len(pairs)} pairs need as many scores of the good and of the bad")
    values, _, kept = complete_sides(scores, ("good", "bad"), settings.nan)
    used = [pairs[place] for place in kept]
    phenomenon, severity = (np.array([getattr(pair, name) for pair in used]) for name in ("phenomenon", "severity"))
    item = np.unique([pair.item for pair in used], return_inverse=True)[1]
    counted = severity != BASE
    if counted.sum() > 1:
        several_units(len(np.unique(item[counted])), "the pairs", unit="sentence")
    phenomena = {str(name): phenomenon == name for name in dict.fromkeys(phenomenon.tolist())}
    kinds = {name: "/".join(dict.fromkeys(severity[rows].tolist())) for name, rows in phenomena.items()}

    def accuracy(good: Array, bad: Array, rows: NDArray[np.bool_]) -> Accuracy:
        right, n = (good > bad)[rows], int(rows.sum())
        items, of = np.unique(item[rows], return_inverse=True)
        single, confidence = len(items) == n, settings.confidence
        return Accuracy(
            n=n,
            right=int(right.sum()),
            tied=int((good == bad)[rows].sum()),
            items=len(items),
            rate=int(right.sum()) / n,
            ci=wilson_interval(int(right.sum()), n, confidence) if single else clustered_share(right, of, confidence),
            drop=float((good - bad)[rows].mean()),
        )

    metrics = {}
    for name, (good, bad) in values.items():
        parts = {
            what: PhenomenonAccuracy(**vars(accuracy(good, bad, rows)), severity=kinds[what])
            for what, rows in phenomena.items()
        }
        rates = [part.rate for part in parts.values() if part.severity != BASE]
        metrics[name] = Challenged(
            overall=accuracy(good, bad, counted) if counted.any() else None,
            macro=float(np.mean(rates)) if rates else float("nan"),
            severities={
                str(kind): accuracy(good, bad, severity == kind) for kind in dict.fromkeys(severity.tolist()) if kind
            },
            phenomena=parts,
        )
    right = {name: (good > bad)[counted] for name, (good, bad) in values.items()}
    tests = paired_tests(right, item[counted], settings.correction) if counted.any() else ()
    notes = []
    if anchors := int((~counted).sum()):
        notes.append(f"{anchors} rows of severity {BASE} are anchors: not in the overall rate, nor in the tests")
    for name in phenomena:
        if all(pair.bad == pair.reference for pair in used if pair.phenomenon == name):
            notes.append(f"in {name} the 'bad' text is the reference itself, which is not worse")
    if equal := sum(pair.good == pair.bad for pair in used):
        notes.append(f"in {equal} rows both texts are the same, so that every metric ties")
    return ChallengeResult(metrics, tests, notes=tuple(notes))
