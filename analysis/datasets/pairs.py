"""Pairs of sentences: graded similarity (STS benchmark) and paraphrases or not (PAWS, PAWS-X, QQP).

The first sentence of a pair becomes the candidate, the second the reference; in `load_pairs` the other way round, since
there the first is what metrics compare the second with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, JudgedTable
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
    builder = Builder(path, name, skip_malformed)
    columns = ("sentence1", "sentence2", "score")
    first = next(NamedFile(path).lines()) if Path(path).suffix == ".csv" else ""
    if first.count("\t") >= 6:
        longer = 0
        for where, fields in delimited(NamedFile(path), "\t", builder.problems):
            with builder.problems:
                if len(fields) < 7:
                    raise InputError(f"{where} has {len(fields)} fields, at least 7 are due")
                genre, origin, year, index, score, candidate, reference = fields[:7]
                grade = _grade(score, f"{where}, field 5 (the score)")
                longer += len(fields) > 7
                more = {"genre": genre, "file": origin, "year": year, "index": index}
                number = where.rpartition(" ")[2]
                builder.add(segment=number, candidate=candidate, references=[reference], human=grade, **more)
        if longer:
            further = "rows have further fields (where the sentences come from), which are left out"
            builder.notes.append(f"{longer} {further}")
        return builder.finish()
    table = Table(path, builder.problems, header=columns if first and "sentence1" not in first else None)
    table.require(*columns)
    for row in table.rows():
        with builder.problems:
            builder.add(
                segment=table.row_number(row),
                candidate=row.text("sentence1"),
                references=[row.text("sentence2")],
                human=_grade(row["score"], f"{row.where}, column 'score'"),
            )
    return builder.finish()


def load_paws(
    path: Path | str, *, drop_placeholders: bool = False, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load PAWS or PAWS-X: a table with the columns sentence1, sentence2, label (or noisy_label), and perhaps id.

    ``drop_placeholders`` leaves out the pairs of PAWS-X in which a sentence is ``NS``, not a translation. Other
    arguments and errors: as for `bsx.analysis.load_table`.
    """
    builder = Builder(path, name, skip_malformed)
    table = builder.table(path)
    label = table.first("label", "noisy_label") or "label"
    if label == "noisy_label":
        builder.notes.append("the labels are noisy: no person judged these pairs")
    done = "are left out" if drop_placeholders else "are kept; drop_placeholders=True leaves them out"
    _read_pairs(table, ("sentence1", "sentence2", label), builder, done, drop=drop_placeholders)
    return builder.finish()


def load_qqp(
    path: Path | str, *, quoted: bool = False, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load Quora question pairs: a table with the columns question1, question2, is_duplicate, and perhaps id.

    Fields of a .tsv may be ``quoted`` as in CSV, and then span lines. Other arguments and errors: as for
    `bsx.analysis.load_table`.
    """
    builder = Builder(path, name, skip_malformed)
    table = builder.table(path, quoted=quoted or None)
    _read_pairs(table, ("question1", "question2", "is_duplicate"), builder, "are kept")
    return builder.finish()


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

    Errors: as for `bsx.analysis.load_table`.
    """
    problems = Problems(skip=skip_malformed)
    table = open_table(path, problems)
    mark = label or table.first("label", "noisy_label", "is_duplicate") or "label"
    first = reference or table.first("sentence1", "question1", "reference")
    second = candidate or table.first("sentence2", "question2", "candidate")
    builder = Builder(table.name, name)
    builder.problems, builder.metrics = problems, metrics
    _read_pairs(table, (second, first, mark), builder, "are kept")
    return builder.finish()


def _read_pairs(
    table: Table, columns: tuple[str | None, str | None, str], builder: Builder, done: str, *, drop: bool = False
) -> None:
    """Add the pairs of a table, with its columns of candidates, references and labels.

    ``done`` says what is done with pairs of which a sentence is a placeholder; with ``drop`` they are left out.
    """
    table.require(*filter(None, columns), *builder.metrics)
    placeholders = 0
    for row in table.rows():
        with builder.problems:
            candidate, reference = (None if column is None else row.text(column) for column in columns[:2])
            values = {name: row.number(name) for name in builder.metrics}
            segment, label = row.name("id") if "id" in row else table.row_number(row), row.label(columns[2])
            if PLACEHOLDER in (candidate, reference):
                placeholders += 1
                if drop:
                    continue
            references = None if reference is None else [reference]
            pair = {"segment": segment, "candidate": candidate, "references": references, "label": label}
            builder.add(**pair | values)  # a metric may be called as one of them
    if placeholders:
        builder.notes.append(f"{placeholders} rows with the placeholder {PLACEHOLDER!r} instead of a sentence {done}")


def _grade(value: object, where: str) -> float:
    grade = cells.number(value, where)
    if not 0 <= grade <= 5:
        raise InputError(f"{where} is {value!r}, not a grade from 0 to 5")
    return grade
