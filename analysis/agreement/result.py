"""What a meta-evaluation returns, with its ways out: text, CSV, JSON, LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bsx.analysis.agreement.groups import Evaluation
from bsx.analysis.agreement.tables import as_csv, as_latex, as_text
from bsx.analysis.render.numbers import plain


@dataclass(frozen=True)
class MetaResult(Evaluation):
    """A meta-evaluation; see `bsx.analysis.agreement.groups.Evaluation` for what it holds."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; what is not defined is None."""
        average = [{"metric": a.metric, **a.figures, "ci": [a.low, a.high], "wins": a.wins} for a in self.average]
        content = {
            "groups": [group.to_dict() for group in self.groups],
            "average": {"groups": len(self.groups), "metrics": average},
            "headline": self.headline,
            "human": self.human,
            "settings": self.settings.model_dump(),
            "notes": list(self.notes),
        }
        shown: dict[str, Any] = plain(content)
        return shown

    def to_text(self) -> str:
        """Return tables for a terminal; an asterisk marks winners."""
        return as_text(self)

    def to_csv(self) -> str:
        """Return one row a group and metric, the averages last."""
        return as_csv(self)

    def to_latex(self) -> str:
        """Return a LaTeX table (booktabs): metrics by groups, winners bold, intervals below."""
        return as_latex(self)
