"""Which edits aim at which factor, the minimal pairs that they make and what they cost, and the table of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bsx.analysis.perturbations.perturb import PERTURBATIONS, Perturbed
from bsx.data.output import ScoreTable
from bsx.support.checks import Array

_ORDER = ("sem", "syn", "lex", "mor", "surface")
AIMS = {name: edit.aim for aim in _ORDER for name, edit in PERTURBATIONS.items() if edit.aim == aim}
"""Edit, a perturbation by name -> what it aims at: a factor, or ``surface`` for writing alone."""

SURFACE = "surface"
STRENGTH = 0.1  # share of words that typing errors and commas change: about two of twenty, as edits are to be small


@dataclass(frozen=True, eq=False)
class Versions:
    """n references, the n texts that are edited, the n candidates if there are any, and what each edit made."""

    references: Sequence[str]
    texts: Sequence[str]
    written: Sequence[str] | None
    made: Sequence[Perturbed]


@dataclass(frozen=True, eq=False)
class EditScores:
    """What a metric makes of texts as they come and after each edit.

    Attributes:
        name: of the metric.
        written: scores of the candidates (n,); None without candidates.
        falls: of each edit, how far each text's score fell (n,); NaN where the text did not change.
        rounding: falls up to here are none.
        ignores_case: whether scores stay when texts are written in small letters; None where it was not asked, or no
            text has capitals.
    """

    name: str  # of the metric
    written: Array | None  # scores of the candidates (n,)
    falls: list[Array]  # of each edit, how far each text's score fell (n,); NaN where the text did not change
    rounding: float  # falls up to here are none
    ignores_case: bool | None  # whether small letters leave scores as they are; None: not asked, or no capitals


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
    with ScoreTable(path) as table:
        for pair in pairs:
            cells: dict[str, object] = {name: getattr(pair, name) for name in PAIR_COLUMNS}
            cells |= {n: v for n, v in (rows[pair.row - 1] if rows else {}).items() if n not in cells}
            cells |= {f"fall of {name}": value for name, value in pair.changes.items()}
            cells |= {f"fall of {name}": value for name, value in pair.falls.items()}
            table.write(cells)
