"""Provenance names what was read, by content, and what computed."""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import bsx
from bsx.support.provenance import Signature, provenance, versions


def test_names_files_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bsx", "meta", "a b.tsv"])
    file = tmp_path / "a b.tsv"
    file.write_bytes(b"x\ty\n")
    document = provenance("meta", [file, "-"], {"chrf": "metric:chrf"})
    assert document["files"] == [{"name": "a b.tsv", "sha256": hashlib.sha256(b"x\ty\n").hexdigest()}]
    assert document["command"] == "bsx meta 'a b.tsv'"
    assert document["signatures"] == {"chrf": "metric:chrf"}


def test_a_signature_is_one_line_that_is_read_again() -> None:
    signature = Signature.of({"prefix": "Instruct: a | b\nQuery:"}, ["a\nnote"]).doubted(["another\nnote"])
    assert len(str(signature).splitlines()) == 1
    assert Signature.read(str(signature)) == signature


def test_versions_are_those_installed() -> None:
    found = versions()
    assert found["torch"] == version("torch")
    assert found["bsx"] == bsx.__version__


def test_the_command_does_not_say_where_files_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["/home/me/a b.tsv", "--fit=/home/me/x.tsv", "comet:python=/e/bin/python,model=/m/n", "a/b.tsv", "and/or"]
    monkeypatch.setattr(sys, "argv", ["bsx", "meta", *said])
    wanted = "bsx meta 'a b.tsv' --fit=x.tsv comet:python=python,model=n a/b.tsv and/or"
    assert provenance("meta")["command"] == wanted
