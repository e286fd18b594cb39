"""What a meta-evaluation returns, with its ways out: text, CSV, JSON, LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

from bsx.analysis.agreement.groups import Evaluation
from bsx.analysis.agreement.tables import as_csv, as_latex, as_text
from bsx.analysis.documents.agreement import MetaAverageRow, MetaDocument, MetaMetricRow


@dataclass(frozen=True)
class MetaResult(Evaluation):
    """A meta-evaluation; see `bsx.analysis.agreement.groups.Evaluation` for what it holds."""

    def to_document(self) -> MetaDocument:
        """Return the document that ``bsx meta`` prints, without provenance."""
        rows = [
            MetaMetricRow.model_validate({"metric": a.metric, **a.figures, "ci": (a.low, a.high), "wins": a.wins})
            for a in self.average
        ]
        return MetaDocument(
            groups=[group.to_row() for group in self.groups],
            average=MetaAverageRow(groups=len(self.groups), metrics=rows),
            headline=self.headline,
            human=self.human,
            settings=self.settings.model_dump(),
            notes=list(self.notes),
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what is not defined is None."""
        return self.to_document().to_dict()

    def to_text(self) -> str:
        """Return tables for a terminal; an asterisk marks winners."""
        return as_text(self)

    def to_csv(self) -> str:
        """Return one row a group and metric, the averages last."""
        return as_csv(self)

    def to_latex(self) -> str:
        """Return a LaTeX table (booktabs): metrics by groups, winners bold, intervals below."""
        return as_latex(self)
