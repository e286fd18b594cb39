"""Hostile inputs: each input of each command, damaged in each way, is answered as expected."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.world import RIGHT, command

# What is done to a file: name -> (its content, made of the right one; the classes of answer that are expected).
# "ok": status 0; "error": one line with status 2.
DAMAGES: dict[str, tuple[Callable[[bytes], bytes], frozenset[str]]] = {
    "empty": (lambda _: b"", frozenset({"error"})),
    "blank": (lambda _: b"\n\n \n", frozenset({"ok", "error"})),
    "one line": (lambda raw: raw.split(b"\n")[0] + b"\n", frozenset({"ok", "error"})),
    "half": (lambda raw: raw[: len(raw) // 2], frozenset({"ok", "error"})),
    "no end of line": (lambda raw: raw.rstrip(b"\n"), frozenset({"ok"})),
    "carriage returns": (lambda raw: raw.replace(b"\n", b"\r\n"), frozenset({"ok"})),
    "byte order mark": (lambda raw: b"\xef\xbb\xbf" + raw, frozenset({"ok"})),
    "UTF-16": (lambda raw: raw.decode().encode("utf-16"), frozenset({"ok"})),
    "NUL": (lambda raw: raw[:40] + b"\0" + raw[40:], frozenset({"error"})),
    "not UTF-8": (lambda raw: raw[:40] + b"\xff\xfe" + raw[40:], frozenset({"error"})),
    "surrogate": (lambda raw: raw[:40] + b"\xed\xa0\x80" + raw[40:], frozenset({"error"})),
    "zeros": (lambda raw: bytes(len(raw)), frozenset({"error"})),
    "gzip in name only": (lambda _: b"\x1f\x8b\x08\0broken", frozenset({"error"})),
    "ragged": (lambda raw: raw + b"x\ty\tz\n", frozenset({"ok", "error"})),
    "nan": (lambda raw: _cell(raw, b"nan"), frozenset({"ok", "error"})),
    "infinite": (lambda raw: _cell(raw, b"inf"), frozenset({"ok", "error"})),
    "beyond floats": (lambda raw: _cell(raw, b"1e400"), frozenset({"ok", "error"})),
    "long number": (lambda raw: _cell(raw, b"9" * 5000), frozenset({"ok", "error"})),
    "long cell": (lambda raw: _cell(raw, b"word " * 20_000), frozenset({"ok", "error"})),
    "HTML": (lambda raw: _cell(raw, b"<script>alert(1)</script>|`*"), frozenset({"ok", "error"})),
    "columns twice": (
        lambda raw: b"\n".join(line + b"\t" + line for line in raw.split(b"\n")),
        frozenset({"ok", "error"}),
    ),
}
# What stands in the place of a file.
PLACES = ("missing", "folder", "device", "empty name", "unreadable name")


def _cell(raw: bytes, cell: bytes) -> bytes:
    """Put a cell in the place of the last one of the second line."""
    lines = raw.split(b"\n")
    at = min(1, len(lines) - 1)
    lines[at] = b"\t".join([*lines[at].split(b"\t")[:-1], cell])
    return b"\n".join(lines)


def inputs(name: str) -> list[str]:
    """Return the inputs that a right call names."""
    files = (word for word in shlex.split(RIGHT[name]) if word.endswith((".tsv", ".txt", ".csv", ".jsonl")))
    return list(dict.fromkeys(file for file in files if "{out}" not in file))


def cases() -> Iterator[tuple[str, str, str]]:
    """Yield command, input and what is done to it."""
    for name in RIGHT:
        for file in inputs(name):
            for what in (*DAMAGES, *PLACES):
                yield name, file, what


CASES = list(cases())


def refuse_constant(constant: str) -> None:
    raise AssertionError(f"{constant} in JSON")


def digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file under a folder."""
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("*") if file.is_file()}


def problem(case: tuple[str, str, str], world: Path, out: Path, run: Callable[..., Any]) -> str | None:
    """Run a case; return what is wrong with the answer, if anything."""
    name, file, what = case
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    damaged = out.parent / "damaged" / file
    shutil.rmtree(damaged.parent, ignore_errors=True)
    damaged.parent.mkdir()
    instead, expected = str(damaged), frozenset({"error"})
    if what in DAMAGES:
        change, expected = DAMAGES[what]
        damaged.write_bytes(change((world / file).read_bytes()))
    else:
        instead = {"folder": str(damaged.parent), "device": "/dev/null", "empty name": "", "missing": instead}.get(
            what, "a\nb.tsv"
        )
    before = digests(world) | digests(damaged.parent)
    right = [instead if word == file else word for word in shlex.split(RIGHT[name].format(out=out))]
    try:
        done = run(*command(name), *right)
    except BaseException as error:  # noqa: BLE001 - a traceback is what is looked for
        return f"{type(error).__name__}: {str(error)[:150]}"
    if digests(world) | digests(damaged.parent) != before:
        return "an input changed, or a file was left beside it"
    answer = {0: "ok", 2: "error"}.get(done.status, str(done.status))
    if answer not in expected and not (answer == "error" and what == "no end of line"):
        return f"answers {answer}, not {' or '.join(sorted(expected))}: {done.err[-200:]}"
    if answer == "error" and done.err.splitlines()[-1:] != [line for line in done.err.splitlines() if "error:" in line]:
        return f"more than one line of error: {done.err[-300:]}"
    if "Traceback" in done.err:
        return "a traceback"
    if answer == "error" and any(path.is_file() for path in out.rglob("*")):
        return f"left {[path.name for path in out.rglob('*')]}"
    for text in (done.out, *(path.read_text(encoding="utf-8") for path in out.rglob("*.json") if path.is_file())):
        if text.startswith(("{", "[")):
            json.loads(text, parse_constant=refuse_constant)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", list(dict.fromkeys(name for name, _, _ in CASES)))
def test_damaged_inputs_are_answered(
    name: str, world: Path, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    found = {case[1:]: problem(case, world, tmp_path / "out", cli) for case in CASES if case[0] == name}
    assert {case: what for case, what in found.items() if what is not None} == {}


def test_there_are_many_cases() -> None:
    assert len(CASES) > 500
