"""The rows of a table of scores: what the input has, and a column a metric, or BERTScore's three figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bsx.data.corpus import Corpus, Segment, without_context
from bsx.data.files import TableFile
from bsx.data.long import SEGMENTS
from bsx.data.output import refuse_taken
from bsx.data.sidecar import FIGURES
from bsx.metrics.core import Figures
from bsx.metrics.run import Prepared, ScoredBlock
from bsx.support.untyped import Untyped


def column_types(corpus: Corpus, specs: Sequence[str] | None, output: Path, *, layers: bool) -> dict[str, Untyped]:
    """Return the Arrow types of a Parquet file's columns, for other files none; refuse columns that would be two.

    Args:
        corpus: the input, whose columns the output has too.
        specs: the metrics; None: BERTScore's three figures.
        output: the file.
        layers: whether there is a row a layer.
    """
    own = [*(["layer"] if layers else []), *FIGURES] if specs is None else specs
    columns = corpus.columns if isinstance(corpus, TableFile) else ["id"]
    refuse_taken(columns, [*(["system"] if len(corpus.systems) > 1 else []), *own])
    if output.suffix != ".parquet":
        return {}
    import pyarrow

    read = corpus.types() if isinstance(corpus, TableFile) else {}
    return {**read, **{spec: pyarrow.float64() for spec in specs or ()}}


def rows_of(block: ScoredBlock, prepared: Prepared) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: what the input has, and a column a metric, or for each figure of one with several.

    Of several systems, each row says which segment and candidate it is about, where no usual column does.

    Args:
        block: what was scored.
        prepared: its metrics and corpus.
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
