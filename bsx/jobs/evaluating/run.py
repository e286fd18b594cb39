"""Metrics beside human scores: which columns, which texts, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from bsx.analysis.agreement.evaluate import meta_evaluate
from bsx.analysis.agreement.result import Judgments, MetaResult
from bsx.analysis.agreement.sentinels import MADE
from bsx.analysis.agreement.settings import MetaOptions, MetaSettings
from bsx.analysis.datasets.testsets import load_test_set
from bsx.bertscore.config import ScorerConfig
from bsx.data.output import check_table
from bsx.data.run import as_one_run
from bsx.errors import InputError
from bsx.jobs.evaluating.columns import Wanted, read_scores
from bsx.jobs.evaluating.computing import score_columns
from bsx.jobs.scoring.input import Input
from bsx.metrics.zoo import metric_names
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import build_config, set_fields, takes


@takes(MetaSettings)
@as_one_run
def meta(
    wanted: Wanted,
    *,
    file: str | None = None,
    metrics: Sequence[str] = (),
    texts: Input | None = None,
    scores_out: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[MetaOptions],
) -> MetaResult | Judgments:
    """Correlate metrics with human scores: per group with intervals, the average, and significant differences.

    Several columns of human scores are several judgments, with a result each.

    Args:
        wanted: columns of the table.
        file: table with scores; ``-`` is standard input.
        metrics: instead, specs of metrics to score ``texts`` with.
        texts: a table of texts.
        scores_out: with ``metrics``: table to keep the scores in.
        settings: with ``metrics``: model, language, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **how: level, statistic, test and corrections.

    Raises:
        InputError: for a table, column or metric that cannot be used.
    """
    progress = told(progress)
    config = build_config(how, MetaSettings, spelling="`{}=`")  # before anything is read or scored
    if scores_out is not None:
        check_table(scores_out)
    if texts is not None and texts.test_set is not None:
        return _on_test_set(wanted, texts, file, metrics, scores_out, settings, progress, how)
    data = texts.data if texts is not None else None
    given = set_fields(settings)
    if metrics:
        if file is not None or texts is None or data is None:
            raise InputError("`metrics=` needs the texts as `data=FILE`, and no other FILE")
        if twice := [name for name in wanted.sentinels if name in metrics]:
            raise InputError(f"`sentinels=`: {twice[0]!r} is among the metrics already: it is one or the other")
        known = metric_names()
        scored = [name for name in wanted.sentinels if name.partition(":")[0] in known]
        there = [name for name in wanted.sentinels if name not in scored and name not in MADE]
        every = replace(wanted, columns=[*wanted.columns, *there])
        columns = score_columns(
            [*metrics, *scored], texts, every, given, progress, keep=scores_out is not None, paired=config.paired
        )
        if scores_out is not None:
            columns.save(scores_out)
    else:
        if file is None:
            raise InputError("give FILE and `columns=COL,…` for the metrics in it, or `metrics=METRICS` `data=FILE`")
        columns_of_texts = (
            [] if texts is None else [(n, getattr(texts, n)) for n in ("candidate", "reference", "source")]
        )
        for name, value in (("data", data), ("scores_out", scores_out), *columns_of_texts, *given.items()):
            if value not in (None, (), []):
                raise InputError(f"`{name}=` goes with `metrics=`")
        columns = read_scores(file, wanted, paired=config.paired)
    names = columns.wanted
    results = [
        meta_evaluate(
            columns.values,
            metrics=[name for name in names.columns if name not in wanted.sentinels],
            human=human,
            group=names.group,
            system=names.system,
            segment=names.segment,
            lower=names.lower,
            sentinels=wanted.sentinels,
            categories=names.categories,
            corpus=columns.corpus,
            **how,
        )
        for human in names.human
    ]
    if len(results) == 1:
        notes = (*columns.notes, *results[0].notes)
        return replace(results[0], signatures=columns.signatures, notes=notes)
    # What holds for all judgments is said once.
    said = [one.notes for one in results]
    shared = [note for note in said[0] if all(note in notes for notes in said)]
    own = [f"{one.human}: {note}" for one in results for note in one.notes if note not in shared]
    parts = tuple(replace(one, notes=()) for one in results)
    return Judgments(parts, signatures=columns.signatures, notes=(*columns.notes, *shared, *own))


def _on_test_set(
    wanted: Wanted,
    texts: Input,
    file: str | None,
    metrics: Sequence[str],
    scores_out: Path | None,
    settings: ScorerConfig | None,
    progress: Progress | None,
    how: MetaOptions,
) -> MetaResult | Judgments:
    """Do the same with a public test set: with metrics computed on its texts, or with the scores that come with it."""
    if file is not None:
        raise InputError("`test_set=` is a table already: leave FILE out")
    said: list[str] = []
    with texts.opened(said.append) as found:
        if metrics:
            run = meta(
                wanted,
                metrics=metrics,
                texts=found,
                scores_out=scores_out,
                settings=settings,
                progress=progress,
                **how,
            )
        else:
            columns = wanted.columns or list(load_test_set(texts.test_set or "", texts.data_dir).metrics)
            if not columns:
                raise InputError(f"{texts.test_set}: has no scores of metrics: compute some with `metrics=METRICS`")
            run = meta(
                replace(wanted, columns=columns),
                file=found.data,
                scores_out=scores_out,
                settings=settings,
                progress=progress,
                **how,
            )
    return replace(run, notes=(*said, *run.notes))
