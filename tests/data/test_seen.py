"""Digests of rows: what counts as the same row, and a file that holds no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.data.seen import RowTexts, SeenRows, digests
from bsx.errors import InputError


def test_a_row_is_the_same_whatever_its_case_white_space_and_unicode_form() -> None:
    first, *others = digests(
        [("A caf\u00e9.", "x  y"), ("a CAFE\u0301. ", "X y"), ("A cafe.", "x y"), ("x y", "A café.")]
    )
    assert [one == first for one in others] == [True, False, False]


def test_rows_are_counted_once_and_by_any_text_they_are_held_against(tmp_path: Path) -> None:
    seen = SeenRows.of([("a", "r1"), ("b", "s2")], [("a", "r1"), ("c", "r3")])
    file = tmp_path / "rows.safetensors"
    again = SeenRows.read(file, seen.save(file))
    assert again is not None
    texts = RowTexts(["a", "b", "c", "d"], [("r0", "r1"), ("r2",), ("r3",), ("r4",)], ["s1", "s2", "s3", "s4"])
    assert again.count(texts) == seen.count(texts) == {"train": 2, "valid": 1}
    assert again.count(RowTexts(["a"])) == {"train": 0, "valid": 0}
    assert b"r1" not in file.read_bytes().partition(b"}")[2]
    assert file.stat().st_size < 400


def test_another_file_is_refused_and_a_missing_one_is_no_record(tmp_path: Path) -> None:
    file = tmp_path / "rows.safetensors"
    digest = SeenRows.of([("a", "b")]).save(file)
    assert SeenRows.read(file, None) is None
    SeenRows.of([("a", "c")]).save(file)
    with pytest.raises(InputError, match="is damaged or was changed"):
        SeenRows.read(file, digest)
    file.unlink()
    assert SeenRows.read(file, digest) is None
