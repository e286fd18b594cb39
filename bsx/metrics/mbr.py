"""Minimum Bayes risk decoding: of several candidates, the one that a metric likes best beside all the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, fsum
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, SkipValidation

from bsx.data.cells import LARGEST
from bsx.data.corpus import as_list, as_texts
from bsx.data.nbest import NBest
from bsx.encode.session import SharedSettings
from bsx.errors import InputError
from bsx.metrics.base import matrix
from bsx.metrics.blocks import Values
from bsx.metrics.core import MetricCore
from bsx.metrics.mbr_numerics import completed, first_centroids, k_means
from bsx.metrics.zoo import get_metric
from bsx.support.progress import Watch, told
from bsx.support.settings import BaseSettings, settled
from bsx.support.untyped import Untyped

Method = Literal["exact", "aggregate", "prune", "centroid", "probabilistic"]
TIE = 1e-6
"""Expected scores that differ by less than this share of the largest are equal: so far rounding may reach."""


@dataclass(frozen=True)
class Utilities:
    """A metric's scores of candidates against pseudo-references.

    Attributes:
        candidates: n distinct texts.
        references: m distinct texts.
        weights: how much each reference counts; they add up to 1 (m,).
        scores: (n, m).
    """

    candidates: list[str]
    references: list[str]
    weights: Values
    scores: Values

    @property
    def expected(self) -> Values:
        """The expected score of each candidate (n,)."""
        return np.asarray((self.scores * self.weights).sum(axis=1))


@dataclass(frozen=True)
class Decision:
    """What was chosen from a list.

    Attributes:
        id: of the list.
        candidate: the text.
        expected: its expected score; with the method ``aggregate`` its score against the references together, with
            ``centroid`` against their centroids, with ``probabilistic`` that of the completed matrix.
        rank: its place in the list, by the model's scores if there are any; 1 is the model's own choice.
        n: candidates of the list.
        distinct: different ones.
        loss: how much better the best candidate's expected score is; None if that is not known.
    """

    id: str
    candidate: str
    expected: float
    rank: int
    n: int
    distinct: int
    loss: float | None = None


class Decoder:
    """Chooses from lists by the expected score under a metric.

    The expectation is over the pseudo-references, which are the candidates themselves unless others are given. Each
    counts by its weight, by softmax(score / temperature), or the same. Equal texts are scored once and count together.
    Expected scores that differ by no more than a millionth are equal; then the highest score of the model decides, then
    how often a text stands in the list, then the order of code points. A decision does not depend on the order of rows.

    Source: Kumar & Byrne 2004, equation 1, with samples or n-best lists for the model's distribution.

    Args:
        metric: compares a candidate with a reference.
        settings: the method and what it takes; the metrics that they name are not read. ``exact`` scores all pairs.
            ``aggregate`` scores each candidate once, against what is common to all references (DeNero, Chiang & Knight
            2009; Vamvas & Sennrich 2024); only some metrics can. ``prune`` lets a cheaper metric propose (Eikema & Aziz
            2022, coarse to fine). ``centroid`` scores candidates against the centroids of k-means over the references'
            vectors (Deguchi et al. 2024); only metrics with one vector a text can. ``probabilistic`` scores pairs drawn
            at random, and completes the matrix by one of low rank (Trabelsi et al. 2024), after the mean of what was
            drawn is taken off: so a candidate of which no pair was drawn is average, not 0, which would be the best
            where lower is better.
        proposer: the cheaper metric of the method ``prune``, aggregated if it can be.

    Raises:
        InputError: if the metric reads no references, or cannot do what is asked.
    """

    def __init__(
        self, metric: MetricCore, settings: MbrSettings | None = None, *, proposer: MetricCore | None = None
    ) -> None:
        self.settings = settings or MbrSettings()
        if (self.settings.method == "prune") != (proposer is not None):
            raise InputError("proposer names the cheaper metric of the method prune, and needs it alone")
        for item in (metric, *([proposer] if proposer is not None else [])):
            if "reference" not in item.needs:
                raise InputError(f"{item.spec} reads no references: candidates cannot be held against each other")
        self.metric, self.proposer = metric, proposer

    def decide(
        self, candidates: NBest, references: NBest | None = None, *, check: bool = False
    ) -> tuple[Decision, Utilities | None]:
        """Choose from one list.

        Args:
            candidates: the list.
            references: the pseudo-references; the list itself unless given.
            check: find the exact decision too, so that the loss is known.

        Returns:
            The decision, and the scores behind it: None with a method that does not score all pairs of some candidates.

        Raises:
            InputError: if the list lacks what the metric or the weights need.
        """
        pool = _Pool(candidates, self.metric.higher_is_better)
        others, weights = self._references(references if references is not None else candidates)
        texts, utilities = pool.texts, None
        match self.settings.method:
            case "aggregate":
                expected = self._aggregated(texts, others, weights)
            case "centroid":
                expected = self._by_centroids(texts, others, weights, references or candidates)
            case "probabilistic":
                expected = self._completed(texts, others, candidates) @ weights
            case _:
                texts = self._proposed(pool, others, weights, candidates)
                utilities = self._utilities(texts, others, weights, candidates)
                expected = utilities.expected
        chosen = pool.best(texts, expected)
        known = utilities is not None and len(texts) == len(pool.texts)
        loss = 0.0 if known else None
        if check and loss is None:
            loss = pool.loss(texts[chosen], self._utilities(pool.texts, others, weights, candidates).expected)
        decision = Decision(
            candidates.id,
            texts[chosen],
            float(expected[chosen]),
            pool.rank(texts[chosen]),
            len(candidates.texts),
            len(pool.texts),
            loss,
        )
        return decision, utilities

    def _references(self, given: NBest) -> tuple[list[str], Values]:
        """Return the distinct pseudo-references in the order of code points, and how much each counts."""
        weights = given.weights
        if weights is None and self.settings.temperature is not None:
            if given.scores is None:
                raise InputError(f"{given.where or given.id}: temperature weighs by the model's scores: name them")
            highest = max(given.scores)
            weights = [exp((score - highest) / self.settings.temperature) for score in given.scores]
        parts = defaultdict[str, list[float]](list)
        for text, weight in zip(given.texts, weights or [1.0] * len(given.texts), strict=True):
            parts[text].append(weight)
        texts = sorted(parts)
        total = np.array([fsum(sorted(parts[text])) for text in texts])
        return texts, total / fsum(total)

    def _aggregated(self, texts: list[str], others: list[str], weights: Values) -> Values:
        """Return the score of each text against all references together (n,)."""
        read = self.metric.encoders.in_form
        result = self.metric.score_aggregate(read(texts), read(others), weights)
        if result is None:
            raise InputError(
                f"{self.metric.spec} cannot take references together, as the method aggregate does: chrf and "
                "metrics on sentence vectors can"
            )
        return np.asarray(result)

    def _by_centroids(self, texts: list[str], others: list[str], weights: Values, given: NBest) -> Values:
        """Return the mean score of each text against the centroids of the references' vectors (n,)."""
        settings, read = self.settings, self.metric.encoders.in_form
        equal = settings.centroid_weights == "equal"
        if equal and (settings.temperature is not None or given.weights is not None):
            raise InputError(
                "weights of pseudo-references have no effect where centroid_weights are equal: leave one out"
            )
        texts, others = read(texts), read(others)
        place = {text: row for row, text in enumerate(dict.fromkeys(t for t in (*texts, *others) if t.strip()))}
        vectors = self.metric.text_vectors(list(place))
        if vectors is None:
            raise InputError(
                f"{self.metric.spec} has no vectors that stand for whole texts, as the method centroid needs: "
                "metrics on sentence vectors have"
            )
        empty = float(self.metric.entry.empty or 0.0)
        result = np.full(len(texts), empty)
        mine = [row for row, text in enumerate(texts) if text in place]
        full = [row for row, text in enumerate(others) if text in place and weights[row] > 0]
        if mine and full:
            rows, counts = vectors[[place[others[row]] for row in full]], weights[full]
            rng = np.random.default_rng(settings.seed)
            first = first_centroids(rows, counts, min(settings.centroids, len(rows)), rng)
            centroids, nearest = k_means(rows, counts, first, settings.rounds)
            share = np.bincount(nearest, counts, minlength=len(centroids))
            scores = self.metric.score_vectors(vectors[[place[texts[row]] for row in mine]], centroids)
            expected = scores.mean(axis=1) if equal else scores @ (share / share.sum())
            result[mine] = counts.sum() * expected + (1 - counts.sum()) * empty
        return result

    def _completed(self, texts: list[str], others: list[str], given: NBest) -> Values:
        """Return the scores of all pairs, completed from those that were drawn (n, m)."""
        settings, shape = self.settings, (len(texts), len(others))
        rng = np.random.default_rng(settings.seed)
        cells = shape[0] * shape[1]
        known = (rng.permutation(cells) < ceil(cells / settings.reduction)).reshape(shape)
        scores = matrix(self.metric, texts, others, _source(self.metric, given), known)
        mean = scores[known].mean()
        rank = settings.matrix_rank
        start = rng.random((len(others), rank)) / np.sqrt(len(others) * rank)
        return np.asarray(mean + completed(scores - mean, known, start, settings.rounds, settings.regularisation))

    def _proposed(self, pool: _Pool, others: list[str], weights: Values, given: NBest) -> list[str]:
        if self.proposer is None or self.settings.prune_to >= len(pool.texts):
            return pool.texts
        read = self.proposer.encoders.in_form
        result = self.proposer.score_aggregate(read(pool.texts), read(others), weights)
        if result is None:
            source = _source(self.proposer, given)
            scores = matrix(self.proposer, pool.texts, others, source)
            result = Utilities(pool.texts, others, weights, scores).expected
        order = pool.ranked(result if self.proposer.higher_is_better else -result)
        return sorted(pool.texts[place] for place in order[: self.settings.prune_to])

    def _utilities(self, texts: list[str], others: list[str], weights: Values, given: NBest) -> Utilities:
        return Utilities(texts, others, weights, matrix(self.metric, texts, others, _source(self.metric, given)))


def _source(metric: MetricCore, given: NBest) -> str | None:
    if "source" not in metric.needs:
        return None
    if given.source is None:
        raise InputError(f"{given.where or given.id}: {metric.spec} reads the source, and the list has none")
    return given.source


class _Pool:
    """The distinct texts of a list, in the order of code points, and what decides between equals."""

    def __init__(self, given: NBest, higher_is_better: bool) -> None:
        self.texts = sorted(set(given.texts))
        self._given, self._sign = given, 1.0 if higher_is_better else -1.0
        self._second: dict[str, tuple[float, int, str]] = {}
        scores = given.scores or [0.0] * len(given.texts)
        for text, score in zip(given.texts, scores, strict=True):
            before = self._second.get(text, (-score, 0, text))
            self._second[text] = (min(before[0], -score), before[1] - 1, text)

    def best(self, texts: list[str], expected: Values) -> int:
        """Return the place of the text to choose."""
        turned = self._sign * expected
        near = np.flatnonzero(turned >= turned.max() - TIE * np.abs(turned).max())
        return int(min(near, key=lambda place: self._second[texts[place]]))

    def ranked(self, proposed: Values) -> list[int]:
        """Return the places of all texts, the best first."""
        return sorted(range(len(self.texts)), key=lambda i: (-proposed[i], self._second[self.texts[i]]))

    def loss(self, chosen: str, expected: Values) -> float:
        """Return how much better the best text's expected score is; 0 for one that is equal to it."""
        turned = self._sign * expected
        lost = float(turned.max() - turned[self.texts.index(chosen)])
        return lost if lost > TIE * np.abs(turned).max() else 0.0

    def rank(self, chosen: str) -> int:
        """Return the place of a text in the list as the model ranks it, from 1."""
        if self._given.scores is None:
            return self._given.texts.index(chosen) + 1
        return 1 + sum(score > -self._second[chosen][0] for score in self._given.scores)


def drawn(lists: int, check: int, seed: int) -> set[int]:
    """Return which of some lists are decided exactly too, from 0."""
    return set(np.random.default_rng(seed).permutation(lists)[:check].tolist())


class MbrSettings(BaseSettings):
    """How one of several candidates is chosen."""

    temperature: Annotated[
        float | None,
        Field(gt=0, description="Weigh rows by softmax(score / temperature) instead; all the same unless given."),
    ] = None
    method: Annotated[
        Method,
        Field(
            description="exact: all pairs; aggregate: each candidate against all references together; prune: a cheaper "
            "metric proposes; centroid: against centroids of sentence vectors; probabilistic: some pairs, and a matrix "
            "of low rank through them."
        ),
    ] = "exact"
    proposer: Annotated[str, Field(description="For the method prune: the cheaper metric.")] = "chrf"
    prune_to: Annotated[int, Field(ge=1, description="For the method prune: candidates it proposes.")] = 10
    centroids: Annotated[int, Field(ge=1, description="For the method centroid: how many.")] = 8
    centroid_weights: Annotated[
        Literal["members", "equal"],
        Field(description="For the method centroid: one counts as much as its pseudo-references, or all the same."),
    ] = "members"
    reduction: Annotated[
        float, Field(ge=1, description="For the method probabilistic: one in so many pairs is scored.")
    ] = 4.0
    matrix_rank: Annotated[int, Field(ge=1, description="For the method probabilistic: rank of the matrix.")] = 8
    regularisation: Annotated[
        float, Field(gt=0, description="For the method probabilistic: weight of the lengths of the factors.")
    ] = 0.1
    rounds: Annotated[
        int, Field(ge=1, description="For the methods centroid and probabilistic: after how many rounds they stop.")
    ] = 10
    check: Annotated[int, Field(ge=0, description="Decide so many lists exactly too, to state what is lost.")] = 0
    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 1


class MbrCall(MbrSettings, SharedSettings):
    """What `mbr` takes beside the lists."""

    metric: Annotated[str, Field(description="The metric that decides: NAME[:field=value,…]; see bsx metrics.")] = (
        "bertscore"
    )
    references: Annotated[
        Sequence[Sequence[str]] | None,
        SkipValidation,
        Field(description="n lists of texts that candidates are held against; they themselves unless given."),
    ] = None
    sources: Annotated[
        Sequence[str] | None, SkipValidation, Field(description="n texts, for a metric that reads them.")
    ] = None
    scores: Annotated[
        Sequence[Sequence[float]] | None,
        SkipValidation,
        Field(description="The model's scores, of the shape of the candidates; of the references, if those are given."),
    ] = None
    weights: Annotated[
        Sequence[Sequence[float]] | None,
        SkipValidation,
        Field(description="How much each pseudo-reference counts, instead of the temperature."),
    ] = None
    progress: Annotated[
        Watch, Field(description="Called with a phase's name, lists done and lists in all; True draws bars.")
    ] = None


@settled(MbrCall)
def mbr(candidates: Sequence[Sequence[str]], settings: MbrCall) -> list[Decision]:
    """Choose from each list the candidate with the least Bayes risk: the one that a metric expects to be best.

    Args:
        candidates: n lists of texts, such as samples of a generator or n-best lists.
        settings: see `MbrCall`. Lists that are decided exactly too (``check``) have a ``loss``.

    Raises:
        InputError: if the numbers differ, a list is empty, or the metric cannot do what is asked.

    >>> found = mbr([["a cat sat", "the cat sat", "a cat ran", "it rains"]], metric="chrf")
    >>> found[0].candidate, round(found[0].expected, 1), found[0].rank
    ('a cat sat', 48.0, 1)
    """
    progress = told(settings.progress)
    references, scores, weights = settings.references, settings.scores, settings.weights
    encoders = settings.opened()
    decoder = Decoder(
        get_metric(settings.metric, encoders=encoders),
        settings,
        proposer=get_metric(settings.proposer, encoders=encoders) if settings.method == "prune" else None,
    )
    own = references is None
    mine = _lists("candidates", candidates, scores if own else None, weights if own else None, settings.sources)
    others = mine if references is None else _lists("references", references, scores, weights, None)
    if len(others) != len(mine):
        raise InputError(f"numbers must match: {len(mine)} lists of candidates, {len(others)} of references")
    wanted = drawn(len(mine), settings.check, settings.seed)
    decisions = []
    for place, (one, other) in enumerate(zip(mine, others, strict=True)):
        decisions.append(decoder.decide(one, other, check=place in wanted)[0])
        if progress is not None:
            progress("deciding", place + 1, len(mine))
    return decisions


def _lists(
    name: str,
    lists: Sequence[Sequence[str]],
    scores: Sequence[Sequence[float]] | None,
    weights: Sequence[Sequence[float]] | None,
    sources: Sequence[str] | None,
) -> list[NBest]:
    """Return lists from memory, checked."""
    rows = _rows(name, lists, "texts")
    beside = {
        "scores": None if scores is None else _rows("scores", scores, "numbers"),
        "weights": None if weights is None else _rows("weights", weights, "numbers"),
        "sources": None if sources is None else as_texts(sources, "sources"),
    }
    for what, values in beside.items():
        if values is not None and len(values) != len(rows):
            raise InputError(f"{what}: there are {len(values)}, and {len(rows)} lists of {name}")
    results = []
    for place, one in enumerate(rows):
        texts = as_texts(one, f"{name}[{place}]")
        if not texts:
            raise InputError(f"{name}[{place}]: is empty")
        numbers = {}
        for what in ("scores", "weights"):
            if (values := beside[what]) is None:
                continue
            try:
                numbers[what] = np.asarray(values[place], dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                numbers[what] = np.empty(0)
            if numbers[what].shape != (len(texts),) or not (np.abs(numbers[what]) <= LARGEST).all():
                raise InputError(
                    f"{what}[{place}]: one finite number for each of {len(texts)} texts is needed, up to {LARGEST:g}"
                )
        if "weights" in numbers and (numbers["weights"].min() < 0 or not numbers["weights"].any()):
            raise InputError(f"weights[{place}]: must be at least 0, and one of them above it")
        results.append(
            NBest(
                str(place + 1),
                texts,
                numbers["scores"].tolist() if "scores" in numbers else None,
                numbers["weights"].tolist() if "weights" in numbers else None,
                None if beside["sources"] is None else beside["sources"][place],
                f"list {place + 1}",
            )
        )
    return results


def _rows(name: str, values: object, of: str) -> list[Untyped]:
    """Return the lists that a list holds, or what it holds instead of some, but for texts."""
    try:
        rows = as_list(values, name)
    except (InputError, TypeError):
        rows = [""]
    if any(isinstance(row, str | bytes) for row in rows):
        raise InputError(f"{name}: give a list of lists of {of}, one for each segment")
    return rows
