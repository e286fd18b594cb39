"""Lists of candidates for the same segment, as decoders write them: tables with a row a candidate, or Moses' format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bsx.data.cells import finite
from bsx.data.lines import NamedFile, Problems
from bsx.data.long import SEGMENTS
from bsx.data.pairing import printed, refuse_alike
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import InputError

_BARS = "|||"


@dataclass(frozen=True)
class NBest:
    """The candidates for one segment.

    Attributes:
        id: what the segment is called.
        texts: the candidates, in the order of the list; the same text may stand there several times.
        scores: the model's score of each, higher is better; None if there are none.
        weights: how much each counts where others are compared with it; None if there are none.
        source: the source text; None if there is none.
        where: place of the first row, for messages.
    """

    id: str
    texts: list[str]
    scores: list[float] | None = None
    weights: list[float] | None = None
    source: str | None = None
    where: str = ""


@dataclass(frozen=True)
class NBestColumns:
    """What the columns of a table of candidates are called.

    Those that are None are not read, but for that of the lists: it is then ``segment``, ``sid`` or ``id``.
    """

    id: str | None = None
    candidate: str = "candidate"
    score: str | None = None
    weight: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class _Row:
    where: str
    id: str
    text: str
    score: float | None = None
    weight: float | None = None
    source: str | None = None


@dataclass(frozen=True)
class NBestFile:
    """A file of lists, read one list at a time, from the start as often as it is iterated over.

    Attributes:
        file: a table (.tsv, .csv, .jsonl, .parquet) with a row a candidate, or lines of Moses' format,
            ``id ||| text ||| features ||| score``. The rows of a list stand together.
        columns: of the table.
    """

    file: NamedFile
    columns: NBestColumns = field(default_factory=NBestColumns)

    @classmethod
    def of(cls, path: Path | str, columns: NBestColumns) -> NBestFile:
        """Open a file.

        Raises:
            InputError: if it is not there or empty, or lacks a column.
        """
        result = cls(NamedFile(path), columns)
        if not result._is_moses():
            result._table()
        elif columns.weight is not None or columns.source is not None:
            raise InputError(f"{result.file.name}: Moses' format has no columns; weights and sources need a table")
        return result

    def __iter__(self) -> Iterator[NBest]:
        """Yield the lists.

        Raises:
            InputError: naming the row, if it is malformed, or if the rows of a list do not stand together.
        """
        seen: dict[str, str] = {}
        rows: list[_Row] = []
        for row in self._moses() if self._is_moses() else self._rows():
            if rows and row.id != rows[0].id:
                yield _list(rows)
                seen[printed(rows[0].id)] = rows[0].id
                rows = []
            if (other := seen.get(printed(row.id), row.id)) != row.id:
                refuse_alike([other, row.id], row.where)
            if printed(row.id) in seen:
                raise InputError(f"{row.where}: the list {row.id!r} ended further up; its rows must stand together")
            rows.append(row)
        if not rows:
            raise InputError("holds no candidates", file=self.file.name)
        yield _list(rows)

    def _is_moses(self) -> bool:
        return self.file.suffix not in TABLE_FORMATS and _BARS in next(self.file.lines(), "")

    def _table(self) -> tuple[Table, str]:
        """Return the table and its column of lists."""
        table, names = Table(self.file, first_line=True), self.columns
        lists = names.id if names.id is not None else table.first(*SEGMENTS) or SEGMENTS[-1]
        others = (names.candidate, names.score, names.weight, names.source)
        table.require(lists, *(name for name in others if name is not None))
        return table, lists

    def _rows(self) -> Iterator[_Row]:
        (table, lists), names = self._table(), self.columns
        wanted = [n for n in (lists, names.candidate, names.score, names.weight, names.source) if n is not None]
        for row in table.rows(*dict.fromkeys(wanted), only=True):
            weight = None if names.weight is None else row.finite(names.weight)
            if weight is not None and weight < 0:
                raise InputError(f"{row.where}, column {names.weight!r}: a weight is at least 0, not {weight:g}")
            yield _Row(
                row.where,
                row.name(lists),
                row.text(names.candidate),
                None if names.score is None else row.finite(names.score),
                weight,
                None if names.source is None else row.text(names.source),
            )

    def _moses(self) -> Iterator[_Row]:
        scored: bool | None = None
        for number, line in self.file.numbered(Problems()):
            where = f"{self.file.name}: line {number}"
            parts = [part.strip() for part in line.split(_BARS)]
            if len(parts) < 2 or not parts[0]:
                raise InputError(f"{where} is not of the form id ||| text ||| features ||| score")
            score = finite(parts[3], f"{where}, the score") if len(parts) > 3 else None
            if scored not in (None, score is not None):
                raise InputError(f"{where} has {'a' if score is not None else 'no'} score, unlike the lines above it")
            scored = score is not None
            yield _Row(where, parts[0], parts[1], score)


def _list(rows: list[_Row]) -> NBest:
    first = rows[0]
    for row in rows:
        if row.source != first.source:
            raise InputError(f"{row.where}: has another source than the rows of {row.id!r} above it")
    weights = [row.weight for row in rows if row.weight is not None] or None
    if weights is not None and math.fsum(weights) == 0:
        raise InputError(f"{first.where}: all weights of the list {first.id!r} are 0")
    scores = [row.score for row in rows if row.score is not None] or None
    return NBest(first.id, [row.text for row in rows], scores, weights, first.source, first.where)


def beside(lists: NBestFile, others: NBestFile | None) -> Iterator[tuple[NBest, NBest]]:
    """Yield each list with that of another file that has the same lists in the same order, or with itself.

    Raises:
        InputError: naming the row, if the two files differ in their lists.
    """
    if others is None:
        yield from ((item, item) for item in lists)
        return
    rest: Iterable[NBest] = others
    right = iter(rest)
    for left in lists:
        other = next(right, None)
        if other is None:
            raise InputError(f"{others.file.name}: ends before the list {left.id!r} of {left.where}")
        if other.id != left.id:
            raise InputError(f"{other.where}: is of the list {other.id!r}, {left.where} of {left.id!r}")
        yield left, other
    surplus = next(right, None)
    if surplus is not None:
        raise InputError(f"{surplus.where}: there is no list {surplus.id!r} in {lists.file.name}")
