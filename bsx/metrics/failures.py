"""A metric that fails on some items: which ones, and going on without them if the user wants that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from bsx.errors import BsxError, InputError, MissingExtraError, ModelUnavailableError, RegistryError
from bsx.support.progress import Progress

if TYPE_CHECKING:
    from bsx.metrics.base import Metric
    from bsx.metrics.results import MetricScores

Scored = TypeVar("Scored")


@dataclass
class RowScores:
    """One metric's scores of items, higher is better.

    Attributes:
        metric: as the user spelled it.
        values: (n,); NaN where the metric failed.
        signature: the settings behind the numbers.
        notes: what the user should know: first a turned sign, then empty or cut texts, items that failed.
        failed: place of a failed item -> the metric's message.
    """

    metric: str
    values: NDArray[np.float64]
    signature: str
    notes: list[str]
    failed: dict[int, str]


def score_without_failures(
    name: str,
    score: Callable[[Sequence[int]], Scored],
    count: int,
    *,
    skip_errors: bool,
    where: Callable[[int], str] = lambda place: f"item {place + 1}",
) -> tuple[Scored, list[int], dict[int, str]]:
    """Score items; where the metric raises an error, find the items it is about.

    The items that failed are found by halves. The others are then scored together once more, since what a metric
    learns from all items (idf weights) would differ in parts.

    Args:
        name: the metric's, for messages.
        score: given places of items from 0, scores them together.
        count: how many items there are.
        skip_errors: go on without items that fail instead of ending.
        where: says where an item is, for messages.

    Returns:
        What ``score`` returned for the items that work, their places, and the messages of those that failed.

    Raises:
        InputError: naming the first item that fails and why, unless ``skip_errors``; or if all items fail.
    """
    every = range(count)
    try:
        return score(every), list(every), {}
    except (MissingExtraError, ModelUnavailableError, RegistryError):
        raise  # about no item
    except Exception as error:  # a metric may be anybody's code and raise anything
        failed: dict[int, str] = {}  # those on which it fails by themselves, in order, found by halves
        waiting: list[Sequence[int]] = [every]
        while waiting and (skip_errors or not failed):
            items = waiting.pop()
            try:
                score(items)
            except Exception as of_part:  # noqa: BLE001 - as above
                middle = len(items) // 2
                if len(items) == 1:
                    failed[items[0]] = _message(of_part)
                else:
                    waiting += [items[middle:], items[:middle]]  # the first half is taken up first
        if not failed or len(failed) == count:  # it is not about single items
            if isinstance(error, BsxError):
                raise
            raise InputError(f"{name} failed: {_message(error)}") from error
        if not skip_errors:
            place, message = next(iter(failed.items()))
            raise InputError(
                f"{name} failed on {where(place)}: {message}; skip_errors goes on without such rows"
            ) from error
        good = [place for place in every if place not in failed]
        return score(good), good, failed


def score_rows(
    metrics: Sequence[Metric],
    candidates: Sequence[str],
    references: Sequence[str] | None,
    sources: Sequence[str] | None = None,
    *,
    skip_errors: bool = False,
    where: Callable[[int], str] = lambda place: f"item {place + 1}",
    progress: Progress | None = None,
) -> list[RowScores]:
    """Score items with metrics, those on one model with one encoding; if that fails, one by one.

    Args:
        metrics: the metrics, none for no scores; the sign of scores is turned if lower is better.
        candidates: n texts.
        references: n texts; None if there are none.
        sources: n texts; None if there are none.
        skip_errors: give items that fail NaN instead of ending.
        where: says where an item is, for messages.
        progress: called with phase, done and total.

    Raises:
        InputError: as `score_without_failures`.
    """
    from bsx.data.corpus import MemoryCorpus
    from bsx.metrics.results import score_corpus

    def score(some: Sequence[Metric], rows: Sequence[int]) -> list[MetricScores]:
        texts, others, third = (
            None if column is None else [column[row] for row in rows] for column in (candidates, references, sources)
        )
        if len(some) == 1:  # which says what it lacks
            return [some[0].score(texts or [], others, sources=third, progress=progress)]
        result = score_corpus(some, MemoryCorpus({"candidate": texts or []}, others, third), progress=progress)
        return [result[metric.spec]["candidate"] for metric in some]

    n = len(candidates)
    if not metrics:
        return []
    try:
        together = score(metrics, range(n))
    except Exception:  # noqa: BLE001 - whose fault it is, and on which item, comes out below
        parts = [
            score_without_failures(m.spec, partial(score, [m]), n, skip_errors=skip_errors, where=where)
            for m in metrics
        ]
    else:
        parts = [([scores], list(range(n)), {}) for scores in together]
    return [
        _rows(metric, scores, good, n, failed, where)
        for metric, ((scores,), good, failed) in zip(metrics, parts, strict=True)
    ]


def _rows(
    metric: Metric, scores: MetricScores, good: list[int], n: int, failed: dict[int, str], where: Callable[[int], str]
) -> RowScores:
    """Return the scores of the items at ``good`` among n, with notes."""
    values, notes = np.full(n, np.nan), []
    values[good] = scores.values if metric.higher_is_better else -scores.values
    if not metric.higher_is_better:
        notes.append(f"lower is better for {metric.spec}: scores are multiplied by -1")
    kinds = {
        "have an empty side": scores.empty,
        "have no defined score": scores.undefined,
        "were cut off at the model's limit": scores.truncated,
    }
    notes += [f"{metric.spec}: {len(rows)} of {len(good)} scores {what}" for what, rows in kinds.items() if len(rows)]
    if failed:
        shown = "; ".join(f"{where(place)}: {message}" for place, message in list(failed.items())[:3])
        more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
        notes.append(f"{metric.spec} failed on {len(failed)} of {n}, left out: {shown}{more}")
    return RowScores(metric.spec, values, str(scores.signature), notes, failed)


def _message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, BsxError) and text else f"{type(error).__name__}: {text}" if text else repr(error)
