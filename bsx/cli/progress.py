"""A progress bar on standard error, when that is a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a function (phase, done, total) that draws a bar with the remaining time; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Rich looks back 30 seconds by default, in which a large model may finish no batch or only easy ones.
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300) as bar:
        tasks: dict[str, int] = {}

        def report(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase, total=total or None)
            bar.update(tasks[phase], completed=done)  # type: ignore[arg-type]

        yield report
