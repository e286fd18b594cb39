"""Columns of texts that nobody named and that have no usual name: what they are called, and what they hold."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TypeVar

from bsx.data.cells import is_missing, spelled
from bsx.data.long import USUAL, find_columns
from bsx.data.naming import role_of
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.frames.settings import TableSettings

Asked = TypeVar("Asked", bound=TableSettings)
_ROWS = 200  # by which a column of texts is known


def with_guesses(settings: Asked, table: Table) -> Asked:
    """Return settings that name columns of candidates and references, and of several systems what goes with them.

    References are columns of texts whose names say so, candidates those that have no usual name; with several of these,
    human scores are ``SYSTEM_human``. What the user named stays. InputError if there are no references and no sources,
    or no candidates.
    """
    columns = ", ".join(table.columns)
    roles = ("system", "segment", "document", "candidate", "reference", "source")
    guessed = find_columns(table.columns, {name: getattr(settings, name) for name in roles}, *roles)
    if not getattr(settings, "reference", ()) and "reference" not in guessed["reference"]:
        guessed["reference"] = _text_columns(table, guessed["reference"], repeated=True)
    if not (guessed["reference"] or guessed["source"]):
        raise InputError(
            f"no references and no sources: reference or source names the column; it has {columns}", file=table.name
        )
    if not guessed["candidate"]:
        taken = {
            name for names in (*guessed.values(), *USUAL.values(), getattr(settings, "human", ())) for name in names
        }
        others = [name for name in table.columns if name not in taken and role_of(name) in (None, "candidate")]
        guessed["candidate"] = _text_columns(table, others)
    if not guessed["candidate"]:
        raise InputError(f"no column of candidates is found: candidate names them; it has {columns}", file=table.name)
    made: dict[str, object] = {name: guessed[name] for name in ("candidate", "reference")}
    if len(guessed["candidate"]) > 1:
        made["segment"] = next(iter(guessed["segment"]), None)
        made["human"] = getattr(settings, "human", ()) or [
            name for name in (f"{system}_human" for system in guessed["candidate"]) if name in table.columns
        ]
    return settings.model_copy(update=made)


def _text_columns(table: Table, columns: Sequence[str], *, repeated: bool = False) -> list[str]:
    """Return the columns that hold texts: not numbers, most of them different unless they may be repeated."""
    cells: dict[str, list[str]] = {name: [] for name in columns}
    for _, row in zip(range(_ROWS), table.rows(*columns, only=True) if columns else (), strict=False):
        for name in columns:
            cells[name].append("" if is_missing(row[name]) else spelled(row[name]))

    return [
        name
        for name, texts in cells.items()
        if (repeated or len({*texts}) > len(texts) / 2) and sum(map(_is_number, texts)) < len(texts) / 2
    ]


def _is_number(text: str) -> bool:
    with contextlib.suppress(ValueError):
        float(text)
        return True
    return False
