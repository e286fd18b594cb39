"""Rows with texts and human scores: what layers are chosen by, and what metrics of one's own are trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.data.frame import PAIR
from bsx.data.long import ColumnName, find_columns
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
    """

    texts: RowTexts
    human: Array
    groups: list[str]
    names: list[str]
    notes: list[str]


def read_judged(
    tables: Sequence[AnyTable], settings: JudgedTexts, code: str | None, group: str | None = None, *, apart: bool = True
) -> Judged:
    """Read tables; rows of a column ``lp`` into another language are left out, with a note.

    Args:
        tables: the tables.
        settings: what their columns of texts and ``human`` scores are called.
        code: the language; None takes the rows of all.
        group: column of groups; ``lp``, where it is there, unless given.
        apart: groups of several tables are not the same, whatever they are called.

    Raises:
        InputError: naming file and line of what is wrong, or if nothing is left.
    """
    candidates, references, human, groups = list[str](), list[Sequence[str]](), list[list[float]](), list[str]()
    names, notes = list[str](), list[str]()
    asked = {role: getattr(settings, role) for role in ("candidate", "reference", "human")}
    for place, table in enumerate(map(open_table, tables), start=1):
        columns = find_columns(table.columns, asked, *asked)
        candidate, reference = (next(iter(columns[role]), role) for role in ("candidate", "reference"))
        scores = columns["human"] or ["human"]
        by = group if group is not None else table.first(PAIR)
        wanted = [candidate, reference, *scores, *([] if by is None else [by])]
        table.require(*wanted)
        names.append(f"table {place}" if table.name == IN_MEMORY and len(tables) > 1 else Path(table.name).stem)
        skipped, row = Counter[str](), None
        for row in table.rows(*wanted, only=True):
            label = "all" if by is None else row.name(by)
            if by == PAIR and code is not None and label.rpartition("-")[2] != code:
                skipped[label] += 1
                continue
            human.append([row.number(name) for name in scores])
            if np.isnan(human[-1]).all():
                raise InputError(f"{row.where} has no human score in {', '.join(scores)}; every row needs one")
            candidates.append(row.text(candidate))
            references.append(tuple(row.texts(reference) if row[reference] else [row.text(reference)]))
            groups.append(f"{names[-1]}:{label}" if apart and len(tables) > 1 else label)
        if row is None:
            raise InputError("has a header but no rows", file=table.name)
        refuse_alike([*skipped, *groups], f"{table.name}, column {by!r}")
        if skipped:
            pairs = ", ".join(f"{count} of {label}" for label, count in skipped.items())
            notes.append(f"{table.name}: left out rows that are not into {code}: {pairs}")
    if not human:
        raise InputError(f"{', '.join(names)}: there is no row that goes into {code}")
    return Judged(RowTexts(candidates, references), np.array(human, dtype=np.float64), groups, names, notes)
