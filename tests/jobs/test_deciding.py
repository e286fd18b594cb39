"""`bsx mbr`: files of lists in every layout, decisions and scores out, and runs that go on where they were stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bsx
from bsx.data.journal import Journal
from bsx.data.nbest import NBestColumns, NBestFile

Cli = Callable[..., Any]
LISTS = {
    "s1": [("a cat sat", -1.0), ("the cat sat", -2.0), ("the cat sat", -2.5), ("it rains", -0.5)],
    "s2": [("x y", -1.0), ("x", -3.0)],
    "s3": [("go home", -1.0), ("go home now", -1.5), ("run home now", -2.0)],
}
ROWS = [{"id": i, "candidate": text, "score": score} for i, rows in LISTS.items() for text, score in rows]


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".tsv":
        lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        lines = [f"{row['id']} ||| {row['candidate']} ||| LM= -3.1 ||| {row['score']}" for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def decisions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ["lists.tsv", "lists.jsonl", "lists.nbest"])
def test_every_layout_gives_the_decisions_of_python(cli: Cli, tmp_path: Path, name: str) -> None:
    file, out, matrix = write(tmp_path / name), tmp_path / "out.jsonl", tmp_path / "matrix.jsonl"
    by_score = [] if name.endswith(".nbest") else ["--model-score", "score"]
    command = ["mbr", file, "--metrics", "chrf", *by_score, "--temperature", "0.5", "-o", out, "--matrix-out", matrix]
    done = cli(*command, "--format", "json")
    assert done.status == 0, done.err
    expected = bsx.mbr(
        [[text for text, _ in rows] for rows in LISTS.values()],
        metric="chrf",
        scores=[[score for _, score in rows] for rows in LISTS.values()],
        temperature=0.5,
    )
    found = decisions(out)
    assert [row["candidate"] for row in found] == [one.candidate for one in expected]
    assert [row["rank"] for row in found] == [one.rank for one in expected]
    assert [row["expected"] for row in found] == pytest.approx([one.expected for one in expected])
    assert [(row["id"], row["n"], row["distinct"]) for row in found] == [("s1", 4, 3), ("s2", 2, 2), ("s3", 3, 3)]
    summary = json.loads(done.out)
    assert (summary["lists"], summary["candidates"], summary["distinct"]) == (3, 9, 8)
    assert summary["provenance"]["kind"] == "mbr"
    for row, scores in zip(found, decisions(matrix), strict=True):
        place = scores["candidates"].index(row["candidate"])
        share = sum(s * w for s, w in zip(scores["scores"][place], scores["weights"], strict=True))
        assert share == pytest.approx(row["expected"])


def test_decisions_go_to_standard_output_unless_a_file_is_named(cli: Cli, tmp_path: Path) -> None:
    done = cli("mbr", write(tmp_path / "lists.tsv"), "--metrics", "chrf")
    assert done.out.splitlines()[0] == "id\tcandidate\texpected\trank\tn\tdistinct\tloss"
    assert done.out.splitlines()[1].startswith("s1\tthe cat sat\t")
    assert "the mean rank is" in done.err


def test_what_pruning_loses_is_stated(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "lists.tsv")
    done = cli("mbr", file, "--metrics", "ter", "--method", "prune", "--prune-to", 1, "--check", 2, "--format", "json")
    checked = json.loads(done.err.splitlines()[0])["checked"]
    assert checked["lists"] == 2
    assert checked["ci"][0] <= checked["share"] <= checked["ci"][1]
    assert done.out.count("\tnan") == 1
    none = cli("mbr", file, "--metrics", "chrf", "--method", "aggregate", "--check", 0, "--format", "json")
    assert json.loads(none.err.splitlines()[0])["checked"] is None


def test_settings_of_another_method_are_refused(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "lists.tsv")
    drawn = cli("mbr", file, "--metrics", "ter", "--method", "probabilistic", "--reduction", 2, "--seed", 3)
    assert (drawn.status, drawn.out.count("\n")) == (0, 4)
    for method, option, value in (("prune", "centroids", 3), ("exact", "matrix-rank", 2), ("aggregate", "rounds", 9)):
        done = cli("mbr", file, "--metrics", "chrf", "--method", method, f"--{option}", value)
        assert (done.status, done.out) == (2, "")
        assert f"has no effect with the method {method}" in done.err
    matrix = cli("mbr", file, "--metrics", "ter", "--method", "probabilistic", "--matrix-out", tmp_path / "m.jsonl")
    assert "the method probabilistic has none" in matrix.err


def test_references_in_a_file_of_their_own(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "lists.tsv")
    others = [{"id": i, "candidate": "it rains", "weight": 2} for i in LISTS]
    beside = write(tmp_path / "refs.tsv", others)
    out = tmp_path / "out.jsonl"
    done = cli("mbr", file, "-r", beside, "--metrics", "chrf", "--weight", "weight", "-o", out)
    assert done.status == 0, done.err
    assert decisions(out)[0]["candidate"] == "it rains"
    short = cli("mbr", file, "-r", write(tmp_path / "less.tsv", others[:2]), "--metrics", "chrf")
    assert (short.status, "ends before the list 's3'" in short.err) == (2, True)
    wrong = cli("mbr", file, "-r", write(tmp_path / "other.tsv", others[::-1]), "--metrics", "chrf")
    assert "other.tsv: line 2: is of the list 's3'" in wrong.err


def test_wrong_files_are_refused_with_file_and_row(cli: Cli, tmp_path: Path) -> None:
    def refused(rows: list[dict[str, Any]] | str, *more: str, name: str = "bad.tsv") -> str:
        path = tmp_path / name
        if isinstance(rows, str):
            path.write_text(rows, encoding="utf-8")
        else:
            write(path, rows)
        done = cli("mbr", path, "--metrics", "chrf", *more, "-o", tmp_path / "out.tsv")
        assert done.status == 2
        assert done.out == ""
        assert done.err.count("\n") == 1
        assert not (tmp_path / "out.tsv").exists()
        return str(done.err)

    assert "bad.tsv: line 5: the list 's1' ended further up" in refused([ROWS[0], ROWS[4], ROWS[6], ROWS[1]])
    assert "is empty" in refused("")
    assert "holds no candidates" in refused("id\tcandidate\n")
    assert "has no column 'candidate'" in refused("id\ttext\na\tb\n")
    assert "has no column 'lp'" in refused(ROWS, "--model-score", "lp")
    assert "temperature weighs by the model's scores" in refused(ROWS, "--temperature", "1")
    assert "line 2, column 'score'" in refused([{"id": 1, "candidate": "a", "score": "high"}], "--model-score", "score")
    assert "a weight is at least 0, not -1" in refused([ROWS[0] | {"score": -1}], "--weight", "score")
    assert "line 2 is not of the form id ||| text" in refused("1 ||| a ||| f ||| 1\nx\n", name="bad.nbest")
    assert "line 2 has no score, unlike" in refused("1 ||| a ||| f ||| 1\n1 ||| b\n", name="bad.nbest")
    assert "weights and sources need a table" in refused("1 ||| a\n", "--weight", "w", name="bad.nbest")
    assert "matrix_out writes the scores of all pairs" in refused(
        ROWS, "--method", "aggregate", "--matrix-out", str(tmp_path / "m.jsonl")
    )
    assert "the name must end in .jsonl" in refused(ROWS, "--matrix-out", str(tmp_path / "m.npz"))
    assert "one metric decides, not 3" in refused(ROWS, "--metrics", "chrf,ter")


def test_a_stopped_run_goes_on(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": f"s{i}", "candidate": f"{word} {i % 7}"} for i in range(40) for word in ("a b", "a c", "q")]
    file, whole, out = write(tmp_path / "many.tsv", rows), tmp_path / "whole.tsv", tmp_path / "out.tsv"
    command = ["mbr", file, "--metrics", "ter", "--method", "prune", "--prune-to", 2, "--check", 9]
    assert cli(*command, "-o", whole).status == 0
    append, left = Journal.append, [2]

    def stopping(journal: Journal, arrays: Any) -> None:
        if not left[0]:
            raise MemoryError("stopped here")
        left[0] -= 1
        append(journal, arrays)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", stopping)
        assert cli(*command, "-o", out).status == 2
    assert not out.exists()
    again = cli(*command, "-o", out, "--resume")
    assert "16 of 40 lists were decided before" in again.err
    assert out.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "out.tsv.partial").exists()


def test_only_one_list_is_in_memory_at_a_time(tmp_path: Path) -> None:
    lists = iter(NBestFile.of(write(tmp_path / "lists.tsv"), NBestColumns()))
    assert next(lists).texts == [text for text, _ in LISTS["s1"]]
    assert len(list(lists)) == 2
