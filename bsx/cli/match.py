"""``bsx match``: which token is matched with which."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.cli.options import with_settings
from bsx.support.json_text import to_json


@with_settings("all_layers", "batch_tokens", "idf", "memory", "multi_ref")
def match(
    candidate: Annotated[str, typer.Argument(help="The candidate text.")],
    reference: Annotated[str, typer.Argument(help="The reference text.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the alignment as JSON.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw a heatmap: .png, .svg, .pdf or .html.", writable=True)] = None,
    **settings: Any,
) -> None:
    """Show the token alignment behind a score."""
    from bsx.bertscore.alignment_plot import FORMATS, draw_alignment, to_text

    if plot is not None and plot.suffix not in FORMATS:
        from bsx.errors import InputError

        raise InputError(f"{plot}: cannot draw this format; the name must end in {', '.join(FORMATS)}")
    from bsx.bertscore.scorer import Scorer

    alignment = Scorer(**settings).align(candidate, reference)
    if plot is not None:
        draw_alignment(alignment, plot)
    print(to_json(alignment.to_dict()) if as_json else to_text(alignment))
