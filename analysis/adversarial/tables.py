"""Results of adversarial tests as documents, and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.analysis.adversarial.pairs import PairsResult
from bsx.analysis.adversarial.triples import TriplesResult
from bsx.analysis.datasets.triples import Triple
from bsx.analysis.documents.adversarial import (
    AccuracyRow,
    DetectionRow,
    DetectionSet,
    DetectionTestRow,
    EstimateRow,
    HarderRow,
    PairsDocument,
    TripleExampleRow,
    TripleRow,
    TriplesDocument,
    TripleSplitRow,
    TripleTestRow,
)
from bsx.analysis.documents.base import Interval
from bsx.analysis.render.numbers import p_value
from bsx.analysis.stats.preference import McNemar
from bsx.analysis.stats.results import Comparison, Estimate
from bsx.support.aligned import text_table
from bsx.support.checks import Array


def detection_set(result: PairsResult, name: str | None = None) -> DetectionSet:
    """Return what `detect_pairs` found as part of a document; ``name`` is that of the second of two sets."""
    results = [
        DetectionRow(
            metric=one.metric,
            n=one.n,
            positives=one.curve.positives,
            auc=one.auc.estimate,
            ci=(one.auc.low, one.auc.high),
            p=one.auc.p,
            average_precision=_estimate(one.curve.average_precision),
            accuracy=AccuracyRow(
                threshold=one.accuracy.threshold,
                in_sample=one.accuracy.accuracy,
                cross_validated=one.accuracy.cross_validated,
                ci=(one.accuracy.low, one.accuracy.high),
                majority=one.accuracy.majority,
                folds=one.accuracy.folds,
            ),
        )
        for one in result.results
    ]
    tests = [
        DetectionTestRow(
            a=a,
            b=b,
            auc_a=test.a,
            auc_b=test.b,
            difference=test.difference,
            ci=(test.low, test.high),
            z=test.statistic,
            p=test.p,
            p_two_sided=test.p_two_sided,
            **_corrected(result.p_corrected, (a, b)),
        )
        for (a, b), test in result.tests.items()
    ]
    return DetectionSet(results=results, tests=tests, **({} if name is None else {"name": name}))


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


def triples_document(
    result: TriplesResult, triples: Sequence[Triple], scores: Mapping[str, tuple[Array, Array]]
) -> TriplesDocument:
    """Return the document that ``bsx adversarial triples`` prints, without settings, notes and provenance."""
    results = [
        TripleRow(
            metric=one.metric,
            n=one.preference.n,
            prefers_paraphrase=one.preference.first,
            ties=one.preference.ties,
            rate=one.preference.rate,
            ci=(one.preference.low, one.preference.high),
            mean_paraphrase=one.mean_paraphrase,
            mean_nonparaphrase=one.mean_nonparaphrase,
            mean_margin=one.preference.margin,
            margin_ci=(one.preference.margin_low, one.preference.margin_high),
            p=one.preference.p,
            p_two_sided=one.preference.p_two_sided,
        )
        for one in result.results
    ]
    tests = mcnemar_rows(result.tests, result.p_corrected)
    splits = [
        TripleSplitRow(metric=s.metric, low=s.low, high=s.high, n=s.n, rate=s.rate, ci=(s.rate_low, s.rate_high))
        for s in result.splits
    ]
    worst = []
    for name, places in result.worst.items():
        for i in places:
            good, bad = float(scores[name][0][i]), float(scores[name][1][i])
            worst.append(
                TripleExampleRow(
                    metric=name,
                    row=triples[i].row,
                    anchor=triples[i].anchor,
                    paraphrase=triples[i].paraphrase,
                    nonparaphrase=triples[i].nonparaphrase,
                    score_paraphrase=good,
                    score_nonparaphrase=bad,
                    margin=good - bad,
                    scores={other: (float(pair[0][i]), float(pair[1][i])) for other, pair in scores.items()},
                )
            )
    return TriplesDocument(results=results, tests=tests, splits=splits, worst=worst)


def mcnemar_rows(
    tests: Mapping[tuple[str, str], McNemar], corrected: Mapping[tuple[str, str], float]
) -> list[TripleTestRow]:
    """Return McNemar tests between metrics as parts of a document."""
    return [
        TripleTestRow(
            a=a,
            b=b,
            n=t.n,
            only_a=t.only_a,
            only_b=t.only_b,
            both=t.both,
            p=t.p,
            p_better=t.p_better,
            **_corrected(corrected, (a, b)),
        )
        for (a, b), t in tests.items()
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
            + (f", corrected {p_value(t.p_corrected)}" if t.p_corrected is not None else "")
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
        lines = ["Exact McNemar tests (triples that only one of the two gets right; two-sided p)"]
        lines += [
            f"  {t.a} {t.only_a}, {t.b} {t.only_b}: p {p_value(t.p)}"
            + (f", corrected {p_value(t.p_corrected)}" if t.p_corrected is not None else "")
            for t in content.tests
        ]
        blocks.append("\n".join(lines))
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


def _estimate(value: Estimate) -> EstimateRow:
    return EstimateRow(estimate=value.estimate, ci=(value.low, value.high))


def _corrected(found: Mapping[tuple[str, str], float], pair: tuple[str, str]) -> dict[str, float]:
    return {"p_corrected": found[pair]} if pair in found else {}


def _ends(ci: Interval) -> str:
    return "" if ci is None else f"[{ci[0]:.4f}, {ci[1]:.4f}]"
