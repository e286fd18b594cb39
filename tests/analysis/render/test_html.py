"""Markdown of results as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from bsx.analysis.render.html import html_page, html_table
from bsx.analysis.render.tables import markdown_escape, markdown_table

NASTY = "a|b_c_ *x* <script>alert(1)</script> & ~`$ [z] \\ \0 é"


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.cells += [""] if tag in ("td", "th", "caption") else []

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data.replace("\n", "")


def read(content: str) -> _Text:
    parser = _Text()
    parser.feed(content)
    return parser


def test_texts_come_out_as_they_went_in() -> None:
    rows = [["name", "n"], [markdown_escape(NASTY), "**1.50** [1, 2]"], ["plain", "†2"]]
    found = read(html_page(f"{markdown_table(rows, [1])}\n\n{markdown_escape(NASTY)}", "t <b>"))
    shown = NASTY.replace("\0", " ")
    assert found.cells == [shown, "name", "n", shown, "1.50 [1, 2]", "plain", "†2"]
    assert "script" not in found.tags
    assert found.tags.count("b") == 1


def test_numbers_stand_to_the_right_and_headings_are_headings() -> None:
    found = html_table("## Title\n\n| a | b |\n| --- | ---: |\n| x | 1 |")
    assert found.startswith("<h2>Title</h2>\n<div class=scroll tabindex=0><table><thead>")
    assert "<th scope=row>x</th><td class=n>1</td>" in found


def test_a_caption_belongs_to_its_own_table() -> None:
    one = "| a |\n| --- |\n| 1 |"
    found = html_table(f"{one}\n\nFirst.\n\nMore.\n\n{one}\n\n{one}\n\n## Head")
    assert found.count("<table><caption>First.</caption>") == found.count("<caption>") == 1
    assert found.count("<table><thead>") == 2
    assert "<p>More.</p>" in found
    assert found.endswith("<h2>Head</h2>")
