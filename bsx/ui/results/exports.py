"""What a run lets one take away, and the commands that make the same files: the page runs these, and nothing else."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired

from bsx.data.output import FORMATS
from bsx.errors import InputError
from bsx.support.children import run_code
from bsx.ui.results.selection import Kept
from bsx.ui.workspace import Run

_LONGEST = 600  # seconds that a command may take
_AT_ONCE = threading.Semaphore(2)
_BEGIN = "import sys; sys.argv[0] = 'bsx'; from bsx.cli.main import run; run()"


class _Out(str):
    """A word of a command that names what it writes."""

    __slots__ = ()


@dataclass(frozen=True)
class Export:
    """A file to take away.

    Attributes:
        name: of the file, by which it is asked for.
        title: what it is.
        about: what it is good for.
        command: without ``bsx``, run in the folder of the run.
        of_selection: whether it is made of the segments that are kept.
    """

    name: str
    title: str
    about: str
    command: tuple[str, ...]
    of_selection: bool = False

    @property
    def line(self) -> str:
        """The command as a person types it in the folder of the run."""
        return shlex.join(["bsx", *self.command])


def exports(run: Run, documents: Sequence[str], selection: Path, kept: Kept, *, comparison: str | None) -> list[Export]:
    """Return what a run lets one take away.

    Args:
        run: the run.
        documents: names of the documents of results in its folder.
        selection: the file of the segments that are kept.
        kept: these.
        comparison: name of the document that compares systems, if there is one.
    """
    table, title = _plain(run.scores.name), run.record.title or run.name
    endings = [ending for ending in (".xlsx", ".tsv") if ending in FORMATS]

    def out(name: str) -> _Out:
        return _Out(f"new-{name}" if name == run.scores.name else name)

    def export(title: str, about: str, *command: str, of_selection: bool = False) -> Export:
        return Export(command[-1], title, about, command, of_selection)

    report = ("report", table, *map(_plain, documents), f"--title={title}", "-o", out("report.html"))
    offered = [export("Report", "One page to send or to print; it needs nothing else.", *report)]
    if comparison is not None:
        ranking = ("convert", _plain(comparison), "-o", out("ranking.tex"))
        offered.append(export("Ranking for a paper", "LaTeX, with intervals and tests.", *ranking))
    for ending in endings:
        name = f"All scores ({ending[1:].upper()})"
        offered.append(export(name, "A row a segment and system.", "convert", table, "-o", out(f"table{ending}")))
    if not kept.notes:
        return offered
    chosen = ("convert", table, f"--segments={selection.name}", "-o")
    for ending in endings:
        name, about = f"Selection ({ending[1:].upper()})", "The segments you keep, with your notes."
        offered.append(export(name, about, *chosen, out(f"selection{ending}"), of_selection=True))
    return offered


def make(export: Export, run: Run, folder: Path) -> Path:
    """Run the command of an export and return the file.

    Args:
        export: one of `exports`.
        run: in whose folder it runs.
        folder: an empty one, for what it writes.

    Raises:
        InputError: with what the command said, if it failed.
    """
    with _AT_ONCE:
        words = [str(folder / word) if isinstance(word, _Out) else word for word in export.command]
        try:
            done = run_code(_BEGIN, *words, cwd=run.folder, timeout=_LONGEST)
        except TimeoutExpired as error:
            raise InputError(f"{export.name}: took more than {_LONGEST} seconds") from error
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("bsx: error: ")]
            raise InputError((errors or done.stderr.splitlines() or ["failed"])[-1].removeprefix("bsx: error: "))
    return folder / export.name


def _plain(name: str) -> str:
    """Return a file's name as no command takes it for an option."""
    return f"./{name}" if name.startswith("-") else name
