"""How often people agreed with a metric's differences, between systems and between segments, as curves for a card."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from bsx.analysis.agreement.human_curve import HumanCurve, Level, human_curve
from bsx.errors import InputError
from bsx.jobs.carding.data import JudgedRows
from bsx.jobs.carding.scoring import Scored


def people(content: JudgedRows, name: str, scored: Scored, confidence: float) -> list[HumanCurve]:
    """Return how often people agreed with differences of a metric: pairs of systems, and of segments, by group."""
    return [
        *curves(content, name, scored, "systems", confidence),
        *curves(content, name, scored, "segments", confidence),
    ]


def curves(content: JudgedRows, name: str, scored: Scored, level: Level, confidence: float) -> list[HumanCurve]:
    """Return one curve for all groups, if there are several, and one for each; none where there is no pair."""
    groups = list(dict.fromkeys(content.group))
    parts = [("all", list(range(len(content))))] if len(groups) > 1 else []
    parts += [(g, [i for i, group in enumerate(content.group) if group == g]) for g in groups]
    found = []
    for group, rows in parts:
        # Two items at least, of which people and the metric say something different.
        with contextlib.suppress(InputError):
            found.append(_curve(content, name, scored, group, rows, level, confidence))
    return found


def _curve(
    content: JudgedRows,
    name: str,
    scored: Scored,
    group: str,
    rows: Sequence[int],
    level: Level,
    confidence: float,
) -> HumanCurve:
    human = content.human
    if human is None or (level == "systems" and content.system is None):
        raise InputError("nothing to compare")
    if level == "systems" and content.system is not None:
        values, people_say, within = system_scores(content, scored, rows)
        return human_curve(
            values, people_say, within=within, level=level, metric=name, group=group, confidence=confidence
        )
    lps = [content.group[i] for i in rows]
    units = None
    if content.segment is not None:
        units = [f"{lp}\t{content.segment[i]}" for lp, i in zip(lps, rows, strict=True)]
        if len(set(units)) == len(units):
            units = None
    return human_curve(
        scored.values[list(rows)],
        human[list(rows)],
        of=units,
        within=units if units is not None else lps,
        metric=name,
        group=group,
        confidence=confidence,
    )


def system_scores(
    content: JudgedRows, scored: Scored, rows: Sequence[int]
) -> tuple[list[float], list[float], list[str]]:
    """Return each system's score, people's mean, and its group; on the segments that have both."""
    assert content.system is not None  # noqa: S101 - for the type checker
    assert content.human is not None  # noqa: S101
    by_system: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if scored.values[row] == scored.values[row] and content.human[row] == content.human[row]:
            by_system.setdefault((content.group[row], content.system[row]), []).append(row)
    values, people_say, within = [], [], []
    for (group, _), own in by_system.items():
        corpus = scored.corpus
        values.append(
            float(scored.values[own].mean()) if corpus is None else corpus.score(corpus.statistics[own].sum(axis=0))
        )
        people_say.append(float(content.human[own].mean()))
        within.append(group)
    return values, people_say, within
