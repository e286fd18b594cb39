"""Scores computed here and now for a table of texts, and put beside its columns."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.agreement.categories import matching
from bsx.analysis.agreement.rows import CorpusScores
from bsx.data.cells import Spelled, spelled
from bsx.data.files import TableFile
from bsx.data.long import SEGMENTS, SYSTEM
from bsx.data.sidecar import carried
from bsx.data.tables import Row
from bsx.encode.run_config import EncoderSettings
from bsx.errors import InputError
from bsx.jobs.evaluating.columns import Cell, Columns, Wanted, odd_rows, pairs_together, told_apart, with_usual
from bsx.jobs.scoring.input import Input
from bsx.jobs.scoring.metrics import load_metrics, wanted_sides
from bsx.metrics.blocks import Values
from bsx.metrics.run import prepare, stream
from bsx.metrics.summary import Tally, about, flags, summarise
from bsx.support.progress import Progress
from bsx.support.provenance import provenance


def score_columns(
    specs: Sequence[str],
    given: Input,
    wanted: Wanted,
    settings: EncoderSettings,
    progress: Progress | None,
    *,
    keep: bool = False,
    paired: bool = False,
) -> Columns:
    """Score a table of texts with the zoo's metrics and put the scores beside the wanted columns.

    Several candidate columns are systems; each needs a column of human scores, in the same order. The long table then
    has the columns system, segment and human.

    Args:
        specs: metrics.
        given: a `bsx.jobs.Input` with a table.
        wanted: columns of that table.
        settings: of the run: model, language, device, …
        progress: called with phase, done and total.
        keep: the other columns of the table too, to be saved.
        paired: whether rows are of systems and segments, whatever they hold; see `told_apart`.

    Raises:
        InputError: if columns do not fit together.
    """
    file = given.table or ""
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(given.open(wanted_sides(specs, settings), keep_rows=True))
        systems = corpus.systems
        assert isinstance(corpus, TableFile)  # noqa: S101 - for the type checker; the table is one
        there = corpus.columns
        asked, wanted = wanted, wanted if len(systems) > 1 else with_usual(wanted, there, file)
        if wanted.segment is not None and wanted.system is None and len(systems) == 1:
            raise InputError("`segment=` goes with `system=`: name the column of systems too, or leave both out")
        named = _long_names(wanted, systems, specs)
        corpus.table.require(*wanted.columns, *wanted.human, *wanted.labels())
        if wanted.categories and len(systems) > 1:
            raise InputError("`categories=` goes with one `candidate=` column: its scores are of one system")
        kinds = matching(wanted.categories, there, wanted.human[0])
        said: list[str] = []
        metrics, plan = load_metrics(specs, settings, corpus, said.append)
        values: dict[str, list[Cell]] = {
            name: [] for name in [*named.labels(), *named.human, *kinds, *wanted.columns, *(m.spec for m in metrics)]
        }
        prepared = prepare(metrics, corpus, plan=plan, progress=progress)
        tally = Tally(prepared)
        melted = [] if len(systems) == 1 else [*systems, *wanted.human]
        used = {*wanted.labels(), *wanted.human, *wanted.columns, *kinds}
        others = [name for name in there if name not in used | {*melted}]
        others += ["candidate"] if melted else []
        kept: dict[str, list[object]] = {name: [] for name in others if keep}
        twice = [name for name in values if name in kept]
        if twice:
            raise InputError(f"{file}: has a column {twice[0]!r} already, which `scores_out=` adds: rename it")
        types = corpus.types() if keep else {}
        number, statistics, pairs = 0, dict[str, list[Values]](), list[str]()
        texts: list[Hashable] = []
        for block in stream(prepared, progress=progress):
            for segment in block.segments:
                number += 1
                if segment.row is not None and "lp" in segment.row:
                    pairs.append(spelled(segment.row["lp"]))
                for cells in _long_rows(segment.row or {}, number, systems, wanted, named):
                    texts.append(hash((segment.references, segment.source)))
                    row = Row(f"{file}: row {number}", cells)
                    for name in (*named.human, *kinds, *wanted.columns):
                        values[name].append(Spelled(spelled(row[name]), row.number(name)))
                    for name in named.labels():
                        values[name].append(row.name(name))
                    for name in kept:
                        kept[name].append(cells[name])
            below = values[wanted.system][-len(block.segments) :] if wanted.system is not None else []
            tally.add(block, [str(system) for system in below])
            for metric, scores in zip(metrics, block.scores, strict=True):
                values[metric.spec] += [float(value) for value in scores.values]
                if scores.statistics is not None:
                    statistics.setdefault(metric.spec, []).append(scores.statistics)
    lower = [metric.spec for metric in metrics if not metric.higher_is_better]
    summary = summarise(prepared, tally.totals, tally.by_system)
    alone, apart_notes = told_apart(named, asked, values, paired=paired) if len(systems) == 1 else (named, [])
    notes = [*said, *about(metrics), *flags(prepared, tally.totals), *apart_notes, *pairs_together(named, pairs)]
    notes += odd_rows(replace(named, system=alone.system, segment=alone.segment), values, texts)
    every = Wanted(
        [*(m.spec for m in metrics), *wanted.columns],
        named.human,
        named.group,
        alone.system,
        alone.segment,
        [*lower, *wanted.lower],
        categories=kinds,
    )
    signatures = {entry["metric"]: entry["signature"] for entry in summary["metrics"]}
    origin = provenance("score", given.files(), signatures)
    of_corpus = {
        metric.spec: CorpusScores(np.concatenate(statistics[metric.spec]), metric.system_score)
        for metric, total in zip(metrics, tally.totals, strict=True)
        if total.has_statistics
    }
    summary["metrics"] = [*carried(file), *summary["metrics"]]
    return Columns(values, every, notes, kept, types, {**summary, "provenance": origin}, signatures, of_corpus)


def _long_names(wanted: Wanted, systems: Sequence[str], specs: Sequence[str]) -> Wanted:
    """Return what the columns are called when each system has rows of its own."""
    if len(systems) > 1 and len(wanted.human) != len(systems):
        raise InputError(
            f"{len(systems)} `candidate=` columns need as many `human=` columns in the same order, "
            f"not {len(wanted.human)}"
        )
    if len(systems) > 1:
        if wanted.system is not None:
            raise InputError("several `candidate=` columns are the systems already: leave out `system=`")
        if wanted.columns:
            raise InputError(
                "the columns of `columns=` go with one `candidate=` column: their scores are of one system"
            )
        wanted = Wanted([], ["human"], wanted.group, SYSTEM, wanted.segment or SEGMENTS[0], wanted.lower)
    taken = [*wanted.human, *wanted.labels(), *wanted.columns]
    for name in [*taken, *specs]:
        if [*taken, *specs].count(name) > 1:
            raise InputError(f"the column {name!r} is there twice: rename it in the table")
    return wanted


def _long_rows(
    row: Mapping[str, object], number: int, systems: Sequence[str], wanted: Wanted, named: Wanted
) -> Iterator[Mapping[str, object]]:
    """Yield a row for each system of a segment, with the long table's column names."""
    if len(systems) == 1:
        yield row
        return
    for system, human in zip(systems, wanted.human, strict=True):
        name = row[wanted.segment] if wanted.segment is not None else str(number)
        yield {**row, "system": system, named.segment or "segment": name, "human": row[human], "candidate": row[system]}
