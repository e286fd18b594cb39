"""The table of commands: what each runs, imported when it runs, its line of help, what its help shows first."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple, cast

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from bsx.cli.output import GuardedCommands, WholeSummaries, choices_of, door_of, group, option_name
from bsx.errors import BsxError, InputError, did_you_mean
from bsx.support.environment import keep_together
from bsx.support.settings import our_name, our_spellings, told_problem


class CommandEntry(NamedTuple):
    """A line of the table.

    Attributes:
        runs: ``module:name``, imported when the command runs: a function of settings that returns a result, or, in
            `bsx.cli`, a command with code of its own; or the commands of a group.
        help: one line; that of the function unless given.
        often: the settings that most users need, which ``--help`` shows; all are shown unless some are named.
        plot: whether its result has a chart to draw.
    """

    runs: str | dict[str, CommandEntry]
    help: str = ""
    often: str = ""
    plot: bool = False


_PLAN = {
    "compare": CommandEntry("bsx.analysis.plan.run:plan_compare"),
    "meta": CommandEntry("bsx.analysis.plan.run:plan_meta"),
}
_REGISTRY = {
    "tune": CommandEntry("bsx.analysis.tune.run:tune", plot=True),
    "baseline": CommandEntry("bsx.analysis.baseline.run:baseline"),
    "validate": CommandEntry("bsx.cli.registry:validate"),
    "schema": CommandEntry("bsx.cli.registry:schema"),
}
_TRAIN = {
    "ARCHITECTURE": CommandEntry("bsx.analysis.train.run:train"),
    "curve": CommandEntry("bsx.analysis.train.run:train_curve", plot=True),
}
_ADVERSARIAL = {
    "pairs": CommandEntry(
        "bsx.analysis.adversarial.run:detect_paraphrases",
        often="table label reference candidate columns lower document model lang metrics",
    ),
    "triples": CommandEntry(
        "bsx.analysis.adversarial.run:prefer_paraphrases", often="table columns lower document model lang metrics"
    ),
    "challenge": CommandEntry(
        "bsx.analysis.adversarial.run:challenge_metrics",
        often="table good bad reference source phenomenon columns lower model lang metrics",
        plot=True,
    ),
    "build-triples": CommandEntry("bsx.analysis.adversarial.run:build_triples"),
    "perturb": CommandEntry("bsx.cli.adversarial:perturb"),
}
COMMANDS = {
    "evaluate": CommandEntry(
        "bsx.analysis.evaluate.run:evaluate",
        "Evaluate systems: scores, tests, segments to look at and a report, in one command.",
        "table candidates references sources segment document human candidate reference model lang metrics output",
    ),
    "score": CommandEntry("bsx.cli.score:score", "Score candidates with BERTScore, or with any metrics of the zoo."),
    "train": CommandEntry(_TRAIN, "Train a metric on human scores; measure what more of them would bring."),
    "metrics": CommandEntry("bsx.cli.metrics:metrics", "List metrics, show one."),
    "meta": CommandEntry(
        "bsx.cli.meta:meta", "Measure how well metrics agree with human judgments, and which agrees better."
    ),
    "plan": CommandEntry(_PLAN, "Plan a study: how many segments, systems and judgments it needs."),
    "compare": CommandEntry(
        "bsx.analysis.compare.run:compare",
        "Compare systems under a metric: are they different?",
        "table candidates references sources system segment document columns candidate reference source systems "
        "all_pairs correction margin model lang metrics",
    ),
    "match": CommandEntry("bsx.cli.score:match", "Show the token alignment behind a score."),
    "models": CommandEntry("bsx.cli.models:models", "List models, rank those for a language, show, fetch or pin one."),
    "probe": CommandEntry(
        "bsx.cli.probe:probe",
        "Probe what each layer of a model knows, and how well it correlates with human judgments.",
    ),
    "registry": CommandEntry(_REGISTRY, "Tune a model's layer, compute its baseline, validate registry files."),
    "factors": CommandEntry(
        "bsx.analysis.factors.run:factors",
        "Score sentence pairs by linguistic factors: structure, words, word forms.",
        "table factors human candidate reference source vectors train_vectors output lang",
    ),
    "disentangle": CommandEntry(
        "bsx.cli.disentangle:disentangle", "Explain metric scores by linguistic factors in a regression."
    ),
    "intervene": CommandEntry(
        "bsx.analysis.intervene.run:intervene",
        "Edit texts factor by factor: what a metric reacts to, and what it is associated with.",
        "table edits base factors candidate reference source human edits_out lang model metrics",
        plot=True,
    ),
    "adversarial": CommandEntry(
        _ADVERSARIAL, "Test whether metrics can be fooled: paraphrase pairs, triples, perturbations, challenge sets."
    ),
    "ensemble": CommandEntry(
        "bsx.analysis.ensemble.run:ensemble",
        "Combine metrics and measure what that gains over the best of them.",
        "table system segment document columns human how group save lang metrics",
    ),
    "report": CommandEntry("bsx.cli.report:report", "Write one HTML page, or Markdown, from scores and results."),
    "convert": CommandEntry(
        "bsx.cli.report:convert", "Write a table or a result in another format; of a table, chosen segments."
    ),
    "ui": CommandEntry("bsx.cli.ui:ui", "Open a page in the browser: files in, metrics chosen, results read."),
    "data": CommandEntry("bsx.cli.data:data", "List, show, fetch and verify data sets with human judgments."),
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

    for name, command in COMMANDS.items():
        _add(app, name, command if name in arguments else command._replace(runs=""))
    return app


def _add(app: typer.Typer, name: str, command: CommandEntry) -> None:
    """Add a command, or a group with its commands."""
    made: Any = _listed
    if isinstance(command.runs, dict):
        made = group(no_args_is_help=True)
        for below, of_group in command.runs.items():
            _add(made, below, of_group)
    elif command.runs:
        module, _, function = command.runs.partition(":")
        made = getattr(importlib.import_module(module), function)
        if not module.startswith("bsx.cli."):
            from bsx.cli.options import shown

            made = shown(made, command.often, plot=command.plot)
    if isinstance(made, typer.Typer):
        app.add_typer(made, name=name, help=command.help)
    else:
        app.command(name, help=command.help or None)(made)


def _listed() -> None:
    """Stand in the list of commands of ``bsx --help``, which never runs one."""


@functools.cache
def _built(names: frozenset[str]) -> TyperGroup:
    """Return what runs the commands of these names; Typer takes longer to make it than some commands to run."""
    return cast(TyperGroup, typer.main.get_command(build(names)))


def commands_with(setting: str, command: Any = None, words: str = "bsx") -> list[str]:
    """Return the commands, such as ``bsx score``, that have an option for a setting; all are imported for it."""
    command = command or _built(frozenset(COMMANDS))
    below = getattr(command, "commands", {}).items()
    deeper = [path for name, inner in below for path in commands_with(setting, inner, f"{words} {name}")]
    return [words] * (setting in door_of(command)) + deeper


def _instead_of(option: str, ctx: Any) -> str:
    """Return what to say of an option that a command does not have: what it is here, who has it, or what is near."""
    door, shared = door_of(ctx.command), getattr(ctx.command.callback, "folded", {})
    name, message = option.lstrip("-").removeprefix("no-").replace("-", "_"), f"No such option: {option}"
    if (ours := our_name(name, door)) is not None:
        return f"{message}; write {door[ours]}{'=VALUE' if ours in shared else ''}"
    hint = f".{did_you_mean(option, [*filter(None, map(option_name, ctx.command.params)), *shared])}"
    ours, others = next(
        ((ours, others) for ours in our_spellings(name) if (others := commands_with(ours))), (name, list[str]())
    )
    if others:
        hint = f"; --{ours.replace('_', '-')} is of {', '.join(others[:4])}{' and others' * (len(others) > 4)}"
    return f"{message}{hint} ({ctx.command_path} --help shows how)"


def call(arguments: Sequence[str]) -> int:
    """Run one command, by what follows ``bsx`` on the command line, and return its exit status.

    InputError is raised if that is not what the command takes, and whatever the command raises.
    """
    keep_together()
    if "_BSX_COMPLETE" in os.environ:
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
        place = getattr(error, "ctx", None)
        hint = f" ({place.command_path} --help shows how)" if place is not None else ""
        if (unknown := getattr(error, "option_name", None)) is not None and type(error).__name__ == "NoSuchOption":
            raise InputError(_instead_of(str(unknown), place)) from error
        parameter = getattr(error, "param", None)
        if parameter is not None and isinstance(error.__cause__, ValidationError):
            problem = error.__cause__.errors()[0]
            if problem["type"] != "value_error":
                name = option_name(parameter) or parameter.name
                raise InputError(f"{told_problem(problem, name)}{hint}", setting=parameter.name) from error
        message = error.format_message().replace("Value error, ", "")  # type: ignore[attr-defined]
        if wrong := re.search(r": '(.*)' is not one of ", message):
            message += did_you_mean(wrong[1], choices_of(parameter))
        raise InputError(f"{message}{hint}") from error
    return outcome if isinstance(outcome, int) else 0
