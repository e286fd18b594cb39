"""Agreement with several judgments of the same rows: one meta-evaluation for each column of human scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.agreement.result import MetaResult
from bsx.analysis.documents.agreement import JudgmentsDocument
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet, titled
from bsx.errors import UnknownNameError
from bsx.support.near import did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Judgments(InNotebooks):
    """Meta-evaluations of the same metrics, one for each judgment.

    Attributes:
        results: one for each column of human scores, in the order given.
    """

    results: tuple[MetaResult, ...]

    def __iter__(self) -> Iterator[MetaResult]:
        """Yield the result of each judgment."""
        return iter(self.results)

    def __len__(self) -> int:
        """Return the number of judgments."""
        return len(self.results)

    def __getitem__(self, human: str) -> MetaResult:
        """Return the result with one column of human scores.

        Raises:
            UnknownNameError: if it is none of them.
        """
        names = [one.human for one in self.results]
        if human not in names:
            raise UnknownNameError(
                f"there is no judgment {human!r}; there are {', '.join(names)}.{did_you_mean(human, names)}"
            )
        return self.results[names.index(human)]

    @property
    def short(self) -> str:
        """Figure, judgments and metrics."""
        first = self.results[0]
        return f"{first.headline} of {', '.join(first.metrics)} with {', '.join(one.human for one in self.results)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out or turned round; what holds for all judgments is said once."""
        every = [one.notes for one in self.results]
        shared = [note for note in every[0] if all(note in notes for notes in every)]
        own = [f"{one.human}: {note}" for one in self.results for note in one.notes if note not in shared]
        return (*shared, *own)

    def to_document(self) -> JudgmentsDocument:
        """Return the document that ``bsx meta`` prints, without provenance."""
        return JudgmentsDocument(judgments=[one.to_document() for one in self.results], notes=list(self.notes))

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what is not defined is None."""
        return self.to_document().to_dict()

    def sheets(self) -> Sequence[Sheet]:
        """Return the tables of each judgment, under its name."""
        return [titled(sheet, one.human) for one in self.results for sheet in one.sheets()]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return the rows of all judgments; ``human`` says whose they are."""
        return [{"human": one.human, **row} for one in self.results for row in one.records()]

    def to_text(self) -> str:
        """Return the tables of each judgment, under its name, for a terminal."""
        return "\n\n".join(f"judgment {one.human}\n\n{one.to_text()}" for one in self.results)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw every metric's agreement with each judgment, with its interval, group by group."""
        first = self.results[0]
        panels = {
            group.group: [
                Dot(found.metric, found.value, found.low, found.high, one.human)
                for one in self.results
                for other in one.groups
                if other.group == group.group
                for found in other.metrics
            ]
            for group in first.groups
        }
        return draw_dots(panels, f"{first.headline} with people", path, line=0)
