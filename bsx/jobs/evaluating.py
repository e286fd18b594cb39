"""How well metrics agree with human judgments: scores of a table, or computed here and now, beside human scores."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.agreement.categories import matching
from bsx.analysis.agreement.evaluate import meta_evaluate
from bsx.analysis.agreement.result import Judgments, MetaResult
from bsx.analysis.agreement.rows import CorpusScores
from bsx.analysis.agreement.sentinels import MADE, columns_of, is_learned, meant
from bsx.analysis.agreement.settings import MetaSettings
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.data.cells import Spelled, spelled
from bsx.data.columns import Labels, number_column, read_columns
from bsx.data.files import TableFile
from bsx.data.formats.memory import AnyTable
from bsx.data.long import SEGMENTS, SYSTEM, ColumnNames, ScoreColumns
from bsx.data.output import ScoreTable, check_table
from bsx.data.pairing import Pairing, texts_of_rows
from bsx.data.run import as_one_run
from bsx.data.seen import RowTexts
from bsx.data.sidecar import carried, control_columns, known_signatures
from bsx.data.tables import Row, Table
from bsx.errors import InputError
from bsx.jobs.scoring.input import Input
from bsx.jobs.scoring.metrics import load_metrics, wanted_sides
from bsx.jobs.tables import (
    HumanColumns,
    MetricSettings,
    TableSettings,
    TestSets,
    TextColumns,
    Watched,
    find_columns,
    known_columns,
    on_table,
    row_texts,
    turned,
)
from bsx.metrics.blocks import Values
from bsx.metrics.learned.seen import seen_notices
from bsx.metrics.run import prepare, stream
from bsx.metrics.summary import Tally, about, flags, summarise
from bsx.metrics.zoo import metric_names
from bsx.support.checks import Array
from bsx.support.progress import told
from bsx.support.provenance import provenance
from bsx.support.settings import Option, build_config, part, set_fields

Cell = float | str
Held = Mapping[str, Array | Labels | list[Cell]]


class MetaRun(
    Watched,
    MetaSettings,
    TestSets,
    TextColumns,
    MetricSettings,
    ScoreColumns,
    HumanColumns,
    TableSettings,
):
    """A meta-evaluation of scores that stand in a table, or of metrics computed on its texts."""

    human: Annotated[
        ColumnNames,
        Field(
            description="Columns of human scores; with several columns of candidates one for each, else several are "
            "several judgments, with a table each. [human, human_z or z]"
        ),
    ] = ()
    scores_out: Annotated[
        Path | str | None,
        Field(description="Keep the computed scores: .tsv, .csv, .jsonl, .parquet or .xlsx."),
        Option(writable=True),
    ] = None


@dataclass(frozen=True)
class Roles:
    """What the columns of a table hold: those that the user named, and those that have a usual name.

    Attributes:
        columns: scores of metrics.
        human: human scores: one for each of several candidates, or of several judgments.
        group: groups.
        system: systems.
        segment: segments.
        document: documents.
        lower: those of ``columns`` of which lower is better.
        categories: human scores by kind of error.
    """

    columns: Sequence[str]
    human: Sequence[str]
    group: str | None = None
    system: str | None = None
    segment: str | None = None
    lower: Sequence[str] = ()
    categories: Sequence[str] = ()
    document: str | None = None

    def labels(self) -> list[str]:
        """Return the columns that are not numbers."""
        named = (self.group, self.system, self.segment, self.document)
        return [name for name in named if name is not None]


@dataclass
class Columns:
    """A long table in memory, and what its columns hold.

    Attributes:
        values: name -> one value a row.
        roles: the columns to analyse.
        notes: what the user should know.
        kept: the other columns of the table that was scored, one cell a row.
        types: the Arrow types of its columns.
        sidecar: summary and signatures of scores computed here.
        signatures: of the metrics, where known.
        corpus: metric -> what its corpus scores are made of.
        pairs: language pair of each row, where a column says so.
    """

    values: Held
    roles: Roles
    notes: list[str] = field(default_factory=list)
    kept: Mapping[str, list[object]] = field(default_factory=dict)
    types: Mapping[str, object] = field(default_factory=dict)
    sidecar: object | None = None
    signatures: dict[str, str] = field(default_factory=dict)
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)
    pairs: Sequence[str] = ()

    def save(self, path: Path) -> None:
        """Write the long table, and the signatures beside it."""
        columns = {**self.kept, **self.values}
        with ScoreTable(path, self.types) as table:
            for row in zip(*columns.values(), strict=True):
                table.write(dict(zip(columns, row, strict=True)))
            table.sidecar = self.sidecar


@on_table(MetaRun)
@as_one_run
def meta(settings: MetaRun) -> MetaResult | Judgments:
    """Correlate metrics with human scores: per group with intervals, the average, and significant differences.

    Several columns of human scores are several judgments, with a result each.

    Args:
        settings: see `MetaRun`.

    Raises:
        InputError: for a table, column or metric that cannot be used.
    """
    if settings.scores_out is not None:
        check_table(Path(settings.scores_out))
    if not settings.metrics:
        only = [*TextColumns.model_fields, *MetricSettings.model_fields, "scores_out"]
        if idle := [name for name in set_fields(settings) if name in only and getattr(settings, name)]:
            raise InputError(f"{idle[0]} needs metrics", setting=idle[0])
    notes: list[str] = []
    with texts_of(settings).opened(notes.append) as texts:
        if not (settings.metrics or settings.columns or settings.sentinels or settings.test_set):
            table = Table(_table(texts))
            known = control_columns(table.name, table.columns)  # what was a control when it was scored stays one
            settings = settings.model_copy(update={"sentinels": known})
        settings = _controls_apart(settings, Table(_table(texts)))
        columns = score_columns(texts, settings) if settings.metrics else read_scores(_table(texts), settings)
    if settings.scores_out is not None:
        columns.save(Path(settings.scores_out))
    return judged(columns, settings, notes, lambda: _judged_texts(texts, settings, columns.roles))


def _controls_apart(settings: MetaRun, table: Table) -> MetaRun:
    """Return settings whose sentinels are spelled out, learned ones among the columns of scores moved to them."""
    columns = list(settings.columns)
    sentinels = meant(settings.sentinels, table.columns if any("*" in name for name in settings.sentinels) else [])
    if not (columns or settings.metrics):
        if settings.test_set is not None:
            from bsx.analysis.datasets.testsets import load_test_set

            columns = list(load_test_set(settings.test_set, settings.data_dir).metrics)
        else:
            columns = known_columns(table, ())
        columns = [name for name in columns if is_learned(name) or name not in sentinels]
    sentinels += [name for name in columns if is_learned(name) and name not in sentinels]
    columns = [name for name in columns if not is_learned(name)]
    return settings.model_copy(update={"columns": columns, "sentinels": sentinels})


def judged(
    columns: Columns, settings: MetaRun, notes: Sequence[str] = (), texts: Callable[[], RowTexts | None] = lambda: None
) -> MetaResult | Judgments:
    """Correlate scores that are in memory with human scores; see `meta`.

    Args:
        columns: the scores.
        settings: how.
        notes: what the user should know.
        texts: returns the texts of the rows that have human scores.
    """
    roles = columns.roles
    own = {**part(settings, MetaSettings), "system": roles.system, "segment": roles.segment, "group": roles.group}
    own |= {"document": roles.document, "lower": roles.lower, "categories": roles.categories, "corpus": columns.corpus}
    metrics = [name for name in roles.columns if name not in settings.sentinels]
    signatures = columns.signatures
    warnings = seen_notices(roles.columns, load_registry(settings.registry), texts, signatures=signatures)
    values = within_pairs(roles, columns.values, columns.pairs)
    results = [meta_evaluate(values, metrics, human, **own) for human in roles.human]
    notes = [*notes, *columns.notes]
    if len(results) == 1:
        warnings = (*warnings, *results[0].warnings)
        return replace(results[0], signatures=signatures, notes=(*notes, *results[0].notes), warnings=warnings)
    # What holds for all judgments is said once.
    every = [result.notes for result in results]
    shared = [note for note in every[0] if all(note in others for others in every)]
    apart = [f"{result.human}: {note}" for result in results for note in result.notes if note not in shared]
    parts = tuple(replace(result, notes=()) for result in results)
    return Judgments(parts, signatures=signatures, notes=(*notes, *shared, *apart), warnings=warnings)


def _judged_texts(texts: Input, settings: MetaRun, roles: Roles) -> RowTexts | None:
    """Return the texts of the rows that have human scores."""
    table = Table(_table(texts))
    return row_texts(table, settings, settings.human or roles.human)


def _table(texts: Input) -> AnyTable:
    assert texts.table is not None  # noqa: S101 - `texts_of` refuses to go without one
    return texts.table


def texts_of(settings: MetaRun) -> Input:
    """Return the table that is read, with its columns of texts, or the test set."""
    if settings.test_set is not None and settings.table is not None:
        raise InputError("test_set is a table already: leave out the other", setting="test_set")
    if settings.test_set is None and settings.table is None:
        raise InputError("name a table: of scores, or of texts, with metrics to compute on them")
    texts = part(settings, Input)
    return build_config({name: value for name, value in texts.items() if name not in ("system", "segment")}, Input)


def read_scores(file: AnyTable, settings: MetaRun) -> Columns:
    """Read the columns to analyse.

    Args:
        file: the table; ``-`` is standard input.
        settings: which columns.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    table = Table(file)
    roles = _roles(settings, table.columns, table.name)
    roles = replace(roles, columns=known_columns(table, settings.columns, *settings.sentinels))
    if not roles.columns:
        where = settings.test_set or table.name
        raise InputError(
            f"{where}: columns names the scores of metrics in it, metrics computes some; it has "
            f"{', '.join(table.columns)}"
        )
    controls = columns_of(settings.sentinels, table.columns, roles.columns)
    categories = matching(settings.categories, table.columns, roles.human[0])
    scored = [*roles.columns, *controls]
    pairs = [name for name in ("lp",) if name in table.columns and name not in (*scored, *roles.labels())]
    values = read_columns(table, [*scored, *roles.human, *categories], roles.labels(), keys=pairs)
    roles, notes = told_apart(roles, settings, values)
    of_pairs = [str(label) for name in pairs for label in values.pop(name)]
    notes += pairs_together(roles, of_pairs)
    notes += odd_rows(roles, values, texts_of_rows(table))
    roles = replace(roles, lower=turned(table, scored, settings.lower)[0], categories=categories)
    return Columns(values, roles, notes, signatures=known_signatures(table.name, scored), pairs=of_pairs)


def score_columns(texts: Input, settings: MetaRun) -> Columns:
    """Score a table of texts with metrics and put the scores beside its columns.

    Several candidate columns are systems; each needs a column of human scores, in the same order. The long table then
    has the columns system, segment and human.

    Args:
        texts: the table.
        settings: metrics, columns, and where to run.

    Raises:
        InputError: if columns do not fit together.
    """
    specs, settings = _metrics(settings)
    progress, keep = told(settings.progress), settings.scores_out is not None
    file = str(texts.table_name)
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(texts.open(wanted_sides(specs, settings), keep_rows=True))
        systems = corpus.systems
        assert isinstance(corpus, TableFile)  # noqa: S101 - for the type checker; there is a table
        there = corpus.columns
        asked = _roles(settings, there, file) if len(systems) == 1 else _melted(settings, there)
        roles = _long_names(asked, systems, specs)
        corpus.table.require(*asked.columns, *asked.human, *asked.labels())
        if settings.categories and len(systems) > 1:
            raise InputError(
                "categories needs one column of candidates: its scores are of one system", setting="categories"
            )
        kinds = matching(settings.categories, there, asked.human[0])
        notes: list[str] = []
        metrics, plan = load_metrics(specs, settings, corpus, notes.append)
        values: dict[str, list[Cell]] = {
            name: [] for name in [*roles.labels(), *roles.human, *kinds, *asked.columns, *(m.spec for m in metrics)]
        }
        prepared = prepare(metrics, corpus, plan=plan, progress=progress)
        tally = Tally(prepared)
        melted = [] if len(systems) == 1 else [*systems, *asked.human]
        used = {*asked.labels(), *asked.human, *asked.columns, *kinds}
        others = [name for name in there if name not in used | {*melted}]
        others += ["candidate"] if melted else []
        kept: dict[str, list[object]] = {name: [] for name in others if keep}
        twice = [name for name in values if name in kept]
        if twice:
            raise InputError(f"has a column {twice[0]!r} already, which scores_out adds: rename it", file=file)
        types = corpus.types() if keep else {}
        number, statistics, pairs = 0, dict[str, list[Values]](), list[str]()
        texts_of: list[Hashable] = []
        for block in stream(prepared, progress=progress):
            for segment in block.segments:
                number += 1
                if segment.row is not None and "lp" in segment.row:
                    pairs.append(spelled(segment.row["lp"]))
                for cells in _long_rows(segment.row or {}, number, systems, asked, roles):
                    texts_of.append(hash((segment.references, segment.source)))
                    row = Row(f"{file}: row {number}", cells)
                    for name in (*roles.human, *kinds, *asked.columns):
                        values[name].append(Spelled(spelled(row[name]), row.number(name)))
                    for name in roles.labels():
                        values[name].append(row.name(name))
                    for name in kept:
                        kept[name].append(cells[name])
            below = values[asked.system][-len(block.segments) :] if asked.system is not None else []
            tally.add(block, [str(system) for system in below])
            for metric, scores in zip(metrics, block.scores, strict=True):
                values[metric.spec] += [float(value) for value in scores.values]
                if scores.statistics is not None:
                    statistics.setdefault(metric.spec, []).append(scores.statistics)
    summary = summarise(prepared, tally.totals, tally.by_system)
    alone, apart_notes = told_apart(roles, settings, values) if len(systems) == 1 else (roles, [])
    notes += [*about(metrics), *flags(prepared, tally.totals), *apart_notes, *pairs_together(roles, pairs)]
    lower, _ = turned(corpus.table, [*asked.columns, *(metric.spec for metric in metrics)], settings.lower)
    alone = replace(
        alone,
        columns=[*(metric.spec for metric in metrics), *asked.columns],
        lower=[*(metric.spec for metric in metrics if not metric.higher_is_better), *lower],
        categories=kinds,
    )
    notes += odd_rows(alone, values, texts_of)
    signatures = {entry["metric"]: entry["signature"] for entry in summary["metrics"]}
    origin = provenance("score", texts.files(), signatures)
    of_corpus = {
        metric.spec: CorpusScores(np.concatenate(statistics[metric.spec]), metric.system_score)
        for metric, total in zip(metrics, tally.totals, strict=True)
        if total.has_statistics
    }
    for entry in summary["metrics"]:
        entry |= {"control": True} if entry["metric"] in settings.sentinels else {}
    summary["metrics"] = [*carried(file), *summary["metrics"]]
    return Columns(values, alone, notes, kept, types, {**summary, "provenance": origin}, signatures, of_corpus, pairs)


def _metrics(settings: MetaRun) -> tuple[list[str], MetaRun]:
    """Return the metrics to compute, sentinels among them, and settings whose columns hold the other sentinels."""
    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    if twice := [name for name in settings.sentinels if name in specs]:
        raise InputError(
            f"sentinels: {twice[0]!r} is among the metrics already: it is one or the other", setting="sentinels"
        )
    known = metric_names()
    scored = [name for name in settings.sentinels if name.partition(":")[0] in known]
    there = [name for name in settings.sentinels if name not in scored and name not in MADE]
    return [*specs, *scored], settings.model_copy(update={"columns": [*settings.columns, *there]})


def _asked(settings: MetaRun) -> Roles:
    return Roles(
        settings.columns,
        settings.human,
        settings.group,
        settings.system,
        settings.segment,
        settings.lower,
        document=settings.document,
    )


def _roles(settings: MetaRun, columns: Sequence[str], file: str) -> Roles:
    """Return the columns that the user named, with the usual ones for human scores, systems, segments and documents.

    Raises:
        InputError: if no column of human scores is named and no usual one is there, or several beside categories.
    """
    named = ("columns", "human", "group", "system", "segment", "document", "sentinels", "categories")
    asked = {name: getattr(settings, name) for name in named}
    usual = find_columns(columns, asked, "human", "system", "segment", "document")
    human = usual["human"]
    if not human:
        raise InputError(
            f"human names the column of human scores; it has {', '.join(columns)}", file=file, setting="human"
        )
    if settings.categories and len(human) > 1:
        raise InputError("categories needs one column of human scores", setting="categories")
    system, segment, document = (next(iter(usual[role]), None) for role in ("system", "segment", "document"))
    if settings.sampled == "systems":
        _no_document(settings)
        document = None
    return replace(_asked(settings), human=human, system=system, segment=segment, document=document)


def _melted(settings: MetaRun, columns: Sequence[str]) -> Roles:
    """Return the columns that the user named, where columns of candidates are the systems; documents by usual names."""
    named = {"document": settings.document, "group": settings.group, "segment": settings.segment}
    document = next(iter(find_columns(columns, named, "document")["document"]), None)
    if settings.sampled == "systems":
        _no_document(settings)
        document = None
    return replace(_asked(settings), document=document)


def _no_document(settings: MetaRun) -> None:
    """Refuse a column of documents that the user named where systems are drawn."""
    if settings.document is not None:
        level = f"level {settings.level}" if settings.resample is None else f"resample {settings.resample}"
        raise InputError(f"document needs resample segments or both: {level} draws systems", setting="document")


def told_apart(roles: Roles, settings: MetaRun, values: Held) -> tuple[Roles, list[str]]:
    """Return the columns without one of systems that cannot be compared, and what is to be said of that.

    An analysis that takes no independent rows keeps the usual columns, for it to say what is wrong.

    Args:
        roles: the columns, the usual ones among them.
        settings: those that the user named.
        values: what they hold.
    """
    if (system := roles.system) is None or (settings.paired and roles.segment is not None):
        return roles, []
    if roles.segment is not None and settings.segment is None:
        named = [name for name in (roles.group, system, roles.segment) if name is not None]
        rows = list(zip(*(values[name] for name in named), strict=True))
        if len(set(rows)) < len(rows):
            alike = f"several rows have the same {system!r} and {roles.segment!r}"
            roles = replace(roles, system=None)
            return roles, [f"{alike}: {_together(roles)}; segment names a column that tells them apart"]
    if settings.system is None and not settings.paired:
        judged = ~np.isnan(number_column(roles.human[0], values[roles.human[0]]))
        groups = values[roles.group] if roles.group is not None else ["all"] * len(judged)
        there = {*zip(np.array(groups, dtype=object)[judged], np.array(values[system])[judged], strict=True)}
        if min(Counter(group for group, _ in there).values(), default=0) < 2:  # a group of one system is of rows
            alone = len({name for _, name in there}) < 2
            roles = replace(roles, system=None)
            return roles, [] if alone else [f"a group has a single system: {_together(roles)}"]
    if roles.segment is None and settings.system is None and len(set(values[system])) > 1:
        return roles, [
            f"the column {system!r} names systems, but none names segments: rows are taken as independent; "
            "segment names it"
        ]
    return roles, []


def _together(roles: Roles) -> str:
    """Return what is drawn where no systems are told apart."""
    if roles.document is not None:
        return "rows of one document are drawn together"
    return "rows are taken as independent" if roles.segment is None else "rows of one segment are drawn together"


def within_pairs(roles: Roles, values: Held, pairs: Sequence[str]) -> Held:
    """Return the columns with segments told apart by language pair, within which they are numbered."""
    if roles.segment is None or roles.system is not None or roles.group is not None or len(set(pairs)) < 2:
        return values
    named = [f"{pair} {name}" for pair, name in zip(pairs, values[roles.segment], strict=True)]
    return {**values, roles.segment: named}


def odd_rows(roles: Roles, values: Held, texts: Sequence[Hashable] | None) -> list[str]:
    """Return what is odd about the rows of systems that are paired by segment, within groups; see `Pairing`.

    Rows that are missing matter at the level of systems only, where `meta_evaluate` counts them.

    Args:
        roles: the columns.
        values: what they hold.
        texts: what stands for each row's source and references.
    """
    if roles.system is None or roles.segment is None or texts is None:
        return []
    pairing = Pairing()
    groups = values[roles.group] if roles.group is not None else repeat("")
    for system, segment, group, text in zip(values[roles.system], values[roles.segment], groups, texts, strict=False):
        pairing.add(str(system), (group, segment), text)
    return pairing.notes(missing=False)


def pairs_together(roles: Roles, pairs: Sequence[str]) -> list[str]:
    """Return the sentence that says that the rows of several language pairs are taken together."""
    n = len(set(pairs))
    if roles.group is not None or n < 2:
        return []
    return [f"the column 'lp' names {n} language pairs: the rows of all are taken together; group lp takes each alone"]


def _long_names(asked: Roles, systems: Sequence[str], specs: Sequence[str]) -> Roles:
    """Return what the columns are called when each system has rows of its own."""
    if len(systems) > 1 and len(asked.human) != len(systems):
        raise InputError(
            f"{len(systems)} columns of candidates need as many of human scores in the same order, human names "
            f"{len(asked.human)}"
        )
    roles = asked
    if len(systems) > 1:
        if asked.system is not None:
            raise InputError("several columns of candidates are the systems already: leave out system")
        if asked.columns:
            raise InputError("columns needs one column of candidates: its scores are of one system", setting="columns")
        segment, document = asked.segment or SEGMENTS[0], asked.document
        roles = Roles([], ["human"], asked.group, SYSTEM, segment, asked.lower, document=document)
    names = [*roles.human, *roles.labels(), *roles.columns, *specs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} is there twice: rename it in the table")
    return roles


def _long_rows(
    row: Mapping[str, object], number: int, systems: Sequence[str], asked: Roles, roles: Roles
) -> Iterator[Mapping[str, object]]:
    """Yield a row for each system of a segment, with the long table's column names."""
    if len(systems) == 1:
        yield row
        return
    for system, human in zip(systems, asked.human, strict=True):
        name = row[asked.segment] if asked.segment is not None else str(number)
        yield {**row, "system": system, roles.segment or "segment": name, "human": row[human], "candidate": row[system]}
