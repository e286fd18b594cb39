"""Disentangling regressions as text, CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from bsx.analysis.disentangling.checks import NestedTest
from bsx.analysis.disentangling.fits import MetricFit, Regressions
from bsx.analysis.documents.disentangling import DisentangleDocument, FitRow
from bsx.analysis.render.numbers import explained, figure, p_value
from bsx.analysis.render.tables import csv_table, latex_escape, latex_table, markdown_escape, markdown_table
from bsx.analysis.stats.results import Comparison
from bsx.errors import InputError
from bsx.support.aligned import text_table

CSV_COLUMNS = (
    *("group", "n", "metric", "factor", "coef", "se", "statistic", "p", "p_adjusted", "significant"),
    *("ci_low", "ci_high", "boot_low", "boot_high", "vif", "r2_share", "partial_r2", "semipartial_r2", "r2", "adj_r2"),
)


def as_document(
    result: Regressions,
    *,
    tests: Mapping[str, Sequence[NestedTest]] | None = None,
    comparison: tuple[str, str, Mapping[str, Comparison]] | None = None,
    seed: int | None = None,
) -> DisentangleDocument:
    """Return the document that ``bsx disentangle`` prints, without provenance.

    Args:
        result: the regressions.
        tests: metric -> nested tests, if there were any.
        comparison: two metrics, and factor -> the comparison of their coefficients, if there was one.
        seed: of the resamples.
    """
    more: dict[str, object] = {}
    if result.groups:
        more["groups"] = [{"group": name, **_regressions(part)} for name, part in result.groups.items()]
        more["pooled"] = [asdict(test) for test in result.pooled]
    if tests:
        more["tests"] = {name: [asdict(test) for test in found] for name, found in tests.items()}
    if comparison is not None:
        a, b, by = comparison
        more["comparison"] = {"a": a, "b": b, "by": {name: asdict(found) for name, found in by.items()}}
    if seed is not None:
        more["seed"] = seed
    return DisentangleDocument.model_validate(_regressions(result) | more)


def _regressions(result: Regressions) -> dict[str, object]:
    return {
        "n": result.n,
        "factors": result.factors,
        "results": [_fit(fit, result) for fit in result.results],
        "se": result.se,
        "reference": result.reference,
        "intercept": result.intercept,
        "confidence": result.confidence,
        "alpha": result.alpha,
        "correction": result.correction,
        "bootstrap": result.bootstrap,
        "omitted": result.omitted,
        "condition_number": result.condition_number,
        "warnings": [{"name": notice.name, "message": notice.message} for notice in result.warnings],
    }


def _fit(fit: MetricFit, result: Regressions) -> FitRow:
    dominates = {how: getattr(fit.dominance, how) for how in ("completely", "conditionally", "generally")}
    content = {name: getattr(fit, name) for name in FitRow.model_fields if hasattr(fit, name)}
    content["conditional_dominance"] = dict(zip(result.factors, fit.dominance.conditional.tolist(), strict=True))
    content["dominates"] = dominates
    asked = {
        "intercept": result.intercept,
        "intercept_se": result.intercept,
        "p_adjusted": result.correction != "none",
        "ci_bootstrap": result.bootstrap,
        "r2_bootstrap": result.bootstrap,
        "r2_share_bootstrap": result.bootstrap,
    }
    return FitRow.model_validate({name: value for name, value in content.items() if asked.get(name, True)})


def _check_decimals(decimals: int) -> None:
    if not 1 <= decimals <= 10:
        raise InputError(f"decimals={decimals}: from 1 to 10")


def _paper_rows(result: Regressions, decimals: int, *, truncate: bool) -> list[list[str]]:
    """Return the cells of the paper's table, header first: metric, coefficients with stars, R²."""
    _check_decimals(decimals)
    rows = [["metric", *result.factors, "R²"]]
    for fit in result.results:
        cells = [
            figure(fit.coef[name], decimals, truncate=truncate) + ("" if fit.significant[name] else "*")
            for name in result.factors
        ]
        rows.append([fit.metric, *cells, explained(fit.r2, decimals, truncate=truncate)])
    return rows


def _caption(result: Regressions) -> str:
    kind = {"classic": "classic", "hc3": "HC3", "cluster": "cluster-robust"}[result.se]
    corrected = {"none": "", "holm": ", corrected after Holm", "bh": ", corrected after Benjamini-Hochberg"}
    return (
        f"n = {result.n}; standardised coefficients; * p >= {result.alpha:g} ({kind} standard errors, "
        f"{result.reference}{corrected[result.correction]})"
    )


def as_text(result: Regressions, decimals: int, *, truncate: bool = False) -> str:
    """Return the tables for the terminal."""
    blocks = [_caption(result) + "\n" + _starred(_paper_rows(result, decimals, truncate=truncate))]
    names = list(result.factors)

    def table(title: str, cells: Mapping[str, Sequence[str]], header: Sequence[str]) -> str:
        return title + "\n" + text_table([["metric", *header], *([name, *row] for name, row in cells.items())])

    def span(ends: tuple[float, float]) -> str:
        return f"{figure(ends[0], decimals)}..{figure(ends[1], decimals)}"

    level = f"{100 * result.confidence:g} %"
    intervals = {fit.metric: [span(fit.ci[name]) for name in names] for fit in result.results}
    blocks.append(table(f"{level} intervals (analytic)", intervals, names))
    if result.bootstrap:
        sampled = {
            fit.metric: [*(span(fit.ci_bootstrap[name]) for name in names), span(fit.r2_bootstrap or (math.nan,) * 2)]
            for fit in result.results
        }
        title = f"{level} intervals (percentiles of {result.bootstrap} resamples)"
        blocks.append(table(title, sampled, [*names, "R²"]))
    shares = {
        fit.metric: [*(figure(fit.r2_share[name], decimals) for name in names), figure(fit.adj_r2, decimals)]
        for fit in result.results
    }
    blocks.append(table("shares of R² (Shapley/LMG; they sum to R²)", shares, [*names, "adj. R²"]))
    alone = {fit.metric: [figure(fit.semipartial_r2[name], decimals) for name in names] for fit in result.results}
    blocks.append(table("drop in R² without the factor (semi-partial R²)", alone, names))
    vif = ", ".join(f"{name} {value:.2f}" for name, value in result.results[0].vif.items())
    blocks.append(f"VIF: {vif}; condition number {result.condition_number:.2f}")
    for name, part in result.groups.items():
        rows = _starred(_paper_rows(part, decimals, truncate=truncate))
        blocks.append(f"group {name}: {_caption(part)}\n{rows}")
    if result.pooled:
        rows_ = {
            test.metric: [
                figure(test.statistic, 2),
                str(test.df1),
                p_value(test.p),
                *map(p_value, test.by_factor.values()),
            ]
            for test in result.pooled
        }
        title = f"do the groups share their coefficients? ({result.pooled[0].method}; p for all, and for each factor)"
        blocks.append(table(title, rows_, ["F", "df", "p", *names]))
    notes = [f"warning ({notice.name}): {notice.message}" for notice in result.warnings]
    if result.omitted:
        notes.append(f"{result.omitted} rows left out because a number is missing")
    return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])])


def _starred(rows: Sequence[Sequence[str]]) -> str:
    """Return the paper's table as text; a star hangs over the edge of its column."""
    return text_table([[row[0], *(c if c.endswith("*") else f"{c} " for c in row[1:])] for row in rows])


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


def as_csv(result: Regressions) -> str:
    """Return one line a group, metric and factor; the group is empty for all rows together."""
    rows: list[list[object]] = [[*CSV_COLUMNS]]
    for group, part in result.parts.items():
        for fit in part.results:
            for name in part.factors:
                boot = fit.ci_bootstrap.get(name, ("", ""))
                numbers = [fit.coef, fit.se, fit.statistic, fit.p, fit.p_adjusted]
                shares = [fit.vif, fit.r2_share, fit.partial_r2, fit.semipartial_r2]
                ends = [str(fit.significant[name]).lower(), *fit.ci[name], *boot]
                last = [*(share[name] for share in shares), fit.r2, fit.adj_r2]
                rows.append([group, part.n, fit.metric, name, *(x[name] for x in numbers), *ends, *last])
    return csv_table(rows)


def as_markdown(result: Regressions, decimals: int, *, truncate: bool = False) -> str:
    """Return the paper's table in Markdown, one for each group after the one for all rows."""
    blocks = []
    for name, part in result.parts.items():
        rows = [[markdown_escape(cell) for cell in row] for row in _paper_rows(part, decimals, truncate=truncate)]
        title = f"**{markdown_escape(name)}**: " if name else ""
        caption = title + markdown_escape(_caption(part))
        blocks.append(f"{markdown_table(rows, range(1, len(rows[0])))}\n\n{caption}")
    return "\n\n".join(blocks) + "\n"


def as_latex(result: Regressions, decimals: int, *, truncate: bool = False) -> str:
    """Return the paper's table in LaTeX, one for each group after the one for all rows."""
    blocks = []
    for name, part in result.parts.items():
        header, *rows = _paper_rows(part, decimals, truncate=truncate)
        lines = [
            r"\begin{table}",
            r"\centering",
            latex_table(
                [
                    [*(latex_escape(cell) for cell in header[:-1]), "$R^2$"],
                    *([latex_escape(row[0]), *map(_latex_number, row[1:])] for row in rows),
                ]
            ),
            rf"\caption{{{latex_escape(name + ': ') if name else ''}{_latex_caption(part)}}}",
            r"\end{table}",
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _latex_number(cell: str) -> str:
    return f"${cell.removesuffix('*')}$" + (r"\rlap{$^*$}" if cell.endswith("*") else "")


def _latex_caption(result: Regressions) -> str:
    caption = latex_escape(_caption(result)).replace("n =", "$n$ =", 1)
    return caption.replace(r"* p \textgreater{}=", r"$^*$ $p \geq$", 1)
