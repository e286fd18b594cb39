"""What a run of metric cards returns: a card for each metric, with its tables and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.cards.leaderboard import card_figures
from bsx.analysis.documents.cards import CardDocument
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.errors import UnknownNameError
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(eq=False, repr=False)
class CardRun(InNotebooks):
    """What came out.

    Attributes:
        cards: one for each metric.
        files: what was read.
        notes: what the reader should know.
    """

    cards: list[CardDocument]
    files: list[Path]
    notes: list[str]

    @property
    def short(self) -> str:
        """Metrics and tables."""
        return f"{', '.join(card.metric for card in self.cards)}; {len(self.files)} tables"

    def sheets(self) -> Sequence[Sheet]:
        """Return each card's figures; a page of the whole card is `bsx.analysis.card_report`."""
        made = []
        for card in self.cards:
            rows = []
            for at, value, ends, _ in card_figures(card):
                low, high = ends or (None, None)
                shown = f"{value:.4f}" + ("" if low is None or high is None else f" [{low:.4f}, {high:.4f}]")
                where = " ".join(filter(None, (at.level, at.group))) or "-"
                rows.append([at.part, at.data, where, at.figure, shown])
            header = ["part", "table", "where", "figure", "value"]
            made.append(Sheet(f"Card of {card.metric}; 95 % intervals", header, rows, card.signature, names=4))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure of each card."""
        rows = []
        for card in self.cards:
            for at, value, ends, _ in card_figures(card):
                low, high = ends or (None, None)
                rows.append({"metric": card.metric, **vars(at), "value": value, "low": low, "high": high})
        return rows

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw agreement with people on every table, metrics in colours."""
        dots = []
        for card in self.cards:
            for at, value, ends, _ in card_figures(card):
                if at.part == "agreement":
                    row = " ".join(filter(None, (at.data, at.level, at.group)))
                    dots.append(Dot(row, value, *(ends or (None, None)), series=card.metric))
        return draw_dots({"": dots}, "agreement with people", path, line=0)

    def to_dict(self) -> JsonObject:
        """Return the card of one metric; of several, all of them under ``cards``."""
        if len(self.cards) == 1:
            return self.cards[0].to_dict()
        return {"cards": [card.to_dict() for card in self.cards]}

    def __getitem__(self, metric: str) -> CardDocument:
        """Return the card of a metric.

        Raises:
            UnknownNameError: if there is none; names those there are.
        """
        for card in self.cards:
            if card.metric == metric:
                return card
        raise UnknownNameError(f"there is no card of {metric!r}: there are {', '.join(c.metric for c in self.cards)}")
