"""The one table of error spans, read from any of the layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bsx.analysis.spans.layouts import OBJECTS, TABLES, Beside
from bsx.analysis.spans.marked import SEVERITIES, ErrorSpan, Gathered, MarkedOutput
from bsx.data.lines import NamedFile, Problems
from bsx.data.tables import Table
from bsx.errors import InputError

LAYOUTS = tuple(dict.fromkeys((*TABLES, *OBJECTS)))
"""Names of the layouts that `read_spans` knows."""
COLUMNS = (
    *("system", "document", "segment", "annotator", "side", "start", "end", "severity", "category"),
    *("candidate", "source"),
)
"""Columns of bsx's own table of spans."""


@dataclass(frozen=True)
class SpanTable:
    """Outputs with the errors that people, or a prediction, marked in them.

    Attributes:
        name: of the file.
        layout: that it was read from.
        outputs: one for each output and annotator; those without spans were found free of errors.
        notes: what was decided while it was read, with how many spans that is about.
        problems: rows left out as malformed, a line each.
    """

    name: str
    layout: str
    outputs: tuple[MarkedOutput, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def annotators(self) -> tuple[str, ...]:
        """Who marked, in the order of the file; the empty name stands for one who is not named."""
        return tuple(dict.fromkeys(output.annotator for output in self.outputs))

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield a row an error, and one with the severity no-error of each output without any; see `COLUMNS`."""
        for one in self.outputs:
            names = ("system", "document", "segment", "annotator", "candidate", "source")
            of = {name: getattr(one, name) for name in names}
            for span in one.spans or (ErrorSpan("candidate", None, None, "no-error"),):
                yield {name: (of | vars(span))[name] for name in COLUMNS}


def read_spans(
    path: Path | str,
    *,
    layout: str | None = None,
    texts: Path | str | None = None,
    judged: Path | str | None = None,
    severities: Sequence[str] = (),
    name: str | None = None,
    skip_malformed: bool = False,
) -> SpanTable:
    """Read error spans, whatever the layout, as half-open offsets of code points.

    Args:
        path: the file: a table, JSON lines or JSON.
        layout: one of `LAYOUTS`; told by the columns unless given.
        texts: table of the outputs' texts (system, segment, candidate; document and annotator if there), for layouts
            without texts.
        judged: table that names all outputs that were judged (system, segment, annotator or protocol), for layouts that
            list errors only; not needed if the texts name annotators.
        severities: ``name=severity``: what further names of severities count as.
        name: of the table; the file's, without its ending, unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Raises:
        InputError: naming file, line and value: a span outside its text or reversed, an unknown severity, two texts of
            one output; or if the layout cannot be told.
        UnknownNameError: for a missing column; lists those present.
    """
    problems = Problems(skip=skip_malformed)
    into = Gathered(problems, _mapping(severities))
    given = Beside(texts, judged)
    file = NamedFile(path)
    if file.suffix == ".json":
        kind = layout or "xcomet"
        if kind not in OBJECTS:
            raise InputError(f"layout {kind} is no JSON document; those are {', '.join(OBJECTS)}", file=file.name)
        OBJECTS[kind](file, into, given)
    else:
        table = Table(file, problems)
        kind = layout or _kind_of_table(table)
        if kind not in TABLES:
            raise InputError(f"layout {kind} is no table; those are {', '.join(TABLES)}", file=file.name)
        # What pandas writes quotes fields with tabs, quotation marks and line breaks; no other layout does.
        quoted = kind == "wmt" and file.suffix == ".tsv"
        TABLES[kind](Table(file, problems, quoted=True, separator="\t") if quoted else table, into, given)
    outputs = tuple(into.outputs())
    if not outputs:
        raise InputError("names no output that was judged", file=file.name)
    overlapping = sum(map(_overlaps, outputs))
    if overlapping:
        into.counted["overlapping another of the same annotator: each counts, as in WMT25's scorer"] += overlapping
    own = name if name is not None else _stem(file.path)
    notes = [f"{own}: {count:,} span{'s' * (count != 1)} {what}" for what, count in into.counted.items()]
    notes += [f"{own}: {note}" for note in into.notes]
    if problems.found:
        notes.append(f"{own}: {len(problems.found):,} malformed rows are left out, such as {problems.found[0]}")
    return SpanTable(own, kind, outputs, tuple(notes), tuple(problems.found))


WEIGHTS: Mapping[str, float] = {"neutral": 0.0, "undecided": 1.0, "minor": 1.0, "major": 5.0, "critical": 25.0}
"""What an error costs. Source: Freitag et al. 2021 for minor and major, Kocmi & Federmann 2023 for critical."""
PUNCTUATION, NON_TRANSLATION = 0.1, 25.0
"""What a minor error of punctuation costs, and an output that is no translation. Source: Freitag et al. 2021."""


def span_scores(tables: Sequence[SpanTable]) -> list[dict[str, object]]:
    """Score outputs by the errors marked in them, as MQM does: 0 without an error, else minus what the errors cost.

    Args:
        tables: from `read_spans`; their annotators' names must differ.

    Returns:
        A row an output: ``system``, ``document``, ``segment``, and for each annotator the score under the name and the
        number of major and critical errors under the name and `` majors``; None where one did not judge the output.

    Raises:
        InputError: if an annotator of two tables, or of two outputs, has the same name.
    """
    names: list[str] = []
    rows: dict[tuple[str, str, str], dict[str, object]] = {}
    for table in tables:
        own = {who: who or table.name for who in table.annotators}
        if twice := [name for name in own.values() if name in names]:
            raise InputError(f"two annotators are called {twice[0]!r}: rename a file")
        names += own.values()
        for one in table.outputs:
            key = (one.system, one.document or "", one.segment)
            row = rows.setdefault(key, dict(zip(("system", "document", "segment"), key, strict=True)))
            name = own[one.annotator]
            if name in row:
                raise InputError(f"{one.where}: {name!r} judged system {one.system!r}, segment {one.segment!r} twice")
            row[name] = -sum(map(_cost, one.spans)) if one.spans else 0.0
            row[f"{name} majors"] = sum(span.severity in ("major", "critical") for span in one.spans)
    columns = ["system", "document", "segment", *(f"{name}{part}" for name in names for part in ("", " majors"))]
    return [{column: row.get(column) for column in columns} for row in rows.values()]


def _cost(span: ErrorSpan) -> float:
    category = span.category.lower()
    if category.startswith("non-translation"):
        return NON_TRANSLATION
    return PUNCTUATION if span.severity == "minor" and "punctuation" in category else WEIGHTS[span.severity]


def _mapping(severities: Sequence[str]) -> Mapping[str, str]:
    """Return ``name=severity`` texts as name in small letters -> severity."""
    results = {}
    for text in severities:
        known, equals, counts_as = text.partition("=")
        if not equals or counts_as.strip().lower() not in SEVERITIES.values():
            allowed = ", ".join(dict.fromkeys(SEVERITIES.values()))
            raise InputError(f"severities: {text!r} is not NAME=SEVERITY with one of {allowed}", setting="severities")
        results[known.strip().lower()] = counts_as.strip().lower()
    return results


_SIGNS = {
    "wmt": {"start_indices", "end_indices", "error_types"},
    "wmt26": {"item_id", "task1_pred"},
    "esa": {"protocol", "start", "end", "severity"},
    "indicmt": {"id", "text", "start", "end", "category", "severity"},
    "mqm": {"source", "target", "category", "severity"},
    "biomqm": {"annotator", "start", "end", "text", "severity"},
    "spans": {"start", "end", "severity"},
}
"""Layout -> columns that it has and those before it lack; the first whose columns are there is it."""


def _kind_of_table(table: Table) -> str:
    columns = {*table.columns}
    found = next((kind for kind, signs in _SIGNS.items() if signs <= columns), None)
    if found is None:
        raise InputError(
            f"its columns ({', '.join(table.columns)}) are those of no layout of error spans: name one of "
            f"{', '.join(LAYOUTS)} with layout",
            file=table.name,
        )
    return found


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _overlaps(output: MarkedOutput) -> int:
    """Return how many spans of an output share a character with one that begins before, or with, them."""
    found = 0
    for side in ("candidate", "source"):
        reached = Counter[str]()
        places = sorted((s.start, s.end) for s in output.spans if s.side == side and s.start is not None and s.end)
        for start, end in places:
            found += start < reached["end"]
            reached["end"] = max(reached["end"], end)
    return found
