"""What tests on pairs and on triples come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.adversarial.pairs import PairDetection, PairsResult
from bsx.analysis.adversarial.tables import (
    draw_pairs,
    draw_triples,
    pairs_records,
    pairs_sheets,
    pairs_text,
    triples_records,
    triples_sheets,
    triples_text,
)
from bsx.analysis.adversarial.triples import TriplesResult
from bsx.analysis.documents.adversarial import PairsDocument, TriplesDocument
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.data.output import ScoreTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(eq=False, repr=False)
class Fooled(InNotebooks):
    """What came out.

    Attributes:
        document: rates, areas, tests, splits, worst examples.
        files: what was read.
        settings: what was asked for, by name.
        signatures: metric -> signature, of those that scored here.
        notes: what the reader should know.
        about: what the metrics say of themselves.
        results: what was found on each file of pairs, or on the one of triples.
    """

    document: PairsDocument | TriplesDocument
    files: list[Path]
    settings: dict[str, object]
    signatures: dict[str, str]
    notes: list[str]
    about: list[str]
    results: list[PairsResult] | list[TriplesResult]

    def to_dict(self) -> dict[str, object]:
        """Return everything but the provenance, for other programs."""
        return {**self.document.to_dict(), "settings": self.settings, "notes": self.notes}

    def to_text(self) -> str:
        """Return tables, for people."""
        found = self.document
        return pairs_text(found) if isinstance(found, PairsDocument) else triples_text(found)

    @property
    def short(self) -> str:
        """Metrics and files."""
        return f"{', '.join(one.metric for one in self.document.results)}; {', '.join(f.name for f in self.files)}"

    def sheets(self) -> Sequence[Sheet]:
        """Return figures of all metrics, and their tests."""
        found = self.document
        return pairs_sheets(found) if isinstance(found, PairsDocument) else triples_sheets(found)

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric."""
        found = self.document
        return pairs_records(found) if isinstance(found, PairsDocument) else triples_records(found)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the figures of all metrics with their intervals."""
        found = self.document
        return draw_pairs(found, path) if isinstance(found, PairsDocument) else draw_triples(found, path)

    def _label(self) -> str:
        return "tab:pairs" if isinstance(self.document, PairsDocument) else "tab:triples"

    def save_curves(self, path: Path) -> None:
        """Write precision and recall by threshold on the first file of pairs."""
        with ScoreTable(path) as table:
            for one in self.results[0].results:
                if isinstance(one, PairDetection):
                    curve = one.curve
                    for row in zip(curve.thresholds, curve.precision, curve.recall, strict=True):
                        cells = dict(zip(("threshold", "precision", "recall"), map(float, row), strict=True))
                        table.write({"metric": one.metric, **cells})
