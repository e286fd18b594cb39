"""Every result that `analysis.present` shows: a short repr, a piece of HTML, LaTeX, a DataFrame, and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx.analysis as analysis
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.support.result import Shown
from tests.analysis.render.test_results import check_latex

NAMES = ["good", "50%_x", "poor & slow"]


@cache
def table() -> Mapping[str, Any]:
    draw = np.random.default_rng(3)
    human, other = draw.normal(size=(2, 40))
    poor = draw.normal(size=40)
    return {"human": human, "good": human + 0.3 * other, "50%_x": other, "poor & slow": poor, "lp": ["a", "b"] * 20}


def _challenge() -> analysis.ChallengeResult:
    pairs = [
        MinimalPair(
            f"good {i}",
            f"bad {i}",
            "ref",
            None,
            ("negation", "5%_more")[i % 2],
            "major",
            "en",
            f"i{i // 2}",
            f"row {i}",
        )
        for i in range(8)
    ]
    high, low = np.arange(8.0) + 1, np.arange(8.0)
    return analysis.challenge(pairs, {"m_1": (high, low), "n": (low, low + [0, 1] * 4)})


BUILDERS: dict[str, Callable[[], Shown]] = {
    "ChallengeResult": _challenge,
    "PairsResult": lambda: analysis.detect_pairs([0, 1] * 20, {name: table()[name] for name in NAMES}, resamples=20),
    "Robustness": lambda: analysis.robustness(
        ["The cat sat on 3 mats.", "A dog ran home late."] * 3,
        {"m_1": lambda c, r: np.array([len(set(a.split()) & set(b.split())) / 5 for a, b in zip(c, r, strict=True)])},
        ["typos", "negation"],
        resamples=20,
        strengths=[0.3],
        lang="en",
    ),
    "TriplesResult": lambda: analysis.prefer_paraphrase(
        {"m_1": (table()["good"], table()["50%_x"]), "n": (table()["good"], table()["poor & slow"])}, resamples=20
    ),
}


@cache
def made(name: str) -> Shown:
    found = BUILDERS[name]()
    assert type(found).__name__ == name
    return found


@pytest.mark.parametrize("name", BUILDERS)
def test_results_are_at_home_in_notebooks_and_papers(name: str) -> None:
    result = made(name)
    shown = repr(result)
    assert len(shown) < 400
    assert "\n" not in shown
    assert "array(" not in shown
    assert shown.startswith(f"{name}(")
    page = result._repr_html_()
    assert page.count("<table>") == page.count("</table>") >= 1
    assert 'class="bsx-result"' in page
    frame = result.to_pandas()
    assert len(frame) > 0
    assert len(set(frame.columns)) == len(frame.columns)
    check_latex(result.to_latex(data="wmt_17 & co"), data=r"wmt\_17 \& co")
    assert len(result.to_text()) <= len(result.to_text(full=True))


@pytest.mark.parametrize("name", BUILDERS)
def test_results_draw_themselves(name: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    assert "<svg" in made(name).plot(tmp_path / "a.svg").svg()
    assert (tmp_path / "a.svg").stat().st_size > 1000
