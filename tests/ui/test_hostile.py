"""What others may have made: folders of runs with links, pipes and foreign records; other servers; addresses."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bsx.errors import BsxError, InputError
from bsx.ui import inputs
from bsx.ui.app import make_app
from bsx.ui.jobs import Jobs
from bsx.ui.workspace import COMMANDS, LOG, RECORD, SCORES, Workspace
from tests.ui.conftest import HOST, OWN, PORT, TOKEN
from tests.ui.results import made as results
from tests.ui.test_jobs import Ends, a_run, made

COOKIE = f"bsx-{PORT}={TOKEN}"


@pytest.mark.parametrize("stored", ["../secret.tsv", "/etc/hosts", "--help", "run.json", "input-1.tsv\n", "input-1/x"])
def test_a_record_names_no_file_but_those_that_bsx_has_stored(
    client: TestClient, workspace: Workspace, stored: str
) -> None:
    workspace.new("x")
    (workspace.folder / "secret.tsv").write_text("a\tb\nsecret\tsecret\n")
    run = workspace.new("x")
    content = run.record.model_dump() | {"state": "cancelled", "files": [{"name": "a", "stored": stored}]}
    content["choices"] = {"candidate": ["a"], "reference": ["b"], "lang": "en", "metrics": ["chrf"]}
    (run.folder / RECORD).write_text(json.dumps(content))
    assert run.record.files == ()
    assert run.record.state == "failed"
    assert "secret" not in client.get(f"/runs/{run.name}/files").text.replace(stored, "")


@pytest.mark.parametrize(
    "content",
    [
        '{"seconds": NaN}',
        '{"seconds": 1e999}',
        '{"size": {"segments": 1' + "0" * 400 + "}}",
        '{"progress": {"done": -1}}',
        "[" * 100_000,
        '{"title": "' + "x" * (9 << 20) + '"}',
        '{"choices": {"candidate": ' + "[" * 5000 + "]" * 5000 + "}}",
        "\ufeff[]",
        "\0",
    ],
    ids=range(9),
)
def test_a_record_that_is_none_is_said_to_be_so(client: TestClient, workspace: Workspace, content: str) -> None:
    run = workspace.new("x")
    (run.folder / RECORD).write_text(content)
    assert run.record.state == "failed"
    for path in ("/", "/runs", f"/runs/{run.name}", f"/runs/{run.name}/status", f"/runs/{run.name}/metrics"):
        assert client.get(path).status_code == (400 if path.endswith("metrics") else 200), path


def test_links_that_lead_elsewhere_are_neither_read_nor_written(
    client: TestClient, workspace: Workspace, tmp_path: Path, jobs: Jobs
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("id\tsecret\tscore\n1\tsecret\t1\n")
    run = a_run(workspace, tmp_path)
    run.update(state="cancelled")
    for name in (COMMANDS, LOG, "selection.json"):
        (run.folder / name).symlink_to(outside)
    page = client.get(f"/runs/{run.name}").text
    assert "secret" not in page
    with pytest.raises(InputError):
        jobs.submit(run, made(run))
    (run.folder / "input-1.tsv").unlink()
    (run.folder / "input-1.tsv").symlink_to(outside)
    with pytest.raises(BsxError):
        inputs.table_of(run)
    assert "secret" not in client.get(f"/runs/{run.name}/files").text
    other = workspace.folder / "other"
    other.mkdir()
    (other / SCORES).symlink_to(outside)
    assert client.get("/results/other").status_code == 404
    (run.folder / RECORD).unlink()
    (run.folder / RECORD).symlink_to(tmp_path / "new")
    with pytest.raises(BsxError):
        run.update(state="done")
    assert not (tmp_path / "new").exists()
    assert outside.read_text().startswith("id\tsecret")


@pytest.mark.slow
def test_a_log_with_another_name_elsewhere_leaves_that_alone(
    workspace: Workspace, jobs: Jobs, ends: Ends, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n")
    run = a_run(workspace, tmp_path)
    (run.folder / LOG).hardlink_to(outside)
    jobs.submit(run, made(run))
    assert ends(run, jobs).state == "done"
    assert outside.read_text() == "mine\n"
    assert (run.folder / LOG).read_text().startswith("$ bsx score")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_keeps_nobody_waiting(client: TestClient, workspace: Workspace) -> None:
    run = workspace.new("x")
    for name in (COMMANDS, LOG):
        os.mkfifo(run.folder / name)
    assert client.get(f"/runs/{run.name}").status_code == 200
    (run.folder / RECORD).unlink()
    os.mkfifo(run.folder / RECORD)
    assert client.get("/runs").status_code == 200


@pytest.mark.slow
def test_a_run_resumes_with_metrics_that_are_offered_and_commands_of_our_own(
    client: TestClient, workspace: Workspace, jobs: Jobs, ends: Ends, tmp_path: Path
) -> None:
    """A colleague's folder may name a model file, which would be loaded, and hold commands and modules."""
    run = a_run(workspace, tmp_path)
    run.update(state="interrupted")
    (run.folder / COMMANDS).write_text(f"touch {tmp_path}/harm\n")
    (run.folder / "json.py").write_text(f"open({str(tmp_path / 'harm')!r}, 'w')\n")
    for metric in ("ensemble:/elsewhere/e.json", "bertscore:model=/elsewhere", "trained:x", "--help"):
        run.update(choices=run.record.choices.model_copy(update={"metrics": (metric,)}))
        assert client.post(f"/runs/{run.name}/resume", headers=OWN).status_code == 400, metric
        assert run.record.state == "interrupted"
    run.update(choices=run.record.choices.model_copy(update={"metrics": ("chrf",)}))
    assert client.post(f"/runs/{run.name}/resume", headers=OWN).status_code == 303
    assert ends(run, jobs).state == "done"
    assert not (tmp_path / "harm").exists()
    assert "harm" not in (run.folder / COMMANDS).read_text()


@pytest.mark.parametrize(
    "cookie", ['a={"x": [1, 2]}; ' + COOKIE, f"=; ;;; {COOKIE}; b=\x01", f"bsx-{PORT}=wrong; {COOKIE}"]
)
def test_cookies_of_other_ports_do_not_get_in_the_way(stranger: TestClient, cookie: str) -> None:
    assert stranger.get("/runs", headers={"cookie": cookie}).status_code == 200


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_a_page_of_another_port_reads_nothing_and_sets_nothing_to_work(client: TestClient, site: str) -> None:
    """It has our cookie: cookies know no ports."""
    assert client.get("/runs", headers={"sec-fetch-site": site}).status_code == 403
    assert client.get("/runs", headers={"sec-fetch-site": "none"}).status_code == 200


@pytest.mark.parametrize("name", ["host", "origin", "sec-fetch-site"])
def test_headers_that_say_who_asks_come_once(client: TestClient, name: str) -> None:
    given = {"host": f"127.0.0.1:{PORT}", "origin": HOST, "sec-fetch-site": "same-origin"}
    assert client.post("/new", headers=list(given.items())).status_code == 201
    assert client.post("/new", headers=[*given.items(), (name, "evil.example")]).status_code in (400, 421)


def test_a_link_in_a_page_of_elsewhere_opens_the_page(stranger: TestClient) -> None:
    """The browser sends no cookie where a redirection from elsewhere leads, so the page leads there itself."""
    asked = {"token": TOKEN, "a": '"><script>'}
    answer = stranger.get('/runs/"><b>', params=asked, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0;url=/runs/%22%3E%3Cb%3E?a=%22%3E%3Cscript%3E"' in answer.text
    assert f"bsx-{PORT}={TOKEN}" in answer.headers["set-cookie"]


def test_what_a_browser_is_given_as_an_argument_is_good_once(stranger: TestClient, workspace: Workspace) -> None:
    app = make_app(workspace, TOKEN, PORT)
    app.once.add("once")
    for status in (303, 403):
        with TestClient(app, base_url=HOST, follow_redirects=False) as client:
            assert client.get("/", params={"token": "once"}).status_code == status


def test_port_80_is_not_said(workspace: Workspace) -> None:
    with TestClient(make_app(workspace, TOKEN, 80), base_url="http://127.0.0.1", follow_redirects=False) as client:
        assert client.get("/", params={"token": TOKEN}).status_code == 303
        assert client.get("/runs").status_code == 200


@pytest.mark.anyio
async def test_an_upload_that_stands_still_ends(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    async def slow() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(60)

    monkeypatch.setattr(inputs, "_PATIENCE", 0.05)
    run = workspace.new("x")
    with pytest.raises(InputError):
        await inputs.store(run, "a.txt", slow())
    assert [path.name for path in run.folder.iterdir()] == [RECORD]


def test_titles_turn_no_text(workspace: Workspace) -> None:
    assert workspace.new("a\u202eb\x1b[31m\n").record.title == "ab[31m"
    assert workspace.new("\udcff" + "x" * 500).record.title == "x" * 120


def test_what_is_unfinished_and_of_no_queue_was_interrupted(workspace: Workspace, jobs: Jobs) -> None:
    """Its record could not be written when the server began, or somebody has put it there since."""
    run = workspace.new("x")
    run.update(state="running")
    assert jobs.record(run).state == "interrupted"


def test_an_option_as_a_column_is_a_column(workspace: Workspace, jobs: Jobs, ends: Ends, tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("--help\t-o\n" + "the cat sat\tthe cat\n" * 3)
    run = workspace.new("x")
    inputs.copy_in(run, table)
    inputs.settle(run, {"candidate": ["--help"], "reference": ["-o"], "lang": ["en"]})
    run.update(choices=run.record.choices.model_copy(update={"metrics": ("chrf",)}))
    jobs.submit(run, made(run))
    assert ends(run, jobs) == run.record
    assert run.record.state == "done", run.record.error


@pytest.mark.anyio
async def test_an_upload_that_stands_still_holds_up_no_other(workspace: Workspace, jobs: Jobs) -> None:
    import asyncio

    import httpx

    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"slow "
        begun.set()
        await go_on.wait()
        yield b"one\n"

    runs = [workspace.new("x") for _ in range(2)]
    transport = httpx.ASGITransport(make_app(workspace, TOKEN, PORT, jobs))
    async with httpx.AsyncClient(transport=transport, base_url=HOST, headers={**OWN, "cookie": COOKIE}) as client:
        stalled = asyncio.create_task(client.put(f"/upload/{runs[0].name}?name=a.txt", content=slow()))
        await begun.wait()
        async with asyncio.timeout(10):
            answers = [await client.put(f"/upload/{run.name}?name=b.txt", content=b"quick\n") for run in runs]
        go_on.set()
        answers.append(await stalled)
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    contents = [{file.name: run.file(file.stored).read_text() for file in run.record.files} for run in runs]
    assert contents == [{"a.txt": "slow one\n", "b.txt": "quick\n"}, {"b.txt": "quick\n"}]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/runs/{'é' * 200}", 404),
        (f"/results/{'é' * 200}/columns", 404),
        (f"/static/{'e' * 300}.css", 404),
        (f"/results/run/texts/{'1' * 5000}", 404),
        (f"/results/run/align/0/{'1' * 5000}", 404),
    ],
    ids=range(5),
)
def test_an_address_that_is_too_long_is_none(client: TestClient, workspace: Workspace, path: str, status: int) -> None:
    results.write(workspace.folder / "run", results.rows(2, ["ours"]), compared=False)
    assert client.get(path).status_code == status


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"segment": "seg-0", "note": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"segment": "seg-0", "note": ' + b"1" * 5000 + b"}",
        b'{"segment": "seg-0", "note": "\\ud800"}',
        b'{"segment": "seg-0", "note": "\xed\xa0\x80"}',
        b'{"segment": "seg-0", "note": "\\u0000"}',
        b'{"segment": "seg-0", "note": "\\u000b"}',
        b'{"segment": "seg-0", "note": "\\uffff"}',
        b'{"segment": "\\ud800", "note": ""}',
        b"{" + b" " * (2 << 20) + b"}",
    ],
    ids=range(10),
)
def test_a_note_that_no_file_can_keep_is_refused(client: TestClient, workspace: Workspace, body: bytes) -> None:
    results.write(workspace.folder / "run", results.rows(2, ["ours"]), compared=False)
    assert client.post("/results/run/selection", content=body, headers=OWN).status_code in (400, 413)
    assert client.get("/results/run/selection").json()["segments"] == {}
    body = b'{"segment": "seg-0", "note": "a\\ttab, a\\nline, \\ud83d\\ude00"}'
    assert client.post("/results/run/selection", content=body, headers=OWN).status_code == 200


NOTED = '{"version": 1, "segments": {"seg-0": {"note": %s}}}'
NOTES = ('"\\ud800"', '"\\u0000"', "[" * 400 + "]" * 400, "1", '{"a": 1}')
DAMAGED = ["{", "[]", '{"segments": []}', '{"version": "x", "segments": {}}', *(NOTED % note for note in NOTES)]


@pytest.mark.parametrize("content", DAMAGED, ids=range(9))
def test_a_selection_that_is_damaged_is_told(client: TestClient, workspace: Workspace, content: str) -> None:
    results.write(workspace.folder / "run", results.rows(2, ["ours"]), compared=False)
    (workspace.folder / "run" / "selection.json").write_text(content)
    assert client.get("/results/run").status_code == 200
    for path in ("selection", "exports", "export/selection.tsv"):
        assert client.get(f"/results/run/{path}").status_code == 400, path
    change = {"segment": "seg-1", "was": None, "note": "x"}
    assert client.post("/results/run/selection", json=change, headers=OWN).status_code == 400
    assert (workspace.folder / "run" / "selection.json").read_text() == content


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"lang=de%00"),
        ("application/x-www-form-urlencoded", b"lang%0b=de"),
        ("multipart/form-data; boundary=x; charset=unicode_escape", b"--x--"),
        ("multipart/form-data; boundary=x; charset=punycode", b"--x--"),
        ("multipart/form-data", b""),
    ],
    ids=range(5),
)
def test_a_form_brings_no_text_that_no_file_can_keep(
    client: TestClient, workspace: Workspace, tmp_path: Path, kind: str, body: bytes
) -> None:
    run = a_run(workspace, tmp_path)
    field = b'--x\r\nContent-Disposition: form-data; name="lang"\r\n\r\n\\ud800\xff\r\n'
    before = run.record
    body = field + body if body == b"--x--" else body
    for page in ("files", "metrics", "remove-file", "remove"):
        answer = client.post(f"/runs/{run.name}/{page}", content=body, headers={**OWN, "content-type": kind})
        assert answer.status_code == 400, page
    assert run.record == before


@pytest.mark.parametrize("role", ["table", "anything"])
def test_a_role_that_is_none_does_not_make_a_record_unreadable(
    client: TestClient, workspace: Workspace, tmp_path: Path, role: str
) -> None:
    (tmp_path / "a.txt").write_text("a cat\n")
    run = workspace.new("x")
    inputs.copy_in(run, tmp_path / "a.txt")
    form = {"role-input-1.txt": role}
    assert client.post(f"/runs/{run.name}/files", data=form, headers=OWN).status_code == 400
    assert [(file.name, file.role in (None, "candidates")) for file in run.record.files] == [("a.txt", True)]


def test_names_and_texts_in_no_encoding(client: TestClient, workspace: Workspace) -> None:
    results.write(workspace.folder / "run", results.rows(12, ["ours", "theirs"]))
    compared = workspace.folder / "run" / "compare.json"
    compared.write_text(compared.read_text().replace("theirs", "\\ud800"))
    record = json.loads((workspace.folder / "run" / RECORD).read_text())
    (workspace.folder / "run" / RECORD).write_text(json.dumps({**record, "title": "a\0b"}))
    try:
        (workspace.folder / os.fsdecode(b"\xff")).mkdir()
        (workspace.folder / os.fsdecode(b"\xff") / RECORD).write_text("{}")
    except OSError:  # a file system of names in UTF-8
        pass
    for page in ("/", "/runs", "/results/run"):
        assert client.get(page).status_code == 200, page
    assert workspace.run("run").record.title == "ab"


def test_a_file_that_is_gone_is_not_run_again(client: TestClient, workspace: Workspace, tmp_path: Path) -> None:
    run = a_run(workspace, tmp_path)
    (run.folder / "input-1.tsv").unlink()
    assert client.post(f"/runs/{run.name}/again", headers=OWN).status_code == 400
    assert workspace.runs() == [run]
