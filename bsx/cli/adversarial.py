"""``bsx adversarial perturb``, which also lists what it can do to texts."""

from __future__ import annotations

from typing import Annotated

import typer

from bsx.analysis.adversarial import perturb as perturbing
from bsx.analysis.adversarial.perturb import PerturbRun
from bsx.analysis.perturbations.perturb import PERTURBATIONS
from bsx.cli.options import Full, Output, TableFormat, command
from bsx.cli.output import answer, form_of, refuse_beside, write_result
from bsx.errors import InputError
from bsx.support.terminal import text_table
from bsx.support.untyped import to_json

_OFTEN = """
    table candidate reference source perturbations strengths edits_out parses parser treebank model lang metrics
"""


@command(PerturbRun, often=_OFTEN)
def perturb(
    settings: PerturbRun,
    context: typer.Context,
    list_all: Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")] = False,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
) -> None:
    """Change texts on purpose: how far does each metric's score fall, compared with a change that keeps the meaning?"""
    if not list_all:
        answer(perturbing.perturb, settings, format, output, full=full)
        return
    refuse_beside(context, "list_all", "format", "output")
    if (form := form_of(format, output)) == "xlsx":
        raise InputError("format: the list is text or json", setting="format")
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
    if form == "json":
        write_result(to_json({"perturbations": rows}), output)
        return
    lines, gone = [("name", "meaning", "strength", "needs", "languages", "description")], []
    for item in PERTURBATIONS.values():
        known = "any" if item.languages is None else " ".join(item.languages)
        known += f", not {' '.join(item.withdrawn)}" if item.withdrawn else ""
        meaning, strength = "keeps" if item.preserves else "changes", "yes" if item.graded else ""
        lines.append((item.name, meaning, strength, ", ".join(sorted(item.needs)), known, item.description))
        for why in dict.fromkeys(item.withdrawn.values()):
            codes = " ".join(code for code, reason in item.withdrawn.items() if reason == why)
            gone.append(f"{item.name} is withdrawn for {codes}: {why}")
    write_result("\n".join([text_table(lines, "l").rstrip("\n"), "", *gone]), output)
