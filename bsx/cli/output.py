"""What commands share: groups with whole summaries and guarded outputs, lists of names, results, a bar until then."""

from __future__ import annotations

import contextlib
import datetime
import functools
import inspect
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin

import typer
import typer.core

from bsx.data.output import FORMATS, PICTURES, atomic_text, check_picture
from bsx.data.run import check_folder, check_outputs, is_stream, named_files, one_run
from bsx.errors import BsxError, InputError, shortened
from bsx.support.progress import FOLLOWED, Bars
from bsx.support.provenance import Provenance, provenance
from bsx.support.result import Result
from bsx.support.settings import BaseSettings, set_fields
from bsx.support.terminal import SHOWN, short_table, tell
from bsx.support.untyped import to_json

if TYPE_CHECKING:  # Typer carries its own copy of click
    from typer._click.formatting import HelpFormatter


FORMS = {
    **{".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv"},
    **{".json": "json", ".html": "html", ".htm": "html", ".xlsx": "xlsx"},
}
"""What the name of an output ends in -> the form that it is written in; a command may have some of them only."""
FILE_OR_FOLDER = "FILE|FOLDER"
"""What stands for an output in a command's help that is a file if its name ends in one of `FORMS`, else a folder."""

RARE = "More options"
"""Heading of options that ``--help`` leaves to ``--help-all``."""
HEADINGS = ("Arguments", "Texts", "Metrics", "Options", "Output", RARE)
"""Headings of options in the help of a command."""

RESULT = "Write the result to this file instead."
"""The help of an output that gets what is otherwise printed."""


def say(notes: Iterable[str]) -> None:
    """Print notes on standard error."""
    for note in notes:
        tell(f"note: {shortened(note)}")


class GuardedCommands(typer.Typer):
    """Commands that begin by holding their outputs, the options with ``writable=True``, against all else they name."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # type: ignore[override]
        """Return a decorator that adds a command."""
        settings.setdefault("cls", PanelCommand)
        return lambda function: super(GuardedCommands, self).command(name, **settings)(_guarded(function))


def option_name(parameter: Any) -> str | None:
    """Return how the command line spells an option; None for what has no name there."""
    long = parameter.opts[-1]
    return str(long) if long.startswith("-") else None


def choices_of(parameter: Any) -> list[str]:
    """Return the values of an option that has some; empty for any other."""
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return [str(choice) for of in (kind, *get_args(kind)) if get_origin(of) is Literal for choice in get_args(of)]


def door_of(command: Any) -> dict[str, str]:
    """Return what a command's settings, and those with one of their choices, are called on the command line."""
    shared = getattr(command.callback, "folded", {})  # several settings in one option
    door = {name: f"--{group} {name}" for name, group in shared.items()}
    for parameter in command.params:
        if (option := option_name(parameter)) is not None:
            door |= {f"{parameter.name} {choice}": f"{option} {choice}" for choice in choices_of(parameter)}
            door[parameter.name] = option
    return door


class _Door:
    """What takes options: an error about its settings then calls them as the command line does."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Return how help is asked for, in the order stated (the library's is that of a set)."""
        names = super().get_help_option_names(ctx)  # type: ignore[misc]
        return [name for name in ctx.help_option_names if name in names]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except BsxError as error:
            if error.door is None:
                error.door = door_of(ctx.command)
            raise


class PanelCommand(_Door, typer.core.TyperCommand):
    """A command whose help lists options under headings, and rare ones only after ``--help-all``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the arguments, and which help was asked for."""
        ctx.meta[RARE] = "--help-all" in args
        return super().parse_args(ctx, args)

    def format_options(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write arguments and options, the command's own settings first."""
        headings: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for parameter in self.get_params(ctx):
            described = getattr(getattr(parameter, "type_descriptor", None), "parameter_info", None)
            heading = getattr(parameter, "rich_help_panel", None) or "Options"
            if parameter.param_type_name == "argument":
                heading = "Arguments"
            elif parameter.name in ("format", "full") or getattr(described, "writable", False):
                heading = "Output"
            if (entry := help_entry(parameter, ctx)) is not None:
                headings[heading].append(entry)
        hidden = [] if ctx.meta.get(RARE, True) else headings.pop(RARE)
        for heading, records in headings.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if hidden:
            formatter.write(f"\n{len(hidden)} more options: --help-all\n")


_VALUES = {
    r"<path>": "FILE",
    r"<int( range)?>": "N",
    r"<float( range)?>": "X",
    r"<str>": "NAME",
    r"<list\[int\]>": "N,…",
    r"<list\[\w+\]>": "NAME,…",
}
"""How Typer spells the type of a value -> how the help does."""


def help_entry(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Return an argument or option as the help spells it, and what it says; None for one that is not shown."""
    record = parameter.get_help_record(context)
    if record is None:
        return None
    name, meaning = record
    for spelled, value in _VALUES.items():
        name = re.sub(spelled, "" if parameter.param_type_name == "argument" else value, name)
    return name.strip(), meaning


class WholeSummaries(_Door, typer.core.TyperGroup):
    """A group of commands whose help cuts no summary short."""

    headings: ClassVar[Mapping[str, Sequence[str]]] = {}

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Return the command that arguments begin with; where that is none's name, they are for the one in capitals.

        ``bsx train ARCHITECTURE TABLE…`` is a command without a name of its own, beside those that have one.
        """
        nameless = next(filter(str.isupper, self.commands), None)
        if nameless is None or args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        return "", self.commands[nameless], args

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write the list of commands, under headings if there are any."""
        for heading, names in (self.headings or {"Commands": list(self.commands)}).items():
            with formatter.section(heading):
                formatter.write_dl([(name, " ".join((self.commands[name].help or "").split())) for name in names])


def group(*, no_args_is_help: bool = False) -> typer.Typer:
    """Return a command that has commands of its own."""
    return GuardedCommands(cls=WholeSummaries, rich_markup_mode=None, no_args_is_help=no_args_is_help)


def refuse_beside(context: typer.Context, mode: str, *kept: str) -> None:
    """Raise InputError for the first option but those ``kept`` that has no effect beside another, such as ``--list``.

    ``mode`` is the parameter of that other option; empty where a command of the group follows.
    """
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name)
        if given is not None and given.name == "COMMANDLINE" and name not in (mode, *kept):
            spelling = parameter.opts[-1] if parameter.opts[0].startswith("-") else str(name).upper()
            where = f"before the command {context.invoked_subcommand}: give it after, or leave it out"
            if mode:
                where = f"together with --{mode.removesuffix('_all')}: leave it out"
            raise InputError(f"{spelling} has no effect {where}")


def refuse_before_command(context: typer.Context) -> bool:
    """Tell whether a command of the group follows; options of the group itself, which it would not see, are refused."""
    if context.invoked_subcommand is None:
        return False
    refuse_beside(context, "")
    return True


def _guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    annotations = {name: p.annotation for name, p in inspect.signature(command, eval_str=True).parameters.items()}
    writable = {
        name: option
        for name, annotation in annotations.items()
        for option in get_args(annotation)
        if getattr(option, "writable", False)
    }
    asked = get_args(annotations.get("format"))
    choices = get_args(asked[0]) if asked else ()
    forms = {form for choice in choices for form in (get_args(choice) or (choice,))}

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        reads = [file for name in given if name not in writable for file in named_files(name, given[name])]
        writes = {name: Path(given[name]) for name in writable if given.get(name)}
        with one_run(lambda note: say([note]), reads, writes):
            files, results = [], {}
            for name, path in writes.items():
                option = writable[name]
                either = option.metavar == FILE_OR_FOLDER
                is_file = path.suffix.lower() in FORMS and not path.is_dir() if either else option.file_okay
                if is_file:
                    files.append(path)
                else:
                    check_folder(path)
                if either or option.help == RESULT:
                    results[path] = is_file
            check_outputs(files)
            for path, is_file in results.items():
                _check_ending(path, forms, given["format"], is_file=is_file)
            if given.get("format") == "xlsx" and given.get("output") is None:
                raise InputError("format: a spreadsheet is not printed: name a file (output)", setting="format")
            with contextlib.redirect_stdout(sys.stderr) if any(map(is_stream, files)) else contextlib.nullcontext():
                outcome = command(**given)
            for path in dict.fromkeys(path for path in writes.values() if not is_stream(path) and path.exists()):
                tell(f"wrote {path}")
            return outcome

    return run


def _check_ending(path: Path, forms: set[str], format: str | None, *, is_file: bool) -> None:
    """Refuse a result under a name that promises something else, such as text under that of a table or picture.

    A format that is asked for wins over any ending but a picture's; the name of a folder may have a dot.
    """
    ending = path.suffix.lower()
    known = ", ".join(suffix for suffix, form in FORMS.items() if form in forms and suffix != ".htm")
    if ending in PICTURES:
        raise InputError(f"a picture's name, but results are text or tables; end it in {known}", file=path)
    if format is None and ending and FORMS.get(ending) not in forms and (is_file or ending in FORMATS):
        other = FORMS.get(ending, ending[1:] if ending in FORMATS else "")
        why = f"this command writes no {other}" if other else "cannot tell the format"
        raise InputError(f"{why}; end the name in {known}", file=path)


def spelled(value: object) -> str:
    """Return a value as lists for people have it."""
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def print_rows(what: str, rows: Sequence[Mapping[str, object]], *, full: bool = False, most: int = SHOWN) -> None:
    """Print a list, head -> value, of ``what``, a plural; its last column is cut where a line would be too wide.

    Of more than ``most`` rows, the first are printed, unless all are asked for whole.
    """
    cells = [list(rows[0]), *([spelled(value) for value in row.values()] for row in rows)]
    print(short_table(cells, "l", what=what, full=full, cut=len(cells[0]) - 1, most=most))


def write_result(content: str, output: Path | None) -> None:
    """Print a result, or write it to a file that appears when it is complete."""
    content = content.rstrip("\n") + "\n"
    if output is None:
        sys.stdout.write(content)
        return
    with atomic_text(output) as stream:
        stream.write(content)


def form_of(format: str | None, output: Path | None) -> str:
    """Return the format asked for; unless one was, what the name of the output ends in, or ``text``."""
    return format or FORMS.get(output.suffix.lower() if output is not None else "", "text")


_READ = ("table", "tables", "tasks", "corpus", "valid", "test_data", "judged", "against", "fit", "parses", "treebank")
"""Settings that name files which a result comes from, in the order in which its provenance has them."""


def watched(settings: BaseSettings, report: Callable[[str, int, int], None]) -> dict[str, Any]:
    """Return the settings that have a value as keywords, with those that tell the user how a run goes on."""
    calls = {"progress": report, "say": lambda note: say([note])}
    return {**set_fields(settings), **{name: calls[name] for name in calls if name in type(settings).model_fields}}


def answer(
    job: Callable[..., Result],
    settings: BaseSettings,
    format: str | None,
    output: Path | None = None,
    *,
    full: bool = False,
    plot: Path | None = None,
) -> Result:
    """Run a job, with a bar until it is done, print its result or write it to a file; return it with its provenance.

    Text on a terminal is the short form unless all is asked for; everything else is whole. What changes the reading is
    said on standard error where the form itself does not say it.

    Args:
        job: takes those settings that have a value, which name the files that were read, and returns the result.
        settings: of the job.
        format: text, csv, json, latex, markdown, html or xlsx, or None; see `form_of`.
        output: where the result is written.
        full: all tables.
        plot: where its chart is drawn.
    """
    from bsx.analysis.present.forms import in_form, parts_of
    from bsx.analysis.present.parts import Notes

    if plot is not None:
        check_picture(plot)
    with progress_bar() as report:
        result = job(**watched(settings, report))
    if plot is not None:
        result.plot(plot)
    form = form_of(format, output)
    if result.provenance is None:
        if "test_set" in type(settings).model_fields:
            from bsx.frames.open import texts_of

            files: Iterable[str | Path] = texts_of(settings).files()  # type: ignore[arg-type]
        else:
            given = [getattr(settings, name, None) or () for name in _READ]
            named = [str(file) for value in given for file in (value if isinstance(value, list | tuple) else [value])]
            folders = {name: sorted(Path(name).glob("*.json")) for name in named if Path(name).is_dir()}
            files = [file for name in dict.fromkeys(named) for file in folders.get(name, [name])]
        result = replace(result, provenance=Provenance.read(provenance(result.kind, files, result.signatures)))
    if form in ("json", "csv", "latex", "xlsx"):
        for part in parts_of(result):
            say(part.items if isinstance(part, Notes) and not part.full else ())
    if form == "json":
        write_result(to_json(result.to_dict()), output)
    elif form == "xlsx":
        from bsx.analysis.present.sheets import write_xlsx

        write_xlsx(result, Path(str(output)))
    else:
        title = " ".join(["bsx", *sys.argv[1:2]])
        write_result(in_form(result, form, full=full or form != "text" or output is not None, title=title), output)
    return result


def names(setting: str, texts: Iterable[str] | None) -> list[str]:
    """Return the names in an option that may be repeated and may hold several each time, cut at commas.

    A part ``field=value`` belongs to the name before it, as in columns called ``lex:a=1,b=2``. InputError is raised if
    the option was given without any name.

    >>> names("columns", ["bert, lex:a=1,b=2,chrf", "ter"])
    ['bert', 'lex:a=1,b=2', 'chrf', 'ter']
    """
    results: list[str] = []
    for text in texts or ():
        several: list[str] = []
        for part in map(str.strip, text.split(",")):
            if several and ":" in several[-1] and re.match(r"[a-z_]\w*=", part):
                several[-1] += f",{part}"
            elif part:
                several.append(part)
        if not several:
            message = f"{setting} is given without any name: name at least one, or leave it out"
            raise InputError(message, setting=setting)
        results += several
    return results


class _Lines:
    """Progress for a log: a line on standard error whenever some seconds have passed, with the time that is left."""

    seconds = 10.0

    def __init__(self) -> None:
        self._phase, self._before = "", 0
        self._began = self._last = time.monotonic()

    def report(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._began, self._before = phase, now, done
        if now - self._last >= self.seconds and done != total:
            self._last, left = now, ""
            if total and done > self._before:
                seconds = round((total - done) * (now - self._began) / (done - self._before))
                left = f", about {datetime.timedelta(seconds=seconds)} left"
            tell(f"{phase}: {done:,}{f' of {total:,}' if total else ''}{left}")


class _Followed:
    """Progress for a program that started this one, in lines of JSON; when that program is gone, this one ends."""

    seconds = 0.2

    def __init__(self) -> None:
        def end_with_starter() -> None:
            while os.read(0, 1 << 16):  # it holds the other end of our standard input, however it ends
                pass
            os.kill(os.getpid(), signal.SIGINT)

        self._last = ("", 0.0)
        threading.Thread(target=end_with_starter, daemon=True).start()

    def report(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self._last[0] or done == total or now - self._last[1] >= self.seconds:
            self._last = (phase, now)
            print(to_json({"phase": phase, "done": done, "total": total}), file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (phase, done, total) that draws a bar with the remaining time; off a terminal, it says lines.

    Where ``BSX_PROGRESS`` is ``json``, the lines are JSON for the program that started this one, and this one ends, as
    by Ctrl-C, when its standard input does.
    """
    if os.environ.get(FOLLOWED) == "json":
        yield _Followed().report
    elif not sys.stderr.isatty():
        yield _Lines().report
    else:
        with contextlib.closing(Bars(leave=False)) as bars:
            yield bars
