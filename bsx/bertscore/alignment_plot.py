"""Pictures of a token alignment: text for a terminal, a heatmap as PNG, SVG or PDF, a page as HTML."""

from __future__ import annotations

import html
from pathlib import Path

from bsx.bertscore.alignment import Alignment, Side
from bsx.data.output import atomic_text
from bsx.data.picture import PICTURES, check_picture
from bsx.errors import InputError

FORMATS = (*PICTURES, ".html")
_MOST_CELLS = (10_000, 1_000_000)  # of a picture, which takes 50 KB a cell while it is drawn; of a page


def to_text(alignment: Alignment) -> str:
    """Return each token with its match, cosine and weight, and the resulting figures."""
    lines = []
    sides = [("candidate", alignment.candidate, alignment.reference, "precision", alignment.precision)]
    sides += [("reference", alignment.reference, alignment.candidate, "recall", alignment.recall)]
    for name, side, other, figure, value in sides:
        width = max(len(token) for token in side.tokens)
        partner_width = max(len(token) for token in other.tokens)
        lines.append(f"{name}: {side.text}")
        for token, weight, match, cosine in zip(side.tokens, side.weights, side.match, side.similarity, strict=True):
            note = "" if weight == 1 else f"  weight {weight:.3f}"
            partner = other.tokens[int(match)]
            lines.append(f"  {token:<{width}} -> {partner:<{partner_width}}  {cosine:7.4f}{note}")
        lines.append(f"  {figure} {value:.4f}")
    return "\n".join([*lines, f"f1 {alignment.f1:.4f}", str(alignment.signature)])


def draw_alignment(alignment: Alignment, path: Path | str) -> None:
    """Write a heatmap of all cosines, with the greedy matches marked, to a .png, .svg, .pdf or .html file.

    Raises:
        InputError: for another format, an unwritable place, or more tokens than can be shown.
        MissingExtraError: if matplotlib is missing, for any format but .html.
    """
    path = Path(path)
    check_picture(path, FORMATS)
    rows, columns = alignment.cosines.shape
    if rows * columns > (limit := _MOST_CELLS[path.suffix == ".html"]):
        raise InputError(
            f"{path}: {rows:,} x {columns:,} tokens make {rows * columns:,} cells, and at most {limit:,} are drawn: "
            "shorten the texts" + (", or write .html" if path.suffix != ".html" else "")
        )
    if path.suffix == ".html":
        with atomic_text(path) as stream:
            stream.write(_page(alignment))
    else:
        alignment.plot(path)


def _page(alignment: Alignment) -> str:
    head = "".join(f"<th scope=col>{html.escape(token)}</th>" for token in alignment.reference.tokens)
    body = []
    for i, token in enumerate(alignment.candidate.tokens):
        cells = "".join(_cell(alignment, i, j) for j in range(len(alignment.reference.tokens)))
        body.append(f"<tr><th scope=row>{html.escape(token)}</th>{cells}</tr>")
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Token alignment</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff }}
table {{ border-collapse: collapse }} th, td {{ padding: .3rem .5rem; text-align: center; font-weight: normal }}
th[scope=row] {{ text-align: right }} td.best {{ outline: 2px solid #b3261e; outline-offset: -2px; font-weight: bold }}
code {{ overflow-wrap: anywhere }}
</style>
<h1>Token alignment</h1>
<p>Candidate: {html.escape(alignment.candidate.text)}<br>Reference: {html.escape(alignment.reference.text)}</p>
<p>P {alignment.precision:.4f}, R {alignment.recall:.4f}, F1 {alignment.f1:.4f}</p>
<table><caption>Cosines; outlined: a greedy match (c: the candidate token's, r: the reference token's)</caption>
<thead><tr><th></th>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>
<p>{_weights("candidate", alignment.candidate)}<br>{_weights("reference", alignment.reference)}</p>
<p><code>{html.escape(str(alignment.signature))}</code></p>
</html>
"""


def _cell(alignment: Alignment, i: int, j: int) -> str:
    value = float(alignment.cosines[i, j])
    marks = ("c" if alignment.candidate.match[i] == j else "") + ("r" if alignment.reference.match[j] == i else "")
    shade = max(0.0, min(1.0, value))
    style = f"background: rgb(0 70 160 / {shade:.2f}); color: {'#fff' if shade > 0.55 else '#1a1a1a'}"
    mark = f" <sup>{marks}</sup>" if marks else ""
    return f'<td{" class=best" if marks else ""} style="{style}">{value:.2f}{mark}</td>'


def _weights(name: str, side: Side) -> str:
    zero = [html.escape(token) for token, weight in zip(side.tokens, side.weights, strict=True) if weight == 0]
    return f"Without weight in the {name}: {' '.join(zero) or 'none'}"
