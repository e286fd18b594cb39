"""Whether systems are different under metrics: scored here, then compared by resampling their segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from bsx.analysis.agreement.compare import CompareResult, compare_systems
from bsx.analysis.agreement.compare_settings import CompareOptions, CompareSettings
from bsx.bertscore.config import ScorerConfig
from bsx.errors import InputError
from bsx.jobs.score import Input, load_metrics, wanted_sides
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
    settings: ScorerConfig | None = None,
    progress: Progress | None = None,
    **how: Unpack[CompareOptions],
) -> Compared:
    """Compare systems with the first one, or all pairs, with each metric's own corpus score.

    Args:
        metrics: their specs.
        texts: of at least two systems, the baseline first.
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
    return Compared(CompareResult(config, prepared.segments, tuple(found)), texts.files(), signatures, notes)
