"""Pictures inside HTML pages: SVG in the colours of the page, which a reader without eyes is told in words."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bsx.analysis.render.plots import Dot

_WIDE, _ROW, _LETTER = 420, 28, 7.5  # in the units of the picture, of which a letter of 13 is about 7.5 wide
_LONGEST = 24  # letters of a name


def dots_svg(dots: Sequence[Dot], title: str, axis: str) -> str:
    """Return figures with their intervals, one row below the other, as an SVG element.

    Args:
        dots: at least one, all finite; series are not told apart.
        title: what they are.
        axis: what is measured.
    """
    names = [dot.row if len(dot.row) <= _LONGEST else f"{dot.row[: _LONGEST - 1]}…" for dot in dots]
    left, right = max(34.0, 14 + _LETTER * max(map(len, names))), _WIDE - 34.0
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    ticks, digits = _ticks(min(ends), max(ends))
    first, last = ticks[0], ticks[-1]

    def across(value: float) -> str:
        return f"{left + (right - left) * (value - first) / (last - first):.1f}"

    bottom = _ROW * len(dots) + 4
    told = "; ".join(f"{dot.row} {dot.value:.{digits + 2}f}{_interval(dot, digits + 2)}" for dot in dots)
    lines = [
        f'<svg viewBox="0 0 {_WIDE} {bottom + 40}" role=img>',
        f"<title>{html.escape(title)}</title><desc>{html.escape(told)}</desc>",
    ]
    for tick in ticks:
        lines.append(f'<path class=rule d="M{across(tick)} 0V{bottom}"/>')
        lines.append(f'<text x="{across(tick)}" y="{bottom + 15}" text-anchor=middle>{tick:.{digits}f}</text>')
    lines.append(f'<text x="{_WIDE - 2}" y="{bottom + 33}" text-anchor=end>{html.escape(axis)}</text>')
    for place, (dot, name) in enumerate(zip(dots, names, strict=True)):
        y = _ROW * place + _ROW // 2 + 2
        lines.append(f'<text x="{left - 8:.1f}" y="{y + 4}" text-anchor=end>{html.escape(name)}</text>')
        if dot.low is not None and dot.high is not None:
            lines.append(f'<path class=interval d="M{across(dot.low)} {y}H{across(dot.high)}"/>')
        kind = "hollow" if dot.hollow else "dot"
        lines.append(f'<circle class={kind} cx="{across(dot.value)}" cy="{y}" r="5"/>')
    return "\n".join([*lines, "</svg>"])


def _interval(dot: Dot, digits: int) -> str:
    return "" if dot.low is None or dot.high is None else f" [{dot.low:.{digits}f}, {dot.high:.{digits}f}]"


def _ticks(low: float, high: float) -> tuple[list[float], int]:
    """Return about five round numbers from at or below the lowest to at or above the highest, and their decimals."""
    span = high - low or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * round_one for round_one in (1, 2, 5, 10) if power * round_one >= span / 4 * 0.999)
    start, end = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * place for place in range(start, max(end, start + 1) + 1)]
    return ticks, max(0, -math.floor(math.log10(step) + 1e-9))
