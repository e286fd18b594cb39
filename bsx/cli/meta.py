"""``bsx meta``: does a metric agree with human judgments? ``bsx compare``: are systems different under a metric?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.analysis.agreement.settings import MetaSettings
from bsx.analysis.agreement.systems.settings import CompareSettings
from bsx.bertscore.config import ScorerConfig
from bsx.cli.options import (
    OF_ONE_METRIC,
    Column,
    DataDir,
    Full,
    Lower,
    Output,
    Score,
    Segment,
    System,
    TableFormat,
    TestSet,
    specs,
    take,
    with_settings,
)
from bsx.cli.output import names, progress_bar, write_shown
from bsx.support.settings import set_fields

_PICTURE = ".png, .svg or .pdf"


@with_settings(config=MetaSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def meta(
    file: Annotated[
        str | None, typer.Argument(help="Table with scores: .tsv (unquoted), .csv, .jsonl, .parquet; - is stdin.")
    ] = None,
    human: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of human scores; with several --candidate columns one for each, else several are several "
            "judgments, with a table each. [human, human_z or z]"
        ),
    ] = None,
    column: Column = None,
    lower: Lower = None,
    group: Annotated[str | None, typer.Option(help="Column whose values are analysed apart and averaged.")] = None,
    system: System = None,
    segment: Segment = None,
    sentinel: Annotated[
        list[str] | None,
        typer.Option(
            help="Controls, which cannot know how good a translation is: columns, or beside --metric metrics such as "
            "length and overlap; constant; shuffled, the first metric's scores dealt out anew. Repeatable."
        ),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of human scores of one kind of error each, or 'human_*': every one is analysed by itself."
        ),
    ] = None,
    metric: Score = None,
    data: Annotated[str | None, typer.Option(help="Table with texts to compute --metric on.")] = None,
    test_set: TestSet = None,
    data_dir: DataDir = None,
    candidate: Annotated[
        list[str] | None, typer.Option(help="Candidate column of --data; several are systems. [candidate]")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference column of --data; repeatable. [reference]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source column of --data. [source]")] = None,
    scores_out: Annotated[
        Path | None, typer.Option(help="Keep the scores: .tsv, .csv, .jsonl or .parquet.", writable=True)
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    plot: Annotated[
        Path | None, typer.Option(help=f"Draw correlations with intervals: {_PICTURE}.", writable=True)
    ] = None,
    plot_tests: Annotated[
        Path | None, typer.Option(help=f"Draw the matrix of tests: {_PICTURE}.", writable=True)
    ] = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Correlate metrics with human scores: per group with intervals, the average, and significant differences."""
    from bsx.analysis.agreement.result import MetaResult
    from bsx.analysis.present.families.agreement import TESTS
    from bsx.data.output import check_picture
    from bsx.errors import InputError
    from bsx.jobs.evaluating.columns import Wanted
    from bsx.jobs.evaluating.run import meta as evaluate
    from bsx.jobs.scoring.input import Input

    how = take(settings, MetaSettings)  # before anything is read or scored
    if plot_tests is not None and len(human or ()) > 1 and len(candidate or ()) < 2:
        raise InputError("--plot-tests draws the tests of one judgment: name one with --human")
    for path in (plot, plot_tests):
        if path is not None:
            check_picture(path)
    texts = Input(
        data=data,
        candidate=candidate or [],
        reference=reference or [],
        source=source,
        test_set=test_set,
        data_dir=data_dir,
    )
    with progress_bar() as report:
        found = evaluate(
            Wanted(names(column), human or [], group, system, segment, names(lower), names(sentinel), names(category)),
            file=file,
            metrics=specs(metric),
            texts=texts,
            scores_out=scores_out,
            settings=take(settings, ScorerConfig),
            progress=report,
            **set_fields(how),
        )
    tested = isinstance(found, MetaResult) and any(one.tests for one in found.groups)
    if plot_tests is not None and not tested:
        raise InputError("nothing was tested: --plot-tests needs two metrics and a test")
    if plot is not None:
        found.plot(plot)
    if plot_tests is not None:
        found.plot(plot_tests, chart=TESTS)
    write_shown(found, [*([file] if file is not None else []), *texts.files()], format, output, full=full)


@with_settings(config=CompareSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def compare(
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files of candidates, one per line, or columns of --data; or, where a column names the systems, or "
            "with --test-set, those to compare [all]; the baseline first."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Metrics: NAME[:field=value,…][,NAME…]; see bsx metrics.")
    ] = None,
    references: Annotated[
        list[str] | None, typer.Option("-r", "--references", help="File of references, one per line; repeatable.")
    ] = None,
    sources: Annotated[str | None, typer.Option("-s", "--sources", help="File of sources, one per line.")] = None,
    data: Annotated[str | None, typer.Option(help="Table instead: .tsv (unquoted), .csv, .jsonl or .parquet.")] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference column of --data; repeatable. [reference]")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source column of --data. [source]")] = None,
    test_set: TestSet = None,
    data_dir: DataDir = None,
    candidate: Annotated[
        str | None, typer.Option(help="Candidate column of --data beside --system. [candidate]")
    ] = None,
    system: System = None,
    segment: Segment = None,
    scores: Annotated[
        str | None, typer.Option(help="Instead: table of scores that are there, one row for each segment and system.")
    ] = None,
    column: Column = None,
    lower: Lower = None,
    judged: Annotated[
        Path | None,
        typer.Option(
            help="Table of other systems that people judged (candidate, reference, system, human, perhaps lp): say how "
            "often people agreed with a difference that large."
        ),
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Compare systems with the first one (or all pairs) by resampling segments, with the metric's own corpus score."""
    from bsx.cli.output import write_shown
    from bsx.errors import InputError
    from bsx.jobs.comparing import ScoresFile
    from bsx.jobs.comparing import compare as run
    from bsx.jobs.scoring.input import Input

    how = take(settings, CompareSettings)
    named = systems or []
    ours = test_set is not None and bool(named) and all(Path(name).is_file() for name in named)
    long = (
        (test_set is not None and not ours)
        or scores is not None
        or system is not None
        or candidate is not None
        or (data is not None and not named)
    )
    columns = [candidate] if candidate is not None else named if data is not None and not long else []
    if scores is None and (column or lower):
        raise InputError("--column and --lower name columns of --scores, which is missing")
    texts = Input(
        named if data is None and not long else [],
        references or [],
        sources,
        data,
        columns,
        reference or [],
        source,
        None if scores is not None else segment,
        None if scores is not None else system,
        test_set=test_set,
        data_dir=data_dir,
    )
    with progress_bar() as report:
        found = run(
            specs(metric),
            texts,
            systems=named if long else (),
            scores=None if scores is None else ScoresFile(scores, names(column), names(lower), system, segment),
            judged=judged,
            settings=take(settings, ScorerConfig),
            progress=report,
            **set_fields(how),
        )
    files = [*([scores] if scores is not None else texts.files()), *([] if judged is None else [str(judged)])]
    write_shown(found, files, format, output, full=full)
