"""The columns that ``bsx meta`` evaluates, and reading them from a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bsx.data.sidecar import known_signatures, lower_by_sidecar
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import did_you_mean


@dataclass(frozen=True)
class Wanted:
    """The columns that the user named.

    Attributes:
        metrics: columns of the table with scores.
        human: columns of human scores; several only beside as many candidates.
        group: column of groups.
        system: column of systems.
        segment: column of segments.
        lower: metrics of which lower is better.
    """

    metrics: list[str]
    human: list[str]
    group: str | None
    system: str | None
    segment: str | None
    lower: list[str]

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
        sidecar: summary and signatures of scores computed here.
        signatures: of the metrics, where known.
    """

    values: dict[str, Any]
    wanted: Wanted
    notes: list[str] = field(default_factory=list)
    sidecar: object | None = None
    signatures: dict[str, str] = field(default_factory=dict)


def read_columns(file: str, wanted: Wanted) -> Columns:
    """Read the wanted columns of a table; ``-`` is standard input.

    Raises:
        UnknownNameError: for a column that is not there.
        InputError: naming file, row and column of a cell that is not a number.
    """
    from bsx.data.columns import read_columns as read
    from bsx.data.tables import Table

    if len(wanted.human) != 1:
        raise InputError(
            "name one column of human scores, --human COL, that belongs to the scores of its row; "
            "several go with --score and as many --candidate columns"
        )
    table = Table(file)
    values = read(table, [*wanted.metrics, *wanted.human], wanted.labels())
    notes = []
    if wanted.system is None and "system" in table.columns:
        notes.append(
            f"{table.name} has a column 'system', but rows are taken as independent: --system and --segment name "
            "columns"
        )
    turned = [name for name in lower_by_sidecar(file) if name in wanted.metrics and name not in wanted.lower]
    notes += [f"lower is better for {name}, as {file}.signatures.json says: its sign is turned" for name in turned]
    signatures = known_signatures(file, wanted.metrics)
    return Columns(values, replace(wanted, lower=[*wanted.lower, *turned]), notes, None, signatures)


def require(name: str, columns: Sequence[str], file: str) -> None:
    """Raise UnknownNameError unless a table has the column; list near names."""
    if name not in columns:
        several = all(part in columns for part in name.split(",")) and "," in name
        hint = " Write the option once for each column." if several else did_you_mean(name, columns)
        raise UnknownNameError(f"{file}: has no column {name!r}; it has {', '.join(columns)}.{hint}")


def read_row(
    row: Mapping[str, Any], where: str, numeric: Sequence[str], labels: Sequence[str], values: dict[str, list[Any]]
) -> None:
    """Append the cells of a row, numbers read and labels checked, to ``values``."""
    from bsx.data import cells

    for name in numeric:
        values[name].append(cells.number(row[name], f"{where}, column {name!r}"))
    for name in labels:
        values[name].append(cells.name(row[name], f"{where}, column {name!r}"))
