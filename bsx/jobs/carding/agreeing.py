"""The step of a card on judged segments: agreement with people, beside what sentinels reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.agreement.evaluate import meta_evaluate
from bsx.analysis.agreement.result import AverageAgreement, AverageTest, GroupResult, MetaResult, PairTest
from bsx.analysis.agreement.rows import CorpusScores
from bsx.analysis.agreement.settings import MetaOptions
from bsx.analysis.cards.result import AgreementRow
from bsx.analysis.stats.folds import Rows
from bsx.errors import InputError
from bsx.jobs.carding.data import DataSet, JudgedRows, RowTexts
from bsx.jobs.carding.desk import CardFindings, Desk, Subject
from bsx.jobs.carding.people import people
from bsx.jobs.carding.rows import CONSTANT, sentinel_row, test_row
from bsx.jobs.carding.scoring import Problem, Scored
from bsx.support.checks import Array
from bsx.support.result import as_json
from bsx.support.untyped import JsonObject

_LEVELS = {"seg": "segment", "sys": "system"}
_SHUFFLED = "shuffled candidates"


def agree(desk: Desk) -> CardFindings:
    """Correlate every subject and sentinel with people, by language pair and level, and test them."""
    found = CardFindings()
    for one, content in desk.of(JudgedRows):
        if content.human is None:
            reason = Problem(False, f"{one.name} has no human scores (a column human)")
            for subject in desk.subjects:
                found.miss("agreement", subject.name, reason)
            continue
        scored = desk.judged(one, content)
        here = {name: scores for name, scores in scored.items() if isinstance(scores, Scored)}
        for subject in desk.subjects:
            problem = scored[subject.name]
            if isinstance(problem, Problem):
                found.miss("agreement", subject.name, problem)
            else:
                said = [*(f"{one.name}: {note}" for note in one.notes), *problem.notes(f"{one.name}: {subject.name}")]
                found.add("agreement", subject.name, notes=said)
        if any(subject.name in here for subject in desk.subjects):
            for level in ("seg", "sys") if content.system is not None else ("seg",):
                _level(found, desk, one, content, here, level)
            for subject in desk.subjects:
                if subject.name in here:
                    curves = people(content, subject.name, here[subject.name], desk.how["confidence"])
                    rows = [replace(curve, data=one.name).to_dict() for curve in curves]
                    found.add("agreement", subject.name, people=rows)
                    if not subject.column:
                        _shuffle(found, desk, one, content, subject, here[subject.name])
    return found


def _level(
    found: CardFindings, desk: Desk, one: DataSet, content: JudgedRows, here: Mapping[str, Scored], level: str
) -> None:
    result, notes = _evaluated(content, here, level, desk, [name for name in desk.sentinels if name in here])
    where = f"{one.name}, {_LEVELS[level]} level"
    if result is None:
        for subject in desk.subjects:
            if subject.name in here:
                found.add("agreement", subject.name, notes=[f"{where}: {note}" for note in notes])
        return
    for subject in desk.subjects:
        if subject.name not in here:
            continue
        name = subject.name
        rows: list[JsonObject] = []
        tests: list[JsonObject] = []
        against: list[JsonObject] = []
        for group in result.groups:
            if group.find(name) is not None:
                rows.append(_row(result, group, name, one.name, level))
            for into, of in ((tests, group.tests), (against, group.control_tests)):
                for test in of:
                    if test.a == name:
                        into += _test(test, result, one.name, level, group.group)
        if len(result.groups) > 1 and result.average is not None:
            rows += _average(result, result.average[name], one.name, level)
            for into, means in ((tests, result.average.tests), (against, result.average.control_tests)):
                for mean in means:
                    if name in (mean.a, mean.b):
                        into += _average_test(mean, name, result, one.name, level)
        said = [f"{where}: {note}" for note in dict.fromkeys([*notes, *result.notes])]
        found.add("agreement", name, rows=rows, tests=tests, notes=said)
        still = [
            sentinel_row(
                sentinel=CONSTANT,
                data=one.name,
                level=_LEVELS[level],
                group=group.group,
                figure=result.headline,
                value=None,
                metric_value=own.value,
                note="not defined: what is the same everywhere ranks nothing",
            )
            for group in result.groups
            if (own := group.find(name)) is not None
        ]
        reached = _reached(result, name, one.name, level, desk.sentinels)
        found.add("sentinels", name, rows=[*reached, *still], tests=against)


def _reached(result: MetaResult, name: str, data: str, level: str, sentinels: Sequence[str]) -> list[JsonObject]:
    """Return what sentinels reach in the groups where the metric has a figure."""
    return [
        sentinel_row(
            sentinel=sentinel,
            data=data,
            level=_LEVELS[level],
            group=group.group,
            figure=result.headline,
            value=its.value,
            ci=its.ci,
            metric_value=own.value,
        )
        for group in result.groups
        if (own := group.find(name)) is not None
        for sentinel in sentinels
        if (its := group.find(sentinel)) is not None
    ]


def _evaluated(
    content: JudgedRows, here: Mapping[str, Scored], level: str, desk: Desk, sentinels: Sequence[str]
) -> tuple[MetaResult | None, list[str]]:
    """Return the agreement in all groups where it is defined, and notes on the others."""
    notes: list[str] = []
    kept = np.ones(len(content), dtype=bool)
    groups = np.array(content.group, dtype=object)
    systems = content.system is not None
    tested = True
    while kept.any():
        columns: dict[str, object] = {"human": content.human[kept], "lp": [str(g) for g in groups[kept]]}  # type: ignore[index]
        if systems and content.system is not None and content.segment is not None:
            columns["system"] = [content.system[i] for i in np.flatnonzero(kept)]
            columns["segment"] = [content.segment[i] for i in np.flatnonzero(kept)]
        corpus = {}
        for name, scored in here.items():
            columns[name] = _varied(scored.values, groups, kept)[kept]
            if scored.corpus is not None and level == "sys":
                corpus[name] = CorpusScores(scored.corpus.statistics[kept], scored.corpus.score)
        how: MetaOptions = {
            "level": "sys" if level == "sys" else "seg",
            "nan": "omit",
            "resamples": desk.how["resamples"],
            "confidence": desk.how["confidence"],
            "alpha": desk.how["alpha"],
            "seed": desk.how["seed"],
            "correction": "holm" if tested and len(here) - len(sentinels) > 1 else "none",
        }
        if not tested:
            how["test"] = "none"
        try:
            result = meta_evaluate(
                columns,
                metrics=[name for name in here if name not in sentinels],
                sentinels=sentinels,
                human="human",
                group="lp",
                system="system" if systems else None,
                segment="segment" if systems else None,
                corpus=corpus,
                **how,
            )
        except InputError as error:
            message = str(error)
            label = message.removeprefix("group ").partition(":")[0] if message.startswith("group ") else None
            if label not in set(groups[kept].tolist()):
                return None, [*notes, message]
            if systems and level == "seg" and "more than once" in message:
                systems = False  # a system has several rows of a segment: rows are taken one by one
                continue
            if tested and "Williams" in message:
                tested = False
                notes.append(f"not tested: {message.partition(';')[0]}")
                continue
            notes.append(f"left out: {message}")
            kept &= groups != label
        else:
            return result, notes
    return None, notes


def _varied(values: Array, groups: Array, kept: Array) -> Array:
    """Return the values with NaN in groups where all are the same: nothing can be ranked there."""
    found = values.copy()
    for label in set(groups[kept].tolist()):
        inside = groups == label
        there = values[inside][~np.isnan(values[inside])]
        if len(there) and np.ptp(there) == 0:
            found[inside] = np.nan
    return found


def _row(result: MetaResult, group: GroupResult, name: str, data: str, level: str) -> JsonObject:
    own = group[name]
    ranks = group.clusters.ranks if group.clusters is not None else {}
    figures = {key: value for key, value in own.figures.items() if not isinstance(value, tuple)}
    row = AgreementRow(
        data=data,
        level=_LEVELS[level],
        group=group.group,
        n=group.n,
        statistic=result.headline,
        value=own.value,
        ci=own.ci,
        rank=ranks.get(name),
        of=len(ranks) or None,
        others={key: value for key, value in figures.items() if key != result.headline},
        method=own.method,
    )
    known: JsonObject = as_json(row)
    return known


def _average(result: MetaResult, own: AverageAgreement, data: str, level: str) -> list[JsonObject]:
    if own.value != own.value:
        return []
    row = AgreementRow(
        data=data,
        level=_LEVELS[level],
        group="average",
        n=sum(group.n for group in result.groups),
        statistic=result.headline,
        value=own.value,
        ci=own.ci,
        rank=None,
        of=None,
        others={},
        method=f"mean of {len(result.groups)} groups",
    )
    return [as_json(row)]


def _test(test: PairTest, result: MetaResult, data: str, level: str, group: str) -> list[JsonObject]:
    return test_row(
        data=data,
        level=_LEVELS[level],
        group=group,
        figure=result.headline,
        a=test.a,
        b=test.b,
        difference=test.difference,
        ci=test.ci,
        p=test.p_two_sided,
        method=test.method,
    )


def _average_test(test: AverageTest, name: str, result: MetaResult, data: str, level: str) -> list[JsonObject]:
    turned = test.a != name
    sign = -1 if turned else 1
    return test_row(
        data=data,
        level=_LEVELS[level],
        group="average",
        figure=result.headline,
        a=name,
        b=test.a if turned else test.b,
        difference=sign * test.difference,
        ci=(-test.ci[1], -test.ci[0]) if turned else test.ci,
        p=test.p_two_sided,
        method="mean difference over groups, normal",
    )


def _shuffle(
    found: CardFindings, desk: Desk, one: DataSet, content: JudgedRows, subject: Subject, scored: Scored
) -> None:
    """Let the metric score another row's candidate: what is left of its agreement is not about the candidate."""
    texts = content.texts
    if texts.candidates is None:
        return
    order = np.arange(len(content))
    draw = np.random.default_rng(desk.how["seed"])
    for label in dict.fromkeys(content.group):
        rows = np.flatnonzero([group == label for group in content.group])
        order[rows] = _deranged(rows, draw)
    moved = RowTexts([texts.candidates[i] for i in order], texts.references, texts.sources)
    other = desk.lab.score(one.lang, moved, [subject.name])[subject.name]
    if isinstance(other, Problem):
        found.add("sentinels", subject.name, notes=[f"{one.name}: {_SHUFFLED}: {other.reason}"])
        return
    plain = Scored(other.values, other.signature)
    result, notes = _evaluated(content, {subject.name: scored, _SHUFFLED: plain}, "seg", desk, [_SHUFFLED])
    if result is None:
        found.add("sentinels", subject.name, notes=[f"{one.name}: {_SHUFFLED}: {note}" for note in notes])
        return
    reached = _reached(result, subject.name, one.name, "seg", [_SHUFFLED])
    tests = [
        row
        for group in result.groups
        for test in group.control_tests
        for row in _test(test, result, one.name, "seg", group.group)
    ]
    found.add("sentinels", subject.name, rows=reached, tests=tests)


def _deranged(rows: Rows, draw: np.random.Generator) -> Rows:
    """Return the rows in an order in which none stands in its place: one cycle through all, drawn at random."""
    cycle = draw.permutation(rows)
    found = np.empty_like(rows)
    place = {int(row): i for i, row in enumerate(rows)}
    for row, after in zip(cycle, np.roll(cycle, 1), strict=True):
        found[place[int(row)]] = after
    return found
