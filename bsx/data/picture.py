"""Files of pictures: which formats there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.data.run import check_output
from bsx.errors import InputError

PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path, formats: Sequence[str] = PICTURES) -> None:
    """Raise InputError unless the file's name says a format that can be drawn and it can be written there.

    Args:
        path: of the picture.
        formats: suffixes that are allowed.
    """
    if path.suffix not in formats:
        raise InputError(f"{path}: cannot draw this format; the name must end in {', '.join(formats)}")
    check_output(path)
