"""The steps of a card on pairs, triples, perturbed texts and challenge sets: can the metric be fooled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from bsx.analysis.adversarial.challenge import ChallengeResult, challenge
from bsx.analysis.adversarial.pairs import detect_pairs
from bsx.analysis.adversarial.result import ToldApart
from bsx.analysis.adversarial.robustness import robustness, told_apart
from bsx.analysis.adversarial.triples import prefer_paraphrase
from bsx.analysis.cards.leaderboard import TOLD_APART
from bsx.analysis.datasets.challenge import ChallengeSet
from bsx.analysis.datasets.triples import TripleTable
from bsx.analysis.documents.cards import SentinelRow, ToldApartRow
from bsx.analysis.stats.folds import Rows, units
from bsx.analysis.stats.preference import McNemar, mcnemar
from bsx.errors import BsxError
from bsx.jobs.carding.data import DataSet, JudgedRows, LabelledPairs, RowTexts
from bsx.jobs.carding.desk import CardFindings, Desk, test_row
from bsx.jobs.carding.scoring import Problem, Scored
from bsx.support.checks import Array
from bsx.support.untyped import JsonObject

Two = tuple[Array, Array]


def paraphrases(desk: Desk) -> CardFindings:
    """Take subjects and sentinels for detectors of paraphrases, on pairs and on triples."""
    found = CardFindings()
    for one in desk.of("pairs"):
        if isinstance(one.content, LabelledPairs):
            _pairs(found, desk, one, one.content)
    for one in desk.of("triples"):
        if isinstance(one.content, TripleTable):
            _triples(found, desk, one, one.content)
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
    document = result.to_set()
    rows = {row.metric: row for row in document.results}
    for subject in desk.subjects:
        if subject.name not in rows:
            continue
        own = rows[subject.name]
        found.add(
            "paraphrase",
            subject.name,
            pairs=[{**own.to_dict(), "data": one.name, "group": one.lang}],
            notes=_notes(one),
        )
        for (a, b), test in result.tests.items():
            if subject.name not in (a, b):
                continue
            turned = b == subject.name
            row = test_row(
                data=one.name,
                group=one.lang,
                figure="ROC AUC",
                a=subject.name,
                b=a if turned else b,
                difference=-test.difference if turned else test.difference,
                ci=(-test.high, -test.low) if turned else (test.low, test.high),
                p=test.p_two_sided,
                method=test.method,
            )
            _assign(found, desk, "paraphrase", subject.name, a if turned else b, row)
        for sentinel in desk.sentinels:
            if sentinel in rows:
                its = rows[sentinel]
                _reached(found, one, subject.name, sentinel, "ROC AUC", its.auc, its.ci, own.auc)
        _reached(found, one, subject.name, "constant", "ROC AUC", 0.5, None, own.auc, "by definition")


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
    rows = {row.metric: row for row in result.to_document(triples, halves).results}
    figure = "share of triples in which the paraphrase scores higher"
    for subject in desk.subjects:
        if subject.name not in rows:
            continue
        own = rows[subject.name]
        found.add(
            "paraphrase",
            subject.name,
            triples=[{**own.to_dict(), "data": one.name, "group": one.lang}],
            notes=_notes(one),
        )
        rates = {name: row.rate for name, row in rows.items()}
        _mcnemar(found, desk, one, "paraphrase", subject.name, figure, result.tests, rates)
        for sentinel in desk.sentinels:
            if sentinel in rows:
                _reached(found, one, subject.name, sentinel, figure, rows[sentinel].rate, rows[sentinel].ci, own.rate)
        _reached(
            found, one, subject.name, "constant", figure, 0.0, None, own.rate, "by definition: a tie is no preference"
        )


def challenged(desk: Desk) -> CardFindings:
    """Count how often subjects and sentinels score a good translation above a bad one."""
    found = CardFindings()
    for one in desk.of("challenge"):
        if not isinstance(one.content, ChallengeSet):
            continue
        pairs, has = one.content.pairs, one.content.has
        texts = RowTexts(
            [pair.good for pair in pairs] + [pair.bad for pair in pairs],
            [(str(pair.reference),) for pair in pairs] * 2 if "reference" in has else None,
            [str(pair.source) for pair in pairs] * 2 if "source" in has else None,
        )
        scored = desk.lab.score(one.lang, texts, desk.metrics)
        halves = _halved(_kept(found, desk, one, "challenge", scored), len(pairs))
        _columns(found, desk, one, "challenge", one.content.scores, halves)
        if not any(subject.name in halves for subject in desk.subjects):
            continue
        result = challenge(pairs, halves, confidence=desk.how["confidence"], nan="omit")
        _challenge(found, desk, one, result)
    return found


def _challenge(found: CardFindings, desk: Desk, one: DataSet, result: ChallengeResult) -> None:
    document = result.to_document().metrics
    figure = "share of rows on which the good translation scores higher"
    rates = {name: row.overall.rate for name, row in document.items() if row.overall is not None}
    for subject in desk.subjects:
        if subject.name not in document:
            continue
        own = document[subject.name]
        said = [f"{one.name}: {note}" for note in result.notes]
        row = {**own.to_dict(), "data": one.name, "group": one.lang}
        found.add("challenge", subject.name, sets=[row], notes=[*said, *_notes(one)])
        _mcnemar(found, desk, one, "challenge", subject.name, figure, result.tests, rates)
        value = own.overall.rate if own.overall is not None else None
        for sentinel in desk.sentinels:
            its = document[sentinel].overall if sentinel in document else None
            if its is not None:
                _reached(found, one, subject.name, sentinel, figure, its.rate, its.ci, value)
        _reached(found, one, subject.name, "constant", figure, 0.0, None, value, "by definition: a tie is an error")


def perturbed(desk: Desk) -> CardFindings:
    """Change references on purpose and measure how far each metric's scores of them fall."""
    found = CardFindings()
    done: set[str] = set()
    for one in desk.of("judged"):
        if not isinstance(one.content, JudgedRows) or one.content.texts.references is None or one.lang in done:
            continue
        done.add(one.lang)
        texts = list(dict.fromkeys(refs[0] for refs in one.content.texts.references if refs and refs[0].strip()))
        most = desk.how["perturbed"]
        if len(texts) > most:
            chosen = np.random.default_rng(desk.how["seed"]).choice(len(texts), most, replace=False)
            texts = [texts[i] for i in sorted(chosen.tolist())]
        told: dict[str, ToldApart] = {}
        for subject in desk.subjects:
            if subject.column:
                reason = f"{subject.name} is a column of scores, which knows no changed texts"
                found.miss("perturbations", subject.name, Problem(False, reason))
                continue
            metric = desk.lab.build(one.lang)[subject.name]
            if isinstance(metric, Problem):
                found.miss("perturbations", subject.name, metric)
            elif "source" in metric.needs:
                reason = f"{subject.name} reads sources: a reference that is changed has none of its own"
                found.miss("perturbations", subject.name, Problem(False, reason))
            elif (whole := _perturb(found, desk, one, subject.name, texts)) is not None:
                told[subject.name] = whole
        tests = {(a, b): test for a, b in combinations(told, 2) if (test := _paired(told[a].right, told[b].right))}
        for name in told:
            _mcnemar(found, desk, one, "perturbations", name, TOLD_APART, tests, {n: t.rate for n, t in told.items()})
    return found


def _paired(a: Array, b: Array) -> McNemar | None:
    """Return the test of two metrics on the changes that are counted for both, those of one text as a cluster."""
    both = ~np.isnan(a) & ~np.isnan(b)
    return mcnemar(a[both], b[both], cluster=np.nonzero(both)[1]) if both.any() else None


def _perturb(found: CardFindings, desk: Desk, one: DataSet, name: str, texts: Sequence[str]) -> ToldApart | None:
    try:
        result = robustness(
            texts,
            {name: desk.lab.pairwise(one.lang, name)},
            lang=one.lang,
            seed=desk.how["seed"],
            resamples=desk.how["resamples"],
            confidence=desk.how["confidence"],
            worst=0,
            nan="omit",
        )
    except BsxError as error:
        found.miss("perturbations", name, Problem(True, f"{one.name}: {error}"))
        return None
    rows = [{**case.to_row().to_dict(), "data": one.name, "group": one.lang} for case in result.results]
    tests = [
        row
        for case in result.results
        if not case.preserves
        for row in test_row(
            data=one.name,
            group=one.lang,
            figure="drop beyond the control's",
            a=case.perturbation + (f" {case.strength:g}" if case.strength is not None else ""),
            b=str(result.settings["control"]),
            difference=case.excess,
            ci=(case.excess_low, case.excess_high),
            p=case.p,
            method="random swaps within rows, one-sided",
        )
    ]
    whole = told_apart(result, name)
    overall = (
        []
        if not whole.n
        else [
            ToldApartRow(
                data=one.name,
                group=one.lang,
                control=whole.control,
                n=whole.n,
                texts=whole.texts,
                rate=whole.rate,
                ci=(whole.low, whole.high),
            ).to_dict()
        ]
    )
    missing = [{"perturbation": what, "why": f"{one.lang}: {why}"} for what, why in result.left_out.items()]
    note = f"{one.name}: {len(texts)} different references, changed and scored against themselves"
    found.add(
        "perturbations", name, rows=rows, overall=overall, tests=tests, left_out=missing, notes=[note, *result.notes]
    )
    return whole if whole.n else None


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


def _mcnemar(
    found: CardFindings,
    desk: Desk,
    one: DataSet,
    part: str,
    name: str,
    figure: str,
    tests: Mapping[tuple[str, str], McNemar],
    rates: Mapping[str, float | None],
) -> None:
    for (a, b), test in tests.items():
        if name not in (a, b):
            continue
        other = a if b == name else b
        mine, theirs = rates.get(name), rates.get(other)
        row = test_row(
            data=one.name,
            group=one.lang,
            figure=figure,
            a=name,
            b=other,
            difference=None if mine is None or theirs is None else mine - theirs,
            p=test.p,
            method="McNemar, rows that share texts as clusters",
        )
        _assign(found, desk, part, name, other, row)


def _assign(found: CardFindings, desk: Desk, part: str, name: str, other: str, row: list[JsonObject]) -> None:
    found.add("sentinels" if other in desk.sentinels else part, name, tests=row)


def _reached(
    found: CardFindings,
    one: DataSet,
    name: str,
    sentinel: str,
    figure: str,
    value: object,
    ci: object,
    own: object,
    note: str = "",
) -> None:
    row = {
        "sentinel": sentinel,
        "data": one.name,
        "group": one.lang,
        "figure": figure,
        "value": value,
        "ci": ci,
        "metric_value": own,
    }
    found.add("sentinels", name, rows=[SentinelRow.model_validate({**row, "note": note}).to_dict()])


def _notes(one: DataSet) -> list[str]:
    return [f"{one.name}: {note}" for note in one.notes]
