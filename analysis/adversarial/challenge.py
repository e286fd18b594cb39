"""Challenge sets: how often a metric scores the good translation above the bad one, by phenomenon and severity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from bsx.analysis.adversarial.settings import ChallengeSettings
from bsx.analysis.adversarial.triples import complete, paired_tests
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.analysis.stats.preference import McNemar, clustered_share, wilson_interval
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
        InputError: if sizes differ, numbers are missing, or there is nothing to compare.
    """
    if not scores:
        raise InputError("there is no metric to look at")
    sides: dict[str, ArrayLike] = {}
    for name, (good, bad) in scores.items():
        sides |= {f"{name} of the good": good, f"{name} of the bad": bad}
    if any(len(np.atleast_1d(np.asarray(side))) != len(pairs) for side in sides.values()):
        raise InputError(f"{len(pairs)} pairs need as many scores of the good and of the bad")
    columns, kept = complete(sides, settings.nan)
    values = list(columns.values())
    used = [pairs[place] for place in kept]
    rows = _Rows(used, settings.confidence)
    by_metric = {name: rows.of(values[2 * i], values[2 * i + 1]) for i, name in enumerate(scores)}
    counted = ~rows.base
    right = {name: (values[2 * i] > values[2 * i + 1])[counted] for i, name in enumerate(scores)}
    tests = paired_tests(right, rows.item[counted], settings.correction) if counted.any() else ()
    return ChallengeResult(by_metric, tests, notes=tuple(rows.notes()))


class _Rows:
    """The rows of a set, by what they are about."""

    def __init__(self, pairs: Sequence[MinimalPair], confidence: float) -> None:
        self.pairs = pairs
        self.confidence = confidence
        self.phenomenon = np.array([pair.phenomenon for pair in pairs])
        self.severity = np.array([pair.severity for pair in pairs])
        self.base = self.severity == BASE
        self.item = np.unique([pair.item for pair in pairs], return_inverse=True)[1]
        self.severity_of = {
            str(name): "/".join(dict.fromkeys(self.severity[self.phenomenon == name].tolist()))
            for name in dict.fromkeys(self.phenomenon.tolist())
        }

    def of(self, good: Array, bad: Array) -> Challenged:
        """Return what one metric does."""
        phenomena = {
            name: PhenomenonAccuracy(**asdict(self._accuracy(good, bad, self.phenomenon == name)), severity=severity)
            for name, severity in self.severity_of.items()
        }
        severities = {
            str(name): self._accuracy(good, bad, self.severity == name)
            for name in dict.fromkeys(self.severity.tolist())
            if name
        }
        counted = ~self.base
        macro = [phenomena[name].rate for name, severity in self.severity_of.items() if severity != BASE]
        return Challenged(
            overall=self._accuracy(good, bad, counted) if counted.any() else None,
            macro=float(np.mean(macro)) if macro else float("nan"),
            severities=severities,
            phenomena=phenomena,
        )

    def _accuracy(self, good: Array, bad: Array, rows: NDArray[np.bool_]) -> Accuracy:
        right, drop = (good > bad)[rows], (good - bad)[rows]
        n, hits = int(rows.sum()), int(right.sum())
        items, of = np.unique(self.item[rows], return_inverse=True)
        single = len(items) == n
        low, high = wilson_interval(hits, n, self.confidence) if single else clustered_share(right, of, self.confidence)
        return Accuracy(
            n=n,
            right=hits,
            tied=int((good == bad)[rows].sum()),
            items=len(items),
            rate=hits / n,
            ci=(low, high),
            drop=float(drop.mean()),
        )

    def notes(self) -> list[str]:
        """Return what a reader must know."""
        notes = []
        if self.base.any():
            notes.append(
                f"{int(self.base.sum())} rows of severity {BASE} are anchors: not in the overall rate, nor in the tests"
            )
        same = [
            name for name in self.severity_of if all(p.bad == p.reference for p in self.pairs if p.phenomenon == name)
        ]
        notes += [f"in {name} the 'bad' text is the reference itself, which is not worse" for name in same]
        equal = sum(pair.good == pair.bad for pair in self.pairs)
        if equal:
            notes.append(f"in {equal} rows both texts are the same, so that every metric ties")
        return notes
