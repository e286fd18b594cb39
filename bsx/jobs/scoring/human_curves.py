"""Judged systems: how often human judgments agree with differences between systems under a metric."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.agreement.human_curve import HumanCurve, curve_of_pairs
from bsx.analysis.agreement.rows import CorpusScores
from bsx.analysis.datasets.judged import reference_columns
from bsx.catalog.catalog import Catalog
from bsx.catalog.languages import find_language
from bsx.data.corpus import MemoryCorpus
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM
from bsx.data.pairing import refuse_alike
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from bsx.metrics.blocks import Values
from bsx.metrics.core import MetricCore
from bsx.metrics.run import prepare, stream
from bsx.support.checks import Array
from bsx.support.progress import Progress

SHARED = 30
"""Segments that two systems must share for their difference to count."""


@dataclass(frozen=True, eq=False)
class JudgedSystems:
    """Translations into one language by several systems, with human scores.

    Attributes:
        candidates: n texts.
        references: n lists of texts, or None.
        sources: n texts, or None.
        human: (n,); NaN where there is none.
        groups: language pair of each row.
        systems: system of each row.
        segments: segment of each row.
    """

    candidates: list[str]
    references: list[tuple[str, ...]] | None
    sources: list[str] | None
    human: Array
    groups: list[str]
    systems: list[str]
    segments: Sequence[Hashable]


@dataclass(frozen=True, eq=False)
class JudgedScores:
    """A metric's scores of rows, higher is better.

    Attributes:
        values: (n,).
        corpus: what its score of a whole system is made of; None if that is the mean.
    """

    values: Array
    corpus: CorpusScores | None = None


def read_judged_systems(path: Path, lang: str | None, catalog: Catalog) -> JudgedSystems:
    """Read the systems of a table that translated into one language.

    Args:
        path: columns candidate, reference or source, system, human, perhaps lp or lang, and segment.
        lang: the language, if the table holds several.
        catalog: the registry, for languages.

    Raises:
        InputError: if the table is something else, holds several languages, or no two of its systems share enough
            segments.
    """
    table = Table(path)
    candidate, human, system, source = (
        table.first(*names) for names in (("candidate",), HUMAN, (SYSTEM,), ("source",))
    )
    references = reference_columns(table.columns)
    if candidate is None or human is None or not (references or source):
        raise InputError("judged needs texts with human scores: columns candidate, reference, system, human", file=path)
    if system is None:
        raise InputError("judged compares systems, and there is no column system", file=path)
    wanted = None if lang is None else find_language(lang, catalog).code
    by_language: dict[str, list[int]] = {}
    rows, groups = list(table.rows()), []
    for place, row in enumerate(rows):
        group = row.name("lp") if "lp" in table.columns else "all"
        target = group.rpartition("-")[2] if "-" in group else row.name("lang") if "lang" in table.columns else None
        groups.append(group)
        by_language.setdefault(_code(target or lang or "en", catalog), []).append(place)
    if wanted is not None:
        by_language = {code: places for code, places in by_language.items() if code == wanted}
    if not by_language:
        raise InputError("holds no rows" + ("" if wanted is None else f" in {wanted}"), file=path)
    if len(by_language) > 1:
        raise InputError(f"holds translations into {', '.join(by_language)}: say into which with lang", file=path)
    (places,) = by_language.values()
    some = [rows[place] for place in places]
    texts = [tuple(t for name in references for t in row.texts(name) if t) for row in some] if references else None
    sources = None if source is None else [row.text(source) for row in some]
    segment = table.first(*SEGMENTS)
    named = None if segment is None else [row.name(segment) for row in some]
    segments: Sequence[Hashable] = next(found for found in (named, sources, texts) if found is not None)
    judged = JudgedSystems(
        [row.text(candidate) for row in some],
        texts,
        sources,
        np.array([row.number(human) for row in some]),
        [groups[place] for place in places],
        [row.name(system) for row in some],
        segments,
    )
    for column, names in (("lp", judged.groups), (system, judged.systems), (segment, named)):
        refuse_alike(names or (), f"{path}, column {column!r}")
    pairs, most = shared_segments(judged)
    if not pairs:
        raise InputError(
            f"judged: no two systems have {SHARED} segments in common, {most} at most: what sets systems apart shows "
            "on the same segments",
            file=path,
        )
    return judged


def _code(target: str, catalog: Catalog) -> str:
    try:
        return find_language(target, catalog).code
    except UnknownNameError:
        return target


def human_curves(
    judged: JudgedSystems, metrics: Sequence[MetricCore], confidence: float, progress: Progress | None
) -> Iterator[HumanCurve]:
    """Yield each metric's curve of all language pairs, if there are several, and of each; none where there is no pair.

    Args:
        judged: the systems.
        metrics: what scores them.
        confidence: level of the intervals.
        progress: called with phase, done and total.
    """
    groups = list(dict.fromkeys(judged.groups))
    parts = [("all", list(range(len(judged.groups))))] if len(groups) > 1 else []
    parts += [(name, [i for i, group in enumerate(judged.groups) if group == name]) for name in groups]
    for metric, scored in zip(metrics, _score(judged, metrics, progress), strict=True):
        for group, rows in parts:
            # Two systems at least, which human judgments and the metric both tell apart.
            with contextlib.suppress(InputError):
                own, theirs, sides, apart = system_pairs(judged, scored, rows)
                yield curve_of_pairs(
                    own,
                    theirs,
                    sides,
                    level="systems",
                    metric=metric.spec,
                    group=group,
                    confidence=confidence,
                    apart=apart,
                )


def _score(judged: JudgedSystems, metrics: Sequence[MetricCore], progress: Progress | None) -> list[JudgedScores]:
    corpus = MemoryCorpus({"candidate": judged.candidates}, judged.references, judged.sources)
    values: list[list[Values]] = [[] for _ in metrics]
    statistics: list[list[Values]] = [[] for _ in metrics]
    for block in stream(prepare(metrics, corpus, progress=progress), progress=progress):
        for i, scores in enumerate(block.scores):
            values[i].append(np.asarray(scores.values, dtype=np.float64))
            if scores.statistics is not None:
                statistics[i].append(scores.statistics)
    return [
        JudgedScores(
            np.concatenate(values[i]) * _sign(metric),
            _corpus(np.concatenate(statistics[i]), metric) if statistics[i] else None,
        )
        for i, metric in enumerate(metrics)
    ]


def _sign(metric: MetricCore) -> float:
    return 1.0 if metric.higher_is_better else -1.0


def _corpus(statistics: Array, metric: MetricCore) -> CorpusScores:
    return CorpusScores(statistics, lambda sums: _sign(metric) * metric.system_score(sums))


def _rows_of_systems(judged: JudgedSystems, rows: Sequence[int]) -> dict[tuple[str, str], dict[Hashable, list[int]]]:
    """Return (group, system) -> segment -> rows that have a human score.

    A name such as ``A+B``, where A and B are systems of the group too, says that both wrote the same text: the row
    belongs to each.
    """
    there = {(judged.groups[row], judged.systems[row]) for row in rows}
    result: dict[tuple[str, str], dict[Hashable, list[int]]] = {}
    for row in rows:
        if np.isnan(judged.human[row]):
            continue
        group, name = judged.groups[row], judged.systems[row]
        parts = name.split("+")
        for system in parts if all((group, one) in there for one in parts) else [name]:
            result.setdefault((group, system), {}).setdefault(judged.segments[row], []).append(row)
    return result


def shared_segments(judged: JudgedSystems) -> tuple[int, int]:
    """Return how many pairs of systems share `SHARED` segments or more, and the most that any two share."""
    found = _rows_of_systems(judged, range(len(judged.groups)))
    sizes = [len(found[a].keys() & found[b].keys()) for a, b in combinations(found, 2) if a[0] == b[0]]
    return sum(size >= SHARED for size in sizes), max(sizes, default=0)


def system_pairs(
    judged: JudgedSystems, scored: JudgedScores, rows: Sequence[int]
) -> tuple[Array, Array, NDArray[np.int64], int]:
    """Return the differences of systems of one group, each pair's on the segments that both have.

    Returns:
        Differences under the metric (n,), differences of mean human scores (n,), the numbers of both systems (n, 2),
        and how many pairs were left out because they share fewer than `SHARED` segments.
    """
    human, corpus = judged.human, scored.corpus
    found = _rows_of_systems(judged, [row for row in rows if not np.isnan(scored.values[row])])

    def score(kept: Sequence[Sequence[int]]) -> float:
        if corpus is not None:
            return float(corpus.score(corpus.statistics[[own[0] for own in kept]].sum(axis=0)))
        return float(np.mean([scored.values[own].mean() for own in kept]))

    number = {system: place for place, system in enumerate(found)}
    own, theirs, sides, apart = [], [], [], 0
    for a, b in combinations(found, 2):
        if a[0] != b[0]:
            continue
        both = [segment for segment in found[a] if segment in found[b]]
        if len(both) < SHARED:
            apart += 1
            continue
        left, right = ([found[side][segment] for segment in both] for side in (a, b))
        own.append(score(left) - score(right))
        theirs.append(
            float(np.mean([human[one].mean() - human[two].mean() for one, two in zip(left, right, strict=True)]))
        )
        sides.append((number[a], number[b]))
    if not own:
        raise InputError(f"no two systems share {SHARED} segments")
    return np.array(own), np.array(theirs), np.array(sides, dtype=np.int64), apart
