"""A corpus of this machine's files scored by the workers of a cluster: what ``bsx score`` does with the engine ray."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TypeVar

from bsx.cluster.devices import DeviceError, Done, Work, in_order
from bsx.data.corpus import Segment
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.metrics.run import Prepared, ScoredBlock, blocks_of, score_segments
from bsx.support.optional import installed, need
from bsx.support.progress import Progress
from bsx.support.untyped import Settings, Untyped

_ROWS = 512  # of a block: some seconds of an encoder's work, and little to do again after a failure
Chosen = TypeVar("Chosen", bound=RunConfig)


def alike(run: Chosen) -> Chosen:
    """Return a run's settings without those that each machine would read in its own way: ``auto`` is PyTorch."""
    backend = "torch" if installed("torch") else "onnx"
    return run.model_copy(update={"backend": backend}) if run.backend == "auto" else run


def stream(
    prepared: Prepared,
    *,
    tokens: int,
    address: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    start: int = 0,
) -> Generator[ScoredBlock, None, None]:
    """Score a corpus as `bsx.metrics.run.stream` does, but by the workers of a cluster.

    Where the cluster has graphics cards and a metric an encoder, each worker takes one, unless the device is the CPU.
    A worker that dies is started again, and what it had is scored again.

    Arguments are that function's; a block has a few hundred segments at most. ``address`` is that of a running cluster,
    None starts one on this machine for as long as this runs; ``workers`` is how many processes score.

    Raises:
        InputError: if there is no cluster at this address, or too few graphics cards in it, or by a worker.
        DeviceError: if the cluster ends before it is done.
    """
    ray = need("ray", "scoring on a cluster")
    started = not ray.is_initialized()
    if started:
        options: Settings = {"log_to_driver": False, "logging_level": "error"}
        try:
            if address is not None:
                ray.init(address=address, **options)
            else:
                cores = max(workers, os.cpu_count() or 1)
                ray.init(address="local", num_cpus=cores, include_dashboard=False, **options)
        except Exception as error:  # Ray raises plain exceptions, too
            first = str(error).strip().partition("\n")[0]
            where = f"at {address} could be reached" if address is not None else "could be started here"
            raise InputError(f"no Ray cluster {where} ({first})") from error
    try:
        encodes = any(metric.bytes_per_token for metric in prepared.metrics)
        device, cards = prepared.metrics[0].encoders.config.device, int(ray.cluster_resources().get("GPU", 0))
        wants = encodes and (device.startswith("cuda") or (device == "auto" and cards > 0))
        if wants and cards < workers:  # they would wait for one without end
            raise InputError(
                f"a worker takes a graphics card, and the cluster has {cards} for {workers} workers: "
                f"use workers={cards} or device=cpu"
                if cards
                else "the cluster has no graphics card: use device=cpu"
            )
        kind = ray.remote(num_cpus=1, num_gpus=int(wants), max_restarts=-1, max_task_retries=-1)(_ClusterScorer)
        work = ray.put(Work.of(prepared.metrics, prepared.fitted))
        several = min(workers, -(-(prepared.plan.segments - start) // _ROWS))
        actors = [kind.remote(work) for _ in range(several)]
        results = [deque[Untyped]() for _ in actors]

        def give(worker: int, segments: list[Segment]) -> None:
            results[worker].append(actors[worker].score.remote(segments))

        def take(busy: Sequence[int]) -> list[tuple[int, Done]]:
            done, _ = ray.wait([results[worker][0] for worker in busy])
            return [(worker, ray.get(results[worker].popleft())) for worker in busy if results[worker][0] in done]

        rows = islice(prepared.corpus, start, None)
        parts = iter(lambda: list(islice(rows, _ROWS)), [])
        blocks = (block for part in parts for block in blocks_of(part, tokens))
        yield from in_order(prepared, blocks, several, give, take, progress, start)
    except ray.exceptions.RayError as error:
        first = str(error).strip().partition("\n")[0]
        raise DeviceError(f"the cluster has ended ({first}): with resume, the same command goes on") from error
    finally:
        if started:
            ray.shutdown()


class _ClusterScorer:
    """A worker of the cluster, where it runs."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._opened = cache(work.open)

    def score(self, segments: list[Segment]) -> Done:
        try:
            metrics = self._opened()
            result = score_segments(metrics, self._work.fitted, segments)
            encoders = metrics[0].encoders
            encoders.forget()
            return Done(replace(result, segments=[]), encoders.notes)
        except Exception as error:  # noqa: BLE001 - who started this raises it
            return Done.failed(error)
