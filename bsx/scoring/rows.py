"""What a run writes: the rows of its table of scores, and its finished blocks beside that until it is complete."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from bsx.data.corpus import Corpus, Segment, without_context
from bsx.data.journal import Arrays, Journal
from bsx.data.long import SEGMENTS
from bsx.data.open import TableFile
from bsx.data.output import refuse_taken
from bsx.data.run import is_stream
from bsx.data.sidecar import FIGURES
from bsx.errors import BsxError
from bsx.metrics.core import BlockScores, Figures
from bsx.metrics.run import Prepared, ScoredBlock, texts_of
from bsx.support.progress import Say
from bsx.support.untyped import Untyped


def column_types(corpus: Corpus, specs: Sequence[str] | None, output: Path, *, layers: bool) -> dict[str, Untyped]:
    """Return the Arrow types of a Parquet file's columns, for other files none; refuse columns that would be two.

    The output has the columns of the input too, and a column a metric, or BERTScore's figures if ``specs`` is None.
    """
    figures = [*(["layer"] if layers else []), *FIGURES] if specs is None else specs
    columns = corpus.table.columns if isinstance(corpus, TableFile) else ["id"]
    refuse_taken(columns, [*(["system"] if len(corpus.systems) > 1 else []), *figures])
    if output.suffix != ".parquet":
        return {}
    import pyarrow

    read = corpus.table.types() if isinstance(corpus, TableFile) else {}
    return {**read, **{spec: pyarrow.float64() for spec in specs or ()}}


def rows_of(block: ScoredBlock, prepared: Prepared) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: what the input has, and a column a metric, or for each figure of one with several.

    Of several systems, each row says which segment and candidate it is about, where no usual column does.
    """
    figures = prepared.metrics[0].figures
    if figures is not None:
        yield from _figures(block, figures, prepared.corpus)
        return
    systems = prepared.corpus.systems
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(systems):
            row: dict[str, object] = dict(segment.row) if segment.row is not None else {"id": segment.id}
            if len(systems) > 1:
                row |= {**_long(segment, k), "system": system}
            at = i * len(systems) + k
            yield row | {m.spec: float(s.values[at]) for m, s in zip(prepared.metrics, block.scores, strict=True)}


def _long(segment: Segment, k: int) -> dict[str, object]:
    """Return the cells by which a system's row of a wide table is one of a long table: segment and candidate."""
    if segment.row is None:
        return {}
    named = {} if any(name in segment.row for name in SEGMENTS) else {"id": segment.id}
    candidate = {} if "candidate" in segment.row else {"candidate": without_context(segment.candidates[k])}
    return {**named, **candidate}


def _figures(block: ScoredBlock, figures: Figures, corpus: Corpus) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: a row's name, what the input has, and the figures.

    If all layers are scored, each has a row. Names in ``id`` and ``system`` are added where the input lacks them.
    """
    values = block.scores[0].all_figures()
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(corpus.systems):
            for position, layer in enumerate(figures.layers):
                row: dict[str, object] = {"id": segment.id}
                if len(corpus.systems) > 1 or segment.system is not None:
                    row["system"] = segment.system or system
                row |= segment.row or {}
                if len(corpus.systems) > 1:
                    row = {**row, **{name: cell for name, cell in _long(segment, k).items() if name not in row}}
                if figures.every:
                    row["layer"] = layer
                of_row = values[position, i * len(corpus.systems) + k].tolist()
                yield {**row, **dict(zip(figures.names, of_row, strict=True))}


@contextlib.contextmanager
def keeping(output: Path, resume: bool, say: Say) -> Iterator[Journal | None]:
    """Yield the journal of a run, to be entered before its table; None for a run that writes to a stream.

    A complete run removes it. A killed one leaves it; one that was interrupted or failed for its input leaves it if
    it is to be resumed only.
    """
    if is_stream(output):
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

    Blocks are computed from a segment on, with a number of tokens: a run that goes on keeps to what the first one had.
    """
    corpus = prepared.corpus
    settings, files = {"tokens": tokens}, getattr(corpus, "files", [])

    def identity() -> dict[str, object]:
        inputs = [f"{Path(file.name).name} ({file.digest()[:16]})" for file in files]
        if not files:  # what stands for the texts of a table in memory
            state = hashlib.sha256()
            for text in chain.from_iterable(map(texts_of, corpus)):
                state.update(f"{text}\0".encode("utf-8", "surrogatepass"))
            inputs = [state.hexdigest()[:16]]
        return {
            "input": inputs,
            "layout": [*corpus.systems, *getattr(corpus, "layout", [])],
            "signature": [str(prepared.signature(i)) for i in range(len(prepared.metrics))],
        }

    if journal is not None and journal.exists():
        if not resume:
            journal.discard()
            say(f"{journal.folder} was left by an unfinished run; starting over")
        elif journal.resume(identity()):
            settings |= journal.settings

    done = 0
    if journal is not None and journal.is_open:
        segments = iter(corpus)
        for arrays in journal.blocks():
            count = int(arrays.pop("segments"))
            columns: dict[str, Arrays] = {}  # of each metric
            for name, array in arrays.items():
                metric, _, column = name.partition(".")
                columns.setdefault(metric, {})[column] = array
            yield ScoredBlock(list(islice(segments, count)), [BlockScores(**of) for of in columns.values()])
            done += count
        say(f"{done:,} of {prepared.plan.segments:,} segments were scored before")
    for block in compute(done, settings["tokens"]) if done < prepared.plan.segments else ():
        done += len(block.segments)
        if journal is not None and done < prepared.plan.segments:  # the last block needs no keeping: the output is next
            if not journal.is_open:
                journal.start(identity(), settings)
            finished: Arrays = {"segments": np.array(len(block.segments))}
            for i, scores in enumerate(block.scores):
                finished |= {f"{i}.{name}": array for name, array in vars(scores).items() if array is not None}
            journal.append(finished)
        yield block
