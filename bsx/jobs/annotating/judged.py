"""Judgments that come back from a campaign, as a table that other commands read: whose outputs they were, restored."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from bsx.analysis.planning.selecting import JudgedAnswers, JudgedSystem
from bsx.data.cells import finite, spelled
from bsx.data.lines import NamedFile
from bsx.data.output import ScoreTable, check_table, refuse_taken
from bsx.data.tables import Row, Table
from bsx.errors import InputError
from bsx.jobs.annotating.campaign import KEY, OWN, shown_text
from bsx.support.near import did_you_mean
from bsx.support.settings import BaseSettings, Option, settled
from bsx.support.untyped import Untyped

_RESET = "__RESET__"
"""What Pearmut logs where a person's answers to a document are taken back."""
_WEIGHTS = {"minor": 1.0, "major": 5.0}
SPANS = "human_spans"
"""The column of what marked errors take off: 5 for each major and 1 for each minor one."""


class JudgedRun(BaseSettings):
    """What came back, the key of the campaign, and where the judged table goes."""

    file: Annotated[
        str,
        Field(
            description="What came back: Pearmut's annotations, .json or .jsonl, or the filled-in sheet, .csv or .tsv."
        ),
        Option(argument=True),
    ]
    key: Annotated[Path | str, Field(description=f"The campaign's {KEY}, or its folder.")]
    judged_out: Annotated[
        Path | str,
        Field(description="Table to write: .tsv, .csv, .jsonl, .parquet or .xlsx, the rows that were judged."),
        Option(writable=True),
    ]
    human: Annotated[str, Field(description="What the column of human scores is called.")] = "human"
    per_rater: Annotated[
        bool, Field(description="A row a judgment, with the column judge, instead of the mean over people.")
    ] = False
    partial: Annotated[bool, Field(description="Leave out outputs that nobody has judged yet.")] = False

    @field_validator("key", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if value in ("", ".", Path()):  # an empty name would be the working folder
            raise ValueError(f"name the campaign's {KEY}, or its folder")
        return value


@dataclass(frozen=True)
class _Judgment:
    score: float
    judge: str
    spans: float


@settled(JudgedRun)
def read_judged(settings: JudgedRun) -> JudgedAnswers:
    """Read the judgments of a campaign, and write the rows that were judged, with the systems' names.

    Args:
        settings: see `JudgedRun`.

    Raises:
        InputError: for an answer to an output that is not in the key, a sheet whose outputs are others than those
            handed out, a score that is no number, or outputs without any unless ``partial``; nothing is written then.
    """
    out = Path(settings.judged_out)
    check_table(out)
    path = Path(settings.key)
    key_file = path / KEY if path.is_dir() else path
    key = Table(key_file)
    key.require(*OWN)
    rows = {row.text(OWN[0]): row for row in key.rows()}
    columns = [name for name in key.columns if name not in OWN]
    added = [settings.human, *(["judge"] if settings.per_rater else ["judgments"])]
    refuse_taken(columns, [*added, SPANS])
    if settings.human in (*added[1:], SPANS):
        raise InputError(
            f"human: {settings.human!r} is another column of the table: name it otherwise", setting="human"
        )
    pearmut = settings.file.endswith((".json", ".jsonl"))
    answers: dict[str, list[_Judgment]] = {}
    for name, judgment in (_from_pearmut if pearmut else _from_sheet)(settings.file, rows, key.name):
        answers.setdefault(name, []).append(judgment)
    missing = [name for name in rows if name not in answers]
    if not answers:
        raise InputError(f"no output has a score; {len(rows):,} were handed out", file=settings.file)
    if missing and not settings.partial:
        raise InputError(
            f"{len(missing):,} of {len(rows):,} outputs have no score, such as {missing[0]!r}; partial leaves them out",
            file=settings.file,
            setting="partial",
        )
    spans = any(one.spans for found in answers.values() for one in found)
    with ScoreTable(out, {**key.types(), settings.human: _float(out)} if out.suffix == ".parquet" else None) as table:
        for name, row in rows.items():
            found = answers.get(name, [])
            kept = {column: row[column] for column in columns}
            for group in [[one] for one in found] if settings.per_rater else [found] * bool(found):
                scores: dict[str, object] = {settings.human: math.fsum(one.score for one in group) / len(group)}
                if spans:
                    scores[SPANS] = math.fsum(one.spans for one in group) / len(group)
                scores |= {"judge": group[0].judge} if settings.per_rater else {"judgments": len(group)}
                table.write(kept | scores)
    return _told(rows, answers, settings, out)


def _float(path: Path) -> object:
    from bsx.support.optional import need

    return need("pyarrow", "writing Parquet files").float64()


def _told(
    rows: Mapping[str, Row], answers: Mapping[str, Sequence[_Judgment]], settings: JudgedRun, out: Path
) -> JudgedAnswers:
    by: dict[str, list[float]] = defaultdict(list)
    for name, found in answers.items():
        by[rows[name].text(OWN[1])].append(math.fsum(one.score for one in found) / len(found))
    systems = [JudgedSystem(name, len(values), math.fsum(values) / len(values)) for name, values in sorted(by.items())]
    judges = {one.judge for found in answers.values() for one in found} - {""}
    every = sum(map(len, answers.values()))
    told = {"human": settings.human, "per_rater": settings.per_rater}
    return JudgedAnswers(len(rows), len(answers), every, len(judges), tuple(systems), str(out), settings=told)


def _known(name: str, rows: Mapping[str, Row], where: str, key: str) -> None:
    if name not in rows:
        raise InputError(
            f"{where}: the output {name!r} is not in {key}: the answers are of another campaign, or a name was changed."
            f"{did_you_mean(name, list(rows))}"
        )


def _from_pearmut(file: str, rows: Mapping[str, Row], key: str) -> Iterator[tuple[str, _Judgment]]:
    """Yield the judgments in what Pearmut's dashboard or server holds; the last answer of a person counts.

    Source: https://github.com/zouharvi/pearmut: a log of {item: [{item_id, tgt}], annotation: [{output: {score,
    error_spans}}], user_id, item_i}, by campaign where it was downloaded.
    """
    last: dict[tuple[str, str], _Judgment] = {}
    answered: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for where, entry in _entries(file):
        user, item_i = str(entry.get("user_id") or ""), entry.get("item_i")
        if not user and not isinstance(item_i, str):  # without it, answers of two people would take each other's place
            raise InputError(f"{where}: has no user_id: this is not what Pearmut writes")
        place = (user, json.dumps(item_i))
        annotation, items = entry.get("annotation"), entry.get("item")
        if annotation == _RESET:
            for one in answered.pop(place, set()):
                last.pop(one, None)
            continue
        if isinstance(item_i, str):  # a tutorial, a form or a check, which is no output of the campaign's
            continue
        if not isinstance(annotation, list) or not isinstance(items, list) or len(annotation) != len(items):
            raise InputError(f"{where}: has no annotation of each of its items: this is not what Pearmut writes")
        for item, marks in zip(items, annotation, strict=True):
            segment = item.get("item_id") if isinstance(item, dict) else None
            if segment is None or not isinstance(marks, dict):
                raise InputError(f"{where}: an item has no item_id or no annotation: this is not what Pearmut writes")
            for output, answer in marks.items():
                name = f"{segment}/{output}"
                _known(name, rows, where, key)
                texts = item.get("tgt")
                if not isinstance(texts, dict) or texts.get(output) != spelled(rows[name][OWN[2]]):
                    raise InputError(
                        f"{where}: the output {name!r} is another text than was handed out: the answers are of another "
                        "campaign"
                    )
                score = answer.get("score") if isinstance(answer, dict) else None
                if score is None:
                    continue
                value = finite(score, f"{where}, the score of {name}")
                taken = sum(_weight(span, f"{where}, an error of {name}") for span in _spans(answer, where))
                last[name, user] = _Judgment(value, user, -taken)
                answered[place].add((name, user))
    for (name, _), judgment in last.items():
        yield name, judgment


def _spans(answer: Mapping[str, Untyped], where: str) -> list[Mapping[str, Untyped]]:
    spans = answer.get("error_spans") or []
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        raise InputError(f"{where}: error_spans is no list of spans: this is not what Pearmut writes")
    return spans


def _weight(span: Mapping[str, Untyped], where: str) -> float:
    severity = str(span.get("severity"))
    if severity.lower() not in _WEIGHTS:
        raise InputError(f"{where} has the severity {severity!r}; it is one of {', '.join(_WEIGHTS)}")
    return _WEIGHTS[severity.lower()]


def _entries(file: str) -> Iterator[tuple[str, Mapping[str, Untyped]]]:
    """Yield the entries of a log, each with where it is."""
    named = NamedFile(file)
    if file.endswith(".jsonl"):
        for number, line in enumerate(named.lines(), start=1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"is not JSON ({error})", file=file, line=number) from error
            if not isinstance(entry, dict):
                raise InputError("is not an entry of Pearmut's", file=file, line=number)
            yield f"{file}: line {number}", entry
        return
    content = named.json()
    logs = content if isinstance(content, dict) else {"": content}
    for campaign, log in logs.items():
        if not isinstance(log, list) or not all(isinstance(entry, dict) for entry in log):
            raise InputError("is not what Pearmut lets one download: campaigns with lists of entries", file=file)
        for number, entry in enumerate(log, start=1):
            yield f"{file}: entry {number}{f' of {campaign}' if campaign else ''}", entry


def _from_sheet(file: str, rows: Mapping[str, Row], key: str) -> Iterator[tuple[str, _Judgment]]:
    """Yield the judgments in a filled-in sheet, whose outputs must be those handed out."""
    named = NamedFile(file)
    text = named.text()
    head = text.removeprefix("\ufeff").partition("\n")[0]
    separator = max(("\t", ";", ","), key=head.count)  # spreadsheets write the separator of their country
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator)
    try:
        cells = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise InputError(f"is no sheet ({error})", file=file) from error
    columns = cells[0][1] if cells else []
    for name in ("id", "output", "score"):
        if name not in columns:
            raise InputError(f"line 1: there is no column {name!r}; a sheet has id, output and score", file=file)
        if columns.count(name) > 1:
            raise InputError(f"line 1: the column {name!r} stands there twice: keep one of them", file=file)
    seen: dict[tuple[str, str], int] = {}
    for line, found in cells[1:]:
        if not any(cell.strip() for cell in found):
            continue
        where = f"{file}: line {line}"
        if len(found) != len(columns):
            raise InputError(f"{where}: has {len(found)} cells, {len(columns)} are due")
        row = dict(zip(columns, found, strict=True))
        name = row["id"].strip()
        _known(name, rows, where, key)
        judge = row.get("judge", "").strip()
        if (name, judge) in seen:
            raise InputError(
                f"{where}: the output {name!r} stands in line {seen[name, judge]} too: keep one of them, or "
                "tell people apart in a column 'judge'"
            )
        seen[name, judge] = line
        if shown_text(row["output"]) != shown_text(rows[name].text(OWN[2])):
            raise InputError(
                f"{where}: the output {name!r} is another text than was handed out: were cells changed or sorted by "
                "themselves? Take over the scores into the sheet as it was"
            )
        score = row["score"].strip()
        if separator == ";":
            score = score.replace(",", ".")
        if score:
            yield name, _Judgment(finite(score, f"{where}, column 'score'"), judge, 0.0)
