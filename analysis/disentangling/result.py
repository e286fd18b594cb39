"""What a disentangling regression returns, with its ways out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.disentangling.bends import Bend
from bsx.analysis.disentangling.checks import NestedTest
from bsx.analysis.disentangling.fits import Coefficients, MetricFit, Notice
from bsx.analysis.disentangling.mediation import MediatedPath
from bsx.analysis.disentangling.noise.reliability import Reliability
from bsx.analysis.disentangling.noise.tipping import TippingPoint
from bsx.analysis.disentangling.plots import draw_coefficients
from bsx.analysis.disentangling.variants import Variant
from bsx.analysis.documents.disentangling import DisentangleDocument, FitRow, FitsRow
from bsx.analysis.documents.sheets import further_sheets, variance_sheets
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import explained, figure, p_value
from bsx.analysis.render.sheets import Sheet, latex_tables, markdown_tables
from bsx.analysis.stats.clusters import Correction
from bsx.analysis.stats.regression import PooledTest, StandardErrors
from bsx.analysis.stats.results import Comparison
from bsx.errors import InputError, UnknownNameError
from bsx.support.aligned import text_table
from bsx.support.near import did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSV_COLUMNS = (
    *("group", "n", "metric", "factor", "coef", "se", "statistic", "p", "p_adjusted", "significant"),
    *("ci_low", "ci_high", "boot_low", "boot_high", "vif", "r2_share", "partial_r2", "semipartial_r2", "r2", "adj_r2"),
    *("r2_low", "r2_high", "r2_out", "partial_low", "partial_high", "semipartial_low", "semipartial_high"),
    *("importance", "variant", "noisy", "zero_below", "insignificant_below"),
)


@dataclass(frozen=True, repr=False)
class DisentangleResult(InNotebooks):
    """The regressions of all metrics.

    Attributes:
        n: rows fitted.
        factors: names.
        results: one fit a metric.
        se: kind of standard errors.
        se_reason: why they were chosen; empty where they were asked for.
        reference: distribution behind p and ``ci``, in words.
        intercept: whether the models have one.
        confidence: level of all intervals.
        alpha: p below which a coefficient is significant.
        correction: for many coefficients.
        bootstrap: resamples; 0 if none.
        omitted: rows left out because a number was missing.
        condition_number: of the standardised factors (largest over smallest singular value).
        warnings: what to know before the numbers are believed.
        groups: group -> its own result, if groups were asked for.
        pooled: one test a metric of "all groups have the same coefficients".
        reliability: of the factors whose noise was corrected for.
        simex: simulations, if SIMEX was asked for.
        variants: the same coefficients, estimated otherwise.
        tipping: reliabilities of noisy factors at which other coefficients vanish.
        bends: what curves gain over straight lines, if that was asked.
        mediation: what factors do through another one, if that was asked.
    """

    n: int
    factors: tuple[str, ...]
    results: tuple[MetricFit, ...]
    se: StandardErrors
    se_reason: str
    reference: str
    intercept: bool
    confidence: float
    alpha: float
    correction: Correction
    bootstrap: int
    omitted: int
    condition_number: float
    warnings: tuple[Notice, ...]
    groups: dict[str, DisentangleResult] = field(default_factory=dict)
    pooled: tuple[PooledTest, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    simex: int = 0
    variants: tuple[Variant, ...] = ()
    tipping: tuple[TippingPoint, ...] = ()
    bends: tuple[Bend, ...] = ()
    mediation: tuple[MediatedPath, ...] = ()

    @property
    def short(self) -> str:
        """Metrics, factors and rows."""
        return f"{', '.join(fit.metric for fit in self.results)} on {', '.join(self.factors)}; {self.n} rows"

    @property
    def parts(self) -> dict[str, DisentangleResult]:
        """All rows together, under the empty name, then every group."""
        return {"": self, **self.groups}

    def __getitem__(self, metric: str) -> MetricFit:
        """Return a metric's fit.

        Raises:
            UnknownNameError: if there is none; lists those there are.
        """
        for fit in self.results:
            if fit.metric == metric:
                return fit
        names = [fit.metric for fit in self.results]
        raise UnknownNameError(f"no metric {metric!r}; there are {', '.join(names)}.{did_you_mean(metric, names)}")

    def variant(self, name: str) -> Variant:
        """Return the coefficients estimated in another way.

        Raises:
            UnknownNameError: if there is none of this name; lists those there are.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        names = [variant.name for variant in self.variants]
        raise UnknownNameError(
            f"no variant {name!r}; there are {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
        )

    def __iter__(self) -> Iterator[MetricFit]:
        """Iterate over the fits."""
        return iter(self.results)

    def to_document(
        self,
        *,
        tests: Mapping[str, Sequence[NestedTest]] | None = None,
        comparison: tuple[str, str, Mapping[str, Comparison]] | None = None,
        seed: int | None = None,
    ) -> DisentangleDocument:
        """Return the document that ``bsx disentangle`` prints, without provenance.

        Args:
            tests: metric -> nested tests, if there were any.
            comparison: two metrics, and factor -> the comparison of their coefficients, if there was one.
            seed: of the resamples.
        """
        more: dict[str, object] = {}
        if self.groups:
            more["groups"] = [{"group": name, **_regressions(part)} for name, part in self.groups.items()]
            more["pooled"] = [asdict(test) for test in self.pooled]
        if tests:
            more["tests"] = {name: [asdict(test) for test in found] for name, found in tests.items()}
        if comparison is not None:
            a, b, by = comparison
            more["comparison"] = {"a": a, "b": b, "by": {name: asdict(found) for name, found in by.items()}}
        if seed is not None:
            more["seed"] = seed
        if self.reliability:
            more["reliability"] = [
                {"factor": one.factor, "value": one.value, "source": one.source} for one in self.reliability
            ]
            more["simex"] = self.simex
        for what in ("variants", "tipping", "bends", "mediation"):
            if found := getattr(self, what):
                more[what] = [asdict(one) for one in found]
        return DisentangleDocument.model_validate(_regressions(self) | more)

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values for JSON; a number that is not finite becomes None."""
        return self.to_document().to_dict()

    def to_text(self, *, decimals: int = 3, truncate: bool = False) -> str:
        """Return tables for the terminal; ``truncate`` cuts figures off instead of rounding, as the paper does."""
        blocks = [_caption(self) + "\n" + _table(self, decimals, truncate=truncate)]
        names = list(self.factors)

        def table(title: str, cells: Mapping[str, Sequence[str]], header: Sequence[str]) -> str:
            return title + "\n" + text_table([["metric", *header], *([name, *row] for name, row in cells.items())])

        def span(ends: tuple[float, float]) -> str:
            return f"{figure(ends[0], decimals)}..{figure(ends[1], decimals)}"

        level = f"{100 * self.confidence:g} %"
        intervals = {fit.metric: [span(fit.ci[name]) for name in names] for fit in self.results}
        blocks.append(table(f"{level} intervals (analytic)", intervals, names))
        if self.bootstrap:
            sampled = {
                fit.metric: [
                    *(span(fit.ci_bootstrap[name]) for name in names),
                    span(fit.r2_bootstrap or (math.nan,) * 2),
                ]
                for fit in self.results
            }
            title = f"{level} intervals (percentiles of {self.bootstrap} resamples)"
            blocks.append(table(title, sampled, [*names, "R²"]))
        shares = {
            fit.metric: [*(figure(fit.r2_share[name], decimals) for name in names), figure(fit.adj_r2, decimals)]
            for fit in self.results
        }
        blocks.append(table("shares of R² (Shapley/LMG; they sum to R²)", shares, [*names, "adj. R²"]))
        document = self.to_document()
        sheets = variance_sheets(document, decimals)
        blocks += [sheet.to_text() for sheet in sheets]
        vif = ", ".join(f"{name} {value:.2f}" for name, value in self.results[0].vif.items())
        blocks.append(f"VIF: {vif}; condition number {self.condition_number:.2f}")
        for name, part in self.groups.items():
            blocks.append(f"group {name}: {_caption(part)}\n{_table(part, decimals, truncate=truncate)}")
        if self.pooled:
            rows_ = {
                test.metric: [
                    figure(test.statistic, 2),
                    str(test.df1),
                    p_value(test.p),
                    *map(p_value, test.by_factor.values()),
                ]
                for test in self.pooled
            }
            title = f"do the groups share their coefficients? ({self.pooled[0].method}; p for all, and for each factor)"
            blocks.append(table(title, rows_, ["F", "df", "p", *names]))
        blocks += [sheet.to_text() for sheet in further_sheets(document, decimals)]
        notes = [f"warning ({notice.name}): {notice.message}" for notice in self.warnings]
        if self.omitted:
            notes.append(f"{self.omitted} rows left out because a number is missing")
        return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])])

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a group, metric and factor, full precision; the group is empty for all rows together."""
        rows: list[dict[str, object]] = []
        shares = ("statistic", "vif", "r2_share", "partial_r2", "semipartial_r2", "importance")
        for group, part in self.parts.items():
            for fit in part.results:
                for name in part.factors:
                    row = {"group": group, "n": part.n, **_coefficient(fit, name)}
                    row |= {what: getattr(fit, what)[name] for what in shares}
                    row |= {"r2": fit.r2, "adj_r2": fit.adj_r2, "r2_out": fit.r2_out}
                    partial, semipartial = fit.partial_r2_ci[name], fit.semipartial_r2_ci[name]
                    ends = {"r2": fit.r2_ci, "partial": partial, "semipartial": semipartial}
                    for what, (low, high) in (ends | {"boot": fit.ci_bootstrap.get(name, (None, None))}).items():
                        row |= {f"{what}_low": low, f"{what}_high": high}
                    rows.append(row)
        for variant in self.variants:
            for other in variant.results:
                more = {"n": self.n, "r2": other.r2, "variant": variant.name}
                rows += [{**_coefficient(other, name), **more} for name in variant.factors]
        for point in self.tipping:
            found = {name: getattr(point, name) for name in CSV_COLUMNS if hasattr(point, name)}
            rows.append({"n": self.n, **found, "variant": "tipping-point"})
        return [{name: "" if row.get(name) is None else row[name] for name in CSV_COLUMNS} for row in rows]

    def sheets(self, *, decimals: int = 2, truncate: bool = False) -> Sequence[Sheet]:
        """Return the paper's table (metric, coefficients, R²; a dagger for p < alpha), one a group, then all others.

        Args:
            decimals: of the figures.
            truncate: cut figures off instead of rounding, as the paper does.

        Raises:
            InputError: for decimals under 1 or over 10.
        """
        made = []
        for name, part in self.parts.items():
            header, *rows = _paper_rows(part, decimals, truncate=truncate)
            title = _caption(part) + ("; uncorrected" if part.correction == "none" else "")
            made.append(Sheet(f"{name}: {title}" if name else title, header, rows))
        document = self.to_document()
        return [*made, *variance_sheets(document, decimals), *further_sheets(document, decimals)]

    def to_markdown(
        self,
        *,
        data: str = "",
        signatures: Mapping[str, str] | None = None,
        decimals: int = 2,
        truncate: bool = False,
    ) -> str:
        """Return `sheets` as Markdown, see `bsx.analysis.render.notebook.InNotebooks.to_markdown`."""
        return markdown_tables(self.sheets(decimals=decimals, truncate=truncate), data=data, signatures=signatures)

    def to_latex(
        self,
        *,
        data: str = "",
        signatures: Mapping[str, str] | None = None,
        label: str = "",
        decimals: int = 2,
        truncate: bool = False,
    ) -> str:
        """Return `sheets` as LaTeX, see `bsx.analysis.render.notebook.InNotebooks.to_latex`."""
        made = self.sheets(decimals=decimals, truncate=truncate)
        return latex_tables(made, data=data, signatures=signatures, label=label or self._label())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw every metric's coefficients with their intervals; hollow ones are not significant."""
        return draw_coefficients(self, path)


def _coefficient(fit: Coefficients, factor: str) -> dict[str, object]:
    low, high = fit.ci[factor]
    found = {what: getattr(fit, what)[factor] for what in ("coef", "se", "p", "p_adjusted")}
    significant = str(fit.significant[factor]).lower()
    return {"metric": fit.metric, "factor": factor, **found, "significant": significant, "ci_low": low, "ci_high": high}


def _regressions(result: DisentangleResult) -> dict[str, object]:
    found = {name: getattr(result, name) for name in FitsRow.model_fields if hasattr(result, name)}
    notices = [{"name": notice.name, "message": notice.message} for notice in result.warnings]
    return {**found, "results": [_fit(fit, result) for fit in result.results], "warnings": notices}


def _fit(fit: MetricFit, result: DisentangleResult) -> FitRow:
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


def _paper_rows(result: DisentangleResult, decimals: int, *, truncate: bool) -> list[list[str]]:
    """Return the cells of the paper's table, header first: metric, coefficients with daggers, R²."""
    if not 1 <= decimals <= 10:
        raise InputError(f"decimals={decimals}: from 1 to 10")
    rows = [["metric", *result.factors, "R²"]]
    for fit in result.results:
        cells = [
            figure(fit.coef[name], decimals, truncate=truncate) + ("†" if fit.significant[name] else "")
            for name in result.factors
        ]
        rows.append([fit.metric, *cells, explained(fit.r2, decimals, truncate=truncate)])
    return rows


def _caption(result: DisentangleResult) -> str:
    kind = {"classic": "classic", "hc3": "HC3", "cluster": "cluster-robust"}[result.se]
    corrected = {"none": "", "holm": ", corrected after Holm", "bh": ", corrected after Benjamini-Hochberg"}
    why = f"; {result.se_reason}" if result.se_reason else ""
    return (
        f"n = {result.n}; standardised coefficients; † p < {result.alpha:g} ({kind} standard errors, "
        f"{result.reference}{corrected[result.correction]}{why})"
    )


def _table(result: DisentangleResult, decimals: int, *, truncate: bool) -> str:
    header, *rows = _paper_rows(result, decimals, truncate=truncate)
    return Sheet("", header, rows).table_text()
