"""Long tables: systems whose rows stand one below the other, which rows are one segment's, and the usual columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.data.cells import spelled
from bsx.data.documents import DOCUMENTS
from bsx.data.naming import role_of
from bsx.data.pairing import refuse_alike
from bsx.data.run import tell
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.settings import BaseSettings, Names, Option

SYSTEM = "system"
"""The usual column of systems, for every command that is told no other."""
SEGMENTS = ("segment", "sid", "seg", "seg_id", "segment_id", "id")
"""The usual columns of segments; the first that is there counts."""
HUMAN = ("human", "human_z", "z")
"""The usual columns of human scores; the first that is there counts."""
RATERS = ("rater", "judge", "annotator")
"""The usual columns of who judged; the first that is there counts."""
USUAL: dict[str, tuple[str, ...]] = {
    "system": (SYSTEM,),
    "segment": SEGMENTS,
    "document": DOCUMENTS,
    "candidate": ("candidate",),
    "reference": ("reference",),
    "source": ("source",),
    "human": HUMAN,
    "label": ("label", "noisy_label", "is_duplicate"),
    "family": ("family", "system_family"),
    "rater": RATERS,
}
"""What a column is called where nobody says: role -> names, the first that is there counts."""
# Settings that name columns, each declared once for all that have it; a shell offers the table's columns for them.
COLUMN = Option(column=True)
ColumnName = Annotated[str | None, COLUMN]
ColumnNames = Annotated[Names, COLUMN]
Segment = Annotated[ColumnName, Field(description="Column of segments. [segment, sid or id, if there]")]
Document = Annotated[
    ColumnName, Field(description="Column of documents, which are drawn whole. [document, doc or doc_id, if there]")
]
Scores = Annotated[ColumnNames, Field(description="Columns of metrics' scores. [those that bsx score wrote]")]


class RowColumns(BaseSettings):
    """The columns that say what a row is about."""

    panel = "Texts"

    system: Annotated[ColumnName, Field(description="Column of systems. [system, if there]")] = None
    segment: Segment = None


class DocumentColumn(BaseSettings):
    """The column of documents, for what draws them whole."""

    panel = "Texts"

    document: Document = None


class LowerScores(BaseSettings):
    """Which scores are turned."""

    panel = "Metrics"

    lower: Annotated[
        Sequence[str], Field(description="Metrics of which lower is better: their scores are multiplied by -1.")
    ] = ()


class ScoreColumns(LowerScores):
    """Columns of metrics' scores."""

    panel = "Metrics"

    columns: Scores = ()


class HumanColumn(BaseSettings):
    """The column of human judgments."""

    panel = "Texts"

    human: Annotated[ColumnName, Field(description="Column of human scores. [human, human_z or z]")] = None


_JUDGED = frozenset(
    ["human", "humans", "z", "raw", "da", "mqm", "esa", "sqm", "darr", "hter", "likert", "adequacy", "fluency"]
) | {"judgment", "judgments", "judgement", "judgements", "rating", "ratings", "rater", "annotator", "assessment"}


def are_judgments(column: str) -> bool:
    """Return whether a column's name says that humans gave its scores; another may hold grades of any kind."""
    return not _JUDGED.isdisjoint(re.split(r"[\W_\d]+", column.casefold()))


def find_columns(
    columns: Sequence[str], asked: Mapping[str, str | Sequence[str] | None], *roles: str
) -> dict[str, list[str]]:
    """Find which columns of a table hold what.

    Args:
        columns: the table's.
        asked: what the user named: the name of a setting -> a column, or several.
        roles: of `USUAL`, to be found by their usual names where the user named none.

    Returns:
        Role -> columns: those that the user named, else the first usual name that is there and stands for nothing
        else, else none; of references, all that `called_references` finds.
    """
    named = {role: [value] if isinstance(value, str) else list(value or ()) for role, value in asked.items()}
    results = {role: named.get(role, []) for role in roles}
    for role in roles:
        if not results[role]:
            # What segments are told by may be a text of theirs.
            but = "segment" if role in ("candidate", "reference", "source") else None
            taken = {name for other, names in named.items() if other != but for name in names}
            results[role] = [name for name in USUAL[role] if name in columns and name not in taken][:1]
            if role == "reference" and not results[role]:
                results[role] = [name for name in called_references(columns) if name not in taken]
    return results


def called_references(columns: Sequence[str]) -> list[str]:
    """Return the columns whose names mean references in some language, and nothing else; a note tells which."""
    usual = {name for names in USUAL.values() for name in names}
    references = [name for name in columns if name not in usual and role_of(name, sure=True) == "reference"]
    if references:
        tell(f"references are taken from {', '.join(references)}, by the name; reference names other columns")
    return references


def families(systems: Sequence[str], column: Sequence[str]) -> dict[str, str]:
    """Return system -> its family; none unless every system is of one, and there are several, not all of one system.

    Both are those of each row (rows,); a system without a family is one by itself.
    """
    of: dict[str, str] = {}
    if any(of.setdefault(system, name) != name for system, name in zip(systems, column, strict=True)):
        return {}
    of = {system: name or f"\0{system}" for system, name in of.items()}
    return of if 1 < len({*of.values()}) < len(of) else {}


def together(systems: Sequence[str], column: str = SYSTEM, instead: str = "") -> list[str]:
    """Return the sentence that says that the rows of several systems are taken together; none for fewer than two.

    Systems are those of each row (rows,), empty where none is named; ``instead`` is what treats each by itself.
    """
    n = len({*systems} - {""})
    more = f"; {instead}" if instead else ""
    return [f"the column {column!r} names {n} systems: the rows of all are taken together{more}"] if n > 1 else []


def systems_together(table: Table) -> list[str]:
    """Return what `together` says of a table's usual column of systems, if it is there."""
    return together([spelled(name) for name in table[SYSTEM]]) if SYSTEM in table.columns else []


def rows_by_system(
    file: str,
    systems: Sequence[str],
    segments: Sequence[str],
    chosen: Sequence[str] = (),
    texts: Sequence[Hashable] | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Return each system's rows of the segments that all have, in the same order.

    Args:
        file: the table's name, for messages.
        systems: each row's system (rows,).
        segments: each row's segment (rows,).
        chosen: the systems that are wanted, in this order; all, in the order of the table, unless given.
        texts: each row's references and source, which a segment has the same of under all systems (rows,).

    Returns:
        System -> numbers of its rows, from 0 (segments,).

    Raises:
        UnknownNameError: for a chosen system that is not there.
        InputError: if a system has a segment twice, if systems share under two, if a segment's texts differ, or names
            of systems or segments only in what nobody sees.
    """
    refuse_alike(systems, f"{file}: systems")
    refuse_alike(segments, f"{file}: segments")
    places: dict[str, dict[str, int]] = {}
    for row, (system, segment) in enumerate(zip(systems, segments, strict=True)):
        other = places.setdefault(system, {}).setdefault(segment, row)
        if other != row:
            raise InputError(
                f"system {system!r} has the segment {segment!r} twice, in rows {other + 1} and {row + 1}: name "
                "a column that tells segments apart (segment)",
                file=file,
            )
    for name in chosen:
        if name not in places:
            raise UnknownNameError(
                f"there is no system {name!r}; there are {', '.join(places)}.{did_you_mean(name, list(places))}",
                file=file,
            )
    wanted = list(chosen) or list(places)
    first = places[wanted[0]]
    for name in wanted[1:] if texts is not None else ():
        for segment in filter(places[name].__contains__, first):
            row, other = first[segment], places[name][segment]
            if texts[row] != texts[other]:  # type: ignore[index]
                raise InputError(
                    f"the segment {segment!r} has other references or another source under {name} (row {other + 1}) "
                    f"than under {wanted[0]} (row {row + 1}): systems are compared on the same segments; name a column "
                    "that tells segments apart (segment)",
                    file=file,
                )
    every = {segment for name in wanted for segment in places[name]}
    shared = [segment for segment in first if all(segment in places[name] for name in wanted)]
    if len(shared) < min(2, len(every)):
        fewest = min(wanted, key=lambda name: len(places[name]))
        raise InputError(
            f"all {len(wanted)} systems have {'1 segment' if shared else 'no segment'} in common, and are compared on "
            f"those that they share: leave out systems that have few, such as {fewest} ({len(places[fewest]):,} of "
            f"{len(every):,})",
            file=file,
        )
    return {name: np.array([places[name][segment] for segment in shared], dtype=np.int64) for name in wanted}


def shared_note(systems: Sequence[str], segments: Sequence[str], rows: Mapping[str, NDArray[np.int64]]) -> list[str]:
    """Return the sentence that says on how many segments `rows_by_system` has; none where each system has them all."""
    of = Counter(name for name in systems if name in rows)
    n = len(next(iter(rows.values())))
    every = len({segment for name, segment in zip(systems, segments, strict=True) if name in rows})
    fewest = min(rows, key=lambda name: of[name])
    note = f"compared on the {n:,} of {every:,} segments that all systems have; {fewest} has the fewest, {of[fewest]:,}"
    return [note] if n < every else []
