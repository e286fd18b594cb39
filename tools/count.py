"""Count the house, in one way for everybody: `python tools/count.py [FOLDER]`, or `make house`.

Lines are those of tracked files. Statements are those of Python's syntax tree without docstrings and imports. Options
are those of all commands, and each key of an option that several settings share counts as one; counting them needs the
packages of bsx.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = (".js", ".css", ".html", ".jinja")
PYTHON = ("bsx", "analysis", "tests", "benchmarks", "tools")


def tracked(root: Path) -> dict[str, str]:
    """Return the text of each tracked file that is no link, by name."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout
    paths = [root / name for name in listed.splitlines()]
    real = [path for path in paths if path.is_file() and not any(p.is_symlink() for p in (path, *path.parents))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in real}


def commands(command: Any) -> Iterator[Any]:
    """Yield a command and those below it."""
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from commands(below)


def main(root: Path) -> None:
    texts = tracked(root)
    lines: Counter[str] = Counter()
    for name, text in texts.items():
        top, end = name.split("/")[0], Path(name).suffix
        if end == ".py" and top in PYTHON:
            lines[top] += text.count("\n")
        elif top in ("bsx", "analysis") and end in PAGE:
            lines["page (js css html)"] += text.count("\n")
        elif end in (".yaml", ".yml"):
            lines["yaml"] += text.count("\n")
    words = sum(len(text.split()) for name, text in texts.items() if name.startswith("docs/") and name.endswith(".md"))
    product = {n: text for n, text in texts.items() if n.endswith(".py") and n.split("/")[0] in ("bsx", "analysis")}
    rooms, private, used = Counter[str](), Counter[str](), Counter[str]()
    functions, made, imports = [], 0, 0
    for name, text in product.items():
        rooms["/".join(name.split("/")[: 1 + (name.count("/") > 1)])] += text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports += (node.end_lineno or 0) - node.lineno + 1
            elif isinstance(node, ast.stmt):
                made += not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((node.end_lineno or 0) - node.lineno + 1)
                private[node.name] += node.name.startswith("_") and not node.name.startswith("__")
            elif isinstance(node, ast.Name | ast.Attribute):
                used[node.id if isinstance(node, ast.Name) else node.attr] += 1
    both = lines["bsx"] + lines["analysis"]
    once = sum(count == 1 and used[name] == 1 for name, count in private.items())
    longest = sorted(((text.count("\n"), name) for name, text in product.items()), reverse=True)
    print("lines:", dict(lines), "| bsx + analysis:", both, "| without bsx/ui:", both - rooms["bsx/ui"])
    print("modules:", len(product), "| statements:", made, "| import lines:", imports, "| docs words:", words)
    median = statistics.median(functions)
    print("functions:", len(functions), "median lines", median, "| private ones used once:", once)
    print("longest modules:", longest[:5])
    print("rooms:", rooms.most_common())
    sys.path.insert(0, str(root))
    try:
        import typer.main

        from bsx.cli.commands import COMMANDS, build
    except ImportError as error:
        print("options: not counted,", error)
        return
    every = list(commands(typer.main.get_group(build(list(COMMANDS)))))
    options = [p for one in every for p in one.params if type(p).__name__.endswith("Option") and p.name != "help"]
    leaves, distinct = sum(not getattr(one, "commands", {}) for one in every), {o for p in options for o in p.opts}
    keys = sum(text.count("folded=") for text in product.values())
    print(
        f"commands: {leaves} | options: {len(options)} | keys of composite options: {keys} | distinct: {len(distinct)}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
