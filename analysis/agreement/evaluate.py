"""Does a metric agree with people? The table a paper prints: metrics by groups, intervals, tests, clusters, averages.

Columns in, one named result out. `bsx meta` is this function with files around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.agreement.groups import AVERAGED, Average, GroupResult, PairTest
from bsx.analysis.agreement.measures import Agreement, Rows, agreement
from bsx.analysis.agreement.result import MetaResult
from bsx.analysis.agreement.settings import MetaOptions, MetaSettings
from bsx.analysis.stats.clusters import Clusters, compare_all
from bsx.analysis.stats.systems.grid import grid
from bsx.analysis.stats.validate import refuse_rounding, vectors
from bsx.data.columns import Labels, TableLike, column_names, label_column, number_column
from bsx.errors import InputError, UnknownNameError
from bsx.support.checks import Array
from bsx.support.near import did_you_mean
from bsx.support.settings import build_config, takes


@takes(MetaSettings)
def meta_evaluate(
    columns: TableLike,
    *,
    metrics: Sequence[str],
    human: str,
    group: str | None = None,
    system: str | None = None,
    segment: str | None = None,
    lower: Sequence[str] = (),
    **settings: Unpack[MetaOptions],
) -> MetaResult:
    """Measure and compare the agreement of metrics with human scores.

    In a group, a row that misses any value counts for no metric, so that all are measured on the same rows. A metric
    without a single value in a group is absent from it, and has no average.

    Args:
        columns: name -> values (n,): a mapping, or a pandas DataFrame.
        metrics: columns with metric scores.
        human: column of human scores; higher is better.
        group: column whose values are analysed apart and averaged, e.g. the language pair; one group ``all`` without.
        system: column of systems; needed for all levels but ``seg``.
        segment: column of segments; with ``system`` one row for each system and segment.
        lower: metrics of which lower is better; their signs are turned.
        settings: fields of `bsx.analysis.agreement.settings.MetaSettings`: level, statistic, test, …

    Raises:
        UnknownNameError: for an unknown column; lists near names.
        InputError: naming group and column of what cannot be analysed.
    """
    config = build_config(settings, MetaSettings, spelling="`{}=`")
    _check_names(columns, metrics, human, [group, system, segment], lower)
    if config.level in ("darr", "hybrid") and (system is None or segment is None):
        raise InputError(f"`level={config.level}` compares systems on segments: name the columns system and segment")
    if config.level == "sys" and system is None:
        raise InputError("`level=sys` correlates systems: name the column system")
    if config.grouping != "none" and (system is None or segment is None):
        raise InputError(f"`grouping={config.grouping}` needs the columns system and segment")
    if segment is not None and system is None:
        raise InputError("segment without system: name the column system too")
    numbers = {name: number_column(name, columns[name]) for name in [*metrics, human]}
    n = len(numbers[human])
    if not n:
        raise InputError("the table has no rows")
    notes = [f"{name}: lower is better, so its sign is turned" for name in lower]
    numbers |= {name: -numbers[name] for name in lower}
    labels = {name: label_column(name, columns[name]) for name in (group, system, segment) if name is not None}
    sizes = {name: len(x) for name, x in numbers.items()} | {name: len(column) for name, column in labels.items()}
    for name, size in sizes.items():
        if size != n:
            raise InputError(f"column {name!r} has {size} rows, {human!r} has {n}")
    if config.nan == "error":
        _refuse_missing(numbers)
    groups = labels[group] if group is not None else ["all"] * n
    if "average" in groups and len(set(groups)) > 1:
        raise InputError(f"column {group!r}: a group is called 'average', as the mean of all groups is: rename it")
    results = []
    for label in dict.fromkeys(groups):
        chosen = np.array([name == label for name in groups])
        rows = {name: values[chosen] for name, values in numbers.items()}
        names = [[labels[c][i] for i in np.flatnonzero(chosen)] if c is not None else None for c in (system, segment)]
        where = "" if group is None else f"group {label}: "
        try:
            found, said = _group(str(label), rows, human, names[0], names[1], config)
        except InputError as error:
            raise InputError(f"{where}{error}") from error
        results.append(found)
        notes += [f"{where}{note}" for note in said]
    average = [_average(name, results, config) for name in metrics]
    return MetaResult(config, human, tuple(metrics), tuple(results), tuple(average), tuple(notes))


def _group(
    label: str,
    rows: dict[str, Array],
    human: str,
    system: Labels | None,
    segment: Labels | None,
    config: MetaSettings,
) -> tuple[GroupResult, list[str]]:
    """Return one group's result and notes on what is missing from it."""
    notes = [f"{name} has no value here" for name, x in rows.items() if np.isnan(x).all() and name != human]
    rows = {name: x for name, x in rows.items() if name == human or not np.isnan(x).all()}
    if len(rows) == 1:
        raise InputError("no metric has a value")
    missing = np.any([np.isnan(x) for x in rows.values()], axis=0)
    if missing.any():
        counts = ", ".join(f"{name} {np.isnan(x).sum()}" for name, x in rows.items() if np.isnan(x).any())
        notes.append(f"{missing.sum()} of {len(missing)} rows left out for missing values ({counts})")
    rows = {name: x[~missing] for name, x in rows.items()}
    kept = int((~missing).sum())
    people = rows.pop(human)
    if config.level == "seg" and kept < 3:
        raise InputError(f"{kept} rows are too few for a correlation, at least 3 are needed")
    if system is not None:
        shaped = _matrices({**rows, human: people}, missing, system, segment, config)
        people = shaped.pop(human)
        rows = shaped
    for name, x in {**rows, human: people}.items():
        (present,) = vectors({name: x[~np.isnan(x)]}, minimum=1)
        if np.ptp(present) == 0:
            raise InputError(f"{name} has the value {present[0]:g} in all {kept} rows: nothing can be ranked")
        refuse_rounding(name, present)
    found = agreement(Rows(rows, people, segments=segment is not None), config)
    tests, clusters = _tests(found, config)
    left_out = len(missing) - kept
    return GroupResult(label, kept, left_out, tuple(found.metrics), found.test, tests, clusters), notes


def _matrices(
    rows: dict[str, Array],
    missing: NDArray[np.bool_],
    system: Labels,
    segment: Labels | None,
    config: MetaSettings,
) -> dict[str, Array]:
    """Arrange rows by system and segment; without segments, one row a system."""
    names = [name for name, gone in zip(system, missing, strict=True) if not gone]
    if segment is None:
        if config.level == "seg":
            return rows
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InputError(f"system {twice[0]!r} has more than one row: name the column segment too")
        segments = ["all"] * len(names)
    else:
        segments = [name for name, gone in zip(segment, missing, strict=True) if not gone]
    found = grid(names, segments, rows)
    least = 3 if config.level == "sys" else 2
    if len(found.systems) < least and config.level != "seg":
        raise InputError(
            f"{len(found.systems)} systems are too few for `level={config.level}`, at least {least} are needed"
        )
    return found.columns


def _tests(found: Agreement, config: MetaSettings) -> tuple[tuple[PairTest, ...], Clusters | None]:
    """Return all tests, corrected as the settings say, and the clusters they give."""
    names = [metric.metric for metric in found.metrics]
    if found.test == "none" or len(names) < 2:
        return (), None
    # compare_all wants arrays; the comparison of a level knows its own, so names travel as numbers.
    numbered = {name: np.array(i) for i, name in enumerate(names)}
    every = compare_all(
        numbered,
        np.array(0),
        lambda a, b, _: found.compare(names[int(np.asarray(a))], names[int(np.asarray(b))]),
        correction=config.correction,
        alpha=config.alpha,
    )
    order = every.clusters.names
    tests = []
    for (a, b), comparison in every.tests.items():
        corrected = config.correction != "none" and order.index(a) < order.index(b)
        p = float(every.p[names.index(a), names.index(b)]) if corrected else None
        tests.append(PairTest(a, b, comparison, p))
    return tuple(tests), every.clusters


def _average(metric: str, groups: Sequence[GroupResult], config: MetaSettings) -> Average:
    """Return the plain mean over groups; its interval combines the groups' intervals, which are independent.

    Source: Zou & Donner 2008 (MOVER) for the interval of a sum from the intervals of its parts.
    """
    found = [group.find(metric) for group in groups]
    tested = [group.clusters for group in groups if group.clusters is not None]
    wins = sum(metric in clusters.winners for clusters in tested) if tested else None
    present = [agreement for agreement in found if agreement is not None]
    nothing = math.nan
    names = AVERAGED[config.level]
    if len(present) < len(groups):
        return Average(metric, nothing, nothing, nothing, dict.fromkeys(names, nothing), wins)
    figures = {}
    for name in names:
        values = [value for one in present if isinstance(value := one.figures[name], float | int)]
        figures[name] = float(np.mean(values)) if len(values) == len(present) else nothing
    value = float(np.mean([agreement.value for agreement in present]))
    down = math.hypot(*(agreement.value - agreement.low for agreement in present)) / len(present)
    up = math.hypot(*(agreement.high - agreement.value for agreement in present)) / len(present)
    return Average(metric, value, value - down, value + up, figures, wins)


def _check_names(
    columns: TableLike, metrics: Sequence[str], human: str, others: Sequence[str | None], lower: Sequence[str]
) -> None:
    if isinstance(metrics, str):
        raise InputError(f"metrics is a single text: give a list of columns, [{metrics!r}]")
    if not metrics:
        raise InputError("name at least one column with scores of a metric")
    known = column_names(columns)
    for name in [*metrics, human, *(name for name in others if name is not None)]:
        if name not in known:
            raise UnknownNameError(
                f"there is no column {name!r}; there are {', '.join(known)}.{did_you_mean(name, known)}"
            )
    used = [*metrics, human, *(name for name in others if name is not None)]
    for name in used:
        if used.count(name) > 1:
            raise InputError(f"the column {name!r} is named twice")
    for name in lower:
        if name not in metrics:
            raise UnknownNameError(f"`lower=`: {name!r} is none of the metrics {', '.join(metrics)}")


def _refuse_missing(numbers: Mapping[str, Array]) -> None:
    missing = {name: int(np.isnan(x).sum()) for name, x in numbers.items() if np.isnan(x).any()}
    if missing:
        name = next(iter(missing))
        row = int(np.argmax(np.isnan(numbers[name]))) + 1
        counts = ", ".join(f"{name} {count}" for name, count in missing.items())
        raise InputError(
            f"missing values: {counts}; the first is in row {row}, column {name!r}; `nan='omit'` leaves such rows out"
        )
