"""Human judgments of the WMT metrics tasks: direct assessment of segments and of systems, and preferences (DARR).

The layouts are those of the archives of 2015 to 2020 and plain tables with one header row. Segment numbers are 1-based.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data import cells
from bsx.data.lines import NamedFile, Problems, check_line_counts, line_list
from bsx.data.tables import TABLE_FORMATS, Row, Table, delimited
from bsx.errors import InputError, UnknownNameError

NO_REFERENCE = "NO REFERENCE AVAILABLE"
"""What the archives of 2015 and 2016 write where a segment has no reference."""

_DASEG = re.compile(r"(?:DAseg\.)?newstest\d+\.human\.([a-z]{2,3}-[a-z]{2,3})")


def load_wmt_da(
    path: Path | str,
    *,
    lp: str | None = None,
    texts: Path | str | None = None,
    renames: Mapping[str, str] | None = None,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load segment-level direct assessment.

    Args:
        path: one of

            - a table with the columns lp, candidate, reference, human, and perhaps system, sid (or id), source;
            - the folder of the archives of 2015 and 2016, with one segment a line:
              ``DAseg.newstest2016.{source,reference,mt-system,human}.cs-en`` (with or without ``DAseg.``);
            - ``DA-seglevel.csv`` of 2017 (``LP DATA SYSTEM SID HUMAN`` between spaces), or a folder it is in, at any
              depth. The texts are looked up in the folders ``sources``, ``references`` and ``system-outputs``.
        lp: load only this language pair.
        texts: where the texts that go with ``DA-seglevel.csv`` are; by default the folder ``path``, or the file's.
        renames: system in ``DA-seglevel.csv`` -> system in the names of the output files, where they differ.
        name: name of the data set; the path's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Raises:
        InputError: naming file, line and reason of a malformed row, or files with different numbers of lines.
        UnknownNameError: for a column that does not exist; lists those present.
    """
    place = Path(path)
    problems = Problems(skip=skip_malformed)
    builder = Builder(name or place.stem, problems)
    if place.is_dir():
        if any(_DASEG.fullmatch(file.name) for file in place.rglob("*newstest*.human.*")):
            _read_parallel_files(place, builder, problems, lp)
        else:
            found = sorted(place.rglob("DA-seglevel.csv"))
            if len(found) != 1:
                said = f"needs exactly one file DA-seglevel.csv or files newstest*.human.*, has {len(found)}"
                raise InputError(said, file=place)
            _read_seglevel(found[0], Path(texts or place), builder, problems, lp, renames or {})
    elif _is_spaced(place, "system", "sid"):
        _read_seglevel(place, Path(texts or place.parent), builder, problems, lp, renames or {})
    else:
        _read_da_table(place, builder, problems, lp)
    return builder.finish(str(path))


def load_wmt_da_system(
    path: Path | str, *, lp: str | None = None, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load system-level direct assessment: ``DA-syslevel.csv`` (``LP HUMAN SYSTEM`` between spaces) or a table.

    Arguments and errors: as for `load_wmt_da`.
    """
    problems = Problems(skip=skip_malformed)
    builder = Builder(name or Path(path).stem, problems)
    for row in _named_rows(Path(path), ("lp", "human", "system"), problems):
        with problems:
            if lp in (None, row["lp"]):
                builder.add(
                    lp=row.name("lp"),
                    system=row.name("system"),
                    human=row.number("human"),
                )
    return builder.finish(str(path))


def load_darr(
    path: Path | str, *, lp: str | None = None, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load preferences between two systems' outputs for a segment, made from direct assessment (DARR).

    The file is ``RR-seglevel.csv`` or ``DARR-seglevel.csv`` (``LP DATA SID BETTER WORSE`` between spaces; that of 2020
    has a sixth field, the difference of the two scores; the header of 2018 lacks ``DATA``), or a table with the columns
    lp, data, sid, better, worse and perhaps difference. Arguments and errors: as for `load_wmt_da`.
    """
    problems = Problems(skip=skip_malformed)
    builder = Builder(name or Path(path).stem, problems)
    columns = ("lp", "data", "sid", "better", "worse")
    for row in _named_rows(Path(path), columns, problems, optional=("difference",)):
        with problems:
            if lp not in (None, row["lp"]):
                continue
            values: dict[str, Given] = {name: row.name(name) for name in columns}
            if values["better"] == values["worse"]:
                raise InputError(f"{row.where} prefers {values['better']} to itself")
            values["testset"], values["segment"] = values.pop("data"), values.pop("sid")
            if "difference" in row:
                values["difference"] = row.number("difference")
            builder.add(**values)
    return builder.finish(str(path))


def _read_da_table(path: Path, builder: Builder, problems: Problems, lp: str | None) -> None:
    table = Table(path, problems)
    table.require("lp", "candidate", "reference", "human")
    segment = table.first("sid", "segment", "id")
    for row in table.rows():
        with problems:
            if lp not in (None, row["lp"]):
                continue
            values: dict[str, Given] = {"lp": row.name("lp")}
            if "system" in table.columns:
                values["system"] = row.name("system")
            values["segment"] = table.row_number(row) if segment is None else row.name(segment)
            if "source" in table.columns:
                values["source"] = row.text("source")
            builder.add(
                **values,
                candidate=row.text("candidate"),
                references=[row.text("reference")],
                human=row.number("human"),
            )


def _read_parallel_files(folder: Path, builder: Builder, problems: Problems, lp: str | None) -> None:
    without = 0
    for human in sorted(folder.rglob("*newstest*.human.*")):
        match = _DASEG.fullmatch(human.name)
        if match is None or lp not in (None, match[1]):
            continue
        kinds = ("source", "reference", "mt-system", "human")
        paths = [human.with_name(human.name.replace(".human.", f".{kind}.")) for kind in kinds]
        files = {path: line_list(path) for path in paths}
        check_line_counts({path: len(lines) for path, lines in files.items()})
        rows = zip(*files.values(), strict=True)
        for i, (source, reference, candidate, score) in enumerate(rows, start=1):
            with problems:
                value = cells.number(score, f"{human}: line {i}")
                without += reference == NO_REFERENCE
                builder.add(
                    lp=match[1],
                    segment=str(i),
                    source=source,
                    candidate=candidate,
                    references=["" if reference == NO_REFERENCE else reference],
                    human=value,
                )
    if without:
        builder.notes.append(f"{without} rows have no reference ({NO_REFERENCE!r} in the file): an empty text")


def _read_seglevel(
    path: Path, texts: Path, builder: Builder, problems: Problems, lp: str | None, renames: Mapping[str, str]
) -> None:
    result = _TextFolders(texts) if any(texts.rglob("system-outputs")) else None
    if result is None:
        builder.notes.append(f"there are no texts: {texts} holds no folder system-outputs")
    for row in _named_rows(path, ("lp", "data", "system", "sid", "human"), problems):
        with problems:
            if lp not in (None, row["lp"]):
                continue
            pair, testset, system, sid = (row.name(column) for column in ("lp", "data", "system", "sid"))
            values: dict[str, Given] = {"lp": pair, "testset": testset, "system": system, "segment": sid}
            values["human"] = row.number("human")
            if result is not None:
                systems = [renames.get(item, item) for item in (system, *system.split("+"))]
                values |= result.texts(pair, testset, systems, sid, row.where)
            builder.add(**values)


class _TextFolders:
    """The folders sources, references and system-outputs of a WMT archive, each file read once."""

    def __init__(self, folder: Path) -> None:
        outputs = sorted(found for found in folder.rglob("system-outputs") if found.is_dir())
        if len(outputs) != 1:
            raise InputError(f"needs exactly one folder system-outputs, has {len(outputs)}", file=folder)
        self._root = outputs[0].parent
        self._files: dict[Path, list[str]] = {}

    def _line(self, path: Path, sid: str, where: str) -> str:
        if path not in self._files:
            self._files[path] = line_list(path)
        content = self._files[path]
        if not sid.isdecimal() or not 1 <= int(sid) <= len(content):
            raise InputError(f"{where}: segment {sid!r} is not one of 1 to {len(content)} of {path}")
        return content[int(sid) - 1]

    def texts(self, lp: str, testset: str, systems: list[str], sid: str, where: str) -> dict[str, Given]:
        """Return source, candidate and references of a judged segment; ``systems`` wrote the same, any will do."""
        source, _, target = lp.partition("-")
        stem = f"{testset}-{source}{target}"
        outputs = self._root / "system-outputs" / testset / lp
        files = [outputs / f"{testset}.{system}.{lp}" for system in systems]
        there = [file for file in files if file.is_file()]
        if not there:
            raise InputError(f"{where}: there is no output of {systems[0]} in {outputs}; renames can map its name")
        return {
            "source": self._line(self._root / "sources" / f"{stem}-src.{source}", sid, where),
            "candidate": self._line(there[0], sid, where),
            "references": [self._line(self._root / "references" / f"{stem}-ref.{target}", sid, where)],
        }


def _is_spaced(path: Path, *names: str) -> bool:
    """Tell whether a file's first line holds these names between spaces, and nothing says that it is a table."""
    if path.suffix.lower() in (".jsonl", ".parquet"):
        return False
    header = next(NamedFile(path).lines())
    return "\t" not in header and set(names) <= set(header.lower().split())


def _named_rows(
    path: Path, names: tuple[str, ...], problems: Problems, optional: tuple[str, ...] = ()
) -> Iterator[Row]:
    """Yield the rows of a table, or of a file with its header and fields between spaces, with lower-case names."""
    if path.suffix.lower() in TABLE_FORMATS and not _is_spaced(path, "lp"):
        table = Table(path, problems)
        lowered = {column.lower(): column for column in table.columns}
        for name in names:
            if name not in lowered:
                table.require(name)
        used = [*names, *(name for name in optional if name in lowered)]
        for row in table.rows():
            yield Row(row.where, {name: row[lowered[name]] for name in used})
        return
    fields = delimited(NamedFile(path), None, problems)
    header = [name.lower() for name in next(fields)[1]]
    if header == [name for name in names if name != "data"] and "data" in names:
        header = list(names)
    for name in names:
        if name not in header:
            raise UnknownNameError(f"has no column {name!r}; it has {', '.join(header)}", file=path)
    # Fields beyond the header are taken for the optional ones if the first row has them; then all rows need them.
    extra: tuple[str, ...] | None = None
    for where, values in fields:
        if extra is None:
            extra = optional if len(values) == len(header) + len(optional) else ()
        due = [*header, *extra]
        if len(values) != len(due):
            problems.report(f"{where} has {len(values)} fields, {len(due)} are due")
            continue
        yield Row(where, zip(due, values, strict=True))
