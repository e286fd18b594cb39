"""The folder that the page works in: one sub-folder a run, each with the files that the command line writes."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import secrets
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bsx.data.output import atomic_text
from bsx.data.run import BESIDE
from bsx.errors import InputError, UnknownNameError

State = Literal["draft", "queued", "running", "done", "failed", "cancelled", "interrupted"]
UNFINISHED = ("queued", "running")
"""States that only a living server can keep: a run that is found in one when the server starts was interrupted."""

RECORD = "run.json"
SCORES = "scores.jsonl"
SUMMARY = "summary.json"
COMPARISON = "compare.json"
COMMANDS = "commands.sh"
LOG = "log.txt"
TABLES = (".jsonl", ".tsv", ".csv", ".parquet")
SIDECAR = ".signatures.json"
"""What a table of scores has beside it, by which a folder's tables of scores are told from other tables."""


_OURS = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{6}")
"""What `Workspace.new` calls folders."""
_CHANGING = threading.Lock()
"""Held while a record is read, changed and written; requests and the queue do that at the same time."""


_LONGEST_RECORD = 8 << 20  # bytes

_Count = Annotated[int, Field(ge=0, le=1 << 53)]


def _printable(title: str) -> str:
    """Return a title without what turns or hides text, or ends the argument of a command."""
    return "".join(c for c in title if c.isprintable())[:120]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class StoredFile(_Part):
    """A file that was handed in.

    Attributes:
        name: as the user calls it; only shown, and never a path.
        stored: what it is called in the folder of the run: a name that bsx has made, never an option or a path.
        size: bytes.
        role: what it holds; None until that is known.
        encoding: of texts that came in another than UTF-8, in which they are kept: that which they were read in.
    """

    name: str
    stored: Annotated[str, Field(pattern=r"^input(-[0-9]{1,9})?(\.[a-z0-9_-]{1,10})?(\.gz)?$")]
    size: _Count = 0
    role: Literal["table", "candidates", "references", "source"] | None = None
    encoding: str | None = None


class Size(_Part):
    """How much there is to score: segments, systems, and the mean length of a candidate in characters."""

    segments: _Count = 0
    systems: _Count = 0
    letters: Annotated[float, Field(ge=0, le=1e15)] = 0


class Choices(_Part):
    """What is to be computed, and of which columns.

    ``sheet`` is that of a spreadsheet with several, ``metrics`` are spelled as ``--metrics`` takes them, and
    ``download`` allows to fetch what they need.
    """

    sheet: str | None = None
    candidate: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    source: str | None = None
    document: str | None = None
    system: str | None = None
    segment: str | None = None
    lang: str | None = None
    source_lang: str | None = None
    metrics: tuple[str, ...] = ()
    download: bool = False


Key = Literal["source", "segment"]
"""By what tables are joined."""


class Joined(_Part):
    """Several tables that were written as one: by what, by what else they could be, and what was found."""

    by: Key
    ways: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()
    choices: Choices = Choices()


class Moment(_Part):
    """How far a run is: the step of its commands, the phase that it reports, what is done and what there is."""

    step: _Count = 0
    steps: _Count = 0
    phase: str = ""
    done: _Count = 0
    total: _Count = 0


class Record(_Part):
    """What ``run.json`` says of a run."""

    title: Annotated[str, AfterValidator(_printable)] = ""
    created: str = ""
    files: tuple[StoredFile, ...] = ()
    choices: Choices = Choices()
    joined: Joined | None = None
    size: Size = Size()
    state: State = "draft"
    progress: Moment = Moment()
    seconds: float | None = None
    error: str | None = None

    @property
    def is_editable(self) -> bool:
        """Whether what the run is made of may be changed: it neither runs nor has results."""
        return self.state not in (*UNFINISHED, "done")


@dataclass(frozen=True)
class Run:
    """One run: a folder, or in a folder of results a table of scores by itself.

    Attributes:
        name: the last part of its address.
        folder: where its files are.
        scores: its table of scores, which may not be there yet.
    """

    name: str
    folder: Path
    scores: Path

    @property
    def record(self) -> Record:
        """What ``run.json`` says; of a folder without one, that it is done if there are scores."""
        try:
            content = self.read(RECORD, _LONGEST_RECORD)
            if content is None:
                return Record(title=self.name, state="done" if self.scores.is_file() else "draft")
            return Record.model_validate_json(content)  # one that is too long ends in the middle
        except (OSError, ValueError) as error:  # a ValidationError is one, too
            first = next(iter(str(error).splitlines()), type(error).__name__)[:200]
            return Record(title=self.name, state="failed", error=f"{RECORD} cannot be read: {first}")

    @property
    def is_draft(self) -> bool:
        """Whether it is a folder that the page made, in which files were handed in and nothing was started."""
        record = self.record
        ours = _OURS.fullmatch(self.name) is not None and record.created and record.state == "draft"
        return bool(ours) and all(
            path.name == RECORD or path.name.startswith("input") for path in self.folder.iterdir()
        )

    def file(self, name: str) -> Path:
        """Return the path of one of its files: whatever opens one, to read or to write, asks here for the path.

        Raises:
            UnknownNameError: for a name that is no plain one; a link to elsewhere; a table beside which such a link
                lies, because who reads the one reads the other.
        """
        return _inside(self.folder, name)

    def read(self, name: str, most: int, *, end: bool = False) -> bytes | None:
        """Return the beginning of one of its files, or the end; None if it is not there.

        Pipes and devices, which have no end, and links that lead elsewhere are as not there: somebody else may have
        made the folder.
        """
        try:
            path = self.file(name)
        except UnknownNameError:
            return None
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            if end:
                stream.seek(max(0, stream.seek(0, 2) - most))
            return stream.read(most)

    def save(self, record: Record) -> None:
        """Write ``run.json``."""
        with atomic_text(self.file(RECORD), internal=True) as stream:
            stream.write(json.dumps(record.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n")

    def update(self, **changes: object) -> Record:
        """Change fields of ``run.json`` and return all of it."""
        with _CHANGING:
            record = self.record.model_copy(update=changes)
            self.save(record)
        return record


@dataclass(frozen=True)
class Workspace:
    """The folder of all runs.

    Attributes:
        folder: where it is.
        read_only: whether nothing may be added, run or removed.
    """

    folder: Path
    read_only: bool = False

    def runs(self) -> list[Run]:
        """Return the runs, the newest first; then, by name, tables of scores that lie in the folder itself."""
        try:
            names = sorted(entry.name for entry in self.folder.iterdir())
        except OSError:
            return []
        every: list[Run] = []
        for name in names:
            with contextlib.suppress(UnknownNameError):
                every.append(self.run(name))
        runs = [run for run in every if run.folder != self.folder]
        runs.sort(key=lambda run: (run.record.created, run.name), reverse=True)
        return runs + [run for run in every if run.folder == self.folder]

    def run(self, name: str) -> Run:
        """Return a run by its name.

        Raises:
            UnknownNameError: if there is none of this name in the folder; names never lead out of it.
        """
        with contextlib.suppress(OSError):  # a folder that may not be read
            path = _inside(self.folder, name)
            if path.is_dir() and not path.is_symlink():  # one folder is one run, under one name
                tables = [_inside(path, f"scores{end}") for end in TABLES]
                table = next((file for file in tables if file.is_file()), path / SCORES)
                if (path / RECORD).is_file() or table.is_file():
                    return Run(name, path, table)
            elif path.suffix in TABLES and path.is_file() and path.with_name(name + SIDECAR).is_file():
                return Run(name, self.folder, path)
        raise UnknownNameError(f"there is no run {name!r} in this folder")

    def new(self, title: str) -> Run:
        """Make the folder of a new run; its name has the date, and nothing of what the user wrote."""
        now = datetime.datetime.now(datetime.UTC)
        name = f"{now:%Y-%m-%d}-{secrets.token_hex(3)}"
        folder = self.folder / name
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", file=folder) from error
        run = Run(name, folder, folder / SCORES)
        try:
            run.save(Record(title=_printable(title) or name, created=now.isoformat(timespec="microseconds")))
        except InputError:  # the disk is full
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return run

    def remove_drafts(self) -> None:
        """Remove what was handed in and never started."""
        for run in self.runs():
            if run.is_draft:
                with contextlib.suppress(InputError, OSError):  # somebody else's
                    self.remove(run)

    def remove(self, run: Run) -> None:
        """Remove a run that the page has made, with all of its files."""
        if self.read_only or run.folder == self.folder or not (run.folder / RECORD).is_file():
            raise InputError(f"{run.name} was not made by the page: it is not removed")
        shutil.rmtree(run.folder)


_PLAIN = re.compile(r"[^/\\\x00-\x1f\x7f:\ud800-\udfff]+")
_LONGEST_NAME = 255  # bytes that a file system takes


def _inside(folder: Path, name: str) -> Path:
    """Return what a plain name stands for in a folder: no way up, no drive, no hidden file, no link to elsewhere."""
    if _PLAIN.fullmatch(name) is None or name.startswith(".") or len(name.encode()) > _LONGEST_NAME:
        raise UnknownNameError(f"there is nothing called {name!r} in this folder")
    for beside in (name, *(name + end for end in BESIDE)):
        path = folder / beside
        # Unlike the methods of `Path`, these two end with no error for names that are too long and links in a circle.
        linked = os.path.islink(path)  # noqa: PTH114
        if linked and Path(os.path.realpath(path)).parent != Path(os.path.realpath(folder)):
            raise UnknownNameError(f"{beside!r} is a link that leads out of this folder: put a copy in its place")
    return folder / name
