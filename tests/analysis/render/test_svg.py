"""Pictures inside HTML pages, by their own coordinates."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import pytest

from bsx.analysis.render.plots import Dot
from bsx.analysis.render.svg import dots_svg

AXIS = "95 % interval; hollow: significantly worse than another"


def drawn(dots: list[Dot], title: str = "chrf", axis: str = AXIS) -> ElementTree.Element:
    """Parse the picture as XML, which wants its attributes in quotation marks."""
    content = re.sub(r" ([\w-]+)=(\w+)", r' \1="\2"', dots_svg(dots, title, axis))
    return ElementTree.fromstring(content)  # noqa: S314 - our own


def test_a_picture_says_in_words_what_it_shows() -> None:
    found = drawn([Dot("brook", 69.61, 64.5, 74.46), Dot('a<b>&"', 56.27)], "chrf & more")
    assert found.findtext("title") == "chrf & more"
    assert found.findtext("desc") == 'brook 69.61 [64.50, 74.46]; a<b>&" 56.27'
    assert found.get("role") == "img"
    assert [text.text for text in found.iter("text") if text.get("text-anchor") == "end"] == [AXIS, "brook", 'a<b>&"']


def test_marks_stand_where_their_values_are_on_the_axis() -> None:
    found = drawn([Dot("a", 0.25, 0.1, 0.4), Dot("b", 0.5, hollow=True)])
    texts = [(str(text.text), float(text.attrib["x"])) for text in found.iter("text")]
    ticks = sorted((float(said), x) for said, x in texts if re.fullmatch(r"-?[\d.]+", said))
    (low, left), (high, right) = ticks[0], ticks[-1]
    expected = [left + (value - low) / (high - low) * (right - left) for value in (0.25, 0.5)]
    assert [float(dot.attrib["cx"]) for dot in found.iter("circle")] == pytest.approx(expected, abs=0.1)
    assert [dot.attrib["class"] for dot in found.iter("circle")] == ["dot", "hollow"]


@pytest.mark.parametrize("seed", range(30))
def test_nothing_leaves_the_picture(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a sample
    rows = [
        ("W" * draw.randint(1, 60), draw.choice((1e-3, 1.0, 1e6)) * draw.uniform(-1, 1), draw.uniform(0, 1e5))
        for _ in range(draw.randint(1, 12))
    ]
    found = drawn([Dot(name, value, value - half, value + half) for name, value, half in rows])
    _, _, width, height = map(float, found.attrib["viewBox"].split())
    for part in found.iter():
        for x in [*part.attrib.get("cx", "").split(), *re.findall(r"[MH]([-\d.]+)", part.attrib.get("d", ""))]:
            assert 0 <= float(x) <= width
    for text in found.iter("text"):
        x, room = float(text.attrib["x"]), 7.5 * len(str(text.text)) * (0.9 if text.text == AXIS else 1)
        before, after = (room, 0) if text.get("text-anchor") == "end" else (room / 2, room / 2)
        assert x - before >= 0
        assert x + after <= width
        assert float(text.attrib["y"]) <= height
