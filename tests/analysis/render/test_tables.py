"""Tables and escapes, against independent readers of what they write."""

from __future__ import annotations

import csv
import io
import re

import markdown
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bsx.analysis.render.tables import csv_table, latex_escape, latex_table, markdown_escape, markdown_table
from tests.helpers.markup import Tags


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("<>&\"'`*_[]()#|\\!~$^{}=-+: ax1\n\u2028./"), max_size=40))
def test_escaped_markdown_shows_the_text_itself(text: str) -> None:
    """Rendered by an independent implementation, nothing but the text is left."""
    rendered = Tags()
    rendered.feed(markdown.markdown(f"x{markdown_escape(text)}x", extensions=["tables"]))
    rendered.close()
    assert rendered.tags <= {"p"}
    expected = " ".join(re.sub(r"[\x00-\x1f\u2028]+", " ", f"x{text}x").split())
    assert " ".join(rendered.text.replace("\x02", "").split()) == expected


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("_*ax1é- .`"), max_size=24))
def test_emphasis_is_escaped_for_commonmark_too(text: str) -> None:
    rendered = Tags()
    rendered.feed(MarkdownIt().render(f"x{markdown_escape(text)}x"))
    assert rendered.tags <= {"p"}
    assert " ".join(rendered.text.split()) == " ".join(f"x{text}x".split())


@pytest.mark.parametrize(
    ("text", "written"),
    [("bleu_s", "bleu_s"), ("_s", r"\_s"), ("a__b", r"a\_\_b"), ("p|q", r"p\|q"), ("0.1*", r"0.1\*")],
)
def test_an_underscore_inside_a_word_needs_no_escape(text: str, written: str) -> None:
    assert markdown_escape(text) == written


def test_markdown_tables_are_tables_to_a_reader() -> None:
    rows = [["metric", "r|s"], ["bleu_s", "0.12*"]]
    text = markdown_table([[markdown_escape(cell) for cell in row] for row in rows], {1})
    html = MarkdownIt().enable("table").render(text)
    assert re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", html) == ["metric", "r|s", "bleu_s", "0.12*"]
    assert html.count("text-align:right") == 2


def test_latex_tables_have_their_rules_in_place() -> None:
    rows = [["metric", "r"], [latex_escape("a_b & 5%"), ".51"], ["all", ".50"]]
    lines = latex_table(rows, foot=1).splitlines()
    assert lines[0] == r"\begin{tabular}{lr}"
    assert lines[3:7] == [r"\midrule", r"a\_b \& 5\% & .51 \\", r"\midrule", r"all & .50 \\"]
    assert latex_table(rows, columns="rr").startswith(r"\begin{tabular}{rr}")


def test_csv_tables_are_read_again_as_they_were() -> None:
    rows = [["a", "b"], ['say "x", y', "0.1"], ["two\nlines", "é"]]
    assert list(csv.reader(io.StringIO(csv_table(rows)))) == rows
