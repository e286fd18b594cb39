"""A corpus scored by workers that each get whole blocks; here, a process for each device or core of this machine.

Processes, because threads share what PyTorch holds once for all of them, such as how products of fp32 are computed.
"""

from __future__ import annotations

import contextlib
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import connection, get_context

from bsx.data.corpus import Segment
from bsx.encode.run_config import threads
from bsx.encode.session import Encoders
from bsx.errors import BsxError, InputError
from bsx.metrics.base import Metric, find_metric
from bsx.metrics.core import Fitted, MetricConfig, MetricCore
from bsx.metrics.run import Prepared, ScoredBlock, ahead, blocks_of, looked_ahead, score_segments, shared_form
from bsx.support.arrays import device_type
from bsx.support.children import starting_children
from bsx.support.progress import Progress
from bsx.support.provenance import Signature
from bsx.support.untyped import Settings

_AT_ONCE = 2  # blocks that a worker has: one it scores and one it tokenises; no third, which would fill a pipe
_PATIENCE = 5.0  # seconds for a process to end by itself
_REPAYS = 5.0  # seconds of scoring that repay the start of a process, which takes one to two


class DeviceError(BsxError):
    """A process that scores on a device has ended before it was done."""


@dataclass(frozen=True)
class Work:
    """What a worker scores with; pickled, it is names, settings and what was counted, no weights."""

    recipes: list[tuple[str, MetricConfig, str]]  # its name, its settings, how it was asked for
    encoders: Settings
    signatures: list[Signature]
    fitted: tuple[Fitted, ...]

    @classmethod
    def of(cls, metrics: Sequence[MetricCore], fitted: Sequence[Fitted]) -> Work:
        """Return what scores with these metrics and what they learnt."""
        # What was kept of a block would put the texts of the next one into other batches, where they round otherwise.
        settings = {**metrics[0].encoders.settings(), "remember": False}
        signatures = [metric.signature().without_notes() for metric in metrics]
        recipes = [(metric.name, metric.config, metric.spec) for metric in metrics]
        return cls(recipes, settings, signatures, tuple(fitted))

    def open(self) -> list[Metric]:
        """Make the metrics, on another machine too.

        Raises:
            InputError: if one is not what it was where this was made.
        """
        encoders = Encoders(**self.encoders)
        chosen = [(*find_metric(name, encoders.catalog), config, spec) for name, config, spec in self.recipes]
        metrics = [kind(entry, config, encoders, spec) for kind, entry, config, spec in chosen]
        for metric, signature in zip(metrics, self.signatures, strict=True):
            here = metric.signature().without_notes()
            for name in dict.fromkeys(name for name, _ in (*signature.fields, *here.fields)):
                if signature.get(name) != here.get(name):
                    raise InputError(
                        f"{metric.spec} has {name} {here.get(name) or 'none'} on this machine, the scorer is from "
                        f"one with {signature.get(name) or 'none'}: put the same on both"
                    )
        return metrics


@dataclass(frozen=True)
class Done:
    """What comes back of a block: results without their segments, or an error, and what the user should know."""

    block: ScoredBlock | None
    notes: tuple[str, ...] = ()
    error: bytes | None = None
    trace: str = ""

    @classmethod
    def failed(cls, error: Exception) -> Done:
        """Return an error to be raised where the results are wanted."""
        try:
            content = pickle.dumps(error)
            pickle.loads(content)  # noqa: S301 - our own
        except Exception:  # noqa: BLE001 - classes of other packages may refuse in any way
            content = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return cls(None, error=content, trace=traceback.format_exc())


class _Process:
    """A process that scores on one device with a number of threads; None: as many as there are cores."""

    def __init__(self, device: str, work: Work, threads: int | None) -> None:
        self.device = device
        context = get_context("spawn")  # a forked one could not use a graphics card that its parent uses
        self.link, theirs = context.Pipe()
        with starting_children(threads):
            work = replace(work, encoders={**work.encoders, "device": device})
            self._process = context.Process(target=_serve, args=(theirs, work))
            self._process.start()
        theirs.close()  # so that this side hears of the other's end

    def give(self, segments: list[Segment]) -> None:
        try:
            self.link.send(segments)
        except OSError as error:
            raise self._ended() from error

    def take(self) -> Done:
        try:
            done: Done = self.link.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        return done

    def _ended(self) -> DeviceError:
        self._process.join(_PATIENCE)
        return DeviceError(
            f"the process that scored on {self.device} has ended (exit status {self._process.exitcode}): was it killed "
            "for want of memory? With resume, the same command goes on with what is done"
        )

    def end(self) -> None:
        """Have it end: by itself if it has nothing to do, so that it writes what its cache holds, else as it is."""
        self.link.close()
        self._process.join(_PATIENCE / 5)
        self._process.terminate()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def worthwhile(prepared: Prepared, start: int = 0) -> int:
    """Return how many processes would score a corpus from a segment on faster than this one does; else 1.

    There is at most one for each core. See `MetricCore.pace` and `bsx.metrics.run.Plan.characters`.
    """
    paces = [metric.pace for metric in prepared.metrics]
    if None in paces:
        return 1
    seconds = sum(filter(None, paces)) * prepared.plan.characters * (1 - start / prepared.plan.segments)
    return max(1, min(threads(), int(seconds / _REPAYS)))


def stream(
    prepared: Prepared, devices: Sequence[str], *, tokens: int, progress: Progress | None = None, start: int = 0
) -> Generator[ScoredBlock, None, None]:
    """Score a corpus as `bsx.metrics.run.stream` does, but each block on whichever device is free.

    The scores of a block depend on the block alone, whichever device it went to and whatever came before. A text that
    comes again in another block is encoded again, there in another batch, where it may be rounded otherwise.

    Arguments are that function's; ``devices`` are names as of `bsx.encode.run_config.choose_device`, a process each.

    Raises:
        BsxError: that scoring raised on a device.
        DeviceError: if a process was killed.
    """
    work = Work.of(prepared.metrics, prepared.fitted)
    # Those of one processor share its cores; a card's threads only wait for it.
    share = max(1, threads() // len(devices)) if device_type(devices[0]) == "cpu" else None
    with contextlib.ExitStack() as stack:
        processes = list[_Process]()
        for device in devices:
            processes.append(_Process(device, work, share))
            stack.callback(processes[-1].end)

        def give(worker: int, segments: list[Segment]) -> None:
            processes[worker].give(segments)

        def take(busy: Sequence[int]) -> list[tuple[int, Done]]:
            links = connection.wait([processes[worker].link for worker in busy])
            return [(worker, processes[worker].take()) for worker in busy if processes[worker].link in links]

        blocks = blocks_of(islice(prepared.corpus, start, None), tokens)
        yield from in_order(prepared, blocks, len(devices), give, take, progress, start)


def in_order(
    prepared: Prepared,
    blocks: Iterable[list[Segment]],
    workers: int,
    give: Callable[[int, list[Segment]], None],
    take: Callable[[Sequence[int]], Iterable[tuple[int, Done]]],
    progress: Progress | None,
    start: int,
) -> Generator[ScoredBlock, None, None]:
    """Give blocks to whichever worker is free, and yield their results in the order of the blocks.

    Each worker scores its blocks in the order in which it gets them; a bounded number of blocks is held at a time.
    ``give`` gives a worker a block; ``take`` waits for some workers, and returns the results of the first block of one
    or more of them. ``start`` segments are done already.
    """
    numbered = enumerate(blocks)
    has = [deque[int]() for _ in range(workers)]
    waiting: dict[int, list[Segment]] = {}
    done: dict[int, ScoredBlock] = {}
    following, left = 0, True
    while True:
        # Turn by turn, so that a few blocks go to as many workers. What waits for its turn here is bounded.
        for _ in range(_AT_ONCE):
            for worker, numbers in enumerate(has):
                if left and len(numbers) < _AT_ONCE and len(waiting) < 2 * _AT_ONCE * workers:
                    left = (item := next(numbered, None)) is not None
                    if item is not None:
                        number, waiting[number] = item
                        numbers.append(number)
                        give(worker, waiting[number])
        busy = [worker for worker, numbers in enumerate(has) if numbers]
        if not busy:
            return
        for worker, result in take(busy):
            for note in result.notes:
                prepared.metrics[0].encoders.remark(note, note)
            if result.error is not None:
                error: Exception = pickle.loads(result.error)  # noqa: S301 - of a process of our own
                if not isinstance(error, BsxError):
                    error.add_note(result.trace)
                raise error
            assert result.block is not None  # noqa: S101 - for the type checker
            number = has[worker].popleft()
            done[number] = replace(result.block, segments=waiting[number])
        while following in done:
            del waiting[following]
            block = done.pop(following)
            following, start = following + 1, start + len(block.segments)
            yield block
            if progress is not None:
                progress("scoring", start, prepared.plan.segments)


def _serve(link: connection.Connection, work: Work) -> None:
    """Score the blocks that come, until none does: the work of a process."""
    with contextlib.suppress(EOFError, OSError):  # the parent has gone, and with it whoever wanted this
        try:
            metrics = work.open()
            encoders, form = metrics[0].encoders, shared_form(metrics)
            pieces = (looked_ahead(segments, metrics, form) for segments in _blocks(link))
            for segments, block in ahead(pieces):
                try:
                    result = score_segments(metrics, work.fitted, segments, block)
                except Exception as error:  # noqa: BLE001 - the parent raises it
                    link.send(Done.failed(error))
                    return  # here, not below: leaving the loop waits for the next block, or for the parent to hang up
                encoders.forget()
                link.send(Done(replace(result, segments=[]), encoders.notes))
        except Exception as error:  # noqa: BLE001 - the parent raises it
            link.send(Done.failed(error))
            for _ in _blocks(link):  # the parent may be about to send one
                pass


def _blocks(link: connection.Connection) -> Iterator[list[Segment]]:
    with contextlib.suppress(EOFError, OSError):
        while True:
            yield link.recv()
