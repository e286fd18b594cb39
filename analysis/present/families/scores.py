"""What scores look like, and the token alignment behind one: as parts, and as ``bsx match`` prints and draws it."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.present import charts
from bsx.analysis.present.cells import number, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Chart, Notes, Part
from bsx.bertscore.alignment import Alignment, Side
from bsx.bertscore.config import FIGURES
from bsx.bertscore.results import Scores
from bsx.data.output import PICTURES, atomic_text, check_picture
from bsx.errors import InputError
from bsx.metrics.results import MetricScores
from bsx.support.aligned import short_table

FORMATS = (*PICTURES, ".html")
_MOST_CELLS = (10_000, 1_000_000)  # of a picture, which a browser's engine lays out cell by cell; of a page
_COLUMNS = (5, 20)  # tokens of a page's table that fit on a telephone, and on a screen
_PERCENTILES = (5, 25, 50, 75, 95)
_CELL = 34  # pixels
_REMARKS = {
    "empty": "without content on one side",
    "undefined": "for which the metric is not defined; they score as empty ones",
    "unweighted": "of which all tokens of a side have idf 0; the undefined figures are set to 0",
    "truncated": "cut off at the model's limit",
}


@presents(MetricScores)
def metric_parts(scores: MetricScores) -> Iterator[Part]:
    """Yield the score of all segments together, beside what is known of single ones, and how they spread."""
    n = len(scores)
    worth = "" if scores.higher_is_better else "; lower is better"
    yield Answer(f"{scores.metric}: {scores.system:.4f} for all {_segments(n)} together{worth}.")
    cells = [number(scores.system, 4), *(number(float(f(scores.values)), 4) for f in (np.mean, np.std, np.min, np.max))]
    heads = ["metric", "corpus score", "mean of segments", "sd", "lowest", "highest"]
    caption = f"{scores.metric} of n = {n:,} segments"
    yield table(caption, heads, [[text(scores.metric), *cells]], note=str(scores.signature))
    yield from _remarks(scores, n)
    yield _spread({scores.metric: scores.values}, scores.metric)


@presents(Scores)
def parts(scores: Scores) -> Iterator[Part]:
    """Yield means over segments, a row a layer, and how single scores spread or layers differ."""
    n = len(scores)
    means = np.stack([np.atleast_1d(scores.mean()[name]) for name in FIGURES], axis=1).tolist()
    over = f"the mean over {_segments(n)}"
    if scores.f1.ndim == 1:
        precision, recall, f1 = means[0]
        yield Answer(f"BERTScore F1: {f1:.4f}, {over} (precision {precision:.4f}, recall {recall:.4f}).")
    else:
        f1s = [row[-1] for row in means]
        ends = f"from {min(f1s):.4f} to {max(f1s):.4f} in {len(f1s)} layers"
        yield Answer(f"BERTScore F1: {ends}, {over}; scores of different layers cannot be compared.")
    rows = [
        [text(layer), *(number(value, 4) for value in row)] for layer, row in zip(scores.layers, means, strict=True)
    ]
    caption = f"BERTScore, means of n = {n:,} segments"
    yield table(caption, ["layer", "P", "R", "F1"], rows, note=str(scores.signature), sortable=False)
    yield from _remarks(scores, n)
    if scores.f1.ndim == 1:
        yield _spread({name: getattr(scores, name) for name in FIGURES}, "BERTScore")
        return
    marks = [
        (float(layer), place, row[place], name)
        for layer, row in zip(scores.layers, means, strict=True)
        for place, name in enumerate(FIGURES)
    ]
    every = [value for row in means for value in row]
    title = "Means of layers"
    alt = "Precision, recall and F1, means over segments, one line each; layers along the axis."
    spec = charts.lines(
        marks,
        alt=alt,
        x="layer (0 = embeddings)",
        y="mean over segments",
        series=len(FIGURES),
        span=(min(every), max(every)),
        ticks=scores.layers,
    )
    yield Chart(title, alt, (("", spec),), FIGURES)


@lists(MetricScores)
def metric_rows(scores: MetricScores) -> Iterator[Mapping[str, object]]:
    """Yield a row a segment: id and score."""
    for name, value in zip(scores.ids, scores, strict=True):
        yield {"id": name, scores.metric: value}


@lists(Scores)
def rows(scores: Scores) -> Iterator[Mapping[str, object]]:
    """Yield a row a segment (and layer)."""
    return scores.rows()


@presents(Alignment)
def alignment_parts(alignment: Alignment) -> Iterator[Part]:
    """Yield the figures, the match of every token of either text, and a map of all cosines."""
    yield Answer(_matched(alignment))
    for name, side, other, figure, value in _sides(alignment):
        matched = [
            [text(token), text(other.tokens[match]), number(cosine, 4), number(weight, 3)]
            for token, weight, match, cosine in _matches(side)
        ]
        caption = f"{name}: {side.text}; {figure} {value:.4f}"
        heads = ["token", "its match", "cosine", "weight"]
        yield table(caption, heads, matched, note=str(alignment.signature), names=2, sortable=False)
    alt = (
        "The cosine of every token of the candidate with every token of the reference; a circle marks the best match "
        f"of a candidate's token, a cross that of a reference's. {alignment.signature}"
    )
    spec = charts.heatmap(
        alignment.cosines.tolist(),
        alignment.candidate.tokens,
        alignment.reference.tokens,
        alt=alt,
        x=f"reference (R = {alignment.recall:.3f})",
        y=f"candidate (P = {alignment.precision:.3f})",
        value="cosine",
        circles=list(enumerate(alignment.candidate.match.tolist())),
        crosses=[(match, place) for place, match in enumerate(alignment.reference.match.tolist())],
        size=_CELL,
    )
    yield Chart(f"F1 = {alignment.f1:.3f}; o best for candidate, x best for reference", alt, (("", spec),))


@lists(Alignment)
def alignment_rows(alignment: Alignment) -> Iterator[Mapping[str, object]]:
    """Yield a row a token of either side."""
    for name, side, other, *_ in _sides(alignment):
        for token, weight, match, cosine in _matches(side):
            yield {"side": name, "token": token, "weight": weight, "match": other.tokens[match], "similarity": cosine}


def match_text(alignment: Alignment, *, full: bool = False) -> str:
    """Return the figures, and each token of either text with its match, as ``bsx match`` prints them.

    Args:
        alignment: of a pair.
        full: all tokens, those without weight among them.
    """
    sides = []
    for name, side, other, *_ in _sides(alignment):
        matches = [match for match in _matches(side) if full or match[1] > 0]
        weighed = [f" x {weight:.3f}" if weight != 1 else "" for _, weight, *_ in matches]
        cells = [
            [token, other.tokens[match], f"{cosine:.4f}{weight}"]
            for (token, _, match, cosine), weight in zip(matches, weighed, strict=True)
        ]
        sides.append([[name, "its match", "cosine" + " x weight" * any(weighed)], *cells])
    table = [
        [*mine, "  " if mine[0] and theirs[0] else "", *theirs]
        for mine, theirs in zip_longest(*sides, fillvalue=["", "", ""])
    ]
    return "\n".join(
        [
            _matched(alignment),
            "",
            f"candidate: {alignment.candidate.text}",
            f"reference: {alignment.reference.text}",
            "",
            short_table(table, "llrlllr", what="rows of tokens", full=full),
            "",
            str(alignment.signature),
        ]
    )


def _matched(alignment: Alignment) -> str:
    """Return the figures of a pair, and the tokens of either side whose match is furthest from them."""
    weakest = []
    for name, side, *_ in _sides(alignment):
        matches = [(cosine, token) for token, weight, _, cosine in _matches(side) if weight > 0]
        if len(matches) > 1:
            cosine, token = min(matches)
            weakest.append(f"{token} in the {name} ({cosine:.4f})")
    figures = f"precision {alignment.precision:.4f}, recall {alignment.recall:.4f}"
    told = f"BERTScore F1 of the pair: {alignment.f1:.4f} ({figures})."
    return told + (f" Tokens with the weakest match: {', '.join(weakest)}." if weakest else "")


def draw_alignment(alignment: Alignment, path: Path | str) -> None:
    """Write a heatmap of all cosines, with the greedy matches marked, to a .png, .svg, .pdf or .html file.

    Raises:
        InputError: for another format, an unwritable place, or more tokens than can be shown.
        MissingExtraError: if vl-convert is missing, for any format but .html.
    """
    path = Path(path)
    check_picture(path, FORMATS)
    rows, columns = alignment.cosines.shape
    if rows * columns > (limit := _MOST_CELLS[path.suffix == ".html"]):
        raise InputError(
            f"{rows:,} x {columns:,} tokens make {rows * columns:,} cells, and at most {limit:,} are drawn: "
            "shorten the texts" + (", or write .html" if path.suffix != ".html" else ""),
            file=path,
        )
    if path.suffix == ".html":
        with atomic_text(path) as stream:
            stream.write(_page(alignment))
    else:
        alignment.plot(path)


def _segments(n: int) -> str:
    return f"{n:,} segment{'s' * (n != 1)}"


def _remarks(scores: MetricScores | Scores, n: int) -> Iterator[Notes]:
    counts = {name: len(getattr(scores, name, ())) for name in _REMARKS}
    items = [f"{count:,} of {n:,} segments {_REMARKS[name]}." for name, count in counts.items() if count]
    if items:
        yield Notes(tuple(items))


def _spread(columns: Mapping[str, NDArray[np.floating]], axis: str) -> Chart:
    results = [(name, np.percentile(values, _PERCENTILES).tolist()) for name, values in columns.items()]
    alt = f"How the {axis} of single segments spreads: median, middle half, and 5th to 95th percentile."
    return Chart("Spread over segments", alt, (("", charts.spreads(results, alt=alt, axis=axis)),))


def _sides(alignment: Alignment) -> list[tuple[str, Side, Side, str, float]]:
    """Return for either side: what it is, its tokens, those it is matched with, and its figure."""
    return [
        ("candidate", alignment.candidate, alignment.reference, "precision", alignment.precision),
        ("reference", alignment.reference, alignment.candidate, "recall", alignment.recall),
    ]


def _matches(side: Side) -> Iterator[tuple[str, float, int, float]]:
    """Yield each token, its weight, the place of its match, and their cosine."""
    columns: Sequence[Sequence[float]] = [side.weights.tolist(), side.match.tolist(), side.similarity.tolist()]
    for token, weight, match, cosine in zip(side.tokens, *columns, strict=True):
        yield token, weight, int(match), cosine


def _page(alignment: Alignment) -> str:
    head = "".join(f"<th scope=col>{html.escape(token)}</th>" for token in alignment.reference.tokens)
    body = []
    for i, token in enumerate(alignment.candidate.tokens):
        cells = "".join(_cell(alignment, i, j) for j in range(len(alignment.reference.tokens)))
        body.append(f"<tr><th scope=row>{html.escape(token)}</th>{cells}</tr>")
    columns = len(alignment.reference.tokens)
    look = "hint wide" if columns > _COLUMNS[1] else "hint"
    hint = f'<p class="{look}">Scroll the table sideways to see all tokens.</p>' if columns > _COLUMNS[0] else ""
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Token alignment</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; overflow-wrap: anywhere }}
table {{ border-collapse: collapse; overflow-wrap: normal }}
th, td {{ padding: .3rem .5rem; text-align: center; font-weight: normal }}
th:first-child {{ text-align: right; position: sticky; left: 0; background: #fff }}
td.best {{ outline: 2px solid #b3261e; outline-offset: -2px; font-weight: bold }}
.scroll {{ overflow-x: auto; border-right: 2px solid #ddd }} .hint {{ display: none; color: #555; font-size: .85rem }}
.hint.wide {{ display: block }}
@media screen and (max-width: 36rem) {{ .hint {{ display: block }} body {{ margin: 1rem .8rem }}
  h1 {{ font-size: 1.3rem }} table {{ font-size: .8rem }} th, td {{ padding: .25rem .35rem }} }}
@media print {{ body {{ margin: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact }}
  table {{ font-size: 8pt }} th, td {{ padding: .1rem .2rem }} .scroll {{ overflow: visible; border: 0 }}
  p.hint {{ display: none }} tr {{ break-inside: avoid }} }}
</style>
<h1>Token alignment</h1>
<p>Candidate: {html.escape(alignment.candidate.text)}<br>Reference: {html.escape(alignment.reference.text)}</p>
<p>P {alignment.precision:.4f}, R {alignment.recall:.4f}, F1 {alignment.f1:.4f}</p>
<p id="what">Cosines; outlined: a greedy match (c: the candidate token's, r: the reference token's)</p>
{hint}
<div class="scroll" tabindex="0" role="region" aria-labelledby="what"><table aria-labelledby="what">
<thead><tr><th></th>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>
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
