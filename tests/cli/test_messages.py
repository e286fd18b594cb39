"""The library names no command and no option: the command line adds its own spelling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from bsx.cli.commands import COMMANDS
from bsx.cli.messages import spelled

ROOT = Path(__file__).resolve().parent.parent.parent
NAMED = re.compile(rf"(?<![\w.])bsx (?:{'|'.join(COMMANDS)})\b|(?<![\w-])--[a-z]")


def raised(file: Path) -> Iterator[str]:
    """Yield the texts of the errors that a module raises."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_errors_of_the_library_name_no_command() -> None:
    files = [*(ROOT / "bsx").rglob("*.py"), *(ROOT / "analysis").rglob("*.py")]
    found = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in files
        if "cli" not in file.relative_to(ROOT).parts
        for text in raised(file)
        if NAMED.search(text)
    ]
    assert not found


def test_calls_that_the_library_names_are_spelled_as_commands() -> None:
    for said, spelling in {
        "`bsx.load_registry().models` lists all": "`bsx models` lists all",
        "`bsx.load_registry().metrics` lists all": "`bsx metrics` lists all",
        "`bsx.load_registry().languages` lists all": "`bsx models --languages` lists all",
        "`bsx.Scorer('minilm')` fetches it": "`bsx models pull minilm` fetches it",
        "`bsx.analysis.get_dataset('paws')` fetches it": "`bsx data get paws` fetches it",
        "`bsx.jobs.fit_alignment(…)` fits one": "`bsx metrics fit-alignment` fits one",
        "as to `bsx.score(…)`": "as to `bsx score`",
        "`bsx.jobs.train(…, resume=True)` goes on": "`bsx train … --resume` goes on",
    }.items():
        assert spelled(said) == spelling
