"""Where a run may write: in regular files and on standard output, and in nothing that it reads."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.data.journal import Journal
from bsx.data.output import ScoreTable, atomic_text
from bsx.data.run import check_output, check_outputs, one_run
from bsx.errors import InputError


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def of(status: os.stat_result) -> tuple[int, ...]:
    """Return what a change of a file would change; not when it was read, as looking at a link changes that."""
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_fifo, "is not a file but a device, a pipe or a socket"),
        (_socket, "is not a file but a device, a pipe or a socket"),
        (Path.mkdir, "is a folder, not a file to write to"),
        (lambda path: path.symlink_to(path.parent), "is a folder, not a file to write to"),
        (lambda path: path.symlink_to("/dev/null"), "is not a file but a device, a pipe or a socket"),
        (lambda path: path.symlink_to(path), "cannot be written"),
    ],
)
def test_what_is_no_regular_file_is_refused(
    make: Callable[[Path], object], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    path = Path("o.tsv")
    make(path)
    before = of(path.lstat())
    with pytest.raises(InputError, match=f"o.tsv: {message}"):
        check_output(path)
    with pytest.raises(InputError, match=message), ScoreTable(path):
        pass
    assert of(path.lstat()) == before


@pytest.mark.parametrize("name", ["", "\0.tsv", "x" * 300 + ".tsv", "no/o.tsv", "file/o.tsv"])
def test_a_name_that_cannot_be_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(InputError):
        check_output(name)
    with pytest.raises(InputError), atomic_text(Path(name)):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("kind", ["itself", "another spelling", "symbolic link", "hard link"])
def test_an_input_is_no_output(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("id\n1\n")
    output = tmp_path / "b.tsv"
    if kind == "symbolic link":
        output.symlink_to(file)
    elif kind == "hard link":
        output.hardlink_to(file)
    else:
        output = file if kind == "itself" else tmp_path / ".." / tmp_path.name / "a.tsv"
    with one_run(reads=[file]):
        with pytest.raises(InputError, match=r"is an input of this run, which would overwrite it"):
            check_output(output)
        with pytest.raises(InputError, match=r"is an input of this run"), atomic_text(output):
            pass
    check_output(output)  # another run may


def test_a_job_in_python_writes_to_none_of_the_files_that_it_reads(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.tsv", "in/a.tsv", "in/b.tsv"):
        (tmp_path / name).write_text("candidate\treference\na\tb\n")
    for data, output in (("a.tsv", "a.tsv"), ("in", "in/b.tsv"), ("in/*.tsv", "in/b.tsv")):
        with pytest.raises(InputError, match=r"is an input of this run, which would overwrite it: give output another"):
            bsx.score_files(table=str(tmp_path / data), metrics=["chrf"], output=tmp_path / output)
        assert (tmp_path / output).read_text() == "candidate\treference\na\tb\n"
    for _ in range(2):  # what is there and not read is replaced
        bsx.score_files(table=str(tmp_path / "in"), metrics=["chrf"], output=tmp_path / "out.tsv")
        assert (tmp_path / "out.tsv").read_text().count("\n") == 3


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    (tmp_path / "l.json").symlink_to(path)
    for other in (path, tmp_path / "l.json", tmp_path / ".." / tmp_path.name / "a.json"):
        with pytest.raises(InputError, match="two outputs of this run are this file"):
            check_outputs([path, other])
    check_outputs([path, tmp_path / "b.json"])
    with pytest.raises(InputError, match="two outputs"):
        check_outputs([Path("-"), Path("/dev/stdout")])


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_written_to(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with ScoreTable(Path(name)) as table:
        table.write({"id": "é", "score": 0.5})
        table.signature = "s"
    assert capsysbinary.readouterr().out == "id\tscore\né\t0.5\n".encode()
    with pytest.raises(ZeroDivisionError), atomic_text(Path(name)) as stream:
        stream.write(f"half {1 // 0}")
    assert capsysbinary.readouterr().out == b""


def test_a_folder_that_bsx_did_not_make_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "o.tsv.partial"
    for make in (Path.mkdir, Path.touch, lambda path: path.symlink_to(tmp_path)):
        make(folder)
        if folder.is_dir():
            (folder / "mine").touch()
        with pytest.raises(InputError, match=r"o\.tsv\.partial: is in the way of what the run keeps there"):
            Journal(tmp_path / "o.tsv")
        folder.rename(tmp_path / make.__name__)
    journal = Journal(tmp_path / "o.tsv")
    journal.start({"input": "a"}, {})
    journal.append({"segments": np.array(1)})
    (folder / "mine").touch()
    journal.discard()
    assert [file.name for file in folder.iterdir()] == ["mine"]


def test_the_command_line_refuses_before_it_computes(cli: Callable[..., Any], tmp_path: Path) -> None:
    texts, table = tmp_path / "c.txt", tmp_path / "t.tsv"
    texts.write_text("a\nb\n")
    table.write_text("m\thuman\n1\t2\n2\t3\n3\t5\n")
    (tmp_path / "l.tsv").symlink_to(texts)
    score = ("score", "-c", texts, "-r", texts, "-m", "no-such-model")
    meta = ("meta", table, "--columns", "m", "--human", "human")
    for arguments, said in (
        ((*score, "-o", tmp_path / "l.tsv"), "is an input of this run"),
        ((*score, "--metrics", f"moverscore:stop_words={table}", "-o", table), "is an input of this run"),
        ((*meta, "-o", table), "is an input of this run"),
        ((*meta, "-o", "o.png", "--plot", "o.png"), "give output or plot another"),
        ((*meta, "-o", "o.png", "--plot", "./o.png"), "give output or plot another"),
        ((*meta, "-o", ""), "the name of a file to write is empty"),
    ):
        result = cli(*arguments)
        assert (result.status, result.out) == (2, "")
        assert said in result.err
        assert result.err.count("\n") == 1
    assert (texts.read_text(), table.read_text().count("\n")) == ("a\nb\n", 4)
    result = cli(*meta, "-o", "-", "--format", "csv")
    assert result.out.startswith("group,metric,")
