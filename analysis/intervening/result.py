"""What interventions return, with their ways out: JSON, text, Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.documents.base import Interval
from bsx.analysis.documents.intervening import EffectRow, InterveneDocument
from bsx.analysis.intervening.plots import draw_interventions
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.numbers import p_value
from bsx.analysis.render.sheets import Sheet
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05

PAIR_COLUMNS = ("row", "edit", "aim", "reference", "original", "edited")
"""The columns of the table of pairs, before those of factors and metrics."""
HEAD = ("factor", "observed", "", "edited", "", "difference", "", "p")


@dataclass(frozen=True)
class EditedText:
    """A text and its edited form.

    Attributes:
        edit: name of the perturbation.
        aim: factor that it is for, or ``surface``.
        row: number of the text, from 1.
        reference: what it is compared with.
        original: the text.
        edited: the same after the edit.
        changes: factor -> how far it fell, in its own units.
        falls: metric -> how far its score fell; NaN where it has none.
    """

    edit: str
    aim: str
    row: int
    reference: str
    original: str
    edited: str
    changes: dict[str, float]
    falls: dict[str, float]


@dataclass(frozen=True, repr=False)
class Interventions(InNotebooks):
    """What metrics react to.

    Attributes:
        document: everything but the pairs, as ``bsx intervene`` prints it, without provenance.
        pairs: every minimal pair.
    """

    document: InterveneDocument
    pairs: tuple[EditedText, ...] = field(repr=False)

    def effect(self, metric: str, factor: str) -> EffectRow:
        """Return one factor's coefficients in one metric.

        Raises:
            KeyError: if there are none.
        """
        for row in self.document.effects:
            if (row.metric, row.factor) == (metric, factor):
                return row
        raise KeyError((metric, factor))

    @property
    def short(self) -> str:
        """Metrics, factors and pairs."""
        metrics = ", ".join(fit.metric for fit in self.document.fits)
        return f"{metrics} on {', '.join(self.document.factors)}; {len(self.pairs)} edited texts"

    def sheets(self) -> Sequence[Sheet]:
        """Return a table of coefficients for each metric, then what the edits move."""
        made = []
        for title, (_, *rows) in effect_tables(self.document):
            cells = []
            for name, observed, span1, edited, span2, difference, span3, p in rows:
                pairs = ((observed, span1), (edited, span2), (difference, span3))
                mark = "†" if p and float(p.removeprefix("<")) < ALPHA else ""
                cells.append([name, *(f"{value} {ends}".strip() for value, ends in pairs), p + mark])
            names = ["factor", "observed", "edited", "difference", "p"]
            made.append(Sheet(title, names, cells, f"{_legend(self.document)}. †: p < {ALPHA}."))
        header, *rows = edit_rows(self.document)
        return [*made, Sheet("What the edits move", header, rows, names=2)]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a metric and factor."""
        rows = []
        for effect in self.document.effects:
            row = {name: value for name, value in effect.to_dict().items() if not name.endswith("_ci")}
            for name in ("observed", "edited", "difference"):
                ends: Interval = getattr(effect, f"{name}_ci")
                row |= dict(zip((f"{name}_low", f"{name}_high"), ends or (None, None), strict=True))
            rows.append(row)
        return rows

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw each metric's observed and edited coefficients with their intervals."""
        return draw_interventions(self.document, path)

    def to_dict(self) -> dict[str, object]:
        """Return plain values; what is not defined is None."""
        return self.document.to_dict()

    def to_text(self) -> str:
        """Return tables for the terminal."""
        tables = [*effect_tables(self.document), ("What the edits move", edit_rows(self.document))]
        blocks = [f"{title}\n{text_table(rows, 'lr')}" for title, rows in tables]
        return "\n\n".join([*blocks, _legend(self.document)]) + "\n"

    def save_pairs(self, path: Path, rows: Sequence[Mapping[str, object]] = ()) -> None:
        """Write every minimal pair with what it moved and what that cost: .tsv, .csv, .jsonl or .parquet.

        Args:
            path: the table.
            rows: further columns of each text that was edited; none may be called as one of the table's own.
        """
        from bsx.data.output import ScoreTable

        with ScoreTable(path) as table:
            for pair in self.pairs:
                cells: dict[str, object] = {name: getattr(pair, name) for name in PAIR_COLUMNS}
                cells |= {n: v for n, v in (rows[pair.row - 1] if rows else {}).items() if n not in cells}
                cells |= {f"fall of {name}": value for name, value in pair.changes.items()}
                cells |= {f"fall of {name}": value for name, value in pair.falls.items()}
                table.write(cells)


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure, or nothing for one that is not defined."""
    return "" if value is None or value != value else f"{value:.{digits}f}"


def span(ends: tuple[float | None, float | None] | None) -> str:
    """Return an interval, or nothing for one that is not defined."""
    low, high = ends if ends is not None else (None, None)
    return "" if low is None or high is None or low != low else f"[{low:.3f}, {high:.3f}]"


def effect_tables(content: InterveneDocument) -> list[tuple[str, list[Sequence[str]]]]:
    """Return a table of coefficients for each metric, with its title."""
    found: list[tuple[str, list[Sequence[str]]]] = []
    for fit in content.fits:
        title = f"{fit.metric}: {fit.n_edited:,} edited texts, R² {number(fit.r2_edited, 2)}"
        if fit.n_observed:
            title = (
                f"{fit.metric}: {fit.n_observed:,} texts observed, R² {number(fit.r2_observed, 2)}; "
                + title[len(fit.metric) + 2 :]
            )
        if fit.p is not None:
            title += f"; same coefficients: p {p_value(fit.p)}"
        rows: list[Sequence[str]] = [HEAD]
        for row in content.effects:
            if row.metric == fit.metric:
                rows.append(
                    (
                        row.factor,
                        number(row.observed),
                        span(row.observed_ci),
                        number(row.edited),
                        span(row.edited_ci),
                        number(row.difference),
                        span(row.difference_ci),
                        "" if row.p_adjusted is None else p_value(row.p_adjusted),
                    )
                )
        found.append((title, rows))
    return found


def edit_rows(content: InterveneDocument) -> list[Sequence[str]]:
    """Return the table of edits: how many, what each moves, and how far each metric falls."""
    metrics = [fit.metric for fit in content.fits]
    drops = {(row.metric, row.edit): row for row in content.drops}
    factors = list(dict.fromkeys(name for row in content.edits for name in row.changes))
    rows: list[Sequence[str]] = [("edit", "aim", "n", *(f"Δ{name}" for name in factors), *metrics)]
    for row in content.edits:
        cells = [row.edit, row.aim, str(row.n), *(number(row.changes.get(name)) for name in factors)]
        for metric in metrics:
            drop = drops.get((metric, row.edit))
            cells.append("" if drop is None else f"{number(drop.drop, 2)} ({number(drop.expected, 2)})")
        rows.append(cells)
    return rows


def _legend(content: InterveneDocument) -> str:
    corrected = "" if content.correction == "none" else f", {content.correction}"
    return (
        "observed: sd of the score for 1 sd of the factor, among texts as they come; edited: the same where edits "
        f"moved the factor; {100 * content.confidence:g}% intervals, by sentence; p: both are the same{corrected}. "
        "Δ: mean fall of a factor; under a metric: its mean fall in sd, and what the factors predict"
    )
