"""Reading what a report is made of: tables of scores with their sidecars, and JSON documents of bsx's commands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from bsx.analysis.documents.base import ResultDocument
from bsx.analysis.documents.kinds import KINDS
from bsx.data.cells import as_numbers, spelled
from bsx.data.lines import NamedFile
from bsx.data.sidecar import Sidecar, read_sidecar
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import InputError

_COMMANDS = (
    "bsx meta, compare, disentangle, intervene, adversarial triples, pairs, perturb or challenge, ensemble, explain, "
    "card and reproduce"
)

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class ScoreRows:
    """A table of scores.

    Attributes:
        columns: names, in order.
        rows: one list of cells a row; numbers are floats, the rest texts, nothing is None.
        numeric: the columns whose every cell is a number or missing.
        sidecar: what is known of the metrics; None without a sidecar.
        signature: of a table of BERTScore's three figures.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    numeric: frozenset[str]
    sidecar: Sidecar | None
    signature: str | None

    @property
    def metrics(self) -> list[str]:
        """The columns that hold scores."""
        if self.sidecar is not None:
            named = [entry.metric for entry in self.sidecar.metrics]
            return [name for name in named if name in self.columns]
        return [name for name in ("precision", "recall", "f1") if self.signature is not None and name in self.columns]


@dataclass(frozen=True)
class Document:
    """One input of a report.

    Attributes:
        name: the file's name, without folders.
        sha256: digest of the file, or None of what came from memory.
        content: a table of scores, or a document of one of the `bsx.analysis.documents.kinds.KINDS`.
    """

    name: str
    sha256: str | None
    content: ScoreRows | ResultDocument


def read_document(path: str | Path) -> Document:
    """Read one input.

    Args:
        path: a table of scores (.tsv, .csv, .jsonl, .parquet) or a .json document of a bsx command.

    Raises:
        InputError: naming the file, and in a document the key, that is missing or malformed.
    """
    file = NamedFile(path)
    if file.suffix in TABLE_FORMATS:
        return Document(Path(file.name).name, file.digest(), _table(file))
    if file.suffix != ".json":
        raise InputError(
            f"{file.name}: is neither a table of scores ({', '.join(TABLE_FORMATS)}) nor a .json document of a command"
        )
    return Document(Path(file.name).name, file.digest(), parse_document(file.json(), file.name))


def parse_document(content: object, name: str) -> ResultDocument:
    """Return a document in its shape.

    Args:
        content: the JSON that a command printed, parsed.
        name: what to call it in messages.

    Raises:
        InputError: naming the key that is missing or malformed.
    """
    if not isinstance(content, Mapping) or not isinstance(content.get("provenance"), Mapping):
        raise InputError(
            f"{name}: has no key 'provenance' that says what it is; a report reads what {_COMMANDS} print "
            "with `format='json'`"
        )
    kind = content["provenance"].get("kind")
    if kind == "score":
        raise InputError(f"{name}: is the summary of a table of scores: give the table itself")
    if kind not in KINDS:
        raise InputError(f"{name}: provenance.kind is {str(kind)[:40]!r}; a report knows {', '.join(KINDS)}")
    return _shaped(KINDS[kind], content, name)


def _shaped(shape: type[Model], content: Mapping[str, object], name: str) -> Model:
    try:
        return shape.model_validate(_clean(content))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        what = "is missing" if first["type"] == "missing" else f"{first['msg'].lower()}, not {first['input']!r:.60}"
        raise InputError(f"{name}: {key}: {what}") from error


def _clean(value: object) -> object:
    """Return a value without halves of surrogate pairs, which JSON may hold and UTF-8 cannot."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, Mapping):
        return {_clean_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _clean_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _table(file: NamedFile) -> ScoreRows:
    table = Table(file)
    rows = [[_clean(row[name]) for name in table.columns] for row in table.rows()]
    if not rows:
        raise InputError(f"{file.name}: has no rows")
    numeric = set()
    for place, name in enumerate(table.columns):
        numbers = as_numbers(row[place] for row in rows)
        if numbers is not None:
            numeric.add(_clean_text(name))
        for row, number in zip(rows, numbers or repeat(math.nan), strict=False):
            row[place] = _text(row[place]) if numbers is None else None if math.isnan(number) else number
    line = file.path.with_name(file.path.name + ".signature.txt")
    signature = "\n".join(NamedFile(line).lines()).strip() if line.is_file() else None
    columns = tuple(_clean_text(name) for name in table.columns)
    return ScoreRows(columns, tuple(map(tuple, rows)), frozenset(numeric), read_sidecar(file.path), signature)


def _text(value: object) -> str | None:
    return None if value is None else spelled(value)
