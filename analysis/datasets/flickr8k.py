"""Flickr8k: experts judged how well a caption describes an image, from 1 to 4 (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable, only_file, reference_columns
from bsx.data import cells
from bsx.data.lines import NamedFile, Problems
from bsx.data.tables import Table, delimited
from bsx.errors import InputError

JUDGES = 3

_Judged = tuple[str, str, list[str], list[float], dict[str, str]]
"""Image, candidate, references, grades, and further columns."""


def load_flickr8k(
    path: Path | str,
    *,
    drop_own: bool = False,
    per_judge: bool = False,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load the expert judgments; ``human`` is the mean of the three judges, judge1 to judge3 are what each said.

    Args:
        path: a table with the columns imageid, candidate, ref1 to ref5, judge1 to judge3; or the original folder with
            ``ExpertAnnotations.txt`` and ``Flickr8k.token.txt``. ``segment`` is the image.
        drop_own: leave out candidates that equal one of their own references.
        per_judge: one row for each judgment instead of each caption: ``human`` is what the judge said, ``judge`` which.
        name: name of the data set; the path's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Errors: as for `bsx.analysis.load_table`.
    """
    builder, copies = Builder(path, name, skip_malformed), 0
    rows = _original(Path(path), builder.problems) if Path(path).is_dir() else _table(path, builder.problems)
    for image, candidate, references, grades, more in rows:
        if candidate in references:
            copies += 1
            if drop_own:
                continue
        row: dict[str, Given] = {"segment": image, "candidate": candidate, "references": references, **more}
        if per_judge:
            for judge, grade in enumerate(grades, start=1):
                builder.add(**row, judge=judge, human=grade)
        else:
            judges = {f"judge{i}": grade for i, grade in enumerate(grades, start=1)}
            builder.add(**row, human=sum(grades) / JUDGES, **judges)
    done = "left out" if drop_own else "kept; drop_own=True leaves them out"
    if copies:
        builder.notes.append(f"{copies} candidates equal one of their own references: {done}")
    return builder.finish()


def _table(path: Path | str, problems: Problems) -> Iterator[_Judged]:
    table = Table(path, problems)
    several = reference_columns(table.columns)
    judges = [f"judge{i}" for i in range(1, JUDGES + 1)]
    table.require("imageid", "candidate", "ref1", *judges)
    for row in table.rows():
        with problems:
            references = [row.text(name) for name in several]
            grades = [_grade(row[name], f"{row.where}, column {name!r}") for name in judges]
            yield row.name("imageid"), row.text("candidate"), references, grades, {}


def _original(folder: Path, problems: Problems) -> Iterator[_Judged]:
    places = {}
    for file in ("ExpertAnnotations.txt", "Flickr8k.token.txt"):
        places[file] = only_file((path for path in folder.rglob(file) if "__MACOSX" not in path.parts), file, folder)
    captions: dict[str, str] = {}
    images: dict[str, list[str]] = {}
    for where, fields in delimited(NamedFile(places["Flickr8k.token.txt"]), "\t", problems):
        with problems:
            if len(fields) != 2 or "#" not in fields[0]:
                raise InputError(f"{where} is not IMAGE#NUMBER, a tab and a caption")
            captions[fields[0]] = fields[1]
            images.setdefault(fields[0].rpartition("#")[0], []).append(fields[1])
    for where, fields in delimited(NamedFile(places["ExpertAnnotations.txt"]), "\t", problems):
        with problems:
            if len(fields) != 2 + JUDGES:
                raise InputError(f"{where} has {len(fields)} fields, {2 + JUDGES} are due")
            image, caption, *grades = fields
            if image not in images or caption not in captions:
                missing = image if image not in images else caption
                raise InputError(f"{where}: there is no caption of {missing} in {places['Flickr8k.token.txt']}")
            given = [_grade(grade, where) for grade in grades]
            yield image, captions[caption], images[image], given, {"caption": caption}


def _grade(value: object, where: str) -> float:
    grade = cells.number(value, where)
    if grade not in (1, 2, 3, 4):
        raise InputError(f"{where} has the judgment {value!r}, not one of 1 to 4")
    return grade
