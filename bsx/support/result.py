"""What an operation returns: data, stored as JSON and read back; `analysis.present` shows it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from bsx.errors import InputError
from bsx.support.faces import presenter
from bsx.support.provenance import Provenance
from bsx.support.untyped import JsonObject, Untyped

if TYPE_CHECKING:
    import pandas as pd


def null_means(meaning: float) -> BeforeValidator:
    """Return what reads null in JSON as a number that JSON has no word for."""
    return BeforeValidator(lambda value: meaning if value is None else value)


Number = Annotated[float, null_means(math.nan)]
"""A number; NaN, null in JSON, where it is not defined."""
Endless = Annotated[float, null_means(math.inf)]
"""A number that may be infinite, which is null in JSON."""
Interval = tuple[Number, Number]
"""Lower and upper end."""


@dataclass(frozen=True)
class Notice:
    """Something to know before the figures are believed; the presenter of a result words it.

    Attributes:
        name: which one, such as ``collinearity``.
        about: the metric, factor, group or file that it is about; empty if it is about everything.
        values: what was found, by name.
    """

    name: str
    about: str = ""
    values: dict[str, Any] = field(default_factory=dict)


class Shown:
    """A dataclass that `analysis.present` shows: as text, Markdown, LaTeX, HTML, CSV, a DataFrame and pictures."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "forbid"}

    def to_dict(self) -> JsonObject:
        """Return what JSON holds, without fields that have their default; a number that is not finite becomes None."""
        content: JsonObject = as_json(self)
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> Self:
        """Return the result that `to_dict` gave.

        Raises:
            InputError: naming the first key that is missing, malformed or unknown.
        """
        try:
            result: Self = _reader(cls).validate_python(content)  # type: ignore[arg-type] # classes are hashable
        except ValidationError as error:
            first = error.errors()[0]
            wrong = f"{first['msg'].lower()}, not {first['input']!r:.60}"
            why = {"missing": "is missing", "unexpected_keyword_argument": "is no key of this result"}
            raise InputError(f"{'.'.join(map(str, first['loc']))}: {why.get(first['type'], wrong)}") from error
        return result

    @property
    def answer(self) -> str:
        """The sentences that answer the question, which its text begins with; empty if it has none."""
        return presenter().in_form(self, "answer")

    def to_text(self, *, full: bool = False) -> str:
        """Return it for a terminal: the finding first, then the tables that support it.

        Args:
            full: every table, instead of those of the short form.
        """
        return presenter().in_form(self, "text", full=full, label="summary()")

    def summary(self) -> str:
        """Return the whole of its text, with every table; ``print(result)`` has those that answer."""
        return self.to_text(full=True)

    @property
    def estimates(self) -> list[dict[str, object]]:
        """Its figures with full precision, row by row, as `to_csv` and `to_frame` give them."""
        return [dict(row) for row in presenter().records_of(self)]

    def to_markdown(self, *, data: str = "", full: bool = True) -> str:
        """Return it as Markdown.

        Args:
            data: what it is of; captions begin with it.
            full: every table, instead of those of the short form.
        """
        return presenter().in_form(self, "markdown", full=full, data=data)

    def to_latex(self, *, data: str = "", label: str = "", full: bool = True) -> str:
        """Return its tables as LaTeX for a paper: floating, with captions; they need the package booktabs.

        Args:
            data: what they are of; captions begin with it.
            label: for references to the first table; from the name of the class unless given.
            full: every table, instead of those of the short form.
        """
        return presenter().in_form(self, "latex", full=full, data=data, label=label)

    def to_html(self, *, full: bool = False) -> str:
        """Return it as a piece of HTML, in the look of reports."""
        return presenter().in_form(self, "piece", full=full)

    def to_csv(self) -> str:
        """Return its figures with full precision, row by row."""
        return presenter().in_form(self, "csv")

    def to_frame(self) -> pd.DataFrame:
        """Return what `to_csv` holds as a DataFrame.

        Raises:
            MissingExtraError: if pandas is missing.
        """
        return presenter().frame_of(self)

    def plot(self, path: str | Path | None = None, *, chart: int | str = 0) -> Untyped:
        """Draw one of its charts, and write the picture if a path is given.

        Args:
            path: .png, .svg or .pdf.
            chart: which, by place or title.

        Returns:
            The picture, which notebooks show.

        Raises:
            InputError: for another format, an unwritable place, or a result without such a chart.
            MissingExtraError: if vl-convert is missing.
        """
        return presenter().plot(self, path, chart)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        every = fields(self)  # type: ignore[arg-type] # subclasses are
        pairs = ((item.name, getattr(self, item.name)) for item in every if item.name != "notes")
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs if _short(value))})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Shown):
    """What every result is: a frozen dataclass of numbers, texts and parts that are dataclasses too; no arrays of rows.

    JSON leaves out a field that has its default. Subclasses that a command stores name their ``kind``.

    Attributes:
        settings: what it was computed with, where the JSON is to say so.
        signatures: metric -> signature, where known.
        notes: what a reader should know of the rows.
        provenance: where it comes from; None of what has not been stored.
    """

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Result]]] = {}

    settings: dict[str, Any] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __init_subclass__(cls, **more: object) -> None:
        """Know the class by its kind, if it has one of its own."""
        super().__init_subclass__(**more)
        if "kind" in vars(cls):
            cls.kinds[cls.kind] = cls

    def to_dict(self) -> JsonObject:
        """Return what JSON holds, settings, notes and provenance last; a number that is not finite becomes None."""
        content = super().to_dict()
        last = {item.name: content.pop(item.name) for item in fields(Result) if item.name in content}
        return content | last


def _short(value: object) -> bool:
    """Tell whether a value has a place in the short form of a result."""
    if isinstance(value, tuple):
        return 0 < len(value) <= 12 and all(isinstance(item, str) for item in value)
    return isinstance(value, str | int | float) and value != ""


def as_json(value: object) -> Any:
    """Return a value as JSON holds it: dataclasses without the fields that have their default, null for NaN."""
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((item, getattr(value, item.name)) for item in fields(value))
        return {item.name: as_json(content) for item, content in pairs if not _is_default(item, content)}
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | int):
        return value
    return as_json(value.tolist())  # type: ignore[attr-defined] # a number or an array of NumPy


def _is_default(item: Any, value: object) -> bool:
    if item.default_factory is not MISSING:
        return bool(value == item.default_factory())
    return item.default is not MISSING and (value is item.default or bool(value == item.default))


_reader = functools.cache(TypeAdapter)
