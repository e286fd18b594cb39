"""The steps of a card on pairs, triples, challenge sets and changed texts: can the metric be fooled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bsx.analysis.adversarial.challenge import ChallengeResult, challenge
from bsx.analysis.adversarial.pairs import detect_pairs
from bsx.analysis.adversarial.robustness import ToldApart, falls, perturbed_scores, told_apart
from bsx.analysis.adversarial.triples import prefer_paraphrase
from bsx.analysis.cards.leaderboard import CHALLENGE, TOLD_APART, TRIPLES
from bsx.analysis.cards.result import ToldApartRow
from bsx.analysis.datasets.challenge import ChallengeSet
from bsx.analysis.datasets.triples import TripleTable
from bsx.analysis.stats.folds import Rows, units
from bsx.analysis.stats.preference import McNemar, mcnemar
from bsx.errors import BsxError
from bsx.jobs.cards.data import DataSet, JudgedRows, LabelledPairs, SegmentTexts
from bsx.jobs.cards.inputs import CardFindings, CardInputs, add_mcnemar, add_sentinels, test_row
from bsx.jobs.cards.scoring import Problem, Scored
from bsx.support.checks import Array
from bsx.support.result import as_json

Two = tuple[Array, Array]


def measure_paraphrases(inputs: CardInputs) -> CardFindings:
    """Measure how well subjects and sentinels detect paraphrases, on pairs and on triples."""
    findings = CardFindings()
    for data, content in inputs.tables(LabelledPairs):
        _pairs(findings, inputs, data, content)
    for data, triples in inputs.tables(TripleTable):
        _triples(findings, inputs, data, triples)
    return findings


def _pairs(findings: CardFindings, inputs: CardInputs, data: DataSet, content: LabelledPairs) -> None:
    scores = _kept(findings, inputs, data, "paraphrase", inputs.metrics.score(data.lang, content.texts, inputs.names))
    for subject in inputs.subjects:
        if subject.column and subject.name in content.columns:
            scores[subject.name] = content.columns[subject.name] * (-1 if subject.lower else 1)
        elif subject.column:
            findings.miss("paraphrase", subject.name, Problem(False, f"{data.name} has no column {subject.name!r}"))
    if not any(subject.name in scores for subject in inputs.subjects):
        return
    of = _sets([content.texts.candidates or [], [refs[0] for refs in content.texts.references or []]])
    result = detect_pairs(
        content.labels,
        scores,
        cluster=of,
        nan="omit",
        confidence=inputs.settings.confidence,
        resamples=inputs.settings.resamples,
        seed=inputs.settings.seed,
    )
    rows = {row.metric: row for row in result.results}
    figure = "ROC AUC"
    reached = {name: (row.auc, row.ci) for name, row in rows.items()}
    for subject in inputs.subjects:
        name = subject.name
        if name not in rows:
            continue
        _add(findings, data, "paraphrase", name, pairs=rows[name])
        for test in result.tests:
            if name not in (test.a, test.b):
                continue
            turned = test.b == name
            other = test.a if turned else test.b
            row = test_row(
                data=data.name,
                group=data.lang,
                figure=figure,
                a=name,
                b=other,
                difference=-test.difference if turned else test.difference,
                ci=(-test.ci[1], -test.ci[0]) if turned else test.ci,
                p=test.p_two_sided,
                method="DeLong test, paired",
            )
            findings.add("sentinels" if other in inputs.sentinels else "paraphrase", name, tests=row)
        add_sentinels(findings, inputs, data, name, figure, reached, 0.5, "by definition")


def _triples(findings: CardFindings, inputs: CardInputs, data: DataSet, content: TripleTable) -> None:
    triples = content.triples
    texts = SegmentTexts(
        [t.paraphrase for t in triples] + [t.nonparaphrase for t in triples], [(t.anchor,) for t in triples] * 2
    )
    halves = _halved(
        _kept(findings, inputs, data, "paraphrase", inputs.metrics.score(data.lang, texts, inputs.names)), len(triples)
    )
    _columns(findings, inputs, data, "paraphrase", content.scores, halves)
    if not any(subject.name in halves for subject in inputs.subjects):
        return
    of = _sets([[t.anchor for t in triples], [t.paraphrase for t in triples], [t.nonparaphrase for t in triples]])
    result = prefer_paraphrase(
        halves,
        cluster=of,
        worst=0,
        nan="omit",
        confidence=inputs.settings.confidence,
        resamples=inputs.settings.resamples,
        seed=inputs.settings.seed,
    )
    rows = {row.metric: row for row in result.results}
    reached = {name: (row.rate, row.ci) for name, row in rows.items()}
    for name in [subject.name for subject in inputs.subjects if subject.name in rows]:
        _add(findings, data, "paraphrase", name, triples=rows[name])
        add_mcnemar(
            findings,
            inputs,
            data,
            "paraphrase",
            name,
            TRIPLES,
            {(test.a, test.b): test.p for test in result.tests},
            reached,
        )
        add_sentinels(findings, inputs, data, name, TRIPLES, reached, 0.0, "by definition: a tie is no preference")


def measure_challenge_sets(inputs: CardInputs) -> CardFindings:
    """Count how often subjects and sentinels score a good translation above a bad one."""
    findings = CardFindings()
    for data, content in inputs.tables(ChallengeSet):
        pairs, has = content.pairs, content.has
        texts = SegmentTexts(
            [pair.good for pair in pairs] + [pair.bad for pair in pairs],
            [(str(pair.reference),) for pair in pairs] * 2 if "reference" in has else None,
            [str(pair.source) for pair in pairs] * 2 if "source" in has else None,
        )
        scored = inputs.metrics.score(data.lang, texts, inputs.names)
        halves = _halved(_kept(findings, inputs, data, "challenge", scored), len(pairs))
        _columns(findings, inputs, data, "challenge", content.scores, halves)
        if not any(subject.name in halves for subject in inputs.subjects):
            continue
        result = challenge(pairs, halves, confidence=inputs.settings.confidence, nan="omit")
        _challenge(findings, inputs, data, result)
    return findings


def _challenge(findings: CardFindings, inputs: CardInputs, data: DataSet, result: ChallengeResult) -> None:
    rows = result.metrics
    reached = {name: (row.overall.rate, row.overall.ci) for name, row in rows.items() if row.overall is not None}
    for name in [subject.name for subject in inputs.subjects if subject.name in rows]:
        findings.add("challenge", name, notes=[f"{data.name}: {note}" for note in result.notes])
        _add(findings, data, "challenge", name, sets=rows[name])
        add_mcnemar(
            findings,
            inputs,
            data,
            "challenge",
            name,
            CHALLENGE,
            {(test.a, test.b): test.p for test in result.tests},
            reached,
        )
        add_sentinels(findings, inputs, data, name, CHALLENGE, reached, 0.0, "by definition: a tie is an error")


def _kept(
    findings: CardFindings, inputs: CardInputs, data: DataSet, part: str, scored: Mapping[str, Scored | Problem]
) -> dict[str, Array]:
    """Return the scores that there are; why others are missing goes to the findings."""
    kept = {}
    for name, scores in scored.items():
        if isinstance(scores, Scored):
            kept[name] = scores.values
        if name in inputs.sentinels:
            continue
        if isinstance(scores, Problem):
            findings.miss(part, name, scores)
        elif scores.failed:
            findings.add(part, name, notes=scores.notes(f"{data.name}: {name}"))
    return kept


def _columns(
    findings: CardFindings,
    inputs: CardInputs,
    data: DataSet,
    part: str,
    published: Mapping[str, Two],
    halves: dict[str, Two],
) -> None:
    """Add published scores of both sides."""
    for subject in inputs.subjects:
        if subject.column and subject.name in published:
            good, bad = published[subject.name]
            halves[subject.name] = (-good, -bad) if subject.lower else (good, bad)
        elif subject.column:
            findings.miss(part, subject.name, Problem(False, f"{data.name} has no scores of {subject.name!r}"))


def _halved(scores: Mapping[str, Array], half: int) -> dict[str, Two]:
    return {name: (values[:half], values[half:]) for name, values in scores.items()}


def _sets(sides: Sequence[Sequence[str]]) -> Rows | None:
    """Return the set of each row: rows that share a text belong together, directly or over others."""
    n = len(sides[0])
    rows = [str(row) for row in range(n)] * len(sides)
    of = units([[text for side in sides for text in side], rows], n * len(sides))[:n]
    return None if len(set(of.tolist())) in (1, n) else of


def _add(findings: CardFindings, data: DataSet, part: str, name: str, **rows: Any) -> None:
    """Add one row to a list of a part, and what a reader must know of the table."""
    added = {kind: [{**as_json(row), "data": data.name, "group": data.lang}] for kind, row in rows.items()}
    findings.add(part, name, **added, notes=[f"{data.name}: {note}" for note in data.notes])


def measure_perturbations(inputs: CardInputs) -> CardFindings:
    """Change references on purpose and measure how far each metric's scores of them fall."""
    findings = CardFindings()
    done: set[str] = set()
    for data, content in inputs.tables(JudgedRows):
        if content.texts.references is None or data.lang in done:
            continue
        done.add(data.lang)
        texts = list(dict.fromkeys(refs[0] for refs in content.texts.references if refs and refs[0].strip()))
        most = inputs.settings.perturbed
        if len(texts) > most:
            chosen = np.random.default_rng(inputs.settings.seed).choice(len(texts), most, replace=False)
            texts = [texts[i] for i in sorted(chosen.tolist())]
        told: dict[str, ToldApart] = {}
        for name in inputs.scorable(findings, "perturbations", ", which knows no changed texts"):
            metric = inputs.metrics.build(data.lang)[name]
            if isinstance(metric, Problem):
                findings.miss("perturbations", name, metric)
            elif "source" in metric.needs:
                reason = f"{name} reads sources: a reference that is changed has none of its own"
                findings.miss("perturbations", name, Problem(False, reason))
            elif (whole := _perturb(findings, inputs, data, name, texts)) is not None:
                told[name] = whole
        tests = {(a, b): test.p for a, b in combinations(told, 2) if (test := _paired(told[a].right, told[b].right))}
        reached = {name: (whole.rate, (whole.low, whole.high)) for name, whole in told.items()}
        for name in told:
            add_mcnemar(findings, inputs, data, "perturbations", name, TOLD_APART, tests, reached)
    return findings


def _paired(a: Array, b: Array) -> McNemar | None:
    """Return the test of two metrics on the changes that are counted for both, those of one text as a cluster."""
    both = ~np.isnan(a) & ~np.isnan(b)
    of = np.nonzero(both)[1]
    return mcnemar(a[both], b[both], cluster=of) if len(np.unique(of)) > 1 else None


def _perturb(
    findings: CardFindings, inputs: CardInputs, data: DataSet, name: str, texts: Sequence[str]
) -> ToldApart | None:
    try:
        scored = perturbed_scores(
            texts,
            {name: inputs.metrics.pairwise(data.lang, name)},
            lang=data.lang,
            seed=inputs.settings.seed,
            nan="omit",
        )
    except BsxError as error:
        findings.miss("perturbations", name, Problem(True, f"{data.name}: {error}"))
        return None
    how = inputs.settings
    result = falls(scored, resamples=how.resamples, confidence=how.confidence, worst=0)
    rows = [{**as_json(case), "data": data.name, "group": data.lang} for case in result.results]
    tests = [
        row
        for case in result.results
        if not case.preserves
        for row in test_row(
            data=data.name,
            group=data.lang,
            figure="drop beyond the control's",
            a=case.perturbation + (f" {case.strength:g}" if case.strength is not None else ""),
            b=str(result.settings["control_perturbation"]),
            difference=case.excess,
            ci=case.excess_ci,
            p=case.p,
            method="random swaps within rows, one-sided",
        )
    ]
    whole = told_apart(scored, name, confidence=how.confidence)
    overall = (
        []
        if not whole.n
        else [
            as_json(
                ToldApartRow(
                    data=data.name,
                    group=data.lang,
                    control=whole.control,
                    n=whole.n,
                    texts=whole.texts,
                    rate=whole.rate,
                    ci=(whole.low, whole.high),
                )
            )
        ]
    )
    missing = [{"perturbation": what, "why": f"{data.lang}: {why}"} for what, why in scored.left_out.items()]
    note = f"{data.name}: {len(texts)} different references, changed and scored against themselves"
    findings.add(
        "perturbations", name, rows=rows, overall=overall, tests=tests, left_out=missing, notes=[note, *result.notes]
    )
    return whole if whole.n else None
