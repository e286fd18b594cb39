"""Rows of systems that do not belong together, and names that cannot be told apart in print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.analysis.meta.run import meta_evaluate
from bsx.data.long import rows_by_system
from bsx.data.pairing import Pairing, printed, refuse_alike
from bsx.errors import InputError
from tests.conftest import Cli, Outcome
from tests.helpers.tables import write_rows

ALIKE = ["S1 ", " S1", "S1\u00a0", "S1\u200b", "S1\ufeff", "\u3000S1", "S1\u2800", "S\u00ad1"]


@pytest.mark.parametrize(
    ("name", "other"), [*(("S1", other) for other in ALIKE), ("a b", "a  b"), ("\u00e1", "a\u0301")]
)
def test_what_looks_the_same_is_refused_and_spelled_out(name: str, other: str) -> None:
    refuse_alike(["S1", "S2", "S1", "S 1", "s1", "a b", "ab", "a-b", "\u00e1", "à", "a", "x²", "x2"], "here")
    with pytest.raises(InputError) as refused:
        refuse_alike([name, "S2", other], "here")
    assert ascii(other) in str(refused.value)
    assert printed(other) == name


def counts(pairing: Pairing, **how: bool) -> list[int]:
    return [int(note.split()[0]) for note in pairing.notes(**how)]


def test_rows_are_counted() -> None:
    whole = Pairing()
    for system in "AB":
        for segment in range(5):
            whole.add(system, segment, ("a reference", segment))
    assert whole.notes() == []
    assert Pairing().notes() == []
    whole.add("A", 3, ("a reference", 3))  # twice
    whole.add("A", 3, ("a reference", 3))
    assert counts(whole) == [2]
    whole.add("C", 3, ("a reference", 3))  # the other four are missing
    assert counts(whole) == [2, 4]
    assert counts(whole, missing=False) == [2]
    whole.add("C", 4, ("another reference", 4))
    assert counts(whole) == [2, 3, 1]
    apart = Pairing()  # systems that share no segment lack none
    for system in "AB":
        for segment in range(3):
            apart.add(system, f"{system}{segment}")
    assert apart.notes() == []


def test_segments_with_other_texts_are_no_pairs() -> None:
    systems, segments = ["A", "A", "B", "B"], ["1", "2", "2", "1"]
    assert [rows.tolist() for rows in rows_by_system("t", systems, segments, texts=[1, 2, 2, 1]).values()] == [
        [0, 1],
        [3, 2],
    ]
    with pytest.raises(InputError, match="row 3.*row 2"):
        rows_by_system("t", systems, segments, texts=[1, 2, 3, 1])
    assert len(rows_by_system("t", [*systems, "C", "C"], [*segments, "1", "2"], ["A", "B"], [1, 2, 2, 1, 9, 9])) == 2


HEADER = ("system", "segment", "candidate", "reference", "source", "human", "metric", "other")


def write(file: Path, change: dict[tuple[int, str], str] | None = None, leave: tuple[int, ...] = ()) -> Path:
    """Write a table of three systems on eight segments, with some cells changed and some rows left out."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(24):
        system, segment = divmod(number, 8)
        reference = f"the cat {segment} sat on mat {segment * segment}"
        noise = [f"{value:.3f}" for value in rng.normal(size=3)]
        cells = (f"S{system}", f"s{segment}", f"a cat {number} sat", reference, f"chat {segment}", *noise)
        row = dict(zip(HEADER, cells, strict=True)) | {c: v for (at, c), v in (change or {}).items() if at == number}
        if number not in leave:
            rows.append(row)
    if file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return file
    return write_rows(file, rows)


COMMANDS = {
    "score": "score {file} --metrics chrf",
    "compare": "compare {file} --metrics chrf --resamples 50",
    "compare --columns": "compare {file} --columns metric --resamples 50",
    "meta": "meta {file} --columns metric --human human --resamples 50",
    "meta --metrics": "meta {file} --metrics chrf --human human --resamples 50",
    "meta --level sys": "meta {file} --columns metric --human human --level sys --resamples 50",
    "ensemble": "ensemble {file} --columns metric,other --human human --how mean --resamples 50",
    "report": "report {file} --columns metric -o {file}.html",
}


def run(cli: Cli, command: str, file: Path) -> Outcome:
    """Run a command; its errors are all that it says to people: notes stand in a text that it prints, too."""
    done = cli(*COMMANDS[command].format(file=file).split())
    if command == "report" and done.status == 0:  # it says so in the page
        return Outcome(done.status, done.out, file.with_name(f"{file.name}.html").read_text())
    text = "" if "--format json" in COMMANDS[command] else done.out
    return Outcome(done.status, done.out, text + done.err)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", ["t.tsv", "t.jsonl"])
def test_alike_names_are_refused_by_every_command(cli: Cli, command: str, form: str, tmp_path: Path) -> None:
    done = run(cli, command, write(tmp_path / form))
    assert done.status == 0, done.err
    done = run(cli, command, write(tmp_path / form, {(0, "system"): "S0\u00a0"}))
    assert (done.status, done.err.count("\n")) == (2, 1), done.err
    assert r"\xa0" in done.err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("column", ["reference", "source"])
def test_other_texts_within_a_segment(cli: Cli, command: str, column: str, tmp_path: Path) -> None:
    assert "what is called one segment" not in run(cli, command, write(tmp_path / "t.tsv")).err
    done = run(cli, command, write(tmp_path / "t.tsv", {(9, column): "something else"}))
    if command.startswith("compare"):
        if command == "compare --columns" or column == "reference":  # chrF reads no sources
            assert (done.status, done.err.count("\n")) == (2, 1)
            assert "'s1'" in done.err
    elif column == "reference" or command not in ("score", "meta --metrics"):
        assert done.status == 0
        assert done.err.count("1 of 8 segments") == (2 if command == "report" else 1)  # its head says it, too


@pytest.mark.parametrize(
    ("command", "change", "leave", "told"),
    [
        *((command, {}, (3, 9), "2 of 24 pairs") for command in ("score", "meta --level sys", "report")),
        ("score", {(9, "segment"): "s0", (10, "segment"): "s0 "}, (), "2 of 24 rows have the system and segment"),
    ],
)
def test_rows_that_are_missing_or_there_twice_are_counted(
    cli: Cli, command: str, change: dict[tuple[int, str], str], leave: tuple[int, ...], told: str, tmp_path: Path
) -> None:
    done = run(cli, command, write(tmp_path / "t.tsv", change, leave))
    assert done.status == 0, done.err
    assert done.err.count(told) == (2 if command == "report" else 1)
    assert told[1:] not in run(cli, command, write(tmp_path / "t.tsv")).err


@pytest.mark.parametrize("source", [["t.tsv", "--columns", "metric"], ["t.tsv", "--metrics", "chrf"]])
def test_a_pair_that_is_there_twice_is_named_where_rows_cannot_be_independent(
    cli: Cli, source: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.tsv", {(9, "segment"): "s0"})
    assert cli("meta", *source, "--resamples", "50").status == 0  # of independent rows
    for how in ("--level sys", "--level hybrid", "--detail grouping=item", "--statistic acc_eq", "--resample systems"):
        done = cli("meta", *source, *how.split(), "--resamples", "50")
        assert (done.status, done.err.count("\n")) == (2, 1), done.err
        assert "'S1'" in done.err
        assert "'s0'" in done.err
    write(tmp_path / "t.tsv", leave=tuple(range(8, 24)))  # one system
    done = cli("meta", *source, "--level", "sys", "--resamples", "50")
    assert done.status == 2
    assert "1 systems are too few" in done.err


def test_systems_that_share_no_segment_are_named(cli: Cli, tmp_path: Path) -> None:
    leave = (*range(4, 8), *range(8, 12))  # S0 has the first half, S1 the second
    done = run(cli, "meta --level sys", write(tmp_path / "t.tsv", leave=leave))
    assert (done.status, done.err.count("\n")) == (2, 1), done.err
    assert "'S0' and 'S1'" in done.err


def test_segments_whose_names_differ_in_nothing_that_shows_are_counted(cli: Cli, tmp_path: Path) -> None:
    counted = ("score", "report")
    for command in counted:
        assert "segments have names" not in run(cli, command, write(tmp_path / "t.tsv")).err
    table = write(tmp_path / "t.tsv", {(9, "segment"): "s1 ", (10, "segment"): "s2\u200b"})
    for command in COMMANDS:
        done = run(cli, command, table)
        assert done.status == (0 if command in counted else 2), done.err
        assert ("2 of 8 segments have names" if command in counted else "look the same") in done.err


def test_files_and_columns_of_alike_names(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("S1", "S1\u2009", "r"):
        Path(name).write_text("a b\n")
    done = cli("score", "-c", "S1", "-c", "S1\u2009", "-r", "r", "--metrics", "chrf")
    assert done.status == 2
    assert r"\u2009" in done.err
    Path("t.tsv").write_text("A\tA \treference\na\tb\tc\n")
    assert cli("score", "t.tsv", "--candidate", "A", "--candidate", "A ", "--metrics", "chrf").status == 2


def test_systems_in_memory() -> None:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "m": rng.normal(size=30),
        "h": rng.normal(size=30),
        "system": [f"S{row // 10}" for row in range(30)],
        "segment": [str(row % 10) for row in range(30)],
    }
    how: dict[str, Any] = {"system": "system", "segment": "segment", "level": "sys", "resamples": 50}
    assert not any("have no row" in note for note in meta_evaluate(columns, ["m"], "h", **how).notes)
    less = {name: values[1:] for name, values in columns.items()}
    assert sum("1 of 30" in note for note in meta_evaluate(less, ["m"], "h", **how).notes) == 1
    columns["system"][0] = "S0 "
    with pytest.raises(InputError, match="look the same"):
        meta_evaluate(columns, ["m"], "h", **how)
