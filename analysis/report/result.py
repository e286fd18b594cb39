"""A report and its ways out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bsx.analysis.present.markdown import page as markdown
from bsx.analysis.present.parts import Page
from bsx.analysis.report.html import page
from bsx.data.output import atomic_text
from bsx.errors import InputError


@dataclass(frozen=True)
class Report(Page):
    """A report, to be written as HTML or Markdown; see `bsx.analysis.present.parts.Page` for what it holds."""

    def to_html(self) -> str:
        """Return one page that needs nothing but itself.

        Raises:
            MissingExtraError: if the packages of the extra ``report`` are missing.
        """
        return page(self)

    def to_markdown(self) -> str:
        """Return the same content without charts, and of long tables of segments only the first rows."""
        return markdown(self)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the report; the file appears when it is complete.

        Args:
            path: .html or .md.
            format: ``html`` or ``markdown``, for names that do not say it.

        Raises:
            InputError: for another ending without a format, or an unwritable place.
        """
        chosen = which_format(Path(path), format)
        content = self.to_html() if chosen == "html" else self.to_markdown()
        with atomic_text(Path(path)) as stream:
            stream.write(content)


SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}


def which_format(path: Path, format: str | None) -> str:
    """Return the format of a file, by its name unless it is said.

    Raises:
        InputError: if the name does not say.
    """
    if format is not None:
        return format
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("cannot tell the format; the name must end in .html or .md, or say format", file=path)
    return SUFFIXES[path.suffix.lower()]
