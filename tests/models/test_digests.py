"""Digests of large files: computed once, and again whenever the file is another."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from bsx.models import files
from bsx.models.files import file_digest
from bsx.support.folders import cache_folder


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is large and old."""
    monkeypatch.setenv("BSX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "_LARGE", 10)
    monkeypatch.setattr(files, "_YOUNG", -1.0)
    file = tmp_path / "weights"
    file.write_bytes(b"x" * 100)
    return file


def test_a_digest_is_computed_once(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hashlib.sha256(large.read_bytes()).hexdigest()
    assert file_digest(large) == expected
    monkeypatch.setattr(hashlib, "file_digest", None)
    assert file_digest(large) == expected


def test_another_content_is_noticed_though_size_and_time_are_set_back(large: Path) -> None:
    before = large.stat()
    first = file_digest(large)
    time.sleep(0.02)  # longer than the clock of any file system's times here
    large.write_bytes(b"y" * 100)
    os.utime(large, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_digest(large) == hashlib.sha256(b"y" * 100).hexdigest() != first


def test_a_young_file_and_a_small_one_are_not_remembered(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_YOUNG", 60.0)
    file_digest(large)
    monkeypatch.setattr(files, "_YOUNG", -1.0)
    monkeypatch.setattr(files, "_LARGE", 1000)
    file_digest(large)
    assert not (cache_folder() / "digests.json").exists()


@pytest.mark.parametrize("content", ["", "[1]", '{"a": 1}', "\x00"])
def test_a_damaged_store_is_made_anew(large: Path, content: str) -> None:
    file_digest(large)
    (cache_folder() / "digests.json").write_text(content)
    assert file_digest(large) == hashlib.sha256(large.read_bytes()).hexdigest()
    assert str(large.resolve()) in json.loads((cache_folder() / "digests.json").read_text())


def test_a_cache_that_cannot_be_written_to_costs_only_time(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (large.parent / "file").write_text("")
    monkeypatch.setenv("BSX_CACHE", str(large.parent / "file"))
    assert file_digest(large) == hashlib.sha256(large.read_bytes()).hexdigest()
