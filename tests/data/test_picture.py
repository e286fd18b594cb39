"""Pictures: formats, labels, files that are equal for equal figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.data.picture import PICTURES, check_picture, label, picture
from bsx.errors import InputError


def draw(path: Path) -> bytes:
    with picture(path, 2, 1, about="what it shows") as figure:
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], "o", label="points")
        axes.set_title(label("$5 and $6"))
    return path.read_bytes()


@pytest.mark.parametrize("suffix", PICTURES)
def test_equal_figures_become_equal_files(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    first, second = (draw(tmp_path / f"{name}{suffix}") for name in "ab")
    assert first == second
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert b"what it shows" in first


def test_a_picture_that_fails_leaves_no_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ZeroDivisionError), picture(tmp_path / "a.png", 2, 1):
        1 / 0  # noqa: B018
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_drawn_is_said_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.png, \.svg, \.pdf"):
        check_picture(tmp_path / "a.gif")
    with pytest.raises(InputError, match="does not exist"):
        check_picture(tmp_path / "no" / "a.png")
