"""``bsx adversarial``: can a metric be fooled?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.cli.options import Format, Full, Output, TableFormat, command
from bsx.cli.output import form_of, group, progress_bar, refuse_beside, show, write_result, write_shown
from bsx.errors import InputError
from bsx.jobs import adversarial as jobs
from bsx.jobs import perturbing
from bsx.jobs.adversarial import BuildTriplesRun, ChallengeRun, PairsRun, TriplesRun
from bsx.jobs.perturbing import PerturbRun
from bsx.support.aligned import text_table
from bsx.support.settings import set_fields
from bsx.support.untyped import to_json

_OFTEN_PERTURB = """
    table candidate reference source perturbations strengths edits_out parses parser treebank model lang metrics
"""
_OFTEN_CHALLENGE = """
    table good bad reference source phenomenon columns lower model lang metrics
"""
_OFTEN_TRIPLES = """
    table columns lower document model lang metrics
"""
_OFTEN_PAIRS = """
    table label reference candidate columns lower document model lang metrics
"""
adversarial = group()


@adversarial.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Test whether metrics can be fooled: paraphrase pairs, triples, perturbations, challenge sets."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@adversarial.command()
@command(PairsRun, often=_OFTEN_PAIRS)
def pairs(settings: PairsRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Measure how well metrics detect paraphrases: ROC AUC, average precision, best threshold, paired tests."""
    with progress_bar() as report:
        result = jobs.detect_paraphrases(**set_fields(settings), progress=report)
    files = [str(table) for table in (settings.table, settings.against) if table is not None]
    write_shown(result, files, format, output, full=full)


@adversarial.command()
@command(TriplesRun, often=_OFTEN_TRIPLES)
def triples(settings: TriplesRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Count how often metrics prefer the paraphrase: rates, margins, McNemar tests, worst triples."""
    with progress_bar() as report:
        result = jobs.prefer_paraphrases(**set_fields(settings), progress=report)
    write_shown(result, [str(settings.table)], format, output, full=full)


@adversarial.command()
@command(ChallengeRun, often=_OFTEN_CHALLENGE)
def challenge(
    settings: ChallengeRun,
    plot: Annotated[
        Path | None, typer.Option(help="Draw accuracies as a map: .png, .svg or .pdf.", writable=True)
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
) -> None:
    """Count how often metrics score a good translation above a bad one, by phenomenon and severity."""
    from bsx.data.output import check_picture

    if plot is not None:
        check_picture(plot)
    with progress_bar() as report:
        result = jobs.challenge_metrics(**set_fields(settings), progress=report)
    if plot is not None:
        result.plot(plot)
    file = Path(str(settings.table))
    write_shown(result, sorted(file.glob("*.json")) if file.is_dir() else [file], format, output, full=full)


@adversarial.command()
@command(BuildTriplesRun)
def build_triples(settings: BuildTriplesRun, format: Format = "text") -> None:
    """Build triples of an anchor, a paraphrase and a misleading sentence, for bsx adversarial triples."""
    made = jobs.build_triples(**set_fields(settings))
    show(made.summary, made.to_text, format)


@adversarial.command()
@command(PerturbRun, often=_OFTEN_PERTURB)
def perturb(
    settings: PerturbRun,
    context: typer.Context,
    list_all: Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")] = False,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
) -> None:
    """Change texts on purpose: how far does each metric's score fall, compared with a change that keeps the meaning?"""
    if list_all:
        refuse_beside(context, "list_all", "format", "output")
        if (form := form_of(format, output)) == "xlsx":
            raise InputError("format: the list is text or json", setting="format")
        write_result(_listing(form), output)
        return
    with progress_bar() as report:
        result = perturbing.perturb(**set_fields(settings), progress=report)
    files = [str(name) for name in (settings.table, settings.parses, settings.treebank) if name is not None]
    write_shown(result, files, format, output, full=full)


def _listing(format: str) -> str:
    """Return all perturbations as a table or as JSON."""
    from bsx.analysis.perturbations.perturb import PERTURBATIONS

    rows = [
        {
            "name": item.name,
            "preserves": item.preserves,
            "aim": item.aim,
            "strength": item.graded,
            "needs": sorted(item.needs),
            "languages": list(item.languages) if item.languages is not None else None,
            "withdrawn": dict(item.withdrawn),
            "description": item.description,
            "acts_on": item.acts_on,
        }
        for item in PERTURBATIONS.values()
    ]
    if format == "json":
        return to_json({"perturbations": rows})
    lines = [("name", "meaning", "strength", "needs", "languages", "description")]
    lines += [
        (
            item.name,
            "keeps" if item.preserves else "changes",
            "yes" if item.graded else "",
            ", ".join(sorted(item.needs)),
            ("any" if item.languages is None else " ".join(item.languages))
            + (f", not {' '.join(item.withdrawn)}" if item.withdrawn else ""),
            item.description,
        )
        for item in PERTURBATIONS.values()
    ]
    gone = [
        f"{item.name} is withdrawn for {' '.join(lang for lang, told in item.withdrawn.items() if told == why)}: {why}"
        for item in PERTURBATIONS.values()
        for why in dict.fromkeys(item.withdrawn.values())
    ]
    return "\n".join([text_table(lines, "l").rstrip("\n"), "", *gone])
