"""What a result is in a notebook: a short name, a table, a DataFrame."""

from __future__ import annotations

import io
from abc import abstractmethod
from typing import TYPE_CHECKING

from bsx.analysis.render.html import html_table
from bsx.support.optional import need

if TYPE_CHECKING:
    import pandas as pd


class InNotebooks:
    """A result that is shown as its Markdown tables and read as its CSV."""

    @abstractmethod
    def to_markdown(self) -> str:
        """Return it as Markdown."""

    @abstractmethod
    def to_csv(self) -> str:
        """Return it as CSV."""

    @property
    @abstractmethod
    def short(self) -> str:
        """What it is about, in a few words."""

    def to_html(self) -> str:
        """Return its tables as a piece of HTML, which takes the look of the page that it stands in."""
        return html_table(self.to_markdown())

    def to_pandas(self) -> pd.DataFrame:
        """Return what `to_csv` holds as a DataFrame.

        Raises:
            MissingExtraError: if pandas is missing.
        """
        frame: pd.DataFrame = need("pandas", "to_pandas").read_csv(io.StringIO(self.to_csv()))
        return frame

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.short})"
