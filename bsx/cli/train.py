"""``bsx train``: a metric of one's own from human scores; ``bsx ensemble``: metrics beside the best of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from bsx.analysis.train import run as training
from bsx.analysis.train.run import CurveSettings, TrainSettings
from bsx.cli.options import Full, Plot, Printed, command
from bsx.cli.output import WholeSummaries, answer, group, say

_ONE = "ARCHITECTURE"


class _OneOrCurve(WholeSummaries):
    """``bsx train ARCHITECTURE TABLE…`` is a command without a name of its own, beside those that have one."""

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Return the command that arguments begin with; where that is none's name, they are for the one without."""
        if args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        return "", self.commands[_ONE], args


train = group(no_args_is_help=True, cls=_OneOrCurve)


@train.command(_ONE)
@command(TrainSettings)
def train_one(settings: TrainSettings, format: Printed = "text") -> None:
    """Train a metric on human scores: esim and bilstm-attention see the other text, bilstm reads each by itself."""
    how = "the same command with --resume goes on from there"
    with kept_on_interrupt(settings.output, how):
        answer(training.train, settings, training.files_of(settings), format, say=_tell)


@train.command()
@command(CurveSettings)
def curve(settings: CurveSettings, plot: Plot = None, format: Printed = "text", full: Full = False) -> None:
    """Train on growing parts of the data and measure agreement with human judgments (Mathur et al. 2019, figure 1)."""
    with kept_on_interrupt(settings.output, "the same command goes on from there"):
        answer(training.train_curve, settings, training.files_of(settings), format, full=full, plot=plot, say=_tell)


def _tell(line: str) -> None:
    print(f"bsx: {line}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def kept_on_interrupt(folder: Path, how: str) -> Iterator[None]:
    """Say at Ctrl-C what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.is_dir():
            say([f"{folder} keeps what is done; {how}"])
        raise
