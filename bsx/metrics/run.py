"""Running several metrics over one corpus, block by block: their encoders encode each text once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.specs import naming
from bsx.data.corpus import Corpus, Segment, about_tokens
from bsx.data.journal import Arrays
from bsx.errors import InputError
from bsx.metrics.blocks import Block, BlockScores, as_block, not_scores
from bsx.metrics.core import Fitted, MetricCore
from bsx.metrics.plan import Plan, survey, texts_of
from bsx.metrics.results import MetricScores
from bsx.metrics.totals import Totals
from bsx.support.memory import refuse_beyond, show_bytes, text_size
from bsx.support.optional import source_of
from bsx.support.progress import Progress, Watch, told
from bsx.support.signature import Signature

Item = TypeVar("Item")
_BLOCK_TOKENS = 131_072  # enough for batches of equal length; more only costs memory
_BLOCK_ROWS = 8_192
_FEW = 256  # segments that do not repay a thread
_SHORT = 1_024  # characters of texts that fit in any budget, whatever is computed of them


@dataclass(frozen=True)
class Prepared:
    """What one pass over the corpus taught each metric.

    Attributes:
        metrics: the metrics.
        corpus: the corpus.
        plan: how many segments and references it has, and which texts come again.
        fitted: what each metric's `fit` returned.
    """

    metrics: tuple[MetricCore, ...]
    corpus: Corpus
    plan: Plan
    fitted: tuple[Fitted, ...]

    @property
    def segments(self) -> int:
        """How many segments the corpus has."""
        return self.plan.segments

    def signature(self, index: int) -> Signature:
        """Return the signature of one metric on this corpus."""
        return self.metrics[index].signature(self.fitted[index], self.plan.references)


@dataclass(frozen=True)
class ScoredBlock:
    """Results of consecutive segments, one `BlockScores` a metric; rows are segments x systems, systems fastest.

    Attributes:
        segments: the segments.
        scores: metric by metric, undefined values replaced and counted.
        undefined: metric by metric, rows that were undefined though not empty (rows,).
    """

    segments: list[Segment]
    scores: list[BlockScores]
    undefined: list[NDArray[np.bool_]]

    def select(self, rows: NDArray[np.int64]) -> ScoredBlock:
        """Return some segments of a block of one system."""
        return ScoredBlock(
            [self.segments[row] for row in rows],
            [scores.select(rows) for scores in self.scores],
            [undefined[rows] for undefined in self.undefined],
        )


def check_needs(metrics: Sequence[MetricCore], has: frozenset[str]) -> None:
    """Refuse metrics that need what the data lacks, or that are asked for twice.

    Raises:
        InputError: naming metric and what is missing.
    """
    specs = [metric.spec for metric in metrics]
    for spec in specs:
        if specs.count(spec) > 1:
            raise InputError(f"the metric {spec} is asked for twice")
    for metric in metrics:
        for kind in sorted(metric.needs - {"candidate"} - has):
            raise InputError(lacking(metric.spec, kind))


def lacking(spec: str, kind: str) -> str:
    """Return the message for a metric that compares candidates with what the data does not have."""
    return (
        f"{spec} compares candidates with {kind}s, but the data has none: name the file or column that holds them, "
        "or leave this metric out"
    )


def prepare(
    metrics: Sequence[MetricCore], corpus: Corpus, *, plan: Plan | None = None, progress: Progress | None = None
) -> Prepared:
    """Check a corpus and let each metric read it, if it wants to.

    Args:
        metrics: the metrics.
        corpus: the corpus.
        plan: what `bsx.metrics.plan.survey` said of it, if it was asked before.
        progress: called with a phase's name, segments done and segments in all.

    Raises:
        InputError: if the corpus lacks what a metric needs, or is malformed.
    """
    check_needs(metrics, corpus.has)
    report = None if progress is None else lambda done: progress("reading", done, 0)
    plan = plan or survey(corpus, progress=report)
    fitted = []
    for metric in metrics:
        with naming(metric.spec, among=len(metrics)):
            fitted.append(metric.fit(corpus))
    return Prepared(tuple(metrics), corpus, plan, tuple(fitted))


def block_tokens(metrics: Sequence[MetricCore]) -> int:
    """Return about how many tokens a block of `stream` has: half of the memory budget, the other half remembers."""
    per_token = sum(metric.bytes_per_token for metric in metrics)
    budget = min(metric.encoders.budget for metric in metrics) // 2
    return max(1, min(_BLOCK_TOKENS, budget // per_token)) if per_token else _BLOCK_TOKENS


def stream(
    prepared: Prepared, *, progress: Progress | None = None, start: int = 0, tokens: int | None = None
) -> Iterator[ScoredBlock]:
    """Score a corpus of any size, one block of segments at a time, within the memory budget.

    Each distinct text goes through an encoder once, however far apart its uses are: vectors of texts that come again
    are kept (see `bsx.encode.session.Encoders.expecting`). While a block is scored, the next one is read and tokenised.

    Args:
        prepared: what `prepare` returned.
        progress: called with a phase's name, segments done and segments in all.
        start: how many segments to leave out, because they are scored already; from a block's first segment on, blocks
            are what they would be anyway.
        tokens: tokens of a block, if not as many as `block_tokens` says.

    Yields:
        Results in the corpus's order.
    """
    tokens = tokens or block_tokens(prepared.metrics)
    corpus, done, total = prepared.corpus, start, prepared.segments
    sessions = {id(metric.encoders): metric.encoders for metric in prepared.metrics}.values()
    uses = prepared.plan.reused_after(corpus, start)
    with ExitStack() as stack:
        used = [stack.enter_context(encoders.expecting(uses)) for encoders in sessions]
        pieces = (_ready(part, prepared.metrics) for part in blocks_of(islice(corpus, start, None), tokens))
        for segments, block in ahead(pieces, worthwhile=total - start > _FEW):
            if progress is not None and len(prepared.metrics) == 1:
                block = replace(block, report=_within(done, len(segments), total, progress))
            yield score_segments(prepared.metrics, prepared.fitted, segments, block)
            for count in used:
                count(text for segment in segments for text in texts_of(segment))
            done += len(segments)
            if progress is not None:
                progress("scoring", done, total)


def _ready(segments: list[Segment], metrics: Sequence[MetricCore]) -> tuple[list[Segment], Block]:
    """Return segments with their rows, and what metrics prepare of these."""
    block = rows_of(segments)
    for metric in metrics:
        block.ahead[metric.spec] = metric.look_ahead(block)
    return segments, block


def _within(done: int, segments: int, total: int, progress: Progress) -> Callable[[float], None]:
    """Return a function that reports a share of a block as segments done."""
    return lambda share: progress("scoring", done + int(share * segments), total)


def ahead(items: Iterator[Item], *, worthwhile: bool = True) -> Iterator[Item]:
    """Yield the same items, each prepared in another thread while the one before it is being used.

    Args:
        items: the items; None ends them.
        worthwhile: False does without the thread, which a single small item does not repay.
    """
    if not worthwhile:
        yield from items
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="bsx-tokenise") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


def fill_undefined(metric: MetricCore, scores: BlockScores) -> NDArray[np.bool_]:
    """Give undefined rows the score of empty ones, and return which they are (rows,), those without content apart."""
    missing = np.isnan(scores.values)
    fill = metric.entry.empty
    scores.values = np.where(missing, 0.0 if fill is None else fill, scores.values)
    return (missing if scores.undefined is None else missing | scores.undefined) & ~scores.empty


def _check(metric: MetricCore, result: object, rows: int) -> None:
    """Refuse what a metric of somebody's own returns if it is no scores of these rows."""
    wrong = not_scores(result, BlockScores, rows)
    if wrong is not None:
        kind = type(metric)
        raise InputError(
            f"{source_of(kind)}: {kind.__name__}.score_block returned {wrong} for {rows} rows; BlockScores with a "
            "finite number, or NaN, for each are due"
        )


def score_segments(
    metrics: Sequence[MetricCore], fitted: Sequence[Fitted], segments: list[Segment], block: Block | None = None
) -> ScoredBlock:
    """Score some segments with every metric.

    Args:
        metrics: the metrics.
        fitted: what the `fit` of each returned for the corpus that the segments are from.
        segments: the segments.
        block: their rows, if they are there already.

    Raises:
        InputError: with ``strict``, for a text that a model cuts off.
    """
    block = block if block is not None else rows_of(segments)
    refuse_large_texts(metrics, block)
    scores, undefined = [], []
    for metric, learnt in zip(metrics, fitted, strict=True):
        with naming(metric.spec, among=len(metrics)):
            result = metric.score_block(block, learnt)
        _check(metric, result, len(block))
        if metric.encoders.config.strict and result.lost.any():
            row = int(result.lost.argmax())
            name = block.ids[row] if block.ids else row + 1
            raise InputError(
                f"{metric.spec}: a text of segment {name} has {result.lost[row]} tokens more than its model reads: "
                "shorten it, or drop `strict=True`"
            )
        scores.append(result)
        undefined.append(fill_undefined(metric, result))
    return ScoredBlock(segments, scores, undefined)


def refuse_large_texts(metrics: Sequence[MetricCore], block: Block) -> None:
    """Refuse a row whose texts would take more memory than the budget, before anything is computed of the block.

    Raises:
        InputError: naming metric and segment.
    """
    for row, (candidate, references) in enumerate(zip(block.candidates, block.references, strict=True)):
        others = references if block.sources is None else (*references, block.sources[row])
        if max(map(len, (candidate, *others))) < _SHORT:
            continue
        where = f"segment {block.ids[row]}: " if block.ids else ""
        for metric in metrics:
            needed = max(metric.memory(candidate, other) for other in (references if references else others))
            longest = show_bytes(max(map(text_size, (candidate, *others))))
            refuse_beyond(needed, metric.encoders.budget, f"{where}scoring texts of {longest} with {metric.spec}")


def blocks_of(corpus: Iterable[Segment], tokens: int) -> Iterator[list[Segment]]:
    """Cut a corpus into lists of segments whose distinct texts have about ``tokens`` tokens at most."""
    segments: list[Segment] = []
    texts: set[str] = set()
    size = 0
    for segment in corpus:
        own = set(texts_of(segment))
        grows_by = sum(about_tokens(text) for text in own - texts)
        if segments and (size + grows_by > tokens or len(segments) * len(segment.candidates) >= _BLOCK_ROWS):
            yield segments
            segments, texts, size = [], set(), 0
            grows_by = sum(about_tokens(text) for text in own)
        segments.append(segment)
        texts |= own
        size += grows_by
    if segments:
        yield segments


def rows_of(segments: Sequence[Segment]) -> Block:
    """Return the rows of segments: every system's candidate, systems fastest."""
    rows = [(text, s.references, s.source, k) for s in segments for k, text in enumerate(s.candidates)]
    return as_block(rows, [s.id for s in segments for _ in s.candidates])


def score_corpus(
    metrics: Sequence[MetricCore], corpus: Corpus, *, progress: Watch = None
) -> dict[str, dict[str, MetricScores]]:
    """Score a corpus with several metrics, in memory.

    Returns:
        How the metric was asked for -> system -> scores.
    """
    progress = told(progress)
    prepared = prepare(metrics, corpus, progress=progress)
    blocks = list(stream(prepared, progress=progress))
    ids = tuple(segment.id for block in blocks for segment in block.segments)
    systems = len(corpus.systems)
    result: dict[str, dict[str, MetricScores]] = {}
    for i, metric in enumerate(metrics):
        totals = Totals(metric, systems)
        for block in blocks:
            totals.add(block.scores[i], block.undefined[i], block.segments)
        columns = {
            "values": np.concatenate([block.scores[i].values for block in blocks]),
            "empty": np.concatenate([block.scores[i].empty for block in blocks]),
            "undefined": np.concatenate([block.undefined[i] for block in blocks]),
            "lost": np.concatenate([block.scores[i].lost for block in blocks]),
        }
        signature = prepared.signature(i)
        result[metric.spec] = {
            name: _scores(
                metric,
                {key: v.reshape(-1, systems)[:, k] for key, v in columns.items()},
                ids,
                signature,
                totals.system(k),
            )
            for k, name in enumerate(corpus.systems)
        }
    return result


def _scores(
    metric: MetricCore,
    columns: Arrays,
    ids: tuple[str, ...],
    signature: Signature,
    system: float,
) -> MetricScores:
    lost = columns["lost"]
    return MetricScores(
        metric=metric.spec,
        values=np.ascontiguousarray(columns["values"], dtype=np.float64),
        system=system,
        higher_is_better=metric.higher_is_better,
        signature=signature,
        ids=ids,
        empty=np.flatnonzero(columns["empty"]),
        undefined=np.flatnonzero(columns["undefined"]),
        truncated=np.flatnonzero(lost),
        tokens_lost=lost[lost > 0],
    )
