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


def test_a_flipped_byte_is_found(kept: Path) -> None:
    settings, whole = read(kept)
    assert (settings, len(whole)) == ({"tokens": 4096}, 2)
    chance = np.random.default_rng(0)
    folder = kept.with_name(kept.name + ".partial")
    for file in [folder / "run.json", *sorted(folder.glob("block-*"))]:
        content = file.read_bytes()
        for _ in range(150):
            at = int(chance.integers(len(content)))
            file.write_bytes(content[:at] + bytes([content[at] ^ (1 << int(chance.integers(8)))]) + content[at + 1 :])
            try:
                found, blocks = read(kept)
            except InputError as error:
                if file.name != "run.json" or str(folder) not in str(error):
                    raise
            else:
                assert found == settings
                assert blocks == whole[: len(blocks)]
                assert (len(blocks) < len(whole)) == file.name.startswith("block-")
        file.write_bytes(content)
