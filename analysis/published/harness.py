"""Published tables, recomputed: each is one YAML and one function, all go through here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.analysis.documents.reproduction import LeftOut, ReproduceDocument, ReproducedTable
from bsx.analysis.published import demetr, effeval, eval4nlp, flickr8k, kaster2021, mteb, paws, wmt17, wmt22_auto
from bsx.analysis.published.table import Figure, PublishedFacts, Score, Work, judged
from bsx.analysis.render.html import html_piece
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.render.tables import markdown_escape
from bsx.analysis.report.documents import Document
from bsx.analysis.report.result import Report
from bsx.analysis.report.sections.reproduction import (
    cell_rows,
    reasons_of,
    repeated,
    reproduced,
    summary_line,
    summary_rows,
)
from bsx.data.picture import COLOURS, label, picture
from bsx.errors import DataUnavailableError, InputError, UnknownNameError
from bsx.support.aligned import text_table
from bsx.support.near import did_you_mean
from bsx.support.progress import Watch, told
from bsx.support.provenance import Provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TITLE = "Published tables, recomputed"
TABLES: dict[str, tuple[PublishedFacts, Callable[[Work], list[Figure]]]] = {
    "kaster2021": (kaster2021.FACTS, kaster2021.recompute),
    "effeval": (effeval.FACTS, effeval.recompute),
    "wmt22-auto": (wmt22_auto.FACTS, wmt22_auto.recompute),
    "mteb": (mteb.FACTS, mteb.recompute),
    "wmt17": (wmt17.FACTS, wmt17.recompute),
    "demetr": (demetr.FACTS, demetr.recompute),
    "eval4nlp": (eval4nlp.FACTS, eval4nlp.recompute),
    "flickr8k": (flickr8k.FACTS, flickr8k.recompute),
    "paws": (paws.FACTS, paws.recompute),
}
"""Name -> what its YAML states, and the function that recomputes it."""
WITH_TEXTS = ("effeval", "wmt17", "flickr8k", "paws")
"""Tables that other metrics can stand in."""


@dataclass(frozen=True, repr=False)
class Reproduced(InNotebooks):
    """Published figures beside ours.

    Attributes:
        document: everything, as it is printed.
        files: what was read.
    """

    document: ReproduceDocument
    files: tuple[Path, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no cell is beyond its tolerance without a reason."""
        return self.document.ok

    def __getitem__(self, name: str) -> ReproducedTable:
        """Return a table.

        Raises:
            UnknownNameError: if it was not recomputed.
        """
        if name not in self.document.tables:
            known = ", ".join(self.document.tables)
            raise UnknownNameError(f"{name} was not recomputed; there are {known}.{did_you_mean(name, TABLES)}")
        return self.document.tables[name]

    @property
    def short(self) -> str:
        """Tables, cells, and whether all are met."""
        cells = sum(len(table.cells) for table in self.document.tables.values())
        end = "all" if self.ok else "not all"
        return f"{', '.join(self.document.tables)}; {cells} figures, {end} met or with a reason"

    def sheets(self) -> Sequence[Sheet]:
        """Return a table of figures for each publication."""
        made = []
        for table in self.document.tables.values():
            heads, rows = cell_rows(table, reasons_of(table))
            cells = [[cell.text for cell in row] for row in rows]
            title = f"{table.title}; {table.source}; n = {len(table.cells)} figures, no tests"
            note = " ".join(f"({number}) {reason}" for number, reason in enumerate(reasons_of(table), start=1))
            made.append(Sheet(title, list(heads), cells, note, names=len(heads) - 4))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure."""
        return [
            {"table": name, "called": table.called, **{f"at_{key}": value for key, value in cell.at.items()}}
            | {what: getattr(cell, what) for what in ("published", "ours", "difference", "tolerance", "verdict")}
            for name, table in self.document.tables.items()
            for cell in table.cells
        ]

    def plot(self, path: str | Path | None = None) -> Picture:
        """Draw our figures over those published, publications in colours; on the line both are the same."""
        with picture(path, 5.6, 4.2) as figure:
            axes = figure.subplots()
            for k, (name, table) in enumerate(self.document.tables.items()):
                known = [(c.published, c.ours) for c in table.cells if c.published is not None and c.ours is not None]
                if known:
                    axes.plot(*zip(*known, strict=True), "o", ms=3, color=COLOURS[k % len(COLOURS)], label=label(name))
            axes.axline((0, 0), slope=1, color="#666666", lw=0.8)
            called = dict.fromkeys(table.called for table in self.document.tables.values())
            axes.set(xlabel=" or ".join(called), ylabel="ours")
            axes.legend(fontsize=8)
        return figure

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values for JSON."""
        return self.document.to_dict()

    def to_text(self) -> str:
        """Return every cell, then a summary."""
        blocks = []
        for name, table in self.document.tables.items():
            reasons = reasons_of(table)
            heads, rows = cell_rows(table, reasons)
            lines = [f"{name}: {table.title}", table.source, ""]
            lines.append(
                text_table([heads, *([cell.text for cell in row] for row in rows)], "l" * (len(heads) - 4) + "rrrl")
            )
            lines += ["", *(f"({number}) {reason}" for number, reason in enumerate(reasons, start=1))]
            lines += [f"Not recomputed: {left.what}: {left.reason}." for left in table.left_out]
            blocks.append("\n".join(lines).rstrip())
        heads, rows = summary_rows(self.document)
        if rows:
            blocks.append(text_table([heads, *([cell.text for cell in row] for row in rows)], "lr"))
        blocks += ["\n".join(f"Left out: {left.what}: {left.reason}" for left in self.document.left_out)]
        return "\n\n".join([*filter(None, blocks), summary_line(self.document)])

    def to_report(self, origin: Mapping[str, object] | None = None) -> Report:
        """Return the same as a report, which has the ways out `to_html` and `to_markdown` and can be saved.

        Args:
            origin: where it comes from, see `bsx.support.provenance.provenance`.
        """
        sections = reproduced([Document("reproduction", None, self.document)])
        if origin is not None:
            sections.append(repeated(Provenance.read(origin)))
        return Report(TITLE, tuple(sections))

    def to_markdown(self, *, data: str = "", signatures: Mapping[str, str] | None = None) -> str:
        """Return every cell as Markdown, below a summary; ``data`` says what they are of."""
        said = [markdown_escape(data)] if data else []
        below = [markdown_escape(f"{name}: {signature}") for name, signature in (signatures or {}).items()]
        return "\n\n".join([*said, self.to_report().to_markdown(), *below])

    def to_html(self) -> str:
        """Return every cell as one HTML page, below a summary.

        Raises:
            MissingExtraError: if the packages of the extra ``report`` are missing.
        """
        return self.to_report().to_html()

    def _repr_html_(self) -> str:
        return html_piece("\n\n".join(sheet.to_markdown() for sheet in self.sheets()))


def reproduce(
    names: Sequence[str] | None,
    data: Path | str,
    *,
    score: Score | None = None,
    beside: Sequence[str] = (),
    lex: bool = True,
    wmt17: Path | None = None,
    progress: Watch = None,
) -> Reproduced:
    """Recompute published tables and set them beside what was published.

    Args:
        names: tables, of `TABLES`; None for all that the data allow.
        data: folder of the data: each table's own folder or the one above; see docs/evaluate/reproduce.md.
        score: computes a metric: from its spec, candidates and references to an object with ``values``, ``system`` and
            ``higher_is_better``, such as ``lambda spec, c, r: bsx.get_metric(spec).score(c, r)``. Without it, tables
            for which texts have to be scored are left out.
        beside: specs of metrics whose figures to put beside the published ones, in the tables `WITH_TEXTS`.
        lex: for kaster2021, recompute lexical overlaps from the texts.
        wmt17: for kaster2021, table of WMT17's segment judgments.
        progress: called with a phase's name, what is done, and what there is in all; True draws bars.

    Returns:
        Published, ours, difference and a verdict for each cell. With ``names=None``, tables whose data are missing are
        listed with the reason.

    Raises:
        UnknownNameError: for an unknown table.
        DataUnavailableError: if the data of a named table are missing, or those of all tables.
        InputError: naming file and row of data that are not as published.
    """
    progress = told(progress)
    folder = Path(data)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder of data")
    for name in names or ():
        if name not in TABLES:
            raise UnknownNameError(f"{name}: no such table; known are {', '.join(TABLES)}.{did_you_mean(name, TABLES)}")
    if beside and names is not None and not set(names) & set(WITH_TEXTS):
        raise InputError(f"`beside=` needs a table that other metrics can stand in: {', '.join(WITH_TEXTS)}")
    tables: dict[str, ReproducedTable] = {}
    left_out: list[LeftOut] = []
    read: list[Path] = []
    for name in dict.fromkeys(TABLES if names is None else names):
        facts, recompute = TABLES[name]
        work = Work(folder, score, beside, progress, {"lex": lex, "wmt17": wmt17})
        try:
            tables[name] = judged(facts, recompute(work), work.left_out)
        except DataUnavailableError as error:
            if names is not None:
                raise
            left_out.append(LeftOut(what=name, reason=str(error)))
            continue
        read += [path for path in work.read if path.is_file() and path not in read]
    if not tables:
        raise DataUnavailableError(f"{folder}: has the data of no published table; the first: {left_out[0].reason}")
    document = ReproduceDocument(
        ok=not any(table.count("off") for table in tables.values()), tables=tables, left_out=left_out
    )
    return Reproduced(document, tuple(read))
