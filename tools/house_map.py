"""Show the map of the house on the documentation's website: rooms from rooms.toml, files from their docstrings.

mkdocs calls this file as a hook; `python tools/house_map.py` prints the page.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROOMS: dict[str, list[str]] = tomllib.loads((ROOT / "rooms.toml").read_text(encoding="utf-8"))["rooms"]
ANALYSIS = "bsx.analysis."


def folder(room: str) -> Path:
    """Return where a room's files are, or its one file; bsx/analysis is a link to the folder beside it."""
    path = room.replace(".", "/")
    place = ROOT / path.removeprefix("bsx/") if room.startswith(ANALYSIS) else ROOT / path
    return place if (place / "__init__.py").is_file() else place.with_suffix(".py")


def summary(file: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not text:
        raise SystemExit(f"{file.relative_to(ROOT)}: has no docstring")
    first = " ".join(text.partition("\n\n")[0].split())
    return re.sub(r"\.$", "", re.split(r"(?<=\.) (?=[A-Z])", first)[0]).replace("|", "\\|").replace("``", "`")


def floors(prefix: str) -> list[list[str]]:
    """Return the rooms below one name by floor, the highest first: a room stands above all that it may import."""
    height: dict[str, int] = {}
    for room, below in ROOMS.items():  # the table goes from the ground floor up
        known = height.values() if below == ["*"] else (height[other] for other in below)
        height[room] = 1 + max(known, default=0)
    wanted = [room for room in ROOMS if room.startswith(ANALYSIS) == (prefix == ANALYSIS)]
    levels = sorted({height[room] for room in wanted}, reverse=True)
    return [[room.removeprefix(prefix) for room in wanted if height[room] == level] for level in levels]


def drawing() -> str:
    """Return both halves of the house as text, one floor a line."""
    halves = {"bsx/": floors("bsx."), "analysis/ (installed as bsx.analysis)": floors(ANALYSIS)}
    lines = []
    for title, stairs in halves.items():
        lines += [title, *(f"  {'   '.join(floor)}" for floor in stairs), ""]
    return "\n".join(["```text", *lines[:-1], "```"])


def table() -> str:
    """Return a row for each room."""
    places = [folder(room) for room in ROOMS]
    names = [place.relative_to(ROOT).as_posix() for place in places]
    rows = [
        f"| `{n}/` | {summary(p / '__init__.py')} |" if p.is_dir() else f"| `{n}` | {summary(p)} |"
        for n, p in zip(names, places, strict=True)
    ]
    return "\n".join(["| room | what it holds |", "|---|---|", *rows])


def contents() -> str:
    """Return a list of files for each room, folded away."""
    parts = []
    for place in filter(Path.is_dir, map(folder, ROOMS)):
        rows = [
            f"| `{file.relative_to(place).as_posix()}` | {summary(file)} |"
            for file in sorted(place.rglob("*.py"))
            if file.name != "__init__.py"
        ]
        name = place.relative_to(ROOT).as_posix()
        head = f"<details><summary><code>{name}/</code></summary>"
        parts += [head, "", "| file | what it holds |", "|---|---|", *rows, "", "</details>"]
    return "\n".join(parts)


def page() -> str:
    """Return the page."""
    return f"""# The map of the house

The code stands in rooms: folders of topical files. `rooms.toml` declares which room may import which. This page is made
from it and from the first sentences of the files whenever the documentation is built.

{drawing()}

{table()}

## Files

{contents()}
"""


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the page; mkdocs calls this before it reads the navigation."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference/house.md", content=page()))
    return files


if __name__ == "__main__":
    print(page())
