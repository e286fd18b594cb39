"""``bsx adversarial``: can a metric be fooled?"""

from __future__ import annotations

import typer

from bsx.cli.adversarial_perturb import perturb

adversarial = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
adversarial.command()(perturb)


@adversarial.callback()
def adversarial_group() -> None:
    """Can a metric be fooled? Perturbed texts, with drops and intervals."""
