"""The columns of a table of scores: what the user named, what is usual, and what they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path

import numpy as np

from bsx.analysis.agreement.categories import matching
from bsx.analysis.agreement.rows import CorpusScores
from bsx.analysis.agreement.sentinels import columns_of
from bsx.data.columns import Labels, number_column, read_columns
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM
from bsx.data.output import ScoreTable
from bsx.data.pairing import Pairing, texts_of_rows
from bsx.data.sidecar import known_signatures, lower_by_sidecar, scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.checks import Array

Cell = float | str


@dataclass(frozen=True)
class Wanted:
    """The columns that the user named.

    Attributes:
        columns: columns of the table with scores; those that are known to be metrics unless given.
        human: columns of human scores: one for each of several candidates, or of several judgments; ``human``,
            ``human_z`` or ``z`` unless given.
        group: column of groups.
        system: column of systems; ``system``, if there is one, unless given.
        segment: column of segments; beside systems ``segment``, ``sid`` or ``id``, if there is one, unless given.
        lower: those of ``columns`` of which lower is better.
        sentinels: controls: columns, metrics to compute beside ``metrics=``, ``constant`` or ``shuffled``.
        categories: columns of human scores by kind of error, or patterns such as ``human_*``.
    """

    columns: list[str] = field(default_factory=list)
    human: list[str] = field(default_factory=list)
    group: str | None = None
    system: str | None = None
    segment: str | None = None
    lower: list[str] = field(default_factory=list)
    sentinels: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)

    def labels(self) -> list[str]:
        """Return the columns that are not numbers."""
        return [name for name in (self.group, self.system, self.segment) if name is not None]


@dataclass
class Columns:
    """A long table in memory, and what its columns are called.

    Attributes:
        values: name -> one value a row.
        wanted: the columns to analyse.
        notes: what the user should know.
        kept: the other columns of the table that was scored, one cell a row,
        types: the Arrow types of its columns.
        sidecar: summary and signatures of scores computed here.
        signatures: of the metrics, where known.
        corpus: metric -> what its corpus scores are made of.
    """

    values: Mapping[str, Array | Labels | list[Cell]]
    wanted: Wanted
    notes: list[str] = field(default_factory=list)
    kept: Mapping[str, list[object]] = field(default_factory=dict)
    types: Mapping[str, object] = field(default_factory=dict)
    sidecar: object | None = None
    signatures: dict[str, str] = field(default_factory=dict)
    corpus: Mapping[str, CorpusScores] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the long table, and the signatures beside it."""
        columns = {**self.kept, **self.values}
        with ScoreTable(path, self.types) as table:
            for row in zip(*columns.values(), strict=True):
                table.write(dict(zip(columns, row, strict=True)))
            table.sidecar = self.sidecar


def read_scores(file: str, wanted: Wanted, *, paired: bool = False) -> Columns:
    """Read the wanted columns of a table.

    Args:
        file: its name; ``-`` is standard input.
        wanted: columns of it.
        paired: whether rows are of systems and segments, whatever they hold; see `told_apart`.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    table = Table(file)
    named = with_usual(wanted, table.columns, table.name)
    if not named.columns:
        named = replace(named, columns=[n for n in scored_columns(file, table.columns) if n not in wanted.sentinels])
    if not named.columns:
        raise InputError(
            f"{table.name}: `columns=COL,…` names the metrics in it; it has {', '.join(table.columns)}. "
            "`metrics=METRICS` and `data=FILE` compute some"
        )
    controls = columns_of(wanted.sentinels, table.columns, named.columns)
    categories = matching(wanted.categories, table.columns, named.human[0])
    read = [*named.columns, *controls]
    pairs = [name for name in ("lp",) if name in table.columns and name not in (*read, *named.labels())]
    values = read_columns(table, [*read, *named.human, *categories], named.labels(), keys=pairs)
    named, notes = told_apart(named, wanted, values, paired=paired)
    notes += pairs_together(named, [label for name in pairs for label in values.pop(name)])
    notes += odd_rows(named, values, texts_of_rows(table))
    turned = [name for name in lower_by_sidecar(file) if name in read and name not in wanted.lower]
    signatures = known_signatures(file, read)
    named = replace(named, lower=[*wanted.lower, *turned], categories=categories)
    return Columns(values, named, notes, signatures=signatures)


def with_usual(wanted: Wanted, there: Sequence[str], file: str) -> Wanted:
    """Return the columns that the user named, with the usual ones for human scores, systems and segments.

    Raises:
        InputError: if no column of human scores is named and no usual one is there, or several beside categories.
    """
    taken = {*wanted.columns, *wanted.human, *wanted.labels(), *wanted.sentinels, *wanted.categories}

    def usual(names: Sequence[str]) -> str | None:
        return next((name for name in names if name in there and name not in taken), None)

    human = wanted.human or [name for name in [usual(HUMAN)] if name is not None]
    if not human:
        raise InputError(f"{file}: `human=COL` names the column of human scores; it has {', '.join(there)}")
    if wanted.categories and len(human) > 1:
        raise InputError("`categories=` goes with one column of human scores, `human=COL`")
    system = wanted.system or usual([SYSTEM])
    segment = wanted.segment or (usual(SEGMENTS) if system is not None else None)
    return replace(wanted, human=human, system=system, segment=segment)


def told_apart(
    named: Wanted, wanted: Wanted, values: Mapping[str, Array | Labels | list[Cell]], *, paired: bool = False
) -> tuple[Wanted, list[str]]:
    """Return the columns without a usual one of segments that leaves rows alike, and what is to be said of systems.

    Args:
        named: the columns, the usual ones among them.
        wanted: those that the user named.
        values: what they hold.
        paired: whether the analysis takes no independent rows: then usual columns stay, for it to say what is wrong.
    """
    if (system := named.system) is None or (paired and named.segment is not None):
        return named, []
    if named.segment is not None and wanted.segment is None:
        rows = list(zip(*(values[name] for name in named.labels()), strict=True))
        if len(set(rows)) < len(rows):
            alike = f"several rows have the same {system!r} and {named.segment!r}"
            named = replace(named, system=wanted.system, segment=None)
            return named, [f"{alike}: rows are taken as independent; `segment=` names a column that tells them apart"]
    if wanted.system is None and not paired:
        judged = ~np.isnan(number_column(named.human[0], values[named.human[0]]))
        groups = values[named.group] if named.group is not None else ["all"] * len(judged)
        there = {*zip(np.array(groups, dtype=object)[judged], np.array(values[system])[judged], strict=True)}
        if min(Counter(group for group, _ in there).values(), default=0) < 2:  # a group of one system is of rows
            one = len({name for _, name in there}) < 2
            named = replace(named, system=None, segment=None)
            return named, [] if one else ["a group has a single system: rows are taken as independent"]
    if named.segment is None and wanted.system is None and len(set(values[system])) > 1:
        return named, [
            f"the column {system!r} names systems, but none names segments: rows are taken as independent; "
            "`segment=` names it"
        ]
    return named, []


def odd_rows(
    named: Wanted, values: Mapping[str, Array | Labels | list[Cell]], texts: Sequence[Hashable] | None
) -> list[str]:
    """Return what is odd about the rows of systems that are paired by segment, within groups; see `Pairing`.

    Rows that are missing matter at the level of systems only, where `meta_evaluate` counts them.

    Args:
        named: the columns.
        values: what they hold.
        texts: what stands for each row's source and references.
    """
    if named.system is None or named.segment is None or texts is None:
        return []
    found = Pairing()
    groups = values[named.group] if named.group is not None else repeat("")
    for system, segment, group, text in zip(values[named.system], values[named.segment], groups, texts, strict=False):
        found.add(str(system), (group, segment), text)
    return found.notes(missing=False)


def pairs_together(named: Wanted, pairs: Sequence[str]) -> list[str]:
    """Return the sentence that says that the rows of several language pairs are taken together."""
    n = len(set(pairs))
    if named.group is not None or n < 2:
        return []
    return [
        f"the column 'lp' names {n} language pairs: the rows of all are taken together; `group=lp` takes each alone"
    ]
