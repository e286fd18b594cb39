"""What a disentangling regression returns, with its ways out: text, CSV, JSON, Markdown, LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from bsx.analysis.disentangling.fits import Regressions
from bsx.analysis.disentangling.tables import as_csv, as_document, as_latex, as_markdown, as_text


@dataclass(frozen=True)
class DisentangleResult(Regressions):
    """The regressions of all metrics; see `bsx.analysis.disentangling.fits.Regressions` for what it holds."""

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values for JSON; a number that is not finite becomes None."""
        return as_document(self).to_dict()

    def to_text(self, *, decimals: int = 3, truncate: bool = False) -> str:
        """Return tables for the terminal; ``truncate`` cuts figures off instead of rounding, as the paper does."""
        return as_text(self, decimals, truncate=truncate)

    def to_csv(self) -> str:
        """Return one line a metric and factor, full precision, with a header."""
        return as_csv(self)

    def to_markdown(self, *, decimals: int = 2, truncate: bool = False) -> str:
        """Return the paper's table (metric, coefficients, R²; a star for p >= alpha) in Markdown."""
        return as_markdown(self, decimals, truncate=truncate)

    def to_latex(self, *, decimals: int = 2, truncate: bool = False) -> str:
        """Return the paper's table (metric, coefficients, R²; a star for p >= alpha) in LaTeX (booktabs)."""
        return as_latex(self, decimals, truncate=truncate)
