"""The step of a card on judged segments: agreement with human judgments, beside what sentinels reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.agreement.evaluate import meta_evaluate
from bsx.analysis.agreement.result import AverageAgreement, AverageTest, GroupResult, MetaResult, PairTest
from bsx.analysis.agreement.rows import CorpusScores
from bsx.analysis.cards.result import AgreementRow
from bsx.analysis.stats.folds import Rows
from bsx.errors import InputError
from bsx.jobs.cards.data import DataSet, JudgedRows, SegmentTexts
from bsx.jobs.cards.inputs import CONSTANT, CardFindings, CardInputs, Subject, sentinel_row, test_row
from bsx.jobs.cards.scoring import Problem, Scored
from bsx.support.checks import FEWEST_ITEMS, Array
from bsx.support.result import as_json
from bsx.support.untyped import JsonObject, Settings

_LEVELS = {"seg": "segment", "sys": "system"}
_ITEMS = {"seg": "rows", "sys": "systems"}
_SHUFFLED = "shuffled candidates"


def measure_agreement(inputs: CardInputs) -> CardFindings:
    """Correlate every subject and sentinel with human judgments, by language pair and level, and test them."""
    findings = CardFindings()
    for data, content in inputs.tables(JudgedRows):
        if content.human is None:
            reason = Problem(False, f"{data.name} has no human scores (a column human)")
            for subject in inputs.subjects:
                findings.miss("agreement", subject.name, reason)
            continue
        scored = inputs.judged(data, content)
        here = {name: scores for name, scores in scored.items() if isinstance(scores, Scored)}
        for subject in inputs.subjects:
            problem = scored[subject.name]
            if isinstance(problem, Problem):
                findings.miss("agreement", subject.name, problem)
            else:
                said = [
                    *(f"{data.name}: {note}" for note in data.notes),
                    *problem.notes(f"{data.name}: {subject.name}"),
                ]
                findings.add("agreement", subject.name, notes=said)
        if any(subject.name in here for subject in inputs.subjects):
            for level in ("seg", "sys") if content.system is not None else ("seg",):
                _level(findings, inputs, data, content, here, level)
            for subject in inputs.subjects:
                if subject.name in here and not subject.column:
                    _shuffle(findings, inputs, data, content, subject, here[subject.name])
    return findings


def _level(
    findings: CardFindings,
    inputs: CardInputs,
    data: DataSet,
    content: JudgedRows,
    here: Mapping[str, Scored],
    level: str,
) -> None:
    result, notes = _evaluated(content, here, level, inputs, [name for name in inputs.sentinels if name in here])
    where = f"{data.name}, {_LEVELS[level]} level"
    if result is None:
        for subject in inputs.subjects:
            if subject.name in here:
                findings.add("agreement", subject.name, notes=[f"{where}: {note}" for note in notes])
        return
    for subject in inputs.subjects:
        if subject.name not in here:
            continue
        name = subject.name
        rows: list[JsonObject] = []
        tests: list[JsonObject] = []
        against: list[JsonObject] = []
        for group in result.groups:
            if group.find(name) is not None:
                rows.append(_row(result, group, name, data.name, level, content))
            for into, of in ((tests, group.tests), (against, group.control_tests)):
                for test in of:
                    if test.a == name:
                        into += _test(test, result, data.name, level, group.group)
        if len(result.groups) > 1 and result.average is not None:
            rows += _average(result, result.average[name], data.name, level, content)
            for into, means in ((tests, result.average.tests), (against, result.average.control_tests)):
                for mean in means:
                    if name in (mean.a, mean.b):
                        into += _average_test(mean, name, result, data.name, level)
        said = [f"{where}: {note}" for note in dict.fromkeys([*notes, *result.notes])]
        findings.add("agreement", name, rows=rows, tests=tests, notes=said)
        still = [
            sentinel_row(
                sentinel=CONSTANT,
                data=data.name,
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
        reached = _reached(result, name, data.name, level, inputs.sentinels)
        findings.add("sentinels", name, rows=[*reached, *still], tests=against)


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
    content: JudgedRows, here: Mapping[str, Scored], level: str, inputs: CardInputs, sentinels: Sequence[str]
) -> tuple[MetaResult | None, list[str]]:
    """Return the agreement in all groups where it is defined, and notes on the others."""
    groups = np.array(content.group, dtype=object)
    kept, notes = _enough(content, here, level)
    systems = content.system is not None
    if systems and level == "seg":  # a group of one system is of rows
        systems = all(_items(content, kept & (groups == label), "sys") > 1 for label in set(groups[kept].tolist()))
    documents, tested = content.document is not None, True
    while kept.any():
        columns: dict[str, object] = {"human": content.human[kept], "lp": [str(g) for g in groups[kept]]}  # type: ignore[index]
        if systems and content.system is not None:
            columns["system"] = [content.system[i] for i in np.flatnonzero(kept)]
        if content.segment is not None:
            columns["segment"] = [content.segment[i] for i in np.flatnonzero(kept)]
        if documents and content.document is not None:
            columns["document"] = [content.document[i] for i in np.flatnonzero(kept)]
        corpus = {}
        for name, scored in here.items():
            columns[name] = _varied(scored.values, groups, kept)[kept]
            if scored.corpus is not None and level == "sys":
                corpus[name] = CorpusScores(scored.corpus.statistics[kept], scored.corpus.score)
        how: Settings = {
            "level": "sys" if level == "sys" else "seg",
            "nan": "omit",
            "resamples": inputs.settings.resamples,
            "confidence": inputs.settings.confidence,
            "alpha": inputs.settings.alpha,
            "seed": inputs.settings.seed,
            "correction": "holm" if tested and len(here) - len(sentinels) > 1 else "none",
        }
        if not tested:
            how["test"] = "none"
        if "document" in columns:
            how["document"] = "document"
        try:
            result = meta_evaluate(
                columns,
                [name for name in here if name not in sentinels],
                "human",
                sentinels=sentinels,
                group="lp",
                system="system" if systems else None,
                segment="segment" if "segment" in columns else None,
                corpus=corpus,
                **how,
            )
        except InputError as error:
            message = str(error)
            if documents and "document" in message:  # its segments are in several, or something else is odd
                documents = False
                notes.append(f"documents are not drawn whole: {message}")
                continue
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


def _enough(content: JudgedRows, here: Mapping[str, Scored], level: str) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the rows of groups with enough items for a figure, and what is said of the others."""
    kept = np.ones(len(content), dtype=bool)
    assert content.human is not None  # noqa: S101 - for the type checker
    full = ~np.isnan(content.human) & ~np.all([np.isnan(scored.values) for scored in here.values()], axis=0)
    notes = []
    for label in dict.fromkeys(content.group):
        inside = np.array([group == label for group in content.group])
        n = _items(content, inside & full, level)
        if n < FEWEST_ITEMS:
            kept &= ~inside
            what = _ITEMS[level].removesuffix("s" * (n == 1))
            notes.append(f"left out: {label}: {n} {what}; a card has no figure of fewer than {FEWEST_ITEMS}")
    return kept, notes


def _items(content: JudgedRows, rows: NDArray[np.bool_], level: str) -> int:
    """Return how many items rows are: systems at their level, else rows."""
    if level == "sys" and content.system is not None:
        return len({content.system[i] for i in np.flatnonzero(rows)})
    return int(rows.sum())


def _varied(values: Array, groups: Array, kept: NDArray[np.bool_]) -> Array:
    """Return the values with NaN in groups where all are the same: nothing can be ranked there."""
    findings = values.copy()
    for label in set(groups[kept].tolist()):
        inside = groups == label
        there = values[inside][~np.isnan(values[inside])]
        if len(there) and np.ptp(there) == 0:
            findings[inside] = np.nan
    return findings


def _row(result: MetaResult, group: GroupResult, name: str, data: str, level: str, content: JudgedRows) -> JsonObject:
    own = group[name]
    ranks = group.clusters.ranks if group.clusters is not None else {}
    figures = {key: value for key, value in own.figures.items() if not isinstance(value, tuple)}
    row = AgreementRow(
        data=data,
        level=_LEVELS[level],
        group=group.group,
        n=_of_group(content, group, level),
        items=_ITEMS[level],
        sampled=_sampled(result, content),
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


def _of_group(content: JudgedRows, group: GroupResult, level: str) -> int:
    """Return how many items a group's figures rest on."""
    if level == "seg" or content.human is None:
        return group.n
    return _items(content, np.array([g == group.group for g in content.group]) & ~np.isnan(content.human), level)


def _sampled(result: MetaResult, content: JudgedRows) -> str:
    """Return what intervals and tests speak about; documents stand for their segments where they are drawn."""
    if content.document is None or "document" not in result.settings:
        return result.target
    return result.target if "document" in result.target else result.target.replace("segments", "documents")


def _average(result: MetaResult, own: AverageAgreement, data: str, level: str, content: JudgedRows) -> list[JsonObject]:
    if own.value != own.value:
        return []
    row = AgreementRow(
        data=data,
        level=_LEVELS[level],
        group="average",
        n=sum(_of_group(content, group, level) for group in result.groups),
        items=_ITEMS[level],
        sampled=_sampled(result, content),
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
    findings: CardFindings, inputs: CardInputs, data: DataSet, content: JudgedRows, subject: Subject, scored: Scored
) -> None:
    """Let the metric score another row's candidate: what is left of its agreement is not about the candidate."""
    texts = content.texts
    if texts.candidates is None:
        return
    order = np.arange(len(content))
    draw = np.random.default_rng(inputs.settings.seed)
    for label in dict.fromkeys(content.group):
        rows = np.flatnonzero([group == label for group in content.group])
        order[rows] = _deranged(rows, draw)
    moved = SegmentTexts([texts.candidates[i] for i in order], texts.references, texts.sources)
    other = inputs.metrics.score(data.lang, moved, [subject.name])[subject.name]
    if isinstance(other, Problem):
        findings.add("sentinels", subject.name, notes=[f"{data.name}: {_SHUFFLED}: {other.reason}"])
        return
    plain = Scored(other.values, other.signature)
    result, notes = _evaluated(content, {subject.name: scored, _SHUFFLED: plain}, "seg", inputs, [_SHUFFLED])
    if result is None:
        findings.add("sentinels", subject.name, notes=[f"{data.name}: {_SHUFFLED}: {note}" for note in notes])
        return
    reached = _reached(result, subject.name, data.name, "seg", [_SHUFFLED])
    tests = [
        row
        for group in result.groups
        for test in group.control_tests
        for row in _test(test, result, data.name, "seg", group.group)
    ]
    findings.add("sentinels", subject.name, rows=reached, tests=tests)


def _deranged(rows: Rows, draw: np.random.Generator) -> Rows:
    """Return the rows in an order in which none stands in its place: one cycle through all, drawn at random."""
    cycle = draw.permutation(rows)
    findings = np.empty_like(rows)
    place = {int(row): i for i, row in enumerate(rows)}
    for row, after in zip(cycle, np.roll(cycle, 1), strict=True):
        findings[place[int(row)]] = after
    return findings
