"""What single statistics look like that are more than a row of figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, estimate, listed, number, percent, plain_table, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Chart, Notes, Part
from bsx.analysis.present.significance import ALPHA
from bsx.analysis.stats.clusters import Clusters
from bsx.analysis.stats.detection import PrecisionRecall
from bsx.analysis.stats.layers import LayerAgreement
from bsx.analysis.stats.regression import Ols

_SURE = 0.95  # share of resamples in which a layer has to be the best one to be called so


@presents(LayerAgreement, section=("tune", "Layers and human judgments"))
def layers(result: LayerAgreement) -> Iterator[Part]:
    """Yield which layer agrees best with human judgments, if one does, and the figures of all (Zhang et al. 2020)."""
    best, next_best = (f"layer {k} ({result.layers[k].f1:.3f})" for k in (result.best_layer, result.runner_up))
    chosen, unit = result.chosen, result.unit
    rows = f"{chosen.n:,} {unit}"
    wins = f"{percent(result.win_share).text} of resamples of {rows}"
    if chosen.n < FEWEST:
        answer = f"{rows} are too few to choose a layer."
    elif not chosen.ci[0] > 0:
        answer = f"No layer is shown to agree with human judgments: F1 of {best} is the best in {wins}."
    elif result.win_share >= _SURE or result.best_layer == result.runner_up:
        answer = f"F1 of {best} agrees best with human judgments: it is the best in {wins}."
    else:
        answer = f"No layer is told apart from all others: F1 of {best} is the best in {wins} only; "
        answer += f"{next_best} comes second."
    if chosen.n >= FEWEST:
        reaches = f"{result.statistic} {estimate(chosen.estimate, chosen.ci).text}"
        answer += f" On {unit} that it was not chosen on, a layer chosen so reaches {reaches}."
        if (gain := result.gain) is not None:
            added = estimate(gain.estimate, gain.ci).text
            if gain.ci[0] > 0:
                answer += f" Idf adds {added} to that: score with it."
            else:
                answer += f" Idf {'costs' if gain.ci[1] < 0 else 'is not shown to add anything'}: {added}."
    yield Answer(f"{result.model}: {answer}" if result.model else answer)
    results = []
    for layer in result.layers:
        f1 = estimate(layer.f1, (layer.f1_low, layer.f1_high), strong=layer.layer == result.best_layer)
        cells = [number(layer.layer), number(layer.precision), number(layer.recall), f1]
        results.append(cells if result.gain is None else [*cells, number(layer.idf)])
    what, names = f"{result.statistic} with human judgments by layer", ("P", "R", "F1")
    caption = f"{what}, mean over {listed([*result.groups])}, n = {result.n:,}; "
    caption += f"95 % bootstrap intervals over {unit} like these of these groups"
    bold = "Bold: the highest F1, whose own figure is too high, as it was chosen by it; no tests."
    note = "\n".join([bold, *result.signatures.values()])
    yield table(caption, ["layer", *names, *([] if result.gain is None else ["F1, idf"])], results, note=note)
    yield Notes(result.notes)
    lines: list[list[charts.OfLayer]] = [
        [(layer.layer, getattr(layer, side), None, None) for layer in result.layers] for side in ("precision", "recall")
    ]
    lines.append([(layer.layer, layer.f1, layer.f1_low, layer.f1_high) for layer in result.layers])
    axis = f"mean {result.statistic} with human judgments"
    spec = charts.by_layer(names, lines, axis, rule=float(result.best_layer))
    title = f"{result.model}: {', '.join(result.data)}" if result.model else f"Mean {what}"
    yield Chart(title, f"Mean {what}, of precision, recall and F1.", (("", spec),), names)


@lists(LayerAgreement)
def layer_rows(result: LayerAgreement) -> Iterator[Mapping[str, object]]:
    """Yield a row a layer: means over groups, and F1's interval."""
    return map(vars, result.layers)


@presents(Clusters)
def clusters(result: Clusters) -> Iterator[Part]:
    """Yield what nothing significantly outperforms, and the ranks."""
    level, count = f"p < {result.alpha:g}", len(result.names)
    if count == 1:
        yield Answer(f"{result.names[0]} stands alone: nothing was compared.")
    elif len(result.winners) == count:
        yield Answer(f"None of {count} is significantly better than another ({level}).")
    else:
        winners = f"{listed(result.winners)} {'is' if len(result.winners) == 1 else 'are'}"
        others = count - len(result.winners)
        rest = "the other one is" if others == 1 else f"each of the other {others} is"
        yield Answer(
            f"{winners} not significantly worse than any of {count} with a higher value ({level}); {rest} worse."
        )
    results = [
        [text(name), number(value, strong=name in result.winners), number(rank)]
        for name, value, rank in zip(result.names, result.values, result.ranks, strict=True)
    ]
    note = f"Bold: none with a higher value is significantly better, {level}."
    yield table(f"Clusters of significance, n = {count}", ["name", "value", "rank"], results, note=note)
    points = [charts.Point(name, 0, value) for name, value in zip(result.names, result.values, strict=True)]
    alt = f"Values: {', '.join(f'{point.row} {number(point.value).text}' for point in points)}."
    yield charts.forest("Values, the best first", points, alt=alt, axis="value", zero=None)


@lists(Clusters)
def cluster_rows(result: Clusters) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric."""
    for name, value, rank in zip(result.names, result.values, result.ranks, strict=True):
        yield {"name": name, "value": value, "rank": rank, "winner": name in result.winners}


@presents(Ols)
def least_squares(result: Ols) -> Iterator[Part]:
    """Yield which terms differ from 0, and all coefficients with their intervals."""
    n, significant = len(result.fitted), [str(i) for i, p in enumerate(result.p) if p < ALPHA]
    if n < FEWEST:
        terms = f"{n} rows are too few to say more"
    elif significant:
        verb = "coefficient of term" if len(significant) == 1 else "coefficients of terms"
        terms = f"significant (p < {ALPHA:g}, uncorrected): {verb} {listed(significant)}"
    else:
        terms = f"no coefficient is significant (p < {ALPHA:g}, uncorrected)"
    yield Answer(f"R² is {result.r2:.3f} (adjusted {result.adj_r2:.3f}) on {n:,} rows; {terms}.")
    caption = f"Least squares, R² = {result.r2:.3f}, n = {n:,}; {result.reference}"
    yield plain_table(caption, list(least_squares_rows(result)), note="p: uncorrected.")
    ends = zip(result.coef.tolist(), result.low.tolist(), result.high.tolist(), strict=True)
    points = [charts.Point(f"term {i}", 0, *three) for i, three in enumerate(ends)]
    alt = "Coefficients with their intervals, by the place of their term."
    yield charts.forest("Coefficients", points, alt=alt, axis="coefficient")


@lists(Ols)
def least_squares_rows(result: Ols) -> Iterator[Mapping[str, object]]:
    """Yield a row a term, by its place from 0."""
    names = ("coef", "se", "statistic", "p", "low", "high")
    columns = zip(*(getattr(result, name).tolist() for name in names), strict=True)
    for i, row in enumerate(columns):
        yield {"term": i, **dict(zip(names, row, strict=True))}


@presents(PrecisionRecall)
def precision_recall(result: PrecisionRecall) -> Iterator[Part]:
    """Yield average precision beside the share of positives, and the curve."""
    results = result.average_precision
    low, high = results.ci
    what = f"Average precision is {results.estimate:.3f} on {results.n:,} pairs"
    if results.n < FEWEST:
        yield Answer(f"{what}, which are too few to say more.")
    else:
        place = "lies above" if low > result.positives else "lies below" if high < result.positives else "holds"
        ends = f"its {100 * results.confidence:g} % interval [{low:.3f}, {high:.3f}]"
        yield Answer(f"{what}; {ends} {place} the {result.positives:.3f} of scores that say nothing.")
    figures = {"average precision": results.estimate, "interval": results.ci, "share of positives": result.positives}
    yield plain_table(f"{results.method}, n = {results.n:,}", [figures])
    points = zip(result.recall.tolist(), result.precision.tolist(), strict=True)
    marks = [(recall, 0, precision, "") for recall, precision in points]
    alt = "Precision over recall, a point for each threshold."
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    spec = charts.lines(marks, alt=alt, x="recall", y="precision", series=1, span=(0, 1), ticks=ticks)
    yield Chart("Precision by recall", alt, (("", spec),))


@lists(PrecisionRecall)
def threshold_rows(result: PrecisionRecall) -> Iterator[Mapping[str, object]]:
    """Yield a row a threshold."""
    columns = (result.thresholds.tolist(), result.precision.tolist(), result.recall.tolist())
    for row in zip(*columns, strict=True):
        yield dict(zip(("threshold", "precision", "recall"), row, strict=True))
