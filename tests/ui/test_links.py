"""Links in a folder of runs that lead out of it: whatever is asked for, nothing outside is opened."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bsx.data.run import BESIDE
from bsx.errors import BsxError
from bsx.ui import choosing, inputs
from bsx.ui.jobs import Jobs
from bsx.ui.results import views
from bsx.ui.results.aligning import Aligners
from bsx.ui.results.exports import Export
from bsx.ui.results.selection import SELECTION
from bsx.ui.views import Views
from bsx.ui.workspace import COMMANDS, COMPARISON, LOG, RECORD, SCORES, SUMMARY, TABLES, Run, Workspace
from tests.ui.conftest import OWN
from tests.ui.results import made

OF_TABLE = [
    *(RECORD, SCORES, SUMMARY, COMPARISON, COMMANDS, LOG, SELECTION, "input-1.tsv"),
    *(name + end for name in (SCORES, "input-1.tsv", "input-2.tsv") for end in ("", *BESIDE)),
    *(f"scores{end}" for end in TABLES),
]
OF_TEXTS = ["input-1.txt", "input-2.txt", *(inputs.TEXTS + end for end in ("", *BESIDE))]
FORM = {
    **{"candidate": "candidate", "reference": "reference", "lang": "en", "stored": "input-1.tsv", "metric": "chrf"},
    **{"role-input-1.txt": "candidates", "role-input-2.txt": "references"},
}

_opened: list[str] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        _opened.append(os.path.realpath(os.fsdecode(arguments[0])))


sys.addaudithook(_watch)


@contextlib.contextmanager
def nothing_opened(folder: Path) -> Iterator[None]:
    """Tell that no file of a folder is opened meanwhile by this process, through whatever link."""
    global _opened
    _opened = []
    try:
        yield
        assert [one for one in _opened if one.startswith(os.path.realpath(folder) + os.sep)] == []
    finally:
        _opened = None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with all that it may hold: a table handed in, scores, and what lies beside them."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    content = made.rows(7, ["ours", "theirs"])
    made.write(folder, content)
    (folder / f"{SCORES}.signature.txt").write_text("metric:x\n")
    (folder / SUMMARY).write_text("{}")
    (folder / COMMANDS).write_text("bsx score\n")
    (folder / LOG).write_text("scored\n")
    (folder / SELECTION).write_text('{"version": 1, "segments": {"seg-0": {"note": "x"}}}')
    (folder / "input-1.tsv").write_text("id\tcandidate\treference\n1\ta cat\tthe cat\n")
    record = json.loads((folder / RECORD).read_text())
    record |= {"state": "cancelled", "files": [{"name": "t.tsv", "stored": "input-1.tsv"}]}
    (folder / RECORD).write_text(json.dumps(record))
    return folder


def of_texts(folder: Path) -> None:
    """Let a run be of texts of a line a segment."""
    (folder / "input-1.tsv").unlink()
    for number in (1, 2):
        (folder / f"input-{number}.txt").write_text("a cat\n")
    record = json.loads((folder / RECORD).read_text())
    record["files"] = [{"name": f"{n}.txt", "stored": f"input-{n}.txt"} for n in (1, 2)]
    (folder / RECORD).write_text(json.dumps(record))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the commands of exports were about to read; nothing slow is started."""
    found: list[str] = []

    def make(export: Export, run: Run, folder: Path) -> Path:
        found.extend(str(run.folder / word.removeprefix("--segments=")) for word in export.command)
        (folder / export.name).write_text("made")
        return folder / export.name

    monkeypatch.setattr(views, "make", make)
    monkeypatch.setattr(Aligners, "align", lambda *_: {})
    monkeypatch.setattr(choosing.Survey, "_look", lambda _: None)
    monkeypatch.setattr(inputs, "warm_up", lambda: None)
    return found


def ask_for_all(client: TestClient, workspace: Workspace, jobs: Jobs, name: str) -> None:
    """Ask for every address that there is, of one run; an error nobody foresaw is raised."""
    routes = [*Views(workspace, jobs).routes(), *views.routes(workspace)]
    offered = client.get(f"/results/{name}/exports").json()
    exports = [one["name"] for one in offered] if isinstance(offered, list) else ["report.html"]
    known = {"name": name, "run": name, "column": "0", "system": "0", "place": "0"}
    asked = [
        (method, route.path.format(**known | ({"name": export} if "export/" in route.path else {})))  # type: ignore[attr-defined]
        for route in routes
        for export in (exports if "export/" in route.path else exports[:1])  # type: ignore[attr-defined]
        for method in (route.methods - {"HEAD"} if route.methods else ())  # type: ignore[attr-defined]
    ]
    assert len(asked) > 25
    for method, path in sorted(asked, key=lambda one: (one[0] != "GET", one[1].endswith("/remove"))):
        if path.endswith("/selection") and method == "POST":
            body = {"segment": "seg-1", "was": None, "note": "x"}
            answer = client.post(path, json=body, headers=OWN)
        elif method == "PUT":
            answer = client.put(path, params={"name": "t.tsv"}, content=b"a\tb\nx\ty\n", headers=OWN)
        else:
            answer = client.request(method, path, headers=OWN, data=FORM if method == "POST" else None)
        assert answer.status_code < 500, (path, answer.text)


@pytest.mark.parametrize("name", dict.fromkeys([*OF_TABLE, *OF_TEXTS]))
def test_no_address_follows_a_link_out_of_a_run(
    client: TestClient, workspace: Workspace, jobs: Jobs, whole: Path, taken: list[str], tmp_path: Path, name: str
) -> None:
    run, outside = workspace.folder / "run", tmp_path / "outside"
    shutil.copytree(whole, run)
    if name in OF_TEXTS:
        of_texts(run)
    outside.mkdir()
    if (run / name).exists():
        shutil.move(run / name, outside / name)
    else:
        (outside / name).write_text('{"metrics": []}\n')
    (run / name).symlink_to(outside / name)
    before = (outside / name).read_bytes()
    with nothing_opened(outside):
        ask_for_all(client, workspace, jobs, "run")
    assert str(run / name) not in taken
    assert (outside / name).read_bytes() == before
    assert [path.name for path in outside.iterdir()] == [name]


@pytest.mark.parametrize("linked", ["folder", "t.jsonl", "t.jsonl.signatures.json", "t.jsonl.signature.txt", "x.json"])
def test_no_address_follows_a_link_out_of_the_folder_of_runs(
    client: TestClient, workspace: Workspace, jobs: Jobs, whole: Path, taken: list[str], tmp_path: Path, linked: str
) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(whole, outside)
    for name, of in {"t.jsonl": SCORES, "t.jsonl.signatures.json": f"{SCORES}.signatures.json"}.items():
        shutil.copy(outside / of, workspace.folder / name)
    (workspace.folder / linked).unlink(missing_ok=True)
    of = linked.replace("t.jsonl", SCORES).replace("x.json", COMPARISON)
    (workspace.folder / linked).symlink_to(outside if linked == "folder" else outside / of)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    with nothing_opened(outside):
        ask_for_all(client, workspace, jobs, "folder" if linked == "folder" else "t.jsonl")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_a_whole_run_is_read(
    client: TestClient, workspace: Workspace, jobs: Jobs, whole: Path, taken: list[str], tmp_path: Path
) -> None:
    """What the tests above ask for does open the files where they are no links."""
    shutil.copytree(whole, workspace.folder / "run")
    with pytest.raises(AssertionError), nothing_opened(workspace.folder):
        ask_for_all(client, workspace, jobs, "run")
    assert {Path(one).name for one in taken} >= {SCORES, COMPARISON, SELECTION}


def test_a_run_under_two_names_and_links_in_a_circle(client: TestClient, workspace: Workspace, whole: Path) -> None:
    shutil.copytree(whole, workspace.folder / "run")
    (workspace.folder / "again").symlink_to("run")
    (workspace.folder / "run" / "a.json").symlink_to("a.json")
    (workspace.folder / "run" / LOG).unlink()
    (workspace.folder / "run" / LOG).symlink_to(LOG)
    assert [run.name for run in workspace.runs()] == ["run"]
    assert client.post("/runs/again/remove", headers=OWN).status_code == 404
    assert client.get("/results/run").status_code == client.get("/runs/run").status_code == 200


def test_a_link_inside_a_run_is_followed(client: TestClient, workspace: Workspace, whole: Path) -> None:
    run = workspace.folder / "run"
    shutil.copytree(whole, run)
    (run / SCORES).rename(run / "first.jsonl")
    (run / SCORES).symlink_to("first.jsonl")
    assert client.get("/results/run").status_code == 200


def test_a_link_that_comes_while_a_run_waits_is_refused(workspace: Workspace, whole: Path, tmp_path: Path) -> None:
    from bsx.ui.jobs import _Job

    shutil.copytree(whole, workspace.folder / "run")
    run = workspace.run("run")
    run.scores.unlink()
    run.scores.symlink_to(tmp_path / "outside.jsonl")
    queue = Jobs(workspace)
    try:
        with pytest.raises(BsxError):
            queue._run(_Job(run, [], download=False))
    finally:
        queue.close()
