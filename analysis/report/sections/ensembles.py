"""Ensembles: do metrics together do better?"""

from __future__ import annotations

from collections.abc import Sequence

from bsx.analysis.documents.base import Number
from bsx.analysis.documents.ensembles import EnsembleDocument
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, interval, listed, number, percent, plain_table, table, text
from bsx.analysis.present.parts import Chart, Part, Section, Surprise
from bsx.analysis.report.documents import Document
from bsx.analysis.report.sections.contents import contents, noted, section_of


def ensembles(documents: Sequence[Document]) -> Section | None:
    """Return the section on ensembles."""
    found = contents(documents, EnsembleDocument)
    section = Section("ensembles", "Ensembles")
    for _, content in found:
        high = None if content.average_ci is None else content.average_ci[1]
        if high is not None and high < 0 and sum(group.n for group in content.groups) >= FEWEST:
            section.surprises.append(Surprise(_lead(content), min(1.0, -(content.average_gain or 0.0))))
    return section_of(
        section, found, lambda content: f"{listed(_members(content))} combined ({content.how})", _lead, _blocks
    )


def _members(content: EnsembleDocument) -> list[str]:
    return list(dict.fromkeys(member for group in content.groups for member in group.members))


def _lead(content: EnsembleDocument) -> str:
    gain = percent(content.average_gain).text
    members = _members(content)
    rows = sum(group.n for group in content.groups)
    if rows < FEWEST:
        return f"{rows} rows are too few to say what {listed(members)} gain together."
    if content.average_gain is None:
        gains = [group.gain for group in content.groups if group.gain is not None]
        return (
            f"{listed(members)} combined ({content.how}) have no average gain: it is undefined in "
            f"{len(content.groups) - len(gains)} of {len(content.groups)} groups, where no member agrees with people. "
            f"It is above 0 in {sum(gain > 0 for gain in gains)} of the others."
        )
    more = "more" if content.average_gain >= 0 else "less"
    several = len(content.groups) > 1
    where = f"on average over {len(content.groups)} groups ({rows:,} rows)" if several else f"on {rows:,} rows"
    return (
        f"{listed(members)} combined ({content.how}) agree {gain.removeprefix('-')} {more} with people than the best "
        f"of them alone, {where}."
    )


def _blocks(content: EnsembleDocument) -> list[Part]:
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
    gains = []
    for group in content.groups:
        low, high = group.ci or (None, None)
        gains.append(charts.Point(group.group, 0, _hundredfold(group.gain), _hundredfold(low), _hundredfold(high)))
    blocks: list[Part] = [Chart("Members and ensemble", alt, (("", spec),), (*members, "ensemble"))]
    if any(group.ci is not None for group in content.groups):
        gain_alt = f"Gain over the best member by group, with intervals. {_lead(content)}"
        gain_spec = charts.intervals(gains, alt=gain_alt, axis="gain over the best member (%)", series=1)
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
    note = "Bold: the best member."
    if content.average_gain is not None:
        ends = interval(content.average_ci, 1, scale=100)
        note += f" Average gain: {percent(content.average_gain).text}"
        note += f" {ends.text}." if ends.value is not None else "."
    blocks.append(table("Agreement of members and ensemble", heads, rows, note=note))
    weights = [[text(name), number(value)] for name, value in content.weights.items()]
    blocks += [table("Weights", ["member", "weight"], weights)] if weights else []
    tests = [{"group": group.group, **test.to_dict()} for group in content.groups for test in group.tests]
    blocks += [plain_table("Tests against the best member", tests)] if tests else []
    blocks += [plain_table("Training parts", [one.to_dict() for one in content.folds])] if content.folds else []
    return [*blocks, *noted(content.notes)]


def _hundredfold(value: Number) -> Number:
    return None if value is None else 100 * value
