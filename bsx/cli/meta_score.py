"""Scores computed here and now for ``bsx meta --score``, as a long table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsx.cli.meta_inputs import Columns, Wanted, read_row, require
from bsx.errors import InputError

if TYPE_CHECKING:
    from bsx.jobs.score import Input


def score_columns(specs: Sequence[str], given: Input, wanted: Wanted, settings: dict[str, Any]) -> Columns:
    """Score a table of texts with the zoo's metrics and put the scores beside the wanted columns.

    Several candidate columns are systems; each needs a column of human scores, in the same order. The long table then
    has the columns system, segment and human.

    Args:
        specs: metrics.
        given: a `bsx.jobs.score.Input` with a table.
        wanted: columns of that table.
        settings: of the run: model, language, device, …

    Raises:
        InputError: if columns do not fit together.
    """
    from bsx.cli.messages import say
    from bsx.cli.progress import progress_bar
    from bsx.jobs.score import load_metrics, wanted_sides
    from bsx.metrics.run import Totals, prepare, stream
    from bsx.metrics.summary import flags, summarise
    from bsx.support.provenance import provenance

    file = given.data or ""
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(given.open(wanted_sides(specs, settings), keep_rows=True))
        systems = corpus.systems
        named = _long_names(wanted, systems, specs)
        for name in [*wanted.metrics, *wanted.human, *wanted.labels()]:
            require(name, getattr(corpus, "columns", ()), file)
        metrics, plan = load_metrics(specs, settings, corpus, lambda note: say([note]))
        values: dict[str, list[Any]] = {
            name: [] for name in [*named.labels(), *named.human, *wanted.metrics, *(m.spec for m in metrics)]
        }
        totals = [Totals(metric, len(systems)) for metric in metrics]
        with progress_bar() as report:
            prepared = prepare(metrics, corpus, plan=plan, progress=report)
            number = 0
            for block in stream(prepared, progress=report):
                for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                    total.add(scores, undefined, block.segments)
                for segment in block.segments:
                    number += 1
                    where = f"{file}: row {number}"
                    for row in _long_rows(segment, number, systems, wanted, named):
                        read_row(row, where, [*named.human, *wanted.metrics], named.labels(), values)
                for metric, scores in zip(metrics, block.scores, strict=True):
                    values[metric.spec] += [float(value) for value in scores.values]
    lower = [metric.spec for metric in metrics if not metric.higher_is_better]
    summary = summarise(prepared, totals)
    notes = [*(note for metric in metrics for note in metric.notes), *flags(summary)]
    every = Wanted(
        [*(m.spec for m in metrics), *wanted.metrics],
        named.human,
        named.group,
        named.system,
        named.segment,
        [*lower, *wanted.lower],
    )
    signatures = {entry["metric"]: entry["signature"] for entry in summary["metrics"]}
    origin = provenance("score", [file], signatures)
    return Columns(values, every, notes, {**summary, "provenance": origin}, signatures)


def _long_names(wanted: Wanted, systems: Sequence[str], specs: Sequence[str]) -> Wanted:
    """Return what the columns are called when each system has rows of its own."""
    if len(wanted.human) != len(systems):
        raise InputError(
            f"{len(systems)} --candidate columns need as many --human columns in the same order, "
            f"not {len(wanted.human)}"
        )
    if len(systems) > 1:
        if wanted.system is not None:
            raise InputError("several --candidate columns are the systems already: leave out --system")
        if wanted.metrics:
            raise InputError("the columns of --column go with one --candidate column: their scores are of one system")
        wanted = Wanted([], ["human"], wanted.group, "system", wanted.segment or "segment", wanted.lower)
    taken = [*wanted.human, *wanted.labels(), *wanted.metrics]
    for name in [*taken, *specs]:
        if [*taken, *specs].count(name) > 1:
            raise InputError(f"the column {name!r} is there twice: rename it in the table")
    return wanted


def _long_rows(
    segment: Any, number: int, systems: Sequence[str], wanted: Wanted, named: Wanted
) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each system of a segment, with the long table's column names."""
    row = segment.row
    if len(systems) == 1:
        yield row
        return
    for system, human in zip(systems, wanted.human, strict=True):
        name = row[wanted.segment] if wanted.segment is not None else str(number)
        long: dict[str, Any] = {"system": system, named.segment or "segment": name, "human": row[human]}
        yield long if wanted.group is None else {**long, wanted.group: row[wanted.group]}


def write_scores(columns: Columns, path: Path) -> None:
    """Write the long table, and the signatures beside it."""
    from bsx.data.output import ScoreTable

    with ScoreTable(path) as table:
        for row in zip(*columns.values.values(), strict=True):
            table.write(dict(zip(columns.values, row, strict=True)))
        table.sidecar = columns.sidecar
