"""The segments that a reader keeps, each with a note: one small file in the run's folder, ``selection.json``."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from bsx.data.lines import NamedFile
from bsx.data.output import atomic_text
from bsx.errors import InputError
from bsx.ui.guard import check_text

SELECTION = "selection.json"
LONGEST_NOTE = 10_000  # characters


@dataclass(frozen=True)
class Kept:
    """What is kept.

    Attributes:
        version: counts the changes; 0 of a selection that was never saved.
        notes: segment -> note, in the order in which they were kept.
    """

    version: int = 0
    notes: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return what the file holds."""
        return {"version": self.version, "segments": {name: {"note": note} for name, note in self.notes.items()}}


class Conflict(Exception):  # noqa: N818 - no error: somebody else was faster
    """Another tab has changed the same segment meanwhile.

    Attributes:
        kept: what is kept now.
    """

    def __init__(self, kept: Kept) -> None:
        super().__init__("another tab has changed this segment meanwhile")
        self.kept = kept


_WRITING = threading.Lock()


def read_selection(file: Path) -> Kept:
    """Return what a file says is kept; nothing if it is not there.

    Raises:
        InputError: if the file is not what the page writes.
    """
    if not file.is_file():
        return Kept()
    content = NamedFile(file).json()
    try:
        return Kept(
            int(content.get("version", 0)),
            {check_text(name): check_text(entry.get("note") or "") for name, entry in content["segments"].items()},
        )
    except InputError as error:
        raise InputError(f"is damaged: {error}", file=file) from error
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "is no selection: it has no segments with their notes; mend or remove it", file=file
        ) from error


def change(file: Path, segment: str, was: str | None, note: str | None, known: Collection[str]) -> Kept:
    """Keep a segment with a note, or keep it no longer, and return what is kept then.

    Changes of different segments never get in each other's way, in however many tabs.

    Args:
        file: the selection of the run.
        segment: its name.
        was: the note that whoever asks knows of; None if they know the segment as one that is not kept.
        note: the new note; None to keep the segment no longer.
        known: names of the run's segments.

    Raises:
        InputError: for a segment that is not there, a note without end, or a folder that cannot be written to.
        Conflict: if the note is another by now, and not the new one either.
    """
    if segment not in known:
        raise InputError(f"there is no segment {segment[:80]!r}")
    if note is not None and len(note) > LONGEST_NOTE:
        raise InputError(f"the note has {len(note):,} characters; {LONGEST_NOTE:,} are the most")
    with _WRITING:
        kept = read_selection(file)
        now = kept.notes.get(segment)
        if now == note:
            return kept
        if now != was:
            raise Conflict(kept)
        notes = {name: text for name, text in kept.notes.items() if name != segment or note is not None}
        if note is not None:
            notes[segment] = note
        changed = Kept(kept.version + 1, notes)
        with atomic_text(file, internal=True) as stream:
            stream.write(json.dumps(changed.to_dict(), ensure_ascii=False, indent=1) + "\n")
        return changed
