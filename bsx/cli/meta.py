"""``bsx meta``: agreement with human judgments, with two charts; or the table of a protocol of WMT's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.analysis.meta import run as evaluating
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.meta.run import MetaRun
from bsx.analysis.meta.show import TESTS
from bsx.analysis.meta.wmt import ProtocolRun, protocol_table
from bsx.cli.options import Full, Output, Plot, TableFormat, command
from bsx.cli.output import answer
from bsx.data.output import check_picture
from bsx.errors import InputError
from bsx.support.settings import set_fields

_OFTEN = """
    table system segment document human columns candidate reference source test_set group level
    statistic correction margin model lang metrics protocol
"""


@command(ProtocolRun, MetaRun, often=_OFTEN)
def meta(
    protocol: ProtocolRun,
    settings: MetaRun,
    format: TableFormat = None,
    output: Output = None,
    plot: Plot = None,
    plot_tests: Annotated[
        Path | None, typer.Option(help="Draw the matrix of tests: .png, .svg or .pdf.", writable=True)
    ] = None,
    full: Full = False,
) -> None:
    """Correlate metrics with human scores, or make WMT's table."""
    if protocol.protocol is not None:
        refused = [name for name in set_fields(settings) if name not in ProtocolRun.model_fields]
        refused += [name for name, path in (("plot", plot), ("plot_tests", plot_tests)) if path is not None]
        if refused:
            raise InputError(
                f"{refused[0]} has no effect with protocol, which says how: leave it out", setting=refused[0]
            )
        answer(protocol_table, protocol, format, output, full=full)
        return
    if idle := [name for name in set_fields(protocol) if name not in MetaRun.model_fields]:
        raise InputError(f"{idle[0]} needs protocol", setting=idle[0])
    if plot_tests is None:
        answer(evaluating.meta, settings, format, output, full=full, plot=plot)
        return
    if len(settings.human) > 1 and len(settings.candidate) < 2:
        raise InputError("plot_tests draws the tests of one judgment: name one with human", setting="plot_tests")
    check_picture(plot_tests)

    def tested(**keywords: Any) -> MetaResult:
        result = evaluating.meta(**keywords)
        if not (isinstance(result, MetaResult) and any(group.tests for group in result.groups)):
            raise InputError("nothing was tested: plot_tests needs two metrics and a test")
        result.plot(plot_tests, chart=TESTS)
        return result

    answer(tested, settings, format, output, full=full, plot=plot)
