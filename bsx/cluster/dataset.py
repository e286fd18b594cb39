"""The flow of `bsx.metrics.run` on Ray Data: workers that load the metrics once and score batches of rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.catalog.specs import split_specs
from bsx.data.cells import text as check_text
from bsx.data.corpus import Segment
from bsx.data.forms import InForm
from bsx.encode.run_config import EncoderSettings, RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.core import Fitted
from bsx.metrics.run import ScoredBlock, block_tokens, blocks_of, check_needs, score_segments
from bsx.metrics.zoo import Recipe, get_metrics, make_again, recipe
from bsx.support.optional import need
from bsx.support.settings import part, settled
from bsx.support.untyped import Settings, Untyped

ROW = "bsx row"
Chosen = TypeVar("Chosen", bound=RunConfig)

ROWS = 512  # of a batch: some seconds of an encoder's work, and little to do again after a failure


@dataclass(frozen=True)
class ScoredDataset:
    """A data set with its scores.

    Attributes:
        dataset: the `ray.data.Dataset` with one more column for each metric; lazy, so nothing has been scored yet.
        signatures: column -> the signature of its scores.
    """

    dataset: Untyped
    signatures: dict[str, str]


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

    def segments(self, table: Untyped) -> Iterator[Segment]:
        """Yield the rows of an Arrow table.

        Raises:
            InputError: for a cell that is not a text.
        """
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


class ClusterWorker:
    """One process of the cluster: it builds the metrics once and scores every batch it is given.

    Args:
        recipes: the metrics; see `bsx.metrics.zoo.make_again`.
        run: settings of their encoders; see `bsx.encode.session.Encoders.settings`.
        fitted: what their `fit` returned for the whole data set.
        columns: which columns to read.
        names: the columns of scores to append, one a metric (of one system); None for every figure of every system
            under names of its own, in place of the columns that were read.
    """

    def __init__(
        self,
        recipes: Sequence[Recipe],
        run: Settings,
        fitted: Sequence[Fitted],
        columns: DatasetColumns,
        names: list[str] | None,
    ) -> None:
        self._metrics = make_again(recipes, Encoders(**run))
        self._fitted = fitted
        self._columns = columns
        self._names = names

    def __call__(self, table: Untyped) -> Untyped:
        """Score the rows of an Arrow table."""
        arrow = need("pyarrow", "a worker")
        blocks = [
            score_segments(self._metrics, self._fitted, segments)
            for segments in blocks_of(self._columns.segments(table), block_tokens(self._metrics))
        ]
        if self._names is None:
            figures = {ROW: table.column(ROW)}
            for i in range(len(self._metrics)):
                figures |= _figures(blocks, i, len(self._columns.candidates))
            return arrow.table(figures)
        for i, name in enumerate(self._names):
            values = np.concatenate([np.zeros(0), *(block.scores[i].values for block in blocks)])
            table = table.append_column(name, arrow.array(values))
        return table


class DatasetSettings(EncoderSettings):
    """Which columns of a data set hold what, and how many processes score it."""

    candidate: Annotated[str, Field(description="Its column of candidates.")] = "candidate"
    reference: Annotated[
        str | Sequence[str] | None,
        Field(description="Its columns of references, a text or a list of texts in each cell; None if there are none."),
    ] = "reference"
    source: Annotated[str | None, Field(description="Its column of sources, for metrics that need them.")] = None
    prefix: Annotated[str, Field(description="Put before the names of the new columns.")] = ""
    workers: Annotated[
        int | tuple[int, int], Field(description="Processes that score, or the least and greatest number of them.")
    ] = 1
    cpus: Annotated[
        float, Field(ge=0, le=1024, description="Cores of each; a metric computes with as many threads.")
    ] = 1
    gpus: Annotated[float, Field(ge=0, le=1024, description="Graphics cards of each.")] = 0
    batch_rows: Annotated[int, Field(ge=1, le=10**9, description="Rows scored at a time.")] = ROWS


@settled(DatasetSettings)
def score_dataset(dataset: Untyped, metrics: str | Sequence[str], settings: DatasetSettings) -> ScoredDataset:
    """Score a Ray data set with metrics, on as many machines as its cluster has.

    Each worker is a process that loads the metrics once. A worker that dies is started again and its batch is scored
    by another one. A metric that learns from the whole data set (idf) reads it once before, on the driver; what it
    learnt is sent to every worker. Scores are those of `bsx.get_metrics` within 1e-5: batches are cut differently.

    >>> import ray, bsx.cluster.dataset  # doctest: +SKIP
    >>> pairs = ray.data.read_parquet("pairs/")  # doctest: +SKIP
    >>> scored = bsx.cluster.dataset.score_dataset(pairs, "chrf,bertscore", model="minilm", workers=8)  # doctest: +SKIP
    >>> scored.dataset.write_parquet("scores/")  # doctest: +SKIP

    Args:
        dataset: a `ray.data.Dataset`.
        metrics: names or ``name:field=value``, as a list or one comma-separated text.
        settings: see `DatasetSettings`. A registry folder is one on every machine; the backend is PyTorch unless given.

    Returns:
        The data set with a column for each metric, in the order of its rows, and the signatures.

    Raises:
        InputError: if a column is missing or taken, or settings are wrong; while the data set is read, Ray raises its
            own error around the InputError of a worker.
        MissingExtraError: if Ray is not installed.
    """
    specs = split_specs(metrics) if isinstance(metrics, str) else list(metrics)
    reference, source = settings.reference, settings.source
    several = [reference] if isinstance(reference, str) else list(reference or [])
    columns = DatasetColumns((settings.candidate,), tuple(several), source)
    if not hasattr(dataset, "schema"):
        raise InputError(f"score_dataset reads a ray.data.Dataset, not {type(dataset).__name__}")
    schema = dataset.schema()
    present = list(schema.names) if schema is not None else []
    for name in columns.names:
        if name not in present:
            raise InputError(f"the data set has no column {name!r}; it has {', '.join(present) or 'none'}")
    made = get_metrics(specs, **part(alike(settings), EncoderSettings))
    kinds = {"reference": bool(several), "source": source is not None}
    check_needs(made, frozenset(kind for kind, given in kinds.items() if given))
    names = [settings.prefix + metric.spec for metric in made]
    for name in names:
        if name in present:
            raise InputError(f"the data set has a column {name!r} already: choose another name with prefix")
    dataset.context.execution_options.preserve_order = True  # an idf corpus is told by its texts in their order
    rows = _DatasetCorpus(dataset.select_columns(columns.names), columns)
    corpus = InForm(rows, settings.normalize)
    fitted = tuple(metric.fit(corpus) for metric in made)
    is_text = str(dict(zip(schema.names, schema.types, strict=True)).get(several[0])) == "string" if several else True
    references = (1, 1) if len(several) == 1 and is_text else rows.references() if several else None
    recipes, shared = [recipe(metric) for metric in made], made[0].encoders.settings()
    size = (settings.workers, settings.cpus, settings.gpus, settings.batch_rows)
    scored = map_workers(dataset, fitted, recipes, shared, columns, names, *size)
    signatures = [str(metric.signature(learnt, references)) for metric, learnt in zip(made, fitted, strict=True)]
    return ScoredDataset(scored, dict(zip(names, signatures, strict=True)))


def alike(run: Chosen) -> Chosen:
    """Return a run's settings without those that each machine would read in its own way: ``auto`` is PyTorch."""
    return run.model_copy(update={"backend": "torch"}) if run.backend == "auto" else run


def connect(address: str | None, workers: int) -> bool:
    """Connect to a cluster, or start one on this machine; return whether one was started or connected to.

    Raises:
        InputError: if there is none at this address.
    """
    ray = need("ray", "scoring on a cluster")
    if ray.is_initialized():
        return False
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    options: Settings = {"log_to_driver": False, "logging_level": "error"}
    try:
        if address is not None:
            ray.init(address=address, **options)
        else:
            cores = max(workers + 1, os.cpu_count() or 1)  # one more than workers: reading needs a core too
            ray.init(address="local", num_cpus=cores, include_dashboard=False, **options)
    except Exception as error:  # Ray raises plain exceptions, too
        first = str(error).strip().partition("\n")[0]
        where = f"at {address} could be reached" if address is not None else "could be started here"
        raise InputError(f"no Ray cluster {where} ({first})") from error
    return True


def map_workers(
    dataset: Untyped,
    fitted: Sequence[Fitted],
    recipes: Sequence[Recipe],
    run: Settings,
    columns: DatasetColumns,
    names: list[str] | None,
    workers: int | tuple[int, int],
    cpus: float,
    gpus: float,
    batch_rows: int,
) -> Untyped:
    """Return the data set with scores; the one place that tells Ray Data what to do."""
    data = need("ray.data", "scoring on a cluster")
    dataset.context.execution_options.preserve_order = True
    strategy = {"size": workers} if isinstance(workers, int) else {"min_size": workers[0], "max_size": workers[1]}
    return dataset.map_batches(
        ClusterWorker,
        fn_constructor_args=[recipes, run, fitted, columns, names],
        batch_format="pyarrow",
        batch_size=batch_rows,
        compute=data.ActorPoolStrategy(**strategy),
        num_cpus=cpus,
        num_gpus=gpus,  # Ray Data starts dead actors again and repeats their tasks, without end
    )


class _DatasetCorpus:
    """A data set as a corpus, read batch by batch; see `bsx.data.corpus.Corpus`."""

    def __init__(self, dataset: Untyped, columns: DatasetColumns) -> None:
        self._dataset = dataset
        self._columns = columns
        self.systems = columns.candidates
        has = {"reference": bool(columns.references), "source": columns.source is not None}
        self.has = frozenset(kind for kind, given in has.items() if given)

    def __iter__(self) -> Iterator[Segment]:
        for table in self._dataset.iter_batches(batch_format="pyarrow", batch_size=4096):
            yield from self._columns.segments(table)

    def references(self) -> tuple[int, int]:
        """Return the least and greatest number of references of a row, as a survey of the corpus counts them."""
        counts = {max(1, sum(bool(text.strip()) for text in segment.references)) for segment in self}
        return min(counts, default=1), max(counts, default=1)


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
