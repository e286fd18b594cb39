"""Print through which files the data of a command flow: `python tools/house.py [score] [meta] [disentangle]`.

Each command runs on the shipped example files, in a process of its own, and functions of bsx are noted from where the
command's own function begins: a file stands where the first of its functions was called. What runs while modules are
imported counts for nothing. What all commands share stands apart, group by group.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import sys
import tempfile
import threading
import tomllib
from importlib.resources import files
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
OURS = (f"{ROOT}/bsx/", f"{ROOT}/analysis/")
ROOMS = tomllib.loads((ROOT / "rooms.toml").read_text(encoding="utf-8"))["rooms"]
GROUPS = {
    "bsx.data": "data",
    "bsx.analysis.stats": "statistics",
    "bsx.analysis.present": "parts",
    "bsx.cli": "command line",
    "bsx.support": "support",
    "bsx.errors": "support",
}
"""Rooms that all commands share -> how they are summed up."""
TABLE = "scores.tsv"
MADE = (
    f"score systems.tsv --candidate atlas --metrics chrf,sentbleu -o {TABLE}",
    f"factors {TABLE} --candidate atlas --reference reference --factors syn,lex --parses1 reference.conllu "
    "--parses2 atlas.conllu -o factors.tsv",
)
"""What is made first, not counted: a table of scores, and of factors."""
CHAINS = {
    "score": "score systems.tsv --candidate atlas --model minilm",
    "meta": f"meta {TABLE} --columns chrf,sentbleu --human atlas_grade",
    "disentangle": "disentangle factors.tsv --columns chrf,sentbleu",
}


def run(line: str, folder: str, counted: bool = True) -> list[str]:
    """Run a command and return the files whose functions it called, in order."""
    from bsx.cli.commands import call

    name, *rest = line.split()
    shipped = {file.name.removeprefix("en-"): str(file) for file in files("bsx.examples").iterdir()}
    arguments = [name, *(shipped.get(w, f"{folder}/{w}" if w.endswith(".tsv") else w) for w in rest)]
    seen: dict[str, None] = {}
    importing = 0

    def begins(code: CodeType) -> bool:
        return code.co_name == name and code.co_filename.startswith(f"{ROOT}/bsx/cli/")

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing and (code.co_filename.startswith(OURS) if seen else begins(code)):
            seen.setdefault(code.co_filename)

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if counted:
            threading.setprofile(look)
            sys.setprofile(look)
        try:
            status = call(arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    if status:
        raise SystemExit(f"{line}: exit status {status}")
    return [Path(file).resolve().relative_to(ROOT).as_posix() for file in seen]


def room(file: str) -> str:
    """Return the room that a file stands in."""
    name = file.removesuffix(".py").replace("/", ".")
    name = name if name.startswith("bsx.") else f"bsx.{name}"
    return max((one for one in (*ROOMS, *GROUPS) if f"{name}.".startswith(f"{one}.")), key=len, default="bsx")


def chain(line: str, found: list[str]) -> str:
    """Return the files of a command, its own first, with their lines, and sums."""
    lines = {file: (ROOT / file).read_text(encoding="utf-8").count("\n") for file in found}
    groups: dict[str, list[str]] = {group: [] for group in ("own", *GROUPS.values())}
    for file in found:
        groups[GROUPS.get(room(file), "own")].append(file)
    shown = [f"bsx {line}: {len(found)} files, {sum(lines.values()):,} lines"]
    for group, of in groups.items():
        shown.append(f"\n  {group}: {len(of)} files, {sum(lines[file] for file in of):,} lines")
        shown += [f"{lines[file]:>7}  {file:<48} {room(file)}" for file in of]
    return "\n".join(shown)


def main(names: list[str]) -> None:
    if unknown := [name for name in names if name not in CHAINS]:
        raise SystemExit(f"{unknown[0]}: none of {', '.join(CHAINS)}")
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        for line in MADE:
            run(line, folder, counted=False)
        for name in names or CHAINS:
            with multiprocessing.get_context("spawn").Pool(1) as alone:  # what another command cached is called again
                print(chain(CHAINS[name], alone.apply(run, (CHAINS[name], folder))), end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
