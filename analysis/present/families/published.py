"""What recomputed tables look like: how many published figures are met, those that are off, and every figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bsx.analysis.present import charts
from bsx.analysis.present.cells import NONE, estimate, interval, number, p_value, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Cell, Chart, Commands, Heading, Notes, Part, Prose, TablePart
from bsx.analysis.published.kaster.ensembles import FILE, Table13
from bsx.analysis.published.kaster.result import TOLERANCE, PublishedCell, Reproduction, name_of
from bsx.analysis.published.kaster.triples import WHY_300, TripleReproduction
from bsx.analysis.published.kaster2021 import published
from bsx.analysis.published.result import Reproduced, ReproducedCell, ReproducedTable
from bsx.support.provenance import Provenance


@presents(Reproduced, section=("reproduced", "Published tables beside ours"))
def parts(result: Reproduced) -> Iterator[Part]:
    """Yield how many figures are met, the tables, what is off or left out, then every figure."""
    yield Answer(_summary(result))
    heads = ["table", "cells", "met", "exceptions", "no longer needed", "off", "ours only", "tolerance used"]
    rows = []
    for name, one in result.tables.items():
        counts = [one.count(verdict) for verdict in ("met", "exception", "exception no longer needed", "off", "ours")]
        rows.append([text(name), number(len(one.cells)), *(number(count) for count in counts), _used(one)])
    note = "Tolerance used: of the cells that are met, the largest share of its tolerance that a difference takes."
    yield table("Cells by table", heads, rows, note=note)
    yield from _off(result)
    if result.left_out:
        yield Notes(tuple(f"Left out: {one.what}: {one.reason}." for one in result.left_out))
    yield from _chart(result)
    for name, one in result.tables.items():
        yield from _whole(name, one)
    if result.provenance is not None:
        yield from _repeated(result.provenance)


@lists(Reproduced)
def rows(result: Reproduced) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure."""
    for name, one in result.tables.items():
        for cell in one.cells:
            at = {f"at_{key}": value for key, value in cell.at.items()}
            what = ("published", "ours", "difference", "tolerance", "verdict")
            yield {"table": name, "called": one.called, **at} | {key: getattr(cell, key) for key in what}


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


def _summary(result: Reproduced) -> str:
    tables = result.tables.values()
    lines = []
    for called in dict.fromkeys(one.called for one in tables):
        own = [one for one in tables if one.called == called]
        every = sum(len(one.cells) - one.count("ours") for one in own)
        met = sum(one.count("met", "exception no longer needed") for one in own)
        noun = "table" if len(own) == 1 else "tables"
        lines.append(f"{met:,} of {every:,} {called} figures in {len(own)} {noun} are met within their tolerance.")
    exceptions, off = (sum(one.count(verdict) for one in tables) for verdict in ("exception", "off"))
    stale = sum(one.count("exception no longer needed") for one in tables)
    line = " ".join(lines)
    if exceptions:
        line += f" Off for a named reason: {exceptions}."
    if stale:
        line += f" Named as exceptions, but met: {stale}."
    return f"{line} Off without a reason: {off}."


def _used(one: ReproducedTable) -> Cell:
    """Return the largest share of its tolerance that a cell takes, of those that meet it."""
    shares = [
        abs(cell.difference) / cell.tolerance
        for cell in one.cells
        if cell.verdict.endswith(("met", "needed")) and cell.tolerance and cell.difference is not None
    ]
    used = max(shares, default=None)
    return Cell(NONE) if used is None else Cell(f"{used:.0%}" if used >= 0.005 or used == 0 else "< 1%", used)


def _off(result: Reproduced) -> Iterator[TablePart]:
    found = [
        [text(name), text(" ".join(value for value in cell.at.values() if value)), *_numbers(cell)]
        for name, one in result.tables.items()
        for cell in one.cells
        if cell.verdict == "off"
    ]
    if found:
        heads = ["table", "figure", "published", "ours", "difference"]
        yield table("Figures that are off without a reason", heads, found, names=2)


def _chart(result: Reproduced) -> Iterator[Chart]:
    """Yield our figures over those published; on the line both are the same."""
    panels = []
    for name, one in result.tables.items():
        points = [(cell.published, cell.ours) for cell in one.cells if cell.published is not None]
        if points:
            line = [(end, end) for end in (min(min(point) for point in points), max(max(point) for point in points))]
            alt = f"{name}: figures of ours over those published."
            panels.append((name, charts.scatter(points, alt=alt, x="published", y="ours", line=line)))
    if panels:
        yield Chart("Published figures and ours", "Ours over published; on the line both are the same.", tuple(panels))


def _whole(name: str, one: ReproducedTable) -> Iterator[Part]:
    reasons = list(dict.fromkeys(cell.reason for cell in one.cells if cell.reason))
    keys = list(dict.fromkeys(key for cell in one.cells for key in cell.at))
    found = [
        [*(text(cell.at.get(key) or NONE) for key in keys), *_numbers(cell), _verdict(cell, reasons)]
        for cell in one.cells
    ]
    yield Heading(f"{name}: {one.title}", full=True)
    yield Prose(f"Source: {one.source}. Data: {', '.join(one.data)}.", full=True)
    yield Notes(one.settings, full=True)
    heads = [*keys, one.called, "ours", "difference", "verdict"]
    yield table(f"Figures of {name}", heads, found, names=len(keys), folded=len(found) > 40, full=True)
    if reasons:
        yield Notes(tuple(f"({place}) {reason}" for place, reason in enumerate(reasons, start=1)), full=True)
    if one.left_out:
        left = [[text(part.what), text(part.reason)] for part in one.left_out]
        yield table(f"Not recomputed of {name}", ["what", "why"], left, sortable=False, full=True)


def _numbers(cell: ReproducedCell) -> list[Cell]:
    fine = cell.tolerance is not None and 0 < cell.tolerance < 1e-4
    decimals = 0 if cell.tolerance == 0 else 6 if fine else 4
    difference = number(cell.difference, decimals)
    if fine and cell.difference:
        difference = Cell(f"{cell.difference:+.1e}", cell.difference)
    elif difference.value is not None and not difference.text.startswith("-"):
        difference = Cell(f"+{difference.text}", difference.value)
    theirs = Cell(NONE) if cell.published is None else Cell(_shortest(cell.published, decimals), cell.published)
    return [theirs, number(cell.ours, decimals), difference]


def _shortest(value: float, decimals: int) -> str:
    """Return a published figure with the digits it has, at most so many decimals."""
    return min(f"{value:.{decimals}f}", f"{value:g}", key=len) if abs(value) < 1e5 else f"{value:,.0f}"


def _verdict(cell: ReproducedCell, reasons: Sequence[str]) -> Cell:
    remark = f" ({reasons.index(cell.reason) + 1})" if cell.reason else ""
    return Cell(f"{cell.verdict}{remark}", cell.verdict, strong=cell.verdict == "off")


def _repeated(origin: Provenance) -> Iterator[Part]:
    """Yield how to repeat the run: command, data, versions."""
    yield Heading("How to repeat this", full=True)
    yield Commands((origin.command,))
    files = [[text(file.name), text(file.sha256, code=True)] for file in origin.files]
    yield table("Data that were read", ["file", "sha256"], files, sortable=False, folded=True, full=True)
    versions = ", ".join(f"{package} {version}" for package, version in origin.versions.items())
    yield Prose(f"Versions: {versions}.", full=True)


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
