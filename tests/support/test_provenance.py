"""Provenance names what was read, by content, and what computed."""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bsx.support.provenance import provenance, versions


def test_names_files_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bsx", "meta", "a b.tsv"])
    file = tmp_path / "a b.tsv"
    file.write_bytes(b"x\ty\n")
    document = provenance("meta", [file, "-"], {"chrf": "metric:chrf"})
    assert document["files"] == [{"name": "a b.tsv", "sha256": hashlib.sha256(b"x\ty\n").hexdigest()}]
    assert document["command"] == "bsx meta 'a b.tsv'"
    assert document["signatures"] == {"chrf": "metric:chrf"}


def test_versions_are_those_installed() -> None:
    found = versions()
    assert found["torch"] == version("torch")
    assert found["bsx"] == version("bsx")
