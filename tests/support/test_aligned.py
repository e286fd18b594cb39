"""The one layout of tables for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.support.aligned import display_width, text_table

CELLS = st.text(alphabet="abc1.", min_size=1, max_size=6)


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [["metric", "r", "interval"], ["m", "0.1", "[0, 1]"], ["longer", "12.25", ""]]
    assert text_table(rows).splitlines() == ["metric      r  interval", "m         0.1    [0, 1]", "longer  12.25"]
    assert text_table(rows, "lrl").splitlines()[1] == "m         0.1  [0, 1]"
    assert text_table(rows, "r").splitlines()[1] == "     m    0.1    [0, 1]"


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5), st.sampled_from(["lr", "r", "lll"]))
def test_cells_are_found_again_where_blanks_divide_them(rows: list[list[str]], columns: str) -> None:
    assert [line.split() for line in text_table(rows, columns).splitlines()] == rows


def test_columns_stand_below_each_other_in_every_script() -> None:
    """By wcwidth, the reference for how wide a terminal draws a text; the tables use rich's cell widths."""
    wcwidth = pytest.importorskip("wcwidth")
    texts = ["plain", "中文分词", "日本語", "한국어", "cafe\u0301", "สวัสดี", "e\u0301\u0323"]
    lines = text_table([["text", "n"], *([text, "1"] for text in texts)]).split("\n")
    assert len({wcwidth.wcswidth(line) for line in lines}) == 1
    assert all(display_width(text) == wcwidth.wcswidth(text) for text in texts)
