"""What interventions look like: which factors a metric reacts to, beside what it needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bsx.analysis.intervene.result import ALPHA, ROUNDING, VIF_LIMIT, Effect, Interventions
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, estimate, listed, no_others, number, p_value, table, text
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
    yield _effects(result)
    said = [f"{note.rstrip('.')}." for note in (*map(worded, result.warnings), *result.notes)] + _left_out(result)
    yield Notes(tuple(said))
    yield _chart(result, finding)
    yield from _differences(result)
    yield _fits(result)
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
        those = listed(values["metrics"])
        return f"{about} ignores case for {those}, as the metric does"
    if name == "edits-unseen":
        those = listed(values["edits"])
        return f"{about} does not see {those}: no score changes, so its regression leaves such edits out"
    if name == "explains-less":
        shares = f"{100 * values['observed']:.0f} % of how {about}'s scores differ as they come and only "
        shares += f"{100 * values['edited']:.0f} % of how they fall under edits"
        return f"the factors explain {shares}: its falls depend on which edit it is more than on the factors here"
    high = ", ".join(f"{factor} {vif:.1f}" for factor, vif in values["vif"].items())
    return f"edits hardly tell factors apart (variance inflation above {VIF_LIMIT:g}: {high})"


def _left_out(result: Interventions) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name, why in result.left_out.items():
        reasons.setdefault(why, []).append(name)
    return [f"left out: {', '.join(names)} ({why})." for why, names in reasons.items()]


def _significant(p: float | None) -> bool:
    return p is not None and p < ALPHA


def _finding(result: Interventions) -> str:
    """Say which factors each metric reacts to, and where that is not what observed texts say."""
    most = max((fit.n_edited for fit in result.fits), default=0)
    if most < FEWEST:
        return f"{most} edited texts are too few to say what a metric reacts to."
    phrases, apart, compared = [], [], False
    for fit in result.fits:
        own = [effect for effect in result.effects if effect.metric == fit.metric]
        strong = sorted((e for e in own if _significant(e.edited_p_adjusted)), key=lambda e: -abs(e.edited or 0.0))
        named = [f"{e.factor} ({e.edited:.2f})" for e in strong]
        phrases.append(f"{fit.metric} reacts to {listed(named) if named else 'no factor significantly'}")
        apart += [_apart(effect) for effect in own if _significant(effect.p_adjusted)]
        compared |= any(effect.p_adjusted is not None for effect in own)
    first = {fit.metric for fit in result.fits[:NAMED]}
    others = any(e.metric in first and not _significant(e.edited_p_adjusted) for e in result.effects)
    end = no_others(others, named=len(phrases) > NAMED)
    said = f"On {most:,} edited {result.base}s, {some(phrases, long=True)}{end}."
    if not compared:
        return said
    if not apart:
        return f"{said} None differs significantly from the coefficient in unedited texts."
    return f"{said} Significantly different in unedited texts: {some(apart, long=True)}."


def _apart(effect: Effect) -> str:
    return f"{effect.metric} {effect.factor} ({effect.observed:.2f}, edited {effect.edited:.2f})"


def _moved(value: float | None, ends: Interval | None, still: str, mark: str = "", decimals: int = 2) -> Cell:
    """Return a coefficient's cell; one that is 0 to rounding says so."""
    if value is not None and ends is not None and max(map(abs, ends)) < ROUNDING:
        return text(still)
    return estimate(value, ends, decimals, mark=mark)


def _level(result: Interventions) -> str:
    return f"{100 * result.confidence:g} % intervals over other sentences like these"


def _differences(result: Interventions) -> Iterator[TablePart]:
    """Yield every coefficient with three decimals, and how far both sides differ."""
    if not any(effect.observed is not None for effect in result.effects):
        return
    results = []
    for effect in result.effects:
        cells = [text(effect.metric), text(effect.factor), estimate(effect.observed, effect.observed_ci)]
        mark = dagger(effect.edited_p_adjusted)
        cells.append(_moved(effect.edited, effect.edited_ci, "nothing moves", mark, 3))
        cells += [_moved(effect.difference, effect.difference_ci, "none", decimals=3), p_value(effect.p_adjusted)]
        results.append(cells)
    heads = ["metric", "factor", "observed", "edited", "difference", "p: the same"]
    yield table(f"Edited less observed coefficients; {_level(result)}", heads, results, names=2, full=True)


def _effects(result: Interventions) -> TablePart:
    seen = any(effect.observed is not None for effect in result.effects)
    results = []
    for effect in result.effects:
        cells = [text(effect.metric), text(effect.factor)]
        cells += [estimate(effect.observed, effect.observed_ci, 2)] if seen else []
        cells.append(_moved(effect.edited, effect.edited_ci, "nothing moves", dagger(effect.edited_p_adjusted)))
        cells += [p_value(effect.p_adjusted)] if seen else []
        results.append(cells)
    edited = max((fit.n_edited for fit in result.fits), default=0)
    observed = max((fit.n_observed for fit in result.fits), default=0)
    counted = f"{observed:,} texts observed, {edited:,} edited" if seen else f"{edited:,} edited texts"
    caption = f"Coefficients: {counted}; {_level(result)}"
    heads = ["metric", "factor", *(["observed"] if seen else []), "edited"]
    heads += ["p: the same"] if seen else []
    unit = "standard deviations of unedited texts" if seen else "root mean squares over the edits"
    note = (
        f"Edited: how far the score falls when an edit lowers the factor, both in {unit}.\n"
        f"†: p < {ALPHA}, {CORRECTED.get(result.correction, result.correction)}."
    )
    note += " Observed: the same among unedited texts. p: both are the same.\n" if seen else "\n"
    note += "surface: the cost of an edit of writing alone, which keeps words and meaning."
    return table(caption, heads, results, note=note, names=2)


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


def _fits(result: Interventions) -> TablePart:
    seen = any(fit.n_observed for fit in result.fits)
    results = []
    for fit in result.fits:
        cells = [text(fit.metric), number(fit.n_edited), number(fit.r2_edited)]
        if seen:
            test = (number(fit.statistic, 2), number(fit.df1), number(fit.df2, 0), p_value(fit.p))
            cells += [number(fit.n_observed), number(fit.r2_observed), *test]
        results.append(cells)
    heads = ["metric", "edited", "R²", *(["observed", "R² observed", "F", "df", "residual df", "p"] if seen else [])]
    note = "p: all coefficients that both have are the same." if seen else ""
    return table("Texts, and how much the factors explain", heads, results, note=note, full=True)


def _edits(result: Interventions) -> TablePart:
    fits = {fit.metric: fit for fit in result.fits}
    metrics = list(fits)
    drops = {(drop.metric, drop.edit): drop for drop in result.drops}
    factors = list(dict.fromkeys(name for edit in result.edits for name in edit.changes))
    results = []
    for edit in result.edits:
        cells = [text(edit.edit), text(edit.aim), text("kept" if edit.preserves else "changed"), number(edit.n)]
        cells += [number(edit.changes.get(name)) for name in factors]
        for metric in metrics:
            drop = drops.get((metric, edit.edit))
            unseen = drop is not None and edit.edit in fits[metric].unseen
            cells.append(text("nothing moves") if unseen else estimate(drop.drop, drop.ci, 2) if drop else number(None))
            cells.append(number(drop.expected if drop else None, 2))
        results.append(cells)
    heads = ["edit", "aims at", "meaning", "texts", *(f"fall of {name}" for name in factors)]
    heads += [head for metric in metrics for head in (f"fall of {metric}", "expected")]
    note = "Falls of scores are in standard deviations; expected: what the edited coefficients make of the factors. "
    note += "What surface edits change of a factor is shown and not counted."
    return table("What the edits move", heads, results, note=note, names=2, full=True)
