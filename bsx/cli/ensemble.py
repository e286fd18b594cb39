"""``bsx ensemble``: metrics together, beside the best of them."""

from __future__ import annotations

import sys

from bsx.cli.options import Full, Output, TableFormat, command
from bsx.cli.output import progress_bar, write_shown
from bsx.jobs.combining import EnsembleRun


@command(EnsembleRun)
def ensemble(settings: EnsembleRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Combine metrics: gains over the best of them with intervals and tests, fitted weights by cross-validation."""
    from bsx.jobs.combining import ensemble as combine
    from bsx.jobs.combining import place_of
    from bsx.support.settings import set_fields

    with progress_bar() as report:
        result = combine(**{**set_fields(settings), "progress": report})
    files = [path for path in (settings.table, settings.fit, settings.profiles) if path is not None]
    write_shown(result, files, format, output, full=full)
    if settings.save is not None:
        place = place_of(settings.save, settings.registry)
        print(f"bsx: saved {place}; use it as --metrics ensemble:{settings.save}", file=sys.stderr)
