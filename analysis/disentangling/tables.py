"""Tests beside the regressions: nested models as text, and two metrics' coefficients compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.disentangling.checks import NestedTest
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.results import Comparison
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05


class CoefficientComparison(InNotebooks, dict[str, Comparison]):
    """Two metrics' coefficients compared: factor -> Comparison, and ``"r2"`` -> that of the explained variance.

    Attributes:
        a: the first metric.
        b: the second.
    """

    def __init__(self, a: str, b: str, found: Mapping[str, Comparison]) -> None:
        super().__init__(found)
        self.a, self.b = a, b

    @property
    def short(self) -> str:
        """Metrics and factors."""
        return f"{self.a} against {self.b} on {', '.join(name for name in self if name != 'r2')}"

    def sheets(self) -> Sequence[Sheet]:
        """Return a row a factor."""
        first = next(iter(self.values()))
        rows = []
        for name, c in self.items():
            difference = f"{c.difference:+.3f} [{c.low:.3f}, {c.high:.3f}]"
            p = f"{p_value(c.p_two_sided)}{'†' if c.p_two_sided < ALPHA else ''}"
            rows.append(["R²" if name == "r2" else name, f"{c.a:.3f}", f"{c.b:.3f}", difference, p])
        title = (
            f"{self.a} against {self.b}, n = {first.n}; {first.method}, {100 * first.confidence:g} % intervals, "
            "two-sided p, uncorrected"
        )
        return [Sheet(title, ["factor", self.a, self.b, "difference", "p"], rows, f"†: p < {ALPHA}.")]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a factor."""
        return [{"factor": name, **asdict(found)} for name, found in self.items()]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the differences with their intervals."""
        dots = [Dot("R²" if name == "r2" else name, c.difference, c.low, c.high) for name, c in self.items()]
        return draw_dots({"": dots}, f"coefficient of {self.a} less that of {self.b}", path, line=0)


def tests_sheets(tests: Mapping[str, Sequence[NestedTest]]) -> list[Sheet]:
    """Return nested tests as a table; metric -> its tests."""
    rows = []
    for metric, found in tests.items():
        for test in found:
            added = " + ".join(test.added) if test.name == "factors" else f"{test.name} ({', '.join(test.added)})"
            df = f"{test.df1}, {test.df2:g}" if math.isfinite(test.df2) else str(test.df1)
            figures = [f"{test.r2_base:.3f}", f"{test.r2_full:.3f}", f"{test.gain:+.3f}", f"{test.statistic:.2f}", df]
            rows.append([metric, added, *figures, f"{p_value(test.p)}{'†' if test.p < ALPHA else ''}"])
    if not rows:
        return []
    n = next(iter(tests.values()))[0].n
    title = f"What further terms explain, n = {n}; tests of nested models, uncorrected"
    header = ["metric", "added", "R² before", "after", "gain", "F or χ²/df", "df", "p"]
    return [Sheet(title, header, rows, f"†: p < {ALPHA}.", names=2)]


def tests_text(tests: Mapping[str, Sequence[NestedTest]]) -> str:
    """Return nested tests as text; metric -> its tests."""
    lines = []
    for metric, found in tests.items():
        for test in found:
            more = f"{' + '.join(test.added)} to {' + '.join(test.base) or 'nothing'}"
            asked = more if test.name == "factors" else f"{test.name} ({', '.join(test.added)})"
            # A robust test has no second degrees of freedom: it is Wald's chi-squared over its degrees of freedom.
            label = f"F({test.df1}, {test.df2:g})" if math.isfinite(test.df2) else f"chi²({test.df1})/{test.df1}"
            lines.append(
                f"{metric}: adding {asked}: R² {test.r2_base:.4f} -> {test.r2_full:.4f} (+{test.gain:.4f}), "
                f"{label} = {test.statistic:.2f}, p = {p_value(test.p)}"
            )
            if test.name in ("squares", "interactions"):
                terms = (f"{t} {test.coef[t]:+.3f} (p {p_value(test.term_p[t])})" for t in test.added)
                lines.append(f"  {', '.join(terms)}")
    return "\n".join(lines)


def comparison_text(a: str, b: str, comparison: Mapping[str, Comparison]) -> str:
    """Return the comparison of two metrics' coefficients as text."""
    first = next(iter(comparison.values()))
    rows = [["factor", a, b, "difference", f"{100 * first.confidence:g} % interval", "p"]]
    for name, c in comparison.items():
        numbers = [f"{c.a:.3f}", f"{c.b:.3f}", f"{c.difference:+.3f}", f"{c.low:.3f}..{c.high:.3f}"]
        rows.append(["R²" if name == "r2" else name, *numbers, p_value(c.p_two_sided)])
    return f"{a} against {b} ({first.method}; two-sided p)\n{text_table(rows)}"
