"""How large a study must be: of two systems, or of two metrics' correlations, from a pilot or stated variances.

Every estimate is, nearly, a mean of what each segment contributes (its influence), so that its squared standard error
is a variance over the number of segments. A pilot, or stated figures, give that variance; what segments of a document
have in common is a part of it, which grows with the size of documents.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bsx.analysis.plan.power import Study, components, detectable, power_of, smallest, width_of
from bsx.analysis.plan.result import Pilot, PlanResult, Spread, Units
from bsx.analysis.plan.settings import ComparePlan, MetaPlan
from bsx.analysis.stats.correlation import HEAVY_TAILS, tail_weight
from bsx.analysis.stats.resample import Clustered, all_counts, cluster_codes, drawn_units
from bsx.analysis.stats.rowwise import clip_variance
from bsx.analysis.stats.significance import williams_from_correlations
from bsx.data.columns import Labels, numeric_columns, standardised
from bsx.data.documents import document_of_segment, refuse_single, seem_together
from bsx.data.frame import PAIR, Frame
from bsx.data.sidecar import known_scores, turned
from bsx.errors import InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import on_table
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice
from bsx.support.settings import refuse_idle

SHARES = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)
"""Of the smallest study, the sizes that are listed."""
FEWEST = 10
"""Documents, or units without documents, from which a pilot's variance is worth a plan."""
FEW_DOCUMENTS = 20
"""Documents below which a pilot says little about what segments of a document have in common."""
_KEPT = {"effect", "power", "alpha", "document_size", "icc", "resamples", "seed"}
"""Settings that a result holds."""
_ROLES = ("system", "segment", "document")
_IDLE = ("columns", *_ROLES)


@on_table(ComparePlan)
def plan_compare(settings: ComparePlan) -> PlanResult:
    """Plan a comparison of two systems, by a metric's scores or by human judgments.

    The variance of the systems' differences has two parts: what the segments of a document have in common, and what
    segments differ in beside that. Several judgments of a system's segment are averaged; a study gets as many.

    >>> plan = plan_compare(effect=0.5, sd=1)
    >>> plan.needed.units, round(plan.needed.power, 3)
    (34, 0.808)

    Args:
        settings: see `ComparePlan`; a pilot has a row a system and segment, or several where a segment has several
            judgments.

    Raises:
        UnknownNameError: for a missing column or system.
        InputError: for a pilot that is too small, or settings that do not go together.
    """
    if settings.table is None:
        refuse_idle(settings, "without a table", *_IDLE, "systems")
        if settings.sd is None:
            wrong = "sd: without a pilot, state the standard deviation of the systems' difference on a segment"
            raise InputError(wrong, setting="sd")
        return _stated(settings, settings.sd, 1)
    frame = _pilot(settings)
    system, segment, document = (frame.column(role) for role in _ROLES)
    read = _read(frame, frame.metrics, (system, segment, document))
    if segment is not None and document is not None:
        read[segment] = frame.numbered(read[segment], read[document], None if system is None else read[system])
    (score,) = _scores(settings, frame.metrics, 1, "sd", "icc")
    if system is None or segment is None:
        missing = "system" if system is None else "segment"
        raise InputError(f"{missing}: names the column of {missing}s, which a paired comparison needs", setting=missing)
    named = [name for name in (system, segment, document) if name is not None]
    columns, labels, _ = numeric_columns(read, [score], named, nan="omit")
    names = list(dict.fromkeys(labels[system]))
    pair = list(settings.systems) or names
    for name in pair:
        if name not in names:
            raise InputError(f"systems: there is no system {name!r}; there are {', '.join(names)}", setting="systems")
    if len(set(pair)) != 2 or len(pair) != 2:
        raise InputError(f"systems: name the two to compare, of {', '.join(names)}", setting="systems")
    sides: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in pair}
    for name, unit, value in zip(labels[system], labels[segment], columns[score].tolist(), strict=True):
        if name in sides:
            sides[name][unit].append(value)
    first, second = sides.values()
    common = [unit for unit in first if unit in second]
    documents, warnings = _documents(common, labels, segment, document, columns[score])
    values = np.array([np.mean(first[unit]) - np.mean(second[unit]) for unit in common])
    rows = sum(len(side[unit]) for side in (first, second) for unit in common)
    plan = _planned(settings, "segments", (pair[0], pair[1], score), values, documents, rows, 1, warnings)
    return replace(plan, signatures=dict(frame.signatures))


@on_table(MetaPlan)
def plan_meta(settings: MetaPlan) -> PlanResult:
    """Plan a comparison of two metrics by their correlations with human judgments.

    The correlations are Pearson's. Segments are counted; the systems that translate them stay the same.

    Source: Steiger & Hakstian 1982 for the influence of a row on a correlation, from a pilot; Olkin & Siotani 1976 for
    the variance of the difference where the three correlations are stated and scores are normal.

    >>> plan = plan_meta(correlations=[0.5, 0.4, 0.6])
    >>> plan.needed.units, round(plan.needed.power, 3)
    (478, 0.8)

    Args:
        settings: see `MetaPlan`; a pilot has both metrics' and human scores.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for a pilot that is too small, or settings that do not go together.
    """
    if settings.table is None:
        refuse_idle(settings, "without a table", *_IDLE, "human", "lower")
        return _stated_correlations(settings)
    frame = _pilot(settings)
    human = frame.needed("human", "human scores")
    guessed = [name for name in (frame.column("system"),) if name is not None and "system" not in frame.named]
    others = [frame.column(role) for role in _ROLES if frame.column(role) not in guessed]
    read = _read(frame, [*frame.metrics, human], others, guessed)
    of = frame.unit(read, judged=~np.isnan(np.asarray(read[human])))  # rows are bound as `meta` binds them
    less, notes = turned(frame.table, frame.metrics, settings.lower)
    a, b = _scores(settings, frame.metrics, 2, "icc", "correlations")
    if human in (a, b):
        raise InputError(f"the column {human!r} is named twice")
    if of.system is not None and of.segment is None:
        wrong = "segment: rows are of systems: name the column of segments, which they share"
        raise InputError(wrong, setting="segment")
    named = [name for name in (of.system, of.segment, of.document) if name is not None]
    columns, labels, _ = numeric_columns(of.values, [a, b, human], named, nan="omit")
    rows = len(columns[a])
    columns = {name: -column if name in less else column for name, column in columns.items()}
    x, y, h = standardised(columns, [a, b, human]).T
    # Values whose mean is the difference of the correlations, and whose variance over n is its own.
    first, second = float((x * h).mean()), float((y * h).mean())
    influence = (x - y) * h - first / 2 * (x * x + h * h) + second / 2 * (y * y + h * h)
    # As in Fisher's interval, the variance of a correlation is over n - 3.
    values = first - second + influence * math.sqrt(len(x) / max(1, len(x) - 3))
    warnings = []
    weight = max(tail_weight(columns[name], columns[human]) for name in (a, b))
    if weight > HEAVY_TAILS:
        warnings.append(Notice("heavy", values={"weight": weight}))
    documents: Clustered = None
    if of.system is not None and len(set(labels[of.system])) > 1:
        warnings.append(Notice("fixed-systems", values={"systems": len(set(labels[of.system]))}))
    if of.segment is not None:
        places, units = cluster_codes(labels[of.segment]), list(dict.fromkeys(labels[of.segment]))
        # The estimate is a mean over rows: a segment counts by how many it has.
        values = values.mean() + np.bincount(places, values - values.mean()) * len(units) / rows
        documents, more = _documents(units, labels, of.segment, of.document, columns[human])
        warnings += more
    elif of.document is not None:
        refuse_single(labels[of.document], of.document)
        documents = cluster_codes(labels[of.document])
    lost = 3 if documents is None and len(values) == rows else 1
    counted: Units = "rows" if of.segment is None else "segments"
    plan = _planned(settings, counted, (a, b, human), values, documents, rows, lost, warnings)
    return replace(plan, signatures=dict(frame.signatures), notes=(*of.notes, *notes))


def _pilot(settings: ComparePlan | MetaPlan) -> Frame:
    """Return a pilot; systems are compared by what people say where no metric has scored them."""

    def by_people(frame: Frame, settings: Any) -> tuple[Frame, Any]:
        human, columns = frame.column("human"), settings.columns or known_scores(frame.table)
        lacking = not columns and human is not None and isinstance(settings, ComparePlan)
        return frame, settings.model_copy(update={"columns": [human]}) if lacking else settings

    return open_frame(settings, chosen=by_people)[0]


def _read(
    frame: Frame, numbers: Sequence[str], labels: Sequence[str | None], keys: Sequence[str] = ()
) -> dict[str, Array | Labels]:
    pair = [PAIR] if PAIR in frame.table.columns and PAIR not in labels else []
    read = frame.read(numbers, [*labels, *pair], keys=keys)
    if pair and len(set(read[PAIR])) > 1:  # segments are numbered within language pairs
        raise InputError(f"column 'lp': {len(set(read[PAIR]))} language pairs: plan one at a time", file=frame.name)
    return read


def _scores(settings: ComparePlan | MetaPlan, columns: Sequence[str], count: int, *stated: str) -> list[str]:
    """Return the columns of scores of a pilot, of which so many are needed; refuse what else would be stated."""
    for name in stated:
        if getattr(settings, name) not in (None, ()):
            raise InputError(f"{name}: goes without a table, which says it itself: leave it out", setting=name)
    names = list(dict.fromkeys(columns))
    if len(names) != count:
        many = "one column of scores" if count == 1 else "the two metrics to compare"
        raise InputError(f"columns: name {many} ({', '.join(names) or 'none are named'})", setting="columns")
    return names


def _documents(
    names: Sequence[str], labels: dict[str, Labels], segment: str, document: str | None, scores: Array
) -> tuple[Clustered, list[Notice]]:
    """Return the document of each segment, or what speaks for some that no column names."""
    if document is None:
        doubt = seem_together(labels[segment], scores)
        return None, [Notice("documents-unknown", values={"why": doubt})] if doubt else []
    refuse_single(labels[document], document)
    of = document_of_segment(labels[segment], labels[document], document)
    return cluster_codes([of[name] for name in names]), []


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
    if a == b:
        wrong = "correlations: both metrics have the same: there is no difference to find"
        raise InputError(wrong, setting="correlations")
    shared = between * (1 - a * a - b * b) - a * b / 2 * (1 - a * a - b * b - between * between)
    first, second = (1 - a * a) ** 2, (1 - b * b) ** 2
    variance = float(clip_variance(first + second - 2 * shared, first + second + 2 * abs(shared)))
    if variance == 0:
        wrong = "correlations: with these, both metrics are the same: there is no difference to plan for"
        raise InputError(wrong, setting="correlations")
    return _stated(settings.model_copy(update={"effect": abs(a - b)}), math.sqrt(variance), 3)


def _stated(settings: ComparePlan | MetaPlan, sd: float, lost: int) -> PlanResult:
    """Plan from variances that are stated."""
    size = settings.document_size
    if settings.icc is not None and size is None:
        raise InputError("document_size: icc needs to know how many segments a document has", setting="document_size")
    spread = Spread(sd, settings.icc or 0.0, size or 1.0, size or 1.0)
    return _plan(settings, "segments", ("", "", ""), spread, size is not None, lost)


def _planned(
    settings: ComparePlan | MetaPlan,
    units: Units,
    names: tuple[str, str, str],
    values: Array,
    documents: Clustered,
    rows: int,
    lost: int,
    warnings: list[Notice],
) -> PlanResult:
    """Plan from what the units of a pilot contribute (units,), whose mean is the estimate.

    ``names`` are those of both systems or metrics, and of the column of scores; ``documents`` is that of each unit
    (units,); ``lost`` counts the degrees of freedom that are not left.
    """
    clustered, size = documents is not None, settings.document_size
    n, drawn = len(values), drawn_units(len(values), documents)
    counted = "documents" if clustered else units
    if drawn < FEWEST:
        raise InputError(
            f"a pilot of {drawn} {counted} is too small to plan from: at least {FEWEST} {counted}, or state variances "
            "instead of a table"
        )
    sizes = np.bincount(np.arange(n) if documents is None else documents).astype(np.float64)
    total, shared = (float(part[0]) for part in components(values, documents))
    if total <= 0:
        raise InputError("the pilot has no variance: every segment says the same, and nothing can be planned from it")
    weighted = float((sizes**2).sum() / sizes.sum())
    drawn_spread = Spread(math.sqrt(total), min(1.0, shared / total), float(sizes.mean()), weighted)
    if size is not None and not clustered:
        wrong = "document_size: the pilot has no documents: name their column with document"
        raise InputError(wrong, setting="document_size")
    spread = drawn_spread if size is None else replace(drawn_spread, document_size=size, weighted_size=size)
    pilot_size = (drawn if clustered else n) if size is None else None
    plan = _plan(settings, units, names, spread, clustered, lost, pilot_size)
    totals, parts = components(values, documents, all_counts(settings.resamples, drawn, settings.seed))
    df, se = max(1, drawn - lost), math.sqrt((total + (weighted - 1) * shared) / n)
    estimate, half = float(values.mean()), width_of(se, df, settings.alpha) / 2
    pilot = Pilot(
        n,
        drawn if clustered else None,
        rows,
        estimate,
        (estimate - half, estimate + half),
        drawn_spread,
        power_of(plan.aim, se, df, settings.alpha),
        2 * half,
        detectable(se, df, settings.alpha, settings.power),
    )
    if clustered and drawn < FEW_DOCUMENTS:
        warnings.append(Notice("few-documents", values={"documents": drawn}))
    # The interval of the number of units is from the spread of the logarithm of resampled variances. Of few units a
    # resample does not show how heavy tails are: the spread is at least that of normal scores.
    needed = plan.needed.units
    ends = needed, needed
    variances = totals + (spread.weighted_size - 1) * parts
    variances = variances[variances > 0]
    if len(variances) > 1:
        wide = need("scipy.stats", "intervals").t.isf(0.025, drawn - 1)
        wide *= max(float(np.log(variances).std(ddof=1)) * math.sqrt(drawn / (drawn - 1)), math.sqrt(2 / (drawn - 1)))
        ends = max(1, math.floor(needed * math.exp(-wide))), math.ceil(needed * math.exp(wide))
    return replace(plan, needed_ci=ends, pilot=pilot, warnings=tuple(warnings))


def _plan(
    settings: ComparePlan | MetaPlan,
    units: Units,
    names: tuple[str, str, str],
    spread: Spread,
    clustered: bool,
    lost: int,
    pilot_size: int | None = None,
) -> PlanResult:
    """Return the smallest study, others beside it, and one of the pilot's size."""
    if settings.effect is None:
        raise InputError("effect: say how small a difference shall be found", setting="effect")
    study = Study(settings.effect, settings.alpha, spread, clustered, lost)
    needed = smallest(study, settings.power)
    sizes = {max(lost + 1, round(share * (needed.documents or needed.units))) for share in SHARES}
    return PlanResult(
        design="compare" if isinstance(settings, ComparePlan) else "meta",
        a=names[0],
        b=names[1],
        score=names[2],
        units=units,
        aim=settings.effect,
        needed=needed,
        needed_ci=None,
        spread=spread,
        steps=tuple(study.sized(count) for count in sorted(sizes if pilot_size is None else {*sizes, pilot_size})),
        pilot=None,
        lost=lost,
        warnings=(),
        settings=settings.model_dump(include=_KEPT),
    )
