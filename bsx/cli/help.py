"""Lists of commands in help texts: every summary whole, and those of ``bsx`` itself under headings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import typer
import typer.core

from bsx.cli.output import GuardedCommands

if TYPE_CHECKING:  # Typer carries its own copy of click
    from typer._click.formatting import HelpFormatter


class WholeSummaries(typer.core.TyperGroup):
    """A group of commands whose help cuts no summary short."""

    headings: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write the list of commands, under headings if there are any."""
        for heading, names in (self.headings or {"Commands": list(self.commands)}).items():
            with formatter.section(heading):
                formatter.write_dl([(name, _summary(self.commands[name].help or "")) for name in names])


def _summary(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def group(*, no_args_is_help: bool = False) -> typer.Typer:
    """Return a command that has commands of its own."""
    return GuardedCommands(cls=WholeSummaries, rich_markup_mode=None, no_args_is_help=no_args_is_help)
