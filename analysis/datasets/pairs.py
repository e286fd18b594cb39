"""Pairs of sentences: graded similarity (STS benchmark) and paraphrases or not (PAWS, PAWS-X, QQP).

The first sentence of a pair becomes the candidate, the second the reference; in `load_pairs` the other way round, since
there the first is what metrics compare the second with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data import cells
from bsx.data.lines import NamedFile, Problems
from bsx.data.open import open_table
from bsx.data.sources import AnyTable
from bsx.data.tables import Table, delimited
from bsx.errors import InputError

PLACEHOLDER = "NS"
"""What some translations of PAWS-X hold instead of a sentence."""


def load_stsb(path: Path | str, *, name: str | None = None, skip_malformed: bool = False) -> JudgedTable:
    """Load the STS benchmark; scores go from 0 (unrelated) to 5 (equivalent).

    Three layouts, told apart by the first line: the original ``sts-*.csv`` (unquoted, fields between tabs: genre, file,
    year, index, score, sentence1, sentence2, perhaps more; no header), a table with the columns sentence1, sentence2,
    score, and comma-separated sentence1, sentence2, score without a header (stsb-multi-mt).

    Arguments and errors: as for `bsx.analysis.load_table`.
    """
    problems = Problems(skip=skip_malformed)
    builder = Builder(name or Path(path).stem, problems)
    columns = ("sentence1", "sentence2", "score")
    first = "" if Path(path).suffix == ".parquet" else next(NamedFile(path).lines())
    if Path(path).suffix == ".csv" and first.count("\t") >= 6:
        _read_original_stsb(NamedFile(path), builder, problems)
        return builder.finish(str(path))
    headless = Path(path).suffix == ".csv" and "sentence1" not in first
    table = Table(path, problems, header=columns if headless else None)
    table.require(*columns)
    for row in table.rows():
        with problems:
            builder.add(
                segment=table.row_number(row),
                candidate=row.text("sentence1"),
                references=[row.text("sentence2")],
                human=_grade(row["score"], f"{row.where}, column 'score'"),
            )
    return builder.finish(table.name)


def load_paws(
    path: Path | str, *, drop_placeholders: bool = False, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load PAWS or PAWS-X: a table with the columns sentence1, sentence2, label (or noisy_label), and perhaps id.

    ``drop_placeholders`` leaves out the pairs of PAWS-X in which a sentence is ``NS``, not a translation. Other
    arguments and errors: as for `bsx.analysis.load_table`.
    """
    problems = Problems(skip=skip_malformed)
    table = Table(path, problems)
    mark = table.first("label", "noisy_label") or "label"
    builder = Builder(name or Path(path).stem, problems)
    if mark == "noisy_label":
        builder.notes.append("the labels are noisy: no person judged these pairs")
    placeholders = _read_pairs(table, ("sentence1", "sentence2", mark), builder, problems, drop=drop_placeholders)
    if placeholders:
        done = "are left out" if drop_placeholders else "are kept; drop_placeholders=True leaves them out"
        builder.notes.append(f"{placeholders} rows with the placeholder {PLACEHOLDER!r} instead of a sentence {done}")
    return builder.finish(table.name)


def load_qqp(
    path: Path | str, *, quoted: bool = False, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load Quora question pairs: a table with the columns question1, question2, is_duplicate, and perhaps id.

    Fields of a .tsv may be ``quoted`` as in CSV, and then span lines. Other arguments and errors: as for
    `bsx.analysis.load_table`.
    """
    problems = Problems(skip=skip_malformed)
    table = Table(path, problems, quoted=quoted or None)
    builder = Builder(name or Path(path).stem, problems)
    _read_pairs(table, ("question1", "question2", "is_duplicate"), builder, problems, drop=False)
    return builder.finish(table.name)


def load_pairs(
    path: AnyTable,
    *,
    label: str | None = None,
    reference: str | None = None,
    candidate: str | None = None,
    metrics: Sequence[str] = (),
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load any table of labelled pairs, with scores that others gave them; it may have scores and no texts.

    Args:
        path: the table, or one in memory.
        label: column of labels, 1 for a paraphrase; label, noisy_label or is_duplicate unless given.
        reference: column of first sentences; sentence1, question1 or reference unless given.
        candidate: column of second sentences; sentence2, question2 or candidate unless given.
        metrics: columns of scores; an empty cell is NaN.
        name: name of the data set; the file's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Raises:
        InputError: naming file, line and reason of a malformed row.
        UnknownNameError: for a column that does not exist; lists those present.
    """
    problems = Problems(skip=skip_malformed)
    table = open_table(path, problems)
    mark = label or table.first("label", "noisy_label", "is_duplicate") or "label"
    first = reference or table.first("sentence1", "question1", "reference")
    second = candidate or table.first("sentence2", "question2", "candidate")
    builder = Builder(name or Path(table.name).stem, problems, metrics)
    placeholders = _read_pairs(table, (second, first, mark), builder, problems, drop=False, metrics=metrics)
    if placeholders:
        builder.notes.append(f"{placeholders} rows with the placeholder {PLACEHOLDER!r} instead of a sentence are kept")
    return builder.finish(table.name)


def _read_pairs(
    table: Table,
    columns: tuple[str | None, str | None, str],
    builder: Builder,
    problems: Problems,
    *,
    drop: bool,
    metrics: Sequence[str] = (),
) -> int:
    candidate, reference, mark = columns
    table.require(*(name for name in columns if name is not None), *metrics)
    placeholders = 0
    for row in table.rows():
        with problems:
            values: dict[str, Given] = {
                "segment": row.name("id") if "id" in table.columns else table.row_number(row),
            }
            texts = [row.text(column) for column in (candidate, reference) if column is not None]
            if candidate is not None:
                values["candidate"] = texts[0]
            if reference is not None:
                values["references"] = texts[-1:]
            values["label"] = row.label(mark)
            values |= {name: row.number(name) for name in metrics}
            if PLACEHOLDER in texts:
                placeholders += 1
                if drop:
                    continue
            builder.add(**values)
    return placeholders


def _read_original_stsb(file: NamedFile, builder: Builder, problems: Problems) -> None:
    longer = 0
    for where, fields in delimited(file, "\t", problems):
        with problems:
            if len(fields) < 7:
                raise InputError(f"{where} has {len(fields)} fields, at least 7 are due")
            genre, origin, year, index, score, first, second = fields[:7]
            grade = _grade(score, f"{where}, field 5 (the score)")
            longer += len(fields) > 7
            builder.add(
                segment=where.rpartition(" ")[2],
                candidate=first,
                references=[second],
                human=grade,
                genre=genre,
                file=origin,
                year=year,
                index=index,
            )
    if longer:
        builder.notes.append(f"{longer} rows have further fields (where the sentences come from), which are left out")


def _grade(value: object, where: str) -> float:
    grade = cells.number(value, where)
    if not 0 <= grade <= 5:
        raise InputError(f"{where} is {value!r}, not a grade from 0 to 5")
    return grade
