"""``bsx adversarial``: can a metric be fooled?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bsx.analysis.adversarial import perturb as perturbing
from bsx.analysis.adversarial import run as jobs
from bsx.analysis.adversarial.perturb import PerturbRun
from bsx.analysis.adversarial.run import BuildTriplesRun, ChallengeRun, PairsRun, TriplesRun
from bsx.cli.options import Full, Output, Printed, TableFormat, command
from bsx.cli.output import answer, form_of, group, refuse_beside, write_result, write_shown
from bsx.errors import InputError
from bsx.support.settings import set_fields
from bsx.support.terminal import text_table
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
adversarial = group(no_args_is_help=True)


@adversarial.command()
@command(PairsRun, often=_OFTEN_PAIRS)
def pairs(settings: PairsRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Measure how well metrics detect paraphrases: ROC AUC, average precision, best threshold, paired tests."""
    answer(jobs.detect_paraphrases, settings, (settings.table, settings.against), format, output, full=full)


@adversarial.command()
@command(TriplesRun, often=_OFTEN_TRIPLES)
def triples(settings: TriplesRun, format: TableFormat = None, output: Output = None, full: Full = False) -> None:
    """Count how often metrics prefer the paraphrase: rates, margins, McNemar tests, worst triples."""
    answer(jobs.prefer_paraphrases, settings, [settings.table], format, output, full=full)


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
    file = Path(str(settings.table))
    files = sorted(file.glob("*.json")) if file.is_dir() else [file]
    answer(jobs.challenge_metrics, settings, files, format, output, full=full, plot=plot)


@adversarial.command()
@command(BuildTriplesRun)
def build_triples(settings: BuildTriplesRun, format: Printed = "text") -> None:
    """Build triples of an anchor, a paraphrase and a misleading sentence, for bsx adversarial triples."""
    write_shown(jobs.build_triples(**set_fields(settings)), [str(settings.table)], format)


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
    files = (settings.table, settings.parses, settings.treebank)
    answer(perturbing.perturb, settings, files, format, output, full=full)


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
    for item in PERTURBATIONS.values():
        known = "any" if item.languages is None else " ".join(item.languages)
        known += f", not {' '.join(item.withdrawn)}" if item.withdrawn else ""
        meaning, strength = "keeps" if item.preserves else "changes", "yes" if item.graded else ""
        lines.append((item.name, meaning, strength, ", ".join(sorted(item.needs)), known, item.description))
    gone = [
        f"{item.name} is withdrawn for {' '.join(lang for lang, told in item.withdrawn.items() if told == why)}: {why}"
        for item in PERTURBATIONS.values()
        for why in dict.fromkeys(item.withdrawn.values())
    ]
    return "\n".join([text_table(lines, "l").rstrip("\n"), "", *gone])
