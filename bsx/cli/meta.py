"""Commands about systems (evaluate, compare), metrics (meta), and studies (plan)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.compare import run as comparing
from bsx.analysis.compare.run import CompareRun
from bsx.analysis.evaluate.run import EvaluateRun
from bsx.analysis.evaluate.run import evaluate as run_evaluation
from bsx.analysis.meta import run as evaluating
from bsx.analysis.meta.run import MetaRun
from bsx.analysis.meta.wmt import ProtocolRun, protocol_table
from bsx.analysis.plan import run as planning
from bsx.analysis.plan.run import PlanCompareRun, PlanMetaRun
from bsx.cli.options import Format, Full, Output, TableFormat, command
from bsx.cli.output import answer, group, progress_bar, say, write_shown
from bsx.frames.open import texts_of
from bsx.support.settings import set_fields
from bsx.support.untyped import to_json

_OFTEN_COMPARE = """
    table candidates references sources system segment document columns candidate reference source
    systems all_pairs correction margin model lang metrics
"""
_OFTEN_META = """
    table system segment document human columns candidate reference source test_set group level
    statistic correction margin model lang metrics protocol
"""
_PICTURE = ".png, .svg or .pdf"
_OFTEN_EVALUATE = (
    "table candidates references sources segment document human candidate reference model lang metrics output"
)


@command(EvaluateRun, often=_OFTEN_EVALUATE)
def evaluate(settings: EvaluateRun, format: Format = "text", full: Full = False) -> None:
    """Evaluate systems: metrics chosen for the language, scores, tests, human scores, segments to look at, a report."""
    with progress_bar() as report:
        result = run_evaluation(**{**set_fields(settings), "progress": report, "say": lambda note: say([note])})
    print(to_json(result.to_dict()) if format == "json" else result.to_text(full=full))
    print(f"bsx: wrote {', '.join(result.files)} in {settings.output}", file=sys.stderr)


@command(ProtocolRun, MetaRun, often=_OFTEN_META)
def meta(
    protocol: ProtocolRun,
    settings: MetaRun,
    format: TableFormat = None,
    output: Output = None,
    plot: Annotated[
        Path | None, typer.Option(help=f"Draw correlations with intervals: {_PICTURE}.", writable=True)
    ] = None,
    plot_tests: Annotated[
        Path | None, typer.Option(help=f"Draw the matrix of tests: {_PICTURE}.", writable=True)
    ] = None,
    full: Full = False,
) -> None:
    """Correlate metrics with human scores: per group with intervals, the average, significance; or WMT's table."""
    from bsx.analysis.meta.result import MetaResult
    from bsx.analysis.meta.show import TESTS
    from bsx.data.output import check_picture
    from bsx.errors import InputError

    if protocol.protocol is not None:
        refused = [name for name in set_fields(settings) if name not in ProtocolRun.model_fields]
        refused += [name for name, path in (("plot", plot), ("plot_tests", plot_tests)) if path is not None]
        if refused:
            raise InputError(
                f"{refused[0]} has no effect with protocol, which says how: leave it out", setting=refused[0]
            )
        answer(protocol_table, protocol, None, format, output, full=full)
        return
    if idle := [name for name in set_fields(protocol) if name not in MetaRun.model_fields]:
        raise InputError(f"{idle[0]} needs protocol", setting=idle[0])
    if plot_tests is not None and len(settings.human) > 1 and len(settings.candidate) < 2:
        raise InputError("plot_tests draws the tests of one judgment: name one with human", setting="plot_tests")
    for path in (plot, plot_tests):
        if path is not None:
            check_picture(path)
    with progress_bar() as report:
        result = evaluating.meta(**set_fields(settings), progress=report)
    tested = isinstance(result, MetaResult) and any(group.tests for group in result.groups)
    if plot_tests is not None and not tested:
        raise InputError("nothing was tested: plot_tests needs two metrics and a test")
    if plot is not None:
        result.plot(plot)
    if plot_tests is not None:
        result.plot(plot_tests, chart=TESTS)
    write_shown(result, texts_of(settings).files(), format, output, full=full)


@command(CompareRun, often=_OFTEN_COMPARE)
def compare(settings: CompareRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Compare systems with the first one (or all pairs) by resampling segments, with the metric's own corpus score."""
    answer(comparing.compare, settings, texts_of(settings).files(), format, output, full=full)


plan = group(no_args_is_help=True)


@plan.command("compare")
@command(PlanCompareRun)
def plan_compare(
    settings: PlanCompareRun, format: TableFormat = None, output: Output = None, full: Full = False
) -> None:
    """Plan a comparison of two systems, by a metric's scores or by human judgments."""
    result = planning.plan_compare(**set_fields(settings))
    write_shown(result, [str(settings.table)] if settings.table is not None else [], format, output, full=full)


@plan.command("meta")
@command(PlanMetaRun)
def plan_meta(settings: PlanMetaRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Plan a comparison of two metrics by their correlations with human judgments."""
    result = planning.plan_meta(**set_fields(settings))
    write_shown(result, [str(settings.table)] if settings.table is not None else [], format, output, full=full)
