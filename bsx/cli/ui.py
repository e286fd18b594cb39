"""``bsx ui``: the page in the browser."""

from __future__ import annotations

import sys

from bsx.cli.options import command
from bsx.ui.serving import UiSettings, serve


@command(UiSettings)
def ui(settings: UiSettings) -> None:
    """Open a page in the browser: files in, metrics chosen, runs watched, results read and exported."""
    serve(settings, say=lambda line: print(line, file=sys.stderr, flush=True))
