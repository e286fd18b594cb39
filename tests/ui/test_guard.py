"""The door: token, host, origin, sizes, headers; nothing outside the folder."""

from __future__ import annotations

from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bsx.errors import InputError, UnknownNameError
from bsx.ui.app import make_app
from bsx.ui.guard import POLICY
from bsx.ui.jobs import Jobs
from bsx.ui.workspace import RECORD, Record, Workspace
from tests.ui.conftest import HOST, OWN, PORT, TOKEN

PAGES = ["/", "/runs", "/metrics", "/static/ui.css", "/runs/x/status", "/results/x", "/nothing"]


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_answered_without_the_token(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "<" not in answer.text
    assert stranger.get(path, params={"token": "wrong"}).status_code == 403
    assert stranger.get(path, params={"token": ""}).status_code == 403
    assert stranger.get(path, headers={"cookie": f"bsx-{PORT}=wrong"}).status_code == 403


def test_the_first_visit_turns_the_token_into_a_cookie_no_script_can_read(stranger: TestClient) -> None:
    answer = stranger.get("/runs", params={"token": TOKEN, "a": "1 2"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?a=1+2")
    cookie = SimpleCookie(answer.headers["set-cookie"])[f"bsx-{PORT}"]
    assert cookie["httponly"]
    assert cookie["samesite"].lower() == "strict"
    assert cookie["path"] == "/"
    assert not cookie["domain"]
    assert stranger.get("/runs").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "localhost:1", "", "[::1]:8123"])
def test_another_name_for_this_machine_is_refused(client: TestClient, host: str) -> None:
    """What rebinds a name of its own to 127.0.0.1 still sends that name."""
    assert client.get("/", headers={"host": host}).status_code == 421
    assert client.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 421


def test_localhost_is_this_machine_too(client: TestClient) -> None:
    assert (
        client.get("/runs", headers={"host": f"localhost:{PORT}", "cookie": f"bsx-{PORT}={TOKEN}"}).status_code == 200
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": f"http://localhost:{PORT}"},  # the request is to 127.0.0.1
        {"origin": HOST, "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_of_elsewhere_changes_nothing(client: TestClient, workspace: Workspace, headers: dict[str, str]) -> None:
    assert client.post("/new", headers=headers).status_code == 403
    assert workspace.runs() == []


@pytest.mark.parametrize(
    "headers", [OWN, {"sec-fetch-site": "same-origin"}, {"origin": "null", "sec-fetch-site": "same-origin"}]
)
def test_a_page_of_our_own_may(client: TestClient, workspace: Workspace, headers: dict[str, str]) -> None:
    assert client.post("/new", headers=headers).status_code == 201
    assert len(workspace.runs()) == 1


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_says_what_a_browser_may_do_with_it(client: TestClient, path: str) -> None:
    for answer in (client.get(path), client.get(path, headers={"host": "evil.example"})):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == ("no-cache" if "ui.css" in path and answer.is_success else "no-store")


def test_the_policy_has_no_way_out() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == rules["form-action"] == "'self'"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_a_form_has_its_bounds_and_an_upload_has_others(workspace: Workspace, client: TestClient) -> None:
    run = workspace.new("x")
    large = b"a=" + b"x" * (1 << 20)
    sent = {**OWN, "content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"/runs/{run.name}/files", content=large, headers=sent).status_code == 413
    assert client.put(f"/upload/{run.name}?name=a.txt", content=large, headers=OWN).status_code == 201


@pytest.mark.parametrize("told", [True, False])
def test_an_upload_beyond_the_bound_leaves_nothing(workspace: Workspace, jobs: Jobs, told: bool) -> None:
    app = make_app(workspace, TOKEN, PORT, jobs)
    app.most = lambda: 3000
    run = workspace.new("x")
    with TestClient(app, base_url=HOST, cookies={f"bsx-{PORT}": TOKEN}) as client:
        body = b"x" * 4000
        content = body if told else (body[at : at + 500] for at in range(0, 4000, 500))
        answer = client.put(f"/upload/{run.name}?name=a.txt", content=content, headers=OWN)
        assert answer.status_code == 413
        assert client.get("/runs").status_code == 200
    assert [file.name for file in run.folder.iterdir()] == [RECORD]
    assert run.record.files == ()


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "a\\b", "C:x", "", ".", ".hidden", "x\0", "a" * 300, "link"])
def test_names_never_lead_out_of_the_folder(workspace: Workspace, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / RECORD).write_text(Record(title="secret").model_dump_json())
    workspace.folder.mkdir()
    (workspace.folder / "link").symlink_to(outside)
    with pytest.raises(UnknownNameError):
        workspace.run(name)
    assert workspace.runs() == []
    run = workspace.new("x")
    (run.folder / "link").symlink_to(outside / RECORD)
    with pytest.raises(UnknownNameError):
        run.file(name)


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/",
        "/static/home.html.jinja",
        "/runs/..%2f..",
        "/upload/",
    ],
)
def test_no_file_but_those_of_the_page_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (404, 405)


def test_a_folder_that_is_only_read_takes_nothing(workspace: Workspace) -> None:
    run = workspace.new("earlier")
    run.update(state="done")
    before = sorted(path.name for path in run.folder.iterdir())
    shown = Workspace(workspace.folder, read_only=True)
    with TestClient(make_app(shown, TOKEN, PORT), base_url=HOST, cookies={f"bsx-{PORT}": TOKEN}) as client:
        page = client.get("/")
        assert page.status_code == 200
        assert "earlier" in page.text
        assert "<form" not in client.get(f"/runs/{run.name}").text
        for method, path in [
            ("POST", "/new"),
            ("PUT", f"/upload/{run.name}?name=a.txt"),
            *(
                ("POST", f"/runs/{run.name}/{what}")
                for what in ("files", "metrics", "cancel", "resume", "remove", "again")
            ),
        ]:
            assert client.request(method, path, headers=OWN).status_code in (404, 405), path
    assert sorted(path.name for path in run.folder.iterdir()) == before
    with pytest.raises(InputError):
        shown.remove(run)


def test_titles_and_names_are_escaped(client: TestClient, workspace: Workspace) -> None:
    bad = "<script>alert(1)</script>\"'&"
    run = workspace.new(bad)
    answer = client.put(
        f"/upload/{run.name}", params={"name": f"../../{bad}.tsv"}, content=b"a\tb\n<b>x</b>\ty\n", headers=OWN
    )
    assert answer.status_code == 201
    for path in ("/", "/runs", f"/runs/{run.name}", f"/runs/{run.name}/files"):
        text = client.get(path).text
        assert "<script>alert" not in text
        assert "<b>x" not in text
    assert [file.stored for file in run.record.files] == ["input-1.tsv"]
