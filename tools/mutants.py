"""Measure how strong the tests are: small changes of meaning, drawn by chance, and what notices them.

``python tools/mutants.py draw`` draws the changes of ``tests/mutants.tsv`` anew (fixed seed, so many of each area);
``python tools/mutants.py run`` makes a copy of the checkout that holds all of them at once, each behind a switch, runs
``make test``'s tests once to see which of them come by which change, and then those tests again for each change, until
one fails. It writes the outcome into the list and ends with a table by area. ``equivalent: WHY`` in the column
``outcome`` takes a change out of the count: it changes nothing that anybody could see.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants.tsv"
FIELDS = ("area", "file", "function", "line", "before", "after", "nth", "outcome")
SEED = 57
AREAS = {
    "match": (8, ["bsx/match"]),
    "bertscore": (8, ["bsx/bertscore"]),
    "metrics": (12, ["bsx/metrics"]),
    "stats": (10, ["analysis/stats"]),
    "agreement": (7, ["analysis/meta", "analysis/compare"]),
    "disentangling": (7, ["analysis/disentangle"]),
    "models": (8, ["bsx/models"]),
}
# What runs in environments of its own.
NOT_DRAWN = ("workers/",)
# Checks of the code itself and of whole pages, which a copy with switches cannot pass.
NOT_RUN = [f"--ignore=tests/test_{name}.py" for name in ("docs", "notebooks", "packaging", "rooms", "words", "types")]
NOT_RUN += [f"--ignore=tests/{name}.py" for name in ("test_signatures", "data/test_writes")]
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
EXTREMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmax": "argmin",
    "argmin": "argmax",
}
SWITCH = '''"""Which change is made."""

import contextlib
import os

_CHOSEN = int(os.environ.get("MUTANT", "-1"))
_LOG = os.environ.get("MUTANT_LOG")
_SEEN = set()


def mutant(number):
    if _LOG:
        key = f"{number}\\t{os.environ.get('PYTEST_CURRENT_TEST', 'import').rpartition(' ')[0]}\\n"
        if key not in _SEEN:
            _SEEN.add(key)
            with contextlib.suppress(OSError), open(_LOG, "a") as stream:  # some tests limit what may be written
                stream.write(key)
    return number == _CHOSEN
'''


def changed(node: ast.AST) -> ast.expr | None:
    """Return the expression that means a little else, or None for an expression that is left as it is."""
    new: Any = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            new.ops = [SWAPPED[type(op)]()]
        case ast.BinOp(op=op) if type(op) in SWAPPED and not any(map(_text, (new.left, new.right))):
            new.op = SWAPPED[type(op)]()
        case ast.BoolOp(op=op):
            new.op = SWAPPED[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return new.operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value)):
            new.value = value + 1
        case ast.Constant(value=float(value)):
            new.value = 1.5 * value if value else 1.0
        case ast.Call(func=ast.Name(id=name)) if name in EXTREMES:
            new.func = ast.Name(EXTREMES[name], ast.Load())
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in EXTREMES:
            new.func = ast.Attribute(value, EXTREMES[name], ast.Load())
        case _:
            return None
    return new if isinstance(new, ast.expr) else None


def _text(node: ast.expr) -> bool:
    """Whether an operand is text or a path, of which another operation would be an error rather than a change."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
        return True
    return re.search(r"path|folder|home|parent|root", ast.unparse(node), re.IGNORECASE) is not None


class Place(NamedTuple):
    """An expression that can be changed.

    Attributes:
        key: function, old and new text, and which of its like it is, so that the list outlives moved lines.
        parent: the node that holds it, in ``field``, at ``position`` if that is a list.
        old: as it is.
        new: as it would be.
    """

    key: tuple[str, str, str, str]
    parent: ast.AST
    field: str
    position: int | None
    old: ast.expr
    new: ast.expr


def places(tree: ast.Module) -> list[Place]:
    """Return all places of a module."""
    found: list[Place] = []
    seen: Counter[tuple[str, str, str]] = Counter()

    def note(function: str, parent: ast.AST, field: str, index: int | None, old: ast.expr, new: ast.expr) -> None:
        key = (function, ast.unparse(old), ast.unparse(ast.fix_missing_locations(new)))
        seen[key] += 1
        found.append(Place((*key, str(seen[key])), parent, field, index, old, new))

    def walk(node: ast.AST, function: str) -> None:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.Assert):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        if isinstance(node, ast.If) and not node.orelse and function and not isinstance(node.body[0], ast.Raise):
            note(function, node, "test", None, node.test, ast.Constant(False))
        skipped = ("annotation", "returns", "decorator_list", "bases")
        for field, value in ast.iter_fields(node):
            if field in skipped or (field == "keywords" and isinstance(node, ast.ClassDef)):
                continue
            several = isinstance(value, list)
            for index, child in enumerate(value if several else [value]):
                if not isinstance(child, ast.AST):
                    continue
                if function and isinstance(child, ast.expr) and (new := changed(child)) is not None:
                    note(function, node, field, index if several else None, child, new)
                walk(child, function)

    walk(tree, "")
    return found


def drawn() -> list[dict[str, str]]:
    """Draw the changes: of each area so many, of a function at most one."""
    rng, rows = random.Random(SEED), []  # noqa: S311 - no secret
    for area, (count, folders) in AREAS.items():
        found: list[dict[str, str]] = []
        for file in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if any(part in name for part in NOT_DRAWN):
                continue
            for place in places(ast.parse(file.read_text(encoding="utf-8"))):
                function, *texts = place.key
                row = (area, name, function, str(place.old.lineno), *texts, "")
                found.append(dict(zip(FIELDS, row, strict=True)))
        rng.shuffle(found)
        once = {(row["file"], row["function"]): row for row in reversed(found)}
        rows += list(once.values())[::-1][:count]
    return rows


def switched(rows: list[dict[str, str]], target: Path) -> set[int]:
    """Write all changes into a copy of the checkout, each behind its switch; return those whose place is gone."""
    shutil.copytree(ROOT, target, symlinks=True, ignore=shutil.ignore_patterns(".venv*", ".git", ".*_cache", "site"))
    if (ROOT.parent / "shared").is_dir():
        (target.parent / "shared").symlink_to(ROOT.parent / "shared")
    (target / ".venv").symlink_to(ROOT / ".venv")
    (target / "bsx" / "switch.py").write_text(SWITCH)
    by_file: dict[str, dict[tuple[str, str, str, str], int]] = defaultdict(dict)
    for number, row in enumerate(rows):
        by_file[row["file"]][row["function"], row["before"], row["after"], row["nth"]] = number
    gone: set[int] = set()
    for name, wanted in by_file.items():
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        for place in places(tree):
            if place.key not in wanted:
                continue
            number = wanted.pop(place.key)
            call = ast.Call(ast.Name("mutant", ast.Load()), [ast.Constant(number)], [])
            put = ast.IfExp(call, place.new, place.old)
            if place.position is None:
                setattr(place.parent, place.field, put)
            else:
                getattr(place.parent, place.field)[place.position] = put
        gone |= set(wanted.values())
        first = next(i for i, node in enumerate(tree.body) if not _leads(node))
        tree.body.insert(first, ast.ImportFrom("bsx.switch", [ast.alias("mutant")], 0))
        (target / name).write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    return gone


def _leads(node: ast.stmt) -> bool:
    """Whether a statement must stand first: the docstring, ``from __future__``."""
    return isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def pytest(folder: Path, arguments: list[str], **variables: str) -> tuple[int, str]:
    """Run tests of a copy, and return exit status and output."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder), **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow and not hub", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def outcome(folder: Path, file: str, number: int, nodes: set[str]) -> str:
    """Say which test fails under a change: those of its room that come by it, all others of its room, the rest.

    What runs when a class is made or a module is imported, only the first test comes by.
    """
    parts = Path(file).parts
    room = "/".join(["tests", *parts[parts[0] == "bsx" : 2]])
    here = sorted(node for node in nodes if node.startswith(f"{room}/"))
    whole = [room] if (folder / room).is_dir() else []
    for chosen in (here, whole, sorted(nodes.difference(here))):
        if not chosen:
            continue
        status, output = pytest(folder, [*chosen, "-x", *NOT_RUN], MUTANT=str(number))
        if failed := re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE):
            return f"noticed by {failed[1]}"
        if status < 0:
            return f"noticed by a crash in {room}"
        if status not in (0, 5):
            sys.exit(f"{file}: pytest ended with {status}, of which nothing can be said:\n{output[-3000:]}")
    return "survived"


def run(jobs: int, only: Callable[[dict[str, str]], bool]) -> None:
    """Run the list, write what came out, and print the table."""
    with LIST.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder, log = Path(name) / "copy", Path(name) / "log"
        gone = switched(rows, folder)
        log.touch()
        status, output = pytest(folder, ["-n", str(jobs), *NOT_RUN], MUTANT_LOG=str(log))
        if status:
            sys.exit(f"Without any change, tests fail:\n{output[-3000:]}")
        nodes: dict[int, set[str]] = defaultdict(set)
        for line in log.read_text().splitlines():
            number, _, node = line.partition("\t")
            if node:
                nodes[int(number)].add(node)
        todo = [n for n, row in enumerate(rows) if not row["outcome"].startswith("equivalent") and only(row)]

        def one(number: int) -> None:
            row = rows[number]
            row["outcome"] = "gone" if number in gone else outcome(folder, row["file"], number, nodes[number])
            print(f"{row['file']}:{row['function']}: {row['before']} -> {row['after']}: {row['outcome']}", flush=True)

        try:
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(one, todo))
        finally:
            write(rows)
    for area in AREAS:
        kinds = Counter(row["outcome"].split()[0].strip(":,") for row in rows if row["area"] == area)
        print(f"{area:<15}{', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}")


def write(rows: list[dict[str, str]]) -> None:
    """Write the list."""
    with LIST.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "run"))
    parser.add_argument("-n", dest="jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--survived", action="store_true", help="run only those that no test has noticed so far")
    given = parser.parse_args()
    if given.what == "draw":
        write(drawn())
    else:
        run(given.jobs, lambda row: not given.survived or not row["outcome"].startswith("noticed"))
