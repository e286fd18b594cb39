"""Opening a file of one of the formats of this folder."""

from __future__ import annotations

from bsx.data.formats.source import SHEETS, XLIFF, RowSource
from bsx.data.lines import NamedFile
from bsx.errors import InputError


def open_source(kind: str, file: NamedFile) -> RowSource:
    """Open a file of one of the formats `OFFICE`.

    Raises:
        InputError: if it is none, or holds nothing.
        MissingExtraError: if what reads it is not installed.
    """
    if kind in SHEETS:
        from bsx.data.formats.xlsx import Sheet

        return Sheet(file)
    if file.sheet is not None:
        raise InputError("only spreadsheets (.xlsx) have sheets to name after a #", file=file.name)
    if kind in XLIFF:
        from bsx.data.formats.xliff import Xliff

        return Xliff(file)
    from bsx.data.formats.tmx import Memory

    return Memory(file)
