"""``bsx adversarial``: can a metric be fooled?"""

from __future__ import annotations

import typer

from bsx.cli.adversarial_build import build_triples
from bsx.cli.adversarial_pairs import pairs
from bsx.cli.adversarial_perturb import perturb
from bsx.cli.adversarial_triples import triples
from bsx.cli.help import group

adversarial = group()
adversarial.command()(pairs)
adversarial.command()(triples)
adversarial.command()(perturb)
adversarial.command("build-triples")(build_triples)


@adversarial.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Test whether metrics can be fooled: paraphrase pairs, triples, perturbations."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
