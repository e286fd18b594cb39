"""What people see of a result, whatever it is written as: sentences, tables, charts, notes and examples.

What is ``full`` belongs to the full form only; what is ``folded`` a reader of a page asks for first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: what is shown.
        value: what it is sorted by, in full precision; None sorts last.
        mark: what hangs behind it, such as ``†`` or ``†1,3``.
        heat: shade from 0 to 9 of a heat table, or None.
        strong: whether it stands out.
        code: whether it is a signature or the like.
    """

    text: str
    value: float | str | None = None
    mark: str = ""
    heat: int | None = None
    strong: bool = False
    code: bool = False

    @property
    def full(self) -> str | None:
        """The number in full, where less is shown."""
        if not isinstance(self.value, float) or repr(self.value).removesuffix(".0") == self.text:
            return None
        return repr(self.value)


@dataclass(frozen=True)
class Answer:
    """The answer to the question that was asked; the first part of every result.

    Attributes:
        text: one to three sentences.
        answers: whether it ranks what was evaluated, and so comes first at a glance of a report.
    """

    text: str
    answers: bool = False
    full: bool = False


@dataclass(frozen=True)
class TablePart:
    """A table of cells below the heads of its columns, the first of which heads its rows.

    Attributes:
        note: what its marks mean.
        names: how many columns at the left hold names.
        foot: how many of the last rows stand below a rule.
        sortable: whether a reader may want another order.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    names: int = 1
    foot: int = 0
    sortable: bool = True
    folded: bool = False
    full: bool = False

    @cached_property  # pages ask for every cell
    def numeric(self) -> frozenset[int]:
        """The columns whose first defined cell is a number."""
        columns = ((row[place].value for row in self.rows) for place in range(len(self.columns)))
        firsts = (next((value for value in values if value is not None), None) for values in columns)
        return frozenset(place for place, first in enumerate(firsts) if isinstance(first, int | float))


@dataclass(frozen=True)
class Chart:
    """A picture of a table's figures.

    Attributes:
        title: of the chart.
        alt: what it shows, for those who do not see it.
        panels: title ("" for one alone) and Vega-Lite specification of each panel, from `bsx.analysis.present.charts`.
        series: names of what colour and shape stand for; may be empty.
        fills: whether the series are areas, whose colours alternate between dark and light.
    """

    title: str
    alt: str
    panels: tuple[tuple[str, dict[str, object]], ...]
    series: tuple[str, ...] = ()
    fills: bool = False
    full: bool = True


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str
    full: bool = False


@dataclass(frozen=True)
class Heading:
    """The heading of a part of a section."""

    text: str
    full: bool = False


@dataclass(frozen=True)
class Notes:
    """Remarks that change how the figures are read."""

    items: tuple[str, ...]
    full: bool = False


@dataclass(frozen=True)
class Commands:
    """Commands to repeat."""

    lines: tuple[str, ...]
    full: bool = True


@dataclass(frozen=True)
class TextRun:
    """A piece of a text, with the white space after it, and whether it is not in the text it is compared with."""

    text: str
    differs: bool


@dataclass(frozen=True)
class AlignmentGrid:
    """A token alignment: cosines of the candidate's tokens (rows) with the reference's (columns), and P, R and F1.

    Each row has the column it is matched with, each column the row.
    """

    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cosines: tuple[tuple[float, ...], ...]
    row_match: tuple[int, ...]
    column_match: tuple[int, ...]
    summary: str


@dataclass(frozen=True)
class Example:
    """Texts side by side, each a label and pieces, with the metrics' scores and alignments of their tokens.

    Attributes:
        remark: why there is no alignment, if one was asked for.
        pairs: what a report may align: label, candidate and reference of each alignment.
    """

    title: str
    texts: tuple[tuple[str, tuple[TextRun, ...]], ...]
    scores: TablePart
    alignments: tuple[AlignmentGrid, ...] = ()
    remark: str = ""
    folded: bool = False
    pairs: tuple[tuple[str, str, str], ...] = ()
    full: bool = True


@dataclass(frozen=True)
class Segments:
    """All rows of a table of scores, one a segment and system.

    Attributes:
        numeric: columns of numbers, by place.
        metrics: those that hold scores, by place.
        category: the column to choose by, by place, or None.
        hidden: columns not shown at first, by place.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    numeric: frozenset[int]
    metrics: tuple[int, ...]
    category: int | None
    hidden: frozenset[int] = frozenset()
    full: bool = True


@dataclass(frozen=True)
class Surprise:
    """A finding that a reader would not expect; that of the largest size (0 to 1) of a report comes at a glance."""

    text: str
    size: float
    full: bool = True


Part = Answer | Prose | Heading | Notes | Commands | TablePart | Chart | Example | Segments | Surprise


@dataclass
class Section:
    """A section of a report: its name for links, its heading, the finding in a sentence, and its content.

    Attributes:
        answers: whether the lead ranks what was evaluated, and so comes first at a glance.
        surprises: findings in it that a reader would not expect.
    """

    id: str
    title: str
    lead: str = ""
    blocks: list[Part] = field(default_factory=list)
    answers: bool = False
    surprises: list[Surprise] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """What a report says below its heading, section by section."""

    title: str
    sections: tuple[Section, ...]

    @property
    def glance(self) -> list[tuple[str, str, str]]:
        """What is said at a glance: a section's id, a name and the finding, rankings first, then the one surprise."""
        answered = [section for section in self.sections if section.lead and section.id not in ("segments", "repeat")]
        results = [(surprise.size, section.id, surprise.text) for section in answered for surprise in section.surprises]
        lines = [(section.id, section.title, section.lead) for section in answered if section.answers]
        if results:
            _, place, text = max(results, key=lambda result: result[0])
            lines.append((place, "A surprise", text))
        return lines + [(section.id, section.title, section.lead) for section in answered if not section.answers]
