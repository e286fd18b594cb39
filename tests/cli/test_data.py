"""``bsx data``: fetching from a server that fails in every way, unpacking, verifying, a local folder instead."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from bsx.analysis.datasets.obtain import LOCK, get_dataset, unpack, verify_dataset
from bsx.analysis.datasets.store import load_data
from bsx.errors import DataUnavailableError, InputError
from bsx.support.download import download
from bsx.support.folders import data_folder
from tests.conftest import Cli

pytestmark = pytest.mark.usefixtures("online")
TABLE = "lp\tcandidate\treference\thuman\n" + "".join(f"cs-en\tc{i}\tr{i}\t{i}\n" for i in range(500))


class Server:
    """Serves bytes by path; knobs make it misbehave, `asked` records the Range headers."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.asked: list[str | None] = []
        self.ranges = True
        self.tag: str | None = '"v1"'
        self.stop_after: int | None = None
        knobs = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = knobs.content.get(self.path)
                wanted = self.headers.get("Range")
                knobs.asked.append(wanted)
                if body is None:
                    self.send_error(404)
                    return
                start, whole = 0, len(body)
                fresh = self.headers.get("If-Range") in (None, knobs.tag)
                if wanted is not None and knobs.ranges and fresh:
                    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                    if start >= whole:
                        self.send_error(416)
                        return
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
                else:
                    self.send_response(200)
                if knobs.tag is not None:
                    self.send_header("ETag", knobs.tag)
                self.send_header("Content-Length", str(whole - start))
                self.end_headers()
                end = whole if knobs.stop_after is None else start + knobs.stop_after
                self.wfile.write(body[start:end])

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


BODY = bytes(range(256)) * 40


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that has some bytes under ``/x``."""
    running = Server()
    running.content["/x"] = BODY
    yield running
    running.close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "x.bin"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("tags", "ranges", "resumed"),
    [
        (('"v1"', '"v1"'), True, True),
        (('"v1"', '"v1"'), False, True),
        (('"v1"', '"v2"'), True, True),  # the file changed meanwhile
        ((None, None), True, False),  # nothing is resumed that cannot be told apart
        (('W/"weak"', 'W/"weak"'), True, False),
    ],
)
def test_an_interrupted_download_goes_on_or_begins_anew(
    tags: tuple[str | None, str | None], ranges: bool, resumed: bool, server: Server, target: Path
) -> None:
    server.tag, server.ranges, server.stop_after = tags[0], ranges, 1000
    with pytest.raises(DataUnavailableError, match=r"ended after 1,000 of 10,240 bytes; the same command resumes"):
        download(f"{server.url}/x", target, None, None)
    assert not target.exists()
    assert target.with_name("x.bin.part").read_bytes() == BODY[:1000]
    server.tag, server.stop_after = tags[1], None
    server.content["/x"] = now = BODY if tags[0] == tags[1] else BODY[::-1]
    seen: list[tuple[str, int, int]] = []
    download(f"{server.url}/x", target, sha256(now), len(now), lambda *step: seen.append(step))
    assert (target.read_bytes(), seen[-1]) == (now, ("x.bin", len(BODY), len(BODY)))
    assert server.asked == [None, "bytes=1000-" if resumed else None]
    assert [path.name for path in target.parent.iterdir()] == ["x.bin"]


def test_a_part_that_is_already_whole_or_too_long(server: Server, target: Path) -> None:
    for part in (BODY, BODY + b"more"):
        target.with_name("x.bin.part").write_bytes(part)
        target.with_name("x.bin.part.json").write_text(json.dumps({"url": f"{server.url}/x", "validator": '"v1"'}))
        download(f"{server.url}/x", target, None, None)
        assert target.read_bytes() == BODY
    target.with_name("x.bin.part").write_bytes(BODY[:10])
    target.with_name("x.bin.part.json").write_text("not json")
    server.asked.clear()
    download(f"{server.url}/x", target, None, None)
    assert server.asked == [None]


def test_a_wrong_file_is_not_kept(server: Server, target: Path) -> None:
    target.write_bytes(b"older")
    with pytest.raises(InputError, match=rf"/x: the sha256 is {sha256(BODY)}, {'0' * 64} is expected"):
        download(f"{server.url}/x", target, "0" * 64, None)
    with pytest.raises(InputError, match=r"/x: has 10,240 bytes, 5 are expected"):
        download(f"{server.url}/x", target, None, 5)
    assert target.read_bytes() == b"older"
    assert [path.name for path in target.parent.iterdir()] == ["x.bin"]


def test_what_cannot_be_fetched(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError, match="/none: the server answers 404"):
        download(f"{server.url}/none", tmp_path / "x", None, None)
    with pytest.raises(InputError, match="only http and https"):
        download("file:///x", tmp_path / "x", None, None)
    with pytest.raises(DataUnavailableError, match=r"cannot be fetched \(.*\); else so$"):
        download("http://127.0.0.1:9/x", tmp_path / "x", None, None, otherwise="; else so")


def tar(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_archives_are_unpacked_with_those_inside(tmp_path: Path) -> None:
    inner = tar({"deep/b.txt": b"b"})
    for name, content in (
        ("x.tgz", tar({"a/i.tgz": inner, "c.txt": b"c"})),
        ("y.tar", tar({"a/i.tgz": inner, "c.txt": b"c"}, "w")),
        ("z.zip", zipped({"a/i.tgz": inner, "c.txt": b"c"})),
    ):
        archive = tmp_path / name
        archive.write_bytes(content)
        folder = tmp_path / archive.stem
        (folder / "stale").mkdir(parents=True)
        files = unpack(archive, folder, ["a/i.tgz"])
        assert [file.relative_to(folder).as_posix() for file in files] == ["a/i/deep/b.txt", "a/i.tgz", "c.txt"]
        assert not (folder / "stale").exists()
    with pytest.raises(InputError, match=r"x\.tgz: holds no a/none\.tgz"):
        unpack(tmp_path / "x.tgz", tmp_path / "x", ["a/none.tgz"])
    assert (tmp_path / "x/c.txt").is_file()


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "a/../../evil.txt"])
def test_no_member_is_written_outside(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for kind, content in (("t.tgz", tar({"ok": b"", name: b"x"})), ("z.zip", zipped({"ok": b"", name: b"x"}))):
        archive = tmp_path / "in" / kind
        archive.write_bytes(content)
        # The tar filter strips a leading slash, which keeps the member inside.
        refused = pytest.raises(InputError, match=r"not safe to unpack|would be written outside")
        with nullcontext() if kind == "t.tgz" and name == "/evil.txt" else refused:
            unpack(archive, tmp_path / "in" / "t", [])
    assert not (tmp_path / "evil.txt").exists()
    assert not (tmp_path / "in/evil.txt").exists()


def test_links_and_broken_archives(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    (tmp_path / "l.tgz").write_bytes(packed.getvalue())
    with pytest.raises(InputError, match="not safe to unpack"):
        unpack(tmp_path / "l.tgz", tmp_path / "l", [])
    for name in ("b.tgz", "b.zip"):
        (tmp_path / name).write_bytes(b"nonsense")
        with pytest.raises(InputError, match=rf"{name}: cannot be unpacked"):
            unpack(tmp_path / name, tmp_path / "b", [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tgz", "b.zip", "l.tgz"]


@pytest.fixture
def registry(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A registry folder with four data sets, two of them on the server, and an empty data folder."""
    server.content["/pack.tgz"] = tar({"inside/da.tsv": TABLE.encode()})
    server.content["/da.tsv"] = TABLE.encode()
    common: dict[str, Any] = {"title": "Toy", "homepage": "https://a.org", "licence": "unknown", "citation": "nobody"}
    common |= {"layout": None, "files": [], "language_pairs": ["cs-en"]}
    packed = {"path": "pack.tgz", "url": f"{server.url}/pack.tgz", "sha256": None, "size": None}
    digest = sha256(TABLE.encode())
    plain = {"path": "da.tsv", "url": f"{server.url}/da.tsv", "sha256": digest, "size": len(TABLE)}
    local = {"path": "wmt/da.tsv", "loader": "wmt_da"}
    entries: list[dict[str, Any]] = [
        {"name": "toy-pack", "files": [packed], "layout": {"path": "pack/**/da.tsv", "loader": "wmt_da"}},
        {"name": "toy", "files": [plain], "layout": {"path": "da.tsv", "loader": "wmt_da"}},
        {"name": "toy-local", "local": local},
        {"name": "toy-pinned", "local": {**local, "sha256": {"wmt/da.tsv": digest}}},
    ]
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry/datasets.yaml").write_text(yaml.safe_dump([{**common, **entry} for entry in entries]))
    monkeypatch.setenv("BSX_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.setenv("BSX_DATA", str(tmp_path / "data"))
    return server


def test_get_load_and_verify(registry: Server, cli: Cli, tmp_path: Path) -> None:
    assert data_folder() == tmp_path / "data"
    with pytest.raises(DataUnavailableError, match="toy is not in .*: `bsx data get toy` fetches it"):
        load_data("toy")
    assert "toy is not in" in cli("data", "verify", "toy").err
    registry.content["/da.tsv"] = TABLE.replace("c7", "d7").encode()
    result = cli("data", "get", "toy")
    assert (result.status, result.err.count("\n")) == (2, 1)
    assert "is expected" in result.err
    assert list((tmp_path / "data/toy").iterdir()) == []
    registry.content["/da.tsv"] = TABLE.encode()
    for name, status in (("toy", "da.tsv: ok"), ("toy-pack", "pack.tgz, pack/inside/da.tsv: unchanged")):
        result = cli("data", "get", name)
        assert (result.status, result.out) == (0, f"{name}: in {tmp_path / 'data' / name}\n")
        table = load_data(name)
        assert len(table) == 500
        assert table.name == name
        assert cli("data", "verify", name).out == f"{name}: {status}\n"
        lock = json.loads((tmp_path / "data" / name / LOCK).read_text())
        assert {len(facts["sha256"]) for kind in lock.values() for facts in kind.values()} == {64}
    registry.asked.clear()
    get_dataset("toy")
    get_dataset("toy-pack")
    assert registry.asked == []
    member = tmp_path / "data/toy-pack/pack/inside/da.tsv"
    member.write_text(TABLE + "x")
    result = cli("data", "verify", "toy-pack")
    assert result.status == 2
    assert f"{member}: has {len(TABLE) + 1:,} bytes, {len(TABLE):,} are expected" in result.err
    member.unlink()
    assert "da.tsv: is missing; `bsx data get toy-pack` fetches it" in cli("data", "verify", "toy-pack").err
    (tmp_path / "data/toy/da.tsv").write_text(TABLE.replace("c7", "d7"))
    assert "the sha256 is" in cli("data", "verify", "toy", "--format", "json").err
    get_dataset("toy")
    assert json.loads(cli("data", "verify", "toy", "--format", "json").out) == {"da.tsv": "ok"}
    (tmp_path / "data/toy" / LOCK).write_text("[]")
    assert "is not a lock file of bsx" in cli("data", "verify", "toy").err


def test_where_the_data_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BSX_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr("platformdirs.PlatformDirs", Unix)
    assert data_folder() == tmp_path / "xdg/bsx/data"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert data_folder() == tmp_path / ".local/share/bsx/data"
    monkeypatch.setattr("platformdirs.PlatformDirs", MacOS)
    assert data_folder() == tmp_path / "Library/Application Support/bsx/data"
    assert data_folder("~/x") == tmp_path / "x"


def test_a_local_folder_instead_of_the_network(registry: Server, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "wmt").mkdir(parents=True)
    assert "nobody publishes it in this form; put wmt/da.tsv there" in cli("data", "get", "toy-local").err
    assert "toy-local needs wmt/da.tsv, which is not" in cli("data", "get", "toy-local", "--from-folder", folder).err
    assert "there is no folder" in cli("data", "get", "toy", "--from-folder", tmp_path / "none").err
    (folder / "wmt/da.tsv").write_text(TABLE)
    other = tmp_path / "other"
    assert cli("data", "get", "toy-local", "--from-folder", folder, "--data-dir", other).status == 0
    assert len(load_data("toy-local", data_dir=other)) == 500
    assert verify_dataset("toy-local", data_dir=other) == {"wmt/da.tsv": "unchanged"}
    # A data folder may also be somebody's own collection, which nobody fetched.
    assert len(load_data("toy-local", data_dir=folder)) == 500
    assert cli("data", "verify", "toy-local", "--data-dir", folder).out.endswith("no checksum is known\n")
    # With a checksum in the registry, a changed table is refused, by verify and by get.
    assert cli("data", "verify", "toy-pinned", "--data-dir", folder).out == "toy-pinned: wmt/da.tsv: ok\n"
    (folder / "wmt/da.tsv").write_text(TABLE + "x")
    for command in (("verify", "toy-pinned", "--data-dir", folder), ("get", "toy-pinned", "--from-folder", folder)):
        refused = cli("data", *command)
        assert refused.status == 2
        assert f"{folder / 'wmt/da.tsv'}: the sha256 is" in refused.err
    (folder / "da.tsv").write_text(TABLE)
    assert cli("data", "get", "toy", "--from-folder", folder).status == 0
    (folder / "da.tsv").write_text(TABLE + "x")
    result = cli("data", "get", "toy", "--from-folder", folder)
    assert result.status == 2
    assert f"{folder / 'da.tsv'}: has {len(TABLE) + 1:,} bytes" in result.err
    assert verify_dataset("toy") == {"da.tsv": "ok"}
    assert registry.asked == []


def test_list_and_show(registry: Server, cli: Cli, tmp_path: Path) -> None:
    cli("data", "get", "toy")
    rows = {row["name"]: row for row in json.loads(cli("data", "list", "--format", "json").out)["datasets"]}
    assert rows["toy"]["here"]
    assert not rows["wmt17-da"]["here"]
    assert rows["toy"]["files"][0]["size"] == len(TABLE)
    lines = cli("data", "list").out.splitlines()
    assert lines[0].startswith(f"{len(rows)} data sets, ")
    assert lines[2].split() == ["name", "here", "download", "licence", "title"]
    assert lines[3].split()[0] in {name for name, row in rows.items() if row["here"]}  # those that are here come first
    assert len(lines) <= 25 < len(cli("data", "list", "--full").out.splitlines())
    assert any(line.split()[:3] == ["toy", "yes", "yes"] for line in lines)
    shown = cli("data", "show", "wmt17-da").out
    assert "wmt17-metrics-task-package.tgz (size unknown; sha256 unknown)" in shown
    assert "licence         unknown" in shown
    assert f"is here, in {tmp_path / 'data/toy'}" in cli("data", "show", "toy").out.splitlines()[0]
    assert "is not here" in shown.splitlines()[0]
    assert json.loads(cli("data", "show", "toy", "--format", "json").out) == rows["toy"]
    assert "unknown data set 'tooy'. Near: toy" in cli("data", "get", "tooy").err
    assert "List, show, fetch and verify" in cli("data").out
