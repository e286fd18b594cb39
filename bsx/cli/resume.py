"""``--resume``: finished blocks of ``bsx score`` are kept beside its output until that is complete."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from bsx.errors import BsxError, InputError

if TYPE_CHECKING:
    from bsx.bertscore.scored import ScoredWindow
    from bsx.data.corpus import Corpus, Segment
    from bsx.data.journal import Arrays, Journal
    from bsx.data.output import ScoreTable
    from bsx.metrics.run import ScoredBlock

Block = TypeVar("Block")


@contextlib.contextmanager
def keeping(output: Path | None, resume: bool) -> Iterator[Journal | None]:
    """Yield the journal of a run, to be entered before its table; None for a run without an output.

    A complete run removes it. A killed one leaves it; one that was interrupted or failed for its input leaves it with
    ``--resume`` only.

    Raises:
        InputError: for ``--resume`` without an output.
    """
    if output is None:
        if resume:
            raise InputError("--resume goes on with the file of -o: name it")
        yield None
        return
    from bsx.data.journal import Journal

    journal = Journal(output)
    try:
        yield journal
    except (BsxError, KeyboardInterrupt) as reason:
        if journal.is_open and not resume:
            journal.discard()
        elif journal.is_open and isinstance(reason, KeyboardInterrupt):
            print(f"bsx: note: {journal.folder} keeps what is done; the same command goes on with it", file=sys.stderr)
        raise
    else:
        if journal.is_open:
            journal.discard()
    finally:
        journal.close()


def kept_blocks(
    journal: Journal | None,
    table: ScoreTable | None,
    resume: bool,
    corpus: Corpus,
    segments: int,
    signatures: Sequence[object],
    settings: dict[str, int],
    compute: Callable[[int, dict[str, int]], Iterator[Block]],
    codec: tuple[Callable[[Block], Arrays], Callable[[int, Arrays, Sequence[Segment]], Block]],
) -> Iterator[Block]:
    """Yield all blocks of a run: those that an unfinished run left, if they are wanted, then those to be computed.

    Args:
        journal: the journal, if there is one.
        table: the output, if there is one.
        resume: whether to take up an unfinished run.
        corpus: the input.
        segments: how many it has.
        signatures: of everything that is scored.
        settings: what a run that goes on must keep to, as the first run has it.
        compute: computes blocks from a segment on, with the settings.
        codec: turns a block into arrays and back.
    """
    from bsx.data.journal import continued

    if journal is not None and table is not None:
        journal.temporary = table.temporary

    def identity() -> dict[str, object]:
        from bsx.support.provenance import file_digest

        return {
            "input": [f"{file.path.name} ({file_digest(file.path)[:16]})" for file in getattr(corpus, "files", [])],
            "layout": [*corpus.systems, *getattr(corpus, "layout", [])],
            "signature": [str(signature) for signature in signatures],
        }

    if journal is not None and journal.exists():
        if resume and journal.resume(identity()):
            settings = settings | journal.settings
        elif not resume:
            journal.drop()
            print(f"bsx: note: {journal.folder} was left by an unfinished run; starting over", file=sys.stderr)

    def begin() -> None:
        if journal is not None:
            journal.start(identity(), settings)

    yield from continued(
        journal,
        corpus,
        segments,
        lambda start: compute(start, settings),
        begin=begin,
        resumed=lambda done: print(f"bsx: note: {done:,} of {segments:,} segments were scored before", file=sys.stderr),
        pack=codec[0],
        unpack=codec[1],
    )


def pack_window(window: ScoredWindow) -> Arrays:
    """Return the arrays of a window."""
    return {
        "segments": np.array(len(window.ids)),
        "scores": window.scores,
        "empty": window.empty,
        "unweighted": window.unweighted,
        "tokens_lost": window.tokens_lost,
    }


def unpack_window(start: int, arrays: Arrays, segments: Sequence[Segment]) -> ScoredWindow:
    """Make a window of its arrays."""
    from bsx.bertscore.scored import ScoredWindow

    kept = {name: arrays[name] for name in ("scores", "empty", "unweighted", "tokens_lost")}
    return ScoredWindow(start=start, ids=[segment.id for segment in segments], **kept)


def pack_block(block: ScoredBlock) -> Arrays:
    """Return the arrays of a block."""
    arrays: Arrays = {"segments": np.array(len(block.segments))}
    for i, (scores, undefined) in enumerate(zip(block.scores, block.undefined, strict=True)):
        arrays |= {f"{i}.values": scores.values, f"{i}.empty": scores.empty, f"{i}.lost": scores.lost}
        arrays[f"{i}.undefined"] = undefined
        if scores.statistics is not None:
            arrays[f"{i}.statistics"] = scores.statistics
    return arrays


def unpack_block(start: int, arrays: Arrays, segments: Sequence[Segment]) -> ScoredBlock:
    """Make a block of its arrays."""
    from bsx.metrics.blocks import BlockScores
    from bsx.metrics.run import ScoredBlock

    metrics = range(sum(name.endswith(".values") for name in arrays))
    scores = [
        BlockScores(arrays[f"{i}.values"], arrays[f"{i}.empty"], arrays[f"{i}.lost"], arrays.get(f"{i}.statistics"))
        for i in metrics
    ]
    return ScoredBlock(list(segments), scores, [arrays[f"{i}.undefined"] for i in metrics])


WINDOWS = (pack_window, unpack_window)
BLOCKS = (pack_block, unpack_block)
