"""Whether systems are different under metrics: scored here, then compared by resampling their segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.agreement.people import PeopleCurve
from bsx.analysis.agreement.systems.compare import compare_systems, together
from bsx.analysis.agreement.systems.result import CompareResult
from bsx.analysis.agreement.systems.settings import CompareOptions, CompareSettings
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import Catalog, load_registry
from bsx.data.columns import read_columns
from bsx.data.corpus import Corpus
from bsx.data.long import SEGMENTS, SYSTEM, rows_by_system
from bsx.data.pairing import texts_of_rows
from bsx.data.sidecar import known_metrics, known_signatures
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.carding.data import JudgedRows
from bsx.jobs.carding.people import curves
from bsx.jobs.carding.reading import read_data
from bsx.jobs.carding.scoring import score_rows
from bsx.jobs.scoring.input import Input
from bsx.jobs.scoring.metrics import load_metrics, wanted_sides
from bsx.metrics.base import Metric
from bsx.metrics.paired import paired_scores, split
from bsx.metrics.summary import about, flags
from bsx.support.progress import Progress, Watch, told
from bsx.support.result import Notice
from bsx.support.settings import build_config, set_fields, takes


@dataclass(frozen=True)
class ScoresFile:
    """A long table of scores, such as ``bsx score -o`` writes.

    Attributes:
        file: the table; ``-`` is standard input.
        columns: the scores; those that are known by what lies beside the table, unless given.
        lower: those of them of which lower is better; the sidecar's are known.
        system: column of systems; ``system`` unless given.
        segment: column of segments; ``segment``, else ``sid``, else ``id``, unless given.
    """

    file: str
    columns: Sequence[str] = ()
    lower: Sequence[str] = ()
    system: str | None = None
    segment: str | None = None


@takes(CompareSettings)
def compare(
    metrics: Sequence[str] = (),
    texts: Input | None = None,
    *,
    systems: Sequence[str] = (),
    scores: ScoresFile | None = None,
    judged: Path | str | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[CompareOptions],
) -> CompareResult:
    """Compare systems with the first one, or all pairs, with each metric's own corpus score.

    Args:
        metrics: their specs.
        texts: of at least two systems, the baseline first: files, columns, or one table with a column of systems.
        systems: of a table with a column of systems, those to compare, the baseline first; all unless given.
        scores: a table of scores that are there already, instead of metrics and texts.
        judged: table of other systems that people judged (candidate, reference or source, system, human, perhaps lp and
            segment), to say how often people agreed with a difference that large.
        settings: model, language, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **how: the test, its corrections and intervals.

    Raises:
        InputError: for files or metrics that cannot be used.
    """
    progress = told(progress)
    config, given = build_config(how, CompareSettings, spelling="`{}=`"), set_fields(settings)
    texts = texts if texts is not None else Input()
    if scores is not None:
        for name, value in (
            ("metrics", metrics),
            ("data", texts.files() or texts.test_set),
            ("judged", judged),
            *((name, getattr(texts, name)) for name in ("candidate", "reference", "source")),
            *given.items(),
        ):
            if value:
                raise InputError(f"`scores=` are there already: leave out `{name}=`")
        return _compare_scores(scores, systems, config)
    if texts.test_set is not None:
        said: list[str] = []
        with texts.opened(said.append) as opened:
            compared = compare(
                metrics, opened, systems=systems, judged=judged, settings=settings, progress=progress, **how
            )
        return replace(compared, notes=(*said, *compared.notes))
    if not metrics:
        raise InputError("name what to compare by: `metrics=` with texts, or `scores=FILE`")
    below = texts.table is not None and len(texts.candidate) < 2
    if not below and len(texts.candidates if texts.table is None else texts.candidate) < 2:
        raise InputError("name at least two systems to compare")
    notes: list[str] = []
    run = settings if settings is not None else ScorerConfig()
    rows = None if judged is None else _judged(Path(judged), run.lang, load_registry(run.registry))
    with texts.open(wanted_sides(metrics, run), keep_rows=False) as corpus:
        built, plan = load_metrics(metrics, run, corpus, notes.append)
        places = _places(corpus, str(texts.table), systems) if below else {}  # before anything is scored
        prepared, totals, scored = paired_scores(built, corpus, plan=plan, progress=progress)
    scored = [split(paired, places) for paired in scored] if below else scored
    signatures = {paired.metric.spec: str(prepared.signature(i)) for i, paired in enumerate(scored)}
    found = [
        compare_systems(
            paired.scores,
            metric=paired.metric.spec,
            aggregate=paired.aggregate,
            settings=config,
            higher_is_better=paired.metric.higher_is_better,
            signature=signatures[paired.metric.spec],
        )
        for paired in scored
    ]
    notes += [*about(built), *flags(prepared, totals)]
    agreed = () if rows is None else _people(rows, [paired.metric for paired in scored], config.confidence, progress)
    name = "" if judged is None else Path(judged).name
    whole = together(found, [replace(curve, data=name) for curve in agreed])
    return replace(whole, signatures=signatures, notes=tuple(notes))


def _places(corpus: Corpus, file: str, systems: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of systems that stand one below the other in a corpus."""
    own = [(one.system, one.id, hash((one.references, one.source))) for one in corpus]
    if own[0][0] is None:
        raise InputError("name at least two systems to compare: columns of candidates, or a column `system=COL`")
    names, segments, texts = (list(column) for column in zip(*own, strict=True))
    return _two(file, rows_by_system(file, list(map(str, names)), segments, systems, texts))


def _two(file: str, places: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
    if len(places) < 2:
        raise InputError(f"{file}: only the system {next(iter(places))} is there: two are needed to compare")
    return places


def _compare_scores(given: ScoresFile, systems: Sequence[str], config: CompareSettings) -> CompareResult:
    """Compare systems by the means of scores that are there already."""
    table = Table(given.file)
    known = {entry.metric: entry for entry in known_metrics(given.file)}
    columns = list(given.columns) or [name for name in known if name in table.columns]
    if not columns:
        raise InputError(f"{given.file}: `columns=` names the columns of scores; it has {', '.join(table.columns)}")
    system, segment = given.system or SYSTEM, given.segment or table.first(*SEGMENTS)
    if segment is None:
        raise InputError(f"{given.file}: `segment=COL` names the column of segments; it has {', '.join(table.columns)}")
    if unknown := [name for name in given.lower if name not in columns]:
        raise InputError(f"`lower=`: {unknown[0]!r} is not among the columns of scores, {', '.join(columns)}")
    found = read_columns(table, columns, labels=[system, segment])
    names, ids = (list(map(str, found[name])) for name in (system, segment))
    places = _two(given.file, rows_by_system(given.file, names, ids, systems, texts_of_rows(table)))
    warnings, compared = [], []
    for name in columns:
        entry = known.get(name)
        lower = name in given.lower or (entry is not None and not entry.higher_is_better)
        scores = {one: np.asarray(found[name], dtype=np.float64)[rows] for one, rows in places.items()}
        signature = entry.signature if entry is not None else None
        compared.append(
            compare_systems(scores, metric=name, settings=config, higher_is_better=not lower, signature=signature)
        )
        for row in entry.scores if entry is not None else []:
            if row.score is not None and row.system in scores and not np.isclose(row.score, scores[row.system].mean()):
                whole = {"system": row.system, "score": row.score}
                warnings.append(Notice("mean-of-segments", name, whole))
                break
    result = together(compared)
    signatures = known_signatures(given.file, columns)
    return replace(result, signatures=signatures, warnings=(*warnings, *result.warnings))


def _judged(path: Path, lang: str | None, catalog: Catalog) -> JudgedRows:
    """Return the one table of judged systems in a file, in one language.

    Raises:
        InputError: if it is something else.
    """
    language = None if lang in (None, "auto") else lang
    tables, _ = read_data([path], catalog, lang=language, human=None, columns=(), limit=None, seed=1)
    found = tables[0].content
    if not isinstance(found, JudgedRows) or found.human is None or found.texts.candidates is None:
        raise InputError(
            f"{path}: `judged=` needs texts that people judged: columns candidate, reference, system, human"
        )
    if found.system is None:
        raise InputError(f"{path}: `judged=` compares systems, and there is no column system")
    if len(tables) > 1:
        into = ", ".join(one.lang for one in tables)
        raise InputError(f"{path}: holds translations into {into}: say into which with `lang=`")
    return found


def _people(
    rows: JudgedRows, metrics: Sequence[Metric], confidence: float, progress: Progress | None
) -> tuple[PeopleCurve, ...]:
    found: list[PeopleCurve] = []
    for metric, scored in zip(metrics, score_rows(metrics, rows.texts, progress), strict=True):
        found += curves(rows, metric.spec, scored, "systems", confidence)
    return tuple(found)
