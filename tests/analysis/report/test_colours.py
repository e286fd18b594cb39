"""The colours of pages, computed: contrasts after WCAG 2.2, in the light and in the dark look."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from bsx.analysis.present.charts import DEEPEST
from bsx.analysis.present.html import page

Colour = tuple[float, float, float]
REPORT = files("bsx.analysis.report").joinpath("page", "report.css").read_text(encoding="utf-8")
RESULT = page([], "")
NAMED = re.compile(r"--([\w-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}))")


def read(css: str, look: int) -> dict[str, Colour]:
    """Return the page's named colours in the light look (0) or the dark one (1)."""
    found = {name: (light, dark) if light else (both, both) for name, light, dark, both in NAMED.findall(css)}
    return {name: rgb(values[look]) for name, values in found.items()}


def rgb(colour: str) -> Colour:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def luminance(colour: Colour) -> float:
    """WCAG 2.2, relative luminance."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: Colour, b: Colour) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21)
    assert contrast(rgb("#777777"), rgb("#ffffff")) == pytest.approx(4.48, abs=0.01)  # the known near miss


@pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
def test_text_is_read_easily(look: int) -> None:
    """4.5 to 1 for text (1.4.3); half of what is said is 7 to 1 (1.4.6)."""
    of = read(REPORT, look)
    for ground in ("paper", "raised"):
        assert contrast(of["ink"], of[ground]) >= 7
        assert contrast(of["ink-soft"], of[ground]) >= 4.5
        assert contrast(of["accent"], of[ground]) >= 4.5
    for pair in (("ink", "mark"), ("ink", "share"), ("on-bar", "accent")):
        assert contrast(of[pair[0]], of[pair[1]]) >= 4.5, pair
    shades = re.findall(r"\.h(\d) \{ --depth: (\d+)% \}", REPORT)
    assert len(shades) == 10
    for level, depth in shades:
        part = int(depth) / 100
        mixed = [part * a + (1 - part) * b for a, b in zip(of["accent"], of["paper"], strict=True)]
        ink = of["on-bar" if int(level) >= 6 else "ink"]
        assert contrast(ink, (mixed[0], mixed[1], mixed[2])) >= 4.5, f"h{level}"
    deep = [DEEPEST * a + (1 - DEEPEST) * b for a, b in zip(of["c2"], of["paper"], strict=True)]
    assert contrast(of["ink"], (deep[0], deep[1], deep[2])) >= 4.5
    own = read(RESULT, look)
    assert contrast(own["ink"], own["paper"]) >= 7
    assert contrast(own["soft"], own["paper"]) >= 4.5


@pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
def test_marks_and_controls_stand_out(look: int) -> None:
    """3 to 1 for what is no text (1.4.11): series of charts, borders of controls, underlines of marked words."""
    of = read(REPORT, look)
    for place in range(8):
        assert contrast(of[f"c{place}"], of["paper"]) >= 3, f"c{place}"
    assert contrast(of["line-strong"], of["paper"]) >= 3
    assert contrast(of["mark-line"], of["mark"]) >= 3
    assert contrast(of["on-dark"], of["f0"]) >= 4.5
    assert contrast(of["on-light"], of["f1"]) >= 4.5
    own = read(RESULT, look)
    assert contrast(own["mark"], own["paper"]) >= 3


@pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
def test_neighbouring_areas_differ_without_hue(look: int) -> None:
    """Fills take turns between dark and light: a contrast of 3 to 1 between any neighbours (WCAG 2.2, 1.4.11)."""
    of = read(REPORT, look)
    for place in range(8):
        assert contrast(of[f"f{place}"], of[f"f{(place + 1) % 8}"]) >= 3
        assert f".f{place} {{ fill: var(--f{place}) }}" in REPORT
