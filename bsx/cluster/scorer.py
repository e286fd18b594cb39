"""Scores of Arrow tables by any engine that runs Python on parts of a data set: Ray, Spark, Daft, Dask, datasets."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import pickle
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.cluster.corpus import alike
from bsx.cluster.devices import Work
from bsx.data.cells import text as check_text
from bsx.data.cells import texts as check_texts
from bsx.data.corpus import Segment
from bsx.data.writing import script_of_letters, segment_in_form
from bsx.encode.idf import IdfCounter
from bsx.encode.run_config import EncoderSettings
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.base import Metric, get_metrics
from bsx.metrics.core import BY_SCRIPT, Reading
from bsx.metrics.run import (
    ScoredBlock,
    block_tokens,
    blocks_of,
    check_needs,
    present_references,
    score_segments,
    shared_form,
)
from bsx.support.optional import need
from bsx.support.provenance import Signature
from bsx.support.settings import part, settled
from bsx.support.untyped import Untyped

_MOST = 2  # scorers of a process that stay open
_SIDES = ("candidate", "reference", "source")
_HEAD = ("rows", "fewest", "most", "score", "defined", "empty", "undefined", "truncated", "lost")
"""What a cell of statistics begins with; the metric's own follow. All are sums, but fewest and most references."""

_COUNTS = ("what", "value", "rows")


@dataclass(frozen=True)
class CorpusResult:
    """One metric's score of a whole corpus.

    Attributes:
        metric: how the metric was asked for, ``name:field=value``.
        n: how many rows there are.
        system: the metric's score of all of them together: their mean, or what the metric defines (corpus BLEU).
        mean: the mean over rows that have a score; NaN if there is none.
        higher_is_better: whether the higher of two scores is the better one.
        signature: the settings behind these numbers.
        empty: rows of which one side has no content.
        undefined: rows for which the metric is not defined for another reason.
        truncated: rows of which a text was longer than the model's limit.
        tokens_lost: tokens cut off from these.
    """

    metric: str
    n: int
    system: float
    mean: float
    higher_is_better: bool
    signature: Signature
    empty: int
    undefined: int
    truncated: int
    tokens_lost: int


class BatchSettings(EncoderSettings):
    """Which columns of a table hold what, and which are added."""

    candidate: Annotated[str, Field(description="Its column of candidates.")] = "candidate"
    reference: Annotated[
        str | Sequence[str] | None,
        Field(description="Its columns of references, a text or a list of texts in each cell; None if there are none."),
    ] = "reference"
    source: Annotated[str | None, Field(description="Its column of sources, for metrics that need them.")] = None
    prefix: Annotated[str, Field(description="Put before the names of the new columns.")] = ""
    statistics: Annotated[
        bool,
        Field(description="Add a column of statistics for each metric too, from which corpus scores are computed."),
    ] = False


class BatchScorer:
    """A recipe that scores tables: Arrow in, Arrow out, in any process that it is sent to.

    Pickled, it is names, settings and what was counted, no weights. Each process opens the metrics at its first table
    and keeps them for the next ones. The scores of a table depend on the table alone, whatever was scored before, so
    that a batch that an engine repeats after a failure gets the same scores bit for bit.

    >>> import pyarrow as pa
    >>> scorer = BatchScorer("chrf", candidate="mt", reference="ref", statistics=True)
    >>> scored = scorer(pa.table({"mt": ["a small cat", "rain"], "ref": ["the small cat", "rain"]}))
    >>> scored.column("chrf").to_pylist()[1]
    100.0
    >>> round(scorer.corpus_scores(scorer.totals(scored))["chrf"].system, 1)
    70.2

    Args:
        metrics: names or ``name:field=value``, as a list or one comma-separated text.
        settings: see `BatchSettings`. A registry folder is one on every machine; the backend is PyTorch unless given,
            where that is installed.

    Raises:
        InputError: if settings are wrong, or a metric asks about all rows before it scores one (judges).
    """

    @settled(BatchSettings)
    def __init__(self, metrics: str | Sequence[str], settings: BatchSettings) -> None:
        several, source = settings.reference, settings.source
        self._candidate, self._source = settings.candidate, source
        self._several = [several] if isinstance(several, str) else list(several or [])
        self._columns = [self._candidate, *self._several, *([] if source is None else [source])]
        self._has = frozenset(["reference"] * bool(self._several) + ["source"] * (source is not None))
        made = get_metrics(metrics, encoders=Encoders(**part(alike(settings), EncoderSettings), remember=False))
        check_needs(made, self._has)
        missing, nothing = [], _Counted(self._candidate, self._has)
        for metric in made:
            if metric.counts is not None:
                metric.count(nothing)  # refuses where no counts of parts would do
                missing.append(
                    f"{metric.spec} counts {metric.counts} over the whole data set: count its parts, and learn from "
                    "the counts"
                )
            elif any(re.search(rf"(^|:){BY_SCRIPT}\b", value) for _, value in metric.signature().fields):
                missing.append(
                    f"{metric.spec} cuts texts by the script of the whole data set: name lang, or the metric's own "
                    "setting, or count its parts and learn from the counts"
                )
        self.learns: str | None = missing[0] if missing else None
        """What a metric must know of the whole data set before it scores a part, in words; None if nothing is left."""
        self._names = [settings.prefix + metric.spec for metric in made]
        self._statistics = settings.statistics
        self._tokens = block_tokens(made)  # of each machine's own memory they would not be the same ones
        self._work = Work.of(made, [] if missing else [metric.fit(nothing) for metric in made])
        self._doubts: tuple[tuple[str, ...], ...] = tuple(() for _ in made)
        self._references: tuple[int, int] | None = None
        self._key = hashlib.sha256(pickle.dumps((self._work.recipes, self._work.encoders))).hexdigest()
        with _LOCK:
            _OPENED[self._key] = made
            self._opened()

    @property
    def signatures(self) -> dict[str, str]:
        """Column -> the signature of its scores; the number of references is in it once it has learnt that."""
        return {name: str(self._signature(i, self._references)) for i, name in enumerate(self._names)}

    def _signature(self, index: int, references: tuple[int, int] | None) -> Signature:
        fitted = None if self.learns is not None else self._work.fitted[index]
        return self._opened()[index].signature(fitted, references).doubted(self._doubts[index])

    def __call__(self, table: Untyped) -> Untyped:
        """Score the rows of an Arrow table or record batch; return one with the new columns.

        Raises:
            InputError: for a column that is missing, taken or there twice, or a cell that is not a text; if a metric
                must know the whole data set first; if model or versions are not those of the machine that the scorer
                is from.
        """
        import pyarrow as arrow

        whole = _as_table(table)
        schema = self.schema(whole.schema)
        if self.learns is not None:
            raise InputError(self.learns)
        with _LOCK:
            metrics = self._opened()
            pieces = blocks_of(self._segments(whole), self._tokens)
            blocks = [score_segments(metrics, self._work.fitted, piece) for piece in pieces]
            metrics[0].encoders.forget()
        columns = list(table.columns)
        for i in range(len(metrics)):
            values = np.concatenate([np.zeros(0), *(block.scores[i].values for block in blocks)])
            columns.append(arrow.array(values, arrow.float64()))
            if self._statistics:
                rows = [row for block in blocks for row in _statistics(block, i)]
                columns.append(arrow.array(rows, arrow.list_(arrow.float64())))
        return type(table).from_arrays(columns, schema=schema)

    def schema(self, schema: Untyped) -> Untyped:
        """Return the Arrow schema of what `__call__` makes of a table with this one.

        Raises:
            InputError: for a column that is missing, twice there, or taken.
        """
        arrow = need("pyarrow", "scoring Arrow tables")
        self._check(schema.names)
        for name in self._names:
            fields = [arrow.field(name, arrow.float64())]
            if self._statistics:
                fields.append(arrow.field(f"{name} statistics", arrow.list_(arrow.float64())))
            for field in fields:
                if field.name in schema.names:
                    raise InputError(
                        f"the data set has a column {field.name!r} already: choose another name with prefix"
                    )
                schema = schema.append(field)
        return schema

    def totals(self, table: Untyped) -> Untyped:
        """Add up the statistics of scored rows, or of totals of these: one row takes the place of a table.

        Raises:
            InputError: if the table has no statistics.
        """
        import pyarrow as arrow

        whole, sums = _as_table(table), {}
        how = {_HEAD.index("fewest"): min, _HEAD.index("most"): max}  # others are added: whole numbers exactly
        for name in self._names:
            column = f"{name} statistics"
            if column not in whole.schema.names:
                raise InputError(f"the table has no column {column!r}: score with statistics=True")
            figures = enumerate(zip(*whole.column(column).to_pylist(), strict=True))
            sums[column] = [[how.get(i, math.fsum)(column) for i, column in figures]] if whole.num_rows else []
        schema = arrow.schema([arrow.field(column, arrow.list_(arrow.float64())) for column in sums])
        return type(table).from_arrays([arrow.array(sums[f.name], f.type) for f in schema], schema=schema)

    def corpus_scores(self, statistics: Untyped) -> dict[str, CorpusResult]:
        """Return column -> the corpus score of all rows whose statistics these are.

        Args:
            statistics: a scored table, or totals; or several of them.

        Raises:
            InputError: if there is no row.
        """
        from pyarrow import concat_tables

        tables = [_as_table(self.totals(part)) for part in _parts(statistics) if _as_table(part).num_rows]
        if not tables:
            raise InputError("there is nothing to score: the statistics hold no row")
        (total,) = self.totals(concat_tables(tables)).to_pylist()
        results = {}
        for i, (name, metric) in enumerate(zip(self._names, self._opened(), strict=True)):
            sums = np.array(total[f"{name} statistics"])
            head = dict(zip(_HEAD, sums.tolist(), strict=False))
            mean = head["score"] / head["defined"] if head["defined"] else float("nan")
            results[name] = CorpusResult(
                metric=metric.spec,
                n=int(head["rows"]),
                system=metric.system_score(sums[len(_HEAD) :]) if len(sums) > len(_HEAD) else mean,
                mean=mean,
                higher_is_better=metric.higher_is_better,
                signature=self._signature(i, (int(head["fewest"]), int(head["most"]))),
                empty=int(head["empty"]),
                undefined=int(head["undefined"]),
                truncated=int(head["truncated"]),
                tokens_lost=int(head["lost"]),
            )
        return results

    def count(self, table: Untyped) -> Untyped:
        """Count in a table what `learn` needs: documents with each token (idf), letters (script), references.

        Returns:
            A table of counts that add up: ``what``, ``value``, ``rows``.

        Raises:
            InputError: for a column that is missing or stands twice.
        """
        import pyarrow as arrow

        whole = _as_table(table)
        counts = {what: Counter[int]() for what in ("references", *(f"letters {side}" for side in _SIDES))}
        with _LOCK:
            metrics = self._opened()
            form = shared_form(metrics)
            segments = [segment_in_form(segment, form) for segment in self._segments(whole)]
            corpus = _Counted(self._candidate, self._has, segments=segments)
            counters = [counter for metric in metrics if metric.counts for counter in metric.count(corpus)]
        for i, counter in enumerate(counters):
            counts[f"documents {i}"] = Counter({0: counter.documents})
            counts[f"idf {i}"] = counter.frequency
        for segment in segments:
            texts = (segment.candidates, segment.references, [segment.source or ""])
            for side, several in zip(_SIDES, texts, strict=True):
                counts[f"letters {side}"].update(map(ord, "".join(several)))
        counts["references"].update(map(present_references, segments))
        rows = [(what, value, n) for what, counter in counts.items() for value, n in counter.items()]
        schema = arrow.schema(list(zip(_COUNTS, (arrow.string(), arrow.int64(), arrow.int64()), strict=True)))
        arrays = [arrow.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        return type(table).from_arrays(arrays, schema=schema)

    def learn(self, counts: Untyped) -> BatchScorer:
        """Return a scorer that knows the whole data set.

        Args:
            counts: what `count` returned for its parts, or sums of that; one table or several.

        Raises:
            InputError: if nothing was counted.
        """
        counts_of: dict[str, Counter[int]] = {}
        for table in map(_as_table, _parts(counts)):
            for what, value, n in zip(*(table.column(name).to_pylist() for name in _COUNTS), strict=True):
                counts_of.setdefault(what, Counter())[value] += n
        if not counts_of.get("references"):
            raise InputError("there is nothing to learn from: the counts are of no row")
        documents = sorted((int(what.split()[1]), n.total()) for what, n in counts_of.items() if "documents " in what)
        counters = iter([IdfCounter(n, counts_of.get(f"idf {i}", Counter())) for i, n in documents])
        letters = {side: {chr(code): n for code, n in counts_of.get(f"letters {side}", {}).items()} for side in _SIDES}
        scripts = {
            side: script for side, counted in letters.items() if (script := script_of_letters(counted)) is not None
        }
        corpus = _Counted(self._candidate, self._has, scripts, counted=counters)
        result = copy.copy(self)
        with _LOCK:
            metrics = self._opened()
            fitted = tuple(metric.fit(corpus) for metric in metrics)
            result._doubts = tuple(metric.doubts_of(corpus) for metric in metrics)
        result._work, result.learns = replace(self._work, fitted=fitted), None
        result._references = (min(counts_of["references"]), max(counts_of["references"]))
        return result

    def _opened(self) -> list[Metric]:
        """Return the metrics of this process, opened once."""
        with _LOCK:
            metrics = _OPENED.pop(self._key, None) or self._work.open()
            _OPENED[self._key] = metrics
            for key in list(_OPENED)[:-_MOST]:
                del _OPENED[key]
            return metrics

    def _check(self, names: Sequence[str]) -> None:
        """Raise an `InputError` if a table with columns of these names lacks one, or has two of its name."""
        for name in self._columns:
            if (count := list(names).count(name)) != 1:
                what = f"{count} columns" if count else "no column"
                raise InputError(f"the table has {what} {name!r}; it has {', '.join(names) or 'none'}")

    def _segments(self, table: Untyped) -> Iterator[Segment]:
        """Yield the rows of an Arrow table."""
        self._check(table.column_names)
        read = {name: table.column(name).to_pylist() for name in self._columns}
        for row in range(table.num_rows):
            cells = {name: values[row] for name, values in read.items()}
            several = [text for name in self._several for text in check_texts(cells[name], f"column {name!r}")]
            if self._several and not several:
                raise InputError(f"column {self._several[0]!r} holds an empty list: a row needs a reference")
            candidate = check_text(cells[self._candidate], f"column {self._candidate!r}")
            source = None if self._source is None else check_text(cells[self._source], f"column {self._source!r}")
            yield Segment(str(row + 1), (candidate,), tuple(several), source)


_OPENED: dict[str, list[Metric]] = {}
"""The metrics of scorers that are open in this process, the last used at the end."""

_LOCK = threading.RLock()
"""Held while a table is scored: two at once would share what they encode, and so round by chance."""


def _start_anew() -> None:
    """Forget what a process opened before it was forked: threads of a runtime do not live on in the copy."""
    global _LOCK
    _OPENED.clear()
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


class _Counted(Reading):
    """Segments of which scripts are known already; none of them, where only counts are."""

    def __init__(
        self,
        system: str,
        has: frozenset[str],
        scripts: Mapping[str, str] = {},
        *,
        segments: Sequence[Segment] = (),
        counted: Iterator[IdfCounter] | None = None,
    ) -> None:
        self.systems, self.has, self._segments = (system,), has, segments
        self.progress, self.say, self._counted = None, None, counted
        self.__dict__["scripts"] = dict(scripts)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)


def _as_table(table: Untyped) -> Untyped:
    """Return an Arrow table, if it is a record batch of one too.

    Raises:
        InputError: if it is neither.
    """
    arrow = need("pyarrow", "scoring Arrow tables")
    if not isinstance(table, (arrow.Table, arrow.RecordBatch)):
        raise InputError(
            f"needs an Arrow table or record batch, not {type(table).__name__}: ask the engine for Arrow "
            "(batch_format='pyarrow' of Ray, with_format('arrow') of datasets), or make one with pa.Table.from_pandas"
        )
    return arrow.Table.from_batches([table]) if isinstance(table, arrow.RecordBatch) else table


def _parts(tables: Untyped) -> Iterable[Untyped]:
    """Return tables, or one alone, to go through one by one."""
    return tables if isinstance(tables, Iterable) and not hasattr(tables, "schema") else [tables]


def _statistics(block: ScoredBlock, metric: int) -> Iterator[list[float]]:
    """Yield what each row of one system adds to a metric's corpus score; see `_HEAD`."""
    scores = block.scores[metric]
    for row, segment in enumerate(block.segments):
        value, references = float(scores.values[row]), present_references(segment)
        defined = not math.isnan(value)
        flags = (defined, scores.empty[row], scores.undefined[row], scores.lost[row] > 0, scores.lost[row])
        figures = () if scores.statistics is None else scores.statistics[row].tolist()
        yield [1.0, references, references, value if defined else 0.0, *map(float, flags), *figures]
