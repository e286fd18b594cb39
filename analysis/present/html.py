"""Parts as HTML: a piece for a notebook, or a page by itself. All texts are escaped; nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from bsx.analysis.present.parts import (
    Answer,
    Cell,
    Chart,
    Commands,
    Example,
    Heading,
    Notes,
    Part,
    Prose,
    Segments,
    TablePart,
)
from bsx.analysis.present.pictures import svg

_STYLE = """:root { color-scheme: light dark;
  --paper: light-dark(#fffefb, #15181d); --ink: light-dark(#1d2126, #e9e7e1);
  --soft: light-dark(#52585f, #b3b5b8); --line: light-dark(#e4e1d8, #31363e);
  --edge: light-dark(#a9a9a4, #858b93); --mark: light-dark(#1f4e79, #9cc7ee) }
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto;
  max-width: 76rem; padding: 0 1rem; overflow-wrap: anywhere }
p, ul { max-width: 60rem } h1 { font-size: 1.3rem } h2 { font-size: 1.1rem } .lead { font-size: 1.1rem }
li { margin: .3rem 0 }
.scroll { overflow-x: auto } :focus-visible { outline: 3px solid var(--mark); outline-offset: 2px }
@media screen { .scroll { background: linear-gradient(to left, var(--paper) 1rem, transparent) right / 2.5rem 100%
  no-repeat local, linear-gradient(to left, var(--edge), transparent) right / 1rem 100% no-repeat scroll } }
.wide table { font-size: .88rem } .wide :is(th, td) { padding: .2rem .4rem }
table { border-collapse: collapse; border-block: 2px solid; margin-block: 1rem; overflow-wrap: normal;
  min-width: min(100%, 34rem) }
caption { caption-side: bottom; text-align: left; padding-top: .4rem; color: var(--soft) }
th, td { padding: .25rem .7rem; text-align: left } thead { border-bottom: 1px solid } .n { text-align: right }
tbody th { font-weight: normal } td.n { font-variant-numeric: tabular-nums } .ends { white-space: nowrap }
figure { margin: 0; break-inside: avoid } figcaption { font-weight: 600 }
figure svg { display: block; max-width: 100%; height: auto; overflow: visible;
  background: #fffefb }
dt { color: var(--soft) } dd { margin-inline-start: 1.2rem }
@media screen { caption { position: sticky; left: 0; max-width: min(60rem, calc(100vw - 2.2rem)) } }
@media screen and (max-width: 36rem) { th, td { padding: .25rem .4rem } table { font-size: .85rem }
  tr > :first-child { position: sticky; left: 0; background: var(--paper) }
  ul { padding-left: 1.1rem } }
@media print { :root { color-scheme: light; font-size: 10pt } body { margin: 0; max-width: none }
  .scroll { overflow: visible } table { font-size: 8pt; min-width: 0 } th, td { padding: .12rem .35rem }
  .wide table { font-size: 6.5pt } .short { break-inside: avoid } tr { break-inside: avoid }
  thead { display: table-header-group } h1, h2, h3, figcaption { break-after: avoid }
  figure svg { max-height: 15cm } }"""
# The same for a piece within another page, whose own rules for tables it has to hold its own against.
_SCOPED = """.bsx-result table { border-collapse: collapse; border: 0; border-block: 2px solid; margin-block: .6rem }
.bsx-result :is(th, td) { padding: .2rem .7rem; text-align: left !important; border: 0; background: none }
.bsx-result caption { caption-side: bottom; text-align: left; font-size: .9em } .bsx-result .scroll { overflow-x: auto }
.bsx-result tbody th { font-weight: normal }
.bsx-result thead { border-bottom: 1px solid } .bsx-result .n { text-align: right !important }
.bsx-result td.n { font-variant-numeric: tabular-nums } .bsx-result p { max-width: 50rem; font-size: .9em }
.bsx-result p.lead { font-size: 1em }"""


def piece(parts: Sequence[Part]) -> str:
    """Return parts as a piece of HTML for a notebook, in the look of reports and with the colours around it."""
    return f'<div class="bsx-result"><style>\n{_SCOPED}\n</style>\n{_body(parts, "", charts=False)}\n</div>'


def page(parts: Sequence[Part], title: str, *, data: str = "", signatures: Iterable[str] = ()) -> str:
    """Return parts as a page by itself, with charts where they can be drawn.

    Args:
        parts: of a result.
        title: its heading.
        data: what they are of; captions of tables begin with it.
        signatures: lines to stand below.
    """
    below = "".join(f"\n<p><code>{escape(line)}</code></p>" for line in signatures)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{_STYLE}\n</style></head>\n'
        f"<body><main><h1>{escape(title)}</h1>\n{_body(parts, data, charts=True)}{below}\n</main></body>\n</html>\n"
    )


def _body(parts: Sequence[Part], data: str, *, charts: bool) -> str:
    return "\n".join(line for part in parts for line in _part(part, data, charts=charts))


def _part(part: Part, data: str, *, charts: bool) -> Iterator[str]:
    if isinstance(part, Answer):
        yield f"<p class=lead>{escape(part.text)}</p>"
    elif isinstance(part, Prose):
        yield f"<p>{escape(part.text)}</p>"
    elif isinstance(part, Heading):
        yield f"<h2>{escape(part.text)}</h2>"
    elif isinstance(part, Notes):
        yield f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in part.items)}</ul>"
    elif isinstance(part, Commands):
        yield f"<pre><code>{escape(chr(10).join(part.lines))}</code></pre>"
    elif isinstance(part, TablePart):
        yield _table(part, data)
    elif isinstance(part, Chart):
        if charts and (drawn := svg(part)):
            yield f"<figure><figcaption>{escape(part.title)}</figcaption>\n{drawn}</figure>"
    elif isinstance(part, Example):
        shown = ""
        for label, runs in part.texts:
            marked = (f"<mark>{escape(run.text)}</mark>" if run.differs else escape(run.text) for run in runs)
            shown += f"<dt>{escape(label)}</dt><dd dir=auto>{''.join(marked)}</dd>"
        yield f"<h3>{escape(part.title)}</h3>"
        yield f"<dl>{shown}</dl>"
        yield _table(part.scores, "")
    elif isinstance(part, Segments):
        yield f"<p>{escape(part.caption)}: {len(part.rows):,} rows.</p>"


def _table(table: TablePart, data: str) -> str:
    numeric = table.numeric
    head = "".join(
        f"<th scope=col{' class=n' if i in numeric else ''}>{escape(name)}</th>" for i, name in enumerate(table.columns)
    )
    rows = "\n".join(
        f"<tr>{''.join(_cell(cell, i in numeric, head=i < table.names) for i, cell in enumerate(row))}</tr>"
        for row in table.rows
    )
    caption = f"Table: {table.caption}" if table.caption else "Table"
    look = " ".join(["scroll", *["wide"] * (len(table.columns) > 8), *["short"] * (len(table.rows) <= 8)])
    title = "<br>".join(escape(line) for line in (": ".join(filter(None, [data, table.caption])), table.note) if line)
    below = f"<caption>{title}</caption>\n" if title else ""
    return (
        f'<div class="{look}" tabindex=0 role=group aria-label="{escape(caption)}">'
        f"<table>{below}<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(cell: Cell, numeric: bool, *, head: bool) -> str:
    tag = "th scope=row" if head and cell.text.strip() else "td"  # an empty head would head nothing
    shown = escape(cell.text)
    value, bracket, ends = shown.partition(" [") if numeric else (shown, "", "")
    shown = f"{value} <span class=ends>[{ends}</span>" if bracket else shown
    shown = f"<b>{shown}</b>" if cell.strong else f"<code>{shown}</code>" if cell.code else shown
    shade = "" if cell.heat is None else f" style='background: rgb(31 78 121 / {5 * cell.heat}%)'"
    return f"<{tag}{' class=n' if numeric else ''}{shade}>{shown}{escape(cell.mark)}</{tag[:2]}>"
