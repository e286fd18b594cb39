"""How well metrics agree with human judgments: scores of a table, or computed here and now, beside human scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bsx.analysis.meta.levels import Agreement, Rows, agreement, upside_down
from bsx.analysis.meta.result import (
    AverageResult,
    Figure,
    GroupResult,
    Judgments,
    MetaResult,
    MetricAgreement,
    Winners,
)
from bsx.analysis.meta.settings import MetaColumns, MetaSettings, averaged
from bsx.analysis.meta.shared import Raters, added_by, raters_of, shared_units, standard_error, together
from bsx.analysis.stats.clusters import adjust, corrected_tests, deciding, ranked_tests
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.judged import raters_apart, unjudged
from bsx.analysis.stats.resample import Clustered, Indices, cluster_codes, drawn_units
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.systems.grouped import grid
from bsx.analysis.stats.validate import refuse_rounding, several_units, vectors
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.data.columns import Labels, TableLike, check_present, column_names, label_column, number_column
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.data.frame import PAIR, CorpusScores, Frame, LongTable
from bsx.data.long import SEGMENTS, SYSTEM, ColumnNames, ScoreColumns, families
from bsx.data.output import check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import control_columns, known_scores
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.frames.open import no_scores, open_frame
from bsx.frames.settings import HumanColumns, MetricSettings, TableSettings, TestSets, TextColumns, Watched, on_table
from bsx.metrics.base import metric_names
from bsx.metrics.learned.seen import seen_notices
from bsx.support.checks import FEWEST_ITEMS, Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.settings import Option, part, settled

MADE = ("constant", "shuffled")
"""Sentinels that need no text."""
LEARNED = "SENTINEL-"
"""How the columns of learned sentinels begin, which see only the candidate, the reference or the source.

Source: Perrella et al. 2024, whose scores of WMT23 are published under such names.
"""


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
            raise InputError("scores_out needs metrics", setting="scores_out")
    frame, settings = open_frame(settings, chosen=_controls)
    if settings.scores_out is not None:
        entries = [
            entry | ({"control": True} if entry["metric"] in settings.sentinels else {})
            for entry in (frame.summary or {})["metrics"]
        ]
        frame.save(Path(settings.scores_out), frame.scores, entries)
    return judged(frame, settings)


def matching(setting: str, names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that a setting means: names as they are, and for a pattern such as ``human_*`` all that match.

    Raises:
        UnknownNameError: for a pattern that no column matches.
    """
    results: list[str] = []
    for name in names:
        found = [column for column in columns if fnmatchcase(column, name)] if "*" in name else [name]
        if not found:
            known = ", ".join(columns)
            raise UnknownNameError(f"{setting}: no column matches {name!r}; there are {known}", setting=setting)
        results += [one for one in found if "*" not in name or one not in (*names, *results)]
    return results


def _controls(frame: Frame, settings: MetaRun) -> tuple[Frame, MetaRun]:
    """Tell metrics and controls apart: names for patterns, learned sentinels, what a table knows, what is computed."""
    there, columns = frame.table.columns, list(settings.columns)
    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    sentinels = matching("sentinels", settings.sentinels, there)
    if not (specs or columns):
        if not sentinels:
            sentinels = control_columns(frame.name, there)  # what was a control when it was scored stays one
        columns = [name for name in known_scores(frame.table) if name.startswith(LEARNED) or name not in sentinels]
    sentinels += [name for name in columns if name.startswith(LEARNED) and name not in sentinels]
    columns = [name for name in columns if not name.startswith(LEARNED)]
    computed = [name for name in sentinels if specs and name.partition(":")[0] in metric_names()]
    columns_of(sentinels, [*there, *computed], specs)
    if not (specs or columns):
        raise no_scores(frame.table)
    human = [frame.needed("human", "human scores")] if not settings.human else list(frame.roles["human"])
    if settings.categories and (len(human) > 1 or isinstance(frame.table, LongTable)):
        told = "categories needs one column of candidates and one of human scores: its scores are of one system"
        raise InputError(told, setting="categories")
    if settings.document is not None and settings.sampled == "systems":
        level = f"level {settings.level}" if settings.resample is None else f"resample {settings.resample}"
        raise InputError(f"document needs resample segments or both: {level} draws systems", setting="document")
    categories = matching("categories", settings.categories, there)
    if settings.scores_out is not None and (twice := [name for name in (*specs, *computed) if name in there]):
        told = f"has a column {twice[0]!r} already, which scores_out adds: rename it"
        raise InputError(told, file=frame.name, setting="scores_out")
    frame.table.require(*columns, *human, *categories, *filter(None, [settings.group]))
    changed = {"sentinels": sentinels, "metrics": [*specs, *computed], "categories": categories}
    return frame, settings.model_copy(update={**changed, "columns": columns})


def judged(frame: Frame, settings: MetaRun) -> MetaResult | Judgments:
    """Correlate scores with human scores; see `meta`.

    Args:
        frame: the scores.
        settings: how, with the sentinels by name.
    """
    metrics = [name for name in frame.metrics if name not in settings.sentinels]
    named = [*metrics, *(name for name in settings.sentinels if name in (*frame.metrics, *frame.table.columns))]
    human, group = list(frame.roles["human"]), settings.group
    system, segment, document = (frame.column(role) for role in ("system", "segment", "document"))
    labels = [group, segment, document if settings.sampled != "systems" else None]
    within = [document] if document is not None and document not in labels else []
    guessed = [system] if system is not None and not (settings.paired or "system" in frame.named) else []
    labels += [system] if not guessed else []
    numbers = [*named, *human, *settings.categories]
    of_systems = settings.level == "sys" and settings.sampled == "systems"
    family = frame.column("family") if of_systems and system is not None else None
    rater = frame.column("rater")
    within += [name for name in (family, rater) if name is not None and name not in (*labels, *within)]
    pairs = [PAIR] if PAIR in frame.table.columns and PAIR not in (*numbers, *labels, *guessed) else []
    values = frame.read(numbers, labels, keys=[*guessed, *pairs, *within])
    unit = frame.unit(values, group=group, paired=settings.paired, judged=~np.isnan(np.asarray(values[human[0]])))
    lower = [name for name in frame.lower if name in named]
    own = {**part(settings, MetaSettings), "group": group, "lower": lower, "corpus": frame.corpus}
    own |= {"system": unit.system, "segment": unit.segment}
    own |= {"document": unit.document if settings.sampled != "systems" else None}
    known = None not in (family, unit.system)
    if of := families(*(list(values[str(name)]) for name in (system, family))) if known else {}:
        unit.values[str(family)] = [of[name] for name in values[str(system)]]
        own["family"] = family
    if rater is not None and any(values[rater]):  # a row of which it is not known has a rater of its own
        unit.values[rater] = [name or f"\0{row}" for row, name in enumerate(values[rater])]
        own["rater"] = rater
    own |= {"sources": frame.sources() if group is not None else None}
    results = [meta_evaluate(unit.values, metrics, name, **own) for name in human]
    signatures = {name: text for name, text in frame.signatures.items() if name in named}
    # What learned from human scores stands in a folder or a file, which its name or its signature says.
    marks, warnings = ("|folder:", "|file:"), tuple[Notice, ...]()
    if learned := [name for name in named if ":" in name or any(mark in signatures.get(name, "") for mark in marks)]:
        catalog = load_registry(settings.registry)
        warnings = seen_notices(learned, catalog, lambda: frame.texts(human), signatures=signatures)
    for name in human:
        scores = {metric: np.asarray(values[metric]) for metric in metrics}
        warnings += tuple(unjudged(np.asarray(values[name]), name, scores))
    for name in human if None not in (rater, system) else ():
        of_rows = (list(map(str, values[str(column)])) for column in (system, rater))
        warnings += tuple(raters_apart(np.asarray(values[name]), name, *of_rows))
    notes = [*frame.notes, *unit.notes]
    if len(results) == 1:
        (one,) = results
        return replace(one, signatures=signatures, notes=(*notes, *one.notes), warnings=warnings)
    # What holds for all judgments is said once.
    every = [result.notes for result in results]
    shared = [note for note in every[0] if all(note in others for others in every)]
    apart = [f"{result.human}: {note}" for result in results for note in result.notes if note not in shared]
    parts = tuple(replace(result, notes=()) for result in results)
    return Judgments(parts, signatures=signatures, notes=(*notes, *shared, *apart), warnings=warnings)


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
            always are. Every category of human scores is a group by itself; one without any variation is left out.

    Raises:
        UnknownNameError: for an unknown column; lists near names.
        InputError: naming group and column of what cannot be analysed.
    """
    group, system, segment, document = settings.group, settings.system, settings.segment, settings.document
    lower, sentinels, known = settings.lower, settings.sentinels, column_names(columns)
    controls = columns_of(sentinels, known, metrics)
    judgments = list(dict.fromkeys([human, *settings.categories]))
    named = [name for name in (group, system, segment, document, settings.family, settings.rater) if name is not None]
    if not metrics:
        raise InputError("name at least one column with scores of a metric")
    used = [*metrics, *controls, *judgments, *named]
    check_present(used, known)
    if twice := [name for name in used if used.count(name) > 1]:
        raise InputError(f"the column {twice[0]!r} is named twice")
    if wrong := [name for name in lower if name not in (*metrics, *controls)]:
        scored = ", ".join([*metrics, *controls])
        raise UnknownNameError(f"lower: {wrong[0]!r} is none of the metrics {scored}", setting="lower")
    # A column that ties everything has a figure where ties count, and no correlation.
    ties_count = settings.statistic == "acc_eq" or settings.level == "darr"
    if "constant" in sentinels and "constant" not in controls and not ties_count:
        raise InputError("a constant has no correlation, so as a sentinel it needs statistic acc_eq or level darr")
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
    numbers = {name: number_column(name, columns[name]) for name in [*metrics, *controls, *judgments]}
    found = [] if system or segment or document else [name for name in known if name in (SYSTEM, *SEGMENTS)]
    if not len(numbers[human]):
        raise InputError("the table has no rows")
    for name in [name for name in judgments if np.isnan(numbers[name]).all()]:
        raise InputError(f"the column of human scores {name!r} has no value", setting="human")
    labels = {name: label_column(name, columns[name]) for name in named}
    of_family: dict[str, str] = {}
    if settings.family is not None:
        of_family = families(labels.get(system or "", []), labels[settings.family]) if system is not None else {}
        if not of_family or settings.level != "sys" or settings.sampled != "systems":
            told = "draws systems by families at level sys: every system has one, and some have several systems"
            raise InputError(f"family: {settings.family!r} {told}", setting="family")
    parts, notes = _groups(numbers, judgments, labels.get(group or ""), by_kind=bool(settings.categories))
    if len(found) > 1:
        notes.append(f"every row counts as independent, though there are the columns {', '.join(found)}: name them")
    notes += [f"{name}: lower is better, so its scores are multiplied by -1" for name in lower]
    numbers |= {name: -numbers[name] for name in lower}
    if settings.nan == "error":
        holes = {name: np.isnan(x).sum() for name, x in numbers.items() if name not in judgments}
        missing = {name: int(count) for name, count in holes.items() if count}
        if missing:
            name, counts = next(iter(missing)), ", ".join(f"{name} {count}" for name, count in missing.items())
            raise InputError(
                f"missing values: {counts}; the first is in row {int(np.argmax(np.isnan(numbers[name]))) + 1}, column "
                f"{name!r}; nan omit leaves such rows out"
            )
    corpus = {name: upside_down(one) if name in lower else one for name, one in (settings.corpus or {}).items()}
    of = document if document is not None else segment
    least = min(len(rows) if of is None else len({labels[of][row] for row in rows}) for *_, rows in parts)
    # Of metrics alone: controls change nothing about them.
    draws = settings.draws_for(math.comb(len(metrics), 2), least if settings.sampled != "systems" else None)
    settings = settings.model_copy(update={"resamples": draws, "correction": settings.corrected_by})
    results: list[GroupResult] = []
    units = None
    if group is not None and not settings.categories:
        units = shared_units(labels.get(document or ""), labels.get(segment or ""), settings.sources)
    added: list[Mapping[str, Array]] = []
    who, drawn = labels.get(settings.rater or ""), list[Raters | None]()
    for number, (label, judgment, rows) in enumerate(parts):
        where = "" if group is None and not settings.categories else f"group {label}: "
        values = {name: numbers[name][rows] for name in [*metrics, *controls]} | {human: numbers[judgment][rows]}
        for name in sentinels:
            if name not in controls:
                values[name] = made(name, values[metrics[0]], [settings.seed, number])
        whole = {name: CorpusScores(one.statistics[rows], one.score) for name, one in corpus.items()}
        names = [None if name is None else [labels[name][row] for row in rows] for name in (system, segment, document)]
        try:
            raters = who and raters_of(values, human, names, [who[row] for row in rows], settings)
            drawn.append(raters or None)
            one, more = _group(
                label, values, human, names, whole, settings, of_family, raters or None, ties_count=ties_count
            )
            added.append(added_by(values, human, names, units, rows, settings))
        except InputError as error:
            raise InputError(f"{where}{error}") from error
        results.append(one)
        notes += [f"{where}{note}" for note in more]
    average, several = None, len(results) > 1
    if not settings.categories:  # the mean of kinds of errors says nothing
        average = AverageResult(
            len(results),
            tuple(
                average_of(name, results, settings, added, competes=name in metrics) for name in [*metrics, *sentinels]
            ),
            average_tests(combinations(metrics, 2), results, settings, added) if several else (),
            average_tests(product(metrics, sentinels), results, settings, added) if several else (),
        )
    stuck = sum(
        test.at_floor and test.difference > 0 and test.decisive >= settings.alpha
        for group in results
        for test in (*group.tests, *group.control_tests)
    )
    if stuck:
        notes.append(
            f"in {stuck} test{'s' * (stuck > 1)} no draw of {draws:,} comes as far as the data, and the corrected p "
            f"is not under {settings.alpha:g}: more resamples may tell these metrics apart"
        )
    unit = "documents" if document is not None else "segments"
    arranged = settings.level != "seg" or (system is not None and segment is not None)
    of_groups = [[labels[segment][row] for row in rows] for _, _, rows in parts] if segment is not None else []
    if document is None and not arranged and all(len({*of}) == len(of) for of in of_groups):
        unit = "rows"
    if settings.level == "darr" and settings.unit == "judgment":
        unit = "judgments"
    return MetaResult(
        tuple(results),
        average,
        settings.headline,
        human,
        settings.target(unit, systems=arranged) + ", judged by other raters" * (None not in drawn),
        tuple(metrics),
        tuple(sentinels),
        system is not None,
        settings=settings.model_dump(exclude=set(MetaColumns.model_fields)),
        notes=tuple(notes),
    )


def _groups(
    numbers: Mapping[str, Array], judgments: Sequence[str], groups: Labels | None, *, by_kind: bool
) -> tuple[list[tuple[str, str, Indices]], list[str]]:
    """Return the name of each group, its column of human scores and its rows; and notes on kinds of error."""
    places = ["all"] * len(numbers[judgments[0]]) if groups is None else groups
    if len({*places}) > 1 and "average" in places and not by_kind:
        raise InputError("group: a group is called 'average', as the mean of all groups is: rename it", setting="group")
    results, notes = [], []
    for judgment in judgments:
        for place in dict.fromkeys(places):
            rows = np.flatnonzero([place == other for other in places])
            label = place
            if by_kind:
                label = judgment if groups is None else f"{place}: {judgment}"
                present = numbers[judgment][rows]
                present = present[~np.isnan(present)]
                if not present.size or np.ptp(present) == 0:
                    notes.append(f"{label} is the same in all rows and left out")
                    continue
                if judgment != judgments[0]:
                    best = present.max() + 0.0  # no -0
                    notes.append(f"{label}: {(present < best).sum()} of {present.size} rows are below {best:g}")
            results.append((label, judgment, rows))
    if not results:
        raise InputError(f"none of {', '.join(judgments)} varies: nothing can be ranked")
    return results, notes


def columns_of(sentinels: Sequence[str], known: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Return the sentinels that are columns of the table.

    Raises:
        UnknownNameError: for one that is neither a column nor made here.
        InputError: for one named twice, or that is among the metrics.
    """
    for name in sentinels:
        if name in metrics:
            raise InputError(
                f"sentinels: {name!r} is among the metrics already: it is one or the other", setting="sentinels"
            )
        if list(sentinels).count(name) > 1:
            raise InputError(f"sentinels: {name!r} is named twice", setting="sentinels")
        if name not in known and name not in MADE:
            hint = did_you_mean(name, [*known, *MADE])
            raise UnknownNameError(
                f"sentinels: {name!r} is neither a column nor one of {', '.join(MADE)}, which are made here: score "
                f"it with the metrics, or name a column.{hint}",
                setting="sentinels",
            )
    return [name for name in sentinels if name in known]


def made(name: str, scores: Array, seed: Sequence[int]) -> Array:
    """Return a sentinel of a group that needs no text.

    Args:
        name: ``constant``, the same score for all; or ``shuffled``, the scores of a metric dealt out anew, as if it had
            read other candidates.
        scores: of that metric (n,); where it has no value, neither has the sentinel.
        seed: of the shuffling.
    """
    result = np.where(np.isnan(scores), np.nan, 0.0)
    if name == "shuffled":
        present = ~np.isnan(scores)
        result[present] = np.random.default_rng(seed).permutation(scores[present])
    return result


def _group(
    label: str,
    rows: dict[str, Array],
    human: str,
    names: Sequence[Labels | None],
    corpus: Mapping[str, CorpusScores],
    settings: MetaSettings,
    of_family: Mapping[str, str],
    raters: Raters | None,
    *,
    ties_count: bool,
) -> tuple[GroupResult, list[str]]:
    """Return one group's result and notes on what is missing from it."""
    sentinels, over_systems = settings.sentinels, settings.sampled == "systems"
    notes = [f"{name} has no value here" for name, x in rows.items() if np.isnan(x).all() and name != human]
    rows = {name: x for name, x in rows.items() if name == human or not np.isnan(x).all()}
    system, segment, _ = names
    if settings.level == "sys" and segment is not None:
        for name in [name for name in sentinels if name in rows]:
            # Scores that differ between segments only, as those of what reads no candidate do.
            first: dict[object, float] = {}
            if all(first.setdefault(of, x) == x for of, x in zip(segment, rows[name].tolist(), strict=True) if x == x):
                notes.append(f"{name} gives all systems the same scores: as a control of systems it is left out")
                del rows[name]
    if not rows.keys() - {human, *sentinels}:
        raise InputError("no metric has a value")
    missing = np.any([np.isnan(x) for x in rows.values()], axis=0)
    whole: dict[str, Any] = {}
    if settings.level == "sys" and settings.system_score == "all" and segment is not None and (corpus or missing.any()):
        whole = _whole(rows, human, names, settings, corpus)
    if missing.any():
        counts = ", ".join(f"{name} {np.isnan(x).sum()}" for name, x in rows.items() if np.isnan(x).any())
        notes.append(f"{missing.sum()} of {len(missing)} rows left out for missing values ({counts})")
    if settings.level == "sys" and system is not None and segment is not None:
        cells = len(set(system)) * len(set(segment))
        if absent := cells - len(set(zip(system, segment, strict=True))):
            notes.append(f"{absent} of {cells} pairs of system and segment have no row: systems differ in segments")
    kept = int((~missing).sum())
    rows = {name: x[~missing] for name, x in rows.items()}
    names = [of and [name for name, gone in zip(of, missing, strict=True) if not gone] for of in names]
    system, segment, document = names
    if settings.level == "seg" and kept < 3:
        raise InputError(f"{kept} rows are too few for a correlation, at least 3 are needed")
    of_rows, of_segments = (None, None) if over_systems else _clusters(names, settings)
    if segment is not None and document is None and not over_systems:
        notes += filter(None, [seem_together(segment, rows[human])])
    systems: tuple[Hashable, ...] = ()
    if system is not None and (segment is not None or settings.level == "sys"):
        if twice := [name for name in dict.fromkeys(system) if segment is None and system.count(name) > 1]:
            raise InputError(f"system {twice[0]!r} has more than one row: name the column segment too")
        arranged = grid(system, segment or ["all"] * kept, rows)
        rows, systems = arranged.columns, arranged.systems
        least = 3 if settings.level == "sys" else 2
        if len(systems) < least and settings.level != "seg":
            raise InputError(
                f"{len(systems)} systems are too few for level {settings.level}, at least {least} are needed"
            )
    for name, x in rows.items():
        if name in sentinels and ties_count:
            continue
        (present,) = vectors({name: x[~np.isnan(x)]}, minimum=1)
        if np.ptp(present) == 0:
            raise InputError(f"{name} has the value {present[0]:g} in all {kept} rows: nothing can be ranked")
        refuse_rounding(name, present)
    judgments = rows.pop(human)
    clusters = of_segments if systems else of_rows
    if clusters is not None and (units := drawn_units(len(clusters), clusters)) < FEWEST_ITEMS:
        unit = "documents" if document is not None else "segments"
        several_units(units, unit, "rows", unit.removesuffix("s"))
        notes.append(f"{units} {unit} are few: intervals and tests that draw them say little about others")
    how: dict[str, Any] = {"segments": segment is not None, "systems": systems, "clusters": clusters}
    if of_family:
        how["families"] = cluster_codes([of_family[str(name)] for name in systems])
        several_units(units := drawn_units(len(systems), how["families"]), "family", "systems", "family")
        if units < FEWEST_ITEMS:
            notes.append(f"{units} families are few: intervals and tests that draw them say little about others")
    result = agreement(Rows(rows, judgments, **how, **whole), settings)
    if raters is not None:
        compare = result.compare
        wider = [raters.metric(one) for one in result.metrics]
        result = replace(result, metrics=wider, compare=lambda a, b: raters.test(compare(a, b), a, b))
    metrics = [metric for metric in result.metrics if metric.metric not in sentinels]
    controls = [replace(one, control=True) for name in sentinels for one in result.metrics if one.metric == name]
    competing = [metric.metric for metric in metrics]
    group = GroupResult(
        label,
        kept,
        len(missing) - kept,
        (*metrics, *controls),
        pairwise_tests(result, permutations(competing, 2), settings),
        result.test,
        None,
        pairwise_tests(result, product(competing, [control.metric for control in controls]), settings),
        len(systems) if settings.level == "sys" else None,
    )
    return ranked(group, settings), [*notes, *result.notes]


def _clusters(names: Sequence[Labels | None], settings: MetaSettings) -> tuple[Clustered, Clustered]:
    """Return the number of each row's document, or of its segment (n,), and of each segment's document (segments,).

    None where rows, or segments, are drawn one by one.

    Raises:
        InputError: if there is a single document or segment, or a segment is in two documents.
    """
    system, segment, document = names
    if document is None:
        if segment is None or system is not None or len(set(segment)) == len(segment):
            return None, None
        if len(set(segment)) < 2:
            raise InputError(
                f"segment: column {settings.segment!r} names one segment: at least 2 are needed", setting="segment"
            )
        return cluster_codes(segment), None
    column = str(settings.document)
    refuse_single(document, column)
    if segment is None:
        return cluster_codes(document), None
    of = document_of_segment(segment, document, column)
    return cluster_codes(document), cluster_codes([of[name] for name in dict.fromkeys(segment)])


def _whole(
    rows: dict[str, Array],
    human: str,
    names: Sequence[Labels | None],
    settings: MetaSettings,
    corpus: Mapping[str, CorpusScores],
) -> dict[str, Any]:
    """Arrange the rows of the systems that were judged, with the segments that nobody judged, as fields of `Rows`."""
    system, segment = names[0] or [], names[1] or []
    result = grid(system, segment, {**rows, "\0row": np.arange(len(system), dtype=np.float64)})
    judged = ~np.isnan(result.columns[human]).all(axis=1)
    columns = {name: x[judged] for name, x in result.columns.items()}
    places, judgments = columns.pop("\0row"), columns.pop(human)
    there = ~np.isnan(places)
    arranged = {}
    for name, scores in corpus.items():
        if name in columns:
            statistics = np.zeros((*places.shape, scores.statistics.shape[1]))
            statistics[there] = scores.statistics[places[there].astype(np.int64)]
            arranged[name] = CorpusScores(statistics, scores.score)
    documents = _clusters(names, settings)[1] if settings.sampled != "systems" else None
    return {"every": columns, "judged": judgments, "corpus": arranged, "every_clusters": documents}


def pairwise_tests(
    agreement: Agreement, pairs: Iterable[tuple[str, str]], settings: MetaSettings
) -> tuple[Comparison, ...]:
    """Return the test of each pair of metrics, of equivalence too where there is a margin; none for test none."""
    if agreement.test == "none":
        return ()
    return _with_margin([replace(agreement.compare(a, b), a=a, b=b) for a, b in pairs], settings)


def _with_margin(tests: Sequence[Comparison], settings: MetaSettings) -> tuple[Comparison, ...]:
    """Test equivalence too, where there is a margin: by the interval, or the error that gives a test its p."""
    if settings.margin is None or not tests:
        return tuple(tests)
    normal = need("scipy.stats", "the test of equivalence").norm
    p = []
    for test in tests:
        half = float(normal.ppf((1 + settings.confidence) / 2)) * standard_error(test)
        ends = (test.difference - half, test.difference + half) if math.isnan(test.ci[0]) else test.ci
        p.append(equivalence_p(test.difference, ends, settings.margin, confidence=settings.confidence))
    place = {frozenset((test.a, test.b)): i for i, test in enumerate(tests)}  # both directions are one test
    adjusted = dict(zip(place, adjust([p[i] for i in place.values()], settings.corrected_by), strict=True))
    return tuple(replace(test, p_equivalence=float(adjusted[frozenset((test.a, test.b))])) for test in tests)


def ranked(group: GroupResult, settings: MetaSettings) -> GroupResult:
    """Return a group with p-values corrected, and the winners that they give."""
    correction = settings.corrected_by
    if group.tests:
        tests, clusters = ranked_tests(group.tests, correction, settings.alternative, settings.alpha)
        ranks = dict(zip(clusters.names, clusters.ranks, strict=True))
        group = replace(group, tests=tests, clusters=Winners(clusters.winners, ranks, clusters.alpha))
    against = corrected_tests(group.control_tests, correction, lambda test: deciding(test, settings.alternative))
    return replace(group, control_tests=against)


def average_tests(
    pairs: Iterable[tuple[str, str]],
    groups: Sequence[GroupResult],
    settings: MetaSettings,
    added: Sequence[Mapping[str, Array]] = (),
) -> tuple[Comparison, ...]:
    """Test whether two metrics' mean differences over groups are 0, one test for each pair, corrected.

    Each group's standard error is that with which its own test gets its two-sided p; see `together`.

    Args:
        pairs: of metrics.
        groups: results of the groups.
        settings: how.
        added: of each group, what each unit adds to a metric's figure (units,).
    """
    normal = need("scipy.stats", "the test of an average").norm
    results: list[Comparison] = []
    for a, b in pairs:
        every = [test for group in groups for test in (*group.tests, *group.control_tests)]
        tests = [test for test in every if (test.a, test.b) == (a, b)]
        if len(tests) < len(groups):
            continue
        errors = [standard_error(test) for test in tests]
        apart = [of[a] if settings.level == "sys" else of[a] - of[b] for of in added if a in of and b in of]
        error = together(errors, apart if len(apart) == len(errors) else [])
        difference, error = float(np.mean([test.difference for test in tests])), error / len(tests)
        z = difference / error if error > 0 else 0.0
        half = float(normal.ppf((1 + settings.confidence) / 2)) * error
        results.append(
            Comparison(
                a=a,
                b=b,
                difference=difference,
                ci=(difference - half, difference + half),
                p=float(normal.sf(z)),
                p_two_sided=float(2 * normal.sf(abs(z))),
                n=len(tests),
                method="mean difference, normal",
                unit="group",
                statistic=z,
                confidence=settings.confidence,
            )
        )
    return _with_margin(corrected_tests(results, settings.corrected_by), settings)


def average_of(
    metric: str,
    groups: Sequence[GroupResult],
    settings: MetaSettings,
    added: Sequence[Mapping[str, Array]] = (),
    *,
    competes: bool,
) -> MetricAgreement:
    """Return the plain mean over groups; its interval combines those of the groups, see `together`.

    Source: Zou & Donner 2008 (MOVER) for the interval of a sum from the intervals of its parts.
    """
    results = [group.find(metric) for group in groups]
    tested = [group.clusters for group in groups if group.clusters is not None]
    wins = sum(metric in clusters.winners for clusters in tested) if tested and competes else None
    present = [agreement for agreement in results if agreement is not None]
    nothing = math.nan
    names = averaged(settings.level, settings.statistic)
    if len(present) < len(groups):
        return MetricAgreement(
            metric, nothing, (nothing, nothing), dict.fromkeys(names, nothing), control=not competes, wins=wins
        )
    figures: dict[str, Figure] = {}
    for name in names:
        values = [value for item in present if isinstance(value := item.figures[name], float | int)]
        figures[name] = float(np.mean(values)) if len(values) == len(present) else nothing
    value = float(np.mean([agreement.value for agreement in present]))
    shared = [of[metric] for of in added if metric in of]
    shared = shared if len(shared) == len(present) else []
    down = together([agreement.value - agreement.ci[0] for agreement in present], shared) / len(present)
    up = together([agreement.ci[1] - agreement.value for agreement in present], shared) / len(present)
    return MetricAgreement(metric, value, (value - down, value + up), figures, control=not competes, wins=wins)
