"""What plans of studies look like: how much is needed first, then what other sizes can do, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bsx.analysis.planning.result import PlanResult
from bsx.analysis.present import charts
from bsx.analysis.present.cells import decimals, interval, number, percent, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.numbers import figure
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part


@presents(PlanResult, section=("plan", "Plan"))
def parts(result: PlanResult) -> Iterator[Part]:
    """Yield the size that is needed, other sizes beside it, what judgments change, and what all that rests on."""
    said, chosen = _finding(result), result.settings
    yield Answer(said)
    level, power = f"{100 * (1 - _alpha(result)):g} %", f"{100 * float(chosen.get('power', 0.8)):g} %"
    needed, spread, pilot, places = result.needed, result.spread, result.pilot, _decimals(result)
    documents = ["documents"] if needed.documents is not None else []
    heads = [result.units, *documents, *(["judgments"] if needed.judgments is not None else [])]
    heads += [*(["power"] if result.aim is not None else []), f"width of the {level} interval"]
    there = None if pilot is None or pilot.spread != spread else (pilot.documents or pilot.units)
    found = []
    for step in result.steps:
        bold, mark = step == needed, "†" if (step.documents or step.units) == there else ""
        cells: list[Cell] = [number(step.units, strong=bold, mark=mark)]
        cells += [number(count) for count in (step.documents, step.judgments) if count is not None]
        cells += [percent(step.power, strong=bold)] if result.aim is not None else []
        found.append([*cells, number(step.width, places)])
    caption = f"What studies of other sizes can do: {_about(result)}, two-sided t test at {_alpha(result):g}"
    note = "Bold: the smallest that does what is asked for." + (" †: the size of the pilot." if there else "")
    yield table(caption, heads, found, note=note)
    if result.by_judgments:
        found = [
            [
                Cell(name, float(name)),
                *(number(n) for n in (step.units, step.documents, step.judgments) if n is not None),
            ]
            for name, step in result.by_judgments.items()
        ]
        heads = ["judgments of each system's segment", "segments", *documents, "judgments in all"]
        yield table("The same with more or fewer judgments of a segment", heads, found)
    if pilot is not None:
        heads = [result.units, *(["documents"] if pilot.documents is not None else []), "estimate", f"{level} interval"]
        cells = [number(count) for count in (pilot.units, pilot.documents) if count is not None]
        cells += [number(pilot.estimate, places), interval(pilot.ci, places), number(pilot.detectable, places)]
        caption = f"The pilot: {_about(result)}, n = {pilot.rows:,} rows"
        yield table(caption, [*heads, f"smallest effect found with {power} power"], [cells])
    yield Notes(tuple(_notes(result)))
    yield _chart(result, said)
    found = [[text("standard deviation of one unit's contribution"), number(spread.sd, decimals([spread.sd]) + 1)]]
    if documents:
        found.append([text("share of its square that documents make (ICC)"), number(spread.icc)])
        found.append([text("segments a document"), number(spread.document_size, 1)])
        found.append([text("the same, documents weighted by size"), number(spread.weighted_size, 1)])
        found.append([text("design effect of documents"), number(spread.design_effect, 2)])
    if spread.noise is not None:
        found.append([text("share of its square that one judgment's error makes"), number(spread.noise)])
        found.append([text("judgments of each system's segment"), number(spread.judgments, 2)])
    yield table("What the variance is made of", ["part", "value"], found, full=True, sortable=False)


@lists(PlanResult)
def rows(result: PlanResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a size."""
    for step in result.steps:
        row: dict[str, object] = {"design": result.design, result.units: step.units}
        row |= {} if step.documents is None else {"documents": step.documents}
        row |= {} if step.judgments is None else {"judgments": step.judgments}
        yield row | {"power": step.power, "width": step.width, "needed": step.units == result.needed.units}


def _alpha(result: PlanResult) -> float:
    return float(result.settings.get("alpha", 0.05))


def _decimals(result: PlanResult) -> int:
    """Return how many decimals tell widths apart."""
    width = result.needed.width
    return 3 if width <= 0 else max(1, min(6, 2 - math.floor(math.log10(width))))


def _about(result: PlanResult) -> str:
    """Return what is estimated."""
    if result.design == "compare":
        between = f" between {result.a} and {result.b}" if result.a else ""
        return f"difference in {result.score}{between}" if result.score else "difference between two systems"
    metrics = f"{result.a} and {result.b}" if result.a else "two metrics"
    return f"difference between the correlations of {metrics} with {result.score or 'human judgments'}"


def _finding(result: PlanResult) -> str:
    said, chosen, about = "", result.settings, _about(result)
    if result.aim is not None:
        said = f"To find a difference of {result.aim:g} {about.removeprefix('difference ')}"
        said += f" with {100 * float(chosen.get('power', 0.8)):g} % power"
    else:
        width = float(chosen.get("width") or math.nan)
        said = f"For a {100 * (1 - _alpha(result)):g} % interval {width:g} wide (±{width / 2:g}) of the {about}"
    needed = result.needed
    said += f", {'take' if needed.judgments is None else 'have judged'} {needed.units:,} {result.units}"
    said += "" if needed.documents is None else f" in {needed.documents:,} documents"
    said += "" if needed.judgments is None else f", {needed.judgments:,} judgments"
    if result.needed_ci is not None:
        level, (low, high) = f"{100 * float(chosen.get('confidence', 0.95)):g} %", result.needed_ci
        said += f" ({level} interval of that number: {low:,} to {high:,} {result.units})"
    if result.pilot is None:
        return f"{said}."
    there = f"{said}. The {result.pilot.units:,} {result.units} of the pilot"
    if result.aim is None:
        return f"{there} give one {figure(result.pilot.width, _decimals(result))} wide."
    return f"{there} have {100 * result.pilot.power:.0f} % power."


def _notes(result: PlanResult) -> Iterator[str]:
    """Say what is drawn anew and what stays, what is assumed, and what was found on the way."""
    found = {notice.name: notice.values for notice in result.warnings}
    if result.units == "systems":
        yield "Sampled are systems like these, on these segments."
    else:
        drawn = f"{result.units} like these"
        if result.needed.documents is not None:
            drawn = f"documents like these, of {result.spread.document_size:.3g} {result.units} each"
        kept = "the two systems" if result.design == "compare" else "the systems"
        if "fixed-systems" in found:
            kept = f"the {found['fixed-systems']['systems']} systems"
        yield f"Sampled are {drawn}; {kept} stay the same."
    stated = result.pilot is None
    said = "Assumed are variances as stated" if stated else "Assumed are the pilot's variances"
    said += ", and judgments of a segment that err independently" if result.spread.noise is not None else ""
    said += ", with normal scores" if result.design == "meta" and stated else ""
    said += "" if stated or result.aim is None else "; the effect is the one asked for, not the one in the pilot"
    yield f"{said}."
    for name, values in found.items():
        yield {
            "few-documents": "{documents} documents say little about what segments of a document have in common: note "
            "the interval of the number that is needed.",
            "documents-unknown": "{why}. The plan takes segments as independent and is too small if they are not.",
            "noise-unknown": "too few segments have several judgments of one system to tell the error of a judgment: "
            "the plan keeps the pilot's number of judgments.",
            "heavy": "scores have heavy tails: a correlation varies {weight:.1f} times as much as with normal scores, "
            "which the plan takes from the pilot, and so from few extreme rows.",
            "fixed-systems": "{systems} systems translate every segment: more segments do not stand for more systems.",
        }[name].format(**values)
    for note in result.notes:
        yield f"{note}."


def _chart(result: PlanResult, finding: str) -> Chart:
    power, counts = result.aim is not None, [step.units for step in result.steps]
    title = "Power by size" if power else "Width by size"
    alt = f"{title}, of {counts[0]:,} to {counts[-1]:,} {result.units}. {finding}"
    spec = charts.lines(
        [(float(step.units), 0, step.power if power else step.width, "") for step in result.steps],
        alt=alt,
        x=result.units,
        y="power" if power else "width of the interval",
        series=1,
        span=(0.0, 1.0 if power else max(step.width for step in result.steps)),
        ticks=counts,
        rule=float(result.needed.units),
    )
    return Chart(title, alt, (("", spec),))
