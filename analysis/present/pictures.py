"""Charts as pictures: the same specifications that a page draws, with colours and a legend of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bsx.analysis.present.parts import Chart
from bsx.data.output import atomic_path, check_picture
from bsx.support.optional import installed, need
from bsx.support.untyped import Untyped

_WIDTH = 460  # pixels of one panel
_NARROW = 240  # of several
_ACROSS = 3  # panels in a row
_SCALE = 2  # of PNG
# The page's colours by day.
_INKS = ("1f4e79", "b3470f", "1d7059", "7a3470", "7a5c00", "3a6ea5", "5c5f63", "96243c")
_FILLS = ("1f4e79", "f3b98a", "14614b", "e3c2de", "6b4e00", "b9d7f3", "4f5256", "f7b9c5")
_NAMED = {
    **{f"c{place}": f"#{value}" for place, value in enumerate(_INKS)},
    **{f"f{place}": f"#{value}" for place, value in enumerate(_FILLS)},
    **{"paper": "#fffefb", "ink": "#1d2126", "ink-soft": "#52585f", "line": "#e4e1d8", "line-strong": "#8d8f8f"},
    **{"bar": "#9db6cc", "share": "#dfe8f0", "on-dark": "#ffffff", "on-light": "#1d2126", "mark": "#ffe9a8"},
}
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


class Picture:
    """A chart that notebooks show: ``spec`` is a Vega-Lite specification, complete in itself."""

    def __init__(self, spec: Mapping[str, object]) -> None:
        self.spec = spec

    def __repr__(self) -> str:
        titles: Any = self.spec.get("title", {})
        return f"Picture({titles.get('text', '')!r})"

    def svg(self) -> str:
        """Return it as SVG."""
        drawn: str = _library().vegalite_to_svg(self.spec)
        return drawn

    def save(self, path: str | Path) -> None:
        """Write it; the file appears when it is complete.

        Raises:
            InputError: for another ending than .png, .svg and .pdf, or an unwritable place.
        """
        path = Path(path)
        check_picture(path)
        library = _library()
        draw = {".png": library.vegalite_to_png, ".pdf": library.vegalite_to_pdf}.get(path.suffix)
        more = {"scale": _SCALE} if path.suffix == ".png" else {}
        content = self.svg().encode() if draw is None else draw(self.spec, **more)
        with atomic_path(path) as temporary:
            temporary.write_bytes(content)

    def _repr_svg_(self) -> str:
        return self.svg()


def picture(chart: Chart) -> Picture:
    """Return a chart as a picture by itself."""
    several = len(chart.panels) > 1
    legend: dict[str, object] = {"title": None, "orient": "bottom", "columns": 4, "labelLimit": 220}
    legend |= {"symbolType": "circle", "labelExpr": f"{json.dumps(list(chart.series))}[datum.value]"}
    panels = []
    for title, spec in chart.panels:
        drawn: dict[str, Any] = {**_concrete(spec, legend if chart.series else None)}
        for name in ("$schema", "params", "transform"):  # what lets a reader of a page choose series
            drawn.pop(name, None)
        if drawn["width"] == "container":
            drawn["width"] = _NARROW if several else _WIDTH
        panels.append(drawn | ({"title": title} if title else {}))
    whole: dict[str, Any] = {"concat": panels, "columns": _ACROSS} if several else panels[0]
    called = {"text": chart.title} if several else {"text": chart.title, "anchor": "start"}
    about = {"$schema": chart.panels[0][1].get("$schema"), "description": chart.alt, "background": _NAMED["paper"]}
    config = {"view": {"stroke": None}, "axisY": {"grid": False}, "axis": {"titleFontWeight": "normal"}}
    return Picture({**whole, **about, "title": called, "config": config})


def svg(chart: Chart) -> str:
    """Return a chart as an SVG element; empty where vl-convert is not installed."""
    return picture(chart).svg() if installed("vl_convert") else ""


def _concrete(value: object, legend: dict[str, object] | None, key: str = "") -> Any:
    """Return a specification with colours in the place of the page's names, and the legend that the page draws."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _NAMED.get(match[1], match[0]), value)
    if isinstance(value, Mapping):
        made = {name: _concrete(item, legend, name) for name, item in value.items()}
        if key == "color" and made.get("field") == "series":
            made["legend"] = legend
        return made
    return [_concrete(item, legend) for item in value] if isinstance(value, list | tuple) else value


def _library() -> Untyped:
    return need("vl_convert", "drawing charts")
