"""What ``bsx meta`` evaluates: columns of a table, or scores computed here and now."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bsx.errors import InputError, UnknownNameError
from bsx.near import did_you_mean


@dataclass(frozen=True)
class Wanted:
    """The columns that the user named.

    Attributes:
        metrics: columns of the table with scores.
        human: columns of human scores; several only beside as many candidates.
        group: column of groups.
        system: column of systems.
        segment: column of segments.
        lower: metrics of which lower is better.
    """

    metrics: list[str]
    human: list[str]
    group: str | None
    system: str | None
    segment: str | None
    lower: list[str]

    def labels(self) -> list[str]:
        """Return the columns that are not numbers."""
        return [name for name in (self.group, self.system, self.segment) if name is not None]


@dataclass
class Columns:
    """A long table in memory, and what its columns are called.

    Attributes:
        values: name -> one value a row.
        wanted: the columns to analyse.
        notes: what the user should know.
        sidecar: summary and signatures of scores computed here.
    """

    values: dict[str, list[Any]]
    wanted: Wanted
    notes: list[str] = field(default_factory=list)
    sidecar: object | None = None


def read_columns(file: str, wanted: Wanted) -> Columns:
    """Read the wanted columns of a table; ``-`` is standard input.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    from bsx.cli.sources import opened_table

    if len(wanted.human) != 1:
        raise InputError("name one column of human scores: --human COL")
    numeric = [*wanted.metrics, *wanted.human]
    values: dict[str, list[Any]] = {name: [] for name in [*numeric, *wanted.labels()]}
    where = "standard input" if file == "-" else file
    with opened_table(file) as table:
        for name in values:
            _require(name, table.columns, where)
        for number, segment in enumerate(table, start=1):
            _read_row(segment.row or {}, f"{where}: row {number}", numeric, wanted.labels(), values)
    return Columns(values, wanted)


def _require(name: str, columns: Sequence[str], file: str) -> None:
    if name not in columns:
        raise UnknownNameError(
            f"{file}: has no column {name!r}; it has {', '.join(columns)}.{did_you_mean(name, columns)}"
        )


def _read_row(
    row: Mapping[str, Any], where: str, numeric: Sequence[str], labels: Sequence[str], values: dict[str, list[Any]]
) -> None:
    from bsx.analysis.datasets.rows import number, spell

    for name in numeric:
        values[name].append(number(row[name], f"{where}, column {name!r}"))
    for name in labels:
        values[name].append(spell(row[name], f"{where}, column {name!r}"))


def score_columns(specs: Sequence[str], given: Any, wanted: Wanted, settings: dict[str, Any]) -> Columns:
    """Score a table of texts with the zoo's metrics and put the scores beside the wanted columns.

    Several candidate columns are systems; each needs a column of human scores, in the same order. The long table then
    has the columns system, segment and human.

    Args:
        specs: metrics.
        given: a `bsx.cli.score_metrics.Input` with a table.
        wanted: columns of that table.
        settings: of the run: model, language, device, …

    Raises:
        InputError: if columns do not fit together.
    """
    from bsx.cli.progress import progress_bar
    from bsx.cli.score_metrics import load_metrics, summarise, wanted_sides
    from bsx.metrics.run import Totals, prepare, stream

    file = given.data
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(given.open(wanted_sides(specs, settings), keep_rows=True))
        systems = corpus.systems
        named = _long_names(wanted, systems, specs)
        for name in [*wanted.metrics, *wanted.human, *wanted.labels()]:
            _require(name, corpus.columns, file)
        metrics = load_metrics(specs, settings, corpus)
        values: dict[str, list[Any]] = {
            name: [] for name in [*named.labels(), *named.human, *wanted.metrics, *(m.spec for m in metrics)]
        }
        totals = [Totals(metric, len(systems)) for metric in metrics]
        with progress_bar() as report:
            prepared = prepare(metrics, corpus, progress=report)
            number = 0
            for block in stream(prepared, progress=report):
                for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                    total.add(scores, undefined)
                for segment in block.segments:
                    number += 1
                    where = f"{file}: row {number}"
                    for row in _long_rows(segment, number, systems, wanted, named):
                        _read_row(row, where, [*named.human, *wanted.metrics], named.labels(), values)
                for metric, scores in zip(metrics, block.scores, strict=True):
                    values[metric.spec] += [float(value) for value in scores.values]
    lower = [metric.spec for metric in metrics if not metric.higher_is_better]
    notes = [note for metric in metrics for note in metric.notes]
    every = Wanted([*(m.spec for m in metrics), *wanted.metrics], named.human, named.group, named.system,
                   named.segment, [*lower, *wanted.lower])  # fmt: skip
    return Columns(values, every, notes, summarise(prepared, totals))


def _long_names(wanted: Wanted, systems: Sequence[str], specs: Sequence[str]) -> Wanted:
    """Return what the columns are called when each system has rows of its own."""
    if len(wanted.human) != len(systems):
        raise InputError(
            f"{len(systems)} --candidate columns need as many --human columns in the same order, not {len(wanted.human)}"
        )
    if len(systems) > 1:
        if wanted.system is not None:
            raise InputError("several --candidate columns are the systems already: leave out --system")
        if wanted.metrics:
            raise InputError("--metric columns go with one --candidate column: their scores are of one system")
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
        long = {"system": system, named.segment: name, "human": row[human]}
        yield long if wanted.group is None else {**long, wanted.group: row[wanted.group]}


def write_scores(columns: Columns, path: Path) -> None:
    """Write the long table, and the signatures beside it."""
    from bsx.table import ScoreTable

    with ScoreTable(path) as table:
        for row in zip(*columns.values.values(), strict=True):
            table.write(dict(zip(columns.values, row, strict=True)))
        table.sidecar = columns.sidecar


def write_result(content: str, output: Path | None) -> None:
    """Print a result, or write it to a file that appears when it is complete."""
    content = content.rstrip("\n") + "\n"
    if output is None:
        sys.stdout.write(content)
        return
    from bsx.table import atomic_text

    with atomic_text(output) as stream:
        stream.write(content)


def render(result: Any, format: str) -> str:
    """Return a result in one of the formats text, csv, json and latex."""
    if format == "json":
        return json.dumps(result.to_dict(), ensure_ascii=False)
    rendered: str = {"text": result.to_text, "csv": result.to_csv, "latex": result.to_latex}[format]()
    return rendered
