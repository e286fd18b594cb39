"""Running several metrics over one corpus, block by block: their encoders encode each text once."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.specs import naming
from bsx.data.corpus import Corpus, Segment, about_tokens, without_context
from bsx.data.writing import Form, InForm, form_of, forms_note, segment_in_form
from bsx.errors import InputError
from bsx.metrics.core import Block, BlockScores, Fitted, MetricCore, Reading, check_scores
from bsx.support.arrays import device_type
from bsx.support.memory import refuse_beyond, show_bytes, text_size
from bsx.support.progress import Progress, Say
from bsx.support.provenance import Signature

Item = TypeVar("Item")
_BLOCK_TOKENS = 131_072  # enough for batches of equal length; more only costs memory
_CARD_BLOCK_TOKENS = 524_288  # 16 full batches: a card idles between the last of a block and the first of the next
_BLOCK_ROWS = 8_192
_FEW = 256  # segments that do not repay a thread
_SHORT = 1_024  # characters of texts that fit in any budget, whatever is computed of them
_STEP = 256  # segments between two reports


@dataclass(frozen=True)
class Plan:
    """What is known of a corpus.

    Attributes:
        segments: how many there are.
        reused: hash of a text -> how many uses of it there are; only texts used more than once.
        references: the least and greatest number of references of a segment.
        forms: how many texts are in which of Unicode's forms; see `bsx.data.writing.form_of`.
        characters: of the candidates, those of each as often as it has references.
    """

    segments: int
    reused: dict[int, int]
    references: tuple[int, int]
    forms: Counter[str] = field(default_factory=Counter)
    characters: int = 0


def texts_of(segment: Segment) -> tuple[str, ...]:
    """Return all texts of a segment."""
    source = () if segment.source is None else (segment.source,)
    return (*segment.candidates, *segment.references, *source)


def present_references(segment: Segment) -> int:
    """Return how many references a segment has; a blank one is none, unless there is no other."""
    several = segment.references if len(segment.references) > 1 else ()
    return max(1, sum(1 for text in several if without_context(text).strip()))


def survey(corpus: Corpus, form: Form, progress: Callable[[int], None] | None = None, *, reused: bool = True) -> Plan:
    """Read a corpus once: check all of it, and count the texts, in the form in which they will be compared.

    Those that are used again are counted if ``reused``, in some 16 bytes a text. An empty corpus is refused.
    """
    hashes = array("q")
    segments, fewest, most, characters = 0, 0, 0, 0
    forms = Counter[str]()
    for given in corpus:
        for text in texts_of(given):
            forms[form_of(text)] += 1
        segment = segment_in_form(given, form)
        if reused:
            hashes.extend(map(hash, texts_of(segment)))
        present = present_references(segment)
        most = max(most, present)
        fewest = min(fewest or present, present)
        segments += 1
        characters += present * sum(map(len, segment.candidates))
        if progress is not None and segments % _STEP == 0:
            progress(segments)
    if segments == 0:
        raise InputError("there is nothing to score: the input holds no segment")
    if progress is not None:
        progress(segments)
    values, counts = np.unique(np.frombuffer(hashes, dtype=np.int64), return_counts=True)
    again = counts > 1
    uses = dict(zip(values[again].tolist(), counts[again].tolist(), strict=True))
    return Plan(segments, uses, (fewest, most), forms, characters)


@dataclass(frozen=True)
class Prepared:
    """What one pass over the corpus taught each metric.

    Attributes:
        plan: how many segments and references it has, and which texts come again.
        fitted: what each metric's `fit` returned.
        doubts: what speaks against each metric on these texts, one sentence each.
    """

    metrics: tuple[MetricCore, ...]
    corpus: Corpus
    plan: Plan
    fitted: tuple[Fitted, ...]
    doubts: tuple[tuple[str, ...], ...]

    def signature(self, index: int) -> Signature:
        """Return the signature of one metric on this corpus."""
        return self.metrics[index].signature(self.fitted[index], self.plan.references).doubted(self.doubts[index])


@dataclass(frozen=True)
class ScoredBlock:
    """Results of consecutive segments, one `BlockScores` a metric; rows are segments x systems, systems fastest.

    Undefined values are replaced and counted.
    """

    segments: list[Segment]
    scores: list[BlockScores]

    def select(self, segments: NDArray[np.int64]) -> ScoredBlock:
        """Return some segments, each with the rows of all systems."""
        systems = len(self.scores[0].values) // len(self.segments)
        rows = (segments[:, None] * systems + np.arange(systems)).ravel()
        return ScoredBlock([self.segments[i] for i in segments], [scores.select(rows) for scores in self.scores])


def check_needs(metrics: Sequence[MetricCore], has: frozenset[str]) -> None:
    """Raise InputError for a metric that needs what the data lacks, or that is asked for twice."""
    specs = [metric.spec for metric in metrics]
    if twice := [spec for spec in specs if specs.count(spec) > 1]:
        raise InputError(f"the metric {twice[0]} is asked for twice")
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
    metrics: Sequence[MetricCore],
    corpus: Corpus,
    *,
    plan: Plan | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Prepared:
    """Check a corpus and let each metric read it, if it wants to.

    Args:
        metrics: the metrics, which read texts in the form that their encoders say.
        corpus: the corpus.
        plan: what `survey` said of it, if it was asked before.
        progress: called with a phase's name, segments done and segments in all.
        say: told what a metric will take that takes long, or costs money.

    Raises:
        InputError: if the corpus lacks what a metric needs, or is malformed.
    """
    check_needs(metrics, corpus.has)
    report = None if progress is None else lambda done: progress("reading", done, 0)
    form = shared_form(metrics)
    plan = plan or survey(corpus, form, progress=report, reused=any(metric.encodes for metric in metrics))
    texts = Reading(corpus, form, progress=progress, say=say)
    fitted, doubts = [], []
    for metric in metrics:
        metric.encoders.remark("forms", forms_note(plan.forms, form))
        with naming(metric.spec, among=len(metrics)):
            fitted.append(metric.fit(texts))
            doubts.append(metric.doubts_of(texts))
    return Prepared(tuple(metrics), corpus, plan, tuple(fitted), tuple(doubts))


def shared_form(metrics: Sequence[MetricCore]) -> Form:
    """Return the form in which metrics compare texts; raise InputError if their encoders name several."""
    first, *others = dict.fromkeys(metric.encoders.config.normalize for metric in metrics)
    if others:
        raise InputError(f"the metrics of one run read texts in one form, not in {first} and {others[0]} (normalize)")
    return first


def block_tokens(metrics: Sequence[MetricCore]) -> int:
    """Return about how many tokens a block of `stream` has: half of the memory budget, the other half remembers."""
    per_token = sum(metric.bytes_per_token for metric in metrics)
    if not per_token:
        return _BLOCK_TOKENS
    budget = min(metric.encoders.budget for metric in metrics) // 2
    on_card = any(device_type(metric.encoders.device) == "cuda" for metric in metrics)
    return max(1, min(_CARD_BLOCK_TOKENS if on_card else _BLOCK_TOKENS, budget // per_token))


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
    corpus, done, total = prepared.corpus, start, prepared.plan.segments
    sessions = {id(metric.encoders): metric.encoders for metric in prepared.metrics}.values()
    form = shared_form(prepared.metrics)
    uses = dict(prepared.plan.reused)  # those that remain
    for segment in islice(InForm(corpus, form), start) if uses else ():
        for text in texts_of(segment):
            if hash(text) in uses:
                uses[hash(text)] -= 1
    with ExitStack() as stack:
        used = [stack.enter_context(encoders.expecting(uses)) for encoders in sessions]
        pieces = (looked_ahead(part, prepared.metrics, form) for part in blocks_of(islice(corpus, start, None), tokens))
        for segments, block in ahead(pieces, worthwhile=total - start > _FEW):
            if progress is not None and len(prepared.metrics) == 1:
                block = replace(block, report=_within(done, len(segments), total, progress))
            yield score_segments(prepared.metrics, prepared.fitted, segments, block)
            for count in used if uses else ():
                count(text for segment in segments for text in texts_of(segment_in_form(segment, form)))
            done += len(segments)
            if progress is not None:
                progress("scoring", done, total)


def looked_ahead(segments: list[Segment], metrics: Sequence[MetricCore], form: Form) -> tuple[list[Segment], Block]:
    """Return segments with their rows in a form, and what metrics prepare of these."""
    block = Block.of([segment_in_form(segment, form) for segment in segments])
    for metric in metrics:
        block.ahead[metric.spec] = metric.look_ahead(block)
    return segments, block


def _within(done: int, segments: int, total: int, progress: Progress) -> Callable[[float], None]:
    """Return a function that reports a share of a block as segments done."""
    return lambda share: progress("scoring", done + int(share * segments), total)


def ahead(items: Iterator[Item], *, worthwhile: bool = True) -> Iterator[Item]:
    """Yield the same items up to None, each prepared in another thread while the one before it is being used.

    A single small item does not repay the thread: it is not ``worthwhile``.
    """
    if not worthwhile:
        yield from items
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="bsx-tokenise") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


def fill_undefined(metric: MetricCore, scores: BlockScores) -> None:
    """Give undefined rows the score of empty ones, and note which they are, those without content apart.

    Of a metric that keeps what is missing, they stay without a score.
    """
    missing = np.isnan(scores.values)
    fill = np.nan if metric.keeps_missing else metric.entry.empty
    scores.values = np.where(missing, 0.0 if fill is None else fill, scores.values)
    scores.undefined = (missing | scores.undefined) & ~scores.empty


def score_segments(
    metrics: Sequence[MetricCore], fitted: Sequence[Fitted], segments: list[Segment], block: Block | None = None
) -> ScoredBlock:
    """Score some segments with every metric, given what the `fit` of each returned, and the rows if they are made."""
    if block is None:
        block = Block.of([segment_in_form(segment, shared_form(metrics)) for segment in segments])
    refuse_large_texts(metrics, block)
    scores = []
    for metric, learnt in zip(metrics, fitted, strict=True):
        with naming(metric.spec, among=len(metrics)):
            result = metric.score_block(block, learnt)
        check_scores(metric, result, BlockScores, len(block))
        if metric.encoders.config.strict and result.lost.any():
            row = int(result.lost.argmax())
            name = block.ids[row] if block.ids else row + 1
            raise InputError(
                f"{metric.spec}: a text of segment {name} has {result.lost[row]} tokens more than its model reads: "
                "shorten it, or leave out strict"
            )
        fill_undefined(metric, result)
        scores.append(result)
    return ScoredBlock(segments, scores)


def refuse_large_texts(metrics: Sequence[MetricCore], block: Block) -> None:
    """Raise InputError for a row whose texts would take more memory than the budget, before anything is computed."""
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
        distinct = set(texts_of(segment))
        grows_by = sum(map(about_tokens, distinct - texts))
        if segments and (size + grows_by > tokens or len(segments) * len(segment.candidates) >= _BLOCK_ROWS):
            yield segments
            segments, texts, size = [], set(), 0
            grows_by = sum(map(about_tokens, distinct))
        segments.append(segment)
        texts |= distinct
        size += grows_by
    if segments:
        yield segments
