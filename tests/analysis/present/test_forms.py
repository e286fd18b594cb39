"""Parts as text, Markdown, LaTeX and HTML, against independent readers of what is written."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import markdown as python_markdown
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bsx.analysis.present import html
from bsx.analysis.present.cells import number, table, text
from bsx.analysis.present.latex import latex
from bsx.analysis.present.markdown import escape, markdown, rows_of
from bsx.analysis.present.parts import Cell, Heading, Prose, TablePart
from bsx.analysis.present.text import text as plain
from tests.helpers.markup import Tags

NASTY = "a|b_c_ *x* <script>alert(1)</script> & ~`$ [z] \\ \0 é"
TABLE = table(
    "5 % of a_b & R²",
    ["metric", "r", "p"],
    [
        [text("m_1"), Cell("0.51 [0.40, 0.60]", 0.51, mark="†1,3", strong=True), Cell("2e-09", 2e-9, mark="†")],
        [text("50%"), number(-0.04, 2), Cell("")],
        [text("mean"), number(0.1, 2, mark="†2"), number(0.04, mark="†")],
    ],
    note="Bold: best. †: p < 0.05.",
    foot=1,
)


class _Read(HTMLParser):
    """The tags of a page, and the texts of cells and captions."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.cells += [""] if tag in ("td", "th", "caption") else []

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data.replace("\n", "")


def shows(rendered: str, text: str) -> None:
    """Hold a rendered page to one paragraph with a text, control characters being spaces."""
    page = Tags()
    page.feed(rendered)
    page.close()
    assert page.tags <= {"p"}
    expected = " ".join(re.sub(r"[\x00-\x1f\u2028]+", " ", f"x{text}x").split())
    assert " ".join(page.text.replace("\x02", "").split()) == expected


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("<>&\"'`*_[]()#|\\!~$^{}=-+: ax1\n\u2028./"), max_size=40))
def test_escaped_markdown_shows_the_text_itself(text: str) -> None:
    shows(python_markdown.markdown(f"x{escape(text)}x", extensions=["tables"]), text)


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("_*ax1é- .`"), max_size=24))
def test_emphasis_is_escaped_for_commonmark_too(text: str) -> None:
    shows(MarkdownIt().render(f"x{escape(text)}x"), text)


@pytest.mark.parametrize(
    ("text", "written"),
    [("bleu_s", "bleu_s"), ("_s", r"\_s"), ("a__b", r"a\_\_b"), ("p|q", r"p\|q"), ("0.1*", r"0.1\*")],
)
def test_an_underscore_inside_a_word_needs_no_escape(text: str, written: str) -> None:
    assert escape(text) == written


def test_markdown_tables_are_tables_to_a_reader() -> None:
    written = rows_of(map(escape, ["metric", "r|s"]), [map(escape, ["bleu_s", "0.12*"])], {1})
    read = MarkdownIt().enable("table").render(written)
    assert re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", read) == ["metric", "r|s", "bleu_s", "0.12*"]
    assert read.count("text-align:right") == 2


def test_markdown_keeps_marks_outside_of_bold() -> None:
    lines = markdown([TABLE], data="d.tsv", signatures={"m": "s"}).split("\n")
    assert lines[0] == "**d.tsv: 5 % of a_b &amp; R²**"
    assert lines[4] == r"| m_1 | **0.51 \[0.40, 0.60\]**†1,3 | 2e-09† |"
    assert lines[-4:] == ["Bold: best. †: p &lt; 0.05.", "", "m: s", ""]


def test_digits_stand_below_digits_in_text() -> None:
    title, head, *rows, note = plain([TABLE]).split("\n")
    assert (title, note) == (TABLE.caption, TABLE.note)
    assert head.split() == list(TABLE.columns)
    assert [row.split() for row in rows] == [
        ["m_1", "**0.51", "[0.40,", "0.60]**†1,3", "2e-09†"],
        ["50%", "-0.04"],
        ["mean", "0.10†2", "0.040†"],
    ]
    ends = [
        row.index("**†1,3") if "**" in row else row.index(cell) + 4
        for row, cell in zip(rows, ("", "0.04", "0.10"), strict=True)
    ]
    assert len(set(ends)) == 1


def test_latex_escapes_hangs_marks_and_prints_intervals_small() -> None:
    written = latex([TABLE, TABLE], data="d_1.tsv", signatures={"m_1": "a|b"}, label="tab:x")
    lines = written.split("\n")
    assert lines[:3] == [r"\begin{table}", r"\centering", r"\begin{tabular}{lrr}"]
    marked = r"\rlap{$^{\dagger 1,3}$}\hphantom{$^{\dagger 1,3}$}"
    assert rf"m\_1 & \textbf{{0.51}} {{\scriptsize [0.40, 0.60]}}{marked} &" in written
    assert r"$2\cdot10^{-9}$\rlap{$^\dagger$} \\" in written
    assert r"50\% & $-$0.04\hphantom{$^{\dagger 1,3}$} &  \\" in lines
    assert lines[lines.index(r"\bottomrule") - 2] == r"\midrule"  # above the foot
    assert r"\caption{d\_1.tsv: 5 \% of a\_b \& $R^2$}" in lines
    assert lines.count(r"\label{tab:x}") == lines.count(r"\label{tab:x-2}") == 1
    assert sum(r"m\_1: a|\allowbreak b" in line for line in lines) == 1  # below the first table only


def test_wide_tables_go_over_both_columns() -> None:
    wide = latex([table("", [str(i) for i in range(9)], [[number(1)] * 9])])
    assert wide.startswith(r"\begin{table*}")
    assert wide.rstrip().endswith(r"\end{table*}")


def test_texts_come_out_of_pages_as_they_went_in() -> None:
    rows = [[text(NASTY), Cell("1.50 [1, 2]", 1.5, strong=True)], [text("plain"), number(2, mark="†")]]
    found = _Read(html.page([table(NASTY, ["name", "n"], rows), Prose(NASTY)], "t <b>", data="d"))
    assert found.cells[:6] == [f"d: {NASTY}", "name", "n", NASTY, "1.50 [1, 2]", "plain"]
    assert found.cells[6].startswith("2†")
    assert "script" not in found.tags
    assert found.tags.count("b") == 1


def test_which_columns_are_numbers_is_found_out_once() -> None:
    assert TABLE.numeric == {1, 2}
    assert TABLE.numeric is TABLE.numeric  # a page asks for each cell


def test_numbers_stand_to_the_right_and_captions_belong_to_their_tables() -> None:
    bare: TablePart = table("", ["a", "b"], [[text("x"), number(1)]])
    found = html.piece([Heading("Title"), table("First.", ["a"], [[text("1")]]), bare])
    assert "<h2>Title</h2>" in found
    assert "<th scope=row>x</th><td class=n>1</td>" in found
    assert found.count("<table><caption>First.</caption>") == found.count("<caption>") == 1
    assert found.count("<table><thead>") == 1
