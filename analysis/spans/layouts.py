"""The layouts that error spans come in, each turned into half-open offsets of code points."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bsx.analysis.spans.marked import NO_ERROR, ErrorSpan, Gathered, Key, Side, named
from bsx.data.lines import NamedFile, Problems
from bsx.data.tables import Row, Table
from bsx.errors import InputError

SEGMENT = ("segment", "seg", "seg_id", "segment_id", "globalSegId", "sid", "id")
DOCUMENT = ("document", "doc", "doc_id")
ANNOTATOR = ("annotator", "rater", "judge")
CANDIDATE = ("candidate", "target", "hypothesis_segment", "mt")
_MARK = re.compile(r"</?v>")
_OMITTED = "missing"


@dataclass(frozen=True)
class Beside:
    """What stands beside a file of spans.

    Attributes:
        texts: table of the outputs' texts.
        judged: table that names the outputs that were judged, those without errors among them.
    """

    texts: Path | str | None = None
    judged: Path | str | None = None


def mqm(table: Table, into: Gathered, given: Beside) -> None:
    """Read MQM with ``<v>…</v>`` around each error, a row an error, as google/wmt-mqm-human-evaluation has it.

    Columns system, doc, seg (or seg_id, globalSegId), rater, source, target, category, severity. A segment without
    errors has one row with No-error. An error without marks has no place; marks that are not closed reach to the end.
    """
    segment, who = _first(table, SEGMENT), _first(table, ANNOTATOR)
    table.require("system", "source", "target", "category", "severity")
    document = table.first(*DOCUMENT)
    for row in table.rows():
        with into.problems:
            key = (row.name("system"), _name(row, document), row.name(segment), row.name(who))
            sides: tuple[tuple[Side, str], ...] = (("candidate", row.text("target")), ("source", row.text("source")))
            plain = {side: _MARK.sub("", text) for side, text in sides}
            into.output(row.where, key, **plain)
            category, severity = row.text("category").rstrip("!"), row.text("severity")
            if {category.lower(), severity.lower()} & {*NO_ERROR}:
                continue
            counts_as = into.severity(severity, row.where)
            places = [(side, *place) for side, text in sides for place in _marked(text, row.where, into)]
            for side, start, end in places:
                into.add(row.where, key, ErrorSpan(side, start, end, counts_as, category))
            if not places:
                into.add(row.where, key, ErrorSpan("candidate", None, None, counts_as, category))


def _marked(text: str, where: str, into: Gathered) -> Iterator[tuple[int, int]]:
    """Yield the marked parts of a text, in characters of the text without marks."""
    at, begun = 0, None
    for piece in re.split(r"(</?v>)", text):
        if piece == "<v>":
            if begun is not None:
                raise InputError(f"{where}: <v> stands within <v>…</v>")
            begun = at
        elif piece == "</v>":
            if begun is None:
                raise InputError(f"{where}: </v> stands without <v>")
            yield begun, at
            begun = None
        else:
            at += len(piece)
    if begun is not None:
        into.counted["begun but not ended (<v> without </v>): they reach to the end of the text"] += 1
        yield begun, at


def esa(table: Table, into: Gathered, given: Beside) -> None:
    """Read error span annotation (ESA), whose spans end inclusively; a protocol stands for its annotators.

    Columns protocol, system, seg, annotator, start, end, severity and error_type; ``missing`` instead of start and end
    is an omission. Texts and the outputs that were judged stand in tables of their own.

    In ESA with pre-filled spans (protocols ESAAI…), what people left as it was ends exclusively. Taken for such are
    spans that stand alike in two of these protocols, and those that end on what follows a word or on the end of the
    text; of others, one character is at stake. A span that begins behind the text is the pre-filled mark of an
    omission (the interface shows MISSING there), one that ends behind it is cut at the end of the text.

    Source: Kocmi et al. 2024 (ESA), Zouhar et al. 2025 (ESA-AI).
    """
    table.require("protocol", "system", "start", "end", "severity")
    segment = _first(table, SEGMENT)
    texts = _Texts(given, table, into.problems)
    _judged(given, table, texts, into, "protocol")
    rows = list(table.rows())
    alike: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in rows:
        if _prefilled(row.text("protocol")):
            place = (row.text("system"), row.text(segment), row.text("start"), row.text("end"))
            alike[place].add(row.text("protocol"))
    for row in rows:
        with into.problems:
            who = row.name("protocol")
            key, text = _known(row, into, texts, (row.name("system"), "", row.name(segment), who))
            severity = into.severity(row.text("severity"), row.where)
            category = row.text("error_type") if "error_type" in table.columns else ""
            if row.text("start") == _OMITTED:
                into.add(row.where, key, ErrorSpan("candidate", None, None, severity, category))
                continue
            start, end = _whole(row, "start"), _whole(row, "end") + 1
            if _prefilled(who):
                same = alike[row.text("system"), row.text(segment), row.text("start"), row.text("end")]
                behind = end > len(text) or (text[end - 1 : end].isalnum() < text[end - 2 : end - 1].isalnum())
                end -= (len(same) > 1 or behind) and end - 1 > start
                if start >= len(text):
                    into.counted["pre-filled behind the text: they are omissions"] += 1
                    into.add(row.where, key, ErrorSpan("candidate", None, None, severity, category))
                    continue
                if end > len(text):
                    into.counted["of ESA-AI cut at the end of the text"] += 1
                    end = len(text)
            into.add(row.where, key, ErrorSpan("candidate", start, end, severity, category))


def _prefilled(protocol: str) -> bool:
    return protocol.upper().replace("-", "").replace("_", "").startswith("ESAAI")


def biomqm(table: Table, into: Gathered, given: Beside) -> None:
    r"""Read spans with their text (biomedical MQM, Zouhar et al. 2024), whose ends are inclusive.

    Columns system, doc, seg, annotator, start, end, text, category, severity. Where the text is not what stands at
    start and end, it is the safer key: quotation marks in it may be escaped (``\'``), which makes spans too long.
    """
    table.require("system", "start", "end", "text", "severity")
    segment, who = _first(table, SEGMENT), _first(table, ANNOTATOR)
    document = table.first(*DOCUMENT)
    texts = _Texts(given, table, into.problems)
    _judged(given, table, texts, into, who)
    for row in table.rows():
        with into.problems:
            named_so = (row.name("system"), _name(row, document), row.name(segment), row.name(who))
            key, text = _known(row, into, texts, named_so)
            severity = into.severity(row.text("severity"), row.where)
            category = row.text("category") if "category" in table.columns else ""
            if row.text("start") == _OMITTED:
                into.add(row.where, key, ErrorSpan("candidate", None, None, severity, category))
                continue
            start, end = _whole(row, "start"), _whole(row, "end") + 1
            marked = row.text("text")
            if text[start:end] != marked:
                plain = marked.replace("\\'", "'").replace('\\"', '"')
                if plain and text.startswith(plain, start):
                    into.counted["whose text is shorter than they are: the text counts"] += 1
                    end = start + len(plain)
                elif plain and text.count(plain) == 1:
                    into.counted["whose text stands elsewhere: the text counts"] += 1
                    start = text.index(plain)
                    end = start + len(plain)
            into.add(row.where, key, ErrorSpan("candidate", start, end, severity, category))


def indicmt(table: Table, into: Gathered, given: Beside) -> None:
    """Read IndicMT-Eval's spans: found by their text, since their token positions fit no known tokens.

    Columns id, category, severity, text, start, end (token positions). A text that stands several times is taken where
    white space parts so many words before it as ``start`` says, else at its first place; one that does not stand in
    the candidate (mostly omissions, whose text is the source's) has no place.

    Source: Sai et al. 2023.
    """
    table.require("id", "category", "severity", "text", "start")
    texts = _Texts(given, table, into.problems)
    _judged(given, table, texts, into, None)
    outputs = {key[2]: key for key in texts.entries}
    for row in table.rows():
        with into.problems:
            name = row.name("id")
            if name not in outputs:
                raise InputError(f"{row.where}: the id {name!r} is not among the texts")
            key = outputs[name]
            severity = into.severity(row.text("severity"), row.where)
            text, marked = into.candidate(key) or "", row.text("text").strip()
            places = [found.start() for found in re.finditer(re.escape(marked), text)] if marked else []
            category = row.text("category")
            if not places:
                if "omission" not in category.lower():
                    into.counted["whose text does not stand in the candidate: they have no place"] += 1
                into.add(row.where, key, ErrorSpan("candidate", None, None, severity, category))
                continue
            if len(places) > 1:
                into.counted["whose text stands several times: taken by its token position, else the first"] += 1
            token = int(row.text("start")) if row.text("start").isdigit() else -1
            start = next((at for at in places if len(text[:at].split()) == token), places[0])
            into.add(row.where, key, ErrorSpan("candidate", start, start + len(marked), severity, category))


def wmt(table: Table, into: Gathered, given: Beside) -> None:
    """Read the table of WMT25's task on error spans (and its development set of WMT24's ESA): a row an output.

    Columns doc_id, segment_id, system_id, hypothesis_segment, start_indices, end_indices, error_types: numbers and
    severities with blanks between them; ends are exclusive, as the task's scorer reads them. ``no-error`` is none,
    ``missing`` an omission. Of a file with set_id only the official set counts, as in the scorer.
    """
    table.require("system_id", "segment_id", "start_indices", "end_indices", "error_types")
    who = table.first(*ANNOTATOR)
    document = table.first(*DOCUMENT)
    pairs: dict[tuple[str, str], None] = {}
    left = 0
    for row in table.rows():
        with into.problems:
            if "set_id" in table.columns and row.text("set_id") != "official":
                left += 1
                continue
            if {"source_lang", "target_lang"} <= {*table.columns}:
                pairs[row.name("source_lang"), row.name("target_lang")] = None
                if len(pairs) > 1:
                    both = " and ".join("-".join(pair) for pair in pairs)
                    raise InputError(f"{row.where}: several language pairs ({both}): judge one at a time")
            key = (row.name("system_id"), _name(row, document), row.name("segment_id"), _name(row, who))
            text = row.text("hypothesis_segment") if "hypothesis_segment" in table.columns else None
            into.output(row.where, key, text)
            lists = [str(row[name]).split() for name in ("start_indices", "end_indices", "error_types")]
            if lists[2] == ["no-error"]:
                continue
            if len({len(one) for one in lists}) > 1:
                many = ", ".join(str(len(one)) for one in lists)
                raise InputError(f"{row.where}: start_indices, end_indices and error_types have {many} parts")
            for start, end, severity in zip(*lists, strict=True):
                counts_as = into.severity(severity, row.where)
                if _OMITTED in (start, end):
                    into.add(row.where, key, ErrorSpan("candidate", None, None, counts_as))
                    continue
                ends = _number(start, row, "start_indices"), _number(end, row, "end_indices")
                into.add(row.where, key, ErrorSpan("candidate", *ends, counts_as))
    if left:
        into.notes.append(f"{left:,} rows that are not of the official set are left out")


def wmt26(table: Table, into: Gathered, given: Beside) -> None:
    """Read predictions of WMT26's tasks as their baselines write them: JSON lines, a line a segment of all systems.

    ``item_id`` ends in document and segment; ``task1_pred`` holds for each system ``errors`` (start, end exclusive,
    severity, category) and ``omission``, the severity of an omission or null. ``hyps``, if there, holds the texts.
    """
    table.require("item_id", "task1_pred")
    for row in table.rows():
        with into.problems:
            parts = row.name("item_id").split("_###_")
            document, segment = ("_###_".join(parts[:-1]), parts[-1]) if len(parts) > 1 else ("", parts[0])
            texts, systems = row.get("hyps") or {}, row["task1_pred"]
            if not isinstance(systems, dict) or not isinstance(texts, dict):
                raise InputError(f"{row.where}: task1_pred, or hyps, is no object of systems")
            for system, found in systems.items():
                key = (str(system), document, segment, "")
                into.output(row.where, key, texts.get(system))
                if not isinstance(found, dict):
                    raise InputError(f"{row.where}: the prediction for system {system!r} is no object")
                for error in _listed(row.where, found.get("errors"), "errors"):
                    _listed_error(row.where, key, error, into)
                if found.get("omission"):
                    severity = into.severity(str(found["omission"]), row.where)
                    into.add(row.where, key, ErrorSpan("candidate", None, None, severity, "omission"))


def xcomet(file: NamedFile, into: Gathered, given: Beside) -> None:
    """Read what xCOMET's ``comet-score --to_json`` writes: for each file of outputs its rows, with ``errors``.

    A file's name, without its ending, is the system; rows are numbered from 1. Offsets are those of the text without
    the blanks around it, and ends are exclusive.

    Source: Guerreiro et al. 2024; Unbabel/COMET, ``comet/cli/score.py``.
    """
    for name, rows in _object(file).items():
        system = Path(str(name)).name.rpartition(".")[0] or Path(str(name)).name
        if not isinstance(rows, list) or not all(isinstance(one, dict) and "mt" in one for one in rows):
            raise InputError(f"{str(name)!r} holds no list of objects with 'mt', as xCOMET writes it", file=file.name)
        for number, one in enumerate(rows, start=1):
            where = f"{file.name}: {name}, row {number}"
            with into.problems:
                key = (system, "", str(number), "")
                into.output(where, key, str(one["mt"]), str(one["src"]) if "src" in one else None)
                for error in _listed(where, one.get("errors"), "errors"):
                    _listed_error(where, key, error, into)


def plain(table: Table, into: Gathered, given: Beside) -> None:
    """Read bsx's own table: a row an error, ends exclusive.

    Columns system, segment, start, end, severity; if there, side (candidate or source), category, annotator, document,
    candidate, source. An empty start and end is an error without a place; the severity no-error says that the output
    was judged and has none.
    """
    table.require("start", "end", "severity")
    segment = _first(table, SEGMENT)
    columns = {"document": table.first(*DOCUMENT), "annotator": table.first(*ANNOTATOR)}
    texts = _Texts(given, table, into.problems) if given.texts is not None else None
    for row in table.rows():
        with into.problems:
            system = _given(row, "system")
            key = (system, _given(row, columns["document"]), row.name(segment), _given(row, columns["annotator"]))
            candidate, source = (_optional(row, name) for name in ("candidate", "source"))
            if texts is not None:
                key, found = texts.find(key)
                candidate = found if candidate is None else candidate
            into.output(row.where, key, candidate, source)
            if row.text("severity").lower() in NO_ERROR:
                continue
            severity = into.severity(row.text("severity"), row.where)
            side = str(row.get("side") or "candidate")
            if side not in ("candidate", "source"):
                raise InputError(f"{row.where}: side is {side!r}; it must be candidate or source")
            category = _optional(row, "category") or ""
            if _blank(row["start"]) and _blank(row["end"]):
                into.add(row.where, key, ErrorSpan(side, None, None, severity, category))  # type: ignore[arg-type]
                continue
            ends = _whole(row, "start"), _whole(row, "end")
            into.add(row.where, key, ErrorSpan(side, *ends, severity, category))  # type: ignore[arg-type]


def _listed(where: str, value: object, name: str) -> list[Any]:
    """Return a value of JSON that must be a list; null is an empty one."""
    if not isinstance(value, list | None):
        raise InputError(f"{where}: {name} is {str(value)[:40]!r}, not a list")
    return value or []


def _listed_error(where: str, key: Key, error: object, into: Gathered) -> None:
    """Add an error that is an object with start, end and severity."""
    if not isinstance(error, dict) or not {"start", "end", "severity"} <= error.keys():
        raise InputError(f"{where}: an error of {named(key)} is no object with start, end and severity")
    start, end = error["start"], error["end"]
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (start, end)):
        raise InputError(
            f"{where}: start and end of an error of {named(key)} must be whole numbers, not {start!r}, {end!r}"
        )
    severity = into.severity(str(error["severity"]), where)
    into.add(where, key, ErrorSpan("candidate", start, end, severity, str(error.get("category") or "")))


class _Texts:
    """Texts of outputs, from the table beside a table of spans.

    Args:
        given: which names it.
        table: the spans.
        problems: where rows that cannot be used go.

    Attributes:
        entries: output, with annotator if the table names one -> place and text.
        sources: output without annotator -> its source text, if the table has a column of that name.

    Raises:
        InputError: if there is none, or it has two texts of an output.
    """

    def __init__(self, given: Beside, table: Table, problems: Problems) -> None:
        if given.texts is None:
            raise InputError("holds no texts: name the table that does with texts", file=table.name, setting="texts")
        found = Table(given.texts)
        segment, candidate = _first(found, SEGMENT), _first(found, CANDIDATE)
        document, who = found.first(*DOCUMENT), found.first(*ANNOTATOR)
        self.entries: dict[Key, tuple[str, str]] = {}
        self.sources: dict[Key, str] = {}
        self._of: dict[Key, tuple[str, str]] = {}  # without annotator, and without document
        for row in found.rows():
            with problems:
                system = _given(row, "system")
                key = (system, _name(row, document), row.name(segment), _name(row, who))
                here = (row.where, row.text(candidate))
                if (source := _optional(row, "source")) is not None:
                    self.sources.setdefault((*key[:3], ""), source)
                for known, one in ((self._of, (*key[:3], "")), (self.entries, key)):
                    where, text = known.setdefault(one, here)
                    if text != here[1]:
                        raise InputError(f"{row.where}: another text of {named(key)} stands at {where}")
        documents: dict[tuple[str, str], set[str]] = defaultdict(set)
        for system, of, name, _ in self.entries:
            documents[system, name].add(of)
        self._document = {pair: next(iter(found)) for pair, found in documents.items() if len(found) == 1}

    def find(self, key: Key) -> tuple[Key, str | None]:
        """Return a key with the document that is known here, and the text; None if it is not among them."""
        system, document, segment, annotator = key
        key = (system, document or self._document.get((system, segment), ""), segment, annotator)
        found = self._of.get((*key[:3], ""))
        return key, None if found is None else found[1]


def _judged(given: Beside, table: Table, texts: _Texts, into: Gathered, annotator: str | None) -> None:
    """Name all outputs that were judged, from the table that lists them; the texts do if they name annotators.

    Args:
        given: what stands beside the spans.
        table: the spans.
        texts: of the outputs.
        into: where outputs are named.
        annotator: the column of annotators; None of a layout that has one annotator for all texts.

    Raises:
        InputError: if nothing says which outputs were judged.
    """
    if given.judged is None:
        if annotator is not None and not any(key[3] for key in texts.entries):
            raise InputError(
                "lists errors only: name the table of all judged outputs with judged, or those without errors are lost",
                file=table.name,
                setting="judged",
            )
        for key, (where, text) in texts.entries.items():
            into.output(where, key, text, texts.sources.get((*key[:3], "")))
        return
    found = Table(given.judged)
    segment, document = _first(found, SEGMENT), found.first(*DOCUMENT)
    who = annotator if annotator in found.columns else found.first(*ANNOTATOR)
    for row in found.rows():
        with into.problems:
            key = (row.name("system"), _name(row, document), row.name(segment), _name(row, who))
            key, candidate = texts.find(key)
            if candidate is None:
                raise InputError(f"{row.where}: {named(key)} is not among the texts")
            into.output(row.where, key, candidate, texts.sources.get((*key[:3], "")))


def _known(row: Row, into: Gathered, texts: _Texts, key: Key) -> tuple[Key, str]:
    """Return the key and the text of a row's output.

    Raises:
        InputError: if it is not among the outputs that were judged.
    """
    key, _ = texts.find(key)
    text = into.candidate(key)
    if text is None:
        by = f" by {key[3]!r}" if key[3] else ""
        raise InputError(f"{row.where}: {named(key)}{by} is not among the outputs that were judged")
    return key, text


def _object(file: NamedFile) -> dict[str, Any]:
    content = file.json()
    if not isinstance(content, dict):
        raise InputError("is no JSON object", file=file.name)
    return content


def _role(cells: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(cells[name]) for name in names if cells.get(name) not in (None, "")), "")


def _first(table: Table, names: Sequence[str]) -> str:
    """Return the first of these columns; the error if there is none names the first."""
    found = table.first(*names)
    if found is None:
        table.require(names[0])
    return str(found)


def _name(row: Row, column: str | None) -> str:
    return "" if column is None else row.name(column)


def _given(row: Row, column: str | None) -> str:
    """Return a name that may be missing, also in single rows."""
    return "" if column is None or _blank(row.get(column)) else row.name(column)


def _optional(row: Row, column: str) -> str | None:
    cell = row.get(column)
    return None if cell is None or cell != cell else row.text(column)


def _blank(cell: object) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())  # NaN is not itself


def _whole(row: Row, column: str) -> int:
    return _number(str(row[column]).strip(), row, column)


def _number(text: str, row: Row, column: str) -> int:
    found = re.fullmatch(r"(-?[0-9]{1,9})(\.0+)?", text)  # 8.0 is what pandas writes where another row has none
    if found is None:
        raise InputError(f"{row.where}, column {column!r}: {text[:40]!r} is no whole number")
    return int(found[1])


Reader = Callable[[Any, Gathered, Beside], None]
TABLES: Mapping[str, Reader] = {
    "spans": plain,
    "mqm": mqm,
    "esa": esa,
    "biomqm": biomqm,
    "indicmt": indicmt,
    "wmt": wmt,
    "wmt26": wmt26,
}
"""Layout of a table -> its reader."""
ERRORS_ONLY = ("esa", "biomqm", "indicmt")
"""Layouts of errors alone: another table names the outputs that were judged."""
WITHOUT_TEXTS = ("spans", *ERRORS_ONLY)
"""Layouts whose texts stand, or may stand, in another table."""
OBJECTS: Mapping[str, Reader] = {"xcomet": xcomet}
"""Layout of a JSON document -> its reader."""
