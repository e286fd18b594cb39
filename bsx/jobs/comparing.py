"""Whether systems are different under metrics: scored here, then compared by resampling their segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from bsx.analysis.agreement.compare import CompareResult, compare_systems
from bsx.analysis.agreement.compare_settings import CompareOptions, CompareSettings
from bsx.analysis.agreement.people import PeopleCurve
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import Catalog, load_registry
from bsx.errors import InputError
from bsx.jobs.carding.agreeing import curves
from bsx.jobs.carding.data import JudgedRows, read_data
from bsx.jobs.carding.scoring import score_rows
from bsx.jobs.score import Input, load_metrics, wanted_sides
from bsx.metrics.base import Metric
from bsx.metrics.paired import paired_scores
from bsx.metrics.summary import about, flags
from bsx.support.progress import Progress
from bsx.support.settings import build_config, set_fields, takes

_FEW = 20
"""Segments under which a bootstrap's level is far off: simulated with normal differences, 8 % at this number."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What came out.

    Attributes:
        result: the systems under each metric.
        files: what was read.
        signatures: metric -> signature.
        notes: what the reader should know.
    """

    result: CompareResult
    files: list[str]
    signatures: dict[str, str]
    notes: list[str]


@takes(CompareSettings)
def compare(
    metrics: Sequence[str],
    texts: Input,
    *,
    judged: Path | str | None = None,
    settings: ScorerConfig | None = None,
    progress: Progress | None = None,
    **how: Unpack[CompareOptions],
) -> Compared:
    """Compare systems with the first one, or all pairs, with each metric's own corpus score.

    Args:
        metrics: their specs.
        texts: of at least two systems, the baseline first.
        judged: table of other systems that people judged (candidate, reference or source, system, human, perhaps lp and
            segment), to say how often people agreed with a difference that large.
        settings: model, language, and where and within what limits to run.
        progress: called with phase, done and total.
        **how: the test, its corrections and intervals.

    Raises:
        InputError: for files or metrics that cannot be used.
    """
    if len(texts.candidates if texts.data is None else texts.candidate) < 2:
        raise InputError("name at least two systems to compare")
    config, given = build_config(how, CompareSettings, spelling="`{}=`"), set_fields(settings)
    notes: list[str] = []
    rows = None if judged is None else _judged(Path(judged), given.get("lang"), load_registry(given.get("registry")))
    with texts.open(wanted_sides(metrics, given), keep_rows=False) as corpus:
        built, plan = load_metrics(metrics, given, corpus, notes.append)
        prepared, totals, scored = paired_scores(built, corpus, plan=plan, progress=progress)
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
    if config.test == "bootstrap" and prepared.segments < _FEW:
        notes.append(
            f"{prepared.segments} segments are few for a bootstrap: it calls about half of all equal systems different "
            "at 2 segments, 16 % at 5 and 9 % at 10, where 5 % are meant; `test=randomise` keeps its level"
        )
    agreed = () if rows is None else _people(rows, [paired.metric for paired in scored], config.confidence, progress)
    name = "" if judged is None else Path(judged).name
    files = [*texts.files(), *([] if judged is None else [str(judged)])]
    return Compared(CompareResult(config, prepared.segments, tuple(found), agreed, name), files, signatures, notes)


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
