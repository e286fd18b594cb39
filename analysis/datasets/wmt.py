"""Human judgments of the WMT tasks: direct assessment of segments and of systems, preferences (DARR), and MLQE-PE.

The layouts are those of the archives of 2015 to 2020 and plain tables with one header row. Segment numbers are 1-based.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable, only_file, pair_in_name, parallel_lines
from bsx.data import cells
from bsx.data.lines import NamedFile, Problems, line_list
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

    Errors: as for `bsx.analysis.load_table`; files with different numbers of lines are one.
    """
    place = Path(path)
    builder = Builder(place, name, skip_malformed)
    if not place.is_dir():
        if _is_spaced(place, "system", "sid"):
            _read_seglevel(place, Path(texts or place.parent), builder, lp, renames or {})
            return builder.finish()
        table = builder.table(place, "lp", "candidate", "reference", "human")
        segment = table.first("sid", "segment", "id")
        for row in table.rows():
            with builder.problems:
                if lp in (None, row["lp"]):
                    builder.add(
                        lp=row.name("lp"),
                        system=row.name("system") if "system" in row else None,
                        segment=table.row_number(row) if segment is None else row.name(segment),
                        source=row.text("source") if "source" in row else None,
                        candidate=row.text("candidate"),
                        references=[row.text("reference")],
                        human=row.number("human"),
                    )
    elif humans := {file: m[1] for file in place.rglob("*newstest*.human.*") if (m := _DASEG.fullmatch(file.name))}:
        _read_parallel_files({file: pair for file, pair in sorted(humans.items()) if lp in (None, pair)}, builder)
    else:
        file = only_file(place.rglob("DA-seglevel.csv"), "DA-seglevel.csv or files newstest*.human.*", place)
        _read_seglevel(file, Path(texts or place), builder, lp, renames or {})
    return builder.finish()


def load_wmt_da_system(
    path: Path | str, *, lp: str | None = None, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load system-level direct assessment: ``DA-syslevel.csv`` (``LP HUMAN SYSTEM`` between spaces) or a table.

    Arguments and errors: as for `load_wmt_da`.
    """
    builder = Builder(path, name, skip_malformed)
    for row in _named_rows(Path(path), ("lp", "human", "system"), builder.problems):
        with builder.problems:
            if lp in (None, row["lp"]):
                builder.add(lp=row.name("lp"), system=row.name("system"), human=row.number("human"))
    return builder.finish()


def load_darr(
    path: Path | str, *, lp: str | None = None, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load preferences between two systems' outputs for a segment, made from direct assessment (DARR).

    The file is ``RR-seglevel.csv`` or ``DARR-seglevel.csv`` (``LP DATA SID BETTER WORSE`` between spaces; that of 2020
    has a sixth field, the difference of the two scores; the header of 2018 lacks ``DATA``), or a table with the columns
    lp, data, sid, better, worse and perhaps difference. Arguments and errors: as for `load_wmt_da`.
    """
    builder = Builder(path, name, skip_malformed)
    columns = ("lp", "data", "sid", "better", "worse")
    for row in _named_rows(Path(path), columns, builder.problems, optional=("difference",)):
        with builder.problems:
            if lp not in (None, row["lp"]):
                continue
            pair, testset, segment, better, worse = map(row.name, columns)
            if better == worse:
                raise InputError(f"{row.where} prefers {better} to itself")
            difference = row.number("difference") if "difference" in row else None
            builder.add(lp=pair, testset=testset, segment=segment, better=better, worse=worse, difference=difference)
    return builder.finish()


def _read_parallel_files(humans: Mapping[Path, str], builder: Builder) -> None:
    """Add the segments of files of human scores, each with its language pair, and of the texts beside them."""
    without = 0
    for human, pair in humans.items():
        kinds = ("source", "reference", "mt-system", "human")
        paths = [human.with_name(human.name.replace(".human.", f".{kind}.")) for kind in kinds]
        for number, (source, reference, candidate, score) in parallel_lines(*paths):
            with builder.problems:
                value = cells.number(score, f"{human}: line {number}")
                without += reference == NO_REFERENCE
                references = ["" if reference == NO_REFERENCE else reference]
                texts: dict[str, Given] = {"source": source, "candidate": candidate, "references": references}
                builder.add(lp=pair, segment=number, **texts, human=value)
    if without:
        builder.notes.append(f"{without} rows have no reference ({NO_REFERENCE!r} in the file): an empty text")


def _read_seglevel(path: Path, texts: Path, builder: Builder, lp: str | None, renames: Mapping[str, str]) -> None:
    """Add the judgments, and their texts from the folders sources, references and system-outputs of an archive."""
    folders = sorted(folder for folder in texts.rglob("system-outputs") if folder.is_dir())
    if not folders:
        builder.notes.append(f"there are no texts: {texts} holds no folder system-outputs")
    elif len(folders) != 1:
        raise InputError(f"needs exactly one folder system-outputs, has {len(folders)}", file=texts)
    read = cache(line_list)

    def line(file: Path, sid: str, where: str) -> str:
        content = read(file)
        if not sid.isdecimal() or not 1 <= int(sid) <= len(content):
            raise InputError(f"{where}: segment {sid!r} is not one of 1 to {len(content)} of {file}")
        return content[int(sid) - 1]

    for row in _named_rows(path, ("lp", "data", "system", "sid", "human"), builder.problems):
        with builder.problems:
            if lp not in (None, row["lp"]):
                continue
            pair, testset, system, sid = map(row.name, ("lp", "data", "system", "sid"))
            values: dict[str, Given] = {"human": row.number("human")}
            for outputs in folders:
                source, _, target = pair.partition("-")
                stem, below = f"{testset}-{source}{target}", outputs / testset / pair
                names = [renames.get(name, name) for name in (system, *system.split("+"))]  # they wrote the same
                candidates = [file for name in names if (file := below / f"{testset}.{name}.{pair}").is_file()]
                if not candidates:
                    raise InputError(
                        f"{row.where}: there is no output of {names[0]} in {below}; renames can map its name"
                    )
                values["source"] = line(outputs.parent / "sources" / f"{stem}-src.{source}", sid, row.where)
                values["candidate"] = line(candidates[0], sid, row.where)
                reference = outputs.parent / "references" / f"{stem}-ref.{target}"
                values["references"] = [line(reference, sid, row.where)]
            builder.add(lp=pair, testset=testset, system=system, segment=sid, **values)


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
        table.require(*(name for name in names if name not in lowered))
        used = [*names, *(name for name in optional if name in lowered)]
        for row in table.rows():
            yield Row(row.where, {name: row[lowered[name]] for name in used})
        return
    fields = delimited(NamedFile(path), None, problems)
    header = [name.lower() for name in next(fields)[1]]
    if header == [name for name in names if name != "data"]:
        header = list(names)
    if lacking := [name for name in names if name not in header]:
        raise UnknownNameError(f"has no column {lacking[0]!r}; it has {', '.join(header)}", file=path)
    due: list[str] = []
    for where, values in fields:
        # Fields beyond the header are taken for the optional ones if the first row has them; then all rows need them.
        due = due or [*header, *(optional if len(values) == len(header) + len(optional) else ())]
        if len(values) != len(due):
            problems.report(f"{where} has {len(values)} fields, {len(due)} are due")
            continue
        yield Row(where, zip(due, values, strict=True))


def load_mlqe(
    path: Path | str, *, lp: str | None = None, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load MLQE or MLQE-PE: ``test20.ende.df.short.tsv`` and its like, or the folder that holds just one.

    The columns are index, original, translation, scores, mean, z_scores, z_mean, model_scores. ``human`` is z_mean,
    ``human_raw`` the mean on the scale 0 to 100, ``judgments`` the length of ``scores``; there is no reference.

    The path may be that of a folder with one file ``*.df.short.tsv`` at any depth; the language pair ``lp`` is taken
    from the name of the file or its folder unless given. Other arguments and errors: as for `bsx.analysis.load_table`.
    """
    file = Path(path)
    if file.is_dir():
        file = only_file(file.rglob("*.df.short.tsv"), "*.df.short.tsv", file, "; name one")
    builder = Builder(path, name or file.name.removesuffix(".df.short.tsv"), skip_malformed)
    table = builder.table(file, "index", "original", "translation", "mean", "z_mean")
    joined = re.search(r"\.([a-z]{2})([a-z]{2})\.", file.name)
    pair = lp or (f"{joined[1]}-{joined[2]}" if joined else pair_in_name(file) or pair_in_name(file.parent))
    for row in table.rows():
        with builder.problems:
            builder.add(
                lp=pair,
                segment=row.name("index"),
                source=row.text("original"),
                candidate=row.text("translation"),
                human=row.number("z_mean"),
                human_raw=row.number("mean"),
                judgments=_length(row["scores"], f"{row.where}, column 'scores'") if "scores" in row else None,
                model_scores=row.number("model_scores") if "model_scores" in row else None,
            )
    return builder.finish()


def _length(value: object, where: str) -> int:
    try:
        scores = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        scores = None
    if not isinstance(scores, list):
        raise InputError(f"{where} is {str(value)[:40]!r}, not a list of numbers")
    return len(scores)
