"""Reading what a report is made of: tables of scores with their sidecars, and JSON documents of bsx's commands."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bsx.data.cells import as_numbers, spelled
from bsx.data.lines import NamedFile
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM, HumanColumn, RowColumns, ScoreColumns
from bsx.data.open import open_table
from bsx.data.pairing import refuse_alike
from bsx.data.sidecar import FIGURES, ScoredMetricRow, Sidecar, beside, read_sidecar
from bsx.data.sources import AnyTable
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.provenance import Provenance
from bsx.support.result import Result


@dataclass(frozen=True)
class ScoreRows:
    """A table of scores.

    Attributes:
        columns: names, in order.
        rows: one list of cells a row; numbers are floats, the rest texts, nothing is None.
        numeric: the columns whose every cell is a number or missing; those of scores always are.
        sidecar: what is known of the metrics; None without a sidecar.
        signature: of a table of BERTScore's three figures.
        human: what the table itself calls its column of human scores.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    numeric: frozenset[str]
    sidecar: Sidecar | None
    signature: str | None
    human: str = HUMAN[0]

    @property
    def metrics(self) -> list[str]:
        """The columns that hold scores."""
        return [name for name in dict.fromkeys(_scored(self.sidecar, self.signature)) if name in self.columns]

    @property
    def entries(self) -> dict[str, ScoredMetricRow]:
        """Metric -> what its sidecar says."""
        return {entry.metric: entry for entry in self.sidecar.metrics} if self.sidecar is not None else {}

    @property
    def controls(self) -> list[str]:
        """Those of the metrics that are controls, which cannot measure how good a translation is."""
        return [name for name, entry in self.entries.items() if entry.control]

    @property
    def provenance(self) -> Provenance | None:
        """Where the table comes from, if its sidecar says it."""
        return self.sidecar.provenance if self.sidecar is not None else None


def _scored(sidecar: Sidecar | None, signature: str | None) -> list[str]:
    """Return the columns that what lies beside a table, or the user, calls scores."""
    named = [entry.metric for entry in sidecar.metrics] if sidecar is not None else []
    return [*named, *(FIGURES if signature is not None else ())]


class TableColumns(RowColumns, HumanColumn, ScoreColumns):
    """Which columns of tables of scores are what."""

    def check(self, files: Sequence[AnyTable]) -> None:
        """Check that some table has each column that is named.

        Raises:
            UnknownNameError: naming the first that none has.
            InputError: for a column of ``lower`` that is not one of ``columns``.
        """
        for name in self.lower:
            if name not in self.columns:
                raise InputError(
                    f"lower: {name!r} is none of the columns of scores ({', '.join(self.columns)})", setting="lower"
                )
        named = [name for name in (*self.columns, self.system, self.segment, self.human) if name is not None]
        columns: dict[str, None] = {}
        for file in files if named else ():
            if not isinstance(file, str | Path) or NamedFile(file).suffix in TABLE_FORMATS:
                columns |= dict.fromkeys(open_table(file).columns)
        if missing := [name for name in named if name not in columns]:
            raise UnknownNameError(f"no table has a column {missing[0]!r}.{did_you_mean(missing[0], columns)}")

    def renamed(self, columns: Sequence[str]) -> dict[str, str]:
        """Return the columns that a report calls otherwise: ``system``, ``id`` and ``human``.

        Raises:
            InputError: if another column has that name.
        """
        human = self.human if self.human is not None else next((name for name in HUMAN if name in columns), None)
        usual = next((name for name in ("id", *SEGMENTS) if name in columns), None)
        segment = self.segment if self.segment is not None else usual
        wanted = {self.system: SYSTEM, segment: "id", human: HUMAN[0]}
        results = {name: to for name, to in wanted.items() if name is not None and name in columns and name != to}
        for name, to in results.items():
            if to in columns:
                raise InputError(f"there are columns {to!r} and {name!r}, which a report calls the same: rename one")
        return results

    def known(self, sidecar: Sidecar | None, columns: Sequence[str]) -> Sidecar | None:
        """Return what is known of the metrics, with those that are named here."""
        if not (named := [name for name in self.columns if name in columns]):
            return sidecar
        entries = {entry.metric: entry for entry in (sidecar.metrics if sidecar is not None else [])}
        rows = [entries.get(name) or ScoredMetricRow(metric=name, higher_is_better=True) for name in named]
        rows = [row.model_copy(update={"higher_is_better": False}) if row.metric in self.lower else row for row in rows]
        return Sidecar(metrics=rows, provenance=sidecar.provenance if sidecar is not None else None)


@dataclass(frozen=True)
class Document:
    """One input of a report.

    Attributes:
        name: the file's name, without folders.
        sha256: digest of the file, or None of what came from memory.
        content: a table of scores, or a result.
    """

    name: str
    sha256: str | None
    content: ScoreRows | Result


def read_document(path: AnyTable, columns: TableColumns | None = None) -> Document:
    """Read one input.

    Args:
        path: a table of scores, in a file or in memory, or a .json document of a bsx command.
        columns: which columns of a table are what.

    Raises:
        InputError: naming the file, and in a document the key, that is missing or malformed.
    """
    columns = columns if columns is not None else TableColumns()
    if not isinstance(path, str | Path):
        table = open_table(path)
        return Document(table.name, None, _table(table, table.name, columns))
    file = NamedFile(path)
    if file.suffix not in (*TABLE_FORMATS, ".json"):
        formats = ", ".join(TABLE_FORMATS)
        raise InputError(f"is neither a table of scores ({formats}) nor a .json document of a command", file=file.name)
    is_table, digest = file.suffix in TABLE_FORMATS, file.digest()
    content = _table(Table(file), file.path, columns) if is_table else parse_document(file.json(), file.name)
    return Document(Path(file.name).name, digest, content)


def parse_document(content: object, name: str) -> Result:
    """Return a document in its shape.

    Args:
        content: the JSON that a command printed, parsed.
        name: what to call it in messages.

    Raises:
        InputError: naming the key that is missing or malformed.
    """
    if not isinstance(content, Mapping) or not isinstance(content.get("provenance"), Mapping):
        raise InputError(
            f"{name}: has no key 'provenance' that says what it is; a report reads what bsx meta, plan, compare, "
            "disentangle, intervene, adversarial triples, pairs, perturb or challenge, ensemble and probe print "
            "with --format json"
        )
    kind = content["provenance"].get("kind")
    if kind == "score":
        raise InputError(f"{name}: is the summary of a table of scores: give the table itself")
    load_results()
    if not isinstance(kind, str) or kind not in Result.kinds:
        known = ", ".join(sorted(Result.kinds))
        raise InputError(f"{name}: provenance.kind is {str(kind)[:40]!r}; a report knows {known}")
    try:
        return Result.kinds[kind].from_dict(content)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


@functools.cache
def load_results() -> None:
    """Import all that shows results, and with it all results, which `Result.kinds` knows then."""
    from bsx.analysis.present import scores, statistics  # noqa: F401 - results of rooms below

    for file in sorted(Path(__file__).parent.parent.glob("*/show*.py")):
        importlib.import_module(f"bsx.analysis.{file.parent.name}.{file.stem}")


def _table(table: Table, path: str | Path, named: TableColumns) -> ScoreRows:
    renamed = named.renamed(table.columns)
    line = beside(path, ".signature.txt")
    signature = "\n".join(NamedFile(line).lines()).strip() if line.is_file() else None
    sidecar = named.known(read_sidecar(path), table.columns)
    given = list(table.rows())
    if not given:
        raise InputError("has no rows", file=table.name)
    scores = {named.human, *_scored(sidecar, signature)}
    cells, numeric = dict[str, list[object]](), set()
    for name in table.columns:
        values, shown = [row[name] for row in given], renamed.get(name, name)
        numbers = None if name in scores else as_numbers(values)
        # The usual name of human scores may be that of a column of words; one that holds a number has to hold scores.
        usual = shown == HUMAN[0] and any(as_numbers([value]) for value in values)
        if name in scores or (numbers is None and usual):
            numbers = [row.number(name) for row in given]
        if numbers is None:
            cells[shown] = [None if value is None else spelled(value) for value in values]
        else:
            cells[shown] = [None if math.isnan(number) else number for number in numbers]
            numeric.add(shown)
    if SYSTEM in cells:
        refuse_alike(map(str, cells[SYSTEM]), f"{table.name}: systems")
    human = next((name for name, to in renamed.items() if to == HUMAN[0]), HUMAN[0])
    rows = tuple(zip(*cells.values(), strict=True))
    return ScoreRows(tuple(cells), rows, frozenset(numeric), sidecar, signature, human)
