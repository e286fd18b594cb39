"""Rows with texts and human scores: what layers are chosen by, and what metrics of one's own are trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.data.frame import PAIR, Frame
from bsx.data.long import USUAL, ColumnName, find_columns
from bsx.data.open import open_table
from bsx.data.pairing import refuse_alike
from bsx.data.seen import RowTexts
from bsx.data.sources import IN_MEMORY, AnyTable
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.settings import BaseSettings

LANG = "Language of the texts; rows of a column lp into another are left out."


class JudgedTexts(BaseSettings):
    """Columns of texts that humans judged."""

    panel = "Texts"

    candidate: Annotated[ColumnName, Field(description="Column of candidates. [candidate]")] = None
    reference: Annotated[ColumnName, Field(description="Column of references. [reference]")] = None


@dataclass(frozen=True, eq=False)
class Judged:
    """Human-judged rows of several tables.

    Attributes:
        texts: a candidate and its references a row.
        human: human scores (rows, columns of them), NaN where a cell is blank; no row without any.
        groups: group of each row, ``all`` without a column of them.
        names: the tables' names.
        notes: what was left out.
        frames: the rows of each table, with the column of its groups.
    """

    texts: RowTexts
    human: Array
    groups: list[str]
    names: list[str]
    notes: list[str]
    frames: list[tuple[Frame, str | None]]

    def units(self) -> tuple[list[str], str]:
        """Return what each row is drawn with (rows,), its document or else its segment, and what these are called.

        Columns are found by their usual names; without one, rows with the same references and source are one segment.
        """
        labels, called = list[str](), dict[str, None]()
        for frame, by in self.frames:
            named = [frame.column(role) for role in ("system", "segment", "document", "human")]
            columns = [*filter(None, [*named, by]), *([PAIR] if PAIR in frame.table.columns else [])]
            unit = frame.unit(frame.read([], keys=columns), group=by)
            column = unit.document or unit.segment
            called |= {"segments" if unit.document is None else "documents": None}
            names = unit.values[column] if column is not None else [""] * len(unit.values[columns[0]])
            labels += [str(name) or f"\0{row}" for row, name in enumerate(names, start=len(labels))]
        return labels, " and ".join(called)


def read_judged(
    tables: Sequence[AnyTable],
    settings: JudgedTexts,
    code: str | None,
    group: str | None = None,
    *,
    separate: bool = True,
) -> Judged:
    """Read tables; rows of a column ``lp`` into another language are left out, with a note.

    Args:
        tables: the tables.
        settings: what their columns of texts and ``human`` scores are called.
        code: the language; None takes the rows of all.
        group: column of groups; ``lp``, where it is there, unless given.
        separate: groups of several tables are not the same, whatever they are called.
    """
    candidates, references, human, groups = list[str](), list[Sequence[str]](), list[list[float]](), list[str]()
    names, notes, frames = list[str](), list[str](), list[tuple[Frame, str | None]]()
    asked = {role: getattr(settings, role) for role in ("candidate", "reference", "human")}
    for place, table in enumerate(map(open_table, tables), start=1):
        columns = find_columns(table.columns, asked, *asked)
        candidate, reference = (next(iter(columns[role]), role) for role in ("candidate", "reference"))
        scores = columns["human"] or ["human"]
        by = group if group is not None else table.first(PAIR)
        wanted = [candidate, reference, *scores, *([] if by is None else [by])]
        table.require(*wanted)
        names.append(f"table {place}" if table.name == IN_MEMORY and len(tables) > 1 else Path(table.name).stem)
        skipped, row, kept = Counter[str](), None, list[int]()
        for number, row in enumerate(table.rows(*wanted, only=True)):
            label = "all" if by is None else row.name(by)
            if by == PAIR and code is not None and label.rpartition("-")[2] != code:
                skipped[label] += 1
                continue
            human.append([row.number(name) for name in scores])
            if np.isnan(human[-1]).all():
                raise InputError(f"{row.where} has no human score in {', '.join(scores)}; every row needs one")
            kept.append(number)
            candidates.append(row.text(candidate))
            references.append(tuple(row.texts(reference) if row[reference] else [row.text(reference)]))
            groups.append(f"{names[-1]}:{label}" if separate and len(tables) > 1 else label)
        if row is None:
            raise InputError("has a header but no rows", file=table.name)
        refuse_alike([*skipped, *groups], f"{table.name}, column {by!r}")
        roles = find_columns(table.columns, {**asked, "human": scores, "reference": reference}, *USUAL)
        frames += [(Frame(table, roles).only(kept), by)] if kept else []
        if skipped:
            pairs = ", ".join(f"{count} of {label}" for label, count in skipped.items())
            notes.append(f"{table.name}: left out rows that are not into {code}: {pairs}")
    if not human:
        raise InputError(f"{', '.join(names)}: there is no row that goes into {code}")
    return Judged(RowTexts(candidates, references), np.array(human, dtype=np.float64), groups, names, notes, frames)
