"""Plain tables with named columns, and sets with several references."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bsx.analysis.datasets.judged import (
    COLUMNS,
    Builder,
    Given,
    JudgedTable,
    only_file,
    parallel_lines,
    reference_columns,
)
from bsx.data import cells
from bsx.data.columns import TableLike
from bsx.data.tables import Row
from bsx.errors import InputError, UnknownNameError


def _as_is(value: object, _: str) -> str:
    return "" if value is None else str(value)


_READ: dict[str, Callable[[object, str], Given]] = {
    **dict.fromkeys(("human", "human_raw", "difference"), cells.number),
    **dict.fromkeys(("label", "human_system"), cells.label),
    **dict.fromkeys(("source", "candidate"), cells.text),
}


def load_table(
    path: Path | str | TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    references: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    numbers: Sequence[str] = (),
    quoted: bool | None = None,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load a TSV, CSV, JSON-lines or Parquet table with named columns, or take a DataFrame or a mapping of columns.

    Columns with the names of `COLUMNS` mean what is documented there; all others are kept as they are.

    Args:
        path: the table, as a file, a DataFrame, or name -> (n,). TSV is unquoted: quotation marks are plain characters.
        columns: tidy name -> the file's name, where they differ, e.g. ``{"candidate": "hyp", "human": "score"}``.
        references: the file's reference columns; by default reference, reference2, …, ref, ref1, ref2, … A JSON or
            Parquet cell may hold a list of texts.
        metrics: columns with scores of metrics.
        numbers: further columns with numbers; columns that are not named anywhere are texts.
        quoted: whether fields may be quoted as in CSV; by default in CSV files only.
        name: name of the data set; the file's, or ``table``, unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Raises:
        InputError: naming file, line and reason of a malformed row.
        UnknownNameError: for a column that does not exist; lists those present.
    """
    builder = Builder(path if isinstance(path, Path | str) else "table", name, skip_malformed)
    table = builder.table(path, quoted=quoted)
    renamed = dict(columns or {})
    known = [tidy for tidy in COLUMNS if tidy not in ("dataset", "reference")]
    if unknown := [tidy for tidy in renamed if tidy not in known]:
        raise UnknownNameError(f"columns: {unknown[0]!r} is not one of {', '.join(known)}", setting="columns")
    several = list(references) if references is not None else reference_columns(table.columns)
    table.require(*renamed.values(), *several, *metrics, *numbers)
    # "dataset" is a column of tables that were written by JudgedTable.save; this table has its own name.
    tidy = {column: column for column in table.columns if column not in several and column != "dataset"}
    for new, old in renamed.items():
        if new in tidy and new != old:
            raise InputError(
                f"{old!r} cannot be read as {new!r}: the file has a column of that name too", file=table.name
            )
        tidy[old] = new
    builder.metrics = metrics
    numeric = {*metrics, *numbers, "judgments", "judge"}
    read: dict[str, Callable[[object, str], Given]] = {
        new: cells.number if {column, new} & numeric else _READ.get(new, _as_is) for column, new in tidy.items()
    }
    for row in table.rows():
        with builder.problems:
            values = {new: read[new](row[column], f"{row.where}, column {column!r}") for column, new in tidy.items()}
            if several:
                values["references"] = _references(row, several)
            builder.add(**values)
    return builder.finish()


def load_multi_reference(
    path: Path | str,
    *,
    human: str | None = None,
    lp: str | None = None,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load candidates with several references each.

    Two layouts: a table with the columns candidate, ref1, ref2, … and a human score, and perhaps source; or a folder
    with one text a line in ``src.*``, ``mt.*``, ``ref-1.*``, ``ref-2.*``, … and the scores in ``*.scores``, as the
    two-reference part of MLQE has it.

    Args:
        path: the table or the folder.
        human: the table's column of human scores; human, human_z or score unless given.
        lp: the language pair; of a folder, taken from the ends of the file names unless given.
        name: name of the data set; the file's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Errors: as for `load_table`; files with different numbers of lines are one.
    """
    builder, folder = Builder(path, name, skip_malformed), Path(path)
    if folder.is_dir():
        patterns = ("src.*", "mt.*", "*.scores")
        source, candidate, scores = (only_file(folder.glob(pattern), pattern, folder) for pattern in patterns)
        references = sorted(folder.glob("ref-*.*"))
        if not references:
            raise InputError("has no files ref-1.*, ref-2.*, …", file=folder)
        pair = lp or f"{source.suffix[1:]}-{candidate.suffix[1:]}"
        for number, (text, output, grade, *translations) in parallel_lines(source, candidate, scores, *references):
            with builder.problems:
                judged = cells.number(grade, f"{scores}: line {number}")
                texts: dict[str, Given] = {"source": text, "candidate": output, "references": translations}
                builder.add(lp=pair, segment=number, **texts, human=judged)
        return builder.finish()
    table = builder.table(path)
    several = reference_columns(table.columns)
    if not several:
        raise UnknownNameError("has no column of references (ref1, ref2, …)", file=table.name)
    score = human or table.first("human", "human_z", "score") or "human"
    table.require("candidate", score)
    for row in table.rows():
        with builder.problems:
            builder.add(
                lp=lp,
                segment=table.row_number(row),
                source=row.text("source") if "source" in row else None,
                candidate=row.text("candidate"),
                references=_references(row, several),
                human=row.number(score),
            )
    return builder.finish()


def _references(row: Row, several: Sequence[str]) -> list[str]:
    references: list[str] = []
    for column in several:
        value = row[column]
        references += [""] if value is None and len(several) > 1 else row.texts(column)
    if len(references) != 1 and not any(references):
        raise InputError(f"{row.where} has no reference")
    return references
