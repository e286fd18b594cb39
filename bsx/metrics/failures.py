"""A metric that fails on some items: which ones, and going on without them if the user wants that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
    """Metrics' scores of rows of texts, higher is better.

    Attributes:
        values: metric -> scores (rows,); NaN where there is none.
        signatures: metric -> the settings behind the numbers.
        notes: what the user should know of each metric: a turned sign, then empty or cut texts, rows that failed.
        failed: metric that failed on some rows -> number of such a row, from 0 -> the metric's message.
    """

    values: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failed: dict[str, dict[int, str]] = field(default_factory=dict)


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
    where: Callable[[int], str] = lambda row: f"row {row + 1}",
    progress: Progress | None = None,
) -> RowScores:
    """Score rows of texts with metrics, those on one model with one encoding; if that fails, one by one.

    Args:
        metrics: the metrics, if any; the sign of scores is turned if lower is better.
        candidates: n texts.
        references: n texts; None if there are none.
        sources: n texts; None if there are none.
        skip_errors: leave rows out on which a metric fails instead of ending.
        where: says where a row is, for messages.
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

    n, result = len(candidates), RowScores()
    if not metrics:
        return result
    try:
        together = score(metrics, range(n))
    except Exception:  # noqa: BLE001 - whose fault it is, and on which row, comes out below
        parts = [
            score_without_failures(m.spec, partial(score, [m]), n, skip_errors=skip_errors, where=where)
            for m in metrics
        ]
    else:
        parts = [([scores], list(range(n)), {}) for scores in together]
    for metric, ((scores,), good, failed) in zip(metrics, parts, strict=True):
        spec = metric.spec
        result.values[spec] = np.full(n, np.nan)
        result.values[spec][good] = scores.values if metric.higher_is_better else -scores.values
        result.signatures[spec] = str(scores.signature)
        if not metric.higher_is_better:
            result.notes.append(f"lower is better for {spec}: scores are multiplied by -1")
        kinds = {
            "have an empty side": scores.empty,
            "have no defined score": scores.undefined,
            "were cut off at the model's limit": scores.truncated,
        }
        marked = {what: len(rows) for what, rows in kinds.items() if len(rows)}
        result.notes += [f"{spec}: {count} of {len(good)} scores {what}" for what, count in marked.items()]
        if failed:
            result.failed[spec] = failed
            shown = "; ".join(f"{where(row)}: {message}" for row, message in list(failed.items())[:3])
            more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
            result.notes.append(f"{spec} failed on {len(failed)} of {n}, left out: {shown}{more}")
    return result


def _message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, BsxError) and text else f"{type(error).__name__}: {text}" if text else repr(error)
