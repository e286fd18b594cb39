"""How large a study must be: of two systems, of two metrics' correlations, or of one coefficient.

Every estimate is, nearly, a mean of what each segment contributes (its influence), so that its squared standard error
is a variance over the number of segments. A pilot, or stated figures, give that variance; what segments of a document
have in common, and what one judgment's error adds, are parts of it that a study of another make-up changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.planning.power import (
    components,
    curve,
    detectable,
    interval_of_needed,
    moments,
    power_of,
    refuse_few,
    resampled,
    sizes,
    smallest,
    width_of,
)
from bsx.analysis.planning.result import Pilot, PlanResult, PlanStep, Spread, Units
from bsx.analysis.planning.settings import ComparePlan, DisentanglePlan, MetaPlan, PilotColumns, PlanSettings
from bsx.analysis.stats.correlation import HEAVY_TAILS, tail_weight
from bsx.analysis.stats.regression import refuse_collinear, require_rows
from bsx.analysis.stats.resample import Clustered, cluster_codes, drawn_units
from bsx.analysis.stats.rowwise import clip_variance
from bsx.analysis.stats.significance import williams_from_correlations
from bsx.data.columns import Labels, TableLike, numeric_columns, standardised
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Notice
from bsx.support.settings import settled

JUDGMENTS = (1, 2, 3, 5)
"""Judgments of a system's segment that studies are listed for."""
FEW_DOCUMENTS = 20
"""Documents below which a pilot says little about what segments of a document have in common."""


@dataclass(frozen=True)
class _Contributions:
    """What each unit of a pilot contributes to the estimate.

    Attributes:
        values: the estimate is their mean (units,).
        documents: of each unit (units,), or None.
        rows: of the table.
        noise: variance that the error of its judgments adds to each value (units,).
        single: the same of one judgment of each system; 0 where it is not known.
        judged_twice: share of systems' segments with several judgments; None where judgments are not planned.
        lost: degrees of freedom that are not left.
        warnings: what was found on the way.
    """

    values: Array
    documents: Clustered
    rows: int
    noise: Array
    single: float = 0.0
    judged_twice: float | None = None
    lost: int = 1
    warnings: tuple[Notice, ...] = ()


@settled(ComparePlan)
def plan_compare(table: TableLike | None, settings: ComparePlan) -> PlanResult:
    """Plan a comparison of two systems, by a metric's scores or by human judgments of the same segments.

    The variance of the systems' differences has three parts: what the segments of a document have in common, what
    segments differ in beside that, and the error of single judgments, which rows that repeat a system and a segment
    show.

    >>> plan = plan_compare(None, effect=0.5, sd=1)
    >>> plan.needed.units, round(plan.needed.power, 3)
    (34, 0.808)

    Args:
        table: a pilot: a row a system and segment, or several where a segment has several judgments; None plans from
            ``sd``, ``icc`` and ``noise``.
        settings: see `ComparePlan`.

    Returns:
        The smallest study, others beside it, and what they rest on.

    Raises:
        UnknownNameError: for a missing column or system.
        InputError: for a pilot that is too small, or settings that do not go together.
    """
    _refuse_aimless(settings)
    if table is None:
        _refuse_missing(settings.sd, "sd", "the standard deviation of the systems' difference on a segment")
        judgments = None if settings.noise is None and settings.judgments is None else float(settings.judgments or 1)
        if settings.judgments is not None and settings.noise is None:
            raise InputError("judgments: without noise, the share of sd squared that one judgment's error makes, more")
        noise = settings.noise
        return _stated(settings, _spread(settings, float(settings.sd or 0), noise, judgments), "compare", "segments", 1)
    _refuse_stated(settings, "sd", "icc", "noise")
    (score,) = _named(settings, 1)
    pair, contributed = _paired(table, score, settings)
    return _planned(settings, contributed, "compare", "segments", pair, score)


@settled(MetaPlan)
def plan_meta(table: TableLike | None, settings: MetaPlan) -> PlanResult:
    """Plan a comparison of two metrics by their Pearson correlations with human judgments.

    Segments are counted; the systems that translate them stay the same. At the level sys, systems are counted.

    Source: Steiger & Hakstian 1982 for the influence of a row on a correlation, from a pilot; Olkin & Siotani 1976 for
    the variance of the difference where the three correlations are stated and scores are normal.

    >>> plan = plan_meta(None, correlations=[0.5, 0.4, 0.6])
    >>> plan.needed.units, round(plan.needed.power, 3)
    (478, 0.8)

    Args:
        table: a pilot with both metrics' and human scores; None plans from ``correlations``.
        settings: see `MetaPlan`.

    Returns:
        The smallest study, others beside it, and what they rest on.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for a pilot that is too small, or settings that do not go together.
    """
    if table is None:
        return _stated_correlations(settings)
    _refuse_aimless(settings)
    _refuse_stated(settings, "icc", "correlations")
    a, b = _named(settings, 2)
    if settings.human is None:
        raise InputError("human: names the column of human scores", setting="human")
    if settings.human in (a, b):
        raise InputError(f"the column {settings.human!r} is named twice")
    for name in settings.lower:
        if name not in (a, b):
            raise InputError(f"lower: {name!r} is none of the columns of scores ({a}, {b})", setting="lower")
    contributed = _difference(table, a, b, settings.human, settings)
    units: Units = "systems" if settings.level == "sys" else "rows" if settings.segment is None else "segments"
    return _planned(settings, contributed, "meta", units, (a, b), settings.human)


@settled(DisentanglePlan)
def plan_disentangle(table: TableLike | None, settings: DisentanglePlan) -> PlanResult:
    """Plan a regression of a metric on factors, for one standardised coefficient.

    Source: MacKinnon & White 1985 for the influence of a row, with its leverage, as in HC3.

    >>> plan = plan_disentangle(None, effect=0.1, r2=0.3, vif=1.5)
    >>> plan.needed.units, round(plan.needed.power, 3)
    (827, 0.8)

    Args:
        table: a pilot with the metric and all factors; None plans from ``r2`` and ``vif``.
        settings: see `DisentanglePlan`.

    Returns:
        The smallest study, others beside it, and what they rest on.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for a pilot that is too small, or settings that do not go together.
    """
    _refuse_aimless(settings)
    if table is None:
        _refuse_missing(settings.r2, "r2", "the R² of the regression")
        sd = math.sqrt((1 - float(settings.r2 or 0)) * (settings.vif or 1.0))
        lost = max(1, len(settings.factor_columns))
        return _stated(settings, _spread(settings, sd), "disentangle", "rows", lost)
    _refuse_stated(settings, "icc", "r2", "vif")
    (metric,) = _named(settings, 1)
    factors = list(settings.factor_columns)
    if settings.factor is None or settings.factor not in factors:
        there = ", ".join(factors) or "none are named: factor_columns"
        unknown = "" if settings.factor is None else f"{settings.factor!r}: "
        raise InputError(f"factor: {unknown}name the one to plan for, of the factors ({there})")
    if metric in factors:
        raise InputError(f"column {metric!r} is named twice among metrics and factors")
    contributed = _coefficient(table, metric, factors, settings)
    units: Units = "rows" if settings.segment is None else "segments"
    return _planned(settings, contributed, "disentangle", units, (metric, settings.factor), "")


def _stated_correlations(settings: MetaPlan) -> PlanResult:
    try:
        stated = [float(r) for r in settings.correlations]
    except ValueError:
        stated = []
    if len(stated) != 3:
        raise InputError(
            "correlations: without a pilot, state three: of A and of B with human scores, and of A with B (.5,.45,.7)",
            setting="correlations",
        )
    a, b, between = stated
    williams_from_correlations(a, b, between, 100)  # which refuses correlations that cannot occur together
    if settings.effect is not None and abs(settings.effect - abs(a - b)) > 1e-9:
        raise InputError(f"effect: the correlations differ by {abs(a - b):g}: leave it out", setting="effect")
    if settings.width is None and a == b:
        raise InputError("correlations: both metrics have the same: there is no difference to find")
    if settings.width is None:
        settings = settings.model_copy(update={"effect": abs(a - b)})
    shared = between * (1 - a * a - b * b) - a * b / 2 * (1 - a * a - b * b - between * between)
    first, second = (1 - a * a) ** 2, (1 - b * b) ** 2
    variance = float(clip_variance(first + second - 2 * shared, first + second + 2 * abs(shared)))
    if variance == 0:
        raise InputError(
            "correlations: with these, both metrics are the same: there is no difference to plan for",
            setting="correlations",
        )
    units: Units = "systems" if settings.level == "sys" else "segments"
    return _stated(settings, _spread(settings, math.sqrt(variance)), "meta", units, 3)


def _spread(settings: PlanSettings, sd: float, noise: float | None = None, judgments: float | None = None) -> Spread:
    """Return the spread that is stated."""
    size = settings.document_size or 1.0
    if settings.icc is not None and settings.document_size is None:
        raise InputError("document_size: icc needs to know how many segments a document has", setting="document_size")
    return Spread(sd, settings.icc or 0.0, noise, size, size, judgments)


def _stated(settings: PlanSettings, spread: Spread, design: str, units: Units, lost: int) -> PlanResult:
    clustered = settings.document_size is not None
    needed = smallest(spread, clustered, lost, settings)
    return _plan(settings, design, ("", ""), "", units, spread, needed, lost)


def _planned(
    settings: ComparePlan | MetaPlan | DisentanglePlan,
    pilot: _Contributions,
    design: str,
    units: Units,
    pair: tuple[str, str],
    score: str,
) -> PlanResult:
    """Plan from what the units of a pilot contribute."""
    documents, values = pilot.documents, pilot.values
    clustered, n = documents is not None, len(values)
    drawn = drawn_units(n, documents)
    refuse_few(drawn, "documents" if clustered else units, "state variances instead of a table")
    if documents is not None:
        mean_size, weighted = sizes(documents)
    else:
        mean_size, weighted = 1.0, 1.0
    total, shared, noise = (float(part[0]) for part in components(moments(values, pilot.noise, documents)))
    if total <= 0:
        raise InputError("the pilot has no variance: every segment says the same, and nothing can be planned from it")
    judging = pilot.judged_twice is not None
    each = round(pilot.single / noise, 9) if noise > 0 else 1.0
    single = total - noise + pilot.single if total > noise else pilot.single
    own = Spread(
        math.sqrt(single),
        min(1.0, shared / single),
        min(1.0, pilot.single / single) if judging else None,
        mean_size,
        weighted,
        each if judging else None,
    )
    judgments = getattr(settings, "judgments", None)
    if judgments is not None and not judging:
        raise InputError(
            "judgments: no system's segment has two judgments in the pilot, so what more of them would bring is not "
            "known: leave it out",
            setting="judgments",
        )
    size = settings.document_size
    if size is not None and not clustered:
        raise InputError("document_size: the pilot has no documents: name their column with document")
    spread = replace(own, **({"document_size": size, "weighted_size": size} if size is not None else {}))
    if judging:
        spread = replace(spread, judgments=float(judgments) if judgments is not None else each)

    def of(total: Array, shared: Array, noise: Array) -> Array:
        judged = pilot.single / spread.judgments if spread.judgments else noise  # by as many as are planned
        alone = total - noise + judged
        result: Array = np.maximum(alone, 0.0) + (spread.weighted_size - 1) * shared
        return result

    needed = smallest(spread, clustered, pilot.lost, settings)
    ends = interval_of_needed(
        needed, spread.variance, resampled(values, pilot.noise, documents, of, settings), drawn, settings
    )
    df = max(1, drawn - pilot.lost)
    se = math.sqrt((total + (weighted - 1) * shared) / n)
    estimate = float(values.mean())
    half = width_of(se, df, settings.alpha) / 2
    there = Pilot(
        n,
        drawn if clustered else None,
        pilot.rows,
        estimate,
        (estimate - half, estimate + half),
        own,
        math.nan if settings.effect is None else power_of(settings.effect, se, df, settings.alpha),
        2 * half,
        detectable(se, df, settings.alpha, settings.power),
        pilot.judged_twice,
    )
    warnings = list(pilot.warnings)
    if clustered and drawn < FEW_DOCUMENTS:
        warnings.append(Notice("few-documents", values={"documents": drawn}))
    same = size is None and judgments is None
    plan = _plan(
        settings, design, pair, score, units, spread, needed, pilot.lost, (drawn if clustered else n) if same else None
    )
    return replace(plan, needed_ci=ends, pilot=there, warnings=tuple(warnings))


def _plan(
    settings: PlanSettings,
    design: str,
    pair: tuple[str, str],
    score: str,
    units: Units,
    spread: Spread,
    needed: PlanStep,
    lost: int,
    there: int | None = None,
) -> PlanResult:
    clustered = needed.documents is not None
    several = {}
    if spread.noise is not None:
        counts = sorted({*map(float, JUDGMENTS), *([spread.judgments] if spread.judgments is not None else [])})
        for count in counts:
            several[f"{count:.3g}"] = smallest(replace(spread, judgments=count), clustered, lost, settings)
    return PlanResult(
        design=design,  # type: ignore[arg-type] # the three that there are
        a=pair[0],
        b=pair[1],
        score=score,
        units=units,
        aim=settings.effect,
        needed=needed,
        needed_ci=None,
        spread=spread,
        steps=tuple(curve(needed, there, spread, lost, settings)),
        by_judgments=several,
        pilot=None,
        lost=lost,
        warnings=(),
        settings=settings.model_dump(include=set(PlanSettings.model_fields)),
    )


def _paired(table: TableLike, score: str, settings: ComparePlan) -> tuple[tuple[str, str], _Contributions]:
    """Return the two systems, and their difference on each segment that both have."""
    system, segment = settings.system, settings.segment
    if system is None or segment is None:
        missing = "system" if system is None else "segment"
        raise InputError(f"{missing}: names the column of {missing}s, which a paired comparison needs", setting=missing)
    columns, labels, _ = numeric_columns(table, [score], _labels(settings, system, segment), nan="omit")
    names = list(dict.fromkeys(labels[system]))
    pair = list(settings.systems) or names
    for name in pair:
        if name not in names:
            raise InputError(f"systems: there is no system {name!r}; there are {', '.join(names)}", setting="systems")
    if len(set(pair)) != 2 or len(pair) != 2:
        raise InputError(f"systems: name the two to compare, of {', '.join(names)}", setting="systems")
    values, of, segments = columns[score], np.array(labels[system]), np.array(labels[segment])
    sides = [_judged(values[of == name], segments[of == name]) for name in pair]
    common = [name for name in sides[0] if name in sides[1]]
    refuse_few(len(common), "segments that both systems have", "state sd")
    single = [_judgment_variance(list(side.values())) for side in sides]
    known = all(part is not None for part in single)
    noise = np.zeros(len(common))
    if known:
        noise = np.array(
            [sum(float(var or 0) / len(side[name]) for var, side in zip(single, sides, strict=True)) for name in common]
        )
    difference = np.array([sides[0][name].mean() - sides[1][name].mean() for name in common])
    codes, warnings = _documents(common, labels, settings, segments.tolist(), values)
    several = [len(side[name]) > 1 for side in sides for name in common]
    if any(several) and not known:
        warnings.append(Notice("noise-unknown"))
    return (pair[0], pair[1]), _Contributions(
        difference,
        codes,
        sum(len(side[name]) for side in sides for name in common),
        noise,
        sum(float(var or 0) for var in single) if known else 0.0,
        float(np.mean(several)) if known else None,
        1,
        tuple(warnings),
    )


def _judged(values: Array, segments: Array) -> dict[str, Array]:
    """Return segment -> the judgments of one system on it."""
    result: dict[str, list[float]] = {}
    for segment, value in zip(segments, values, strict=True):
        result.setdefault(str(segment), []).append(float(value))
    return {name: np.array(held) for name, held in result.items()}


def _judgment_variance(cells: Sequence[Array]) -> float | None:
    """Return the variance of judgments of one segment, pooled over segments; None where none has several."""
    freedom = sum(len(cell) - 1 for cell in cells)
    return None if freedom < FEW_REPEATS else sum(float(((c - c.mean()) ** 2).sum()) for c in cells) / freedom


FEW_REPEATS = 10
"""Second judgments of a system's segments below which the error of a judgment is not estimated."""


def _difference(table: TableLike, a: str, b: str, human: str, settings: MetaPlan) -> _Contributions:
    """Return what segments, or systems, contribute to the difference of two correlations."""
    system = settings.system
    if system is not None and settings.segment is None and settings.level == "seg":
        raise InputError(
            "segment: rows are of systems: name the column of segments, which they share", setting="segment"
        )
    if settings.level == "sys":
        if system is None:
            raise InputError("system: names the column of systems, which the level sys counts", setting="system")
        columns, labels, _ = numeric_columns(table, [a, b, human], [system], nan="omit")
        rows, names = len(columns[a]), cluster_codes(labels[system])
        columns = {name: np.bincount(names, column) / np.bincount(names) for name, column in columns.items()}
        columns = _turned(columns, settings.lower)
        refuse_few(len(columns[a]), "systems", "state correlations")
        standardised(columns, [a, b, human])  # which refuses constant columns
        values = _influence(columns, a, b, human)
        return _Contributions(values, None, rows, np.zeros(len(values)), lost=3, warnings=_heavy(columns, a, b, human))
    wanted = [name for name in (system, settings.segment) if name is not None]
    columns, labels, _ = numeric_columns(table, [a, b, human], _labels(settings, *wanted), nan="omit")
    columns = _turned(columns, settings.lower)
    standardised(columns, [a, b, human])  # which refuses constant columns
    warnings = list(_heavy(columns, a, b, human))
    if system is not None and len(set(labels[system])) > 1:
        warnings.append(Notice("fixed-systems", values={"systems": len(set(labels[system]))}))
    values = _influence(columns, a, b, human)
    return _gathered(values, labels, settings, columns[human], 3, warnings)


def _turned(columns: dict[str, Array], lower: Sequence[str]) -> dict[str, Array]:
    return {name: -column if name in lower else column for name, column in columns.items()}


def _influence(columns: dict[str, Array], a: str, b: str, human: str) -> Array:
    """Return values (n,) whose mean is the difference of two correlations, and whose variance over n is its own."""
    z = standardised(columns, [a, b, human])
    x, y, h = z.T
    first, second = float((x * h).mean()), float((y * h).mean())
    influence = (x - y) * h - first / 2 * (x * x + h * h) + second / 2 * (y * y + h * h)
    result: Array = first - second + influence * math.sqrt(len(x) / max(1, len(x) - 3))
    return result


def _heavy(columns: dict[str, Array], a: str, b: str, human: str) -> tuple[Notice, ...]:
    weight = max(tail_weight(columns[name], columns[human]) for name in (a, b))
    return (Notice("heavy", values={"weight": weight}),) if weight > HEAVY_TAILS else ()


def _coefficient(table: TableLike, metric: str, factors: Sequence[str], settings: DisentanglePlan) -> _Contributions:
    """Return what segments contribute to one coefficient."""
    wanted = [settings.segment] if settings.segment is not None else []
    columns, labels, _ = numeric_columns(table, [metric, *factors], _labels(settings, *wanted), nan="omit")
    n, p = len(columns[metric]), len(factors)
    require_rows(n, p)
    z, y = standardised(columns, factors), standardised(columns, [metric])[:, 0]
    refuse_collinear(factors, z)
    inverse = np.linalg.inv(z.T @ z)
    coefficients = inverse @ z.T @ y
    leverage = np.einsum("ij,jk,ik->i", z, inverse, z)
    place = list(factors).index(str(settings.factor))
    if float(np.mean((y - z @ coefficients) ** 2)) < 1e-12:
        raise InputError(f"the factors explain all of {metric} in the pilot: nothing can be planned from it")
    error = (y - z @ coefficients) / np.maximum(1 - leverage, 1e-9)
    influence = n * (z @ inverse[place]) * error
    values = coefficients[place] + influence - influence.mean()
    return _gathered(values, labels, settings, columns[metric], p, [])


def _gathered(
    values: Array,
    labels: dict[str, Labels],
    settings: MetaPlan | DisentanglePlan,
    scores: Array,
    lost: int,
    warnings: list[Notice],
) -> _Contributions:
    """Add up what the rows of a segment contribute, so that the estimate is the mean over segments."""
    rows, segment = len(values), settings.segment
    if segment is None:
        codes: Clustered = None
        more: list[Notice] = []
        if settings.document is not None:
            refuse_single(labels[settings.document], settings.document)
            codes = cluster_codes(labels[settings.document])
    else:
        places = cluster_codes(labels[segment])
        names = list(dict.fromkeys(map(str, labels[segment])))
        # The estimate is a mean over rows: a segment counts by how many it has.
        values = values.mean() + np.bincount(places, values - values.mean()) * len(names) / rows
        codes, more = _documents(names, labels, settings, labels[segment], scores)
    alone = codes is None and len(values) == rows
    return _Contributions(
        values, codes, rows, np.zeros(len(values)), lost=lost if alone else 1, warnings=(*warnings, *more)
    )


def _documents(
    names: Sequence[str], labels: dict[str, Labels], settings: PilotColumns, segments: Labels, scores: Array
) -> tuple[Clustered, list[Notice]]:
    """Return the document of each segment, or what speaks for some that no column names."""
    if settings.document is None:
        told = seem_together(segments, scores)
        return None, [Notice("documents-unknown", values={"why": told})] if told else []
    refuse_single(labels[settings.document], settings.document)
    of = document_of_segment(labels[str(settings.segment)], labels[settings.document], settings.document)
    return cluster_codes([of[str(name)] for name in names]), []


def _labels(settings: PilotColumns, *names: str) -> list[str]:
    return [*names, *([settings.document] if settings.document is not None else [])]


def _named(settings: PilotColumns, count: int) -> list[str]:
    """Return the columns of scores, of which so many are needed."""
    names = list(dict.fromkeys(settings.columns))
    if len(names) != count:
        many = "one column of scores" if count == 1 else "the two metrics to compare"
        raise InputError(f"columns: name {many} ({', '.join(names) or 'none are named'})", setting="columns")
    return names


def _refuse_aimless(settings: PlanSettings) -> None:
    if not settings.aimed:
        raise InputError(
            "effect or width: say how small an effect shall be found, or how wide the interval may be", setting="effect"
        )


def _refuse_missing(value: object, name: str, what: str) -> None:
    if value is None:
        raise InputError(f"{name}: without a pilot, state {what}", setting=name)


def _refuse_stated(settings: PlanSettings, *names: str) -> None:
    for name in names:
        if getattr(settings, name) not in (None, ()):
            raise InputError(f"{name}: goes without a table, which says it itself: leave it out", setting=name)
