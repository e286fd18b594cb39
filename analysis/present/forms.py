"""From a result to its parts, and from parts to text, Markdown, LaTeX, HTML, CSV and pictures."""

from __future__ import annotations

import csv
import functools
import importlib
import io
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bsx.analysis.present import html, latex, markdown, text
from bsx.analysis.present.cells import number, plain_table, table
from bsx.analysis.present.cells import text as word
from bsx.analysis.present.parts import Answer, Chart, Notes, Part, TablePart
from bsx.analysis.present.pictures import Picture, picture
from bsx.data.output import atomic_text, make_folder
from bsx.data.run import check_outputs
from bsx.errors import UnknownNameError, did_you_mean
from bsx.support.optional import need
from bsx.support.result import Result, Shown, as_json
from bsx.support.untyped import to_json

if TYPE_CHECKING:
    import pandas as pd

Kind = TypeVar("Kind", bound=Shown)
Function = TypeVar("Function", bound=Callable[..., Iterable[Any]])
Row = Mapping[str, object]

Place = tuple[str, str]
"""Name (for links) and title of a section of a report."""

_SECTIONS: dict[type[Shown], Place | Callable[..., Place]] = {}
_PARTS: dict[type[Shown], Callable[..., Iterable[Part]]] = {}
_RECORDS: dict[type[Shown], Callable[..., Iterable[Row]]] = {}


def _register(known: dict[Any, Any], key: object) -> Callable[[Function], Function]:
    """Return a decorator that keeps a function under a key."""

    def register(function: Function) -> Function:
        known[key] = function
        return function

    return register


def presents(
    kind: type[Kind], *, section: Place | Callable[[Kind], Place] | None = None
) -> Callable[[Callable[[Kind], Iterable[Part]]], Callable[[Kind], Iterable[Part]]]:
    """Register the function that turns results of a class into parts, the sentence that answers first.

    Args:
        kind: the class; its subclasses are shown alike.
        section: its section in a report, if it can be part of one; a function where the title depends on the result.
    """
    if section is not None:
        _SECTIONS[kind] = section
    return _register(_PARTS, kind)


def section_of(result: Shown) -> Place | None:
    """Return the section of a report that a result belongs to, if a report can hold it."""
    section = _registered(_SECTIONS, type(result))
    place: Place | None = section(result) if callable(section) else section
    return place


def lists(kind: type[Kind]) -> Callable[[Callable[[Kind], Iterable[Row]]], Callable[[Kind], Iterable[Row]]]:
    """Register the function that turns results of a class into rows of figures, for CSV and DataFrames."""
    return _register(_RECORDS, kind)


def parts_of(result: Shown) -> list[Part]:
    """Return what people see of a result, the sentence that answers first."""
    presenter = _registered(_PARTS, type(result))
    every = presenter(result) if presenter is not None else [_plain(result)]
    return [
        part
        for part in every
        if not (isinstance(part, Notes) and not part.items) and not (isinstance(part, TablePart) and not part.columns)
    ]


def records_of(result: Shown) -> list[Row]:
    """Return the figures of a result with full precision, row by row."""
    lister = _registered(_RECORDS, type(result))
    return list(lister(result)) if lister is not None else [as_row(result)]


def in_form(result: Shown, form: str, *, full: bool = True, data: str = "", label: str = "", title: str = "bsx") -> str:
    """Return a result in a form: ``answer``, ``text``, ``csv``, ``latex``, ``markdown``, ``html`` or ``piece``.

    Args:
        result: what came out.
        form: one of them; ``answer`` is its first sentences alone, ``piece`` the HTML of a notebook.
        full: all parts; else those of the short form.
        data: what it is of, from its provenance unless given; captions begin with it.
        label: of the first LaTeX table, from the name of the class unless given; of a text, what shows the rest.
        title: heading of an HTML page.
    """
    if form == "csv":
        return _csv(records_of(result))
    every = parts_of(result)
    if form == "answer":
        return next((part.text for part in every if isinstance(part, Answer)), "")
    shown = [part for part in every if full or not part.full]
    names, signatures = origin_of(result)
    data = data or names
    if form == "text":
        return text.text(every, full=full, more=label or "--full")
    if form == "latex":
        name = type(result).__name__.removesuffix("Result").removesuffix("Run").lower()
        return latex.latex(shown, data=data, signatures=signatures, label=label or f"tab:{name}")
    if form == "markdown":
        return markdown.markdown(shown, data=data, signatures=signatures)
    if form == "html":
        below = (f"{name}: {signature}" for name, signature in signatures.items())
        return html.page(shown, title, data=data, signatures=below)
    return html.piece(shown)


def origin_of(result: Shown) -> tuple[str, Mapping[str, str]]:
    """Return what a result is of, and the signatures behind it."""
    origin = result.provenance if isinstance(result, Result) else None
    signatures: Mapping[str, str] = result.signatures if isinstance(result, Result) else {}
    names = ", ".join(file.name for file in (origin.files if origin is not None else ()))
    return names, signatures or (origin.signatures if origin is not None else {})


ENDINGS = {"text": "txt", "json": "json", "csv": "csv", "latex": "tex", "markdown": "md", "html": "html"}
"""Forms of a result in a folder -> endings of their names."""


def save(result: Result, folder: Path, name: str, *, pictures: bool = False) -> None:
    """Write a result in all forms, ``NAME.txt`` and so on, and its charts as PNG if they are wanted.

    Args:
        result: what came out.
        folder: made if it is missing.
        name: of the files.
        pictures: draw the charts too.
    """
    make_folder(folder)
    check_outputs(files_in(folder, name))
    for form, ending in ENDINGS.items():
        content = to_json(result.to_dict()) + "\n" if form == "json" else in_form(result, form, title=f"bsx {name}")
        with atomic_text(folder / f"{name}.{ending}") as stream:
            stream.write(content)
    if pictures:
        for chart in parts_of(result):
            if isinstance(chart, Chart):
                words = "".join(c if c.isalnum() or c in "-_. " else "" for c in chart.title).lower().split()
                picture(chart).save(folder / f"{'-'.join(words)}.png")


def files_in(folder: Path, name: str) -> list[Path]:
    """Return the files that `save` writes, beside pictures."""
    return [folder / f"{name}.{ending}" for ending in ENDINGS.values()]


def frame_of(result: Shown) -> pd.DataFrame:
    """Return the records of a result as a DataFrame.

    Raises:
        MissingExtraError: if pandas is missing.
    """
    rows = records_of(result)
    strings = {name for row in rows for name, value in row.items() if isinstance(value, str) and value}
    # A text may be the word nan.
    none = {name: [""] if name in strings else ["", "nan"] for row in rows for name in row}
    content = io.StringIO(_csv(rows))
    frame: pd.DataFrame = need("pandas", "to_frame").read_csv(content, keep_default_na=False, na_values=none)
    return frame


def plot(result: Shown, path: str | Path | None, chart: int | str) -> Picture:
    """Return one of the charts of a result as a picture, see `bsx.support.result.Result.plot`."""
    charts = [part for part in parts_of(result) if isinstance(part, Chart)]
    titles = [item.title for item in charts]
    if chart in titles:
        chart = titles.index(str(chart))
    if isinstance(chart, str) or not -len(charts) <= chart < len(charts):
        near = did_you_mean(str(chart), titles)
        raise UnknownNameError(f"no chart {chart!r}; there are {', '.join(titles) or 'none'}.{near}")
    made = picture(charts[chart])
    if path is not None:
        made.save(path)
    return made


def _registered(known: Mapping[type[Shown], Any], kind: type[Shown]) -> Any:
    """Return what is registered for a class, or for the nearest that it comes from."""
    for item in kind.__mro__:
        if item.__module__.startswith("bsx."):
            _load_presenters(item.__module__)
        if item in known:
            return known[item]
    return None


@functools.cache
def _load_presenters(module: str) -> None:
    """Import what shows a module's results: ``show*.py`` beside it; without any, ``scores`` and ``statistics`` here."""
    beside = sorted(Path(str(sys.modules[module].__file__)).parent.glob("show*.py"))
    package, names = module.rpartition(".")[0], [file.stem for file in beside]
    if not names:
        package, names = __name__.rpartition(".")[0], ["scores", "statistics"]
    for name in names:
        importlib.import_module(f"{package}.{name}")


def as_row(result: object, *names: str) -> dict[str, object]:
    """Return figures of a result as a row: those of its fields that are named, or all that are no tables themselves.

    An interval is two, such as ``drop_low`` and ``drop_high`` of ``drop_ci``; what is not defined is None.
    """
    row: dict[str, object] = {}
    for name, value in ((name, getattr(result, name)) for name in names or vars(result)):
        if name == "ci" or name.endswith("_ci"):
            row |= dict(zip((f"{name[:-2]}low", f"{name[:-2]}high"), as_json(value) or (None, None), strict=True))
        elif names or isinstance(value, str | int | float):
            row[name] = None if isinstance(value, float) and not math.isfinite(value) else value
    return row


def _plain(result: Shown) -> Part:
    """Return the figures of a result that no module of this room shows: a row each, with the names of their fields."""
    figures = as_row(result)
    words = [str(value) for value in figures.values() if isinstance(value, str) and value]
    about = (type(result).__doc__ or "").partition("\n")[0].rstrip(".")
    rows = [[word(name), number(value)] for name, value in figures.items() if not isinstance(value, str)]
    caption = "; ".join([about, *words])
    return table(caption, ["figure", "value"], rows) if rows else plain_table(caption, [as_json(result)])


def _csv(rows: Sequence[Row]) -> str:
    columns = list({name: None for row in rows for name in row})
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
