"""The Markdown that results are written in, as HTML: tables, paragraphs, headings and bold figures, nothing else."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

_STYLE = """:root { color-scheme: light dark;
  --paper: light-dark(#fffefb, #15181d); --ink: light-dark(#1d2126, #e9e7e1);
  --soft: light-dark(#52585f, #b3b5b8); --line: light-dark(#e4e1d8, #31363e); --mark: light-dark(#1f4e79, #9cc7ee) }
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.3rem } .scroll { overflow-x: auto }
table { border-collapse: collapse; border-block: 2px solid; margin-block: 1rem; overflow-wrap: normal;
  min-width: min(100%, 34rem) }
caption { caption-side: bottom; text-align: left; padding-top: .4rem; color: var(--soft) }
th, td { padding: .25rem .7rem; text-align: left } thead { border-bottom: 1px solid } .n { text-align: right }
tbody th { font-weight: normal } td.n { font-variant-numeric: tabular-nums }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem; margin: 0 }
figure { margin: 0; break-inside: avoid } figcaption { font-weight: 600 } svg { display: block; width: 100% }
svg text { font-size: 13px; fill: var(--soft) } .rule { stroke: var(--line) }
.interval { stroke: var(--mark); stroke-width: 2 } .dot { fill: var(--mark) }
.hollow { fill: var(--paper); stroke: var(--mark); stroke-width: 2 }
@media (max-width: 36rem) { th, td { padding: .25rem .4rem } table { font-size: .85rem } }
@media print { :root { color-scheme: light } .scroll { overflow: visible }
  table { break-inside: avoid; font-size: 9pt } thead { display: table-header-group } }"""
# The same for a piece within another page, whose own rules for tables it has to hold its own against.
_SCOPED = """.bsx-result table { border-collapse: collapse; border: 0; border-block: 2px solid; margin-block: .6rem }
.bsx-result :is(th, td) { padding: .2rem .7rem; text-align: left !important; border: 0; background: none }
.bsx-result caption { caption-side: bottom; text-align: left; font-size: .9em } .bsx-result .scroll { overflow-x: auto }
.bsx-result tbody th { font-weight: normal }
.bsx-result thead { border-bottom: 1px solid } .bsx-result .n { text-align: right !important }
.bsx-result td.n { font-variant-numeric: tabular-nums } .bsx-result p { max-width: 50rem; font-size: .9em }"""
_CELL = re.compile(r"(?<!\\)\|")


def html_table(markdown: str) -> str:
    r"""Return Markdown as `bsx.analysis.render.tables` writes it, as a piece of HTML.

    >>> print(html_table("| a |\n| ---: |\n| **x\\_y** |\n\nSo &lt; so."))
    <div class=scroll tabindex=0><table><caption>So &lt; so.</caption>
    <thead><tr><th scope=col class=n>a</th></tr></thead>
    <tbody><tr><th scope=row class=n><b>x_y</b></th></tr></tbody></table></div>
    """
    blocks = [block.split("\n") for block in re.split(r"\n{2,}", markdown.strip())]
    parts = []
    while blocks:
        block = blocks.pop(0)
        if not _is_table(block):
            parts.append(_text(block))
        else:  # the paragraph below a table is its caption
            told = blocks and not _is_table(blocks[0]) and not blocks[0][0].startswith("#")
            parts.append(_table(block, blocks.pop(0) if told else []))
    return "\n".join(parts)


def html_piece(markdown: str) -> str:
    """Return the same as a piece of HTML for a notebook, in the look of reports and with the colours around it."""
    return f'<div class="bsx-result"><style>\n{_SCOPED}\n</style>\n{html_table(markdown)}\n</div>'


def html_page(markdown: str, title: str, charts: Mapping[str, str] | None = None) -> str:
    """Return the same as a page by itself, below charts if there are any: caption -> SVG element."""
    figures = [
        f"<figure><figcaption>{html.escape(caption)}</figcaption>\n{svg}</figure>"
        for caption, svg in (charts or {}).items()
    ]
    drawn = "\n".join(["<div class=charts>", *figures, "</div>\n"]) if figures else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{_STYLE}\n</style></head>\n'
        f"<body><main><h1>{html.escape(title)}</h1>\n{drawn}{html_table(markdown)}\n</main></body>\n</html>\n"
    )


def _is_table(lines: list[str]) -> bool:
    return lines[0].startswith("| ") and len(lines) > 1 and set(lines[1]) <= set("| -:")


def _table(lines: list[str], caption: list[str]) -> str:
    right = [rule.strip().endswith(":") for rule in lines[1].strip("|").split("|")]
    head, *body = ("".join(_cells(line, right, head=i == 0)) for i, line in enumerate(_rows(lines)))
    rows = "\n".join(f"<tr>{row}</tr>" for row in body)
    told = f"<caption>{'<br>'.join(map(_inline, caption))}</caption>\n" if caption else ""
    return (
        f"<div class=scroll tabindex=0><table>{told}<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _text(lines: list[str]) -> str:
    level = len(lines[0]) - len(lines[0].lstrip("#"))
    if level and len(lines) == 1:
        return f"<h{level}>{_inline(lines[0][level:].strip())}</h{level}>"
    return f"<p>{'<br>'.join(map(_inline, lines))}</p>"


def _rows(lines: list[str]) -> Iterator[str]:
    yield lines[0]
    yield from lines[2:]


def _cells(line: str, right: list[bool], *, head: bool) -> Iterator[str]:
    for place, (cell, number) in enumerate(zip(_CELL.split(line.strip())[1:-1], right, strict=True)):
        tag = "th scope=col" if head else "td" if place else "th scope=row"
        yield f"<{tag}{' class=n' if number else ''}>{_inline(cell.strip())}</{tag[:2]}>"


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
