"""The page without a browser: a workspace, its queue, and a client that was let in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bsx.ui.app import make_app
from bsx.ui.jobs import Jobs
from bsx.ui.workspace import Record, Run, Workspace

PORT = 8123
HOST = f"http://127.0.0.1:{PORT}"
TOKEN = "the-token"  # noqa: S105 - of a server that only tests talk to
OWN = {"origin": HOST}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "results")


@pytest.fixture
def jobs(workspace: Workspace) -> Iterator[Jobs]:
    queue = Jobs(workspace)
    yield queue
    queue.close()


@pytest.fixture
def stranger(workspace: Workspace, jobs: Jobs) -> Iterator[TestClient]:
    """A client without the token."""
    with TestClient(make_app(workspace, TOKEN, PORT, jobs), base_url=HOST, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    """A client whose first visit had the token in the address."""
    assert stranger.get("/", params={"token": TOKEN}).status_code == 303
    return stranger


@pytest.fixture
def ends() -> Callable[[Run, Jobs], Record]:
    """Wait until a run is neither waiting nor running."""

    def wait(run: Run, queue: Jobs) -> Record:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            record = queue.record(run)
            if record.state not in ("queued", "running"):
                return record
            time.sleep(0.05)
        raise AssertionError(f"still {queue.record(run)}")

    return wait
