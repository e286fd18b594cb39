"""What plans of studies look like: how much is needed first, then what other sizes can do, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bsx.analysis.planning.result import Pilot, PlanResult, PlanStep
from bsx.analysis.present import charts
from bsx.analysis.present.cells import decimals, interval, number, percent, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.numbers import figure
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, TablePart
from bsx.support.result import Notice


@presents(PlanResult, section=("plan", "Plan"))
def parts(result: PlanResult) -> Iterator[Part]:
    """Yield the size that is needed, other sizes beside it, what judgments change, and what all that rests on."""
    yield Answer(_finding(result))
    yield _steps(result)
    if result.by_judgments:
        yield _judgments(result)
    if result.pilot is not None:
        yield _pilot(result, result.pilot)
    said = [_sampled(result), _assumed(result), *(_worded(result, notice) for notice in result.warnings)]
    yield Notes((*said, *(f"{note}." for note in result.notes)))
    yield _chart(result)
    yield _variance(result)


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


def _level(result: PlanResult) -> str:
    return f"{100 * (1 - _alpha(result)):g} %"


def _about(result: PlanResult) -> str:
    """Return what is estimated."""
    between = f" between {result.a} and {result.b}" if result.a else ""
    if result.design == "compare":
        return f"difference in {result.score}{between}" if result.score else "difference between two systems"
    if result.design == "meta":
        metrics = f"{result.a} and {result.b}" if result.a else "two metrics"
        return f"difference between the correlations of {metrics} with {result.score or 'human judgments'}"
    return f"coefficient of {result.b} in {result.a}" if result.a else "standardised coefficient"


def _aim(result: PlanResult) -> str:
    if result.aim is not None:
        noun, of = _about(result).split(" ", 1) if " " in _about(result) else (_about(result), "")
        if result.design == "disentangle" and not result.a:
            return f"To find a standardised coefficient of {result.aim:g}"
        return f"To find a {noun} of {result.aim:g} {of}"
    width = float(result.settings.get("width") or math.nan)
    return f"For a {_level(result)} interval {width:g} wide (±{width / 2:g}) of the {_about(result)}"


def _size(result: PlanResult, step: PlanStep) -> str:
    """Return the size of a study in words."""
    said = f"{step.units:,} {result.units}"
    said += "" if step.documents is None else f" in {step.documents:,} documents"
    return said if step.judgments is None else f"{said}, {step.judgments:,} judgments"


def _finding(result: PlanResult) -> str:
    said = _aim(result)
    if result.aim is not None:
        said += f" with {100 * float(result.settings.get('power', 0.8)):g} % power"
    ends = result.needed_ci
    level = f"{100 * float(result.settings.get('confidence', 0.95)):g} %"
    sure = "" if ends is None else f" ({level} interval of that number: {ends[0]:,} to {ends[1]:,} {result.units})"
    verb = "take" if result.needed.judgments is None else "have judged"
    said += f", {verb} {_size(result, result.needed)}{sure}."
    pilot = result.pilot
    if pilot is None:
        return said
    there = f"The {pilot.units:,} {result.units} of the pilot"
    if result.aim is None:
        return f"{said} {there} give one {_figure(result, pilot.width)} wide."
    return f"{said} {there} have {100 * pilot.power:.0f} % power."


def _figure(result: PlanResult, value: float) -> str:
    return figure(value, _decimals(result))


def _decimals(result: PlanResult) -> int:
    """Return how many decimals tell widths apart."""
    width = result.needed.width
    return 3 if width <= 0 else max(1, min(6, 2 - math.floor(math.log10(width))))


def _steps(result: PlanResult) -> TablePart:
    first = result.steps[0]
    heads: list[str] = [result.units]
    heads += ["documents"] if first.documents is not None else []
    heads += ["judgments"] if first.judgments is not None else []
    heads += ["power"] if result.aim is not None else []
    heads.append(f"width of the {_level(result)} interval")
    pilot = result.pilot
    there = None if pilot is None or pilot.spread != result.spread else (pilot.documents or pilot.units)
    found = []
    for step in result.steps:
        needed = step == result.needed
        cells: list[Cell] = [
            number(step.units, strong=needed, mark="†" if (step.documents or step.units) == there else "")
        ]
        cells += [number(step.documents)] if step.documents is not None else []
        cells += [number(step.judgments)] if step.judgments is not None else []
        cells += [percent(step.power, strong=needed)] if result.aim is not None else []
        found.append([*cells, number(step.width, _decimals(result))])
    caption = f"What studies of other sizes can do: {_about(result)}, two-sided t test at {_alpha(result):g}"
    note = "Bold: the smallest that does what is asked for." + (" †: the size of the pilot." if there else "")
    return table(caption, heads, found, note=note)


def _judgments(result: PlanResult) -> TablePart:
    heads = ["judgments of each system's segment", "segments"]
    heads += ["documents"] if result.needed.documents is not None else []
    found = []
    for name, step in result.by_judgments.items():
        cells = [Cell(name, float(name)), number(step.units)]
        cells += [number(step.documents)] if step.documents is not None else []
        found.append([*cells, number(step.judgments)])
    return table("The same with more or fewer judgments of a segment", [*heads, "judgments in all"], found)


def _pilot(result: PlanResult, pilot: Pilot) -> TablePart:
    power = f"{100 * float(result.settings.get('power', 0.8)):g} %"
    places = _decimals(result)
    cells = [
        number(pilot.units),
        *([number(pilot.documents)] if pilot.documents is not None else []),
        number(pilot.estimate, places),
        interval(pilot.ci, places),
        number(pilot.detectable, places),
    ]
    heads = [
        result.units,
        *(["documents"] if pilot.documents is not None else []),
        "estimate",
        f"{_level(result)} interval",
        f"smallest effect found with {power} power",
    ]
    return table(f"The pilot: {_about(result)}, n = {pilot.rows:,} rows", heads, [cells])


def _sampled(result: PlanResult) -> str:
    """Say what is drawn anew, and what stays."""
    if result.units == "systems":
        return "Sampled are systems like these, on these segments."
    unit = "rows" if result.units == "rows" else "segments"
    drawn = f"documents like these, of {result.spread.document_size:.3g} {unit} each" if _clustered(result) else unit
    kept = "the two systems stay the same" if result.design == "compare" else "the systems stay the same"
    fixed = next((item.values["systems"] for item in result.warnings if item.name == "fixed-systems"), None)
    if fixed is not None:
        kept = f"the {fixed} systems stay the same"
    return f"Sampled are {drawn}{'' if _clustered(result) else ' like these'}; {kept}."


def _clustered(result: PlanResult) -> bool:
    return result.needed.documents is not None


def _assumed(result: PlanResult) -> str:
    source = "stated" if result.pilot is None else "the pilot's"
    said = f"Assumed are variances as {source}" if result.pilot is None else "Assumed are the pilot's variances"
    if result.spread.noise is not None:
        said += ", and judgments of a segment that err independently"
    if result.design == "meta" and result.pilot is None:
        said += ", with normal scores"
    asked = result.pilot is not None and result.aim is not None
    return f"{said}; the effect is the one asked for, not the one in the pilot." if asked else f"{said}."


def _worded(result: PlanResult, notice: Notice) -> str:
    values = notice.values
    if notice.name == "few-documents":
        return (
            f"{values['documents']} documents say little about what segments of a document have in common: note the "
            "interval of the number that is needed."
        )
    if notice.name == "documents-unknown":
        return f"{values['why']}. The plan takes segments as independent and is too small if they are not."
    if notice.name == "noise-unknown":
        return (
            "too few segments have several judgments of one system to tell the error of a judgment: the plan keeps "
            "the pilot's number of judgments."
        )
    if notice.name == "heavy":
        return (
            f"scores have heavy tails: a correlation varies {values['weight']:.1f} times as much as with normal "
            "scores, which the plan takes from the pilot, and so from few extreme rows."
        )
    return f"{values['systems']} systems translate every segment: more segments do not stand for more systems."


def _chart(result: PlanResult) -> Chart:
    power = result.aim is not None
    points = [(float(step.units), 0, step.power if power else step.width, "") for step in result.steps]
    top = 1.0 if power else max(step.width for step in result.steps)
    counts = [step.units for step in result.steps]
    title = "Power by size" if power else "Width by size"
    axis = "power" if power else "width of the interval"
    alt = f"{title}, of {counts[0]:,} to {counts[-1]:,} {result.units}. {_finding(result)}"
    spec = charts.lines(
        points,
        alt=alt,
        x=result.units,
        y=axis,
        series=1,
        span=(0.0, top),
        ticks=counts,
        rule=float(result.needed.units),
    )
    return Chart(title, alt, (("", spec),))


def _variance(result: PlanResult) -> TablePart:
    """Return what the variance is made of."""
    spread = result.spread
    found = [[text("standard deviation of one unit's contribution"), number(spread.sd, decimals([spread.sd]) + 1)]]
    if _clustered(result):
        found.append([text("share of its square that documents make (ICC)"), number(spread.icc)])
        found.append([text("segments a document"), number(spread.document_size, 1)])
        found.append([text("the same, documents weighted by size"), number(spread.weighted_size, 1)])
        found.append([text("design effect of documents"), number(spread.design_effect, 2)])
    if spread.noise is not None:
        found.append([text("share of its square that one judgment's error makes"), number(spread.noise)])
        found.append([text("judgments of each system's segment"), number(spread.judgments, 2)])
    return table("What the variance is made of", ["part", "value"], found, full=True, sortable=False)
