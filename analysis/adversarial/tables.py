"""Results of adversarial tests as documents, and as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.documents.adversarial import (
    DetectionSet,
    DetectionTestRow,
    HarderRow,
    PairsDocument,
    TriplesDocument,
    TripleTestRow,
)
from bsx.analysis.documents.base import Interval, Number
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.analysis.stats.preference import McNemar
from bsx.analysis.stats.results import Comparison
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05
BOLD = "Bold: no metric with a higher value is significantly better"


def pairs_document(
    found: DetectionSet, against: DetectionSet | None = None, drops: Mapping[str, Comparison] | None = None
) -> PairsDocument:
    """Return the document that ``bsx adversarial pairs`` prints, without settings, notes and provenance.

    ``against`` is the second set, if there is one, and ``drops`` is what `easy_to_hard` found.
    """
    if against is None:
        return PairsDocument(results=found.results, tests=found.tests)
    rows = [
        HarderRow(metric=name, easy=d.a, hard=d.b, drop=d.difference, ci=(d.low, d.high), p=d.p)
        for name, d in (drops or {}).items()
    ]
    return PairsDocument(results=found.results, tests=found.tests, against=against, drops=rows)


def mcnemar_rows(
    tests: Mapping[tuple[str, str], McNemar], corrected: Mapping[tuple[str, str], float]
) -> list[TripleTestRow]:
    """Return McNemar tests between metrics as parts of a document."""
    return [
        TripleTestRow.from_results(t, a=a, b=b, **corrected_field(corrected, (a, b))) for (a, b), t in tests.items()
    ]


def pairs_text(content: PairsDocument) -> str:
    """Return the text form of what ``bsx adversarial pairs`` prints as JSON."""
    blocks = [_detection(content)]
    if content.against is not None:
        blocks += [f"hard set: {content.against.name}\n{_detection(content.against)}"]
        rows = [["metric", "easy", "hard", "drop of AUC with interval", "p"]]
        for d in content.drops:
            rows.append([d.metric, f"{d.easy:.4f}", f"{d.hard:.4f}", f"{d.drop:+.4f} {_ends(d.ci)}", p_value(d.p)])
        blocks.append(text_table(rows))
    return "\n\n".join(blocks)


def _detection(content: DetectionSet) -> str:
    rows = [["metric", "n", "AUC with interval", "avg. prec.", "accuracy: best", "cross-val.", "majority"]]
    for r in content.results:
        a, precision = r.accuracy, r.average_precision
        if a is not None and precision is not None:
            figures = (precision.estimate, a.in_sample, a.cross_validated, a.majority)
            area = f"{r.auc:.4f} {_ends(r.ci)}"
            rows.append([r.metric, str(r.n), area, *(f"{value:.4f}" for value in figures)])
    lines = [text_table(rows)]
    if content.tests:
        lines += ["", "Paired DeLong tests (difference of AUC, a - b)"]
        lines += [
            f"  {t.a} - {t.b}: {t.difference:+.4f} {_ends(t.ci)}  p (two-sided) {p_value(t.p_two_sided)}"
            + _corrected(t)
            for t in content.tests
        ]
    return "\n".join(lines)


def triples_text(content: TriplesDocument) -> str:
    """Return the text form of what ``bsx adversarial triples`` prints as JSON."""
    rows = [["metric", "n", "prefers B", "ties", "rate with interval", "mean margin", "p (two-sided)"]]
    for r in content.results:
        counts = map(str, (r.n, r.prefers_paraphrase, r.ties))
        rate = f"{r.rate:.4f} {_ends(r.ci)}"
        rows.append([r.metric, *counts, rate, f"{r.mean_margin:+.4f}", p_value(r.p_two_sided)])
    blocks = [text_table(rows)]
    if content.tests:
        heading = "Exact McNemar tests (triples that only one of the two gets right; two-sided p)"
        blocks.append(mcnemar_text(heading, content.tests))
    if content.splits:
        ranges = dict.fromkeys((s.low, s.high, s.n) for s in content.splits)
        rows = [["metric", *(f"{low:+.2f}..{high:+.2f} (n={n})" for low, high, n in ranges)]]
        for r in content.results:
            rows.append([r.metric, *(f"{s.rate:.4f}" for s in content.splits if s.metric == r.metric)])
        blocks.append(f"Rate by gap in lexical overlap, overlap(A, C) - overlap(A, B)\n{text_table(rows)}")
    for metric in dict.fromkeys(w.metric for w in content.worst):
        first = next(w for w in content.worst if w.metric == metric)
        blocks.append(
            f"Smallest margin of {metric}: {first.margin:+.4f}, row {first.row}\n  A {first.anchor}\n"
            f"  B {first.paraphrase}\n  C {first.nonparaphrase}"
        )
    return "\n\n".join(blocks)


def pairs_sheets(content: PairsDocument) -> list[Sheet]:
    """Return areas and accuracies of all metrics, their tests, and what is lost on a harder set."""
    found = _detection_sheets(content, "")
    if content.against is not None:
        found += _detection_sheets(content.against, f" in {content.against.name}")
        rows = [
            [d.metric, four(d.easy), four(d.hard), f"{d.drop:+.4f} {_ends(d.ci)}", f"{p_value(d.p)}{dagger(d.p)}"]
            for d in content.drops
        ]
        header = ["metric", "easy", "hard", "drop", "p"]
        title = "ROC AUC lost on the harder pairs, tests between independent sets"
        found.append(Sheet(title, header, rows, f"p: no drop, one-sided. {_DAGGER}"))
    return found


def _detection_sheets(content: DetectionSet, where: str) -> list[Sheet]:
    best = unbeaten({r.metric: r.auc for r in content.results}, content.tests)
    rows = []
    for r in content.results:
        a, precision = r.accuracy, r.average_precision
        shown = f"{four(r.auc)} {_ends(r.ci)}"
        figures = [None if precision is None else precision.estimate]
        figures += [None] * 3 if a is None else [a.in_sample, a.cross_validated, a.majority]
        rows.append([r.metric, Bold(shown) if r.metric in best else shown, *map(four, figures)])
    header = ["metric", "ROC AUC", "avg. prec.", "accuracy: best", "cross-val.", "majority"]
    n = content.results[0].n
    title = f"Metrics as detectors of paraphrases{where}, n = {n} pairs; DeLong tests{_correction(content.tests)}"
    found = [Sheet(title, header, rows, f"{BOLD}, p < {ALPHA}." if content.tests else "")]
    if content.tests:
        rows = []
        for t in content.tests:
            p = decisive(t)
            difference = f"{t.difference:+.4f} {_ends(t.ci)}"
            rows.append([t.a, t.b, difference, f"{p_value(p)}{dagger(p)}"])
        title = f"Differences of ROC AUC{where}, n = {n}; paired DeLong tests, two-sided{_correction(content.tests)}"
        found.append(Sheet(title, ["a", "b", "a - b", "p"], rows, _DAGGER, names=2))
    return found


def triples_sheets(content: TriplesDocument) -> list[Sheet]:
    """Return how often each metric prefers the paraphrase, the tests, and rates by gap in lexical overlap."""
    best = unbeaten({r.metric: r.rate for r in content.results}, content.tests)
    rows = []
    for r in content.results:
        rate = f"{four(r.rate)} {_ends(r.ci)}"
        more = [str(r.ties), "-" if r.mean_margin is None else f"{r.mean_margin:+.4f}"]
        p = f"{p_value(r.p_two_sided)}{dagger(r.p_two_sided)}"
        rows.append([r.metric, Bold(rate) if r.metric in best else rate, *more, p])
    n = content.results[0].n
    how = f"; between metrics McNemar tests{_correction(content.tests)}" if content.tests else ""
    title = f"Share of triples in which the paraphrase scores higher, n = {n}; sign tests, uncorrected{how}"
    note = f"p: as often as not, two-sided. {_DAGGER}"
    note = f"{BOLD}, p < {ALPHA}. {note}" if content.tests else note
    found = [
        Sheet(title, ["metric", "rate", "ties", "mean margin", "p"], rows, note),
        *mcnemar_sheets(content.tests, n),
    ]
    if content.splits:
        ranges = dict.fromkeys((s.low, s.high, s.n) for s in content.splits)
        header = ["metric", *(f"{low:+.2f} to {high:+.2f} (n = {n})" for low, high, n in ranges)]
        rows = [[r.metric, *(four(s.rate) for s in content.splits if s.metric == r.metric)] for r in content.results]
        found.append(Sheet("Rate by gap in lexical overlap, overlap(A, C) - overlap(A, B)", header, rows))
    return found


def mcnemar_text(heading: str, tests: Sequence[TripleTestRow]) -> str:
    """Return McNemar tests between metrics below a heading."""
    lines = [f"  {t.a} {t.only_a}, {t.b} {t.only_b}: p {p_value(t.p)}{_corrected(t)}" for t in tests]
    return "\n".join([heading, *lines])


def _corrected(test: TripleTestRow | DetectionTestRow) -> str:
    return "" if test.p_corrected is None else f", corrected {p_value(test.p_corrected)}"


def mcnemar_sheets(tests: Sequence[TripleTestRow], n: int) -> list[Sheet]:
    """Return McNemar tests between metrics as a table; none without tests."""
    rows = []
    for t in tests:
        p = decisive(t)
        rows.append([t.a, t.b, str(t.only_a), str(t.only_b), f"{p_value(p)}{dagger(p)}"])
    title = f"Rows that only one of two metrics gets right, n = {n}; McNemar tests, two-sided{_correction(tests)}"
    return [Sheet(title, ["a", "b", "only a", "only b", "p"], rows, _DAGGER, names=2)] if rows else []


def pairs_records(content: PairsDocument) -> list[dict[str, object]]:
    """Return one row a set and metric, and what the metric loses on the second set in that set's row."""
    sets = [content, *([content.against] if content.against is not None else [])]
    drops = {drop.metric: drop for drop in content.drops}
    rows = []
    for one in sets:
        for r in one.results:
            row: dict[str, object] = {"set": one.name} if len(sets) > 1 else {}
            row |= {"metric": r.metric, "n": r.n, "positives": r.positives, "auc": r.auc, **ends(r.ci), "p": r.p}
            if r.average_precision is not None:
                row |= {"average_precision": r.average_precision.estimate}
            if r.accuracy is not None:
                row |= {name: getattr(r.accuracy, name) for name in ("threshold", "in_sample", "cross_validated")}
                row |= {"majority": r.accuracy.majority}
            if one.name and r.metric in drops:
                row |= {"drop": drops[r.metric].drop, **ends(drops[r.metric].ci, "drop_")}
                row |= {"drop_p": drops[r.metric].p}
            rows.append(row)
    return rows


def triples_records(content: TriplesDocument) -> list[dict[str, object]]:
    """Return one row a metric."""
    return [
        {"metric": r.metric, "n": r.n, "prefers_paraphrase": r.prefers_paraphrase, "ties": r.ties, "rate": r.rate}
        | {**ends(r.ci), "mean_margin": r.mean_margin, **ends(r.margin_ci, "margin_")}
        | {"p": r.p, "p_two_sided": r.p_two_sided}
        for r in content.results
    ]


def ends(ci: Interval, prefix: str = "") -> dict[str, object]:
    """Return the ends of an interval as cells."""
    low, high = ci or (None, None)
    return {f"{prefix}low": low, f"{prefix}high": high}


def draw_pairs(content: PairsDocument, path: str | Path | None = None) -> Figure:
    """Draw the areas under the ROC curve with their intervals; of two sets beside one another."""
    sets = [content, *([content.against] if content.against is not None else [])]
    dots = [
        _dot(r.metric, r.auc, r.ci, one.name or ("first set" if len(sets) > 1 else ""))
        for one in sets
        for r in one.results
    ]
    return draw_dots({"": dots}, "ROC AUC with its interval; line: by chance", path, line=0.5)


def draw_triples(content: TriplesDocument, path: str | Path | None = None) -> Figure:
    """Draw how often each metric prefers the paraphrase, with intervals."""
    dots = [_dot(r.metric, r.rate, r.ci) for r in content.results]
    axis = "share of triples in which the paraphrase scores higher; line: by chance"
    return draw_dots({"": dots}, axis, path, line=0.5)


def _dot(row: str, value: Number, ci: Interval, series: str = "") -> Dot:
    low, high = ci or (None, None)
    return Dot(row, float("nan") if value is None else float(value), low, high, series)


def unbeaten(values: Mapping[str, Number], tests: Sequence[TripleTestRow | DetectionTestRow]) -> Collection[str]:
    """Return the metrics that none with a higher value significantly outperforms; nobody without tests."""
    p = {(t.a, t.b): decisive(t) for t in tests}
    known = {name: value for name, value in values.items() if value is not None}
    beaten = {
        a
        for a, low in known.items()
        for b, high in known.items()
        if high > low and (p.get((a, b), p.get((b, a))) or 1.0) < ALPHA
    }
    return {name for name in known if name not in beaten} if tests else set()


def decisive(test: TripleTestRow | DetectionTestRow) -> Number:
    """Return the two-sided p of a test, corrected if a correction was asked for."""
    if test.p_corrected is not None:
        return test.p_corrected
    return test.p_two_sided if isinstance(test, DetectionTestRow) else test.p


def dagger(p: Number) -> str:
    """Return the mark of a significant test."""
    return "†" if p is not None and p < ALPHA else ""


_DAGGER = f"†: p < {ALPHA}."


def _correction(tests: Sequence[TripleTestRow | DetectionTestRow]) -> str:
    return ", p corrected for their number" if any(t.p_corrected is not None for t in tests) else ", uncorrected"


def four(value: Number) -> str:
    """Return a figure with four decimals; a dash if it is not defined."""
    return "-" if value is None or value != value else f"{value:.4f}"


def corrected_field(found: Mapping[tuple[str, str], float], pair: tuple[str, str]) -> dict[str, float]:
    """Return the corrected p of a pair as a field of a document; nothing if none was asked for."""
    return {"p_corrected": found[pair]} if pair in found else {}


def _ends(ci: Interval) -> str:
    return "" if ci is None else f"[{ci[0]:.4f}, {ci[1]:.4f}]"
