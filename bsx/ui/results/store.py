"""A run's table of scores as its page needs it: numbers in arrays, texts in a file that only this process sees."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from bsx.data.cells import LARGEST, as_numbers, is_missing, spelled
from bsx.data.lines import NamedFile
from bsx.data.long import HUMAN, SYSTEM, USUAL
from bsx.data.pairing import is_text_of_segment, printed
from bsx.data.sidecar import known_metrics
from bsx.data.tables import Row, Table
from bsx.errors import InputError
from bsx.support.checks import Array

MOST_SEGMENTS = 200_000
"""Segments that a page can scroll and filter in memory; of larger tables it shows the first ones, and says so."""
ALONE = "candidate"
"""What the system of a table without a column of systems is called."""
_PROGRESS_EVERY = 1000  # rows between two words of how far a reading is
_TRIED = 200  # rows by which a column of numbers is known where nothing lies beside the table


@dataclass(frozen=True)
class ScoreColumn:
    """A column of scores.

    Attributes:
        name: of the metric, or of the column of human scores.
        higher: whether higher is better.
        signature: of the metric; empty where it is not known.
        human: whether people gave the scores.
    """

    name: str
    higher: bool = True
    signature: str = ""
    human: bool = False


@dataclass
class TextColumn:
    """Where the texts of a column stand: places in the file of texts, in the order of the segments.

    Attributes:
        role: ``source``, ``reference`` or ``candidate``.
        name: of the column as a reader sees it; of candidates the system.
        starts: of each segment's text in bytes; -1 where there is none.
        sizes: in bytes.
    """

    role: str
    name: str
    starts: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))

    def put(self, place: int, start: int, size: int) -> None:
        """Note where the text of a segment stands."""
        while len(self.starts) <= place:
            self.starts.append(-1)
            self.sizes.append(0)
        self.starts[place], self.sizes[place] = start, size


@dataclass(eq=False)
class ScoredTable:
    """A table of scores, by system and segment.

    Attributes:
        file: its name.
        rows: how many it has.
        systems: names, in the order of the table.
        metrics: columns of scores.
        segments: names, in the order of the table.
        documents: of each segment, as a place in ``document_names`` (segments,).
        document_names: may be empty.
        values: scores; NaN where there is none (metrics, systems, segments).
        texts: columns of texts.
        lengths: characters of each segment's reference, or else its source, or else its first candidate (segments,).
        notes: what a reader should know.
        languages: of source and candidates, where the table says so in a column ``lp``.
    """

    file: str
    rows: int
    systems: tuple[str, ...]
    metrics: tuple[ScoreColumn, ...]
    segments: tuple[str, ...]
    documents: Array
    document_names: tuple[str, ...]
    values: Array
    texts: tuple[TextColumn, ...]
    lengths: Array
    notes: tuple[str, ...]
    languages: tuple[str, str]
    _file: int
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        weakref.finalize(self, os.close, self._file)

    def text(self, column: TextColumn, place: int) -> str | None:
        """Return the text of a segment; None where there is none."""
        if place >= len(column.starts) or column.starts[place] < 0:
            return None
        with self._reading:
            os.lseek(self._file, column.starts[place], os.SEEK_SET)
            return os.read(self._file, column.sizes[place]).decode("utf-8")

    def column(self, column: TextColumn) -> list[str | None]:
        """Return all texts of a column, in the order of the segments."""
        return [self.text(column, place) for place in range(len(self.segments))]

    def candidate(self, system: int) -> TextColumn | None:
        """Return the column of a system's candidates."""
        return next(
            (column for column in self.texts if (column.role, column.name) == ("candidate", self.systems[system])), None
        )


@dataclass(frozen=True)
class TextNames:
    """What the columns of texts are called where a table has names of its own for them.

    Attributes:
        source: the column of sources.
        references: columns of references.
        document: the column of documents.
    """

    source: str | None = None
    references: tuple[str, ...] = ()
    document: str | None = None


def read_table(
    path: Path, named: TextNames | None = None, progress: Callable[[int], None] | None = None
) -> ScoredTable:
    """Read a table of scores.

    Texts go into a nameless temporary file row by row; what stays in memory is numbers and names.

    Args:
        path: the table.
        named: what its columns of texts are called, next to the usual names.
        progress: is told how many rows were read, now and then.

    Raises:
        InputError: naming file, row and column of what cannot be read.
    """
    return _Reading(path, named or TextNames()).read(progress)


class _Reading:
    """One pass over a table."""

    def __init__(self, path: Path, named: TextNames) -> None:
        known = [entry for entry in known_metrics(path) if not entry.control]
        self.table = Table(NamedFile(path), first_line=bool(known) and path.suffix == ".jsonl")
        columns = self.table.columns
        self.system = SYSTEM if SYSTEM in columns else None
        self.segment = next((name for name in USUAL["segment"] if name in columns), None)
        self.document = next((name for name in (named.document, *USUAL["document"]) if name in columns), None)
        self.pair = "lp" if "lp" in columns else None
        self.notes: list[str] = []
        self.metrics = [
            ScoreColumn(entry.metric, entry.higher_is_better, entry.signature)
            for entry in known
            if entry.metric in columns
        ]
        if not self.metrics:
            self.metrics = [ScoreColumn(name) for name in self._numeric()]
            if self.metrics:
                self.notes.append(
                    "Nothing next to the table says which columns are scores: those of numbers are taken for scores of "
                    "which higher is better."
                )
        taken = {column.name for column in self.metrics}
        human = next((name for name in HUMAN if name in columns and name not in taken), None)
        if human is not None:
            self.metrics.append(ScoreColumn(human, human=True))
        systems = {score.system for entry in known for score in entry.scores if score.system}
        self.alone = next(iter(systems)) if len(systems) == 1 else ALONE
        self.sides = [
            (name, "source" if name in ("source", named.source) else "reference")
            for name in columns
            if name == named.source or name in named.references or is_text_of_segment(name)
        ]
        self.places: dict[tuple[str, str], int] = {}
        self.spelled: dict[tuple[str, str], int] = {}
        self.names: list[str] = []
        self.checked: dict[str, str] = {}
        self.documents: dict[str, int] = {}
        self.of: list[int] = []
        self.pairs: set[str] = set()
        self.systems: dict[str, int] = {}
        self.texts: dict[tuple[str, str], TextColumn] = {}
        self.lengths = array("q")
        self.scores = [array("d") for _ in self.metrics]
        self.at = array("q")
        self.whose = array("q")

    def _numeric(self) -> list[str]:
        """Return the columns of which every cell is a number, judged by the first rows."""
        rows = list(itertools.islice(self.table.rows(), _TRIED))
        cells = {name: [row[name] for row in rows] for name in self.table.columns}
        roles = {self.system, self.segment, self.document, self.pair, "layer", *HUMAN, *USUAL["segment"]}
        return [
            name
            for name, values in cells.items()
            if name not in roles and as_numbers(values) is not None and not all(map(is_missing, values))
        ]

    def read(self, progress: Callable[[int], None] | None) -> ScoredTable:
        """Read all rows."""
        with tempfile.TemporaryFile(prefix="bsx-ui-") as spool:  # what the table keeps open lives as long as it
            rows = left = twice = 0
            seen: list[bytearray] = []
            counts = Counter[str]()
            for row in self.table.rows():
                rows += 1
                if progress is not None and not rows % _PROGRESS_EVERY:
                    progress(rows)
                system = self.alone if self.system is None else self._name(row, self.system)
                counts[system] += 1
                key = self._key(row, counts[system])
                if key not in self.spelled and len(self.names) >= MOST_SEGMENTS:
                    left += 1
                    continue
                place = self._place(row, key, spool)
                number = self.systems.setdefault(system, len(self.systems))
                if number == len(seen):
                    seen.append(bytearray())
                seen[number].extend(bytes(max(0, place + 1 - len(seen[number]))))
                if seen[number][place]:
                    twice += 1
                    continue
                seen[number][place] = 1
                self._candidate(row, system, place, spool)
                self.at.append(place)
                self.whose.append(number)
                for values, column in zip(self.scores, self.metrics, strict=True):
                    cell = row[column.name]
                    if isinstance(cell, float) and -LARGEST < cell < LARGEST:  # as nearly all are
                        values.append(cell)
                    else:
                        values.append(row.number(column.name))
            spool.flush()
            if left:
                self.notes.append(
                    f"The first {MOST_SEGMENTS:,} segments are shown; {left:,} rows of others are left out."
                )
            if twice:
                self.notes.append(f"{twice:,} rows have the system and segment of a row before them: the first counts.")
            return self._made(rows, spool)

    def _key(self, row: Row, number: int) -> tuple[str, str]:
        pair = "" if self.pair is None or is_missing(row[self.pair]) else spelled(row[self.pair])
        self.pairs.add(pair)
        return pair, str(number) if self.segment is None else self._name(row, self.segment)

    def _name(self, row: Row, column: str) -> str:
        """Return a name, checked when it is first seen."""
        cell = row[column]
        if not isinstance(cell, str):
            return row.name(column)
        if cell not in self.checked:
            self.checked[cell] = row.name(column)
        return self.checked[cell]

    def _place(self, row: Row, key: tuple[str, str], spool: IO[bytes]) -> int:
        """Return the place of a row's segment, whose texts are kept when it is first seen."""
        if key in self.spelled:
            return self.spelled[key]
        looked = (key[0], printed(key[1]))
        if looked in self.places:
            self.spelled[key] = self.places[looked]
            return self.places[looked]
        place = self.places[looked] = self.spelled[key] = len(self.names)
        self.names.append(key[1])
        if self.document is not None:
            name = "" if is_missing(row[self.document]) else spelled(row[self.document])
            self.of.append(self.documents.setdefault(name, len(self.documents)))
        length = 0
        for name, role in self.sides:
            for number, text in enumerate(_several(row[name])):
                shown = name if number == 0 else f"{name} {number + 1}"
                self._keep(role, shown, place, text, spool)
                if number == 0 and (role == "reference" or not length):
                    length = len(text)
        self.lengths.append(length)
        return place

    def _candidate(self, row: Row, system: str, place: int, spool: IO[bytes]) -> None:
        name = "candidate" if "candidate" in row else system if system in row else None
        if name is None or row[name] is None:
            return
        text = spelled(row[name])
        self._keep("candidate", system, place, text, spool)
        if not self.lengths[place]:
            self.lengths[place] = len(text)

    def _keep(self, role: str, name: str, place: int, text: str, spool: IO[bytes]) -> None:
        content = text.encode("utf-8", "replace")
        column = self.texts.setdefault((role, name), TextColumn(role, name))
        column.put(place, spool.tell(), len(content))
        spool.write(content)

    def _made(self, rows: int, spool: IO[bytes]) -> ScoredTable:
        if not rows:
            raise InputError("has no rows", file=self.table.name)
        values = np.full((len(self.metrics), len(self.systems), len(self.names)), np.nan)
        at, whose = (np.frombuffer(part, dtype=np.int64) for part in (self.at, self.whose))
        for number, column in enumerate(self.scores):
            values[number, whose, at] = np.frombuffer(column, dtype=np.float64)
        if lacking := len(self.systems) * len(self.names) - len(at):
            self.notes.append(f"{lacking:,} pairs of system and segment have no row.")
        if len({name for _, name in self.places}) < len(self.names):
            self.notes.append("Some segments of different language pairs have the same name: they are kept together.")
        pair = next(iter(self.pairs)) if len(self.pairs) == 1 else ""
        source, _, target = pair.partition("-")
        order = {"source": 0, "reference": 1, "candidate": 2}
        return ScoredTable(
            file=self.table.name,
            rows=rows,
            systems=tuple(self.systems),
            metrics=tuple(self.metrics),
            segments=tuple(self.names),
            documents=np.array(self.of, dtype=np.int32),
            document_names=tuple(self.documents),
            values=values,
            texts=tuple(sorted(self.texts.values(), key=lambda text: order[text.role])),
            lengths=np.frombuffer(self.lengths, dtype=np.int64),
            notes=tuple(self.notes),
            languages=(source, target) if source.isalpha() and target else ("", ""),
            _file=os.dup(spool.fileno()),
        )


def _several(cell: object) -> Iterator[str]:
    for part in cell if isinstance(cell, list | tuple) else [cell]:
        if part is not None:
            yield spelled(part)
