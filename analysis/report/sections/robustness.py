"""Robustness: paraphrase detection, triples, perturbations and challenge sets, with worst examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

from bsx.analysis.documents.adversarial import PairsDocument, PerturbDocument, TripleExampleRow, TriplesDocument
from bsx.analysis.documents.base import Number
from bsx.analysis.documents.challenge import ChallengedMetric, ChallengeDocument
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, SHOWN, heat, interval, listed, number, percent, plain_table, table, text
from bsx.analysis.present.parts import (
    Cell,
    Chart,
    Example,
    Heading,
    Part,
    Prose,
    Section,
    Surprise,
    TablePart,
)
from bsx.analysis.report.alignments import Aligner
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted, titles
from bsx.analysis.report.sections.perturbations import perturbation_blocks, perturbation_lead, perturbation_surprises
from bsx.analysis.report.words import differing, plain

_NAMED = 4  # metrics that a headline has room for

Robust = TypeVar("Robust", TriplesDocument, PairsDocument, PerturbDocument)


@dataclass(frozen=True)
class _Part:
    """What a document adds to the section."""

    lead: str
    blocks: list[Part]
    surprises: list[Surprise] = field(default_factory=list)


def robustness(documents: Sequence[Document], aligner: Aligner, at_most: int) -> Section | None:
    """Return the section on robustness; at most so many examples a document."""
    triples, pairs = contents(documents, TriplesDocument), contents(documents, PairsDocument)
    changed = contents(documents, PerturbDocument)
    challenged = contents(documents, ChallengeDocument)
    heads = [f"Challenge set{f' {place}' if len(challenged) > 1 else ''}" for place in range(1, len(challenged) + 1)]
    parts = [
        *zip(heads, [_challenged(one, aligner, at_most) for _, one in challenged], strict=True),
        *zip(_heads("Triples", triples), [_triples(one, aligner, at_most) for _, one in triples], strict=True),
        *zip(_heads("Pairs", pairs), [_pairs(one) for _, one in pairs], strict=True),
        *zip(_heads("Perturbations", changed), [_changed(one, aligner, at_most) for _, one in changed], strict=True),
    ]
    if not parts:
        return None
    section = Section("robustness", "Robustness", " ".join(part.lead for _, part in parts))
    for head, part in parts:
        section.blocks += [Heading(head), *part.blocks]
        section.surprises += part.surprises
    return section


def _heads(kind: str, found: Sequence[tuple[str, Robust]]) -> list[str]:
    """Return the kind alone for one document, and beside it of what each is for several."""
    if len(found) == 1:
        return [kind]
    return titles(found, lambda content: f"{kind}: {listed(list(dict.fromkeys(r.metric for r in content.results)))}")


def _changed(content: PerturbDocument, aligner: Aligner, at_most: int) -> _Part:
    blocks = perturbation_blocks(content, aligner, at_most)
    return _Part(perturbation_lead(content), [*blocks, *noted(content.notes)], perturbation_surprises(content))


def _challenged(content: ChallengeDocument, aligner: Aligner, at_most: int) -> _Part:
    rated = [(name, one.overall) for name, one in content.metrics.items() if one.overall is not None]
    rated.sort(key=lambda found: -(found[1].rate or 0.0))
    lead = ""
    if rated and rated[0][1].n < FEWEST:
        lead = f"{rated[0][1].n} rows are too few to say how often a metric sees what is wrong with a translation."
    elif rated:
        shares = [f"{name} in {percent(one.rate).text} {interval(one.ci, 1, scale=100).text}" for name, one in rated]
        rest = f" (and {len(rated) - _NAMED} metrics more)" if len(rated) > _NAMED else ""
        name = rated[0][0]
        worst = min(content.metrics[name].phenomena.items(), key=lambda found: found[1].rate or 0.0)
        lead = (
            f"The good translation scores above the bad one under {listed(shares[:_NAMED])}{rest} of "
            f"{rated[0][1].n:,} rows; {name} least often for {worst[0]} ({percent(worst[1].rate).text} of "
            f"{worst[1].n:,})."
        )
    rows = []
    for name, one in content.metrics.items():
        for severity, found in [("all", one.overall), *one.severities.items()]:
            if found is not None:
                rows.append(
                    [
                        text(name),
                        text(severity),
                        number(found.n),
                        number(found.right),
                        number(found.tied),
                        percent(found.rate),
                        interval(found.ci, 1, scale=100),
                    ]
                )
    heads = ["metric", "severity", "rows", "right", "ties", "accuracy", "interval (%)"]
    severe = any(one.severities for one in content.metrics.values())
    if not severe:
        heads, rows = [heads[0], *heads[2:]], [[row[0], *row[2:]] for row in rows]
    caption = f"Accuracy{' by severity' if severe else ''}"
    blocks: list[Part] = [table(caption, heads, rows, note="A tie counts as an error.")]
    first = next(iter(content.metrics.values()))
    shades = []
    for name, found in first.phenomena.items():
        rates = [one.phenomena[name].rate for one in content.metrics.values()]
        cells = [percent(rate, heat=heat(rate, 0, 1)) for rate in rates]
        shades.append([text(name), *([text(found.severity)] if severe else []), number(found.n), *cells])
    heads = ["phenomenon", *(["severity"] if severe else []), "rows", *content.metrics]
    blocks.append(table("Accuracy by phenomenon", heads, shades))
    if content.tests:
        blocks.append(
            plain_table(
                "Paired tests (McNemar, sentences as clusters; p is two-sided)",
                [one.to_dict() for one in content.tests],
            )
        )
    blocks += _challenge_examples(content, aligner, at_most)
    return _Part(lead, [*blocks, *noted(content.notes)], _opposites(content.metrics))


def _opposites(metrics: Mapping[str, ChallengedMetric]) -> list[Surprise]:
    """Return pairs of metrics each of which is clearly the better one somewhere; the size is the smaller difference."""
    found = []
    for a, b in combinations(metrics, 2):
        ahead = [_furthest(metrics, *pair) for pair in ((a, b), (b, a))]
        if all(gap > 0 for gap, _ in ahead):
            (first, one), (second, other) = ahead
            shown = [
                f"“{name}” in {percent(metrics[x].phenomena[name].rate).text} of rows, where {y} sees it in "
                f"{percent(metrics[y].phenomena[name].rate).text}"
                for name, x, y in ((one, a, b), (other, b, a))
            ]
            text = f"{a} and {b} see opposite things: {a} sees {shown[0]}; {b} sees {shown[1]}."
            found.append(Surprise(text, min(first, second)))
    return found


def _furthest(metrics: Mapping[str, ChallengedMetric], a: str, b: str) -> tuple[float, str]:
    """Return where a metric is furthest ahead of another, by how much; 0 if no two intervals lie apart."""
    gaps = [(0.0, "")]
    for name, one in metrics[a].phenomena.items():
        other = metrics[b].phenomena[name]
        low, high = (one.ci or (None, None))[0], (other.ci or (None, None))[1]
        if one.n >= FEWEST and low is not None and high is not None and low > high:
            gaps.append(((one.rate or 0.0) - (other.rate or 0.0), name))
    return max(gaps)


def _challenge_examples(content: ChallengeDocument, aligner: Aligner, at_most: int) -> list[Part]:
    """Return examples of each phenomenon in turn, with every metric's verdict."""
    if not content.examples:
        return []
    chosen = content.examples[:at_most]
    blocks: list[Part] = [
        Prose(
            f"Examples ({len(chosen)} of {len(content.examples)} listed) that fool some metrics, of each phenomenon. "
            "Marked: what a shortest edit, word by word, puts into the reference to make the other text of it."
        )
    ]
    for place, one in enumerate(chosen):
        base = one.reference if one.reference is not None else one.good
        texts = [
            *([("source", plain(one.source))] if one.source is not None else []),
            *([("reference", plain(one.reference))] if one.reference is not None else []),
            ("good", differing(one.good, base)),
            ("bad", differing(one.bad, base)),
        ]
        right = [name for name, (good, bad) in one.scores.items() if (_margin(good, bad) or 0.0) > 0]
        title = f"Row {one.row}, {one.phenomenon}: {'seen by ' + listed(right) if right else 'seen by no metric'}"
        pairs = [] if one.reference is None else [("good", one.good, base), ("bad", one.bad, base)]
        grids, remark = aligner.align(pairs)
        scores = _verdicts(one.scores, "good", "bad")
        blocks.append(Example(title, tuple(texts), scores, grids, remark, folded=place >= SHOWN))
    return blocks


def _verdicts(scores: Mapping[str, tuple[Number, Number]], better: str, worse: str) -> TablePart:
    """Return what every metric made of two texts, of which the first is the better one."""
    rows = [
        [text(metric), number(good), number(bad), number(_margin(good, bad)), _verdict(good, bad)]
        for metric, (good, bad) in scores.items()
    ]
    return table("Scores", ["metric", better, worse, "margin", "verdict"], rows, sortable=False)


def _triples(content: TriplesDocument, aligner: Aligner, at_most: int) -> _Part:
    rated = sorted(
        (result for result in content.results if result.rate is not None), key=lambda result: -(result.rate or 0.0)
    )
    lead = "No metric has scores of any triple."
    if rated and rated[0].n < FEWEST:
        lead = f"{rated[0].n} triples are too few to say how often a metric prefers the paraphrase."
    elif rated:
        shares = [
            f"{percent(r.rate).text} {interval(r.ci, 1, scale=100).text} under {r.metric}" for r in rated[:_NAMED]
        ]
        rest = f" (and {len(rated) - _NAMED} metrics more)" if len(rated) > _NAMED else ""
        lead = f"The paraphrase scores higher in {listed(shares[:_NAMED])}{rest}, of {rated[0].n:,} triples."
    points = [charts.Point(r.metric, 0, r.rate, *(r.ci or (None, None))) for r in rated]
    alt = f"{lead} Half of the triples would be chance."
    spec = charts.intervals(
        points, alt=alt, axis="share of triples in which the paraphrase scores higher", series=1, zero=0.5, span=(0, 1)
    )
    rows = [
        [
            text(r.metric),
            number(r.n),
            number(r.prefers_paraphrase),
            number(r.ties),
            percent(r.rate),
            interval(r.ci, 1, scale=100),
            number(r.mean_margin),
        ]
        for r in content.results
    ]
    heads = ["metric", "triples", "prefers paraphrase", "ties", "rate", "interval (%)", "mean margin"]
    note = (
        "A triple is an anchor, a paraphrase with few of its words and a non-paraphrase with many. "
        "Ties count against the metric."
    )
    blocks: list[Part] = [
        Chart("Does the metric prefer the paraphrase?", alt, (("", spec),)),
        table("Preference", heads, rows, note=note),
    ]
    if content.splits:
        rows = [
            [text(s.metric), number(s.low), number(s.high), number(s.n), percent(s.rate), interval(s.ci, 1, scale=100)]
            for s in content.splits
        ]
        heads = ["metric", "gap from", "gap to", "triples", "rate", "interval (%)"]
        blocks.append(
            table(
                "By gap in lexical overlap",
                heads,
                rows,
                note="Gap: overlap of the non-paraphrase with the anchor less that of the paraphrase.",
                folded=len(rows) > 8,
            )
        )
    if content.tests:
        blocks.append(
            plain_table("Paired tests (exact McNemar; p is two-sided)", [one.to_dict() for one in content.tests])
        )
    best = rated[0] if rated and rated[0].n >= FEWEST else None
    below = best.ci[1] if best is not None and best.ci is not None and best.ci[1] is not None else 0.5
    surprises = []
    if best is not None and below < 0.5:
        share = f"in {percent(best.rate).text} of {best.n:,} triples, where a coin would in half of them"
        text_of = f"No metric prefers the paraphrase as often as chance: {best.metric}, the best, {share}."
        surprises.append(Surprise(text_of, 1 - 2 * below))
    return _Part(lead, [*blocks, *_triple_examples(content.worst, aligner, at_most), *noted(content.notes)], surprises)


def _triple_examples(worst: Sequence[TripleExampleRow], aligner: Aligner, at_most: int) -> list[Part]:
    """Return the triples that fool most metrics, one example for all metrics that they fool."""
    found: dict[tuple[str, str, str], list[TripleExampleRow]] = {}
    for example in worst:
        found.setdefault((example.anchor, example.paraphrase, example.nonparaphrase), []).append(example)
    if not found:
        return []
    chosen = sorted(found.values(), key=lambda examples: -len(examples))[:at_most]
    blocks: list[Part] = [
        Prose(
            f"The worst triples ({len(chosen)} of {len(found)} listed), each named after metrics that have it among "
            "their worst. Marked: what a shortest edit puts into the anchor, word by word, "
            "to make the other text of it; a word that moved is marked too."
        )
    ]
    for place, examples in enumerate(chosen):
        first = examples[0]
        texts = (
            ("anchor", plain(first.anchor)),
            ("paraphrase", differing(first.paraphrase, first.anchor)),
            ("non-paraphrase", differing(first.nonparaphrase, first.anchor)),
        )
        known = first.scores or {e.metric: (e.score_paraphrase, e.score_nonparaphrase) for e in examples}
        scores = _verdicts(known, "paraphrase", "non-paraphrase")
        grids, remark = aligner.align(
            [("paraphrase", first.paraphrase, first.anchor), ("non-paraphrase", first.nonparaphrase, first.anchor)]
        )
        names = listed([e.metric for e in examples])
        blocks.append(
            Example(
                f"Row {first.row}: {names} prefer{'s' if len(examples) == 1 else ''} the non-paraphrase",
                texts,
                scores,
                grids,
                remark,
                folded=place >= SHOWN,
            )
        )
    return blocks


def _margin(good: Number, bad: Number) -> Number:
    return None if good is None or bad is None else good - bad


def _verdict(good: Number, bad: Number) -> Cell:
    """Return whether a metric sees which of two texts is the better one."""
    margin = _margin(good, bad)
    if margin is None:
        return text("–")
    return text("right" if margin > 0 else "tie" if margin == 0 else "fooled", strong=margin > 0)


def _pairs(content: PairsDocument) -> _Part:
    defined = [result for result in content.results if result.auc is not None]
    lead = "No metric's AUC is defined."
    if defined and defined[0].n < FEWEST:
        lead = f"{defined[0].n} pairs are too few to say which metric tells paraphrases from other pairs best."
    elif defined:
        best = max(defined, key=lambda result: result.auc or 0.0)
        lead = (
            f"{best.metric} tells paraphrases from other pairs best: AUC {number(best.auc).text} "
            f"{interval(best.ci).text} on {best.n:,} pairs."
        )
    points = [charts.Point(r.metric, 0, r.auc, *(r.ci or (None, None))) for r in defined]
    alt = f"{lead} An AUC of one half is chance."
    spec = charts.intervals(points, alt=alt, axis="area under the ROC curve", series=1, zero=0.5)
    figures = [{"metric": r.metric, "n": r.n, "auc": r.auc, "ci": r.ci, **r.to_dict()} for r in content.results]
    blocks: list[Part] = [
        Chart("Does the metric detect paraphrases?", alt, (("", spec),)),
        plain_table("Detection", figures),
    ]
    if content.tests:
        blocks.append(
            plain_table("Paired tests (DeLong; p is for A above B)", [one.to_dict() for one in content.tests])
        )
    if content.drops:
        blocks.append(plain_table("Drops", [one.to_dict() for one in content.drops]))
    return _Part(lead, [*blocks, *noted(content.notes)])
