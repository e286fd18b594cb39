"""The table of commands: each one's module, imported when it runs, and its line of help."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Annotated, cast

import typer
from typer.core import TyperGroup

from bsx.cli.output import GuardedCommands, WholeSummaries, option_name
from bsx.errors import BsxError, InputError
from bsx.support.environment import keep_together

# name -> (module that holds the command, one line of help). Modules are imported when their command runs.
COMMANDS = {
    "evaluate": ("bsx.cli.meta", "Evaluate systems: scores, tests, segments to look at and a report, in one command."),
    "score": ("bsx.cli.score", "Score candidates with BERTScore, or with any metrics of the zoo."),
    "train": ("bsx.cli.train", "Train a metric on human scores; measure what more of them would bring."),
    "metrics": ("bsx.cli.metrics", "List metrics, show one."),
    "meta": ("bsx.cli.meta", "Measure how well metrics agree with human judgments, and which agrees better."),
    "plan": ("bsx.cli.meta", "Plan a study: how many segments, systems and judgments it needs."),
    "compare": ("bsx.cli.meta", "Compare systems under a metric: are they different?"),
    "match": ("bsx.cli.score", "Show the token alignment behind a score."),
    "models": ("bsx.cli.models", "List models, rank those for a language, show, fetch or pin one."),
    "probe": (
        "bsx.cli.probe",
        "Probe what each layer of a model knows, and how well it correlates with human judgments.",
    ),
    "registry": ("bsx.cli.registry", "Tune a model's layer, compute its baseline, validate registry files."),
    "factors": ("bsx.cli.factors", "Score sentence pairs by linguistic factors: structure, words, word forms."),
    "disentangle": ("bsx.cli.disentangle", "Explain metric scores by linguistic factors in a regression."),
    "intervene": (
        "bsx.cli.factors",
        "Edit texts factor by factor: what a metric reacts to, and what it is associated with.",
    ),
    "adversarial": (
        "bsx.cli.adversarial",
        "Test whether metrics can be fooled: paraphrase pairs, triples, perturbations, challenge sets.",
    ),
    "ensemble": ("bsx.cli.disentangle", "Combine metrics and measure what that gains over the best of them."),
    "report": ("bsx.cli.report", "Write one HTML page, or Markdown, from scores and results."),
    "convert": ("bsx.cli.report", "Write a table or a result in another format; of a table, chosen segments."),
    "ui": ("bsx.cli.ui", "Open a page in the browser: files in, metrics chosen, results read."),
    "data": ("bsx.cli.data", "List, show, fetch and verify data sets with human judgments."),
}

# How ``bsx --help`` lists them.
HEADINGS = {
    "Score texts": ("ui", "evaluate", "score", "compare", "match"),
    "Choose a model or metric": ("models", "metrics", "registry"),
    "Evaluate metrics": ("meta", "plan", "data"),
    "Explain metrics and models": ("factors", "disentangle", "intervene", "probe"),
    "Attack metrics": ("adversarial",),
    "Combine and train metrics": ("ensemble", "train"),
    "Report": ("report", "convert"),
}

_COMPLETE = "_BSX_COMPLETE"
"""Environment variable by which a shell asks how a command goes on; ``bsx --install-completion`` sets that up."""

# Typer carries its own copy of click; this is the base class of everything that copy raises for wrong usage.
_UsageProblem: type[Exception] = typer.BadParameter.__mro__[2]


class _Bsx(WholeSummaries):
    headings = HEADINGS


def _show_version(wanted: bool) -> None:
    if wanted:
        from bsx.support.provenance import VERSION

        typer.echo(f"bsx {VERSION}")
        raise typer.Exit


def build(arguments: Iterable[str]) -> typer.Typer:
    """Return the command line; only commands named in ``arguments`` are imported, others are listed for help."""
    app = GuardedCommands(
        name="bsx",
        cls=_Bsx,
        help="Evaluate generated text: score candidates with BERTScore and its relatives, see which tokens matched.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help", "--help-all"]},
    )

    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and stop.", callback=_show_version, is_eager=True)
        ] = False,
    ) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())
            return
        from bsx.data.lines import keeping_spools

        context.with_resource(keeping_spools())

    for name, (module, text) in COMMANDS.items():
        command = getattr(importlib.import_module(module), name.replace("-", "_")) if name in arguments else _listed
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, help=text)
        else:
            app.command(name, help=text)(command)
    return app


@functools.cache
def _built(names: frozenset[str]) -> TyperGroup:
    """Return what runs the commands of these names; Typer takes longer to make it than some commands to run."""
    return cast(TyperGroup, typer.main.get_command(build(names)))


def _listed() -> None:
    """Stand in the list of commands of ``bsx --help``, which never runs one."""


def call(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status.

    Args:
        arguments: what follows ``bsx`` on the command line.

    Raises:
        InputError: if they are not what the command takes.
        Exception: whatever the command raises.
    """
    keep_together()
    if _COMPLETE in os.environ:
        words = shlex.split(os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "", posix=False)
        with contextlib.suppress(BsxError, SystemExit):  # a table that cannot be read has no columns to offer
            _built(frozenset(COMMANDS.keys() & set(words))).main(prog_name="bsx")
        return 0
    command = _built(frozenset(COMMANDS.keys() & set(arguments)))
    try:
        # Not by calling the app: Typer would turn interrupts, broken pipes and files that end early into its own ends.
        with command.make_context("bsx", list(arguments)) as context:
            outcome = command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except _UsageProblem as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message())  # type: ignore[attr-defined]
            return 0
        from pydantic import ValidationError

        from bsx.support.settings import told_problem

        place = getattr(error, "ctx", None)
        hint = f" ({place.command_path} --help shows how)" if place is not None else ""
        parameter = getattr(error, "param", None)
        if parameter is not None and isinstance(error.__cause__, ValidationError):
            problem = error.__cause__.errors()[0]
            if problem["type"] != "value_error":
                name = option_name(parameter) or parameter.name
                raise InputError(f"{told_problem(problem, name)}{hint}", setting=parameter.name) from error
        raise InputError(f"{error.format_message().replace('Value error, ', '')}{hint}") from error  # type: ignore[attr-defined]
    return outcome if isinstance(outcome, int) else 0
