"""Ensembles: do metrics together do better?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bsx.analysis.report import charts
from bsx.analysis.report.blocks import Block, Cell, Chart, Heading, Notes, Prose, Section
from bsx.analysis.report.cells import NONE, interval, listed, number, percent, plain_table, settings_line, table, text
from bsx.analysis.report.documents import Document
from bsx.analysis.report.scored import contents
from bsx.analysis.report.shapes import Ensemble


def ensembles(documents: Sequence[Document]) -> Section | None:
    """Return the section on ensembles."""
    found = contents(documents, Ensemble)
    if not found:
        return None
    section = Section("ensembles", "Ensembles")
    leads = []
    for name, content in found:
        if len(found) > 1:
            section.blocks.append(Heading(f"{name}: {content.how}"))
        leads.append(_lead(content))
        settings = settings_line(content.settings)
        section.blocks += [Prose(f"Settings: {settings}.")] if settings else []
        section.blocks += _blocks(content)
        section.blocks += [Notes(tuple(content.notes))] if content.notes else []
    section.lead = " ".join(leads)
    return section


def _members(content: Ensemble) -> list[str]:
    return list(dict.fromkeys(member for group in content.groups for member in group.members))


def _lead(content: Ensemble) -> str:
    gain = percent(content.average_gain).text
    members = _members(content)
    if content.average_gain is None:
        return f"The gain of {listed(members)} combined ({content.how}) is not defined."
    more = "more" if content.average_gain >= 0 else "less"
    return (
        f"{listed(members)} combined ({content.how}) agree {gain.removeprefix('-')} {more} with people than the best "
        f"of them alone, on average over {len(content.groups)} group{'s' if len(content.groups) > 1 else ''}."
    )


def _blocks(content: Ensemble) -> list[Block]:
    members = _members(content)
    points = []
    for group in content.groups:
        points += [
            charts.Point(group.group, place, group.members.get(member), None, None, member)
            for place, member in enumerate(members)
        ]
        points.append(charts.Point(group.group, len(members), group.ensemble, None, None, "ensemble"))
    alt = f"{_lead(content)} Each row is a group, with a mark for each member and one for the ensemble."
    spec = charts.intervals(points, alt=alt, axis="correlation with people", series=len(members) + 1, zero=None)
    gains = [charts.Point(group.group, 0, group.gain, *(group.ci or (None, None))) for group in content.groups]
    blocks: list[Block] = [Chart("Members and ensemble", alt, (("", spec),), (*members, "ensemble"))]
    if any(group.ci is not None for group in content.groups):
        gain_alt = f"Gain over the best member by group, with intervals. {_lead(content)}"
        gain_spec = charts.intervals(gains, alt=gain_alt, axis="gain relative to the best member", series=1)
        blocks.append(Chart("Gain over the best member", gain_alt, (("", gain_spec),)))
    rows = []
    for group in content.groups:
        best = max((value for value in group.members.values() if value is not None), default=None)
        cells = [
            number(group.members.get(m), strong=best is not None and group.members.get(m) == best) for m in members
        ]
        rows.append(
            [
                text(group.group),
                number(group.n),
                *cells,
                number(group.ensemble),
                percent(group.gain),
                interval(group.ci, 1, scale=100),
            ]
        )
    heads = ["group", "n", *members, "ensemble", "gain", "interval (%)"]
    ends = interval(content.average_ci, 1, scale=100).text if content.average_ci is not None else ""
    note = f"Bold: the best member. Average gain: {percent(content.average_gain).text} {ends}".rstrip() + "."
    blocks.append(table("Agreement of members and ensemble", heads, rows, note=note))
    weights = _weights(content.weights)
    blocks += [table("Weights", ["member", "weight"], weights)] if weights else []
    tests = [{"group": group.group, **test} for group in content.groups for test in group.tests]
    blocks += [plain_table("Tests against the best member", tests)] if tests else []
    blocks += [plain_table("Training parts", content.folds)] if content.folds else []
    return blocks


def _weights(weights: Any) -> list[list[Cell]]:
    """Return a row a member, whatever the shape in which a rule states its weights."""
    if isinstance(weights, dict):
        return [[text(name), _weight(value)] for name, value in weights.items()]
    if isinstance(weights, list):
        return [[text(place), _weight(value)] for place, value in enumerate(weights, start=1)]
    return []


def _weight(value: Any) -> Cell:
    if value is None:
        return Cell(NONE)
    return number(value) if isinstance(value, int | float) else text(json.dumps(value, ensure_ascii=False))
