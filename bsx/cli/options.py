"""Command-line options made from classes of settings, so that both are written once."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import typer
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from bsx.catalog.catalog import load_registry
from bsx.cli.output import RARE, RESULT, answer, names
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError
from bsx.support.settings import BaseSettings, DrawSettings, Significance, build_config, option_of, read_spelled

# Options that several commands have.
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="How to print.")]
_Forms = Literal["text", "csv", "json", "latex", "markdown", "html"]
Printed = Annotated[_Forms, typer.Option("--format", help="How to print the tables.")]
TableFormat = Annotated[
    Literal[_Forms, "xlsx"] | None,
    typer.Option("--format", help="How to print the tables. [what the name of -o ends in; text]"),
]
Full = Annotated[bool, typer.Option("--full", help="Print all tables, instead of those that answer the question.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help=RESULT, writable=True)]
Plot = Annotated[Path | None, typer.Option(help="Draw it: .png, .svg or .pdf.", writable=True)]
Registry = Annotated[Path | None, typer.Option("--registry", metavar="FOLDER", help="Folder laid over the registry.")]


def command(
    *kinds: type[BaseSettings], leave_out: Sequence[str] = (), often: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a command of a function that takes settings: an option for each field.

    Arguments come first, then files of texts, then the command's own settings, each in the order of the fields; how
    often and at which level is drawn, what metrics are computed, and where they run, comes last, because many commands
    share it.

    The function takes one object for each class, in this order, and may take parameters of Typer's own after them. A
    field that two classes have is one option.

    Args:
        kinds: the classes of settings; see `Option` for what a field may say of its option.
        leave_out: fields and parameters that make no sense for this command.
        often: names of the fields that most users need, which ``--help`` shows; ``--help-all`` shows the others too.
            All are shown unless some are named.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = list(inspect.signature(function, eval_str=True).parameters.values())
        every = {name: field for kind in kinds for name, field in kind.model_fields.items()}
        left_out = {*leave_out, *(name for kind in kinds for name in kind.python_only)}
        shown = [name for name, field in every.items() if name not in left_out and not option_of(field).python]
        fields = {name: every[name] for name in sorted(shown, key=lambda name: _rank(name, every[name]))}
        folded: dict[str, dict[str, FieldInfo]] = {}
        parameters: list[inspect.Parameter] = []
        for name, field in fields.items():
            if (group := option_of(field).folded) is not None:
                folded.setdefault(group, {})[name] = field
                continue
            # A setting stands under the heading of the class that declares it.
            bases = (base for kind in kinds for base in kind.__mro__ if name in vars(base).get("__annotations__", ()))
            panel = next((panel for base in bases if (panel := vars(base).get("panel")) is not None), None)
            parameters.append(_parameter(name, field, RARE if often and name not in often.split() else panel))
        parameters += [_folded(group, members) for group, members in folded.items()]
        more = [p for p in signature[len(kinds) :] if p.name not in left_out]
        parameters += [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in more]

        @functools.wraps(function)
        def run(**arguments: Any) -> Any:
            given = {name: arguments.pop(name) for name in fields if name in arguments}
            for group, members in folded.items():
                given |= _unfolded(group, arguments.pop(group), kinds, members)
            for name in given:
                item = _listed(_plain(fields[name].annotation))
                if item is not None and not option_of(fields[name]).whole:
                    listed = names(name, given[name])
                    given[name] = listed if item is str else list(dict.fromkeys(listed))  # numbers count once each
            given = {n: v for n, v in given.items() if v not in (None, []) and v != fields[n].get_default()}
            made = [build_config({n: v for n, v in given.items() if n in kind.model_fields}, kind) for kind in kinds]
            return function(*made, **arguments)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.often = often.split()  # type: ignore[attr-defined]
        run.folded = {name: group for group, members in folded.items() for name in members}  # type: ignore[attr-defined]
        return run

    return decorate


def shown(job: Any, often: str, *, plot: bool) -> Callable[..., Any]:
    """Make a command of a function of settings (`settled`, `on_table`) whose result is shown, with a chart to plot.

    Settings that name themselves what is written leave ``-o`` to that: the result is printed.
    """

    def of_file(
        settings: Any, plot: Plot = None, format: TableFormat = None, output: Output = None, full: Full = False
    ) -> None:
        answer(job, settings, format, output, full=full, plot=plot)

    def printed(settings: Any, plot: Plot = None, format: Printed = "text", full: Full = False) -> None:
        answer(job, settings, format, full=full, plot=plot)

    function = printed if "output" in job.settings.model_fields else of_file
    function.__doc__ = job.__doc__.partition("\n")[0].replace("``", "")
    return command(job.settings, often=often, leave_out=() if plot else ("plot",))(function)


def _rank(name: str, field: FieldInfo) -> int:
    """Return how late in the help a setting comes."""
    if option_of(field).argument:
        return 0
    if name in ("candidates", "references", "sources"):
        return 1
    if name in RunConfig.model_fields:
        return 5
    if name in ("metrics", "model", "lang"):
        return 4
    return 3 if name in DrawSettings.model_fields or name in Significance.model_fields else 2


def _completion(name: str, field: FieldInfo) -> Callable[[typer.Context, str], list[str]] | None:
    """Return what offers a shell values of an option: models, metrics, languages or columns; None for other options."""
    if not option_of(field).column and name not in ("model", "metrics", "lang"):
        return None

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        known: Iterable[str] = ()
        if option_of(field).column:
            from bsx.data.tables import Table

            # An option that still lacks its value leaves the table among what is not read.
            if table := next(filter(None, [context.params.get("table"), *context.args]), None):
                known = Table(str(table)).columns
        else:
            catalog = load_registry(context.params.get("registry"))
            kinds: dict[str, Iterable[str]]
            kinds = {"model": catalog.models, "metrics": catalog.metrics, "lang": catalog.languages}
            known = kinds[name]
        return [f"{before}{comma}{word}" for word in sorted(known) if word.startswith(last)]

    return complete


def _plain(annotation: Any) -> Any:
    """Return the type of a field as texts spell it: of several, the first simple one; a table is named."""
    if get_origin(annotation) not in (Union, UnionType):
        return str if annotation is Any else annotation
    kinds = [get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in get_args(annotation)]
    kinds = [str if kind is Any else kind for kind in kinds]
    simple = next((kind for kind in kinds if kind in (bool, int, float, str, Path)), None)
    if simple is None:
        return annotation
    return simple | None if type(None) in kinds else simple


def _parameter(name: str, field: FieldInfo, panel: str | None) -> inspect.Parameter:
    """Return the parameter of Typer's that a field of settings becomes."""
    mark = option_of(field)
    annotation = _plain(field.annotation)
    listed = _listed(annotation) is not None
    required = field.is_required()
    kind: Any = (list[str] if required else list[str] | None) if listed else annotation
    default = inspect.Parameter.empty if required else None if listed else field.get_default()
    folder = mark.folder or name in ("cache", "registry") or name.endswith("_dir")
    metavar = mark.metavar or ("FOLDER" if folder else "FILE" if mark.whole else None)
    shown_as = {"help": field.description, "metavar": metavar, "rich_help_panel": panel}
    if mark.argument:
        made = typer.Argument(help=field.description, metavar=mark.metavar or name.upper())
    else:
        flag = f"--{name.replace('_', '-')}"
        if annotation is bool and default:
            flag = f"{flag}/--no-{name.replace('_', '-')}"
        made = typer.Option(
            *mark.flags,
            flag,
            **shown_as,  # type: ignore[arg-type]
            min=next((cast(int, item.ge) for item in field.metadata if isinstance(item, Ge)), None),
            # 1e12, where numbers lose their digits, is no news.
            max=next((item.le for item in field.metadata if isinstance(item, Le) and isinstance(item.le, int)), None),
            show_default=default not in (None, False),
            writable=mark.writable,
            file_okay=not mark.folder,
            autocompletion=_completion(name, field),
        )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made])


def _folded(group: str, members: Mapping[str, FieldInfo]) -> inspect.Parameter:
    """Return the one parameter that rarer settings share, ``--group name=value,…``."""
    lines = []
    for name, field in members.items():
        choices = "|".join(map(str, get_args(field.annotation))) if get_origin(field.annotation) is Literal else ""
        default = field.get_default()
        usual = "" if default in (None, False) else f" [{str(default).lower() if default is True else default}]"
        lines.append(f"{name}: {(field.description or '').rstrip('.')}{choices and f' ({choices})'}{usual}.")
    made = typer.Option(f"--{group}", metavar="NAME=VALUE,…", help="\n\n".join(lines), rich_help_panel=RARE)
    kind = Annotated[list[str] | None, made]
    return inspect.Parameter(group, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def _unfolded(
    group: str, given: Sequence[str] | None, kinds: Sequence[type[BaseSettings]], members: Mapping[str, FieldInfo]
) -> dict[str, Any]:
    """Return the settings in an option that several share; an InputError says which part is wrong."""
    results: dict[str, Any] = {}
    # A comma that no NAME= follows belongs to the value, as in a prefix.
    for part in (part.lstrip() for text in given or () for part in re.split(r",(?=\s*\w+=)", text)):
        name, equals, value = part.partition("=")
        if not equals or name not in members:
            known = ", ".join(members)
            raise InputError(f"{group}: {part[:60]!r} is not NAME=VALUE with one of {known}", setting=group)
        if name in results:
            raise InputError(f"{group}: {name} is given twice", setting=name)
        kind = next(kind for kind in kinds if name in kind.model_fields)
        results[name] = [value] if _listed(members[name].annotation) else read_spelled(kind, name, value)
        if Path in (members[name].annotation, *get_args(members[name].annotation)):
            if "," in value:
                raise InputError(f"{name}: {value[:60]!r} has a comma, which ends a value here", setting=name)
            results[name] = Path(value).expanduser()  # which a shell does at the beginning of a word only
    return results


def _listed(annotation: object) -> type | None:
    """Return what a list of names, of whole numbers or of NAME=VALUE consists of; None for any other type."""
    for kind in (annotation, *get_args(annotation)):
        if get_origin(kind) in (Sequence, Mapping) or (get_origin(kind) is tuple and get_args(kind)[1:] == (...,)):
            item = get_args(kind)[0]
            return int if item is int or get_args(item)[:1] == (int,) else str
    return None
