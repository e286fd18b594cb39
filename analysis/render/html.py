"""The Markdown that results are written in, as HTML: tables, paragraphs, headings and bold figures, nothing else."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_STYLE = """body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; border-block: 2px solid; margin-block: 1rem }
th, td { padding: .25rem .7rem; text-align: left } thead { border-bottom: 1px solid } .n { text-align: right }
td.n { font-variant-numeric: tabular-nums } @media print { table { break-inside: avoid } }"""
# The same for a piece within another page, whose own rules for tables it has to hold its own against.
_SCOPED = """.bsx-result table { border-collapse: collapse; border: 0; border-block: 2px solid; margin-block: .6rem }
.bsx-result :is(th, td) { padding: .2rem .7rem; text-align: left !important; border: 0; background: none }
.bsx-result thead { border-bottom: 1px solid } .bsx-result .n { text-align: right !important }
.bsx-result td.n { font-variant-numeric: tabular-nums } .bsx-result p { max-width: 50rem; font-size: .9em }"""
_CELL = re.compile(r"(?<!\\)\|")


def html_table(markdown: str) -> str:
    r"""Return Markdown as `bsx.analysis.render.tables` writes it, as a piece of HTML.

    >>> print(html_table("| a |\n| ---: |\n| **x\\_y** |\n\nSo &lt; so."))
    <table><thead><tr><th class=n>a</th></tr></thead>
    <tbody><tr><td class=n><b>x_y</b></td></tr></tbody></table>
    <p>So &lt; so.</p>
    """
    return "\n".join(_block(block.split("\n")) for block in re.split(r"\n{2,}", markdown.strip()))


def html_piece(markdown: str) -> str:
    """Return the same as a piece of HTML for a notebook, in the look of reports and with the colours around it."""
    return f'<div class="bsx-result"><style>\n{_SCOPED}\n</style>\n{html_table(markdown)}\n</div>'


def html_page(markdown: str, title: str) -> str:
    """Return the same as a page by itself."""
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<style>\n:root {{ color-scheme: light dark }}\n{_STYLE}\n</style>\n{html_table(markdown)}\n</html>\n"
    )


def _block(lines: list[str]) -> str:
    if lines[0].startswith("| ") and len(lines) > 1 and set(lines[1]) <= set("| -:"):
        right = [rule.strip().endswith(":") for rule in lines[1].strip("|").split("|")]
        head, *body = ("".join(_cells(line, right, "th" if i == 0 else "td")) for i, line in enumerate(_rows(lines)))
        rows = "\n".join(f"<tr>{row}</tr>" for row in body)
        return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    level = len(lines[0]) - len(lines[0].lstrip("#"))
    if level and len(lines) == 1:
        return f"<h{level}>{_inline(lines[0][level:].strip())}</h{level}>"
    return f"<p>{'<br>'.join(map(_inline, lines))}</p>"


def _rows(lines: list[str]) -> Iterator[str]:
    yield lines[0]
    yield from lines[2:]


def _cells(line: str, right: list[bool], tag: str) -> Iterator[str]:
    for cell, number in zip(_CELL.split(line.strip())[1:-1], right, strict=True):
        yield f"<{tag}{' class=n' if number else ''}>{_inline(cell.strip())}</{tag}>"


def _inline(text: str) -> str:
    """Return a line: bold, character references as they are, and what a backslash protects as itself."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(html.escape(found[1]))
        return f"\0{len(kept) - 1}\0"

    safe = re.sub(r"\\(.)", keep, text)
    safe = re.sub(r"&(?!\w+;|#\d+;)", "&amp;", safe).replace("<", "&lt;").replace(">", "&gt;")
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)
    safe = re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
    return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], safe)
