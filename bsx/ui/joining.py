"""Several tables of one text as one: each segment of the first with what the others have of its source or its id."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bsx.data.cells import spelled
from bsx.data.formats.preview import Preview
from bsx.data.naming import role_of_file
from bsx.data.output import atomic_text
from bsx.data.sources import MEMORIES
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.untyped import Untyped
from bsx.ui.workspace import Choices, Joined, Key

_CALLED: dict[Key, str] = {"source": "source text", "segment": "id"}
_KEY = "\0key"  # no column is called so


@dataclass(frozen=True)
class TableIn:
    """A table that was handed in: its name, as the user calls it, where it is, and its first rows."""

    name: str
    path: Path
    seen: Preview

    @property
    def is_reference(self) -> bool:
        """Whether its texts are translations by people: a translation memory, or by its name."""
        return self.seen.format in MEMORIES or role_of_file(self.name) == "reference"

    def names(self, *roles: str | None) -> list[str]:
        """Return the columns of texts with one of these roles."""
        return [column.name for column in self.seen.columns if column.kind == "text" and column.role in roles]

    def frame(self) -> Untyped:
        """Return all rows, their cells as texts."""
        rows = [{name: spelled(row[name]) for name in row} for row in Table(self.path, first_line=True).rows()]
        return need("pandas", "joining tables").DataFrame(rows)


def join(tables: Sequence[TableIn], into: Path, key: Key | None = None) -> Joined:
    """Write several tables as one, a row for each segment that all have.

    The first that does not hold references alone leads: its columns stay. The others are asked for its segments by id
    where their sources agree, or there are none, else by source text: the n-th time that it stands there for the n-th.

    Args:
        tables: two or more.
        into: the file to write, JSON lines.
        key: join by this, where it finds any.

    Raises:
        InputError: if two tables have nothing in common, nothing is left, or systems stand one below the other.
    """
    first = next((table for table in tables if not table.is_reference), tables[0])
    whole, seen = first.frame(), first.seen
    roles = {"candidate": first.names("candidate") or first.names(None), "reference": first.names("reference")}
    ours: dict[Key, str | None] = {"source": seen.first("source"), "segment": seen.first("segment")}
    system = seen.first("system") if len(roles["candidate"]) == 1 else None
    spoken = {column.language for column in seen.columns if column.name in roles["candidate"] and column.language}
    if len(roles["candidate"]) == 1 and system is None:
        old, roles["candidate"] = roles["candidate"], [_new(_stem(first.name), whole)]
        whole.columns = [roles["candidate"][0] if name == old[0] else name for name in whole.columns]
    notes, used, ways = list[str](), list[Key](), set[Key]()
    for other in (table for table in tables if table is not first):
        frame, below = other.frame(), other.seen.first("system")
        matches = {way: _shared(whole, column, frame, other, way) for way, column in ours.items() if column is not None}
        n = {way: hits for way, (hits, _) in matches.items() if hits}
        if not n:
            raise InputError(f"{first.name} and {other.name} share no source text and no id, to be joined by.")
        agree = n.get("segment", 0)
        if (its := other.seen.first("source")) is not None and ours["source"] is not None and agree:
            theirs = frame.set_index(frame[matches["segment"][1]].map(_plain))[its].map(_plain)
            met = whole[ours["segment"]].map(_plain).map(theirs[~theirs.index.duplicated()]).fillna("")
            agree = int((met == whole[ours["source"]].map(_plain)).sum())
        best: Key = "segment" if agree >= n.get("source", 0) or n.get("segment", 0) > 10 * n["source"] else "source"
        by = key if key in n else best
        used, ways = [*used, by], ways | n.keys()
        frame[_KEY], whole[_KEY] = frame[matches[by][1]].map(_plain), whole[ours[by]].map(_plain)
        taken = _taken(other, matches[by][1], spoken)
        frame = frame[frame[_KEY].isin(whole[_KEY]) & (frame[_KEY] != "") & (frame[taken] != "").any(axis=1)]
        again = _number(whole, frame, system)
        for name in taken:
            role = "reference" if other.is_reference or name in other.names("reference") else "candidate"
            base = "reference" if role == "reference" else _stem(other.name) if name == "candidate" else name
            roles[role].append(new := _new(base, whole))
            whole[new] = whole[_KEY].map(frame.set_index(_KEY)[name])
        if (system and len(roles["candidate"]) > 1) or (below is not None and frame[below].nunique() > 1):
            raise InputError(f"{other.name}: tables that are joined have a column for each system, not rows.")
        joined = whole[_KEY].isin(frame[_KEY])
        lost = [str(name)[:60] for name in whole[~joined][ours["segment"] or ours["source"]]]
        more = f"; {len(lost):,} are not there, and are left out (the first: {lost[0]})" if lost else ""
        more += f"; {again:,} stand there more often than here: the first count" if again else ""
        notes.append(f"{joined.sum():,} of {len(whole):,} segments are in {other.name}, by {_CALLED[by]}{more}.")
        whole = whole[joined].drop(columns=_KEY)
    if whole.empty:
        raise InputError(f"No segment of {first.name} is in all the other tables.")
    with atomic_text(into, internal=True) as stream:
        whole.to_json(stream, orient="records", lines=True, force_ascii=False)
    codes = {column.name: column.language for column in seen.columns if not column.detected}
    languages = {"source_lang": codes.get(str(ours["source"])), "lang": next(iter(spoken), None)}
    others = {"system": system, "document": seen.first("document")}
    choices = Choices.model_validate({**ours, **roles, **others, **languages})
    return Joined(by=used[0], ways=tuple(sorted(ways)), notes=tuple(notes), choices=choices)


def _shared(whole: Untyped, column: str, frame: Untyped, other: TableIn, way: Key) -> tuple[int, str]:
    """Return how many rows another table has, and by which of its columns: that which has most in common."""
    keys = whole[column].map(_plain)
    tried = other.names(None, "candidate", "reference", "source") if way == "source" else [other.seen.first("segment")]
    hits = [
        (int((keys.isin(frame[name].map(_plain)) & (keys != "")).sum()), name) for name in tried if name is not None
    ]
    return max(hits, default=(0, ""))


def _number(whole: Untyped, frame: Untyped, system: str | None) -> int:
    """Let keys of two tables say which time they stand there; return how many stand in the other more often."""
    alike = whole.groupby([_KEY, *filter(None, [system])])
    times, wanted = frame[_KEY].value_counts(), alike.size().groupby(level=0).max()
    nth = alike.cumcount().clip(upper=whole[_KEY].map(times).fillna(1) - 1).astype(int)
    whole[_KEY] += "\0" + nth.astype(str)
    frame[_KEY] += "\0" + frame.groupby(_KEY).cumcount().astype(str)
    return int((times > wanted.reindex(times.index)).sum())


def _taken(other: TableIn, key: str, spoken: set[str]) -> list[str]:
    """Return the columns of texts that another table adds."""
    if not other.is_reference:
        return [name for name in other.names("candidate", "reference") if name != key]
    tongues = {code.lower().partition("-")[0] for code in spoken}
    texts = [column for column in other.seen.columns if column.name in other.names(None, "candidate", "reference")]
    same = [column.name for column in texts if (column.language or "").lower().partition("-")[0] in tongues]
    return [name for name in same or [column.name for column in texts] if name != key]


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _stem(name: str) -> str:
    return PurePosixPath(name).stem.replace(",", " ").strip() or "system"


def _new(base: str, frame: Untyped) -> str:
    """Return a name that no column has."""
    return next(name for name in (base, *(f"{base} {n}" for n in range(2, 999))) if name not in frame.columns)
