"""A journal gives back what was kept, or less, never anything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bsx.data.journal import Journal
from bsx.errors import InputError

IDENTITY = {"input": ["a.txt (0123)"], "layout": ["a"], "signature": ["chrf|bsx:1"]}


def block(start: int) -> dict[str, np.ndarray]:
    return {"segments": np.array(3), "0.values": np.arange(start, start + 3.0), "1.values": np.arange(3) == start}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    journal = Journal(tmp_path / "out.tsv")
    journal.start(IDENTITY, {"tokens": 4096})
    journal.append(block(0))
    journal.append(block(1))
    journal.close()
    return tmp_path / "out.tsv"


def read(output: Path) -> tuple[dict[str, object], list[dict[str, object]]]:
    journal = Journal(output)
    try:
        assert journal.resume(IDENTITY)
        blocks = [{name: array.tolist() for name, array in arrays.items()} for arrays in journal.blocks()]
        return dict(journal.settings), blocks
    finally:
        journal.close()


def test_what_cannot_be_read_ends_what_is_taken_up(kept: Path) -> None:
    settings, whole = read(kept)
    assert (settings, len(whole)) == ({"tokens": 4096}, 2)
    folder = kept.with_name(kept.name + ".partial")
    for number, file in enumerate(sorted(folder.glob("block-*"))):
        content = file.read_bytes()
        # Cut off, emptied, or with another byte in what an array holds, which a zip file notices.
        at = content.index(b"NUMPY", len(content) // 2) + 130
        for broken in (content[: len(content) // 2], b"", content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]):
            file.write_bytes(broken)
            assert read(kept) == (settings, whole[:number])
        file.write_bytes(content)
    (folder / "run.json").write_text('{"identity": {}')
    with pytest.raises(InputError, match="cannot be read .*: start over without resume"):
        read(kept)
