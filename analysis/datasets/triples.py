"""Triples of an anchor, a paraphrase and a sentence that only looks like one, with scores that others gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bsx.data import cells
from bsx.data.documents import DOCUMENTS
from bsx.data.open import open_table
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.support.checks import Array

_LONG = ("label", "sentence1", "sentence2")
_WIDE = ("anchor", "paraphrase", "nonparaphrase")


class Triple(NamedTuple):
    """Three sentences.

    Attributes:
        anchor: A, what the others are compared with.
        paraphrase: B, which means the same.
        nonparaphrase: C, which does not, though it may share more words with A.
        row: where it is in its file: the row of the anchor's first mention, from 1; 0 if it is from no file.
    """

    anchor: str
    paraphrase: str
    nonparaphrase: str
    row: int = 0


@dataclass(frozen=True)
class TripleTable:
    """Triples of a file.

    Attributes:
        triples: in the order in which their anchors first appear.
        scores: metric -> (score of the paraphrase (n,), score of the non-paraphrase (n,)); a missing one is NaN.
        notes: what a reader must know.
    """

    triples: tuple[Triple, ...]
    scores: Mapping[str, tuple[Array, Array]]
    notes: tuple[str, ...] = ()


def load_triples(path: AnyTable, metrics: Sequence[str] | None = None) -> TripleTable:
    """Load triples in either of two layouts.

    With the columns ``label sentence1 sentence2``, each row is a pair; rows that share sentence1, wherever they stand,
    are one triple: label 1 marks its paraphrase, 0 its non-paraphrase. Where an anchor has several of each, the first
    paraphrase needs the first non-paraphrase and so on. With the columns ``anchor paraphrase nonparaphrase``, each
    row is a triple and can have no scores.

    Args:
        path: the table, or one in memory.
        metrics: columns of scores; None for every other column that holds nothing but numbers and is not called id, or
            as documents are.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: naming file, row and reason where a triple lacks a member or a cell is not what it should be.
    """
    table = open_table(path)
    wide = not set(_LONG) <= set(table.columns) and set(_WIDE) <= set(table.columns)
    if wide and metrics:
        raise InputError(f"a table of {', '.join(_WIDE)} has one row for two scores: score it anew", file=table.name)
    table.require(*(_WIDE if wide else _LONG), *(metrics or ()))
    none = InputError("has a header but no rows", file=table.name)
    if wide:
        texts = ([row.text(side) for side in _WIDE] for row in table.rows())
        if not (made := tuple(Triple(a, b, c, at) for at, (a, b, c) in enumerate(texts, start=1))):
            raise none
        return TripleTable(made, {})
    if not (rows := list(table.rows())):
        raise none
    members: dict[str, tuple[list[int], list[int]]] = {}  # places of an anchor's paraphrases and non-paraphrases
    for at, row in enumerate(rows):
        anchor, _ = row.text("sentence1"), row.text("sentence2")
        members.setdefault(anchor, ([], []))[0 if row.label("label") else 1].append(at)
    for anchor, (good, bad) in members.items():
        if len(good) != len(bad):
            shown = anchor if len(anchor) <= 60 else anchor[:57] + "..."
            raise InputError(
                f"{table.name}: row {min(good + bad) + 1}: the anchor {shown!r} has {len(good)} paraphrases (label 1) "
                f"and {len(bad)} non-paraphrases (label 0); each triple needs one of both, with the same sentence1"
            )
    pairs = [pair for sides in members.values() for pair in zip(*sides, strict=True)]
    names, notes = list(metrics or ()), list[str]()
    if metrics is None:
        columns = [name for name in table.columns if name not in (*_LONG, *DOCUMENTS) and name.lower() != "id"]
        names = [name for name in columns if cells.as_numbers(row[name] for row in rows) is not None]
        if others := [name for name in columns if name not in names]:
            notes = [f"{table.name}: columns without numbers are not taken for metrics: {', '.join(others)}"]
    triples = [
        Triple(row.text("sentence1"), row.text("sentence2"), rows[other].text("sentence2"), min(place, other) + 1)
        for place, other in pairs
        if (row := rows[place])
    ]
    first, second = map(list, zip(*pairs, strict=True))
    scores = {}
    for name in names:
        column = np.array([row.number(name) for row in rows])
        scores[name] = column[first], column[second]
    return TripleTable(tuple(triples), scores, tuple(notes))
