"""`BatchScorer` on Ray Data: workers that open the metrics once and score batches of rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bsx.cluster.scorer import BatchScorer, BatchSettings
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.settings import part, settled
from bsx.support.untyped import Settings, Untyped

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


class DatasetSettings(BatchSettings):
    """Which columns of a data set hold what, and how many processes score it."""

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

    Each worker is a process that opens the metrics once. A worker that dies is started again and its batch is scored
    by another one. What a metric must know of the whole data set (idf, the script, the number of references) is counted
    by the workers in a pass of its own. Scores are those of `bsx.get_metrics` within 1e-5: batches are cut differently.

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
    scorer = BatchScorer(metrics, **part(settings, BatchSettings))
    if not hasattr(dataset, "schema"):
        raise InputError(f"score_dataset reads a ray.data.Dataset, not {type(dataset).__name__}")
    schema = dataset.schema()
    fields = need("pyarrow", "scoring on a cluster").schema([] if schema is None else schema.base_schema)
    scorer.schema(fields)
    size = (settings.workers, settings.cpus, settings.gpus, settings.batch_rows)
    reference = settings.reference
    if reference is None or (isinstance(reference, str) and "list" not in str(fields.field(reference).type)):
        scorer = scorer.with_references(1, 1)
    if scorer.learns is not None or scorer.references is None:
        texts = dataset.select_columns(scorer.columns)
        counted = map_workers(texts, scorer.count, *size)
        scorer = scorer.learn(counted.iter_batches(batch_format="pyarrow", batch_size=None))
    return ScoredDataset(map_workers(dataset, scorer, *size), scorer.signatures)


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


class ClusterWorker:
    """One process of the cluster: what Ray starts as an actor must be a class.

    Args:
        work: what it does with a table.
    """

    def __init__(self, work: Callable[[Untyped], Untyped]) -> None:
        self._work = work

    def __call__(self, table: Untyped) -> Untyped:
        """Do it."""
        return self._work(table)


def map_workers(
    dataset: Untyped,
    work: Callable[[Untyped], Untyped],
    workers: int | tuple[int, int],
    cpus: float,
    gpus: float,
    batch_rows: int,
) -> Untyped:
    """Return what workers make of a data set's batches; the one place that tells Ray Data what to do."""
    data = need("ray.data", "scoring on a cluster")
    dataset.context.execution_options.preserve_order = True
    strategy = {"size": workers} if isinstance(workers, int) else {"min_size": workers[0], "max_size": workers[1]}
    return dataset.map_batches(
        ClusterWorker,
        fn_constructor_args=[work],
        batch_format="pyarrow",
        batch_size=batch_rows,
        compute=data.ActorPoolStrategy(**strategy),
        num_cpus=cpus,
        num_gpus=gpus,  # Ray Data starts dead actors again and repeats their tasks, without end
    )
