"""How well metrics agree with people: scores of a table, or computed here and now, beside human scores."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from bsx.analysis.agreement.categories import matching
from bsx.analysis.agreement.evaluate import meta_evaluate
from bsx.analysis.agreement.judgments import Judgments
from bsx.analysis.agreement.measures import CorpusScores
from bsx.analysis.agreement.result import MetaResult
from bsx.analysis.agreement.sentinels import MADE, columns_of
from bsx.analysis.agreement.settings import MetaOptions, MetaSettings
from bsx.analysis.datasets.testsets import load_test_set
from bsx.bertscore.config import ScorerConfig
from bsx.data.cells import Spelled, spelled
from bsx.data.columns import Labels, number_column, read_columns
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import carried, known_signatures, lower_by_sidecar, scored_columns
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
        columns: columns of the table with scores; those that are known to be metrics unless given.
        human: columns of human scores: one for each of several candidates, or of several judgments; ``human``,
            ``human_z`` or ``z`` unless given.
        group: column of groups.
        system: column of systems; ``system``, if there is one, unless given.
        segment: column of segments; beside systems ``segment``, ``sid`` or ``id``, if there is one, unless given.
        lower: those of ``columns`` of which lower is better.
        sentinels: controls: columns, metrics to compute beside ``metrics=``, ``constant`` or ``shuffled``.
        categories: columns of human scores by kind of error, or patterns such as ``human_*``.
    """

    columns: list[str] = field(default_factory=list)
    human: list[str] = field(default_factory=list)
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
        result: the agreement, with intervals and tests; one for each judgment, if there are several.
        files: what was read.
        signatures: of the metrics, where known.
        notes: what the reader should know.
    """

    result: MetaResult | Judgments
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
    if texts is not None and texts.test_set is not None:
        return _on_test_set(wanted, texts, file, metrics, scores_out, settings, progress, how)
    data = texts.data if texts is not None else None
    given = set_fields(settings)
    if metrics:
        if file is not None or texts is None or data is None:
            raise InputError("`metrics=` needs the texts as `data=FILE`, and no other FILE")
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
        if file is None:
            raise InputError("give FILE and `columns=COL,…` for the metrics in it, or `metrics=METRICS` `data=FILE`")
        for name, value in (("data", data), ("scores_out", scores_out), *given.items()):
            if value is not None:
                raise InputError(f"`{name}=` goes with `metrics=`")
        columns = read_scores(file, wanted)
    names = columns.wanted
    results = [
        meta_evaluate(
            columns.values,
            metrics=[name for name in names.columns if name not in wanted.sentinels],
            human=human,
            group=names.group,
            system=names.system,
            segment=names.segment,
            lower=names.lower,
            sentinels=wanted.sentinels,
            categories=names.categories,
            corpus=columns.corpus,
            **how,
        )
        for human in names.human
    ]
    result = results[0] if len(results) == 1 else Judgments(tuple(results))
    read = [*([file] if file is not None else []), *(texts.files() if texts is not None else [])]
    return MetaRun(result, read, columns.signatures, [*columns.notes, *result.notes])


def _on_test_set(
    wanted: Wanted,
    texts: Input,
    file: str | None,
    metrics: Sequence[str],
    scores_out: Path | None,
    settings: ScorerConfig | None,
    progress: Progress | None,
    how: MetaOptions,
) -> MetaRun:
    """Do the same with a public test set: with metrics computed on its texts, or with the scores that come with it."""
    if file is not None:
        raise InputError("`test_set=` is a table already: leave FILE out")
    said: list[str] = []
    with texts.opened(said.append) as found:
        if metrics:
            run = meta(
                wanted,
                metrics=metrics,
                texts=found,
                scores_out=scores_out,
                settings=settings,
                progress=progress,
                **how,
            )
        else:
            columns = wanted.columns or list(load_test_set(texts.test_set or "", texts.data_dir).metrics)
            if not columns:
                raise InputError(f"{texts.test_set}: has no scores of metrics: compute some with `metrics=METRICS`")
            run = meta(
                replace(wanted, columns=columns),
                file=found.data,
                scores_out=scores_out,
                settings=settings,
                progress=progress,
                **how,
            )
    return replace(run, files=list(found.files()), notes=[*said, *run.notes])


def read_scores(file: str, wanted: Wanted) -> Columns:
    """Read the wanted columns of a table; ``-`` is standard input.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    table = Table(file)
    named = _with_usual(wanted, table.columns, table.name)
    if not named.columns:
        named = replace(named, columns=[n for n in scored_columns(file, table.columns) if n not in wanted.sentinels])
    if not named.columns:
        raise InputError(
            f"{table.name}: `columns=COL,…` names the metrics in it; it has {', '.join(table.columns)}. "
            "`metrics=METRICS` and `data=FILE` compute some"
        )
    controls = columns_of(wanted.sentinels, table.columns, named.columns)
    categories = matching(wanted.categories, table.columns, named.human[0])
    read = [*named.columns, *controls]
    pairs = [name for name in ("lp",) if name in table.columns and name not in (*read, *named.labels())]
    values = read_columns(table, [*read, *named.human, *categories], named.labels(), keys=pairs)
    named, notes = _told_apart(named, wanted, values)
    notes += _pairs_together(named, [label for name in pairs for label in values.pop(name)])
    turned = [name for name in lower_by_sidecar(file) if name in read and name not in wanted.lower]
    signatures = known_signatures(file, read)
    named = replace(named, lower=[*wanted.lower, *turned], categories=categories)
    return Columns(values, named, notes, signatures=signatures)


def _with_usual(wanted: Wanted, there: Sequence[str], file: str) -> Wanted:
    """Return the columns that the user named, with the usual ones for human scores, systems and segments.

    Raises:
        InputError: if no column of human scores is named and no usual one is there, or several beside categories.
    """
    taken = {*wanted.columns, *wanted.human, *wanted.labels(), *wanted.sentinels, *wanted.categories}

    def usual(names: Sequence[str]) -> str | None:
        return next((name for name in names if name in there and name not in taken), None)

    human = wanted.human or [name for name in [usual(HUMAN)] if name is not None]
    if not human:
        raise InputError(f"{file}: `human=COL` names the column of human scores; it has {', '.join(there)}")
    if wanted.categories and len(human) > 1:
        raise InputError("`categories=` goes with one column of human scores, `human=COL`")
    system = wanted.system or usual([SYSTEM])
    segment = wanted.segment or (usual(SEGMENTS) if system is not None else None)
    return replace(wanted, human=human, system=system, segment=segment)


def _told_apart(
    named: Wanted, wanted: Wanted, values: Mapping[str, Array | Labels | list[Cell]]
) -> tuple[Wanted, list[str]]:
    """Return the columns without a usual one of segments that leaves rows alike, and what is to be said of systems."""
    if (system := named.system) is None:
        return named, []
    if named.segment is not None and wanted.segment is None:
        rows = list(zip(*(values[name] for name in named.labels()), strict=True))
        if len(set(rows)) < len(rows):
            alike = f"several rows have the same {system!r} and {named.segment!r}"
            named = replace(named, system=wanted.system, segment=None)
            return named, [f"{alike}: rows are taken as independent; `segment=` names a column that tells them apart"]
    if wanted.system is None:
        judged = ~np.isnan(number_column(named.human[0], values[named.human[0]]))
        groups = values[named.group] if named.group is not None else ["all"] * len(judged)
        there = {*zip(np.array(groups, dtype=object)[judged], np.array(values[system])[judged], strict=True)}
        if min(Counter(group for group, _ in there).values(), default=0) < 2:  # a group of one system is of rows
            one = len({name for _, name in there}) < 2
            named = replace(named, system=None, segment=None)
            return named, [] if one else ["a group has a single system: rows are taken as independent"]
    if named.segment is None and wanted.system is None and len(set(values[system])) > 1:
        return named, [
            f"the column {system!r} names systems, but none names segments: rows are taken as independent; "
            "`segment=` names it"
        ]
    return named, []


def _pairs_together(named: Wanted, pairs: Sequence[str]) -> list[str]:
    """Return the sentence that says that the rows of several language pairs are taken together."""
    n = len(set(pairs))
    if named.group is not None or n < 2:
        return []
    return [
        f"the column 'lp' names {n} language pairs: the rows of all are taken together; `group=lp` takes each alone"
    ]


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
        there = list(getattr(corpus, "columns", ()))
        asked, wanted = wanted, wanted if len(systems) > 1 else _with_usual(wanted, there, file)
        if wanted.segment is not None and wanted.system is None and len(systems) == 1:
            raise InputError("`segment=` goes with `system=`: name the column of systems too, or leave both out")
        named = _long_names(wanted, systems, specs)
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
        used = {*wanted.labels(), *wanted.human, *wanted.columns, *kinds}
        others = [name for name in there if name not in used | {*melted}]
        others += ["candidate"] if melted else []
        kept: dict[str, list[object]] = {name: [] for name in others if keep}
        twice = [name for name in values if name in kept]
        if twice:
            raise InputError(f"{file}: has a column {twice[0]!r} already, which `scores_out=` adds: rename it")
        types = corpus.types() if keep and hasattr(corpus, "types") else {}
        number, statistics, pairs = 0, dict[str, list[Values]](), list[str]()
        for block in stream(prepared, progress=progress):
            for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                total.add(scores, undefined, block.segments)
            for segment in block.segments:
                number += 1
                if segment.row is not None and "lp" in segment.row:
                    pairs.append(spelled(segment.row["lp"]))
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
    alone, apart_notes = _told_apart(named, asked, values) if len(systems) == 1 else (named, [])
    notes = [*said, *about(metrics), *flags(prepared, totals), *apart_notes, *_pairs_together(named, pairs)]
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
        for metric, total in zip(metrics, totals, strict=True)
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
