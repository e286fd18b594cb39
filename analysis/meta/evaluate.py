"""Does a metric agree with human judgments? Metrics by groups, intervals, tests, clusters, averages.

Columns in, one named result out. `bsx meta` is this function with files around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.meta.categories import ByCategory
from bsx.analysis.meta.levels import agreement
from bsx.analysis.meta.result import AverageResult, GroupResult, MetaResult
from bsx.analysis.meta.rows import Rows, upside_down
from bsx.analysis.meta.sentinels import check_constant, columns_of, made, orders_ties
from bsx.analysis.meta.settings import MetaColumns, MetaSettings
from bsx.analysis.meta.winners import average_of, average_tests, corrected_over_all, tests_against, tests_between
from bsx.analysis.stats.resample import Clustered, cluster_codes, drawn_units
from bsx.analysis.stats.systems.grouped import grid
from bsx.analysis.stats.validate import refuse_rounding, several_units, vectors
from bsx.catalog.entries import FEWEST_ITEMS
from bsx.data.columns import Labels, TableLike, check_present, column_names, label_column, number_column
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.data.frame import CorpusScores
from bsx.errors import InputError, UnknownNameError
from bsx.support.checks import Array
from bsx.support.settings import set_fields, settled


@settled(MetaSettings)
def meta_evaluate(columns: TableLike, metrics: Sequence[str], human: str, settings: MetaSettings) -> MetaResult:
    """Measure and compare the agreement of metrics with human scores.

    In a group, a row that misses any value counts for no metric, so that all are measured on the same rows. A metric
    without a single value in a group is absent from it, and has no average.

    Args:
        columns: name -> values (n,): a mapping, or a pandas DataFrame.
        metrics: columns with metric scores.
        human: column of human scores; higher is better.
        settings: see `MetaSettings`. All levels but ``seg`` need a column of systems; with ``segment`` there is one row
            for each system and segment. Without systems, rows of one segment are drawn together; rows of one document
            always are.

    Raises:
        UnknownNameError: for an unknown column; lists near names.
        InputError: naming group and column of what cannot be analysed.
    """
    if settings.categories:
        apart = ByCategory.of(columns, [human, *settings.categories], settings.group, settings.corpus or {})
        own = {**set_fields(settings, "categories"), "group": apart.group, "corpus": apart.corpus}
        return apart.described(meta_evaluate(apart.columns, metrics, apart.human, **own))
    group, system, segment, document = settings.group, settings.system, settings.segment, settings.document
    lower, sentinels = settings.lower, settings.sentinels
    known = column_names(columns)
    controls = columns_of(sentinels, known, metrics)
    _check_names(columns, metrics, human, [*controls, group, system, segment, document], lower, [*metrics, *controls])
    check_constant(sentinels, known, settings)
    if settings.margin is not None and len(metrics) + len(sentinels) < 2:
        raise InputError("margin has no effect with one metric: name another to compare it with", setting="margin")
    if settings.level in ("darr", "hybrid") and (system is None or segment is None):
        raise InputError(
            f"level {settings.level} compares systems on segments: name the columns system and segment", setting="level"
        )
    if settings.level == "sys" and system is None:
        raise InputError("level sys correlates systems: name the column system", setting="level")
    if settings.grouping not in (None, "none") and (system is None or segment is None):
        raise InputError(f"grouping {settings.grouping} needs the columns system and segment", setting="grouping")
    numbers = {name: number_column(name, columns[name]) for name in [*metrics, *controls, human]}
    n = len(numbers[human])
    if not n:
        raise InputError("the table has no rows")
    notes = [f"{name}: lower is better, so its scores are multiplied by -1" for name in lower]
    numbers |= {name: -numbers[name] for name in lower}
    labels = {
        name: label_column(name, columns[name]) for name in (group, system, segment, document) if name is not None
    }
    sizes = {name: len(x) for name, x in numbers.items()} | {name: len(column) for name, column in labels.items()}
    for name, size in sizes.items():
        if size != n:
            raise InputError(f"column {name!r} has {size} rows, {human!r} has {n}")
    if settings.nan == "error":
        _refuse_missing(numbers)
    groups = labels[group] if group is not None else ["all"] * n
    rest = [name for name in sentinels if name not in controls]
    numbers |= {name: made(name, numbers[metrics[0]], groups, settings.seed) for name in rest}
    corpus = {name: upside_down(one) if name in lower else one for name, one in (settings.corpus or {}).items()}
    if "average" in groups and len(set(groups)) > 1:
        raise InputError(f"column {group!r}: a group is called 'average', as the mean of all groups is: rename it")
    results = []
    for label in dict.fromkeys(groups):
        chosen = np.array([name == label for name in groups])
        rows = {name: values[chosen] for name, values in numbers.items()}
        names = _Names(
            *([labels[c][i] for i in np.flatnonzero(chosen)] if c is not None else None for c in settings.named)
        )
        where = "" if group is None else f"group {label}: "
        try:
            here = {name: CorpusScores(one.statistics[chosen], one.score) for name, one in corpus.items()}
            one, said = _group(str(label), rows, human, names, here, settings, sentinels)
        except InputError as error:
            raise InputError(f"{where}{error}") from error
        results.append(one)
        notes += [f"{where}{note}" for note in said]
    if settings.correction_over == "all":
        results = corrected_over_all(results, settings)
    several = len(results) > 1
    between = [(a, b) for i, a in enumerate(metrics) for b in metrics[i + 1 :]]
    average = AverageResult(
        len(results),
        tuple(average_of(name, results, settings, competes=name in metrics) for name in [*metrics, *sentinels]),
        average_tests(between, results, settings) if several else (),
        average_tests([(a, b) for a in metrics for b in sentinels], results, settings) if several else (),
    )
    return MetaResult(
        tuple(results),
        average,
        settings.headline,
        human,
        _target(settings, list(zip(groups, labels[segment], strict=True)) if segment is not None else []),
        tuple(metrics),
        tuple(sentinels),
        system is not None,
        settings=settings.model_dump(exclude=set(MetaColumns.model_fields)),
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Names:
    """What the rows of a group are about (n,) each; None where no column says so."""

    system: Labels | None
    segment: Labels | None
    document: Labels | None

    def kept(self, rows: NDArray[np.bool_]) -> _Names:
        """Return the names of those rows (n,)."""
        return _Names(
            *(
                None if names is None else [name for name, there in zip(names, rows, strict=True) if there]
                for names in (self.system, self.segment, self.document)
            )
        )

    def clusters(self, settings: MetaSettings) -> tuple[Clustered, Clustered]:
        """Return the number of each row's document, or of its segment (n,), and of each segment's document (segments,).

        None where rows, or segments, are drawn one by one.

        Raises:
            InputError: if there is a single document or segment, or a segment is in two documents.
        """
        if self.document is None:
            if self.segment is None or self.system is not None or len(set(self.segment)) == len(self.segment):
                return None, None
            if len(set(self.segment)) < 2:
                raise InputError(
                    f"segment: column {settings.segment!r} names one segment: at least 2 are needed", setting="segment"
                )
            return cluster_codes(self.segment), None
        column = str(settings.document)
        refuse_single(self.document, column)
        if self.segment is None:
            return cluster_codes(self.document), None
        of = document_of_segment(self.segment, self.document, column)
        return cluster_codes(self.document), cluster_codes([of[name] for name in dict.fromkeys(self.segment)])


def _target(settings: MetaSettings, segments: Sequence[tuple[str, str]]) -> str:
    """Return what intervals and tests speak about, in words; ``segments`` are group and segment of each row (n,)."""
    systems = settings.level != "seg" or (settings.system is not None and settings.segment is not None)
    unit = "documents" if settings.document is not None else "segments"
    if unit == "segments" and not systems and len(set(segments)) == len(segments):
        unit = "rows"
    return settings.target(unit, systems=systems)


def _same_for_all(scores: Array, segment: Labels) -> bool:
    """Return whether scores (n,) differ between segments only, as those of what reads no candidate do."""
    first: dict[object, float] = {}
    return all(first.setdefault(name, x) == x for name, x in zip(segment, scores.tolist(), strict=True) if x == x)


def _group(
    label: str,
    rows: dict[str, Array],
    human: str,
    names: _Names,
    corpus: Mapping[str, CorpusScores],
    settings: MetaSettings,
    sentinels: Sequence[str],
) -> tuple[GroupResult, list[str]]:
    """Return one group's result and notes on what is missing from it."""
    notes = [f"{name} has no value here" for name, x in rows.items() if np.isnan(x).all() and name != human]
    rows = {name: x for name, x in rows.items() if name == human or not np.isnan(x).all()}
    if settings.level == "sys" and names.segment is not None:
        alike = [name for name in sentinels if name in rows and _same_for_all(rows[name], names.segment)]
        notes += [f"{name} gives all systems the same scores: as a control of systems it is left out" for name in alike]
        rows = {name: x for name, x in rows.items() if name not in alike}
    if not rows.keys() - {human, *sentinels}:
        raise InputError("no metric has a value")
    missing = np.any([np.isnan(x) for x in rows.values()], axis=0)
    whole: Rows | None = None
    system, segment = names.system, names.segment
    if settings.level == "sys" and settings.system_score == "all" and segment is not None and (corpus or missing.any()):
        whole = _whole(rows, human, names, settings, corpus)
    if missing.any():
        counts = ", ".join(f"{name} {np.isnan(x).sum()}" for name, x in rows.items() if np.isnan(x).any())
        notes.append(f"{missing.sum()} of {len(missing)} rows left out for missing values ({counts})")
    if settings.level == "sys" and system is not None and segment is not None:
        cells = len(set(system)) * len(set(segment))
        if absent := cells - len(set(zip(system, segment, strict=True))):
            notes.append(f"{absent} of {cells} pairs of system and segment have no row: systems differ in segments")
    rows = {name: x[~missing] for name, x in rows.items()}
    kept = int((~missing).sum())
    judgments = rows.pop(human)
    if settings.level == "seg" and kept < 3:
        raise InputError(f"{kept} rows are too few for a correlation, at least 3 are needed")
    systems: tuple[Hashable, ...] = ()
    there = names.kept(~missing)
    of_rows, of_segments = there.clusters(settings) if settings.sampled != "systems" else (None, None)
    if there.segment is not None and there.document is None and settings.sampled != "systems":
        notes += filter(None, [seem_together(there.segment, judgments)])
    if system is not None:
        shaped, systems = _matrices({**rows, human: judgments}, missing, system, segment, settings)
        judgments = shaped.pop(human)
        rows = shaped
    for name, x in {**rows, human: judgments}.items():
        if name in sentinels and orders_ties(settings):
            continue
        (present,) = vectors({name: x[~np.isnan(x)]}, minimum=1)
        if np.ptp(present) == 0:
            raise InputError(f"{name} has the value {present[0]:g} in all {kept} rows: nothing can be ranked")
        refuse_rounding(name, present)
    data = Rows(rows, judgments, segments=segment is not None, systems=systems)
    data = replace(data, clusters=of_segments if data.matrix else of_rows)
    if data.clusters is not None and (units := drawn_units(len(data.clusters), data.clusters)) < FEWEST_ITEMS:
        unit = "documents" if settings.document is not None else "segments"
        several_units(units, unit, "rows", unit.removesuffix("s"))
        notes.append(f"{units} {unit} are few: intervals and tests that draw them say little about others")
    if whole is not None:
        of_every = whole.every_clusters
        data = replace(data, every=whole.every, judged=whole.judged, corpus=whole.corpus, every_clusters=of_every)
    result = agreement(data, settings)
    notes += result.notes
    metrics = [metric for metric in result.metrics if metric.metric not in sentinels]
    controls = [
        replace(metric, control=True) for name in sentinels for metric in result.metrics if metric.metric == name
    ]
    tests, clusters = tests_between(result, [metric.metric for metric in metrics], settings)
    against = tests_against(result, metrics, controls, settings)
    left_out = len(missing) - kept
    correlated = len(systems) if settings.level == "sys" else None
    group = GroupResult(label, kept, left_out, (*metrics, *controls), tests, result.test, clusters, against, correlated)
    return group, notes


def _matrices(
    rows: dict[str, Array],
    missing: NDArray[np.bool_],
    system: Labels,
    segment: Labels | None,
    settings: MetaSettings,
) -> tuple[dict[str, Array], tuple[Hashable, ...]]:
    """Arrange rows by system and segment; without segments, one row a system. Return the systems' names too."""
    names = [name for name, gone in zip(system, missing, strict=True) if not gone]
    if segment is None:
        if settings.level == "seg":
            return rows, ()
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InputError(f"system {twice[0]!r} has more than one row: name the column segment too")
        segments = ["all"] * len(names)
    else:
        segments = [name for name, gone in zip(segment, missing, strict=True) if not gone]
    result = grid(names, segments, rows)
    least = 3 if settings.level == "sys" else 2
    if len(result.systems) < least and settings.level != "seg":
        raise InputError(
            f"{len(result.systems)} systems are too few for level {settings.level}, at least {least} are needed"
        )
    return result.columns, result.systems


def _whole(
    rows: dict[str, Array], human: str, names: _Names, settings: MetaSettings, corpus: Mapping[str, CorpusScores]
) -> Rows:
    """Arrange the rows of the systems that were judged, with the segments that nobody judged."""
    system, segment = names.system or [], names.segment or []
    numbers = np.arange(len(system), dtype=np.float64)
    result = grid(list(system), list(segment), {**rows, "\0row": numbers})
    judged = ~np.isnan(result.columns[human]).all(axis=1)
    columns = {name: x[judged] for name, x in result.columns.items()}
    places, judgments = columns.pop("\0row"), columns.pop(human)
    there = ~np.isnan(places)
    arranged = {}
    for name, scores in corpus.items():
        if name not in columns:
            continue
        statistics = np.zeros((*places.shape, scores.statistics.shape[1]))
        statistics[there] = scores.statistics[places[there].astype(np.int64)]
        arranged[name] = CorpusScores(statistics, scores.score)
    documents = names.clusters(settings)[1] if settings.sampled != "systems" else None
    return Rows(columns, judgments, every=columns, judged=judgments, corpus=arranged, every_clusters=documents)


def _check_names(
    columns: TableLike,
    metrics: Sequence[str],
    human: str,
    others: Sequence[str | None],
    lower: Sequence[str],
    scored: Sequence[str],
) -> None:
    if isinstance(metrics, str):
        raise InputError(f"metrics is a single text: give a list of columns, [{metrics!r}]", setting="metrics")
    if not metrics:
        raise InputError("name at least one column with scores of a metric")
    known = column_names(columns)
    used = [*metrics, human, *(name for name in others if name is not None)]
    check_present(used, known)
    for name in used:
        if used.count(name) > 1:
            raise InputError(f"the column {name!r} is named twice")
    for name in lower:
        if name not in scored:
            raise UnknownNameError(f"lower: {name!r} is none of the metrics {', '.join(scored)}", setting="lower")


def _refuse_missing(numbers: Mapping[str, Array]) -> None:
    missing = {name: int(np.isnan(x).sum()) for name, x in numbers.items() if np.isnan(x).any()}
    if missing:
        name = next(iter(missing))
        row = int(np.argmax(np.isnan(numbers[name]))) + 1
        counts = ", ".join(f"{name} {count}" for name, count in missing.items())
        raise InputError(
            f"missing values: {counts}; the first is in row {row}, column {name!r}; nan omit leaves such rows out"
        )
