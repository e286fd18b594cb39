"""``bsx score``: candidates against references; ``bsx match``: which tokens match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.options import Format, Full, command
from bsx.cli.output import progress_bar, say, watched
from bsx.errors import InputError
from bsx.scoring.run import ScoredFiles, ScoreRun, score_files
from bsx.support.settings import set_fields
from bsx.support.untyped import to_json

if TYPE_CHECKING:
    from bsx.scoring.languages import ScoredLanguages

_OFTEN_SCORE = """
    table candidates references sources candidate reference source test_set layer rescale idf output
    fail_under model lang metrics
"""


@command(ScoreRun, often=_OFTEN_SCORE)
def score(settings: ScoreRun, format: Format = "text", full: Full = False) -> int:
    """Score candidates against references; a file called - is standard input."""
    scored: ScoredFiles | ScoredLanguages
    with progress_bar() as report:
        given = watched(settings, report)
        if settings.lang_column is None:
            scored = score_files(**given)
        else:
            from bsx.scoring.languages import score_languages

            scored = score_languages(**given)
    result = scored.to_dict()
    print(to_json(result) if format == "json" else scored.to_text(result, full=full))
    say(scored.notes())
    if isinstance(scored, ScoredFiles) and (missed := scored.shortfalls(result)):
        say(missed)
        return 1
    return 0


@command(ScorerConfig, leave_out=("all_layers", "batch_tokens", "context", "idf", "memory", "multi_ref"))
def match(
    settings: ScorerConfig,
    candidate: Annotated[str, typer.Argument(help="The candidate text.")],
    reference: Annotated[str, typer.Argument(help="The reference text.")],
    format: Format = "text",
    full: Full = False,
    plot: Annotated[Path | None, typer.Option(help="Draw a heatmap: .png, .svg, .pdf or .html.", writable=True)] = None,
) -> None:
    """Show the token alignment behind a score."""
    from bsx.analysis.present.scores import FORMATS, draw_alignment

    if plot is not None and plot.suffix not in FORMATS:
        raise InputError(f"{plot}: cannot draw this format; the name must end in {', '.join(FORMATS)}")
    from bsx.bertscore.scorer import Scorer

    scorer = Scorer(**set_fields(settings))
    alignment = scorer.align(candidate, reference)
    if plot is not None:
        draw_alignment(alignment, plot)
    print(to_json(alignment.to_dict()) if format == "json" else alignment.to_text(full=full))
    say(scorer.notes)
