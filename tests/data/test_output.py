"""The output gate: what is written appears whole or not at all, nowhere but where it may, and reads back equal."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import bsx.data.output
from bsx.data.output import ScoreTable, atomic_text
from bsx.errors import InputError


def write(path: Path, run: str, *, sidecar: bool = True, signature: bool = True) -> None:
    with ScoreTable(path) as table:
        table.write({"id": run, "score": 1.5})
        table.sidecar = {"metrics": [], "run": run} if sidecar else None
        table.signature = run if signature else None


def state(path: Path) -> dict[str, str]:
    """What a reader finds, by name."""
    return {file.name: file.read_text() for file in path.parent.iterdir() if not file.name.startswith(".")}


class Steps:
    """Does something before the n-th line that the gate executes; remembers how many there were."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at, self.act, self.count = at, act, 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != bsx.data.output.__file__:
            return None
        if event == "line":
            self.count += 1
            if self.count == self.at:
                self.act()
        return self


def ended_by(steps: Steps, work: Callable[[], None]) -> None:
    """Run something until a step raises, or kills the process."""
    traced = sys.gettrace()
    sys.settrace(steps)
    try:
        with contextlib.suppress(OSError, InputError):
            work()
    finally:
        sys.settrace(traced)


def in_child(steps: Steps, work: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        ended_by(steps, work)
        os._exit(0)
    os.waitpid(child, 0)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # streams that a fault left open
@pytest.mark.parametrize("before", [*(pytest.param(x, marks=pytest.mark.slow) for x in ("nothing", "same")), "other"])
@pytest.mark.parametrize(
    "act",
    [pytest.param(killed, marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")), no_room, broken],
)
def test_an_end_at_any_moment_leaves_the_old_table_or_the_new_and_nothing_that_speaks_of_another(
    tmp_path: Path, act: Callable[[], None], before: str
) -> None:
    def prepare(folder: Path) -> Path:
        folder.mkdir()
        if before != "nothing":
            write(folder / "t.tsv", "old", sidecar=before == "same")
        return folder / "t.tsv"

    def work() -> None:
        write(path, "new", signature=before != "same")

    old = state(prepare(tmp_path / "old"))
    path = prepare(tmp_path / "new")
    whole = Steps(-1, act)
    ended_by(whole, work)
    new = state(path)
    assert len(old) == {"nothing": 0, "same": 3, "other": 2}[before]
    assert len(new) == (2 if before == "same" else 3)
    assert whole.count > 100
    seen = set()
    for at in range(1, whole.count + 1, 4 if act is killed else 1):
        path = prepare(tmp_path / f"{at}")
        (in_child if act is killed else ended_by)(Steps(at, act), work)
        left = state(path)
        run = new if left.get(path.name) == new[path.name] else old
        assert left.items() <= run.items(), at
        assert (path.name in left) == (path.name in run), at
        seen.add(run is new)
        if act is killed:
            work()
            assert state(path) == new, at
    assert seen == {True, False}
    gc.collect()  # streams that a fault left open end here, not in another test


def test_stale_sidecars_go_with_the_table(tmp_path: Path) -> None:
    write(tmp_path / "t.tsv", "old")
    write(tmp_path / "t.tsv", "new", sidecar=False, signature=False)
    assert [file.name for file in tmp_path.iterdir()] == ["t.tsv"]


def test_two_that_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    (tmp_path / ".a.txt.tmp").write_text("of the user")
    with atomic_text(tmp_path / "a.txt") as first:
        first.write("one")
        with atomic_text(tmp_path / "a.txt") as second:
            second.write("two")
        assert (tmp_path / "a.txt").read_text() == "two"
    assert (tmp_path / "a.txt").read_text() == "one"
    assert {file.name for file in tmp_path.iterdir()} == {"a.txt", ".a.txt.tmp"}
