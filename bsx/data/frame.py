"""A table and what its columns hold: what every analysis reads, from a file, from memory or from a test set.

It knows no metric. `bsx.frames.open.open_frame` makes one, and puts scores of metrics into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.data.cells import is_missing, spelled
from bsx.data.columns import Labels, read_columns
from bsx.data.documents import one_document
from bsx.data.long import SEGMENTS, SYSTEM, USUAL
from bsx.data.open import LineFiles
from bsx.data.output import ScoreTable
from bsx.data.pairing import Pairing, is_text_of_segment
from bsx.data.seen import RowTexts
from bsx.data.sidecar import carried
from bsx.data.sources import IN_MEMORY
from bsx.data.tables import Row, Table
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Notice
from bsx.support.untyped import JsonObject

PAIR = "lp"
"""The column of language pairs, within which segments and documents are numbered."""
SHARED = "shared texts"
"""What segments are named by where no column names those of several systems: their source and references."""


@dataclass(frozen=True)
class CorpusScores:
    """What a metric's score of a whole corpus is made of.

    Attributes:
        statistics: sufficient statistics of each row of the table (n, k), judged or not; in a group, by system and
            segment (systems, segments, k).
        score: from the sums of any number of segments (k,) to the score.
    """

    statistics: Array
    score: Callable[[Array], float]


class LongTable(Table):
    """A table whose systems stand side by side, read as one with a row for each segment and system.

    Args:
        wide: the table.
        systems: its columns of candidates.
        human: its columns of human scores, one for each system; none without.
        segment: its column of segments; rows are numbered without one.
    """

    def __init__(self, wide: Table, systems: Sequence[str], human: Sequence[str], segment: str | None) -> None:
        self.wide, self.systems, self._human, self._segment = wide, systems, human, segment
        self.name, self.file, self.languages = wide.name, getattr(wide, "file", None), wide.languages  # type: ignore[assignment]
        self._kept = [name for name in wide.columns if name not in (*systems, *human)]
        made = [SYSTEM, *([] if segment is not None else SEGMENTS[:1]), "candidate", *(["human"] if human else [])]
        self.columns = [*dict.fromkeys([*self._kept, *made])]

    def rows(self, *needed: str, only: bool = False) -> Iterator[Row]:
        """Yield the rows, those of a segment together; see `Table.rows`."""
        used = [name for name in self._kept if name in needed or not (only and needed)]
        columns_read = [*dict.fromkeys([*used, *self.systems, *self._human, *filter(None, [self._segment])])]
        for number, row in enumerate(self.wide.rows(*columns_read, only=True), start=1):
            kept = {name: row[name] for name in used}
            for place, system in enumerate(self.systems):
                cells = {**kept, SYSTEM: system, "candidate": row[system]}
                if self._segment is None:
                    cells[SEGMENTS[0]] = str(number)
                if self._human:
                    cells["human"] = row[self._human[place]]
                yield Row(row.where, cells, row.order)

    def types(self) -> dict[str, object]:
        """Return the Arrow type of each column; see `Table.types`."""
        wide = self.wide.types()
        like = {"candidate": self.systems[0], **({"human": self._human[0]} if self._human else {})}
        text = like["candidate"]
        return {name: wide[like.get(name, name if name in self._kept else text)] for name in self.columns}


class LineTable(Table):
    """Files with a text a line, read as a table with a column for each system, and columns of references and sources.

    Attributes:
        corpus: the files.
        roles: ``reference`` and ``source`` -> columns.
    """

    def __init__(self, corpus: LineFiles) -> None:
        self.corpus = corpus
        self.name, self.kind = IN_MEMORY, ".txt"
        several = range(2, corpus.layout.count("references") + 1)
        texts = {
            "reference": ["reference", *(f"reference{number}" for number in several)] * ("reference" in corpus.has),
            "source": ["source"] * ("source" in corpus.has),
        }
        # A system may be called like a column of texts, as is one that copies the source.
        self.roles = {
            role: [f"{name} of lines" if name in corpus.systems else name for name in names]
            for role, names in texts.items()
        }
        others = [*self.roles["reference"], *self.roles["source"], *(["document"] if corpus.documents else [])]
        self.columns = [*corpus.systems, *others]

    def rows(self, *needed: str, only: bool = False) -> Iterator[Row]:
        """Yield the rows; see `Table.rows`."""
        for place, segment in enumerate(self.corpus):
            source = () if segment.source is None else (segment.source,)
            document = self.corpus.documents[place : place + 1]
            cells = zip(self.columns, [*segment.candidates, *segment.references, *source, *document], strict=True)
            yield Row(f"line {place + 1}", cells, place + 1)


class SomeRows(Table):
    """Some rows of a table, by their places from 0."""

    def __init__(self, table: Table, rows: Sequence[int]) -> None:
        self._table, self._rows = table, frozenset(rows)
        self.name, self.file, self.languages = table.name, getattr(table, "file", None), table.languages  # type: ignore[assignment]
        self.columns, self.metrics = table.columns, table.metrics

    def rows(self, *needed: str, only: bool = False) -> Iterator[Row]:
        """Yield them; see `Table.rows`."""
        return (row for place, row in enumerate(self._table.rows(*needed, only=only)) if place in self._rows)

    def types(self) -> dict[str, object]:
        """Return the Arrow type of each column; see `Table.types`."""
        return self._table.types()


@dataclass(frozen=True, eq=False)
class RowUnits:
    """Which rows belong together.

    Attributes:
        values: column -> what it holds (n,), with segments as they are told apart.
        system: column of systems; None where rows are not told apart by them.
        segment: column of segments, if any.
        document: column of documents, if any.
        notes: what was taken, where nobody named it, and what is odd about the rows.
    """

    values: dict[str, Array | Labels]
    system: str | None
    segment: str | None
    document: str | None
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Frame:
    """A table with a row for each system and segment, and what its columns hold.

    Columns are read when an analysis asks for them, so that a cell of one that nobody needs cannot stop it.

    Attributes:
        table: the table.
        roles: ``system``, ``segment``, ``document``, ``candidate``, ``reference``, ``source`` and ``human`` -> columns.
        named: those that the user named; the others were found by their usual names.
        columns: scores of metrics that stand in the table.
        scores: metric that was computed -> its scores (n,), as they are.
        lower: columns and metrics of which lower is better.
        signatures: of columns and metrics, where known.
        corpus: metric -> what its corpus scores are made of.
        notes: what the user should know.
        summary: of the scores that were computed, as it goes beside a table.
        files: that it was read from.
        language: code of the language that metrics were computed for, if one was named or found.
        outputs: which candidates are no translation, of texts that metrics were computed on.
    """

    table: Table
    roles: Mapping[str, Sequence[str]]
    named: frozenset[str] = frozenset()
    columns: Sequence[str] = ()
    scores: Mapping[str, Array] = field(default_factory=dict)
    lower: Sequence[str] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)
    notes: Sequence[str] = ()
    summary: JsonObject | None = None
    files: Sequence[str] = ()
    language: str | None = None
    outputs: Sequence[Notice] = ()

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return self.table.name

    @property
    def metrics(self) -> list[str]:
        """The scores, those that stand in the table first."""
        return [*self.columns, *self.scores]

    def column(self, role: str) -> str | None:
        """Return the first column of a role, or None."""
        return next(iter(self.roles.get(role, ())), None)

    def needed(self, role: str, what: str = "") -> str:
        """Return the first column of a role, of which ``what`` says what it holds; InputError lists those there are."""
        column = self.column(role)
        if column is None:
            message = f"{role} names the column of {what or f'{role}s'}; it has {', '.join(self.table.columns)}"
            raise InputError(message, file=self.name, setting=role)
        return column

    def read(
        self,
        numbers: Sequence[str],
        labels: Sequence[str | None] = (),
        texts: Sequence[str] = (),
        keys: Sequence[str] = (),
        alike: Sequence[str] = (),
    ) -> dict[str, Array | Labels]:
        """Read columns, computed scores among the numbers; see `bsx.data.columns.read_columns`."""
        wanted = [name for name in dict.fromkeys(numbers) if name not in self.scores]
        named = [name for name in dict.fromkeys(labels) if name is not None]
        read = read_columns(self.table, wanted, named, texts, keys, alike)
        return {**read, **{name: values for name, values in self.scores.items() if name in numbers}}

    def only(self, rows: Sequence[int]) -> Frame:
        """Return a frame of some rows, before anything is computed."""
        return replace(self, table=SomeRows(self.table, rows))

    def texts(self, human: Sequence[str] = ()) -> RowTexts | None:
        """Return the texts of the rows with any score in the columns ``human``, or of all rows without such columns.

        None without candidates, or without anything to hold them against.
        """
        columns = {role: list(self.roles.get(role, ())) for role in ("candidate", "reference", "source")}
        if {"sentence1", "sentence2"} <= set(self.table.columns) and not columns["candidate"]:
            columns |= {"candidate": ["sentence1"], "reference": ["sentence2"]}
        named = [name for names in columns.values() for name in names]
        if not columns["candidate"] or not (columns["reference"] or columns["source"]):
            return None
        if {*named, *human} - {*self.table.columns}:
            return None
        wanted = list(dict.fromkeys([*named, *human]))
        rows = [
            row
            for row in self.table.rows(*wanted, only=True)
            if not human or not all(is_missing(row[name]) for name in human)
        ]

        def listed(cell: object) -> list[str]:
            return [spelled(text) for text in (cell if isinstance(cell, list) else [cell]) if text not in (None, "")]

        several = [[text for name in columns["reference"] for text in listed(row[name])] for row in rows]
        return RowTexts(
            [spelled(row[columns["candidate"][0]]) for row in rows],
            several if columns["reference"] else None,
            [spelled(row[columns["source"][0]]) for row in rows] if columns["source"] else None,
        )

    def shared_texts(self) -> list[int] | None:
        """Return a number for each row that stands for its source and references (n,); None without such columns.

        It is 0 for rows that have none of them.
        """
        names = [*self.roles.get("reference", ()), *self.roles.get("source", ())]
        names = [*dict.fromkeys([*names, *filter(is_text_of_segment, self.table.columns)])]
        if not names:
            return None
        rows = (tuple(spelled(row[name]) for name in names) for row in self.table.rows(*names, only=True))
        return [hash(texts) if any(texts) else 0 for texts in rows]

    def sources(self) -> Labels | None:
        """Return the source of each row (n,), by which groups may share segments; None without such a column."""
        name = self.column("source") or ("source" if "source" in self.table.columns else None)
        return None if name is None else [spelled(row[name]) for row in self.table.rows(name, only=True)]

    def numbered(
        self, segments: Iterable[object], documents: Iterable[object], systems: Iterable[object] | None
    ) -> Labels:
        """Return segments (n,) as they are told apart: within documents (n,), where these number their own.

        They do where a system has rows of one name in several documents, unless the user named the column, a row has
        no document, or systems (n,) would not meet any more; these are None where rows are of one.
        """
        numbers, documents = list(map(str, segments)), list(documents)
        of = [""] * len(numbers) if systems is None else list(systems)
        within = [f"{document} {name}" for document, name in zip(documents, numbers, strict=True)]
        rows = len({*zip(of, numbers, strict=True)})
        if (
            "segment" in self.named
            or not all(documents)
            or rows == len(numbers)
            or len({*zip(of, within, strict=True)}) == rows
        ):
            return numbers
        meet = len({*of}) < 2 or len({*zip(of, within, strict=True)}) > len({*within})
        return within if meet else numbers

    def unit(
        self,
        values: Mapping[str, Array | Labels],
        *,
        group: str | None = None,
        paired: bool = False,
        judged: NDArray[np.bool_] | None = None,
    ) -> RowUnits:
        """Say which rows belong together: those of a document, of a segment, or of the same source and references.

        A column of segments is one under which systems meet. Where the user named another, that is refused; where it
        was only found by its name, the next usual name is tried, and then what the texts say.

        Args:
            values: columns that were read, those of systems, segments, documents and groups among them.
            group: column of groups, which are analysed apart.
            paired: the analysis takes systems and segments only, and says itself what is wrong with them.
            judged: rows that have human scores (n,).
        """
        made = dict(values)
        system, segment, document = (self.column(role) for role in ("system", "segment", "document"))
        document = document if document in made else None
        n = len(next(iter(made.values())))
        pairs = list(map(str, made[PAIR])) if PAIR in made else [""] * n
        groups = list(map(str, made[group])) if group is not None else [""] * n
        notes: list[str] = []
        if document is not None and "document" not in self.named and (doubt := one_document(list(made[document]))):
            notes, document = doubt, None
        # A row that names no system is of none that is known.
        systems = [str(name) or f"\0{row}" for row, name in enumerate(made[system])] if system is not None else None
        texts = self.shared_texts() if systems is not None or segment is None else None
        places = list(zip(groups, pairs, strict=True))
        meet = systems is not None and len({*zip(places, systems, strict=True)}) > len({*places})
        several = systems if meet else None

        def bind(labels: Sequence[Hashable]) -> bool:
            """Whether these are the same for rows of several systems or, of one system, for several rows."""
            seen: dict[Hashable, object] = {}
            of = enumerate(labels) if several is None else zip(several, labels, strict=True)
            return any(seen.setdefault((places[i], label), name) != name for i, (name, label) in enumerate(of))

        if segment is not None and document is not None:
            made[segment] = self.numbered(made[segment], made[document], systems)
        self.refuse_apart(made)
        if segment is None or (several is not None and not bind(list(made[segment]))):
            why = f"no two systems meet under {segment!r}" if segment is not None else "no column names segments"
            of_texts: dict[str, Labels] = {}
            # Texts that are the same in all rows tell no segments apart.
            if texts is not None and len(set(texts)) > 1 and (document is None or several is not None):
                within = made[document] if document is not None else [""] * n
                numbers: dict[Hashable, str] = {}
                of_texts[SHARED] = [  # rows without texts have none in common
                    numbers.setdefault((place, text or f"\0{row}"), str(len(numbers) + 1))
                    for row, (place, text) in enumerate(zip(within, texts, strict=True))
                ]
            tried = segment
            others = [name for name in USUAL["segment"] if tried and name in self.table.columns and name != tried]
            named = ((name, list(map(str, self.read([], keys=[name])[name]))) for name in others)
            segment, labels = next((pair for pair in chain(named, of_texts.items()) if bind(pair[1])), (None, []))
            if segment is not None:
                made[segment] = labels
                shared = "rows with the same source and references are one segment"
                notes.append(f"{why}: {shared if segment == SHARED else f'{segment!r} does'}")
            elif tried is not None:
                drawn = (
                    "rows are taken as independent" if document is None else "rows of one document are drawn together"
                )
                notes.append(f"{why}: {drawn}")
        if system is not None and (blank := sum(not name for name in made[system])):
            notes.append(f"{blank:,} of {n:,} rows have no {system!r}: systems are not told apart")
            system = None
        if system is not None and not (paired and segment is not None):
            system, note = self._told_apart(made, (group, system, segment, document), judged, paired=paired)
            notes += note
        if group is None and (many := len(set(pairs))) > 1:
            if segment is not None and system is None:
                made[segment] = [f"{pair} {name}" for pair, name in zip(pairs, made[segment], strict=True)]
            notes.append(
                f"the column 'lp' names {many} language pairs: the rows of all are taken together; group lp takes "
                "each alone"
            )
        if system is not None and segment is not None and texts is not None:
            pairing = Pairing()
            for name, of, place, text in zip(made[system], made[segment], groups, texts, strict=True):
                pairing.add(str(name), (place, str(of)), text)
            notes += pairing.notes(missing=False)
        return RowUnits(made, system, segment, document, notes)

    def refuse_apart(self, values: Mapping[str, Array | Labels]) -> None:
        """Raise InputError for a column of segments that the user named and under which no two systems meet.

        ``values`` are columns that were read, those of systems and segments among them.
        """
        system, segment = self.column("system"), self.column("segment")
        if system is None or segment is None or not {system, segment} <= values.keys() or "segment" not in self.named:
            return
        systems, of = list(map(str, values[system])), dict[str, str]()
        rows = zip(map(str, values[segment]), systems, strict=True)
        if len(set(systems)) > 1 and all(of.setdefault(label, name) == name for label, name in rows):
            raise InputError(
                f"segment: no two systems have a row of the same segment under {segment!r}: name the column that "
                "calls a segment the same for all systems",
                file=self.name,
                setting="segment",
            )

    def _told_apart(
        self,
        values: Mapping[str, Array | Labels],
        columns: tuple[str | None, str, str | None, str | None],
        judged: NDArray[np.bool_] | None,
        *,
        paired: bool,
    ) -> tuple[str | None, list[str]]:
        """Return the column of systems, None where it tells no rows apart, and what is to be said of that."""
        group, system, segment, document = columns
        drawn = "rows are taken as independent" if segment is None else "rows of one segment are drawn together"
        drawn = "rows of one document are drawn together" if document is not None else drawn
        if segment is not None and "segment" not in self.named:
            rows = list(zip(*(values[name] for name in (group, system, segment) if name is not None), strict=True))
            if len(set(rows)) < len(rows):
                more = "" if segment == SHARED else "; segment names a column that tells them apart"
                return None, [f"several rows have the same {system!r} and {segment!r}: {drawn}{more}"]
        names = np.array(values[system], dtype=object)
        judged = np.ones(len(names), dtype=bool) if judged is None else judged
        if "system" not in self.named and not paired:
            groups = np.array(values[group], dtype=object) if group is not None else np.array([""] * len(names))
            pairs = {*zip(groups[judged], names[judged], strict=True)}
            if min(Counter(label for label, _ in pairs).values(), default=0) < 2:  # a group of one system is of rows
                alone = len({name for _, name in pairs}) < 2
                return None, [] if alone else [f"a group has a single system: {drawn}"]
        if segment is None and "system" not in self.named and len(set(names)) > 1:
            note = f"the column {system!r} names systems, but none names segments: {drawn}"
            return system, [f"{note}; segment names it"]
        return system, []

    def save(self, path: Path, more: Mapping[str, Sequence[float] | Array], entries: Sequence[JsonObject]) -> None:
        """Write the table with more columns of scores, and what is known of them beside it.

        Args:
            path: the file.
            more: column -> scores (n,).
            entries: what the sidecar says of them.
        """
        with ScoreTable(path, self.table.types() if path.suffix == ".parquet" else None) as written:
            for row, *values in zip(self.table.rows(), *more.values(), strict=True):
                written.write({**row, **dict(zip(more, values, strict=True))})
            written.sidecar = {**(self.summary or {}), "metrics": [*carried(self.table.name), *entries]}
