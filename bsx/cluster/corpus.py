"""A corpus of this machine's files scored by the workers of a cluster: what ``bsx score`` does with the engine ray."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import islice

import numpy as np

from bsx.cluster.dataset import ROWS, connect, map_workers
from bsx.cluster.scorer import ROW, BatchScorer, DatasetColumns
from bsx.data.corpus import Segment
from bsx.errors import BsxError, InputError
from bsx.metrics.blocks import BlockScores
from bsx.metrics.core import MetricCore
from bsx.metrics.run import Prepared, ScoredBlock
from bsx.support.optional import need
from bsx.support.progress import Progress
from bsx.support.untyped import Untyped


def stream(
    prepared: Prepared,
    *,
    address: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    start: int = 0,
) -> Generator[ScoredBlock, None, None]:
    """Score a corpus as `bsx.metrics.run.stream` does, but by the workers of a cluster.

    Where the cluster has graphics cards and a metric an encoder, each worker takes one, unless the device is the CPU.
    The corpus goes through Ray's object store, which spills to disk; what comes back is put in the corpus's order.

    Args:
        prepared: the metrics, the corpus and what they learnt from it.
        address: of a running cluster; None starts one on this machine for as long as this runs.
        workers: processes that score.
        progress: called with a phase's name, segments done and segments in all.
        start: how many segments to leave out, because they are scored already.

    Raises:
        InputError: if there is no cluster at this address, or too few graphics cards in it, or by a worker.
    """
    ray = need("ray", "scoring on a cluster")
    data, arrow = need("ray.data", "scoring on a cluster"), need("pyarrow", "scoring on a cluster")
    systems = len(prepared.corpus.systems)
    columns = DatasetColumns(
        tuple(f"candidate {k}" for k in range(systems)),
        ("references",) if "reference" in prepared.corpus.has else (),
        "source" if "source" in prepared.corpus.has else None,
    )
    scorer = BatchScorer.of(prepared.metrics, prepared.fitted, columns)
    started = connect(address, workers)
    try:
        encodes = any(metric.bytes_per_token for metric in prepared.metrics)
        cards = _cards(ray, prepared.metrics[0].encoders.config.device, workers) if encodes else 0
        rows, parts, first = islice(prepared.corpus, start, None), [], start
        while segments := list(islice(rows, ROWS)):
            parts.append(ray.put(_as_table(arrow, segments, columns, first)))
            first += len(segments)
        data.DataContext.get_current().enable_progress_bars = False  # bsx has its own
        dataset = data.from_arrow_refs(parts)
        busy = min(workers, len(parts))
        scored = map_workers(dataset, scorer.figures, busy, 1, cards, ROWS)
        done = start
        for block in _ordered(scored, prepared, start):
            done += len(block.segments)
            yield block
            if progress is not None:
                progress("scoring", done, prepared.segments)
    except ray.exceptions.RayError as error:
        raise _ours(error) or error from None
    finally:
        if started:
            ray.shutdown()


def _cards(ray: Untyped, device: str, workers: int) -> int:
    """Return how many graphics cards a worker gets: one, if there are any and the device is not another.

    Raises:
        InputError: if there are fewer cards than workers, which would wait for one without end.
    """
    there = int(ray.cluster_resources().get("GPU", 0))
    if not (device.startswith("cuda") or (device == "auto" and there)):
        return 0
    if there < workers:
        raise InputError(
            f"a worker takes a graphics card, and the cluster has {there} for {workers} workers: "
            f"use workers={there} or device=cpu"
            if there
            else "the cluster has no graphics card: use device=cpu"
        )
    return 1


def _as_table(arrow: Untyped, segments: Sequence[Segment], columns: DatasetColumns, first: int) -> Untyped:
    """Return segments as an Arrow table, each with its number."""
    made: dict[str, Untyped] = {ROW: arrow.array(range(first, first + len(segments)), arrow.int64())}
    for k, name in enumerate(columns.candidates):
        made[name] = arrow.array([segment.candidates[k] for segment in segments], arrow.large_string())
    if columns.references:
        kind = arrow.list_(arrow.large_string())
        made["references"] = arrow.array([list(segment.references) for segment in segments], kind)
    if columns.source is not None:
        made["source"] = arrow.array([segment.source for segment in segments], arrow.large_string())
    return arrow.table(made)


def _ordered(scored: Untyped, prepared: Prepared, row: int) -> Iterator[ScoredBlock]:
    """Yield results from a row on in the corpus's order, beside its segments, whatever order they come in."""
    waiting: dict[int, Untyped] = {}
    segments = islice(prepared.corpus, row, None)
    for table in scored.iter_batches(batch_format="pyarrow", batch_size=None):
        if table.num_rows:
            waiting[table.column(ROW)[0].as_py()] = table
        while row in waiting:
            part = waiting.pop(row)
            row += part.num_rows
            yield _unpack(part, [next(segments) for _ in range(part.num_rows)], prepared.metrics)


def _unpack(table: Untyped, segments: list[Segment], metrics: Sequence[MetricCore]) -> ScoredBlock:
    systems = len(segments[0].candidates)

    def read(metric: int, name: str) -> Untyped:
        return np.array(table.column(f"{metric} {name}").to_pylist())

    scores, undefined = [], []
    for i in range(len(metrics)):
        rows = len(segments) * systems
        statistics = figures = None
        if f"{i} statistics" in table.column_names:
            statistics = read(i, "statistics").reshape(rows, -1)
        if f"{i} figures" in table.column_names:
            layers, kinds = table.column(f"{i} layout")[0].as_py()[:2]
            figures = read(i, "figures").reshape(rows, layers, kinds).transpose(1, 0, 2).astype(np.float32)
        flat = {name: read(i, name).ravel() for name in ("values", "empty", "lost", "undefined")}
        scores.append(BlockScores(flat["values"], flat["empty"], flat["lost"], statistics, figures=figures))
        undefined.append(flat["undefined"])
    return ScoredBlock(segments, scores, undefined)


def _ours(error: BaseException | None) -> BsxError | None:
    """Return the error of bsx that a worker raised, out of those that Ray wraps it in."""
    while error is not None and not isinstance(error, BsxError):
        error = getattr(error, "cause", None) or error.__cause__
    return error
