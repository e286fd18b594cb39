"""Files that grow when they are unpacked, links, and folders that are somebody else's."""

from __future__ import annotations

import csv
import functools
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from bsx.analysis.factors.parses import ParseCache
from bsx.data import lines
from bsx.data.lines import NamedFile
from bsx.data.output import ScoreTable, atomic_text
from bsx.data.sidecar import known_metrics
from bsx.data.tables import Table
from bsx.encode.vector_cache import VectorCache
from bsx.errors import InputError
from bsx.support.folders import claim_cache

LARGE = {
    "t.txt.gz": b"",
    "t.tsv.gz": b"candidate\treference\n",
    "t.csv.gz": b'candidate,reference\n"',
    "t.jsonl.gz": b'{"candidate": "',
    "t.json.gz": b'{"a": "',
    "t.parquet.gz": b"PAR1",
}


def _read(file: Path) -> None:
    if ".json." in file.name:
        NamedFile(file).json()
    elif ".txt" in file.name:
        list(NamedFile(file).lines())
    else:
        list(Table(file).rows())


@pytest.mark.parametrize("name", LARGE)
def test_what_unpacks_to_more_than_fits_is_refused_on_the_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bounds a thousandth of the real ones; the process below has the real ones."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 2**16)
    monkeypatch.setattr("bsx.data.tables.LONGEST_LINE", 2**16)
    monkeypatch.setattr(lines, "free_memory", lambda: 2**16)
    read = {"most": 0}

    class Counting(gzip.GzipFile):
        def tell_most(self, content: bytes) -> bytes:
            read["most"] = max(read["most"], self.tell())
            return content

        def read(self, size: int | None = -1) -> bytes:
            return self.tell_most(super().read(size))

        def readline(self, size: int | None = -1) -> bytes:
            return self.tell_most(super().readline(size))

    monkeypatch.setattr(gzip, "GzipFile", Counting)
    with gzip.open(tmp_path / name, "wb") as stream:
        stream.write(LARGE[name] + (b"a" * 1023 + b"\n" if "csv" in name else b"a" * 1024) * 2**11)
    read["most"] = 0
    limit = csv.field_size_limit()
    try:
        with pytest.raises(InputError):
            _read(tmp_path / name)
    finally:
        csv.field_size_limit(limit)
    assert 2**15 < read["most"] < 2**18  # of 2**21


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the most memory that a process had")
def test_a_line_of_300_mb_takes_no_gigabytes(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "t.txt.gz", "wb", compresslevel=1) as stream:
        for _ in range(300):
            stream.write(b"a" * 2**20)
    # What getrusage says, a process inherits from the one that started it.
    code = "import pathlib; from bsx.cli.main import _status; status = _status(); "
    code += "print(status, pathlib.Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    call = ["score", "-c", "t.txt.gz", "-r", "t.txt.gz", "--metrics", "chrf"]
    done = subprocess.run([sys.executable, "-c", code, *call], cwd=tmp_path, capture_output=True, text=True, check=True)
    status, peak = map(int, done.stdout.split())
    assert status == 2
    assert done.stderr.count("\n") == 1
    assert peak < 400_000  # KB


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_written_through(there: bool, tmp_path: Path) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    target, link, other = far / "real.tsv", near / "link.tsv", near / "other.tsv"
    other.symlink_to(Path("..") / "far" / "real.tsv")
    link.symlink_to("other.tsv")
    if there:
        target.write_text("old\n")
        (far / "real.tsv.signature.txt").write_text("stale")
        target.chmod(0o640)
    with pytest.raises(ZeroDivisionError), atomic_text(link) as stream:
        stream.write(f"half {1 // 0}")
    assert target.exists() == there
    with ScoreTable(link) as table:
        table.write({"id": "a", "chrf": 0.5})
        table.sidecar = {"metrics": [{"metric": "chrf", "higher_is_better": True}]}
    assert link.is_symlink()
    assert other.is_symlink()
    assert sorted(file.name for file in near.iterdir()) == ["link.tsv", "other.tsv"]
    assert sorted(file.name for file in far.iterdir()) == ["real.tsv", "real.tsv.signatures.json"]
    assert target.read_text() == "id\tchrf\na\t0.5\n"
    assert not there or target.stat().st_mode & 0o777 == 0o640
    assert [one.metric for name in (link, other, target) for one in known_metrics(name)] == ["chrf"] * 3


def test_a_link_that_leads_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.tsv"
    link.symlink_to(tmp_path / "none" / "real.tsv")
    with pytest.raises(InputError, match="does not exist"), atomic_text(link):
        pass
    assert link.is_symlink()


def test_a_cache_is_known_again(tmp_path: Path) -> None:
    (tmp_path / "new" / "deep").mkdir(parents=True)
    for folder in (tmp_path / "new" / "deep", tmp_path / "made"):
        VectorCache(folder)
        (folder / "README").write_text("mine")
        VectorCache(folder)
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    for taken in (tmp_path / "file", tmp_path):  # which holds other files
        for claim in (VectorCache, functools.partial(ParseCache, identity={})):
            with pytest.raises(InputError, match="the cache"):
                claim(taken)
    assert sorted(tmp_path.rglob("*")) == before
    for _ in range(2):
        ParseCache(tmp_path / "new" / "parses", {})
    (tmp_path / "kept" / "parses").mkdir(parents=True)
    assert claim_cache(tmp_path / "kept") == tmp_path / "kept"


def test_a_parquet_file_is_not_kept_while_it_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    with parquet.ParquetWriter(path, pyarrow.schema([("text", pyarrow.string())]), compression="none") as writer:
        for group in range(40):
            writer.write_table(pyarrow.table({"text": [f"{group} {row} ".ljust(100, "x") for row in range(2000)]}))
    before = pyarrow.total_allocated_bytes()
    held = [pyarrow.total_allocated_bytes() - before for _ in Table(path).rows()]
    assert len(held) == 80_000
    assert max(held) < path.stat().st_size / 2


def test_a_text_is_all_of_its_lines(tmp_path: Path) -> None:
    for number, content in enumerate(["a\r\nb\u2028c\n".encode("utf-8-sig"), "a\nß".encode("utf-16"), b"\n", b"a"]):
        file = tmp_path / f"{number}.txt"
        file.write_bytes(content)
        assert NamedFile(file).text() == "".join(line for _, line in NamedFile(file).numbered(ends=True))
    file.write_bytes(b"a\nb\xff\n")
    with pytest.raises(InputError, match="line 2 is not UTF-8"):
        NamedFile(file).text()
