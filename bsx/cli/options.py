"""Command-line options made from the scorer's settings, so that both are written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import SHORT, spelled
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.support.settings import Config, build_config

# Options that several commands have.
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write the result to this file instead.", writable=True)
]
Registry = Annotated[Path | None, typer.Option("--registry", help="Folder laid over the registry.")]
Column = Annotated[list[str] | None, typer.Option(help="Columns of metrics' scores, separated by commas; repeatable.")]
Lower = Annotated[
    list[str] | None, typer.Option(help="Those of --column of which lower is better: their sign is turned.")
]
Score = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Compute these metrics: NAME[:field=value,…][,NAME…]; see bsx metrics. Repeatable."),
]
Correction = Annotated[Literal["none", "holm", "bh"], typer.Option(help="Correct the tests' p for their number.")]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples.")]
Download = Annotated[bool, typer.Option("--download", help="Let stanza fetch its model.")]

# Fields of the scorer that make no sense where metrics are named: they share only what follows here.
OF_ONE_METRIC = set(ScorerConfig.model_fields) - {*RunConfig.model_fields, "model", "lang"}


def with_settings(
    *leave_out: str, config: type[BaseModel] = ScorerConfig
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option for each field of a class of settings.

    The decorated function takes its own parameters and ``**settings``, which holds the options that were given.

    Args:
        leave_out: fields that make no sense for this command.
        config: the settings; a command may be decorated once for each of several classes.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(function, eval_str=True)
        fields = {name: field for name, field in config.model_fields.items() if name not in leave_out}

        def command(**arguments: Any) -> Any:
            settings = {name: arguments.pop(name) for name in fields}
            given = {name: value for name, value in settings.items() if value != fields[name].default}
            return function(**arguments, **given)

        parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        for name, field in fields.items():
            flags = SHORT.get(name, [f"--{name.replace('_', '-')}"])
            if name == "leading_space":
                flags = ["--leading-space/--no-leading-space"]
            elif field.annotation is bool:
                flags = [f"{flags[0]}/--no-{name.replace('_', '-')}"] if field.default else flags
            option = typer.Option(
                *flags, help=spelled(field.description or ""), show_default=field.default not in (None, False)
            )
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=field.default,
                    annotation=Annotated[field.annotation, option],
                )
            )
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def take(settings: dict[str, Any], kind: type[Config]) -> Config:
    """Take the settings of one class out of those that were given, and check them."""
    return build_config({name: settings.pop(name) for name in kind.model_fields if name in settings}, kind)


def whole_numbers(option: str, text: str, *, lowest: int = 0) -> tuple[int, ...]:
    """Return the whole numbers in a list like ``0,3,6``, as they stand, each once.

    Raises:
        InputError: if it holds anything else, or nothing.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and int(part) >= lowest for part in parts):
        raise InputError(f"{option} {text}: write whole numbers from {lowest}, separated by commas")
    return tuple(dict.fromkeys(int(part) for part in parts))
