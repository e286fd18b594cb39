"""Running a cascade over files: the cheap metric over all rows, the costly one over those of its band."""

from __future__ import annotations

import hashlib
import io
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bsx.data.corpus import Corpus, Segment
from bsx.data.journal import Journal
from bsx.data.pairing import printed
from bsx.errors import InputError
from bsx.jobs.scoring.resume import kept_blocks, pack, unpack
from bsx.metrics.blocks import BlockScores
from bsx.metrics.cascade import MAPPED, MARKS, Band, Line, Marks, Unit, choose, numbered
from bsx.metrics.core import MetricCore
from bsx.metrics.run import Plan, Prepared, ScoredBlock, block_tokens, prepare, shared_form, stream, survey
from bsx.support.progress import Progress, Say
from bsx.support.untyped import JsonObject


@dataclass(frozen=True)
class CascadeSettings:
    """Which rows the costly metric scores; see `bsx.metrics.cascade.choose`.

    Attributes:
        band: ranks under the cheap metric.
        unit: what is ranked; None: segments where they have candidates of several systems, else rows.
        anchors: rows outside the band that are scored by both metrics.
    """

    band: Band
    unit: Unit | None
    anchors: int


@dataclass(frozen=True)
class Cascaded:
    """A cascade whose rows are chosen and scored.

    Attributes:
        prepared: the cheap metric and the costly one, with the corpus; its signature of the costly one has the cascade.
        blocks: all rows' scores in the order of the corpus.
        summary: which metric scored how many rows, and how well the cheap one tells what the costly one says.
    """

    prepared: Prepared
    blocks: Iterator[ScoredBlock]
    summary: JsonObject


class ChosenRows:
    """Some rows of a corpus, one candidate a segment.

    Args:
        corpus: all segments.
        marks: each row's mark; those that are mapped are left out.
    """

    def __init__(self, corpus: Corpus, marks: Marks) -> None:
        self._corpus, self._marks = corpus, marks
        self.systems: tuple[str, ...] = ("candidate",)
        self.has = corpus.has
        self.files = getattr(corpus, "files", [])
        digest = hashlib.sha256(marks.tobytes()).hexdigest()[:12]
        self.layout = [*corpus.systems, *getattr(corpus, "layout", []), f"rows {digest}"]

    def __iter__(self) -> Iterator[Segment]:
        """Read them from the start."""
        systems = self._corpus.systems
        rows = iter(self._marks != MAPPED)
        for segment in self._corpus:
            for k, (candidate, chosen) in enumerate(zip(segment.candidates, rows, strict=False)):
                if chosen:
                    system = segment.system if len(systems) == 1 else systems[k]
                    yield replace(segment, candidates=(candidate,), row=None, system=system)


class _Kept:
    """Blocks of scores in a temporary file without a name, to be read once more."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="bsx-cascade-")  # noqa: SIM115 - ends with this object
        weakref.finalize(self, self._file.close)
        self._sizes = array("q")

    def append(self, block: ScoredBlock) -> None:
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **pack(block))
        self._file.write(content.getvalue())
        self._sizes.append(content.tell())

    def blocks(self, corpus: Corpus) -> Iterator[ScoredBlock]:
        """Yield the blocks with their segments."""
        segments = iter(corpus)
        self._file.seek(0)
        for size in self._sizes:
            with np.load(io.BytesIO(self._file.read(size)), allow_pickle=False) as members:
                arrays = {name: members[name] for name in members.files}
            yield unpack(arrays, list(islice(segments, int(arrays["segments"]))))


def check_pair(cheap: MetricCore, costly: MetricCore) -> None:
    """Refuse metrics that make no cascade.

    Raises:
        InputError: naming the metric.
    """
    if cheap.keeps_missing:
        raise InputError(f"cascade: {cheap.spec} leaves rows without a score, so it cannot rank them: name another")
    if type(costly).system_score is not MetricCore.system_score:
        raise InputError(
            f"cascade: the corpus score of {costly.spec} is no mean of its rows' scores, so some of them do not do: "
            "name another metric in metrics"
        )


def cascaded(
    metrics: Sequence[MetricCore],
    corpus: Corpus,
    settings: CascadeSettings,
    *,
    plan: Plan,
    journal: Journal | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    say: Say,
) -> Cascaded:
    """Score a corpus with a cheap metric, and some of its rows with a costly one.

    What the costly metric counts over a corpus (idf) it counts over all of it, so that the rows that it scores have
    the scores of a run of all rows. About 100 bytes a row are held in memory.

    Args:
        metrics: the cheap one and the costly one.
        corpus: the segments.
        settings: which rows.
        plan: what `survey` said of the corpus.
        journal: keeps what the costly metric scored; the cheap one scores anew when a run goes on.
        resume: whether to take up an unfinished run.
        progress: called with a phase's name, segments done and segments in all.
        say: told what the user should know.

    Raises:
        InputError: if the metrics make no cascade, or no segment has candidates to choose from.
    """
    cheap, costly = metrics
    shared_form(metrics)
    check_pair(cheap, costly)
    first = prepare([cheap], corpus, plan=plan, progress=progress, say=say)
    kept, scores, keys, several = _all_rows(first, _named(progress, cheap))
    rows, segments = len(scores.values), numbered(keys)
    alone = segments.max() + 1 == rows
    unit = settings.unit or ("segments" if several and not alone else "rows")
    if unit != "rows" and alone:
        raise InputError(
            f"band_of={unit}: no segment has several candidates: leave it out, or name the segments' column"
        )
    good = scores.values if cheap.higher_is_better else -scores.values
    marks = choose(good, segments, scores.empty, settings.band, unit, settings.anchors)
    chosen = ChosenRows(corpus, marks)
    some = survey(chosen, shared_form(metrics))
    # What asks about each text as it reads them (a judge) reads those of the band; what counts them reads them all.
    asks = type(costly).learn is not MetricCore.learn
    second = prepare([costly], chosen if asks else corpus, plan=some if asks else plan, progress=progress, say=say)
    cascade = {
        "cascade": f"{cheap.spec}@{first.signature(0).digest}",
        "band": f"{settings.band} of {unit}",
        "anchors": settings.anchors,
    }
    prepared = Prepared(
        (cheap, costly),
        corpus,
        plan,
        (*first.fitted, *second.fitted),
        (*first.doubts, *second.doubts),
        ({}, cascade),
    )
    band = replace(second, corpus=chosen, plan=replace(some, references=plan.references), more=(cascade,))

    def compute(start: int, tokens: int) -> Iterator[ScoredBlock]:
        return stream(band, progress=_named(progress, costly), start=start, tokens=tokens)

    results = kept_blocks(journal, resume, band, block_tokens([costly]), compute, say)
    parts = [(block.scores[0], block.undefined[0]) for block in results]
    place = np.cumsum(marks != MAPPED) - 1
    found = _joined([part for part, _ in parts])
    undefined = np.concatenate([part for _, part in parts])
    anchors = np.flatnonzero(marks == MARKS.index("anchor"))
    alike = cheap.higher_is_better == costly.higher_is_better
    line = Line.fit(scores.values[anchors], found.values[place[anchors]], alike=alike)

    def blocks() -> Iterator[ScoredBlock]:
        end = 0
        for block in kept.blocks(corpus):
            start, end = end, end + len(block.undefined[0])
            marked, at = marks[start:end], place[start:end]
            there = marked != MAPPED
            values = np.where(there, found.values[at], line(block.scores[0].values))
            own = BlockScores(values, there & found.empty[at], np.where(there, found.lost[at], 0))
            yield ScoredBlock(
                block.segments,
                [block.scores[0], own],
                [block.undefined[0], there & undefined[at]],
                tuple(MARKS[mark] for mark in marked),
            )

    counts = {name: int(np.sum(marks == mark)) for mark, name in enumerate(MARKS)}
    summary: JsonObject = {
        "metric": cheap.spec,
        "costly": costly.spec,
        "ranks": str(settings.band),
        "of": unit,
        "rows": rows,
        **counts,
        "share": 1 - counts["mapped"] / rows,
        "r": None if np.isnan(line.r) else line.r,
        "slope": line.slope,
        "intercept": None if np.isnan(line.intercept) else line.intercept,
    }
    return Cascaded(prepared, blocks(), summary)


def _named(progress: Progress | None, metric: MetricCore) -> Progress | None:
    """Return what is told which metric scores."""
    return None if progress is None else lambda phase, done, total: progress(f"{phase} with {metric.spec}", done, total)


def _all_rows(first: Prepared, progress: Progress | None) -> tuple[_Kept, BlockScores, NDArray[np.int64], bool]:
    """Score all rows with the cheap metric.

    Returns:
        The blocks, the scores of all rows, what tells the segment of each row (rows,), and whether there are several
        systems.
    """
    wide, systems = len(first.corpus.systems), set[str | None]()
    kept, parts, keys = _Kept(), [], array("q")
    for block in stream(first, progress=progress):
        kept.append(block)
        scores = block.scores[0]
        parts.append(BlockScores(scores.values, scores.empty, np.zeros(0, dtype=np.int64)))
        for segment in block.segments:
            keys.extend([hash(printed(segment.id)) if wide == 1 else len(keys) // wide] * wide)
            systems.add(segment.system)
    return kept, _joined(parts), np.frombuffer(keys, dtype=np.int64), wide > 1 or len(systems) > 1


def _joined(parts: Sequence[BlockScores]) -> BlockScores:
    return BlockScores(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "empty", "lost"))
    )
