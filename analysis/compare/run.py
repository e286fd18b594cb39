"""Whether systems are different under metrics, computed here or read from a table: their segments are resampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from bsx.analysis.compare.result import CompareResult, MetricComparison, PublishedCurve, SystemScore, SystemTest
from bsx.analysis.compare.settings import ComparedMetric, CompareSettings
from bsx.analysis.stats.clusters import adjust, corrected_tests, significance_clusters
from bsx.analysis.stats.correlation import worth
from bsx.analysis.stats.equivalence import verdict
from bsx.analysis.stats.resample import percentile_interval
from bsx.analysis.stats.results import Comparison
from bsx.analysis.stats.systems.paired import bootstrapped, deciding, prepared, randomised, studentised
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.thresholds import covering
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.data.frame import Frame, RowUnits
from bsx.data.long import USUAL, DocumentColumn, ScoreColumns, rows_by_system, shared_note
from bsx.data.sidecar import known_metrics
from bsx.errors import InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import MetricSettings, TableSettings, TestSets, TextColumns, TextFiles, Watched, on_table
from bsx.metrics.results import aggregate_of
from bsx.support.checks import Array
from bsx.support.result import Notice
from bsx.support.settings import part, settled

FEW = 20
"""Segments or documents under which a bootstrap is doubted, corrected as it is, and which are few to decide."""


class CompareRun(
    Watched,
    CompareSettings,
    TestSets,
    DocumentColumn,
    TextColumns,
    TextFiles,
    MetricSettings,
    ScoreColumns,
    TableSettings,
):
    """A comparison of systems by scores that stand in a table, or by metrics computed on texts."""

    systems: Annotated[
        Sequence[str],
        Field(
            description="Systems to compare, the baseline first: names in the column of systems, columns of "
            "candidates, or files of candidates without their ending. [all, as they come]"
        ),
    ] = ()


@on_table(CompareRun)
def compare(settings: CompareRun) -> CompareResult:
    """Compare systems with the first one, or all pairs, with each metric's own corpus score.

    Systems are files of candidates, columns of candidates, or stand one below the other in a table with a column of
    systems. A table without metrics to compute holds the scores.

    Args:
        settings: see `CompareRun`.

    Raises:
        UnknownNameError: for a system that is not there.
        InputError: for files or metrics that cannot be used.
    """
    return compared(*open_frame(settings, chosen=paired))


def compared(frame: Frame, settings: CompareRun) -> CompareResult:
    """Compare systems by scores that are there, with columns of systems and segments; see `compare`."""
    values, unit, (names, segments), places = _paired_rows(frame, frame.metrics, settings.systems)
    rows_of_first = next(iter(places.values())).tolist()
    documents, kept = None, [segments[row] for row in rows_of_first]
    if unit.document is not None:
        document_of = document_of_segment(
            segments, list(map(str, unit.values[unit.document])), unit.document, frame.name
        )
        documents = [document_of[name] for name in kept]
        refuse_single(documents, unit.document, frame.name)
    known = {entry.metric: entry for entry in known_metrics(frame.name) if entry.metric in frame.columns}
    warnings, compared, first = [], [], dict[str, Array]()
    for name in frame.metrics:
        corpus, column = frame.corpus.get(name), np.asarray(values[name], dtype=np.float64)
        if name in frame.scores and (missing := int(np.isnan(column).sum())):
            raise InputError(
                f"{name} has no score for {missing:,} of {len(column):,} rows, and nothing stands in for it: bsx score "
                "says which; leave those segments out"
            )
        source = column if corpus is None else corpus.statistics
        scores = {system: source[rows] for system, rows in places.items()}
        aggregate = None if corpus is None else aggregate_of(corpus.score, len(kept))
        compared.append(
            compare_systems(
                scores,
                metric=name,
                aggregate=aggregate,
                higher_is_better=name not in frame.lower,
                signature=frame.signatures.get(name),
                documents=documents,
                **part(settings, CompareSettings),
            )
        )
        if not first:  # of a corpus-level metric, the score of each segment by itself
            first = scores if aggregate is None else {system: aggregate(x / len(kept)) for system, x in scores.items()}
        for row in known[name].scores if name in known else []:
            if row.score is not None and row.system in scores and not np.isclose(row.score, scores[row.system].mean()):
                warnings.append(Notice("mean-of-segments", name, {"system": row.system, "score": row.score}))
                break
    catalog, signatures = load_registry(settings.registry), dict(frame.signatures)
    computed = {name: text for name, text in signatures.items() if name in frame.scores}
    read = {name: text for name, text in signatures.items() if name in frame.columns}
    curves = published_curves(catalog, computed, frame.language) + published_curves(catalog, read, means=True)
    notes = [*shared_note(names, segments, places), *frame.notes, *unit.notes]
    if documents is None:  # do the systems' differences look like those of segments from documents?
        baseline, *others = first.values()
        means = np.mean([values - baseline for values in others], axis=0)
        notes += filter(None, [seem_together(kept, means, "differences")])
    result = together(compared, curves)
    warnings += result.warnings
    outputs = tuple(frame.outputs)
    return replace(result, signatures=signatures, warnings=tuple(warnings), notes=tuple(notes), outputs=outputs)


def paired(frame: Frame, settings: CompareRun) -> tuple[Frame, CompareRun]:
    """Check, before anything is scored, that there are systems, which share segments."""
    frame.table.require(*settings.columns)
    for role in ("system", "segment"):
        if frame.column(role) is None and settings.document in USUAL[role]:
            wrong = f"document: {settings.document!r} is the column of {role}s"
            raise InputError(wrong, file=frame.name, setting="document")
    if frame.column("system") is None:
        raise InputError(
            "holds one system: name several columns of candidates, candidate, or the column of systems, system; it "
            f"has {', '.join(frame.table.columns)}",
            file=frame.name,
            setting="system",
        )
    _paired_rows(frame, [], settings.systems)
    return frame, settings


def _paired_rows(
    frame: Frame, numbers: Sequence[str], systems: Sequence[str]
) -> tuple[Mapping[str, Any], RowUnits, tuple[list[str], list[str]], dict[str, NDArray[np.int64]]]:
    """Return columns, what goes together, systems and segments, and each system's rows, in one order of segments."""
    values = frame.read(numbers, [frame.column(role) for role in ("system", "segment", "document")])
    unit = frame.unit(values, paired=True)
    if unit.segment is None:
        why = "".join(f"{note.partition(': ')[0]}: " for note in unit.notes)
        wrong = f"{why}segment names the column of segments; it has {', '.join(frame.table.columns)}"
        raise InputError(wrong, file=frame.name, setting="segment")
    names, segments = (list(map(str, unit.values[str(name)])) for name in (unit.system, unit.segment))
    places = rows_by_system(frame.name, names, segments, list(dict.fromkeys(systems)), frame.shared_texts())
    if len(places) < 2:
        only = next(iter(places))
        raise InputError(f"only the system {only} is there: two are needed to compare", file=frame.name)
    return values, unit, (names, segments), places


@settled(ComparedMetric)
def compare_systems(scores: Mapping[str, ArrayLike], settings: ComparedMetric) -> CompareResult:
    """Compare systems under one metric.

    Args:
        scores: system -> metric scores of the same segments (n,), or sufficient statistics (n, k) with ``aggregate``;
            the first system is the baseline.
        settings: see `ComparedMetric`.

    Raises:
        InputError: if there are under two systems, segments or documents, or values are missing.
    """
    aggregate, higher_is_better = settings.aggregate, settings.higher_is_better
    names = list(scores)
    if len(names) < 2:
        raise InputError(f"only the system {names[0]} is given: name at least two to compare" if names else "no system")
    pairs = list(combinations(names, 2)) if settings.all_pairs else [(name, names[0]) for name in names[1:]]
    paired = [prepared(scores[a], scores[b], aggregate, settings.documents) for a, b in pairs]
    units, segments, draws = paired[0].units, len(paired[0].x), settings.draws(len(pairs))
    sides = {
        name: side for (a, b), pair in zip(pairs, paired, strict=True) for name, side in ((a, pair.x), (b, pair.y))
    }
    added = {name: paired[0].added(side) for name, side in sides.items()}
    differences = [added[a] - added[b] for a, b in pairs]
    # Every system's score in the same resamples; the first of them are enough for its own interval.
    fewer, test, places = min(draws, 1000), settings.test, list(sides)
    every, errors = paired[0].draws(
        list(sides.values()),
        fewer if test == "randomise" else draws,
        settings.seed,
        list(added.values()),
        [(places.index(a), places.index(b)) for a, b in pairs] if test == "bootstrap-t" else (),
    )
    drawn = dict(zip(sides, every, strict=True))
    how: dict[str, Any] = settings.model_dump(include={"higher_is_better", "confidence", "margin"})
    results: list[Comparison] = []
    for place, ((a, b), pair) in enumerate(zip(pairs, paired, strict=True)):
        if test == "bootstrap-t":
            results.append(studentised(pair, drawn[a] - drawn[b], errors[place], differences[place], **how))
        elif test == "bootstrap":
            results.append(bootstrapped(pair, drawn[a] - drawn[b], **how))
        else:
            results.append(randomised(pair, draws, settings.seed, **how))
    same = adjust(
        [np.nan if result.p_equivalence is None else result.p_equivalence for result in results], settings.correction
    )
    tests = []
    for (a, b), comparison, p_same in zip(pairs, corrected_tests(results, settings.correction), same, strict=True):
        winner = a if (comparison.difference > 0) == higher_is_better else b
        different = bool(comparison.decisive < settings.alpha and comparison.difference != 0)
        known = {**vars(comparison), "a": a, "b": b}
        if not np.isfinite(comparison.ci).all():  # so few segments give none
            known["ci"] = (np.nan, np.nan)
        if settings.margin is not None:
            known |= {"p_equivalence": float(p_same), "verdict": verdict(different, p_same, settings.alpha)}
        tests.append(SystemTest(**known, better=winner if different else None))
    systems = [
        SystemScore(
            name,
            float(paired[0].score(sides[name].mean(axis=0))),
            percentile_interval(drawn[name][:fewer], settings.confidence, min(units, worth(added[name]))),
        )
        for name in names
    ]
    if settings.all_pairs:
        p = np.ones((len(names), len(names)))
        for item in tests:
            if item.better is not None and item.worse is not None:
                p[names.index(item.better), names.index(item.worse)] = 0.0  # whatever alpha the tests had
        sign = 1 if higher_is_better else -1
        clusters = significance_clusters({system.system: sign * system.score for system in systems}, p)
        ranks = dict(zip(clusters.names, clusters.ranks, strict=True))
        systems = [replace(system, rank=ranks[system.system]) for system in systems]
    return CompareResult(
        segments=segments,
        documents=None if settings.documents is None else units,
        systems=tuple(names),
        baseline=None if settings.all_pairs else names[0],
        metrics=(
            MetricComparison(settings.metric, higher_is_better, settings.signature, tuple(systems), tuple(tests)),
        ),
        warnings=tuple(_doubts(settings, dict(zip(pairs, differences, strict=True)), units, draws)),
        settings={
            **settings.model_dump(include=set(CompareSettings.model_fields) - ({"margin"} - settings.model_fields_set)),
            "resamples": draws,
        },
    )


def _doubts(
    settings: ComparedMetric, differences: Mapping[tuple[str, str], Array], units: int, draws: int
) -> Iterator[Notice]:
    """Yield why the tests of so few segments, documents or resamples cannot be trusted, or cannot find anything.

    ``differences`` are what each segment, or document, adds to that of two systems (units,).
    """
    what = "segments" if settings.documents is None else "documents"
    decide = {pair: deciding(added) for pair, added in differences.items()}
    few = {pair: count for pair, count in decide.items() if 0 < count < min(FEW, units / 5)}
    if few:
        a, b = min(few, key=lambda pair: few[pair])
        values = {what: units, "decide": few[a, b], "a": a, "b": b, "tests": len(few)}
        yield Notice("few-decide", settings.metric, values)
    corrected = 1 if settings.correction == "none" else len(differences)
    # All swaps go one way; all draws are of the same segment, and have no standard error.
    smallest = {"randomise": 2.0 ** (1 - units), "bootstrap-t": float(units) ** (1 - units), "bootstrap": 0.0}
    least = corrected * smallest[settings.test]
    if least >= settings.alpha:
        yield Notice("too-few-to-swap", values={what: units, "tests": corrected, "p": min(1.0, least)})
    elif settings.test == "bootstrap" and units < FEW:
        yield Notice("few-segments", values={what: units})
    if corrected / (draws + 1) >= settings.alpha:
        yield Notice("few-resamples", values={"resamples": draws, "tests": corrected, "p": corrected / (draws + 1)})


def together(comparisons: Sequence[CompareResult], published: Sequence[PublishedCurve] = ()) -> CompareResult:
    """Return the comparisons of the same systems under several metrics as one.

    Every test gets its share of the published curves, unless there are fewer segments than the study asks for.
    """
    known = tuple(replace(curve, claimed=comparisons[0].segments >= curve.fewest) for curve in published)
    claimed = {curve.metric: curve for curve in reversed(known) if curve.claimed}
    metrics, warnings = [], list[Notice]()
    for result in comparisons:
        for item in result.metrics:
            if (curve := claimed.get(item.metric)) is not None:
                tests = (replace(test, published=curve.at(test.difference)) for test in item.tests)
                item = replace(item, tests=tuple(tests))
            metrics.append(item)
        warnings += [notice for notice in result.warnings if notice not in warnings]
    return replace(comparisons[0], metrics=tuple(metrics), warnings=tuple(warnings), published=known)


def published_curves(
    catalog: Catalog, signatures: Mapping[str, str], language: str | None = None, *, means: bool = False
) -> list[PublishedCurve]:
    """Return the published curves that cover scores of these signatures, at most one a metric.

    Args:
        catalog: the registry.
        signatures: of each metric's scores.
        language: code of that of the texts, if it is known.
        means: whether a system's score is the mean of its segments' whatever the metric, as that of a table of scores;
            a curve of a metric's corpus score says nothing of it.
    """
    result = []
    for metric, signature in signatures.items():
        for study, curve in covering(catalog, signature, language):
            if curve.scale is None or (means and curve.system == "corpus"):
                continue
            result.append(
                PublishedCurve(
                    metric=metric,
                    curve=curve.called,
                    version=curve.version,
                    source=study.called,
                    citation=study.citation,
                    data=study.data,
                    population=study.population,
                    pairs=study.system_pairs,
                    languages=study.languages,
                    a=curve.a / 100,
                    b=curve.b,
                    scale=curve.scale,
                    agreement=curve.accuracy.all / 100,
                    versions=curve.accuracy.versions / 100,
                    unrelated=curve.accuracy.unrelated / 100,
                    fewest=study.fewest_segments,
                )
            )
            break
    return result
