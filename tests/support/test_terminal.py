"""The one layout of tables for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.support.terminal import SHOWN, WIDTH, display_width, short_table, table_width, text_table

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


ROWS = [["name", "title"], *([f"m{i}", "of characters " * 9] for i in range(40))]


def test_a_list_shows_its_first_rows_and_counts_the_others() -> None:
    *lines, left = short_table(ROWS, "l", what="metrics", cut=1).splitlines()
    assert len(lines) == 1 + SHOWN
    assert max(map(len, lines)) <= WIDTH
    assert all(line.endswith("…") for line in lines[1:])
    assert left.split()[0] == str(40 - SHOWN)
    assert left.endswith("--full.")


def test_a_list_is_whole_if_asked_for_or_if_few_rows_are_left() -> None:
    assert short_table(ROWS, "l", what="metrics", full=True) == text_table(ROWS, "l")
    assert len(short_table(ROWS[: SHOWN + 4], "l", what="metrics", cut=1).splitlines()) == SHOWN + 4
    assert len(short_table(ROWS, "l", what="metrics", cut=1, most=10).splitlines()) == 12


@pytest.mark.parametrize("facts", [0, 1, 4])
def test_a_whole_list_fits_a_terminal_and_loses_no_word(facts: int) -> None:
    rows = [[name, *[f"{name} is a fact"] * facts, f"{name} {title}"] for name, title in ROWS]
    table = short_table(rows, "l", what="metrics", full=True, cut=facts + 1)
    assert max(map(len, table.splitlines())) <= WIDTH
    folded = table.split("\n\n")[-1]
    assert folded.split().count("characters") == 9 * 40
    assert all(row[0] in folded for row in rows)


def test_the_width_of_a_table_is_that_of_its_lines() -> None:
    assert table_width(ROWS) == max(map(len, text_table(ROWS, "r").splitlines()))
