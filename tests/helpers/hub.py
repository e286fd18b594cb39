"""A model hub on this machine: the few answers of the Hugging Face hub that downloads need, from folders."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

COMMIT = "89abcdef" * 5


def cached(cache: Path, name: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a model of the hub, owner/name, be in the cache of a machine without a network, at `COMMIT`."""
    home = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(folder, home / "snapshots" / COMMIT)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


class Hub(NamedTuple):
    """What the server has and was asked.

    Attributes:
        url: where it answers.
        models: owner/name -> folder, to be filled by the test.
        asked: method and path of each request, in order.
        status: path ends -> status to answer with instead.
        cut: names of files of which only the first half is sent.
    """

    url: str
    models: dict[str, Path]
    asked: list[str]
    status: dict[str, int]
    cut: set[str]


@contextmanager
def serve() -> Iterator[Hub]:
    """Run a hub until the block ends; every revision is `COMMIT`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *said: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(f"{self.command} {path}")
            refused = next((status for end, status in hub.status.items() if path.endswith(end)), None)
            parts = path.strip("/").split("/")
            if refused is not None:
                self.send(refused, b"{}", {}, body)
            elif parts[:2] == ["api", "models"] and "/".join(parts[2:4]) in hub.models:
                self.send(200, self.listing("/".join(parts[2:4]), tree="tree" in parts), {}, body)
            elif parts[2:3] == ["resolve"] and (file := self.file(parts)) is not None:
                content = file.read_bytes()
                etag = hashlib.sha256(content).hexdigest()
                self.send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, body, half=file.name in hub.cut)
            else:
                code = "EntryNotFound" if "/".join(parts[:2]) in hub.models else "RepoNotFound"
                self.send(404, b"{}", {"X-Error-Code": code, "X-Repo-Commit": COMMIT}, body)

        def listing(self, model: str, tree: bool) -> bytes:
            files = sorted(file for file in hub.models[model].rglob("*") if file.is_file())
            names = [file.relative_to(hub.models[model]).as_posix() for file in files]
            if tree:
                sizes = dict(zip(names, (file.stat().st_size for file in files), strict=True))
                rows = [{"type": "file", "path": name, "size": sizes[name], "oid": COMMIT} for name in names]
                return json.dumps(rows).encode()
            siblings = [{"rfilename": name} for name in names]
            return json.dumps({"id": model, "sha": COMMIT, "siblings": siblings}).encode()

        def file(self, parts: list[str]) -> Path | None:
            folder = hub.models.get("/".join(parts[:2]))
            file = folder.joinpath(*parts[4:]) if folder is not None else None
            return file if file is not None and file.is_file() else None

        def send(self, status: int, content: bytes, headers: dict[str, str], body: bool, half: bool = False) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content[: len(content) // 2] if half else content)
            self.close_connection = half

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = Hub(f"http://127.0.0.1:{server.server_port}", {}, [], {}, set())
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
