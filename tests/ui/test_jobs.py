"""Runs as processes of their own: a queue, cancelling, resuming, servers that are killed. bsx score really runs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from importlib import resources
from pathlib import Path

import pytest

from bsx import evaluate
from bsx.errors import InputError
from bsx.ui import inputs
from bsx.ui.jobs import Command, Jobs, commands, script
from bsx.ui.workspace import COMMANDS, COMPARISON, LOG, SCORES, SUMMARY, Choices, Record, Run, Workspace
from tests.conftest import Outcome

Ends = Callable[[Run, Jobs], Record]
FORM = {"candidate": ["atlas", "brook"], "reference": ["reference"], "segment": ["id"], "lang": ["en"]}


def a_run(workspace: Workspace, folder: Path, rows: int = 4, metric: str = "chrf") -> Run:
    """A run of two systems that waits to be submitted."""
    table = folder / "table.tsv"
    words = "the old man walked slowly over the bridge to the station in the rain".split()  # noqa: SIM905
    with table.open("w") as stream:
        stream.write("id\treference\tatlas\tbrook\n")
        for number in range(rows):
            text = " ".join(words[number % 5 :])
            stream.write(f"{number}\t{text} {number}\t{text}\t{' '.join(words[: 4 + number % 9])} {number}\n")
    run = workspace.new("x")
    inputs.copy_in(run, table)
    inputs.settle(run, FORM)
    run.update(choices=run.record.choices.model_copy(update={"metrics": (metric,)}))
    return run


def made(run: Run) -> list[Command]:
    return commands(inputs.table_of(run), run.record.choices, run.record.size.systems)


def inside(folder: Path) -> list[int]:
    """Processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
    return found


def state(run: Run) -> str:
    return run.record.state


def until(true: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def test_the_commands_say_all_that_was_chosen() -> None:
    choices = Choices(
        candidate=("a b", "c"),
        reference=("r",),
        source="s",
        document="d",
        lang="de",
        source_lang="en",
        metrics=("chrf", "ter"),
    )
    score, compare = commands("input-1.xlsx#Sheet 1", choices, 2)
    assert str(score) == (
        "bsx score 'input-1.xlsx#Sheet 1' --candidate 'a b,c' --reference r --source s --document d --lang en-de "
        "--metrics chrf,ter --resume -o scores.jsonl --format json > summary.json"
    )
    assert str(compare) == (
        "bsx compare scores.jsonl --reference r --lang en-de --metrics chrf,ter --all-pairs "
        "--format json -o compare.json"
    )
    assert len(commands("input-1.tsv", choices, 1)) == 1
    assert script([score]).endswith(f"{score}\n")


@pytest.mark.parametrize("long", [False, True])
def test_a_run_compares_by_the_scores_that_evaluate_prints(
    tmp_path: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, *, long: bool
) -> None:
    """Of whole systems where a metric has such a score, which is not the mean of its segments'."""
    monkeypatch.chdir(tmp_path)
    example = (resources.files("bsx.examples") / "en-systems.tsv").read_text("utf-8").splitlines()[:31]
    names = ("atlas", "brook", "cinder")
    rows = [dict(zip(example[0].split("\t"), line.split("\t"), strict=True)) for line in example[1:]]
    rows = [{"ref": row["reference"], **{name: row[name] for name in names}} for row in rows]
    if long:
        rows = [
            {"mt": row[name], "ref": row["ref"], "engine": name, "nr": str(number)}
            for name in names
            for number, row in enumerate(rows)
        ]
    lines = ["\t".join(cells) for cells in ([*rows[0]], *(row.values() for row in rows))]
    Path("texts.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    metrics = ("sentbleu", "chrf", "bleu", "ter", "chrf++", "length")
    columns = {"candidate": ("mt",), "system": "engine", "segment": "nr"} if long else {"candidate": names}
    choices = Choices.model_validate({"reference": ("ref",), "lang": "en", "metrics": metrics, **columns})
    for command in commands("texts.tsv", choices, len(names)):
        assert cli(*command.words).status == 0
    compared = json.loads(Path(COMPARISON).read_text(encoding="utf-8"))["metrics"]
    found = evaluate(**{**choices.model_dump(include={*columns, "reference", "lang", "metrics"}), "table": "texts.tsv"})
    assert found.compare is not None
    assert {(one["metric"], of["system"]): of["score"] for one in compared for of in one["systems"]} == pytest.approx(
        {(one.metric, of.system): of.score for one in found.compare.metrics for of in one.systems}, abs=1e-6
    )


@pytest.mark.slow
def test_two_runs_queue_and_their_commands_give_the_same_bytes(
    workspace: Workspace, jobs: Jobs, ends: Ends, tmp_path: Path
) -> None:
    first, second = (a_run(workspace, tmp_path) for _ in range(2))
    jobs.submit(first, made(first))
    jobs.submit(second, made(second))
    with pytest.raises(InputError):
        jobs.submit(second, made(second))
    assert jobs.place(second.name) == 1
    assert second.record.state == "queued"
    assert (ends(first, jobs).state, ends(second, jobs).state) == ("done", "done")
    for name in (SCORES, SUMMARY, COMPARISON, COMMANDS, LOG, SCORES + ".signatures.json"):
        assert (first.folder / name).stat().st_size
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("input-1.tsv", COMMANDS):
        shutil.copy(first.folder / name, copy / name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", copy / COMMANDS], env={**os.environ, "PATH": path}, check=True, capture_output=True)
    for name in (SCORES, SUMMARY, COMPARISON, SCORES + ".signatures.json"):
        assert (copy / name).read_bytes() == (first.folder / name).read_bytes(), name


def test_a_run_that_fails_says_why_and_the_next_has_its_turn(
    workspace: Workspace, jobs: Jobs, ends: Ends, tmp_path: Path
) -> None:
    bad, good = a_run(workspace, tmp_path), a_run(workspace, tmp_path)
    jobs.submit(bad, [Command(("score", "nothing.tsv", "--metrics", "chrf"), SUMMARY), *made(good)])
    jobs.submit(good, [made(good)[0], Command(("compare", "nothing.jsonl"), needed=False)])
    record = ends(bad, jobs)
    assert record.state == "failed"
    assert record.error is not None
    assert record.error.startswith("nothing.tsv: ")
    assert record.error in (bad.folder / LOG).read_text()
    assert not (bad.folder / SUMMARY).exists()
    record = ends(good, jobs)
    assert record.state == "done"  # what was not needed failed
    assert record.error is not None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="processes are found in /proc")
def test_a_run_that_was_cancelled_goes_on_where_it_was(
    workspace: Workspace, jobs: Jobs, ends: Ends, tmp_path: Path
) -> None:
    run, waiting = a_run(workspace, tmp_path, rows=3000, metric="ter"), a_run(workspace, tmp_path)
    jobs.submit(run, made(run))
    jobs.submit(waiting, made(waiting))
    until(lambda: jobs.record(run).progress.done)
    now = jobs.record(run)
    assert now.state == "running"
    assert now.progress.total >= now.progress.done
    jobs.cancel(waiting.name)
    assert waiting.record.state == "cancelled"
    jobs.cancel(run.name)
    assert ends(run, jobs).state == "cancelled"
    assert not inside(run.folder)
    assert not (run.folder / SUMMARY).exists()
    jobs.submit(run, made(run))
    assert ends(run, jobs).state == "done"
    assert (run.folder / SCORES).read_text().count("\n") == 6000


def test_a_server_that_ends_interrupts_its_runs(workspace: Workspace, tmp_path: Path) -> None:
    queue = Jobs(workspace)
    run, waiting = a_run(workspace, tmp_path, rows=3000, metric="ter"), a_run(workspace, tmp_path)
    queue.submit(run, made(run))
    queue.submit(waiting, made(waiting))
    with pytest.raises(InputError):
        Jobs(workspace)  # one server a folder
    until(lambda: run.record.state == "running")
    queue.close()
    assert (run.record.state, waiting.record.state) == ("interrupted", "interrupted")
    assert not inside(run.folder) if Path("/proc").exists() else True


def test_nothing_is_left_of_a_server_that_ran_nothing(workspace: Workspace) -> None:
    Jobs(workspace).close()
    assert not workspace.folder.exists()


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, Callable[..., str]]]:
    """`bsx ui` as a process of its own, its address, and what asks it for something with the cookie."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "bsx", "ui", "--no-browser", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    try:
        address = process.stderr.readline().strip()
        root = address.split("?")[0]
        origin = "/".join(root.split("/")[:3])
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

        def ask(path: str, data: dict[str, object] | None = None) -> str:
            body = None if data is None else urllib.parse.urlencode(data, doseq=True).encode()
            request = urllib.request.Request(origin + path, body, {"Origin": origin})  # noqa: S310 - to 127.0.0.1
            with opener.open(request) as answer:
                return str(answer.read().decode())

        opener.open(address).close()
        yield process, address, ask
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="processes are found in /proc")
def test_a_server_that_was_killed_leaves_runs_that_resume(tmp_path: Path, ends: Ends) -> None:
    workspace = Workspace(tmp_path / "results")
    run = a_run(workspace, tmp_path, rows=3000, metric="ter")
    run.update(state="cancelled")
    with served("--folder", str(workspace.folder)) as (process, _, ask):
        ask(f"/runs/{run.name}/resume", {})
        until(lambda: run.record.state == "running" and inside(run.folder))
        with pytest.raises(urllib.error.HTTPError, match="400"):
            ask(f"/runs/{run.name}/remove", {})
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert state(run) == "running"
        until(lambda: not inside(run.folder))  # a run does not outlive its server
    assert not (run.folder / SUMMARY).exists()
    queue = Jobs(workspace)
    try:
        assert state(run) == "interrupted"
        queue.submit(run, made(run))
        assert ends(run, queue).state == "done"
    finally:
        queue.close()
    assert (run.folder / SCORES).read_text().count("\n") == 6000


def test_the_command_serves_files_that_were_named_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    table = tmp_path / "my table.tsv"
    table.write_text("id\treference\tatlas\n1\tthe cat\tthe cat sat\n")
    folder = tmp_path / "results"
    with served(str(table), "--folder", str(folder)) as (process, address, ask):
        assert address.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address.split("?")[0])  # noqa: S310 - to 127.0.0.1
        page = ask(f"/{address.split('/', 3)[3].split('?')[0]}")
        assert "my table.tsv" in page
        assert "the cat sat" in page
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not Workspace(folder).runs()  # nothing was started


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_to_is_not_taken_for_one_in_use() -> None:
    with pytest.raises(InputError, match="cannot be written to") as caught:
        Jobs(Workspace(Path("/proc")))
    assert "\n" not in str(caught.value)


def test_the_command_refuses_what_it_cannot_serve(cli: Callable[..., object], tmp_path: Path) -> None:
    table = tmp_path / "a.tsv"
    table.write_text("a\n1\n")
    for arguments in (
        ["--read-only", tmp_path / "nothing"],
        ["--read-only", tmp_path, table],
        ["--read-only", tmp_path, "--folder", tmp_path / "runs"],
        ["--folder", table],
        [tmp_path / "missing.tsv", "--folder", tmp_path / "results"],
    ):
        done = cli("ui", "--no-browser", *arguments)
        assert done.status == 2, arguments  # type: ignore[attr-defined]
        assert done.err.count("\n") == 1  # type: ignore[attr-defined]
    assert not (tmp_path / "results").exists()
