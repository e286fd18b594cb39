"""``bsx adversarial perturb``: how far scores fall when texts are changed on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say, spelled
from bsx.cli.options import OF_ONE_METRIC, Format, Output, Score, take, take_keywords, with_settings
from bsx.cli.output import progress_bar, show, write_result
from bsx.data.cells import finite
from bsx.errors import InputError
from bsx.jobs.settings import PerturbSettings
from bsx.support.aligned import text_table
from bsx.support.json_text import to_json


@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
@with_settings(config=PerturbSettings, before="save")
def perturb(
    file: Annotated[
        str | None, typer.Argument(help="Table of texts: .tsv (unquoted), .csv, .jsonl, .parquet; - is stdin.")
    ] = None,
    metric: Score = None,
    perturbation: Annotated[
        str, typer.Option(help="Perturbations, separated by commas; all: those that can be applied.")
    ] = "all",
    strength: Annotated[str, typer.Option(help="Shares of words or letters, separated by commas.")] = "0.1,0.3",
    save: Annotated[
        Path | None, typer.Option(help="Keep changed texts and scores: .tsv, .csv, .jsonl or .parquet.", writable=True)
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")] = False,
    format: Format = "text",
    output: Output = None,
    **settings: Any,
) -> None:
    """Change texts on purpose and measure how far each metric's scores fall, beside a change that keeps the meaning."""
    from bsx.data.output import check_table
    from bsx.jobs.perturbing import perturb as run
    from bsx.support.provenance import provenance

    if list_all:
        write_result(_listing(format), output)
        return
    if file is None or not metric:
        raise InputError("give FILE with texts and --metric METRICS; --list shows the perturbations")
    if save is not None:
        check_table(save)
    names = None if perturbation == "all" else [name.strip() for name in perturbation.split(",") if name.strip()]
    how = take_keywords(settings, PerturbSettings)
    with progress_bar() as report:
        found = run(
            file,
            metric,
            perturbations=names,
            strengths=_strengths(strength),
            settings=take(settings, ScorerConfig),
            progress=report,
            **how,
        )
    if save is not None:
        found.save_cases(save)
    read: list[str | Path] = [file, *([how["parses"]] if how["parses"] is not None else [])]
    content = found.to_dict() | {"provenance": provenance("adversarial-perturb", read, found.metrics.signatures)}
    content["notes"] = [spelled(note) for note in found.notes]
    content["left_out"] = [{"perturbation": name, "why": spelled(why)} for name, why in found.result.left_out.items()]
    show(content, found.result.to_text, format, output)
    say([*found.metrics.about, *found.notes])


def _strengths(spelled: str) -> list[float]:
    """Read shares with commas between.

    Raises:
        InputError: for one that is no number above 0 and at most 1, or for none at all.
    """
    found = []
    for part in filter(None, (part.strip() for part in spelled.split(","))):
        found.append(finite(part, "--strength"))
        if not 0 < found[-1] <= 1:
            raise InputError(f"--strength {part}: it is a share, above 0 and at most 1")
    if not found:
        raise InputError("--strength: give at least one share, such as 0.1")
    return found


def _listing(format: str) -> str:
    """Return all perturbations as a table or as JSON."""
    from bsx.analysis.perturbations.catalogue import PERTURBATIONS

    rows = [
        {
            "name": one.name,
            "preserves": one.preserves,
            "strength": one.graded,
            "needs": sorted(one.needs),
            "languages": list(one.languages) if one.languages is not None else None,
            "description": one.description,
            "acts_on": one.acts_on,
        }
        for one in PERTURBATIONS.values()
    ]
    if format == "json":
        return to_json({"perturbations": rows})
    lines = [("name", "meaning", "strength", "needs", "languages", "description")]
    lines += [
        (
            one.name,
            "keeps" if one.preserves else "changes",
            "yes" if one.graded else "",
            ", ".join(sorted(one.needs)),
            "any" if one.languages is None else " ".join(one.languages),
            one.description,
        )
        for one in PERTURBATIONS.values()
    ]
    return text_table(lines, "l")
