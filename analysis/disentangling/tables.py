"""Tests beside the regressions as text: nested models, and two metrics' coefficients compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bsx.analysis.disentangling.checks import NestedTest
from bsx.analysis.render.numbers import p_value
from bsx.analysis.stats.results import Comparison
from bsx.support.aligned import text_table


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
