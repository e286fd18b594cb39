"""What scores look like, and the token alignment behind one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.present import charts, html
from bsx.analysis.present.cells import heat, number, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Chart, Notes, Part, Prose
from bsx.bertscore.alignment import Alignment, Side
from bsx.bertscore.baseline import BaselineResult
from bsx.bertscore.config import FIGURES
from bsx.bertscore.results import Scores
from bsx.data.output import PICTURES, atomic_text, check_picture
from bsx.errors import InputError
from bsx.metrics.results import MetricScores, SegmentScores

FORMATS = (*PICTURES, ".html")
_MOST_CELLS = (10_000, 1_000_000)  # of a picture, which a browser's engine lays out cell by cell; of a page
_ROWS = 20  # of tokens, in the short form
_PERCENTILES = (5, 25, 50, 75, 95)
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
    curves: list[list[charts.OfLayer]] = [
        [(layer, value, None, None) for layer, value in zip(scores.layers, figures, strict=True)]
        for figures in zip(*means, strict=True)
    ]
    alt = "Precision, recall and F1, means over segments, one line each; layers along the axis."
    yield Chart("Means of layers", alt, (("", charts.by_layer(FIGURES, curves, "mean over segments")),), FIGURES)


@presents(BaselineResult, section=("baseline", "What unrelated sentences score"))
def baseline(result: BaselineResult) -> Iterator[Part]:
    """Yield what unrelated sentences score, and the figures of each layer."""
    of = "" if result.domain is None else f" of {result.domain}, {result.tokens} tokens a text"
    yield Answer(
        f"Pairs of sentences that have nothing to do with each other score F1 from {min(result.f1):.4f} to "
        f"{max(result.f1):.4f} by layer ({result.model}, {result.language}{of}; {result.pairs:,} random pairs, "
        f"standard errors up to {max(result.standard_error):.5f})."
    )
    cells = [
        [text(row["layer"]), *(number(value, 4) for value in [*row.values()][1:])] for row in baseline_rows(result)
    ]
    heads = ["layer", *FIGURES, "s.e. of f1"]
    yield table(f"Means of n = {result.pairs:,} random pairs", heads, cells, note=result.source, sortable=False)


@lists(BaselineResult)
def baseline_rows(result: BaselineResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a layer."""
    figures = zip(*(getattr(result, name) for name in FIGURES), result.standard_error, strict=True)
    for layer, values in enumerate(figures):
        yield {"layer": layer, **dict(zip((*FIGURES, "standard_error"), values, strict=True))}


@lists(SegmentScores)
def rows(scores: SegmentScores) -> Iterator[Mapping[str, object]]:
    """Yield a row a segment (and layer)."""
    return scores.rows()


@presents(Alignment)
def alignment_parts(alignment: Alignment) -> Iterator[Part]:
    """Yield the figures, the match of every token of either text, and a map of all cosines."""
    yield from _pair(alignment)
    heads, sides, every = [], [], []
    for name, side, other, figure, value in _sides(alignment):
        matched = [
            [text(token), text(other.tokens[match]), number(cosine, 4), number(weight, 3)]
            for token, weight, match, cosine in _matches(side)
        ]
        heads += [name, "its match", "cosine"]
        sides.append([cells[:3] for cells in matched if cells[3].value])
        columns, caption = ["token", "its match", "cosine", "weight"], f"All tokens of the {name}; {figure} {value:.4f}"
        every.append(table(caption, columns, matched, names=2, sortable=False, full=True))
    rows = [[*mine, *theirs] for mine, theirs in zip_longest(*sides, fillvalue=[text("")] * 3)]
    more = f"{len(rows) - _ROWS:,} more rows of tokens: --full.\n" if len(rows) > _ROWS else ""
    note = f"{more}{alignment.signature}"
    yield table("Tokens that weigh something", heads, rows[: _ROWS if more else None], note=note, sortable=False)
    yield from every
    alt = (
        "The cosine of every token of the candidate with every token of the reference; a circle marks the best match "
        f"of a candidate's token, a cross that of a reference's. {alignment.signature}"
    )
    title = f"F1 = {alignment.f1:.3f}; o best for candidate, x best for reference"
    yield Chart(title, alt, (("", charts.heatmap(alignment, alt)),))


@lists(Alignment)
def alignment_rows(alignment: Alignment) -> Iterator[Mapping[str, object]]:
    """Yield a row a token of either side."""
    for name, side, other, *_ in _sides(alignment):
        for token, weight, match, cosine in _matches(side):
            yield {"side": name, "token": token, "weight": weight, "match": other.tokens[match], "similarity": cosine}


def _pair(alignment: Alignment) -> Iterator[Part]:
    """Yield the figures of a pair, and the tokens of either side whose match is furthest from them; then its texts."""
    weakest = []
    for name, side, *_ in _sides(alignment):
        matches = [(cosine, token) for token, weight, _, cosine in _matches(side) if weight > 0]
        if len(matches) > 1:
            cosine, token = min(matches)
            weakest.append(f"{token} in the {name} ({cosine:.4f})")
    figures = f"precision {alignment.precision:.4f}, recall {alignment.recall:.4f}"
    weak_tokens = f" Tokens with the weakest match: {', '.join(weakest)}." if weakest else ""
    yield Answer(f"BERTScore F1 of the pair: {alignment.f1:.4f} ({figures}).{weak_tokens}")
    yield Prose(f"candidate: {alignment.candidate.text}\nreference: {alignment.reference.text}")


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
    if path.suffix != ".html":
        alignment.plot(path)
        return
    matched, back = alignment.candidate.match.tolist(), alignment.reference.match.tolist()
    cells = []
    for i, (token, cosines) in enumerate(zip(alignment.candidate.tokens, alignment.cosines.tolist(), strict=True)):
        marks = ["c" * (matched[i] == j) + "r" * (place == i) for j, place in enumerate(back)]
        marked = zip(cosines, marks, strict=True)
        cells.append([text(token), *(number(c, 2, mark=m, strong=bool(m), heat=heat(c)) for c, m in marked)])
    note = "Bold: a greedy match (c: the candidate token's, r: the reference token's)."
    for name, side, *_ in _sides(alignment):
        idle = [token for token, weight, *_ in _matches(side) if weight == 0]
        note += f"\nWithout weight in the {name}: {' '.join(idle) or 'none'}"
    every = table("Cosines", ["", *alignment.reference.tokens], cells, note=note, sortable=False)
    with atomic_text(path) as stream:
        shown = html.page([*_pair(alignment), every], "Token alignment", signatures=[str(alignment.signature)])
        stream.write(shown)


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
