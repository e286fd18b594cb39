"""What interventions look like: which factors a metric reacts to, beside what it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from bsx.analysis.intervene.result import ALPHA, ROUNDING, VIF_LIMIT, Edit, Effect, Interventions
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, estimate, listed, no_others, number, p_value, plain_table, table_of, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, TablePart
from bsx.analysis.present.significance import CORRECTED, NAMED, dagger, some
from bsx.support.result import Interval, Notice, as_json

_SIDES = ("observed", "edited")


@presents(Interventions, section=("interventions", "Interventions"))
def parts(result: Interventions) -> Iterator[Part]:
    """Yield what metrics react to, the coefficients, and what every edit moves."""
    finding = _finding(result)
    yield Answer(finding)

    def edited_cell(effect: Effect) -> Cell:
        if effect.edited is not None and max(map(abs, effect.edited_ci or (1.0,))) < ROUNDING:
            return text("nothing moves")
        return estimate(effect.edited, effect.edited_ci, 2, mark=dagger(effect.edited_p_adjusted))

    seen = any(effect.observed is not None for effect in result.effects)
    level = f"{100 * result.confidence:g} % intervals over other sentences like these"
    observed, edited = (max((getattr(fit, f"n_{side}") for fit in result.fits), default=0) for side in _SIDES)
    counted = f"{observed:,} texts observed, {edited:,} edited" if seen else f"{edited:,} edited texts"
    unit = "standard deviations of unedited texts" if seen else "root mean squares over the edits"
    beside = " Observed: the same among unedited texts. p: both are the same." if seen else ""
    yield table_of(
        f"Coefficients: {counted}; {level}",
        result.effects,
        {
            "metric": lambda effect: text(effect.metric),
            "factor": lambda effect: text(effect.factor),
            "observed": (lambda effect: estimate(effect.observed, effect.observed_ci, 2)) if seen else None,
            "edited": edited_cell,
            "p: the same": (lambda effect: p_value(effect.p_adjusted)) if seen else None,
        },
        note=f"Edited: how far the score falls when an edit lowers the factor, both in {unit}.\n"
        f"†: p < {ALPHA}, {CORRECTED.get(result.correction, result.correction)}.{beside}\n"
        "surface: the cost of an edit of writing alone, which keeps words and meaning.",
        names=2,
    )
    reasons: dict[str, list[str]] = {}
    for name, why in result.left_out.items():
        reasons.setdefault(why, []).append(name)
    notes = [f"{note.rstrip('.')}." for note in (*map(worded, result.warnings), *result.notes)]
    yield Notes((*notes, *(f"left out: {', '.join(names)} ({why})." for why, names in reasons.items())))
    yield _chart(result, finding)
    yield plain_table("All coefficients", list(map(vars, result.effects)), names=2, full=True)
    note = "p: all coefficients that both regressions have are the same."
    yield plain_table("Texts, and how much the factors explain", list(map(vars, result.fits)), note=note, full=True)
    yield _edits(result)


@lists(Interventions)
def rows(result: Interventions) -> Iterator[Mapping[str, object]]:
    """Yield a row a metric and factor."""
    for effect in result.effects:
        row = {name: value for name, value in as_json(effect).items() if not name.endswith("_ci")}
        for name in ("observed", "edited", "difference"):
            ends: Interval | None = getattr(effect, f"{name}_ci")
            row |= dict(zip((f"{name}_low", f"{name}_high"), as_json(ends) or (None, None), strict=True))
        yield row


def worded(notice: Notice) -> str:
    """Return a warning about interventions in words."""
    name, about, values = notice.name, notice.about, notice.values
    if name == "not-moved":
        return f"no edit moves {about}, so that it has no edited coefficient"
    if name == "rows-left-out":
        return f"{values['rows']} {about} lack a factor or human score and are left out"
    if name == "meaning-declared":
        meaning = values["meaning"]
        unit = "one unit; meaning sets it" if meaning is None else f"{meaning:g} on the scale of the human score"
        return f"sem is not rated: each edit that changes the meaning counts as {unit}"
    if name == "case-ignored":
        return f"{about} ignores case for {listed(values['metrics'])}, as the metric does"
    if name == "edits-unseen":
        those = listed(values["edits"])
        return f"{about} does not see {those}: no score changes, so its regression leaves such edits out"
    if name == "explains-less":
        shares = f"{100 * values['observed']:.0f} % of how {about}'s scores differ as they come and only "
        shares += f"{100 * values['edited']:.0f} % of how they fall under edits"
        return f"the factors explain {shares}: its falls depend on which edit it is more than on the factors here"
    high = ", ".join(f"{factor} {vif:.1f}" for factor, vif in values["vif"].items())
    return f"edits hardly tell factors apart (variance inflation above {VIF_LIMIT:g}: {high})"


def _significant(p: float | None) -> bool:
    return p is not None and p < ALPHA


def _finding(result: Interventions) -> str:
    """Say which factors each metric reacts to, and where that is not what observed texts say."""
    most = max((fit.n_edited for fit in result.fits), default=0)
    if most < FEWEST:
        return f"{most} edited texts are too few to say what a metric reacts to."
    phrases, different, compared = [], [], False
    for fit in result.fits:
        effects = [effect for effect in result.effects if effect.metric == fit.metric]
        strong = sorted((e for e in effects if _significant(e.edited_p_adjusted)), key=lambda e: -abs(e.edited or 0.0))
        named = [f"{e.factor} ({e.edited:.2f})" for e in strong]
        phrases.append(f"{fit.metric} reacts to {listed(named) if named else 'no factor significantly'}")
        differ = [effect for effect in effects if _significant(effect.p_adjusted)]
        different += [f"{e.metric} {e.factor} ({e.observed:.2f}, edited {e.edited:.2f})" for e in differ]
        compared |= any(effect.p_adjusted is not None for effect in effects)
    first = {fit.metric for fit in result.fits[:NAMED]}
    others = any(e.metric in first and not _significant(e.edited_p_adjusted) for e in result.effects)
    end = no_others(others, named=len(phrases) > NAMED)
    sentence = f"On {most:,} edited {result.base}s, {some(phrases, long=True)}{end}."
    if not compared:
        return sentence
    if not different:
        return f"{sentence} None differs significantly from the coefficient in unedited texts."
    return f"{sentence} Significantly different in unedited texts: {some(different, long=True)}."


def _chart(result: Interventions, finding: str) -> Chart:
    panels = []
    for fit in result.fits:
        points = []
        for effect in result.effects:
            if effect.metric == fit.metric:
                sides = ((effect.observed, effect.observed_ci), (effect.edited, effect.edited_ci))
                points += [
                    charts.Point(effect.factor, place, value, *(ends or (math.nan, math.nan)), _SIDES[place])
                    for place, (value, ends) in enumerate(sides)
                    if value is not None
                ]
        alt = f"Coefficients of each factor in {fit.metric}, as data come and under edits, with intervals."
        panels.append((fit.metric, charts.intervals(points, alt=alt, axis="standardised coefficient", series=2)))
    alt = f"Observed and edited coefficients of each factor, a panel for each metric. {finding}"
    return Chart("What metrics are associated with, and what they react to", alt, tuple(panels), _SIDES)


def _edits(result: Interventions) -> TablePart:
    unseen = {(fit.metric, edit) for fit in result.fits for edit in fit.unseen}
    drops = {(drop.metric, drop.edit): drop for drop in result.drops}

    def moved(factor: str, edit: Edit) -> Cell:
        return number(edit.changes.get(factor))

    def fall(metric: str, edit: Edit) -> Cell:
        if (drop := drops.get((metric, edit.edit))) is None:
            return number(None)
        return text("nothing moves") if (metric, edit.edit) in unseen else estimate(drop.drop, drop.ci, 2)

    def expected(metric: str, edit: Edit) -> Cell:
        drop = drops.get((metric, edit.edit))
        return number(drop.expected if drop else None, 2)

    columns: dict[str, Callable[[Edit], Cell]] = {
        "edit": lambda edit: text(edit.edit),
        "aims at": lambda edit: text(edit.aim),
        "meaning": lambda edit: text("kept" if edit.preserves else "changed"),
        "texts": lambda edit: number(edit.n),
    }
    for factor in dict.fromkeys(name for edit in result.edits for name in edit.changes):
        columns[f"fall of {factor}"] = partial(moved, factor)
    for fit in result.fits:
        columns[f"fall of {fit.metric}"] = partial(fall, fit.metric)
        columns[f"expected of {fit.metric}"] = partial(expected, fit.metric)
    note = "Falls of scores are in standard deviations; expected: what the edited coefficients make of the factors. "
    note += "What surface edits change of a factor is shown and not counted."
    return table_of("What the edits move", result.edits, columns, note=note, names=2, full=True)
