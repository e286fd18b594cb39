"""Pictures by matplotlib: which formats there are, the figure, and the file that appears when it is complete."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.data.output import atomic_path
from bsx.data.run import check_output
from bsx.errors import InputError
from bsx.support.optional import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
_DPI = 150
_DPI_SHOWN = 90  # in notebooks
_MOST_PIXELS = 64_000_000  # which take half a GiB while they are drawn
# Okabe & Ito 2008: told apart by colour-blind readers too.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000")


def check_picture(path: Path, formats: Sequence[str] = PICTURES) -> None:
    """Raise InputError unless the file's name says a format that can be drawn and it can be written there.

    Args:
        path: of the picture.
        formats: suffixes that are allowed.
    """
    if path.suffix not in formats:
        raise InputError(f"{path}: cannot draw this format; the name must end in {', '.join(formats)}")
    check_output(path)


@contextlib.contextmanager
def picture(path: str | Path | None, width: float, height: float, *, about: str = "") -> Iterator[Figure]:
    """Yield an empty figure that is saved at the end, complete or not at all; equal figures become equal files.

    Args:
        path: .png, .svg or .pdf; None: it is not saved, for notebooks show it.
        width: in inches.
        height: in inches.
        about: a description to keep inside the file.

    Raises:
        InputError: for another format or an unwritable place.
        MissingExtraError: if matplotlib is missing.
    """
    path = None if path is None else Path(path)
    if path is not None:
        check_picture(path)
    pixels = width * height * _DPI**2
    if not pixels <= _MOST_PIXELS:
        raise InputError(
            f"{path or 'plot'}: the picture would have {pixels / 1e6:,.0f} million pixels, and at most "
            f"{_MOST_PIXELS / 1e6:.0f} are drawn: show less in it"
        )
    need("matplotlib", "drawing")
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _figure_class()(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    if path is None:
        return
    # Without these, the hour and random identifiers would stand in the file.
    kept: dict[str, str | None] = (
        {} if path.suffix == ".png" else {"Date" if path.suffix == ".svg" else "CreationDate": None}
    )
    if about:
        kept["Subject" if path.suffix == ".pdf" else "Description"] = about
    with atomic_path(path) as temporary, rc_context({"svg.hashsalt": "bsx"}):
        figure.savefig(temporary, format=path.suffix[1:], dpi=_DPI, metadata=kept)


@functools.cache
def _figure_class() -> type[Figure]:
    """Return matplotlib's figure, which notebooks can show although it is none of pyplot's."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=_DPI_SHOWN)
            return stream.getvalue()

    Shown.__name__ = Shown.__qualname__ = "Figure"
    return Shown


def label(text: str) -> str:
    """Return a text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")
