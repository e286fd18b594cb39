"""Every text beside its edited form: what the edit moved, and how far scores fell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PAIR_COLUMNS = ("row", "edit", "aim", "reference", "original", "edited")
"""The columns of the table of pairs, before those of factors and metrics."""


@dataclass(frozen=True)
class EditedText:
    """A text and its edited form.

    Attributes:
        edit: name of the perturbation.
        aim: factor that it is for, or ``surface``.
        row: number of the text, from 1.
        reference: what it is compared with.
        original: the text.
        edited: the same after the edit.
        changes: factor -> how far it fell, in its own units.
        falls: metric -> how far its score fell; NaN where it has none.
    """

    edit: str
    aim: str
    row: int
    reference: str
    original: str
    edited: str
    changes: dict[str, float]
    falls: dict[str, float]


def save_pairs(pairs: Sequence[EditedText], path: Path, rows: Sequence[Mapping[str, object]] = ()) -> None:
    """Write minimal pairs with what they moved and what that cost: .tsv, .csv, .jsonl or .parquet.

    Args:
        pairs: from `bsx.analysis.intervene`, by its argument ``keep``.
        path: the table.
        rows: further columns of each text that was edited; none may be called as one of the table's own.
    """
    from bsx.data.output import ScoreTable

    with ScoreTable(path) as table:
        for pair in pairs:
            cells: dict[str, object] = {name: getattr(pair, name) for name in PAIR_COLUMNS}
            cells |= {n: v for n, v in (rows[pair.row - 1] if rows else {}).items() if n not in cells}
            cells |= {f"fall of {name}": value for name, value in pair.changes.items()}
            cells |= {f"fall of {name}": value for name, value in pair.falls.items()}
            table.write(cells)
