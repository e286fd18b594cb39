"""Charts as Vega-Lite specifications. Colours are names of the page's own, so that they follow its theme."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from bsx.analysis.present.parts import Chart

if TYPE_CHECKING:
    from bsx.bertscore.alignment import Alignment

Number = float | None
"""A figure; None, and what is not finite, is not drawn."""
COLOURS = 8
DEEPEST = 0.45
"""Opacity of the deepest shade of a matrix, on which ink is still read by day and by night."""
# In a box from -1 to 1; a chart and the legend beside it draw the same.
SHAPES = (
    "M0,-.7A.7,.7 0 1,1 0,.7A.7,.7 0 1,1 0,-.7Z",
    "M-.62,-.62H.62V.62H-.62Z",
    "M0,-.85L.8,.6H-.8Z",
    "M0,-.95L.8,0L0,.95L-.8,0Z",
    "M-.25,-.8H.25V-.25H.8V.25H.25V.8H-.25V.25H-.8V-.25H-.25Z",
    "M0,.85L.8,-.6H-.8Z",
    "M-.85,-.3H.85V.3H-.85Z",
)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4])
_CELL = 34  # pixels of a token's cosine
_BINS = 30
# Order comes from the data. A list of names would be compiled into an expression, and names may hold anything.
_IN_ORDER = {"field": "order", "op": "min"}
_QUOTED = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\u2028": r"\u2028", "\u2029": r"\u2029"})
_RULE = {"type": "rule", "color": "var(--line-strong)", "strokeWidth": 1, "strokeDash": [3, 3]}
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True)
class Point:
    """One figure with the ends of its interval, about what its row names; the tooltip calls its series by ``name``."""

    row: str
    series: int
    value: Number
    low: Number = None
    high: Number = None
    name: str = ""


def _drawn(value: Number) -> Number:
    return value if value is not None and math.isfinite(value) else None


def _spec(alt: str, values: list[dict[str, object]], series: int) -> dict[str, object]:
    places: dict[object, int] = {}
    for value in values:
        value["order"] = places.setdefault(value.get("row"), len(places))
    return {
        "$schema": _SCHEMA,
        "description": alt,
        "width": "container",
        "data": {"values": values},
        # The page's legend sets which series are shown.
        "params": [{"name": "shown", "value": list(range(max(series, 1)))}],
        "transform": [{"filter": "indexof(shown, datum.series) >= 0"}],
    }


def _title(axis: str) -> str | list[str]:
    """Return the title of an axis in lines that fit on the narrowest screen."""
    lines = wrap(axis, 34)
    return axis if len(lines) < 2 else lines


def _named(title: str) -> str:
    """Return the name of a figure in a tooltip; Vega-Lite writes it into an expression, where it quotes only quotes."""
    return title.translate(_QUOTED)


def _by_series(ranged: Sequence[object]) -> dict[str, object]:
    """Return what tells series apart, each by one of some values."""
    scale = {"domain": list(range(len(ranged))), "range": list(ranged)}
    return {"field": "series", "type": "nominal", "legend": None, "scale": scale}


def _scales(series: int, shapes: bool = True, ink: str = "c") -> dict[str, object]:
    """Return colours and shapes of series; ``f`` inks areas, dark and light by turns, which differ without hue."""
    places = range(max(series, 1))
    scales: dict[str, object] = {"color": _by_series([f"var(--{ink}{place % COLOURS})" for place in places])}
    return {**scales, "shape": _by_series([SHAPES[place % len(SHAPES)] for place in places])} if shapes else scales


def intervals(
    points: Sequence[Point],
    *,
    alt: str,
    axis: str,
    series: int,
    zero: float | None = 0,
    span: tuple[float, float] | None = None,
    dense: bool = False,
) -> dict[str, object]:
    """Return a forest plot: a row for each ``row``, in it a dot with its interval for each series.

    ``zero`` is where the line of no effect stands; without a ``span`` the figures decide where the axis ends.
    ``dense`` is for many rows or a narrow panel.
    """
    rows = list(dict.fromkeys(point.row for point in points))
    drawn = (point for point in points if _drawn(point.value) is not None)
    values = [{**vars(point), "low": _drawn(point.low), "high": _drawn(point.high)} for point in drawn]
    spec = _spec(alt, values, series)
    x: dict[str, object] = {"type": "quantitative", "title": _title(axis), "axis": {"tickCount": 5 if dense else 8}}
    x["scale"] = {"zero": False, "nice": True} if span is None else {"domain": list(span)}
    place: dict[str, object] = {"y": {**_names(220, labelPadding=8), "scale": {"paddingInner": 0.3}}}
    # In pixels: a step would do, but Vega-Lite warns of it beside a width that fits its container.
    step = 9 if dense or series > 4 else 13
    spec["height"] = len(rows) * (26 if series < 2 else step * series + 12)
    if series > 1:
        place["yOffset"] = {"field": "series", "type": "nominal", "scale": {"domain": list(range(series))}}
    tips = [{"field": "row", "title": "of"}, *([{"field": "name", "title": "series"}] if series > 1 else [])]
    tips += [{"field": name, "type": "quantitative", "format": ".4f"} for name in ("value", "low", "high")]
    dot = {"type": "point", "filled": True, "size": 110 if step < 13 else 190, "opacity": 1}
    dot |= {"stroke": "var(--paper)", "strokeWidth": 0.6}
    layers: list[dict[str, object]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {**place, "x": {"field": "low", **x}, "x2": {"field": "high"}, **_scales(series, False)},
        },
        {"mark": dot, "encoding": {**place, "x": {"field": "value", **x}, "tooltip": tips, **_scales(series)}},
    ]
    if zero is not None:
        ruled = {"data": {"values": [{"zero": zero}]}, "mark": _RULE, "encoding": {"x": {"field": "zero", **x}}}
        layers.insert(0, ruled)
    return {**spec, "layer": layers}


def forest(title: str, points: Sequence[Point], *, alt: str, axis: str, names: Sequence[str] = (), **how: Any) -> Chart:
    """Return a chart of one forest plot, with a series for each of the names; see `intervals`."""
    spec = intervals(points, alt=alt, axis=axis, series=max(1, len(names)), **how)
    return Chart(title, alt, (("", spec),), tuple(names))


def lines(
    points: Sequence[tuple[float, int, Number, str]],
    *,
    alt: str,
    x: str,
    y: str,
    series: int,
    span: tuple[float, float],
    ticks: Sequence[float],
    bands: Sequence[tuple[Number, Number]] = (),
    rule: float | None = None,
    log: bool = False,
    height: int = 130,
) -> dict[str, object]:
    """Return a small line chart of points: position, series, value and name of the series each.

    ``bands`` holds the interval of each point, ``rule`` the position of an upright line, ``log`` asks for a logarithmic
    axis of positions, ``height`` is in pixels.
    """
    values: list[dict[str, object]] = [
        {"x": at, "series": place, "value": _drawn(value), "name": name} for at, place, value, name in points
    ]
    for value, (low, high) in zip(values, bands, strict=False):
        value |= {"low": _drawn(low), "high": _drawn(high)}
    spec = {**_spec(alt, values, series), "height": height}
    dash = _by_series([DASHES[place % len(DASHES)] for place in range(series)])
    across = {
        "field": "x",
        "type": "quantitative",
        "title": x,
        "axis": {"values": list(ticks), "grid": False, "format": ",~r"},
        "scale": {"type": "log", "nice": False} if log else {"zero": False},
    }
    scale, axis = {"domain": list(span)}, {"tickCount": 4}
    up = {"field": "value", "type": "quantitative", "title": y, "scale": scale, "axis": axis}
    tips = [{"field": "name", "title": "series"}, {"field": "x", "title": _named(x)}]
    tips.append({"field": "value", "title": _named(y), "format": ".4f"})
    spec["encoding"] = {"x": across, "y": up}
    below: list[dict[str, object]] = []
    if bands:
        drawn = [{"filter": "isValid(datum.low) && isValid(datum.high)"}]
        ends = {"y": {**up, "field": "low"}, "y2": {"field": "high"}, **_scales(series, False)}
        area = {"type": "area", "opacity": 1, "fillOpacity": 0.15}
        below.append({"transform": drawn, "mark": area, "encoding": ends})
    if rule is not None:
        ends = {"x": across, "y": {"value": 0}, "y2": {"value": "height"}}
        below.append({"data": {"values": [{"x": rule}]}, "mark": _RULE, "encoding": ends})
    dot = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    spec["layer"] = [
        *below,
        {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": {**_scales(series, False), "strokeDash": dash}},
        {"mark": dot, "encoding": {**_scales(series), "tooltip": tips}},
    ]
    return spec


OfLayer = tuple[int, Number, Number, Number]
"""A layer, its figure, and the ends of that one's interval."""


def by_layer(
    names: Sequence[str], curves: Sequence[Sequence[OfLayer]], axis: str, *, rule: float | None = None
) -> dict[str, object]:
    """Return figures (of ``axis``) over the layers of a model, a line each with its intervals; ``rule`` stands out."""
    points = [(float(at), place, value, names[place]) for place, line in enumerate(curves) for at, value, *_ in line]
    heights = [end for line in curves for _, *ends in line for end in ends if end is not None and math.isfinite(end)]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    layers = sorted({at for at, *_ in points})
    return lines(
        points,
        alt=f"{axis} by layer.",
        x="layer (0 = embeddings)",
        y=axis,
        series=len(names),
        span=(low - 0.01, high + 0.01),
        ticks=layers[:: 1 + len(layers) // 14],
        bands=[(low, high) for line in curves for _, _, low, high in line],
        rule=rule,
        height=170,
    )


def _names(limit: int, **more: int) -> dict[str, object]:
    """Return an axis of the names of rows, in their order, cut off at so many pixels."""
    axis = {"domain": False, "ticks": False, "labelLimit": limit, **more}
    return {"field": "row", "type": "nominal", "sort": _IN_ORDER, "title": None, "axis": axis}


def spreads(rows: Sequence[tuple[str, Sequence[float]]], *, alt: str, axis: str) -> dict[str, object]:
    """Return how scores spread: 5th to 95th percentile, middle half and median of each row (name, percentiles)."""
    keys = ("p5", "p25", "p50", "p75", "p95")
    values = [{"row": name, "series": 0, **dict(zip(keys, map(float, ends), strict=True))} for name, ends in rows]
    spec = {**_spec(alt, values, 1), "height": 24 * len(rows)}
    x = {"type": "quantitative", "title": _title(axis), "scale": {"zero": False}, "axis": {"tickCount": 5}}
    y = _names(140)
    names = ("5th percentile", "lower quartile", "median", "upper quartile", "95th percentile")
    figure = {"type": "quantitative", "format": ".4f"}
    tips = [{"field": "row", "title": "of"}]
    tips += [{"field": key, "title": name, **figure} for key, name in zip(keys, names, strict=True)]

    def bar(low: str, high: str, width: int, ink: str) -> dict[str, object]:
        encoding = {"y": y, "x": {"field": low, **x}, "x2": {"field": high}, "tooltip": tips}
        return {"mark": {"type": "rule", "strokeWidth": width, "color": ink}, "encoding": encoding}

    tick = {"type": "tick", "thickness": 2.5, "size": 16, "color": "var(--ink)"}
    median = {"mark": tick, "encoding": {"y": y, "x": {"field": "p50", **x}, "tooltip": tips}}
    return {**spec, "layer": [bar("p5", "p95", 1, "var(--ink-soft)"), bar("p25", "p75", 9, "var(--bar)"), median]}


def stacked(rows: Sequence[tuple[str, int, Number, str]], *, alt: str, axis: str, series: int) -> dict[str, object]:
    """Return stacked bars, one a row, of parts: row, series, value and name of the series each."""
    values = [
        {"row": name, "series": place, "value": max(_drawn(value) or 0.0, 0.0), "name": label}
        for name, place, value, label in rows
    ]
    spec = {**_spec(alt, values, series), "height": 30 * len({name for name, *_ in rows})}
    y = _names(220)
    x = {"field": "value", "type": "quantitative", "title": _title(axis), "stack": "zero", "axis": {"tickCount": 8}}
    tips = [
        {"field": "row", "title": "metric"},
        {"field": "name", "title": "factor"},
        {"field": "value", "title": _named(axis), "format": ".4f"},
    ]
    bars = {
        "mark": {"type": "bar", "stroke": "var(--paper)", "strokeWidth": 1.5, "height": 18},
        "encoding": {"tooltip": tips, "order": {"field": "series"}, **_scales(series, False, "f")},
    }
    on_light = {"test": "datum.series % 2 == 1", "value": "var(--on-light)"}
    series_of = {"field": "series"}
    labels = {
        "transform": [{"filter": "datum.value > 0.04"}],
        "mark": {"type": "text", "fontSize": 11, "fontWeight": 600},
        "encoding": {
            "color": {"condition": on_light, "value": "var(--on-dark)"},
            "text": {"field": "name"},
            "x": {**x, "bandPosition": 0.5},
            "order": series_of,
            "detail": series_of,
        },
    }
    return {**spec, "encoding": {"y": y, "x": x}, "layer": [bars, labels]}


def heatmap(alignment: Alignment, alt: str) -> dict[str, object]:
    """Return the cosines of all tokens as shades, darkest at 0 or below, lightest at 1.

    A circle marks the best match of a candidate's token, a cross that of a reference's.
    """
    rows, columns = alignment.candidate.tokens, alignment.reference.tokens
    cells: list[list[float]] = alignment.cosines.tolist()
    values: list[dict[str, object]] = [
        {"row": i, "column": j, "value": _drawn(cell), "of": f"{rows[i]} – {columns[j]}", "series": 0}
        for i, row in enumerate(cells)
        for j, cell in enumerate(row)
    ]
    least = min((cell for row in cells for cell in row), default=0.0)
    spec = {**_spec(alt, values, 1), "width": _CELL * len(columns), "height": 0.7 * _CELL * len(rows)}

    def names(field: str, title: str, every: Sequence[str], angle: int) -> dict[str, object]:
        axis = {"labelExpr": f"{json.dumps(list(every))}[datum.value]", "labelAngle": angle, "labelOverlap": False}
        domain = {"domain": list(range(len(every)))}
        return {"field": field, "type": "ordinal", "title": title, "axis": axis, "scale": domain}

    place = {
        "x": names("column", f"reference (R = {alignment.recall:.3f})", columns, -45),
        "y": names("row", f"candidate (P = {alignment.precision:.3f})", rows, 0),
    }
    shade = {"scheme": "cividis", "domain": [min(0.0, least), 1.0]}
    tips = [{"field": "of", "title": "tokens"}, {"field": "value", "title": "cosine", "format": ".4f"}]
    ink = {"field": "value", "type": "quantitative", "title": "cosine", "scale": shade}
    layers: list[dict[str, object]] = [{"mark": {"type": "rect"}, "encoding": {**place, "color": ink, "tooltip": tips}}]
    circles = [{"row": i, "column": j} for i, j in enumerate(alignment.candidate.match.tolist())]
    crosses = [{"row": i, "column": j} for j, i in enumerate(alignment.reference.match.tolist())]
    cross = "M-.6,-.6L.6,.6M-.6,.6L.6,-.6"
    for marked, shape, stroke, size in ((circles, "circle", "#ffffff", 150), (crosses, cross, "#e34948", 90)):
        drawn = {"type": "point", "shape": shape, "filled": False, "stroke": stroke, "strokeWidth": 1.7, "opacity": 1}
        layers.append({"data": {"values": marked}, "mark": {**drawn, "size": size}, "encoding": place})
    return {**spec, "layer": layers}


def histogram(values: Sequence[float], *, alt: str, axis: str) -> dict[str, object]:
    """Return how many values lie in each of some bins of one width."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    width = (high - low) / _BINS or 1.0
    counts = Counter(min(_BINS - 1, int((value - low) / width)) for value in finite)
    bars: list[dict[str, object]] = [
        {"from": low + place * width, "to": low + (place + 1) * width, "count": count, "series": 0}
        for place, count in sorted(counts.items())
    ]
    spec = {**_spec(alt, bars, 1), "height": 180}
    x = {"field": "from", "type": "quantitative", "title": _title(axis), "scale": {"zero": False}}
    y = {"field": "count", "type": "quantitative", "title": "pairs", "axis": {"tickCount": 5}}
    spec["mark"] = {"type": "bar", "color": "var(--c0)"}
    spec["encoding"] = {"x": x, "x2": {"field": "to"}, "y": y, "y2": {"datum": 0}}
    return spec


def matrix(cells: Sequence[tuple[str, str, str, Number]], *, alt: str, x: str) -> dict[str, object]:
    """Return a matrix of short texts on shades: row, column, text and shade from 0 to 1 of each cell."""
    rows, columns = list(dict.fromkeys(cell[0] for cell in cells)), list(dict.fromkeys(cell[1] for cell in cells))
    fields = ("row", "column", "text", "shade", "place", "series")
    values: list[dict[str, object]] = [
        dict(zip(fields, (row, column, shown, _drawn(shade), columns.index(column), 0), strict=True))
        for row, column, shown, shade in cells
    ]
    spec = {**_spec(alt, values, 1), "height": 30 * len(rows)}
    in_order = {"field": "place", "op": "min"}
    # The names of columns stand above them, upright where they would lie over each other on a phone.
    upright = len(columns) * max(map(len, columns), default=0) > 33
    axis = {"orient": "top", "domain": False, "ticks": False, "labelPadding": 6, "labelLimit": 140}
    axis["labelAngle"] = -90 if upright else 0
    across = {"field": "column", "type": "nominal", "sort": in_order, "title": _title(x), "axis": axis}
    shades_of = {"domain": [0, 1], "range": [0, DEEPEST]}
    shade_of = {"field": "shade", "type": "quantitative", "legend": None, "scale": shades_of}
    tips = [{"field": "row", "title": "row"}, {"field": "column", "title": "column"}]
    tips.append({"field": "text", "title": _named(x)})
    shades = {"mark": {"type": "rect", "color": "var(--c2)"}, "encoding": {"opacity": shade_of, "tooltip": tips}}
    words = {"mark": {"type": "text", "color": "var(--ink)"}, "encoding": {"text": {"field": "text"}}}
    return {**spec, "encoding": {"y": _names(220), "x": across}, "layer": [shades, words]}
