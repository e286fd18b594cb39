"""What plans of studies look like: how much is needed first, then what other sizes can do, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bsx.analysis.plan.result import PlanResult
from bsx.analysis.present import charts
from bsx.analysis.present.cells import decimals, interval, number, percent, table, table_of, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Chart, Notes, Part


@presents(PlanResult, section=("plan", "Plan"))
def parts(result: PlanResult) -> Iterator[Part]:
    """Yield the size that is needed, other sizes beside it, and what all that rests on."""
    answer, chosen = _finding(result), result.settings
    yield Answer(answer)
    alpha = float(chosen.get("alpha", 0.05))
    level, power = f"{100 * (1 - alpha):g} %", f"{100 * float(chosen.get('power', 0.8)):g} %"
    needed, spread, pilot = result.needed, result.spread, result.pilot
    places = 3 if needed.width <= 0 else max(1, min(6, 2 - math.floor(math.log10(needed.width))))  # tell widths apart
    documents = needed.documents is not None
    units_of_pilot = None if pilot is None or pilot.spread != spread else (pilot.documents or pilot.units)
    yield table_of(
        f"What studies of other sizes can do: {_about(result)}, two-sided t test at {alpha:g}",
        result.steps,
        {
            result.units: lambda step: number(
                step.units, strong=step == needed, mark="†" * ((step.documents or step.units) == units_of_pilot)
            ),
            "documents": (lambda step: number(step.documents)) if documents else None,
            "power": lambda step: percent(step.power, strong=step == needed),
            f"width of the {level} interval": lambda step: number(step.width, places),
        },
        note="Bold: the smallest that does what is asked for."
        + (" †: the size of the pilot." if units_of_pilot else ""),
    )
    if pilot is not None:
        heads = [result.units, *(["documents"] if pilot.documents is not None else []), "estimate", f"{level} interval"]
        cells = [number(count) for count in (pilot.units, pilot.documents) if count is not None]
        cells += [number(pilot.estimate, places), interval(pilot.ci, places), number(pilot.detectable, places)]
        caption = f"The pilot: {_about(result)}, n = {pilot.rows:,} rows"
        yield table(caption, [*heads, f"smallest effect found with {power} power"], [cells])
    yield Notes(tuple(_notes(result)))
    counts, title = [step.units for step in result.steps], "Power by size"
    alt = f"{title}, of {counts[0]:,} to {counts[-1]:,} {result.units}. {answer}"
    spec = charts.lines(
        [(float(step.units), 0, step.power, "") for step in result.steps],
        alt=alt,
        x=result.units,
        y="power",
        series=1,
        span=(0.0, 1.0),
        ticks=counts,
        rule=float(needed.units),
    )
    yield Chart(title, alt, (("", spec),))
    rows = [[text("standard deviation of one unit's contribution"), number(spread.sd, decimals([spread.sd]) + 1)]]
    if documents:
        rows.append([text("share of its square that documents make (ICC)"), number(spread.icc)])
        rows.append([text("segments a document"), number(spread.document_size, 1)])
        rows.append([text("the same, documents weighted by size"), number(spread.weighted_size, 1)])
        rows.append([text("design effect of documents"), number(spread.design_effect, 2)])
    yield table("What the variance is made of", ["part", "value"], rows, full=True, sortable=False)


@lists(PlanResult)
def rows(result: PlanResult) -> Iterator[Mapping[str, object]]:
    """Yield a row a size."""
    for step in result.steps:
        row: dict[str, object] = {"design": result.design, result.units: step.units}
        row |= {} if step.documents is None else {"documents": step.documents}
        yield row | {"power": step.power, "width": step.width, "needed": step.units == result.needed.units}


def _about(result: PlanResult) -> str:
    """Return what is estimated."""
    if result.design == "compare":
        between = f" between {result.a} and {result.b}" if result.a else ""
        return f"difference in {result.score}{between}" if result.score else "difference between two systems"
    metrics = f"{result.a} and {result.b}" if result.a else "two metrics"
    return f"difference between the correlations of {metrics} with {result.score or 'human judgments'}"


def _finding(result: PlanResult) -> str:
    needed, chosen = result.needed, result.settings
    answer = f"To find a difference of {result.aim:g} {_about(result).removeprefix('difference ')}"
    answer += f" with {100 * float(chosen.get('power', 0.8)):g} % power, take {needed.units:,} {result.units}"
    answer += "" if needed.documents is None else f" in {needed.documents:,} documents"
    if result.needed_ci is None or result.pilot is None:
        return f"{answer}."
    low, high = result.needed_ci
    answer += f" (95 % interval of that number: {low:,} to {high:,} {result.units})"
    return (
        f"{answer}. The {result.pilot.units:,} {result.units} of the pilot have {100 * result.pilot.power:.0f} % power."
    )


def _notes(result: PlanResult) -> Iterator[str]:
    """Say what is drawn anew and what stays, what is assumed, and what was found on the way."""
    notices = {notice.name: notice.values for notice in result.warnings}
    drawn = f"{result.units} like these"
    if result.needed.documents is not None:
        drawn = f"documents like these, of {result.spread.document_size:.3g} {result.units} each"
    kept = "the two systems" if result.design == "compare" else "the systems"
    if "fixed-systems" in notices:
        kept = f"the {notices['fixed-systems']['systems']} systems"
    yield f"Sampled are {drawn}; {kept} stay the same."
    stated = result.pilot is None
    assumed = "Assumed are variances as stated" if stated else "Assumed are the pilot's variances"
    assumed += ", with normal scores" if result.design == "meta" and stated else ""
    assumed += "" if stated else "; the effect is the one asked for, not the one in the pilot"
    yield f"{assumed}."
    for name, values in notices.items():
        yield {
            "few-documents": "{documents} documents say little about what segments of a document have in common: note "
            "the interval of the number that is needed.",
            "documents-unknown": "{why}. The plan takes segments as independent and is too small if they are not.",
            "heavy": "scores have heavy tails: a correlation varies {weight:.1f} times as much as with normal scores, "
            "which the plan takes from the pilot, and so from few extreme rows.",
            "fixed-systems": "{systems} systems translate every segment: more segments do not stand for more systems.",
        }[name].format(**values)
    for note in result.notes:
        yield f"{note}."
