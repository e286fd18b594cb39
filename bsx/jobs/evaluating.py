"""How well metrics agree with people: scores of a table, or computed here and now, beside human scores."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from bsx.analysis.agreement.categories import matching
from bsx.analysis.agreement.evaluate import meta_evaluate
from bsx.analysis.agreement.measures import CorpusScores
from bsx.analysis.agreement.result import MetaResult
from bsx.analysis.agreement.sentinels import MADE, columns_of
from bsx.analysis.agreement.settings import MetaOptions, MetaSettings
from bsx.bertscore.config import ScorerConfig
from bsx.data.cells import Spelled, spelled
from bsx.data.columns import Labels, read_columns
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import known_signatures, lower_by_sidecar
from bsx.data.tables import Row, Table
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.score import Input, add_apart, load_metrics, wanted_sides
from bsx.metrics.blocks import Values
from bsx.metrics.run import prepare, stream
from bsx.metrics.summary import about, apart, flags, summarise
from bsx.metrics.totals import Totals
from bsx.metrics.zoo import metric_names
from bsx.support.checks import Array
from bsx.support.near import did_you_mean
from bsx.support.progress import Progress, Watch, told
from bsx.support.provenance import provenance
from bsx.support.settings import build_config, set_fields, takes
from bsx.support.untyped import Settings

Cell = float | str


@dataclass(frozen=True)
class Wanted:
    """The columns that the user named.

    Attributes:
        columns: columns of the table with scores.
        human: columns of human scores; several only beside as many candidates.
        group: column of groups.
        system: column of systems.
        segment: column of segments.
        lower: those of ``columns`` of which lower is better.
        sentinels: controls: columns, metrics to compute beside ``metrics=``, ``constant`` or ``shuffled``.
        categories: columns of human scores by kind of error, or patterns such as ``human_*``.
    """

    columns: list[str]
    human: list[str]
    group: str | None = None
    system: str | None = None
    segment: str | None = None
    lower: list[str] = field(default_factory=list)
    sentinels: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)

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
        kept: the other columns of the table that was scored, one cell a row,
        types: the Arrow types of its columns.
        sidecar: summary and signatures of scores computed here.
        signatures: of the metrics, where known.
        corpus: metric -> what its corpus scores are made of.
    """

    values: Mapping[str, Array | Labels | list[Cell]]
    wanted: Wanted
    notes: list[str] = field(default_factory=list)
    kept: Mapping[str, list[object]] = field(default_factory=dict)
    types: Mapping[str, object] = field(default_factory=dict)
    sidecar: object | None = None
    signatures: dict[str, str] = field(default_factory=dict)
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the long table, and the signatures beside it."""
        columns = {**self.kept, **self.values}
        with ScoreTable(path, self.types) as table:
            for row in zip(*columns.values(), strict=True):
                table.write(dict(zip(columns, row, strict=True)))
            table.sidecar = self.sidecar


@dataclass(frozen=True, eq=False)
class MetaRun:
    """What came out.

    Attributes:
        result: the agreement, with intervals and tests.
        files: what was read.
        signatures: of the metrics, where known.
        notes: what the reader should know.
    """

    result: MetaResult
    files: list[str]
    signatures: dict[str, str]
    notes: list[str]


@takes(MetaSettings)
@as_one_run
def meta(
    wanted: Wanted,
    *,
    file: str | None = None,
    metrics: Sequence[str] = (),
    texts: Input | None = None,
    scores_out: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[MetaOptions],
) -> MetaRun:
    """Correlate metrics with human scores: per group with intervals, the average, and significant differences.

    Args:
        wanted: columns of the table.
        file: table with scores; ``-`` is standard input.
        metrics: instead, specs of metrics to score ``texts`` with.
        texts: a table of texts.
        scores_out: with ``metrics``: table to keep the scores in.
        settings: with ``metrics``: model, language, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **how: level, statistic, test and corrections.

    Raises:
        InputError: for a table, column or metric that cannot be used.
    """
    progress = told(progress)
    build_config(how, MetaSettings, spelling="`{}=`")  # before anything is read or scored
    if scores_out is not None:
        check_table(scores_out)
    data = texts.data if texts is not None else None
    given = set_fields(settings)
    if metrics:
        if file is not None or texts is None or data is None:
            raise InputError("`metrics=` needs the texts as `data=FILE`, and no other FILE")
        if wanted.segment is not None and wanted.system is None and len(texts.candidate) < 2:
            # Said before anything is scored; several candidate columns are the systems.
            raise InputError("`segment=` goes with `system=`: name the column of systems too, or leave both out")
        if twice := [name for name in wanted.sentinels if name in metrics]:
            raise InputError(f"`sentinels=`: {twice[0]!r} is among the metrics already: it is one or the other")
        known = metric_names()
        scored = [name for name in wanted.sentinels if name.partition(":")[0] in known]
        there = [name for name in wanted.sentinels if name not in scored and name not in MADE]
        every = replace(wanted, columns=[*wanted.columns, *there])
        columns = score_columns([*metrics, *scored], texts, every, given, progress, keep=scores_out is not None)
        if scores_out is not None:
            columns.save(scores_out)
    else:
        if file is None or not wanted.columns:
            raise InputError("give FILE and `columns=COL,…` for the metrics in it, or `metrics=METRICS` `data=FILE`")
        for name, value in (("data", data), ("scores_out", scores_out), *given.items()):
            if value is not None:
                raise InputError(f"`{name}=` goes with `metrics=`")
        columns = read_scores(file, wanted)
    names = columns.wanted
    result = meta_evaluate(
        columns.values,
        metrics=[name for name in names.columns if name not in wanted.sentinels],
        human=names.human[0],
        group=names.group,
        system=names.system,
        segment=names.segment,
        lower=names.lower,
        sentinels=wanted.sentinels,
        categories=names.categories,
        corpus=columns.corpus,
        **how,
    )
    read = [name for name in (file, data) if name is not None]
    return MetaRun(result, read, columns.signatures, [*columns.notes, *result.notes])


def read_scores(file: str, wanted: Wanted) -> Columns:
    """Read the wanted columns of a table; ``-`` is standard input.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    if len(wanted.human) != 1:
        raise InputError(
            "name one column of human scores, `human=COL`, that belongs to the scores of its row; "
            "several go with `metrics=` and as many `candidate=` columns"
        )
    table = Table(file)
    controls = columns_of(wanted.sentinels, table.columns, wanted.columns)
    categories = matching(wanted.categories, table.columns, wanted.human[0])
    values = read_columns(table, [*wanted.columns, *controls, *wanted.human, *categories], wanted.labels())
    notes = []
    if wanted.system is None and "system" in table.columns:
        notes.append(
            f"{table.name} has a column 'system', but rows are taken as independent: `system=` and `segment=` name "
            "columns"
        )
    read = [*wanted.columns, *controls]
    turned = [name for name in lower_by_sidecar(file) if name in read and name not in wanted.lower]
    notes += [f"lower is better for {name}, as {file}.signatures.json says: its sign is turned" for name in turned]
    signatures = known_signatures(file, read)
    named = replace(wanted, lower=[*wanted.lower, *turned], categories=categories)
    return Columns(values, named, notes, signatures=signatures)


def require(name: str, columns: Sequence[str], file: str) -> None:
    """Raise UnknownNameError unless a table has the column; list near names."""
    if name not in columns:
        hint = did_you_mean(name, columns)
        raise UnknownNameError(f"{file}: has no column {name!r}; it has {', '.join(columns)}.{hint}")


def score_columns(
    specs: Sequence[str],
    given: Input,
    wanted: Wanted,
    settings: Settings,
    progress: Progress | None,
    *,
    keep: bool = False,
) -> Columns:
    """Score a table of texts with the zoo's metrics and put the scores beside the wanted columns.

    Several candidate columns are systems; each needs a column of human scores, in the same order. The long table then
    has the columns system, segment and human.

    Args:
        specs: metrics.
        given: a `bsx.jobs.score.Input` with a table.
        wanted: columns of that table.
        settings: of the run: model, language, device, …
        progress: called with phase, done and total.
        keep: the other columns of the table too, to be saved.

    Raises:
        InputError: if columns do not fit together.
    """
    file = given.data or ""
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(given.open(wanted_sides(specs, settings), keep_rows=True))
        systems = corpus.systems
        named = _long_names(wanted, systems, specs)
        there = list(getattr(corpus, "columns", ()))
        for name in [*wanted.columns, *wanted.human, *wanted.labels()]:
            require(name, there, file)
        if wanted.categories and len(systems) > 1:
            raise InputError("`categories=` goes with one `candidate=` column: its scores are of one system")
        kinds = matching(wanted.categories, there, wanted.human[0])
        said: list[str] = []
        metrics, plan = load_metrics(specs, settings, corpus, said.append)
        values: dict[str, list[Cell]] = {
            name: [] for name in [*named.labels(), *named.human, *kinds, *wanted.columns, *(m.spec for m in metrics)]
        }
        totals = [Totals(metric, len(systems)) for metric in metrics]
        by_system: dict[str, list[Totals]] = {}
        prepared = prepare(metrics, corpus, plan=plan, progress=progress)
        melted = [] if len(systems) == 1 else [*systems, *wanted.human]
        asked = {*wanted.labels(), *wanted.human, *wanted.columns, *kinds}
        others = [name for name in there if name not in asked | {*melted}]
        others += ["candidate"] if melted else []
        kept: dict[str, list[object]] = {name: [] for name in others if keep}
        twice = [name for name in values if name in kept]
        if twice:
            raise InputError(f"{file}: has a column {twice[0]!r} already, which `scores_out=` adds: rename it")
        types = corpus.types() if keep and hasattr(corpus, "types") else {}
        number, statistics = 0, dict[str, list[Values]]()
        for block in stream(prepared, progress=progress):
            for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                total.add(scores, undefined, block.segments)
            for segment in block.segments:
                number += 1
                for cells in _long_rows(segment.row or {}, number, systems, wanted, named):
                    row = Row(f"{file}: row {number}", cells)
                    for name in (*named.human, *kinds, *wanted.columns):
                        values[name].append(Spelled(spelled(row[name]), row.number(name)))
                    for name in named.labels():
                        values[name].append(row.name(name))
                    for name in kept:
                        kept[name].append(cells[name])
            if wanted.system is not None:
                below = values[wanted.system][-len(block.segments) :]
                add_apart(by_system, metrics, block, [str(system) for system in below])
            for metric, scores in zip(metrics, block.scores, strict=True):
                values[metric.spec] += [float(value) for value in scores.values]
                if scores.statistics is not None:
                    statistics.setdefault(metric.spec, []).append(scores.statistics)
    lower = [metric.spec for metric in metrics if not metric.higher_is_better]
    summary = summarise(prepared, totals)
    if len(by_system) > 1:
        summary = apart(prepared, summary, by_system)
    notes = [*said, *about(metrics), *flags(prepared, totals)]
    every = Wanted(
        [*(m.spec for m in metrics), *wanted.columns],
        named.human,
        named.group,
        named.system,
        named.segment,
        [*lower, *wanted.lower],
        categories=kinds,
    )
    signatures = {entry["metric"]: entry["signature"] for entry in summary["metrics"]}
    origin = provenance("score", [file], signatures)
    of_corpus = {
        metric.spec: CorpusScores(np.concatenate(statistics[metric.spec]), metric.system_score)
        for metric, total in zip(metrics, totals, strict=True)
        if total.has_statistics
    }
    return Columns(values, every, notes, kept, types, {**summary, "provenance": origin}, signatures, of_corpus)


def _long_names(wanted: Wanted, systems: Sequence[str], specs: Sequence[str]) -> Wanted:
    """Return what the columns are called when each system has rows of its own."""
    if len(wanted.human) != len(systems):
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
        wanted = Wanted([], ["human"], wanted.group, "system", wanted.segment or "segment", wanted.lower)
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
