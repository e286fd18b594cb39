"""What the recomputed tables of Kaster, Zhao & Eger 2021 look like: cells with other digits, then every table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.published.kaster.ensembles import FILE, Table13
from benchmarks.published.kaster.result import TOLERANCE, PublishedCell, Reproduction, name_of, published
from benchmarks.published.kaster.triples import WHY_300, TripleReproduction
from bsx.analysis.present.cells import estimate, interval, number, p_value, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Cell, Notes, Part, TablePart


@presents(Reproduction, section=("kaster2021", "Tables of Kaster, Zhao & Eger 2021"))
def kaster(result: Reproduction) -> Iterator[Part]:
    """Yield how many cells have the paper's digits, the cells that have others, then every table."""
    missed = f"NOT REPRODUCED: {len(result.off)} are off by more than {TOLERANCE}"
    off = missed if result.off else f"none outside the documented exceptions is off by more than {TOLERANCE}"
    yield Answer(
        f"{result.match} of {result.count} cells have the paper's digits once printed as it prints them (cut off after "
        f"two decimals; R² rounded to three first); {off}."
    )
    different = [cell for cell in result.cells if not cell.matches]
    if different:
        found = [
            [text(name_of(c)), text(c.paper), number(c.ours, 4), number(c.difference, 4), text(_why(c), strong=c.off)]
            for c in different
        ]
        heads = ["cell", "paper", "ours", "difference", "why"]
        yield table("Cells with other digits than the paper's", heads, found)
    remarks = [] if result.triples is not None else ["Figure 3 and Table 6 need freitag.tsv and paws.tsv."]
    if result.table13 is None:
        remarks.append(f"Table 13 needs the human judgments of WMT17: give {FILE} with wmt17.")
    if remarks:
        yield Notes(tuple(remarks))
    facts = published()
    names = {**facts["metrics"], **facts["factors"], "R2": "R²"}
    for key in dict.fromkeys((cell.table, cell.part) for cell in result.cells):
        yield _paper([cell for cell in result.cells if (cell.table, cell.part) == key], names)
    yield from _stars(result)
    found = [
        [text(e.file), number(e.row), text(names.get(e.term, e.term)), text(e.paper), _ours(e.ours, e.matches, 3)]
        for e in result.table1
    ]
    heads = ["file", "row", "factor", "paper", "ours"]
    yield table("Table 1, z-scores of the examples", heads, found, names=3, full=True)
    yield from _lex(result)
    yield from _triples(result.triples, names) if result.triples is not None else ()
    yield from _gains(result.table13) if result.table13 is not None else ()


@lists(Reproduction)
def cells(result: Reproduction) -> Iterator[Mapping[str, object]]:
    """Yield a row a cell of Tables 3, 4, 10 and 12."""
    for cell in result.cells:
        yield vars(cell)


def _why(cell: PublishedCell) -> str:
    return cell.exception or "not a documented exception"


def _ours(value: float, matches: bool, decimals: int = 4) -> Cell:
    return number(value, decimals, mark="" if matches else "!")


def _paper(found: Sequence[PublishedCell], names: Mapping[str, str]) -> TablePart:
    """Return a table of the paper, its figures beside ours."""
    terms = list(dict.fromkeys(cell.term for cell in found))
    shown = []
    for metric in dict.fromkeys(cell.metric for cell in found):
        own = [cell for cell in found if cell.metric == metric]
        both = (part for cell in own for part in (text(cell.paper), _ours(cell.ours, cell.matches)))
        shown.append([text(names.get(metric, metric)), *both])
    heads = ["metric", *(head for term in terms for head in (names.get(term, term), "ours"))]
    note = "!: other digits than the paper's. *: p ≥ 0.05 as the paper stars it."
    return table(f"Table {found[0].table}, {found[0].part}", heads, shown, note=note, sortable=False, full=True)


def _stars(result: Reproduction) -> Iterator[TablePart]:
    tested = [cell for cell in result.cells if cell.p is not None]
    starred = [cell.p for cell in tested if cell.paper.endswith("*") and cell.p is not None]
    bare = [cell.p for cell in tested if not cell.paper.endswith("*") and cell.p is not None]
    odd = [cell for cell in tested if not cell.star_matches]
    if odd:
        caption = (
            f"For {len(odd)} of {len(tested)} coefficients the star is not explained by the caption's p ≥ 0.05 (the "
            f"smallest p with a star is {min(starred, default=1):.5f}, the largest without {max(bare, default=0):.5f})"
        )
        found = [[text(name_of(cell)), text(cell.paper), p_value(cell.p)] for cell in odd]
        yield table(caption, ["cell", "paper", "p"], found, full=True)


def _lex(result: Reproduction) -> Iterator[Part]:
    if not result.lex:
        return
    found = [
        [
            text(one.file),
            number(one.rows),
            number(one.equal),
            text(", ".join(map(str, one.different_rows[:20])) or "none"),
            number(one.largest),
            number(one.coefficients, 5),
        ]
        for one in result.lex
    ]
    heads = ["file", "rows", "as published", "others", "differ by up to", "Table 3 moves by up to"]
    caption = "LEX recomputed from the texts (BLEU-1, sentence 1 as reference, case kept, brevity penalty)"
    yield table(caption, heads, found, full=True)
    yield Notes(tuple(f"{note[0].upper()}{note[1:]}." for note in result.lex_notes), full=True)


def _triples(result: TripleReproduction, names: Mapping[str, str]) -> Iterator[Part]:
    sets = dict.fromkeys((one.set, one.n) for one in result.figure3)
    found = []
    for metric in dict.fromkeys(one.metric for one in result.figure3):
        own = {(one.set, one.n): one for one in result.figure3 if one.metric == metric}
        rates = (estimate(own[key].rate, own[key].ci, 3) for key in sets)
        found.append([text(names.get(metric, metric)), *rates])
    caption = "Figure 3, share of triples with m(A, B) > m(A, C) and its 95 % Wilson interval (the paper prints none)"
    yield table(caption, ["metric", *(f"{name} {n}" for name, n in sets)], found, full=True)
    if result.table6:
        found = [
            [
                text(one.name),
                text(one.pair),
                text(one.paper),
                _ours(one.ours, not one.off),
                number(one.n),
                number(one.first, 4),
                number(one.raw, 4),
            ]
            for one in result.table6
        ]
        heads = ["set", "pair", "paper", "ours", "triples", "as many as the paper says", "without clean-up"]
        note = f"{WHY_300[0].upper()}{WHY_300[1:]}." if any(one.first is not None for one in result.table6) else ""
        yield table("Table 6, mean lexical overlap", heads, found, note=note, names=2, full=True)


def _gains(result: Table13) -> Iterator[Part]:
    found = [
        [
            text(one.ensemble),
            text(one.group),
            number(one.paper),
            _ours(one.ours, one.matches, 2),
            number(one.proper, 2),
            interval((one.low, one.high), 2),
        ]
        for one in result.cells
    ]
    averages = sum(one.group == "Avg" for one in result.cells)
    note = (
        f"{result.match} of {result.count} cells and {result.averages_match} of {averages} averages have the paper's "
        "percent (the others: !)."
    )
    heads = ["ensemble", "language pair", "paper", "ours with the paper's join", "with all rows", "interval"]
    caption = "Table 13, gains over the best member in per cent"
    yield table(caption, heads, found, note=note, names=2, full=True)
    dropped = ", ".join(f"{group} {count}" for group, count in result.dropped.items())
    yield Notes(
        (
            "The paper z-scored the outputs of all systems, of which only the judged ones are published.",
            f"The paper's join drops rows whose system field names several systems: {dropped}.",
            "The reference-free half does not follow from the published data.",
        ),
        full=True,
    )
