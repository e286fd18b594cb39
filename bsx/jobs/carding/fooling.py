"""The steps of a card on pairs, triples and challenge sets: can the metric be fooled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bsx.analysis.adversarial.challenge import ChallengeResult, challenge
from bsx.analysis.adversarial.pairs import detect_pairs
from bsx.analysis.adversarial.triples import prefer_paraphrase
from bsx.analysis.cards.leaderboard import CHALLENGE, TRIPLES
from bsx.analysis.datasets.challenge import ChallengeSet
from bsx.analysis.datasets.triples import TripleTable
from bsx.analysis.stats.folds import Rows, units
from bsx.jobs.carding.data import DataSet, LabelledPairs, RowTexts
from bsx.jobs.carding.desk import CardFindings, Desk
from bsx.jobs.carding.rows import add_mcnemar, add_sentinels, test_row
from bsx.jobs.carding.scoring import Problem, Scored
from bsx.support.checks import Array
from bsx.support.result import as_json

Two = tuple[Array, Array]


def paraphrases(desk: Desk) -> CardFindings:
    """Take subjects and sentinels for detectors of paraphrases, on pairs and on triples."""
    found = CardFindings()
    for one, content in desk.of(LabelledPairs):
        _pairs(found, desk, one, content)
    for one, triples in desk.of(TripleTable):
        _triples(found, desk, one, triples)
    return found


def _pairs(found: CardFindings, desk: Desk, one: DataSet, content: LabelledPairs) -> None:
    scores = _kept(found, desk, one, "paraphrase", desk.lab.score(one.lang, content.texts, desk.metrics))
    for subject in desk.subjects:
        if subject.column and subject.name in content.columns:
            scores[subject.name] = content.columns[subject.name] * (-1 if subject.lower else 1)
        elif subject.column:
            found.miss("paraphrase", subject.name, Problem(False, f"{one.name} has no column {subject.name!r}"))
    if not any(subject.name in scores for subject in desk.subjects):
        return
    of = _sets([content.texts.candidates or [], [refs[0] for refs in content.texts.references or []]])
    result = detect_pairs(
        content.labels,
        scores,
        cluster=of,
        nan="omit",
        confidence=desk.how["confidence"],
        resamples=desk.how["resamples"],
        seed=desk.how["seed"],
    )
    rows = {row.metric: row for row in result.results}
    figure = "ROC AUC"
    reached = {name: (row.auc, row.ci) for name, row in rows.items()}
    for subject in desk.subjects:
        name = subject.name
        if name not in rows:
            continue
        _add(found, one, "paraphrase", name, pairs=rows[name])
        for test in result.tests:
            if name not in (test.a, test.b):
                continue
            turned = test.b == name
            other = test.a if turned else test.b
            row = test_row(
                data=one.name,
                group=one.lang,
                figure=figure,
                a=name,
                b=other,
                difference=-test.difference if turned else test.difference,
                ci=(-test.ci[1], -test.ci[0]) if turned else test.ci,
                p=test.p_two_sided,
                method="DeLong test, paired",
            )
            found.add("sentinels" if other in desk.sentinels else "paraphrase", name, tests=row)
        add_sentinels(found, desk, one, name, figure, reached, 0.5, "by definition")


def _triples(found: CardFindings, desk: Desk, one: DataSet, content: TripleTable) -> None:
    triples = content.triples
    texts = RowTexts(
        [t.paraphrase for t in triples] + [t.nonparaphrase for t in triples], [(t.anchor,) for t in triples] * 2
    )
    halves = _halved(_kept(found, desk, one, "paraphrase", desk.lab.score(one.lang, texts, desk.metrics)), len(triples))
    _columns(found, desk, one, "paraphrase", content.scores, halves)
    if not any(subject.name in halves for subject in desk.subjects):
        return
    of = _sets([[t.anchor for t in triples], [t.paraphrase for t in triples], [t.nonparaphrase for t in triples]])
    result = prefer_paraphrase(
        halves,
        cluster=of,
        worst=0,
        nan="omit",
        confidence=desk.how["confidence"],
        resamples=desk.how["resamples"],
        seed=desk.how["seed"],
    )
    rows = {row.metric: row for row in result.results}
    reached = {name: (row.rate, row.ci) for name, row in rows.items()}
    for name in [subject.name for subject in desk.subjects if subject.name in rows]:
        _add(found, one, "paraphrase", name, triples=rows[name])
        add_mcnemar(
            found, desk, one, "paraphrase", name, TRIPLES, {(test.a, test.b): test.p for test in result.tests}, reached
        )
        add_sentinels(found, desk, one, name, TRIPLES, reached, 0.0, "by definition: a tie is no preference")


def challenged(desk: Desk) -> CardFindings:
    """Count how often subjects and sentinels score a good translation above a bad one."""
    found = CardFindings()
    for one, content in desk.of(ChallengeSet):
        pairs, has = content.pairs, content.has
        texts = RowTexts(
            [pair.good for pair in pairs] + [pair.bad for pair in pairs],
            [(str(pair.reference),) for pair in pairs] * 2 if "reference" in has else None,
            [str(pair.source) for pair in pairs] * 2 if "source" in has else None,
        )
        scored = desk.lab.score(one.lang, texts, desk.metrics)
        halves = _halved(_kept(found, desk, one, "challenge", scored), len(pairs))
        _columns(found, desk, one, "challenge", content.scores, halves)
        if not any(subject.name in halves for subject in desk.subjects):
            continue
        result = challenge(pairs, halves, confidence=desk.how["confidence"], nan="omit")
        _challenge(found, desk, one, result)
    return found


def _challenge(found: CardFindings, desk: Desk, one: DataSet, result: ChallengeResult) -> None:
    rows = result.metrics
    reached = {name: (row.overall.rate, row.overall.ci) for name, row in rows.items() if row.overall is not None}
    for name in [subject.name for subject in desk.subjects if subject.name in rows]:
        found.add("challenge", name, notes=[f"{one.name}: {note}" for note in result.notes])
        _add(found, one, "challenge", name, sets=rows[name])
        add_mcnemar(
            found, desk, one, "challenge", name, CHALLENGE, {(test.a, test.b): test.p for test in result.tests}, reached
        )
        add_sentinels(found, desk, one, name, CHALLENGE, reached, 0.0, "by definition: a tie is an error")


def _kept(
    found: CardFindings, desk: Desk, one: DataSet, part: str, scored: Mapping[str, Scored | Problem]
) -> dict[str, Array]:
    """Return the scores that there are; why others are missing goes to the findings."""
    kept = {}
    for name, scores in scored.items():
        if isinstance(scores, Scored):
            kept[name] = scores.values
        if name in desk.sentinels:
            continue
        if isinstance(scores, Problem):
            found.miss(part, name, scores)
        elif scores.failed:
            found.add(part, name, notes=scores.notes(f"{one.name}: {name}"))
    return kept


def _columns(
    found: CardFindings, desk: Desk, one: DataSet, part: str, published: Mapping[str, Two], halves: dict[str, Two]
) -> None:
    """Add published scores of both sides."""
    for subject in desk.subjects:
        if subject.column and subject.name in published:
            good, bad = published[subject.name]
            halves[subject.name] = (-good, -bad) if subject.lower else (good, bad)
        elif subject.column:
            found.miss(part, subject.name, Problem(False, f"{one.name} has no scores of {subject.name!r}"))


def _halved(scores: Mapping[str, Array], half: int) -> dict[str, Two]:
    return {name: (values[:half], values[half:]) for name, values in scores.items()}


def _sets(sides: Sequence[Sequence[str]]) -> Rows | None:
    """Return the set of each row: rows that share a text belong together, directly or over others."""
    n = len(sides[0])
    rows = [str(row) for row in range(n)] * len(sides)
    of = units([[text for side in sides for text in side], rows], n * len(sides))[:n]
    return None if len(set(of.tolist())) in (1, n) else of


def _add(found: CardFindings, one: DataSet, part: str, name: str, **rows: Any) -> None:
    """Add one row to a list of a part, and what a reader must know of the table."""
    added = {kind: [{**as_json(row), "data": one.name, "group": one.lang}] for kind, row in rows.items()}
    found.add(part, name, **added, notes=[f"{one.name}: {note}" for note in one.notes])
