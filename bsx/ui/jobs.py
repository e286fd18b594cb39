"""Running what was chosen: the command line's own commands, one run after the other, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from bsx.data.output import atomic_path, atomic_text
from bsx.errors import BsxError, InputError, shortened
from bsx.support.children import start
from bsx.support.progress import FOLLOWED
from bsx.ui.workspace import (
    COMMANDS,
    COMPARISON,
    LOG,
    SCORES,
    SUMMARY,
    UNFINISHED,
    Choices,
    Moment,
    Record,
    Run,
    Workspace,
)

PATIENCE = 10.0
"""Seconds that a run has to end by itself after it was asked to."""
_LOG = 1 << 20  # bytes of a log that are kept
_LINE = 1 << 14  # bytes of a line that are read at once
_OF_CORPUS = ("bleu", "chrf", "chrf++", "ter")  # whose score of a system is another than the mean of its segments'


@dataclass(frozen=True)
class Command:
    """One command of the command line.

    Attributes:
        words: its arguments, what follows ``bsx``.
        printed: the file that gets what it prints; None if nothing is wanted of that.
        needed: whether the run has failed if this fails.
    """

    words: tuple[str, ...]
    printed: str | None = None
    needed: bool = True

    def __str__(self) -> str:
        """Return it as a shell takes it."""
        return shlex.join(["bsx", *self.words]) + (f" > {self.printed}" if self.printed else "")


def commands(table: str, choices: Choices, systems: int) -> list[Command]:
    """Return the commands of a run; systems are compared by the scores that `bsx evaluate` gives them.

    Args:
        table: the table of texts, in the folder that they run in.
        choices: columns, language and metrics.
        systems: how many systems there are; from two on they are compared.
    """
    named = {
        "--candidate": ",".join(choices.candidate),
        "--reference": ",".join(choices.reference),
        "--source": choices.source,
        "--document": choices.document,
        "--system": choices.system,
        "--segment": choices.segment,
        "--lang": f"{choices.source_lang}-{choices.lang}" if choices.lang and choices.source_lang else choices.lang,
    }
    metrics = {"--metrics": ",".join(choices.metrics)}
    score = ("score", table, *_options(named | metrics), "--resume", "-o", SCORES, "--format", "json")
    made = [Command(score, SUMMARY)]
    if systems > 1:
        whole = [spec for spec in choices.metrics if spec.partition(":")[0] in _OF_CORPUS]
        of_table = ["--system", "--segment"]
        if whole:  # they are computed again, from the texts in the table of scores, and the others read from it
            of_table += ["--reference", "--lang", *(["--candidate"] if len(choices.candidate) == 1 else [])]
            read = [spec for spec in choices.metrics if spec not in whole]
            metrics = {"--columns": ",".join(read), "--metrics": ",".join(whole)}
        options = {name: named[name] for name in named if name in of_table} | (metrics if whole else {})
        compare = ("compare", SCORES, *_options(options), "--all-pairs", "--format", "json", "-o", COMPARISON)
        made.append(Command(compare, needed=False))
    return made


def _options(named: Mapping[str, str | None]) -> list[str]:
    return [word for option, value in named.items() if value for word in (option, value)]


def script(made: Sequence[Command]) -> str:
    """Return commands as a file that a shell runs."""
    head = '#!/bin/sh\n# What this run did; in a terminal it gives the same files.\nset -e\ncd "$(dirname "$0")"\n'
    return head + "".join(f"{command}\n" for command in made)


@dataclass
class _Job:
    run: Run
    commands: list[Command]
    download: bool
    moment: Moment = field(default_factory=Moment)
    since: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[bytes] | None = None
    ending: str | None = None
    """The state that it was asked to end in."""


class Jobs:
    """The queue of a workspace: it belongs to one server, runs one job at a time, and outlives every browser.

    Args:
        workspace: where the runs are. What an earlier server left unfinished is marked as interrupted; what was
            handed in and never started is removed, now and at the end.

    Raises:
        InputError: if another server works in the folder, or it cannot be written to.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._waiting: deque[_Job] = deque()
        self._current: _Job | None = None
        self._changed = threading.Condition()
        self._closed = False
        folder = workspace.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (lock := folder / ".bsx-ui.lock").touch()  # a lock where none can be made looks like another's
            self._lock = FileLock(lock, timeout=0)
            self._lock.acquire()
        except Timeout as error:
            message = "another bsx ui works in this folder: use its page, end it, or name another folder"
            raise InputError(message, file=folder) from error
        except OSError as error:
            raise InputError(f"cannot be written to ({error.strerror})", file=folder) from error
        workspace.remove_drafts()
        for run in workspace.runs():
            if run.record.state in UNFINISHED:
                with contextlib.suppress(BsxError):  # somebody else's
                    run.update(state="interrupted")
        self._worker = threading.Thread(target=self._work, name="bsx-jobs", daemon=True)
        self._worker.start()

    def submit(self, run: Run, made: Sequence[Command], *, download: bool = False) -> None:
        """Put a run at the end of the queue; one that was stopped goes on where it was.

        Args:
            run: a run that is neither queued nor running.
            made: its commands.
            download: whether models may be fetched.

        Raises:
            InputError: if it is in the queue already, the server is ending, or the folder has links, through which
                the commands would write elsewhere.
        """
        _check_links(run)
        with self._changed:
            if self._closed or any(job.run.name == run.name for job in self._jobs()):
                raise InputError(f"{run.name} is in the queue already")
            for stale in (SUMMARY, COMPARISON):  # of other choices, perhaps
                (run.folder / stale).unlink(missing_ok=True)
            with atomic_text(run.file(COMMANDS), internal=True) as stream:
                stream.write(script(made))
            run.update(state="queued", error=None, seconds=None, progress=Moment(steps=len(made)))
            self._waiting.append(_Job(run, list(made), download))
            self._changed.notify_all()

    def cancel(self, name: str) -> None:
        """Take a run out of the queue, or ask it to end; what it has scored is kept for when it is resumed."""
        with self._changed:
            job = next((job for job in self._jobs() if job.run.name == name), None)
            if job is None or job.ending is not None:
                return
            if job is self._current:
                self._end(job, "cancelled")
                return
            self._waiting.remove(job)
            job.run.update(state="cancelled")

    def record(self, run: Run) -> Record:
        """Return what is known of a run, with how far it is this moment."""
        job = self._current
        record = run.record
        if job is not None and job.run.name == run.name and record.state == "running":
            return record.model_copy(update={"progress": job.moment, "seconds": time.monotonic() - job.since})
        if record.state in UNFINISHED and self.place(run.name) is None:
            record = run.record  # it may have ended between the two looks
            if record.state in UNFINISHED:  # its record cannot be written, or was put there meanwhile
                return record.model_copy(update={"state": "interrupted"})
        return record

    def place(self, name: str) -> int | None:
        """Return how many runs come before this one; None if it does not wait."""
        with self._changed:
            names = [job.run.name for job in self._jobs()]
        return names.index(name) if name in names else None

    def close(self) -> None:
        """End: what runs is interrupted and can be resumed, as can what waits."""
        with self._changed:
            self._closed = True
            if self._current is not None and self._current.ending is None:
                self._end(self._current, "interrupted")
            for job in self._waiting:
                with contextlib.suppress(BsxError):  # the disk is full: the next server will see to it
                    job.run.update(state="interrupted")
            self._waiting.clear()
            self._changed.notify_all()
        self._worker.join(PATIENCE + 5)
        self._workspace.remove_drafts()
        with contextlib.suppress(OSError):  # nothing was run: nothing is left
            Path(self._lock.lock_file).unlink(missing_ok=True)  # while it is held, or it may be another's by then
            self._workspace.folder.rmdir()
        self._lock.release()

    def _jobs(self) -> list[_Job]:
        return [*([self._current] if self._current is not None else []), *self._waiting]

    def _end(self, job: _Job, state: str) -> None:
        job.ending = state
        process = job.process
        if process is not None:
            _signal(process, signal.SIGINT)
            timer = threading.Timer(PATIENCE, _signal, [process, getattr(signal, "SIGKILL", signal.SIGTERM)])
            timer.daemon = True  # the server does not wait for it
            timer.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job = self._current = self._waiting.popleft()
            try:
                outcome = self._run(job)
            except Exception as error:  # noqa: BLE001 - a full disk, say: the next run shall have its turn
                outcome = {"state": "failed", "error": shortened(f"{type(error).__name__}: {error}")}
            with self._changed:
                self._current = None
                with contextlib.suppress(BsxError, OSError):  # the disk is full, or the folder is gone
                    job.run.update(**outcome)

    def _run(self, job: _Job) -> dict[str, object]:
        """Run the commands of a job, and return what its record says then."""
        job.since = time.monotonic()
        _check_links(job.run)  # it has waited
        job.run.update(state="running")
        problem: str | None = None
        state = "done"
        path = job.run.file(LOG)
        path.unlink(missing_ok=True)  # it may have another name elsewhere
        with path.open("x", encoding="utf-8", newline="\n") as log:
            for step, command in enumerate(job.commands, start=1):
                job.moment = Moment(step=step, steps=len(job.commands))
                log.write(f"$ {command}\n")
                try:
                    self._call(job, command, log)
                except _FailedError as error:
                    problem = str(error)
                    if command.needed:
                        state = "failed"
                if job.ending is not None:
                    state, problem = job.ending, None
                if state != "done":
                    break
        seconds = time.monotonic() - job.since
        return {"state": state, "error": problem, "seconds": round(seconds, 1), "progress": job.moment}

    def _call(self, job: _Job, command: Command, log: IO[str]) -> None:
        """Run a command to its end.

        Raises:
            _FailedError: with what it said.
        """
        folder = job.run.folder
        environment = {FOLLOWED: "json", **({} if job.download else {"HF_HUB_OFFLINE": "1"})}
        with _printed(job.run.file(command.printed) if command.printed else None) as output:
            with self._changed:
                if job.ending is not None:
                    raise _FailedError(job.ending)
                job.process = process = start(
                    "-m", "bsx", *command.words, cwd=folder, environment=environment, stdout=output
                )
            with process:
                message = self._follow(job, process, log)
            if (status := process.returncode) != 0:
                killed = f"bsx was ended from outside (signal {-status}), perhaps for want of memory"
                raise _FailedError(message or (killed if status < 0 else f"bsx ended with status {status}"))

    def _follow(self, job: _Job, process: subprocess.Popen[bytes], log: IO[str]) -> str | None:
        """Read what a command says until it ends; return its last error."""
        error = None
        room = _LOG
        assert process.stderr is not None  # noqa: S101 - for the type checker
        for raw in iter(partial(process.stderr.readline, _LINE), b""):
            line = raw.decode("utf-8", "replace").rstrip("\n")
            moment = _moment(line)
            if moment is not None:
                phase, done, total = moment
                job.moment = job.moment.model_copy(update={"phase": phase, "done": done, "total": total})
                continue
            if line.startswith("bsx: error: "):
                error = line.removeprefix("bsx: error: ")
            if room > 0:
                log.write(f"{line}\n")
                log.flush()
                room -= len(raw)
        return error


def _check_links(run: Run) -> None:
    """Refuse a run whose folder has links, through which its commands would read and write elsewhere."""
    link = next((path for path in run.folder.iterdir() if path.is_symlink()), None)
    if link is not None:
        raise InputError("is a link, and a run works in its own folder only: remove it", file=link)


class _FailedError(Exception):
    """A command failed; what it printed is not kept."""


@contextlib.contextmanager
def _printed(path: Path | None) -> Iterator[IO[bytes] | int]:
    """Yield where a command prints to: a file that appears when all went well."""
    if path is None:
        yield subprocess.DEVNULL
        return
    with atomic_path(path, internal=True) as temporary, temporary.open("wb") as stream:
        yield stream


def _moment(line: str) -> tuple[str, int, int] | None:
    if not line.startswith('{"phase": '):
        return None
    try:
        record = json.loads(line)
        return str(record["phase"]), int(record["done"]), int(record["total"])
    except (ValueError, KeyError, TypeError):
        return None


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process and all that it started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.terminate()
