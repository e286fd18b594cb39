"""What every result of Python is: short by name, a table in notebooks and papers, a DataFrame, and a picture."""

from __future__ import annotations

import inspect
import io
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bsx.analysis.render.html import html_piece
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet, latex_tables, markdown_tables
from bsx.analysis.render.tables import csv_table
from bsx.support.optional import need

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


Drawn = Mapping[str, "tuple[str, str] | None"]
"""Fields that are drawn, each with the fields that are the ends of its interval, if there are such."""


class InNotebooks:
    """A result that is shown by its `sheets`, read by its `records` and drawn by its `plot`."""

    @property
    @abstractmethod
    def short(self) -> str:
        """What it is about, in a few words."""

    @abstractmethod
    def sheets(self) -> Sequence[Sheet]:
        """Return its tables, the first one first."""

    @abstractmethod
    def records(self) -> Sequence[Mapping[str, object]]:
        """Return its figures with full precision, row by row."""

    @abstractmethod
    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw it, and write the picture if a path is given.

        Args:
            path: .png, .svg or .pdf.

        Returns:
            The figure, which notebooks show.

        Raises:
            InputError: for another format or an unwritable place.
            MissingExtraError: if matplotlib is missing.
        """

    def to_text(self) -> str:
        """Return its tables for a terminal."""
        return "\n\n".join(sheet.to_text() for sheet in self.sheets())

    def to_markdown(self, *, data: str = "", signatures: Mapping[str, str] | None = None) -> str:
        """Return its tables as Markdown.

        Args:
            data: what they are of; captions begin with it.
            signatures: metric -> signature, to stand below.
        """
        return markdown_tables(self.sheets(), data=data, signatures=signatures)

    def to_latex(self, *, data: str = "", signatures: Mapping[str, str] | None = None, label: str = "") -> str:
        """Return its tables as LaTeX for a paper: floating, with captions; they need the package booktabs.

        Args:
            data: what they are of; captions begin with it.
            signatures: metric -> signature, to stand below in small print.
            label: for references to the first table; from the name of the class unless given.
        """
        return latex_tables(self.sheets(), data=data, signatures=signatures, label=label or self._label())

    def to_csv(self) -> str:
        """Return `records` as CSV."""
        rows = self.records()
        columns = list({name: None for row in rows for name in row})
        return csv_table([columns, *([_blank(row.get(name)) for name in columns] for row in rows)])

    def charts(self) -> Mapping[str, str]:
        """Return charts for a page of its own, see `bsx.analysis.render.html.html_page`: caption -> SVG element."""
        return {}

    def to_html(self) -> str:
        """Return its tables as a piece of HTML, in the look of reports."""
        return html_piece(self.to_markdown())

    def to_pandas(self) -> pd.DataFrame:
        """Return what `to_csv` holds as a DataFrame.

        Raises:
            MissingExtraError: if pandas is missing.
        """
        frame: pd.DataFrame = need("pandas", "to_pandas").read_csv(io.StringIO(self.to_csv()))
        return frame

    def _label(self) -> str:
        return f"tab:{type(self).__name__.removesuffix('Result').removesuffix('Run').lower()}"

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.short})"


class FewNumbers(InNotebooks):
    """A result that is one row of figures: the fields of a dataclass, of which mappings and arrays are left out."""

    DRAWN: ClassVar[Drawn]

    @property
    def short(self) -> str:
        """Its figures."""
        return ", ".join(f"{name}={value}" for name, value in self.records()[0].items())

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return its figures as one row."""
        return [{name: value for name, value in vars(self).items() if isinstance(value, str | int | float)}]

    def sheets(self) -> Sequence[Sheet]:
        """Return a row a figure, with the names of their fields."""
        words = {name: value for name, value in self.records()[0].items() if isinstance(value, str)}
        rows = [[name, _shown(value)] for name, value in self.records()[0].items() if name not in words]
        about = inspect.cleandoc(type(self).__doc__ or "").partition("\n")[0].rstrip(".")
        return [Sheet("; ".join(filter(None, [about, *map(str, words.values())])), ["figure", "value"], rows)]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw its main figures, with intervals where they have some."""
        dots = []
        for name, between in self.DRAWN.items():
            low, high = (getattr(self, end) for end in between) if between is not None else (None, None)
            dots.append(Dot(name, getattr(self, name), low, high))
        return draw_dots({"": dots}, "; ".join(self.DRAWN), path)


def _shown(value: object) -> str:
    if not isinstance(value, float) or value.is_integer():
        return str(int(value) if isinstance(value, float) else value)
    return "-" if math.isnan(value) else f"{value:.4g}"


def _blank(value: object) -> object:
    return "" if value is None else value
