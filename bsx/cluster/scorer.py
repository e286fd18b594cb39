"""Scores of Arrow tables by any engine that runs Python on parts of a data set: Ray, Spark, Daft, Dask, datasets."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import pickle
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.data.cells import text as check_text
from bsx.data.corpus import Segment, without_context
from bsx.data.detect import script_of_letters
from bsx.data.forms import InForm, segment_in_form
from bsx.encode.idf import IdfCounter
from bsx.encode.run_config import EncoderSettings, RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.base import Metric
from bsx.metrics.core import BY_SCRIPT, Fitted, MetricCore
from bsx.metrics.run import ScoredBlock, block_tokens, blocks_of, check_needs, score_segments, shared_form
from bsx.metrics.zoo import get_metrics, make_again, recipe
from bsx.support.optional import installed, need
from bsx.support.settings import part, settled
from bsx.support.signature import Signature
from bsx.support.untyped import Untyped

ROW = "bsx row"
Chosen = TypeVar("Chosen", bound=RunConfig)
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


@dataclass(frozen=True)
class DatasetColumns:
    """Which columns of a data set hold what.

    Attributes:
        candidates: candidates, one column a system.
        references: references, each a text or a list of texts; empty if there are none.
        source: sources, or None.
    """

    candidates: tuple[str, ...]
    references: tuple[str, ...] = ()
    source: str | None = None

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.candidates, *self.references, *([self.source] if self.source is not None else [])]

    @property
    def has(self) -> frozenset[str]:
        """What there is beside candidates: ``reference``, ``source`` or both."""
        given = {"reference": bool(self.references), "source": self.source is not None}
        return frozenset(kind for kind, there in given.items() if there)

    def check(self, there: Sequence[str]) -> None:
        """Raise an `InputError` if a table with these columns lacks one, or has two of its name."""
        for name in self.names:
            if (found := list(there).count(name)) != 1:
                what = f"{found} columns" if found else "no column"
                raise InputError(f"the table has {what} {name!r}; it has {', '.join(there) or 'none'}")

    def segments(self, table: Untyped) -> Iterator[Segment]:
        """Yield the rows of an Arrow table.

        Raises:
            InputError: for a column that is not there, or a cell that is not a text.
        """
        self.check(table.column_names)
        read = {name: table.column(name).to_pylist() for name in self.names}
        for row in range(table.num_rows):
            cells = {name: values[row] for name, values in read.items()}
            several: list[str] = []
            for name in self.references:
                texts = cells[name] if isinstance(cells[name], list) else [cells[name]]
                several += [check_text(text, f"column {name!r}") for text in texts]
            if self.references and not several:
                raise InputError(f"column {self.references[0]!r} holds an empty list: a row needs a reference")
            yield Segment(
                str(row + 1),
                tuple(check_text(cells[name], f"column {name!r}") for name in self.candidates),
                tuple(several),
                check_text(cells[self.source], f"column {self.source!r}") if self.source is not None else None,
            )


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

    _fitted: tuple[Fitted, ...] | None
    _counting: list[str]
    _key: str

    @settled(BatchSettings)
    def __init__(self, metrics: str | Sequence[str], settings: BatchSettings) -> None:
        several = [settings.reference] if isinstance(settings.reference, str) else list(settings.reference or [])
        columns = DatasetColumns((settings.candidate,), tuple(several), settings.source)
        shared = part(alike(settings), EncoderSettings)
        # What was kept of a table would put the texts of the next one into other batches, where they round otherwise.
        made = get_metrics(metrics, encoders=Encoders(**shared, remember=False))
        check_needs(made, columns.has)
        for metric in made:
            by_itself = metric.counts is not None and type(metric).count is MetricCore.count
            if by_itself or type(metric).learn is not MetricCore.learn:
                raise InputError(f"{metric.spec} reads all rows before it scores one: score it without an engine")
        self._set(made, columns, [settings.prefix + metric.spec for metric in made])
        self._statistics = settings.statistics
        with _LOCK:
            _keep(self._key, made)
        if not self._counting:
            self._fitted = tuple(metric.fit_counted(_Counted(columns, {}), iter(())) for metric in made)

    @classmethod
    def of(cls, metrics: Sequence[MetricCore], fitted: Sequence[Fitted], columns: DatasetColumns) -> BatchScorer:
        """Return one of metrics that are there, and what they learnt."""
        made = object.__new__(cls)
        made._set(metrics, columns, [metric.spec for metric in metrics])
        made._fitted = tuple(fitted)
        return made

    def _set(self, metrics: Sequence[MetricCore], columns: DatasetColumns, names: list[str]) -> None:
        self._recipes = [recipe(metric) for metric in metrics]
        self._run = {**metrics[0].encoders.settings(), "remember": False}
        self._columns, self._names = columns, names
        self._tokens = block_tokens(metrics)  # of each machine's own memory they would not be the same ones
        self._expected = [metric.signature().without_notes() for metric in metrics]
        self._statistics = False
        self._fitted = None
        self._doubts: tuple[tuple[str, ...], ...] = tuple(() for _ in metrics)
        self._references: tuple[int, int] | None = None
        self._counting = [what for metric in metrics if (what := _learns(metric)) is not None]
        self._key = hashlib.sha256(pickle.dumps((self._recipes, self._run))).hexdigest()

    @property
    def learns(self) -> str | None:
        """What a metric must know of the whole data set before it scores a part, in words; None if nothing is left."""
        return self._counting[0] if self._counting and self._fitted is None else None

    @property
    def names(self) -> list[str]:
        """The columns of scores that it adds."""
        return list(self._names)

    @property
    def columns(self) -> list[str]:
        """The columns that it reads."""
        return self._columns.names

    @property
    def references(self) -> tuple[int, int] | None:
        """The least and greatest number of references of a row; None if it has not learnt that."""
        return self._references

    def with_references(self, fewest: int, most: int) -> BatchScorer:
        """Return a scorer whose signatures say how many references a row has."""
        result = copy.copy(self)
        result._references = (fewest, most)
        return result

    @property
    def signatures(self) -> dict[str, str]:
        """Column -> the signature of its scores; the number of references is in it once it has learnt that."""
        return {name: str(self._signature(i, self._references)) for i, name in enumerate(self._names)}

    def _signature(self, index: int, references: tuple[int, int] | None) -> Signature:
        with _LOCK:
            metric = self._opened()[index]
        fitted = None if self._fitted is None else self._fitted[index]
        return metric.signature(fitted, references).doubted(self._doubts[index])

    def __call__(self, table: Untyped) -> Untyped:
        """Score the rows of an Arrow table or record batch; return one with the new columns.

        Raises:
            InputError: for a column that is missing, taken or there twice, or a cell that is not a text; if a metric
                must know the whole data set first; if model or versions are not those of the machine that the scorer
                is from.
        """
        arrow = need("pyarrow", "scoring Arrow tables")
        fields = list(self.schema(_as_table(table).schema))[table.num_columns :]
        blocks = self._score(table)
        added: list[Untyped] = []
        for i in range(len(self._names)):
            added.append(np.concatenate([np.zeros(0), *(block.scores[i].values for block in blocks)]))
            if self._statistics:
                added.append([row for block in blocks for row in _statistics(block, i)])
        results = [*table.columns, *(arrow.array(new, field.type) for new, field in zip(added, fields, strict=True))]
        return type(table).from_arrays(results, schema=arrow.schema([*table.schema, *fields], table.schema.metadata))

    def schema(self, schema: Untyped) -> Untyped:
        """Return the Arrow schema of what `__call__` makes of a table with this one.

        Raises:
            InputError: for a column that is missing, twice there, or taken.
        """
        arrow = need("pyarrow", "scoring Arrow tables")
        self._columns.check(schema.names)
        for name in self._names:
            schema = _appended(schema, arrow.field(name, arrow.float64()))
            if self._statistics:
                schema = _appended(schema, arrow.field(f"{name} statistics", arrow.list_(arrow.float64())))
        return schema

    def figures(self, table: Untyped) -> Untyped:
        """Return every figure of every system of a table's rows, under names of its own, by the rows' numbers."""
        arrow = need("pyarrow", "scoring Arrow tables")
        blocks = self._score(table)
        figures = {ROW: table.column(ROW)}
        for i in range(len(self._names)):
            figures |= _figures(blocks, i, len(self._columns.candidates))
        return arrow.table(figures)

    def _score(self, table: Untyped) -> list[ScoredBlock]:
        if self.learns is not None:
            raise InputError(self.learns)
        segments = self._columns.segments(_as_table(table))
        with _LOCK:
            metrics = self._opened()
            blocks = [score_segments(metrics, self._fitted or (), part) for part in blocks_of(segments, self._tokens)]
            metrics[0].encoders.forget()
        return blocks

    def totals(self, table: Untyped) -> Untyped:
        """Add up the statistics of scored rows, or of totals of these: one row takes the place of a table.

        Raises:
            InputError: if the table has no statistics.
        """
        arrow = need("pyarrow", "scoring Arrow tables")
        sums = {}
        for name in self._names:
            column = f"{name} statistics"
            if column not in _as_table(table).schema.names:
                raise InputError(f"the table has no column {column!r}: score with statistics=True")
            sums[column] = [_added(_as_table(table).column(column).to_pylist())] if table.num_rows else []
        schema = arrow.schema([arrow.field(column, arrow.list_(arrow.float64())) for column in sums])
        return type(table).from_arrays([arrow.array(sums[f.name], f.type) for f in schema], schema=schema)

    def corpus_scores(self, statistics: Untyped) -> dict[str, CorpusResult]:
        """Return column -> the corpus score of all rows whose statistics these are.

        Args:
            statistics: a scored table, or totals; or several of them.

        Raises:
            InputError: if there is no row.
        """
        found = [self.totals(one) for one in _parts(statistics) if _as_table(one).num_rows]
        if not found:
            raise InputError("there is nothing to score: the statistics hold no row")
        with _LOCK:
            metrics = self._opened()
        results = {}
        for i, (name, metric) in enumerate(zip(self._names, metrics, strict=True)):
            own = f"{name} statistics"
            sums = np.array(_added([one.column(one.schema.names.index(own))[0].as_py() for one in found]))
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
        arrow = need("pyarrow", "scoring Arrow tables")
        counts = {what: Counter[int]() for what in ("references", *(f"letters {side}" for side in _SIDES))}
        with _LOCK:
            metrics = self._opened()
            form = shared_form(metrics)
            segments = [segment_in_form(segment, form) for segment in self._columns.segments(_as_table(table))]
            counters = [
                counter for metric in metrics for counter in metric.count(_Counted(self._columns, {}, segments))
            ]
        for i, counter in enumerate(counters):
            counts[f"documents {i}"] = Counter({0: counter.documents})
            counts[f"idf {i}"] = counter.frequency
        for side, texts in zip(_SIDES, _sides(segments), strict=True):
            counts[f"letters {side}"].update({ord(letter): n for letter, n in Counter("".join(texts)).items()})
        counts["references"].update(map(_present, segments))
        rows = [(what, value, n) for what, counter in counts.items() for value, n in counter.items()]
        what, value, n = zip(*rows, strict=True) if rows else ((), (), ())
        schema = arrow.schema(list(zip(_COUNTS, (arrow.string(), arrow.int64(), arrow.int64()), strict=True)))
        arrays = [arrow.array(column, field.type) for column, field in zip((what, value, n), schema, strict=True)]
        return type(table).from_arrays(arrays, schema=schema)

    def learn(self, counts: Untyped) -> BatchScorer:
        """Return a scorer that knows the whole data set.

        Args:
            counts: what `count` returned for its parts, or sums of that; one table or several.

        Raises:
            InputError: if nothing was counted.
        """
        found: dict[str, Counter[int]] = {}
        for one in map(_as_table, _parts(counts)):
            for what, value, n in zip(*(one.column(name).to_pylist() for name in _COUNTS), strict=True):
                found.setdefault(what, Counter())[value] += n
        if not found.get("references"):
            raise InputError("there is nothing to learn from: the counts are of no row")
        documents = sorted((int(what.split()[1]), n.total()) for what, n in found.items() if "documents " in what)
        counters = iter([IdfCounter(n, found.get(f"idf {i}", {})) for i, n in documents])
        letters = {side: {chr(code): n for code, n in found.get(f"letters {side}", {}).items()} for side in _SIDES}
        scripts = {side: script for side, there in letters.items() if (script := script_of_letters(there)) is not None}
        corpus = _Counted(self._columns, scripts)
        result = copy.copy(self)
        with _LOCK:
            metrics = self._opened()
            result._fitted = tuple(metric.fit_counted(corpus, counters) for metric in metrics)
            result._doubts = tuple(metric.doubts_of(corpus) for metric in metrics)
        result._references = (min(found["references"]), max(found["references"]))
        return result

    def _opened(self) -> list[Metric]:
        """Return the metrics of this process, opened once.

        Raises:
            InputError: if one is not what it was where the scorer is from.
        """
        if self._key not in _OPENED:
            metrics = make_again(self._recipes, Encoders(**self._run))
            for metric, expected in zip(metrics, self._expected, strict=True):
                here = metric.signature().without_notes()
                names = dict.fromkeys(name for name, _ in (*expected.fields, *here.fields))
                for name in names:
                    if expected.get(name) != here.get(name):
                        raise InputError(
                            f"{metric.spec} has {name} {here.get(name) or 'none'} on this machine, the scorer is from "
                            f"one with {expected.get(name) or 'none'}: put the same on both"
                        )
            _keep(self._key, metrics)
        _OPENED.move_to_end(self._key)
        return _OPENED[self._key]


def alike(run: Chosen) -> Chosen:
    """Return a run's settings without those that each machine would read in its own way: ``auto`` is PyTorch."""
    backend = "torch" if installed("torch") else "onnx"
    return run.model_copy(update={"backend": backend}) if run.backend == "auto" else run


_MOST = 2  # scorers of a process that stay open
_OPENED: OrderedDict[str, list[Metric]] = OrderedDict()
_LOCK = threading.RLock()
"""Held while a table is scored: two at once would share what they encode, and so round by chance."""


def _keep(key: str, metrics: list[Metric]) -> None:
    """Keep metrics open in this process, in place of those that were not used for longest."""
    _OPENED[key] = metrics
    while len(_OPENED) > _MOST:
        _OPENED.popitem(last=False)


def _start_anew() -> None:
    """Forget what a process opened before it was forked: threads of a runtime do not live on in the copy."""
    global _LOCK
    _OPENED.clear()
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


class _Counted(InForm):
    """Segments of which scripts are known already; none of them, where only counts are."""

    def __init__(self, columns: DatasetColumns, scripts: Mapping[str, str], segments: Sequence[Segment] = ()) -> None:
        self.systems, self.has = columns.candidates, columns.has
        self._segments = segments
        self.__dict__["scripts"] = dict(scripts)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)


def _learns(metric: MetricCore) -> str | None:
    """Return why a metric cannot score a part of a data set by itself."""
    if metric.counts is not None:
        return (
            f"{metric.spec} counts {metric.counts} over the whole data set: count its parts, and learn from the counts"
        )
    if any(re.search(rf"(^|:){BY_SCRIPT}\b", value) for _, value in metric.signature().fields):
        return (
            f"{metric.spec} cuts texts by the script of the whole data set: name lang, or the metric's own setting, or "
            "count its parts and learn from the counts"
        )
    return None


def _appended(schema: Untyped, field: Untyped) -> Untyped:
    if field.name in schema.names:
        raise InputError(f"the data set has a column {field.name!r} already: choose another name with prefix")
    return schema.append(field)


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


def _present(segment: Segment) -> int:
    """Return how many references a row has, as `bsx.metrics.run.survey` counts them."""
    return max(1, sum(1 for text in segment.references if without_context(text).strip()))


def _sides(segments: Sequence[Segment]) -> tuple[list[str], list[str], list[str]]:
    return (
        [text for segment in segments for text in segment.candidates],
        [text for segment in segments for text in segment.references],
        [segment.source for segment in segments if segment.source is not None],
    )


def _statistics(block: ScoredBlock, metric: int) -> Iterator[list[float]]:
    """Yield what each row of one system adds to a metric's corpus score; see `_HEAD`."""
    scores, undefined = block.scores[metric], block.undefined[metric]
    for row, segment in enumerate(block.segments):
        value, references = float(scores.values[row]), _present(segment)
        defined = not math.isnan(value)
        flags = (defined, scores.empty[row], undefined[row], scores.lost[row] > 0, scores.lost[row])
        own = () if scores.statistics is None else scores.statistics[row].tolist()
        yield [1.0, references, references, value if defined else 0.0, *map(float, flags), *own]


def _added(rows: Sequence[Sequence[float]]) -> list[float]:
    """Add up statistics of rows; whole numbers exactly, others rounded once."""
    columns = list(zip(*rows, strict=True))
    fewest, most = _HEAD.index("fewest"), _HEAD.index("most")
    return [
        min(column) if i == fewest else max(column) if i == most else math.fsum(column)
        for i, column in enumerate(columns)
    ]


def _figures(blocks: Sequence[ScoredBlock], metric: int, systems: int) -> dict[str, list[object]]:
    """Return one metric's figures of every row of a batch: for each, a list over systems."""
    scores = [block.scores[metric] for block in blocks]
    columns: dict[str, list[NDArray[np.generic]]] = {
        "values": [score.values for score in scores],
        "empty": [score.empty for score in scores],
        "lost": [score.lost for score in scores],
        "undefined": [block.undefined[metric] for block in blocks],
    }
    if scores and scores[0].statistics is not None:
        columns["statistics"] = [score.statistics for score in scores if score.statistics is not None]
    if scores and (first := scores[0].figures) is not None:
        layout = (len(first), first.shape[2])
        columns["figures"] = [score.all_figures().transpose(1, 0, 2).reshape(len(score.values), -1) for score in scores]
        columns["layout"] = [np.tile(layout, (len(score.values), 1)) for score in scores]
    return {
        f"{metric} {name}": [list(row) for row in np.concatenate(parts).reshape(-1, systems * _width(parts[0]))]
        for name, parts in columns.items()
    }


def _width(array: NDArray[np.generic]) -> int:
    return int(array.shape[1]) if array.ndim > 1 else 1
