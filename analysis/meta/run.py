"""How well metrics agree with human judgments: scores of a table, or computed here and now, beside human scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations, compress, permutations, product
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.meta.errors import Raters, added_by, average_of, average_tests, raters_of, shared_units, with_margin
from bsx.analysis.meta.levels import Agreement, Rows, agreement, upside_down
from bsx.analysis.meta.result import AverageResult, GroupResult, Judgments, MetaResult, Winners
from bsx.analysis.meta.settings import MetaColumns, MetaSettings
from bsx.analysis.stats.clusters import corrected_tests, deciding, ranked_tests
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
from bsx.data.sidecar import known_scores, scored_columns
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.frames.open import no_scores, open_frame
from bsx.frames.settings import HumanColumns, MetricSettings, TableSettings, TestSets, TextColumns, Watched, on_table
from bsx.metrics.base import metric_names
from bsx.metrics.learned.seen import seen_notices
from bsx.support.checks import FEWEST_ITEMS, Array
from bsx.support.result import Notice
from bsx.support.settings import Option, part, settled

MADE = ("constant", "shuffled")
"""Sentinels that need no text."""
LEARNED = "SENTINEL-"
"""How the columns of learned sentinels begin, which see only the candidate, the reference or the source.

Source: Perrella et al. 2024, whose scores of WMT23 are published under such names.
"""


class MetaRun(Watched, MetaSettings, TestSets, TextColumns, MetricSettings, ScoreColumns, HumanColumns, TableSettings):
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
    """Return the columns that a setting means: names as they are, for a pattern such as ``human_*`` all that match."""
    results: list[str] = []
    for name in names:
        matched = [column for column in columns if fnmatchcase(column, name)] if "*" in name else [name]
        if not matched:
            known = ", ".join(columns)
            raise UnknownNameError(f"{setting}: no column matches {name!r}; there are {known}", setting=setting)
        results += [column for column in matched if "*" not in name or column not in (*names, *results)]
    return results


def _controls(frame: Frame, settings: MetaRun) -> tuple[Frame, MetaRun]:
    """Tell metrics and controls apart: names for patterns, learned sentinels, what a table knows, what is computed."""
    known, columns = frame.table.columns, list(settings.columns)
    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    sentinels = matching("sentinels", settings.sentinels, known)
    if not (specs or columns):
        if not sentinels:
            sentinels = scored_columns(frame.name, known, controls=True)  # as controls they were scored, and stay so
        columns = [name for name in known_scores(frame.table) if name.startswith(LEARNED) or name not in sentinels]
    sentinels += [name for name in columns if name.startswith(LEARNED) and name not in sentinels]
    columns = [name for name in columns if not name.startswith(LEARNED)]
    computed = [name for name in sentinels if specs and name.partition(":")[0] in metric_names()]
    columns_of(sentinels, [*known, *computed], specs)
    if not (specs or columns):
        raise no_scores(frame.table)
    human = [frame.needed("human", "human scores")] if not settings.human else list(frame.roles["human"])
    if settings.categories and (len(human) > 1 or isinstance(frame.table, LongTable)):
        message = "categories needs one column of candidates and one of human scores: its scores are of one system"
        raise InputError(message, setting="categories")
    if settings.document is not None and settings.sampled == "systems":
        level = f"level {settings.level}" if settings.resample is None else f"resample {settings.resample}"
        raise InputError(f"document needs resample segments or both: {level} draws systems", setting="document")
    categories = matching("categories", settings.categories, known)
    if settings.scores_out is not None and (twice := [name for name in (*specs, *computed) if name in known]):
        message = f"has a column {twice[0]!r} already, which scores_out adds: rename it"
        raise InputError(message, file=frame.name, setting="scores_out")
    frame.table.require(*columns, *human, *categories, *filter(None, [settings.group]))
    changed = {"sentinels": sentinels, "metrics": [*specs, *computed], "categories": categories}
    return frame, settings.model_copy(update={**changed, "columns": columns})


def judged(frame: Frame, settings: MetaRun) -> MetaResult | Judgments:
    """Correlate scores with human scores; see `meta`. Sentinels go by their names."""
    metrics = [name for name in frame.metrics if name not in settings.sentinels]
    named = [*metrics, *(name for name in settings.sentinels if name in (*frame.metrics, *frame.table.columns))]
    human, group = list(frame.roles["human"]), settings.group
    system, segment, document = (frame.column(role) for role in ("system", "segment", "document"))
    drawn = settings.sampled != "systems"  # segments or documents are
    labels = [group, segment, document if drawn else None]
    within = [document] if document is not None and document not in labels else []
    guessed = [system] if system is not None and not (settings.paired or "system" in frame.named) else []
    labels += [system] if not guessed else []
    numbers = [*named, *human, *settings.categories]
    family = frame.column("family") if settings.level == "sys" and not drawn and system is not None else None
    rater = frame.column("rater")
    within += [name for name in (family, rater) if name is not None and name not in (*labels, *within)]
    pairs = [PAIR] if PAIR in frame.table.columns and PAIR not in (*numbers, *labels, *guessed) else []
    values = frame.read(numbers, labels, keys=[*guessed, *pairs, *within])
    unit = frame.unit(values, group=group, paired=settings.paired, judged=~np.isnan(np.asarray(values[human[0]])))
    lower = [name for name in frame.lower if name in named]
    how = {**part(settings, MetaSettings), "group": group, "lower": lower, "corpus": frame.corpus}
    how |= {"system": unit.system, "segment": unit.segment, "document": unit.document if drawn else None}
    how |= {"sources": frame.sources() if group is not None else None}
    known = None not in (family, unit.system)
    if of := families(*(list(values[str(name)]) for name in (system, family))) if known else {}:
        unit.values[str(family)] = [of[name] for name in values[str(system)]]
        how["family"] = family
    if rater is not None and any(values[rater]):  # a row of which it is not known has a rater of its own
        unit.values[rater] = [name or f"\0{row}" for row, name in enumerate(values[rater])]
        how["rater"] = rater
    results = [meta_evaluate(unit.values, metrics, name, **how) for name in human]
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
        return replace(results[0], signatures=signatures, notes=(*notes, *results[0].notes), warnings=warnings)
    # What holds for all judgments is said once.
    shared = [note for note in results[0].notes if all(note in result.notes for result in results)]
    separate = [f"{result.human}: {note}" for result in results for note in result.notes if note not in shared]
    parts = tuple(replace(result, notes=()) for result in results)
    return Judgments(parts, signatures=signatures, notes=(*notes, *shared, *separate), warnings=warnings)


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
    known, sentinels = column_names(columns), settings.sentinels
    judgments = list(dict.fromkeys([human, *settings.categories]))
    controls = _controls_checked(known, metrics, judgments, settings)
    numbers = {name: number_column(name, columns[name]) for name in [*metrics, *controls, *judgments]}
    labels = {role: label_column(name, columns[name]) for role, name in _roles(settings).items()}
    if not len(numbers[human]):
        raise InputError("the table has no rows")
    for name in [name for name in judgments if np.isnan(numbers[name]).all()]:
        raise InputError(f"the column of human scores {name!r} has no value", setting="human")
    of_family: dict[str, str] = {}
    if settings.family is not None:
        of_family = families(labels.get("system", []), labels["family"]) if "system" in labels else {}
        if not of_family or settings.level != "sys" or settings.sampled != "systems":
            needs = "draws systems by families at level sys: every system has one, and some have several systems"
            raise InputError(f"family: {settings.family!r} {needs}", setting="family")
    parts, notes = _groups(numbers, judgments, labels.get("group"), by_kind=bool(settings.categories))
    independent = not labels.keys() & {"system", "segment", "document"}
    if independent and len(named := [name for name in known if name in (SYSTEM, *SEGMENTS)]) > 1:
        notes.append(f"every row counts as independent, though there are the columns {', '.join(named)}: name them")
    notes += [f"{name}: lower is better, so its scores are multiplied by -1" for name in settings.lower]
    numbers |= {name: -numbers[name] for name in settings.lower}
    holes = {name: int(np.isnan(x).sum()) for name, x in numbers.items() if name not in judgments}
    if settings.nan == "error" and (missing := {name: count for name, count in holes.items() if count}):
        name, counts = next(iter(missing)), ", ".join(f"{name} {count}" for name, count in missing.items())
        raise InputError(
            f"missing values: {counts}; the first is in row {int(np.argmax(np.isnan(numbers[name]))) + 1}, column "
            f"{name!r}; nan omit leaves such rows out"
        )
    corpus = {name: upside_down(x) if name in settings.lower else x for name, x in (settings.corpus or {}).items()}
    units = labels.get("document", labels.get("segment"))
    least = min(len(rows) if units is None else len({units[row] for row in rows}) for *_, rows in parts)
    # Of metrics alone: controls change nothing about them.
    draws = settings.draws_for(math.comb(len(metrics), 2), least if settings.sampled != "systems" else None)
    settings = settings.model_copy(update={"resamples": draws, "correction": settings.corrected_by})
    shared = None
    if "group" in labels and not settings.categories:
        shared = shared_units(labels.get("document"), labels.get("segment"), settings.sources)
    results, added, by_raters, by_segments = list[GroupResult](), list[Mapping[str, Array]](), True, False
    for number, (label, judgment, rows) in enumerate(parts):
        where = f"group {label}: " if "group" in labels or settings.categories else ""
        values = {name: numbers[name][rows] for name in [*metrics, *controls]} | {human: numbers[judgment][rows]}
        for name in [name for name in sentinels if name not in controls]:
            values[name] = made(name, values[metrics[0]], [settings.seed, number])
        of_group = {name: CorpusScores(x.statistics[rows], x.score) for name, x in corpus.items()}
        taken = {role: [of[row] for row in rows] for role, of in labels.items()}
        names = [taken.get(role) for role in ("system", "segment", "document")]
        by_segments |= len({*taken.get("segment", ())}) < len(taken.get("segment", ()))
        try:
            raters = raters_of(values, human, names, taken["rater"], settings) if "rater" in taken else None
            by_raters &= raters is not None
            result, more = _group(label, values, human, names, of_group, settings, of_family, raters)
            added.append(added_by(values, human, names, shared, rows, settings))
        except InputError as error:
            raise InputError(f"{where}{error}") from error
        results.append(result)
        notes += [f"{where}{note}" for note in more]
    average, several = None, len(results) > 1
    if not settings.categories:  # the mean of kinds of errors says nothing
        every = [*metrics, *sentinels]
        average = AverageResult(
            len(results),
            tuple(average_of(name, results, settings, added, competes=name in metrics) for name in every),
            average_tests(combinations(metrics, 2), results, settings, added) if several else (),
            average_tests(product(metrics, sentinels), results, settings, added) if several else (),
        )
    tests = [test for group in results for test in (*group.tests, *group.control_tests)]
    stuck = sum(test.at_floor and test.difference > 0 and test.decisive >= settings.alpha for test in tests)
    if stuck:
        notes.append(
            f"in {stuck} test{'s' * (stuck > 1)} no draw of {draws:,} comes as far as the data, and the corrected p "
            f"is not under {settings.alpha:g}: more resamples may tell these metrics apart"
        )
    arranged = settings.level != "seg" or {"system", "segment"} <= labels.keys()
    if settings.level == "darr" and settings.unit == "judgment":
        unit = "judgments"
    elif "document" in labels:
        unit = "documents"
    else:
        unit = "segments" if arranged or by_segments else "rows"
    return MetaResult(
        tuple(results),
        average,
        settings.headline,
        human,
        settings.target(unit, systems=arranged) + ", judged by other raters" * by_raters,
        tuple(metrics),
        tuple(sentinels),
        "system" in labels,
        settings=settings.model_dump(exclude=set(MetaColumns.model_fields)),
        notes=tuple(notes),
    )


def _roles(settings: MetaSettings) -> dict[str, str]:
    """Return what a column of labels holds -> its name."""
    roles = ("group", "system", "segment", "document", "family", "rater")
    return {role: name for role in roles if (name := getattr(settings, role)) is not None}


def _controls_checked(
    known: Sequence[str], metrics: Sequence[str], judgments: Sequence[str], settings: MetaSettings
) -> list[str]:
    """Return the sentinels that are columns of the table; refuse columns that are missing, twice there or needed."""
    if not metrics:
        raise InputError("name at least one column with scores of a metric")
    controls, roles = columns_of(settings.sentinels, known, metrics), _roles(settings)
    used = [*metrics, *controls, *judgments, *roles.values()]
    check_present(used, known)
    if twice := [name for name in used if used.count(name) > 1]:
        raise InputError(f"the column {twice[0]!r} is named twice")
    if wrong := [name for name in settings.lower if name not in (*metrics, *controls)]:
        scored = ", ".join([*metrics, *controls])
        raise UnknownNameError(f"lower: {wrong[0]!r} is none of the metrics {scored}", setting="lower")
    if "constant" in settings.sentinels and "constant" not in controls and not settings.ties_count:
        raise InputError("a constant has no correlation, so as a sentinel it needs statistic acc_eq or level darr")
    if settings.margin is not None and len(metrics) + len(settings.sentinels) < 2:
        raise InputError("margin has no effect with one metric: name another to compare it with", setting="margin")
    due = {"sys": ("system",)}.get(settings.level, ("system", "segment"))
    if settings.paired and not roles.keys() >= {*due}:
        asked = {"level": settings.level != "seg", "statistic": settings.statistic == "acc_eq"}
        asked |= {"grouping": settings.grouped_by != "none", "resample": True}
        name = next(name for name in asked if asked[name])
        needed = f"columns {' and '.join(due)}: name them" if len(due) > 1 else f"column {due[0]}: name it"
        raise InputError(f"{name} {getattr(settings, name)} needs the {needed}", setting=name)
    return controls


def _groups(
    numbers: Mapping[str, Array], judgments: Sequence[str], groups: Labels | None, *, by_kind: bool
) -> tuple[list[tuple[str, str, Indices]], list[str]]:
    """Return the name of each group, its column of human scores and its rows; and notes on kinds of error."""
    places = ["all"] * len(numbers[judgments[0]]) if groups is None else groups
    if len({*places}) > 1 and "average" in places and not by_kind:
        raise InputError("group: a group is called 'average', as the mean of all groups is: rename it", setting="group")
    results, notes = [], []
    for judgment, place in product(judgments, dict.fromkeys(places)):
        label, rows = place, np.flatnonzero([place == other for other in places])
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
    """Return the sentinels that are columns of the table; refuse one that is not known, named twice, or a metric."""
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
    """Return a sentinel of a group that needs no text, from a metric's scores (n,), and missing where these are.

    It is ``constant``, the same score for all; or ``shuffled``, the scores dealt out anew, as if other candidates had
    been read.
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
    whole = None
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
    names = [of and list(compress(of, ~missing)) for of in names]
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
        systems, rows = grid(system, segment or ["all"] * kept, rows)
        least = 3 if settings.level == "sys" else 2
        if len(systems) < least and settings.level != "seg":
            raise InputError(
                f"{len(systems)} systems are too few for level {settings.level}, at least {least} are needed"
            )
    for name, x in rows.items():
        if name in sentinels and settings.ties_count:
            continue
        (present,) = vectors({name: x[~np.isnan(x)]}, minimum=1)
        if np.ptp(present) == 0:
            raise InputError(f"{name} has the value {present[0]:g} in all {kept} rows: nothing can be ranked")
        refuse_rounding(name, present)
    judgments = rows.pop(human)
    clusters = of_segments if systems else of_rows
    families_of = cluster_codes([of_family[str(name)] for name in systems]) if of_family else None
    unit = "documents" if document is not None else "segments"
    drawn = ((clusters, unit, unit, "rows"), (families_of, "families", "family", "systems"))
    for codes, called, name, of_what in drawn:
        if codes is not None and (units := drawn_units(len(codes), codes)) < FEWEST_ITEMS:
            several_units(units, name, of_what, name.removesuffix("s"))
            notes.append(f"{units} {called} are few: intervals and tests that draw them say little about others")
    arrangement = Rows(rows, judgments, segment is not None, systems, clusters, families_of, whole=whole)
    result = agreement(arrangement, settings)
    if raters is not None:
        compare = result.compare
        wider = [raters.metric(agreement) for agreement in result.metrics]
        result = replace(result, metrics=wider, compare=lambda a, b: raters.test(compare(a, b), a, b))
    measured = {metric.metric: metric for metric in result.metrics}
    competing = [name for name in measured if name not in sentinels]
    controls = [name for name in sentinels if name in measured]
    group = GroupResult(
        label,
        kept,
        len(missing) - kept,
        (*(measured[name] for name in competing), *(replace(measured[name], control=True) for name in controls)),
        pairwise_tests(result, permutations(competing, 2), settings),
        result.test,
        None,
        pairwise_tests(result, product(competing, controls), settings),
        len(systems) if settings.level == "sys" else None,
    )
    return ranked(group, settings), [*notes, *result.notes]


def _clusters(names: Sequence[Labels | None], settings: MetaSettings) -> tuple[Clustered, Clustered]:
    """Return the number of each row's document, or of its segment (n,), and of each segment's document (segments,).

    None where rows, or segments, are drawn one by one. Refuse a single one of them, and a segment in two documents.
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
    refuse_single(document, str(settings.document))
    if segment is None:
        return cluster_codes(document), None
    of = document_of_segment(segment, document, str(settings.document))
    return cluster_codes(document), cluster_codes([of[name] for name in dict.fromkeys(segment)])


def _whole(
    rows: dict[str, Array],
    human: str,
    names: Sequence[Labels | None],
    settings: MetaSettings,
    corpus: Mapping[str, CorpusScores],
) -> Rows:
    """Arrange the rows of the systems that were judged, with the segments that nobody judged."""
    system, segment = names[0] or [], names[1] or []
    matrices = grid(system, segment, {**rows, "\0row": np.arange(len(system), dtype=np.float64)})[1]
    judged = ~np.isnan(matrices[human]).all(axis=1)
    columns = {name: x[judged] for name, x in matrices.items()}
    places, judgments = columns.pop("\0row"), columns.pop(human)
    present = ~np.isnan(places)
    arranged = {}
    for name in corpus.keys() & columns:
        statistics = np.zeros((*places.shape, corpus[name].statistics.shape[1]))
        statistics[present] = corpus[name].statistics[places[present].astype(np.int64)]
        arranged[name] = CorpusScores(statistics, corpus[name].score)
    documents = _clusters(names, settings)[1] if settings.sampled != "systems" else None
    return Rows(columns, judgments, clusters=documents, corpus=arranged)


def pairwise_tests(
    agreement: Agreement, pairs: Iterable[tuple[str, str]], settings: MetaSettings
) -> tuple[Comparison, ...]:
    """Return the test of each pair of metrics, of equivalence too where there is a margin; none for test none."""
    if agreement.test == "none":
        return ()
    return with_margin([replace(agreement.compare(a, b), a=a, b=b) for a, b in pairs], settings)


def ranked(group: GroupResult, settings: MetaSettings) -> GroupResult:
    """Return a group with p-values corrected, and the winners that they give."""
    correction = settings.corrected_by
    if group.tests:
        tests, clusters = ranked_tests(group.tests, correction, settings.alternative, settings.alpha)
        ranks = dict(zip(clusters.names, clusters.ranks, strict=True))
        group = replace(group, tests=tests, clusters=Winners(clusters.winners, ranks, clusters.alpha))
    against = corrected_tests(group.control_tests, correction, lambda test: deciding(test, settings.alternative))
    return replace(group, control_tests=against)
