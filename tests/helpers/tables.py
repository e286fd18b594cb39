"""Tables of tab-separated values, as tests hand them in and read what comes out."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a table; nothing in it is quoted."""
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def write_rows(file: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Write rows of the same columns; return the file."""
    return write_lines(file, [rows[0].keys(), *(row.values() for row in rows)])


def write_columns(file: Path, columns: Mapping[str, Iterable[object]]) -> Path:
    """Write columns of the same length; return the file."""
    return write_lines(file, [columns, *zip(*columns.values(), strict=True)])


def write_plain(file: Path, *lines: str) -> Path:
    """Write lines as they are; return the file."""
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return file


def write_lines(file: Path, lines: Iterable[Iterable[object]]) -> Path:
    """Write lines of cells, the first with the names; return the file."""
    file.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    return file
