"""Judgments of simplified sentences: Simplicity-DA, and the ratings of ASSET."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data.lines import Problems, check_line_counts, line_list
from bsx.data.tables import Row, Table
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import did_you_mean

ASPECTS = ("fluency", "meaning", "simplicity")
"""What annotators judged, each from 0 to 100."""
_ASSET = ("original", "simplification", "original_sentence_id", "aspect", "worker_id", "rating")
_DA = ("sent_id", "sys_name", "orig_sent", "simp_sent")
References = Callable[[str, str], dict[str, Given]]


def load_simplification(
    path: Path | str,
    *,
    human: str = "simplicity",
    texts: Path | str | None = None,
    per_judge: bool = False,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load human ratings of simplifications.

    Two layouts, told by their columns: Simplicity-DA (``simplicity_DA.csv``: sent_id, sys_name, orig_sent, simp_sent,
    fluency, meaning, simplicity, each with a column ``…_zscore``), and ASSET's ``human_ratings.csv`` (original,
    simplification, original_sentence_id, aspect, worker_id, rating, one row a rating). ``source`` is the original, and
    each aspect is a column: the mean, or of Simplicity-DA the z-score, with the mean as ``…_raw``.

    Source: Alva-Manchego et al. 2021; Alva-Manchego et al. 2020.

    Args:
        path: the table.
        human: the aspect that the column ``human`` holds: fluency, meaning or simplicity.
        texts: folder of references, lines of ``*.orig`` and ``*.simp.0``, ``*.simp.1``, …; each original is looked up
            there by its text.
        per_judge: of ASSET: one row for each rating of the aspect; ``judge`` says whose.
        name: name of the data set; the file's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Raises:
        InputError: naming file, line and reason of a malformed row, or an original without references.
        UnknownNameError: for another aspect, or columns of neither layout.
    """
    if human not in ASPECTS:
        raise UnknownNameError(f"human={human}: there are {', '.join(ASPECTS)}.{did_you_mean(human, ASPECTS)}")
    problems = Problems(skip=skip_malformed)
    table = Table(path, problems)
    builder = Builder(name or Path(path).stem, problems)
    references = _references(Path(texts)) if texts is not None else _none
    if all(column in table.columns for column in _ASSET):
        _asset(table, problems, builder, human, references, per_judge=per_judge)
    elif all(column in table.columns for column in _DA):
        if per_judge:
            raise InputError("holds no single ratings, which per_judge asks for", file=table.name)
        _direct_assessment(table, problems, builder, human, references)
    else:
        raise UnknownNameError(
            f"is neither Simplicity-DA ({', '.join(_DA)}) nor ASSET's ratings ({', '.join(_ASSET)}); it "
            f"has {', '.join(table.columns)}",
            file=table.name,
        )
    return builder.finish(table.name)


def _direct_assessment(table: Table, problems: Problems, builder: Builder, human: str, references: References) -> None:
    aspects = [aspect for aspect in ASPECTS if aspect in table.columns]
    table.require(human, *(f"{aspect}_zscore" for aspect in aspects))
    for row in table.rows():
        with problems:
            values: dict[str, Given] = {}
            for aspect in aspects:
                values |= {aspect: row.number(f"{aspect}_zscore"), f"{aspect}_raw": row.number(aspect)}
            original = row.text("orig_sent")
            builder.add(
                system=row.name("sys_name"),
                segment=row.name("sent_id"),
                source=original,
                candidate=row.text("simp_sent"),
                **references(original, row.where),
                human=values[human],
                human_raw=values[f"{human}_raw"],
                **values,
            )


def _asset(
    table: Table, problems: Problems, builder: Builder, human: str, references: References, *, per_judge: bool
) -> None:
    every: dict[tuple[str, str], list[tuple[Row, str, float]]] = {}
    for row in table.rows():
        with problems:
            aspect = row.name("aspect")
            if aspect not in ASPECTS:
                raise InputError(f"{row.where}: has the aspect {aspect!r}, not one of {', '.join(ASPECTS)}")
            key = (row.name("original_sentence_id"), row.text("simplification"))
            every.setdefault(key, []).append((row, aspect, row.finite("rating")))
    for (segment, candidate), ratings in every.items():
        first = ratings[0][0]
        with problems:
            original = first.text("original")
            texts: dict[str, Given] = {"segment": segment, "source": original, "candidate": candidate}
            texts |= references(original, first.where)
            if per_judge:
                for row, aspect, rating in ratings:
                    if aspect == human:
                        builder.add(**texts, human=rating, judge=row.name("worker_id"))
                continue
            means: dict[str, Given] = {}
            for aspect in ASPECTS:
                given = [rating for _, rated, rating in ratings if rated == aspect]
                means[aspect] = sum(given) / len(given) if given else float("nan")
            count = sum(aspect == human for _, aspect, _ in ratings)
            builder.add(**texts, human=means[human], judgments=count, **means)


def _none(original: str, where: str) -> dict[str, Given]:
    return {}


def _references(folder: Path) -> References:
    """Return a function from an original, and the place it stands at, to its references."""
    originals = sorted(folder.glob("*.orig"))
    if not originals:
        raise InputError("holds no file *.orig with references next to it", file=folder)
    known: dict[str, list[str]] = {}
    for file in originals:
        stem = file.name.removesuffix(".orig")
        numbered = [path for path in folder.glob(f"{stem}.simp.*") if path.suffix[1:].isdecimal()]
        if not numbered:
            raise InputError(f"holds no {stem}.simp.0, a reference for each line of {file.name}", file=folder)
        files = [file, *sorted(numbered, key=lambda path: int(path.suffix[1:]))]
        columns: Sequence[list[str]] = [line_list(path) for path in files]
        check_line_counts({str(path): len(lines) for path, lines in zip(files, columns, strict=True)})
        for original, *simple in zip(*columns, strict=True):
            known[original] = simple

    def look_up(original: str, where: str) -> dict[str, Given]:
        if original not in known:
            raise InputError(f"{where}: {folder} has no references for {original[:60]!r}")
        return {"references": known[original]}

    return look_up
