"""What is recomputed of Kaster, Zhao & Eger 2021: cells, examples and LEX columns.

The paper prints coefficients and R² with two decimals. Coefficients are cut off, not rounded; R² is rounded to three
decimals first, as a summary of the fit shows it, and then cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import ClassVar, TypedDict

import yaml

from benchmarks.published.kaster.ensembles import EnsembleFacts, Table13
from benchmarks.published.kaster.triples import TripleFacts, TripleReproduction
from bsx.support.result import Result

TOLERANCE = 0.01
LEX_SHARE = 0.95
WHY_LEX = (
    "the published column was computed on the tokens of NLTK 3.5 after its Punkt model had cut the texts into "
    "sentences; that trained model is a download, so sentences are cut by rules here, and where the two disagree a "
    "full stop is a word of its own for one and part of a word for the other; the other rows that differ hold dashes, "
    "apostrophes or quotation marks that a later NLTK cuts otherwise"
)
FITTED_LEX = (
    "the rules' list of abbreviations was fitted to the published scores, so the rows above are no independent check: "
    "with an empty list 8368 rows (WMT) and 5523 rows (STS) are equal, with the list 8590 and 5744"
)
WHY_NOT_LEX = "the translations behind the cross-lingual LEX columns are not published, so only English is recomputed"


class FileFacts(TypedDict):
    """A file of scores: its name in the authors' repository, its size, its columns."""

    file: str
    rows: int
    columns: list[str]


class TableFacts(TypedDict):
    """A table as printed: for each metric the coefficients in the order of the factors, then R²."""

    table: str
    part: str
    file: str
    factors: list[str]
    cells: dict[str, list[str]]


class ExceptionFacts(TypedDict):
    """A cell known not to match, and why."""

    table: str
    part: str
    metric: str
    term: str
    reason: str


class ExampleFacts(TypedDict):
    """An example pair with its printed z-scores; rows counted from 1."""

    file: str
    row: int
    terms: list[str]
    printed: list[str]


class Published(TypedDict):
    """``kaster2021.yaml``."""

    files: dict[str, FileFacts]
    metrics: dict[str, str]
    factors: dict[str, str]
    tables: list[TableFacts]
    digits: list[ExceptionFacts]
    exceptions: list[ExceptionFacts]
    examples: list[ExampleFacts]
    triples: dict[str, TripleFacts]
    table13: EnsembleFacts


def published() -> Published:
    """Return the figures printed in the paper and where its data are."""
    file = Path(__file__).parent.with_name("kaster2021.yaml")
    content: Published = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content


@dataclass(frozen=True)
class PublishedCell:
    """One figure of a table.

    Attributes:
        table: its number.
        part: of the table.
        metric: column of the response.
        term: column of the factor, or ``R2``.
        paper: as printed, with the paper's star.
        ours: recomputed, in full precision.
        printed: ours as the paper would print it, with a star for p >= 0.05.
        difference: ours - paper.
        p: of the coefficient; None for R².
        matches: the digits are the paper's.
        star_matches: p >= 0.05 exactly where the paper has a star.
        off: more than `TOLERANCE` away and not a documented exception.
        exception: why it is one of the cells known not to match; empty for others.
    """

    table: str
    part: str
    metric: str
    term: str
    paper: str
    ours: float
    printed: str
    difference: float
    p: float | None
    matches: bool
    star_matches: bool
    off: bool
    exception: str


@dataclass(frozen=True)
class Recomputed:
    """A LEX column computed anew from the texts.

    Attributes:
        file: of the texts.
        rows: pairs.
        equal: pairs with the published score (to 1e-9).
        different_rows: the others, counted from 1.
        largest: largest difference.
        coefficients: largest change of a figure of Table 3 if the recomputed column takes the published one's place.
    """

    file: str
    rows: int
    equal: int
    different_rows: tuple[int, ...]
    largest: float
    coefficients: float


@dataclass(frozen=True)
class PublishedExample:
    """One z-score of Table 1; attributes as in `PublishedCell`, ``row`` counted from 1."""

    file: str
    row: int
    term: str
    paper: str
    ours: float
    printed: str
    matches: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Reproduction(Result):
    """Everything recomputed. A cell is named by its table, part, metric and term.

    Attributes:
        paper: which.
        ok: whether no cell is off, Tables 1, 6 and 13 are met, and enough of LEX is recomputed.
        cells: those of Tables 3, 4, 10 and 12.
        count: how many.
        match: how many have the paper's digits.
        different: names of the others.
        off: names of those more than `TOLERANCE` away that are no documented exception.
        stars_unexplained: names of those whose star does not follow from p.
        lex: the columns of lexical overlap, recomputed.
        lex_notes: what to know of them.
        table1: z-scores of the examples.
        triples: Figure 3 and Table 6; None where the data have none.
        table13: gains of ensembles; None where WMT17's human judgments are not at hand.
    """

    kind: ClassVar[str] = "reproduce-kaster2021"

    paper: str
    ok: bool
    cells: tuple[PublishedCell, ...]
    count: int
    match: int
    different: tuple[str, ...]
    off: tuple[str, ...]
    stars_unexplained: tuple[str, ...]
    lex: tuple[Recomputed, ...]
    lex_notes: tuple[str, ...]
    table1: tuple[PublishedExample, ...]
    triples: TripleReproduction | None
    table13: Table13 | None


def summed_up(
    cells: Sequence[PublishedCell],
    examples: Sequence[PublishedExample],
    lex: Sequence[Recomputed],
    triples: TripleReproduction | None,
    table13: Table13 | None,
) -> Reproduction:
    """Return everything recomputed with what does not match."""
    enough = all(column.equal >= LEX_SHARE * column.rows for column in lex)
    met = (triples is None or not any(cell.off for cell in triples.table6)) and (table13 is None or table13.ok)
    near = all(abs(example.ours - float(example.paper)) <= TOLERANCE for example in examples)
    return Reproduction(
        paper="kaster2021",
        ok=not any(cell.off for cell in cells) and enough and met and near,
        cells=tuple(cells),
        count=len(cells),
        match=sum(cell.matches for cell in cells),
        different=tuple(name_of(cell) for cell in cells if not cell.matches),
        off=tuple(name_of(cell) for cell in cells if cell.off),
        stars_unexplained=tuple(name_of(cell) for cell in cells if not cell.star_matches),
        lex=tuple(lex),
        lex_notes=(WHY_LEX, FITTED_LEX, WHY_NOT_LEX) if lex else (),
        table1=tuple(examples),
        triples=triples,
        table13=table13,
    )


def published_cell(
    key: tuple[str, str, str, str], paper: str, ours: float, p: float | None, exception: str
) -> PublishedCell:
    """Return a cell: where it is, what is printed there, our figure with its p, and why it may not match."""
    value, starred = float(paper.removesuffix("*")), paper.endswith("*")
    shown = cut_off(round(ours, 3) if p is None else ours)
    star = p is not None and p >= 0.05
    return PublishedCell(
        *key,
        paper=paper,
        ours=ours,
        printed=shown + "*" * star,
        difference=ours - value,
        p=p,
        matches=float(shown) == value,
        star_matches=star == starred,
        off=abs(ours - value) > TOLERANCE and not exception,
        exception=exception,
    )


def cut_off(value: float) -> str:
    """Return a figure with two decimals, the others cut off; a zero has no sign.

    >>> cut_off(-0.0596), cut_off(0.29), cut_off(-0.004)
    ('-0.05', '0.29', '0.00')
    """
    # The detour over 12 decimals keeps 0.29, which is held as 0.28999…, from being cut to 0.28.
    shown = Decimal(f"{value:.12f}").quantize(Decimal("0.01"), rounding=ROUND_DOWN)
    return str(abs(shown) if shown == 0 else shown)


def name_of(cell: PublishedCell) -> str:
    """Return where a cell is."""
    return f"Table {cell.table} {cell.part}: {cell.metric} {cell.term}"
