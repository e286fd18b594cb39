"""What a card is made from: rows to score, judged segments, labelled pairs, triples and challenge sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from bsx.analysis.datasets.challenge import ChallengeSet
from bsx.analysis.datasets.triples import TripleTable
from bsx.support.checks import Array

Kind = Literal["judged", "pairs", "triples", "challenge"]


@dataclass(frozen=True, eq=False)
class RowTexts:
    """Rows to score, all in one language.

    Attributes:
        candidates: n texts; None if the table holds none.
        references: n lists of texts, or None.
        sources: n texts, or None.
    """

    candidates: list[str] | None = None
    references: Sequence[tuple[str, ...]] | None = None
    sources: list[str] | None = None

    @property
    def has(self) -> frozenset[str]:
        """What there is."""
        sides = {"candidate": self.candidates, "reference": self.references, "source": self.sources}
        return frozenset(name for name, texts in sides.items() if texts is not None)

    def at(self, rows: Sequence[int]) -> RowTexts:
        """Return some rows."""
        return RowTexts(
            None if self.candidates is None else [self.candidates[i] for i in rows],
            None if self.references is None else [self.references[i] for i in rows],
            None if self.sources is None else [self.sources[i] for i in rows],
        )

    def __len__(self) -> int:
        return 0 if self.candidates is None else len(self.candidates)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Segments, with human scores if there are any, in one language.

    Attributes:
        texts: the rows.
        human: (n,), or None.
        group: language pair of each row.
        system: system of each row, or None.
        segment: segment of each row; None if each row is one.
        columns: the table's other columns (n cells each).
    """

    texts: RowTexts
    human: Array | None
    group: list[str]
    system: list[str] | None
    segment: list[str] | None
    columns: Mapping[str, list[object]]

    def __len__(self) -> int:
        return len(self.group)

    def at(self, rows: Sequence[int]) -> JudgedRows:
        """Return some rows."""
        return JudgedRows(
            self.texts.at(rows),
            None if self.human is None else self.human[list(rows)],
            [self.group[i] for i in rows],
            None if self.system is None else [self.system[i] for i in rows],
            None if self.segment is None else [self.segment[i] for i in rows],
            {name: [cells[i] for i in rows] for name, cells in self.columns.items()},
        )


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Labelled pairs: the second sentence is the candidate, the first what it is compared with.

    Attributes:
        texts: the rows.
        labels: 1 for a paraphrase (n,).
        columns: published scores, by name.
        notes: what a reader must know.
    """

    texts: RowTexts
    labels: Array
    columns: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def at(self, rows: Sequence[int]) -> LabelledPairs:
        """Return some rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return LabelledPairs(self.texts.at(rows), self.labels[rows], columns, self.notes)


@dataclass(frozen=True, eq=False)
class DataSet:
    """One table, or one language of it.

    Attributes:
        name: the file's name.
        kind: what it holds.
        lang: language of the texts.
        sha256: digest of the file.
        content: what was read, by kind.
        n: rows.
        examples: whether it is one of the shipped examples.
        notes: what a reader must know.
        path: the file.
    """

    name: str
    kind: Kind
    lang: str
    sha256: str
    content: JudgedRows | TripleTable | ChallengeSet | LabelledPairs
    n: int
    examples: bool = False
    notes: tuple[str, ...] = ()
    path: Path | None = None

    def limited(self, limit: int | None, seed: int) -> DataSet:
        """Return at most so many rows, drawn at random and left in their order.

        Where systems translated the same segments, whole segments are drawn: systems are compared on those they share.
        """
        if limit is None or self.n <= limit:
            return self
        draw = np.random.default_rng(seed)
        rows, what = sorted(draw.choice(self.n, limit, replace=False).tolist()), "rows"
        if isinstance(self.content, JudgedRows) and self.content.segment is not None:
            units = list(zip(self.content.group, self.content.segment, strict=True))
            sizes = Counter(units)
            if len(sizes) < 0.8 * self.n and min(sizes.values()) <= limit:
                order = list(sizes)
                kept, left = set(), limit
                for unit in (order[place] for place in draw.permutation(len(order))):
                    if sizes[unit] <= left:
                        kept.add(unit)
                        left -= sizes[unit]
                rows, what = [row for row, unit in enumerate(units) if unit in kept], "rows, whole segments"
        note = f"{len(rows)} of {self.n} {what}, drawn at random (limit={limit}, seed {seed})"
        return replace(self, content=self.content.at(rows), n=len(rows), notes=(*self.notes, note))
