"""Going on where a run was stopped: finished blocks are kept beside its output until that is complete."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from bsx.data.corpus import Segment
from bsx.data.journal import Arrays, Journal, continued
from bsx.data.run import is_stream
from bsx.errors import BsxError
from bsx.metrics.blocks import BlockScores
from bsx.metrics.run import Prepared, ScoredBlock
from bsx.support.progress import Say


@contextlib.contextmanager
def keeping(output: Path | None, resume: bool, say: Say) -> Iterator[Journal | None]:
    """Yield the journal of a run, to be entered before its table; None for a run without an output.

    A complete run removes it. A killed one leaves it; one that was interrupted or failed for its input leaves it if
    it is to be resumed only.

    Args:
        output: the file that the run writes.
        resume: whether the user goes on with unfinished runs.
        say: told what the user should know.
    """
    if output is None or is_stream(output):
        yield None
        return
    journal = Journal(output)
    try:
        yield journal
    except (BsxError, KeyboardInterrupt) as reason:
        if journal.is_open and not resume:
            journal.discard()
        elif journal.is_open and isinstance(reason, KeyboardInterrupt):
            say(f"{journal.folder} keeps what is done; the same command goes on with it")
        raise
    else:
        if journal.is_open:
            journal.discard()
    finally:
        journal.close()


def kept_blocks(
    journal: Journal | None,
    resume: bool,
    prepared: Prepared,
    tokens: int,
    compute: Callable[[int, int], Iterator[ScoredBlock]],
    say: Say,
) -> Iterator[ScoredBlock]:
    """Yield all blocks of a run: those that an unfinished run left, if they are wanted, then those to be computed.

    Args:
        journal: the journal, if there is one.
        resume: whether to take up an unfinished run.
        prepared: metrics and input.
        tokens: of a block; a run that goes on keeps to what the first one had.
        compute: computes blocks from a segment on, of a number of tokens.
        say: told what the user should know.
    """
    corpus = prepared.corpus
    settings = {"tokens": tokens}

    def identity() -> dict[str, object]:
        return {
            "input": [f"{Path(file.name).name} ({file.digest()[:16]})" for file in getattr(corpus, "files", [])],
            "layout": [*corpus.systems, *getattr(corpus, "layout", [])],
            "signature": [str(prepared.signature(i)) for i in range(len(prepared.metrics))],
        }

    if journal is not None and journal.exists():
        if not resume:
            journal.drop()
            say(f"{journal.folder} was left by an unfinished run; starting over")
        elif journal.resume(identity()):
            settings |= journal.settings

    def begin() -> None:
        if journal is not None:
            journal.start(identity(), settings)

    yield from continued(
        journal,
        corpus,
        prepared.segments,
        lambda start: compute(start, settings["tokens"]),
        begin=begin,
        resumed=lambda done: say(f"{done:,} of {prepared.segments:,} segments were scored before"),
        pack=pack,
        unpack=unpack,
    )


def pack(block: ScoredBlock) -> Arrays:
    """Return the arrays of a block."""
    arrays: Arrays = {"segments": np.array(len(block.segments))}
    for i, scores in enumerate(block.scores):
        arrays |= {f"{i}.{name}": array for name, array in vars(scores).items() if array is not None}
    return arrays


def unpack(arrays: Arrays, segments: Sequence[Segment]) -> ScoredBlock:
    """Make a block of its arrays."""
    metrics = range(sum(name.endswith(".values") for name in arrays))
    parts = [{name.partition(".")[2]: a for name, a in arrays.items() if name.startswith(f"{i}.")} for i in metrics]
    return ScoredBlock(list(segments), [BlockScores(**part) for part in parts])
