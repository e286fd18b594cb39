"""Command-line options made from the scorer's settings, so that both are written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import typer
from annotated_types import Ge

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import SHORT, spelled
from bsx.cli.output import RESULT, names
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.support.settings import Config, Keywords, as_model, build_config, complete

# Options that several commands have.
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")]
TableFormat = Annotated[
    Literal["text", "csv", "json", "latex", "markdown", "html"] | None,
    typer.Option("--format", help="How to print the tables. [what the name of -o ends in; text]"),
]
Full = Annotated[bool, typer.Option("--full", help="Print all tables, instead of those that answer the question.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help=RESULT, writable=True)]
Registry = Annotated[Path | None, typer.Option("--registry", help="Folder laid over the registry.")]
Column = Annotated[list[str] | None, typer.Option(help="Columns of metrics' scores, separated by commas; repeatable.")]
System = Annotated[
    str | None, typer.Option(help="Column of systems whose rows stand one below the other. [system, if there]")
]
Segment = Annotated[
    str | None, typer.Option("--segment", "--id", help="Column that names the segments. [segment, sid or id, if there]")
]
TestSet = Annotated[
    str | None,
    typer.Option("--test-set", help="Public test set instead of a table: wmt17/zh-en, …; see bsx data test-sets."),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder of all data sets, for --test-set; BSX_DATA or your data folder."),
]
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

# Switches that can be said to be off, although they are.
_EITHER = {"leading_space", "intercept"}

# Fields of the scorer that make no sense where metrics are named: they share only what follows here.
OF_ONE_METRIC = set(ScorerConfig.model_fields) - {*RunConfig.model_fields, "model", "lang"}


def with_settings(
    *leave_out: str, config: type = ScorerConfig, before: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option for each field of a class of settings.

    The decorated function takes its own parameters and ``**settings``, which holds the options that were given.

    Args:
        leave_out: fields that make no sense for this command.
        config: the settings, a pydantic model or a TypedDict; a command may be decorated once for each of several.
        before: the parameter before which the options stand in the help; after all unless given.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(function, eval_str=True)
        fields = {name: field for name, field in as_model(config).model_fields.items() if name not in leave_out}
        lists = {name for name, field in fields.items() if _holds_names(field.annotation)}

        def command(**arguments: Any) -> Any:
            settings = {name: arguments.pop(name) for name in fields}
            settings |= {name: names(settings[name]) or fields[name].default for name in lists}
            given = {name: value for name, value in settings.items() if value != fields[name].default}
            return function(**arguments, **given)

        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(kind=keyword) for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        place = [p.name for p in parameters].index(before) if before is not None else len(parameters)
        for at, (name, field) in enumerate(fields.items()):
            flags = SHORT.get(name, [f"--{name.replace('_', '-')}"])
            if name in _EITHER or (field.annotation is bool and field.default):
                flags = [f"{flags[0]}/--no-{name.replace('_', '-')}"]
            option = typer.Option(
                *flags,
                help=spelled(field.description or ""),
                min=next((cast(int, mark.ge) for mark in field.metadata if isinstance(mark, Ge)), None),
                show_default=field.default not in (None, False),
                writable=field.json_schema_extra == {"writable": True},
            )
            kind = list[str] | None if name in lists else field.annotation
            default = None if name in lists else field.default
            made = inspect.Parameter(name, keyword, default=default, annotation=Annotated[kind, option])
            parameters.insert(place + at, made)
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def take(settings: dict[str, Any], kind: type[Config]) -> Config:
    """Take the settings of one class out of those that were given, and check them."""
    return build_config(_of(settings, kind), kind, spelling="`{}=`")


def take_keywords(settings: dict[str, Any], kind: type[Keywords]) -> Keywords:
    """Take the keywords that a TypedDict lists out of the settings that were given, and check them."""
    return complete(cast(Keywords, _of(settings, kind)), kind)


def _of(settings: dict[str, Any], kind: type) -> dict[str, Any]:
    return {name: settings.pop(name) for name in as_model(kind).model_fields if name in settings}


def _holds_names(annotation: object) -> bool:
    return any(get_origin(kind) is Sequence for kind in (annotation, *get_args(annotation)))


def specs(parts: Iterable[str] | None) -> list[str]:
    """Return the metrics in an option that may be repeated and may hold several each time."""
    from bsx.catalog.specs import split_specs

    found = [spec for part in parts or () for spec in split_specs(part)]
    if parts and not found:
        raise InputError("--metric is given without any metric: name at least one, or leave it out")
    return found


def one_spec(parts: Iterable[str] | None) -> str | None:
    """Return the metric in an option that names one, for commands in which only one can be meant."""
    found = specs(parts)
    if len(found) > 1:
        raise InputError(f"--metric {','.join(found)}: this takes one metric, not {len(found)}")
    return found[0] if found else None


def whole_numbers(option: str, text: str, *, lowest: int = 0) -> tuple[int, ...]:
    """Return the whole numbers in a list like ``0,3,6``, as they stand, each once.

    Raises:
        InputError: if it holds anything else, or nothing.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and int(part) >= lowest for part in parts):
        raise InputError(f"{option} {text}: write whole numbers from {lowest}, separated by commas")
    return tuple(dict.fromkeys(int(part) for part in parts))
