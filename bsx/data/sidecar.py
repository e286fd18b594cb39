"""What lies beside a table of scores: ``<table>.signatures.json``, as ``bsx score`` and ``bsx meta`` write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bsx.data.lines import NamedFile
from bsx.data.run import through_links
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.provenance import Provenance
from bsx.support.result import Notice
from bsx.support.untyped import JsonObject

FIGURES = ("precision", "recall", "f1")
"""The columns of BERTScore by itself."""


class SystemScoreRow(BaseModel):
    """A system's corpus score and what happened to its segments."""

    system: str = ""
    score: float | None = None
    empty: int = 0
    undefined: int = 0
    truncated: int = 0


class ScoredMetricRow(BaseModel):
    """What a sidecar says of one metric, or of a control, which is none; keys that reading does not need are kept."""

    model_config = ConfigDict(extra="allow")

    metric: str
    higher_is_better: bool
    signature: str = ""
    control: bool = False
    scores: list[SystemScoreRow] = []


class ScoredFactorRow(BaseModel):
    """What a sidecar says of one factor: its column, and why it has none."""

    model_config = ConfigDict(extra="allow")

    factor: str
    excluded: str | None = None


class Sidecar(BaseModel):
    """A sidecar; keys that reading does not need are kept."""

    model_config = ConfigDict(extra="allow")

    metrics: list[ScoredMetricRow]
    factors: list[ScoredFactorRow] = []
    provenance: Provenance | None = None
    outputs: list[Notice] = []


def read_sidecar(file: str | Path) -> Sidecar | None:
    """Return what is known of a table's columns; None without a sidecar. Beside a table of factors alone, no metrics.

    InputError names the key by which one sees that bsx did not write it.
    """
    sidecar = beside(file, ".signatures.json")
    if str(file) == "-" or not sidecar.is_file():
        return None
    content: object = NamedFile(sidecar).json()
    if isinstance(content, dict) and "factors" in content:
        content = {"metrics": [], **content}
    try:
        return Sidecar.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        what = "is missing" if first["type"] == "missing" else first["msg"].lower()
        raise InputError(f"{sidecar}: {key}: {what}; bsx did not write this sidecar: remove or mend it") from error


def beside(file: str | Path, end: str) -> Path:
    """Return what may lie beside a table: where a link leads to, as bsx writes it, or else beside the link."""
    result = Path(f"{through_links(Path(file))}{end}")
    return result if result.is_file() else Path(f"{file}{end}")


def known_metrics(file: str | Path) -> list[ScoredMetricRow]:
    """Return what is known of a table's columns of scores, from its sidecar and BERTScore's signature beside it."""
    result = read_sidecar(file)
    known = list(result.metrics) if result is not None else []
    line = beside(file, ".signature.txt")
    if str(file) != "-" and line.is_file():
        signature = " ".join(NamedFile(line).lines()).strip()
        known += [ScoredMetricRow(metric=name, higher_is_better=True, signature=signature) for name in FIGURES]
    return known


def scored_columns(file: str | Path, columns: Sequence[str], *, controls: bool = False) -> list[str]:
    """Return those of a table's columns that are known to hold scores of metrics, or of controls, which are none."""
    known = dict.fromkeys(entry.metric for entry in known_metrics(file) if entry.control == controls)
    return [name for name in known if name in columns]


def factor_columns(file: str | Path, columns: Sequence[str]) -> list[str]:
    """Return those of a table's columns that are known to hold factors."""
    result = read_sidecar(file)
    known = [entry.factor for entry in result.factors if entry.excluded is None] if result is not None else []
    return [name for name in known if name in columns]


def carried(file: str | Path | None) -> list[JsonObject]:
    """Return the entries on metrics that go on to a table with the same columns and more; none of no table."""
    return [] if file is None else [entry.model_dump(exclude_unset=True) for entry in known_metrics(file)]


def carried_factors(file: str | Path) -> list[JsonObject]:
    """Return the entries on factors that go on to a table with the same columns and more."""
    result = read_sidecar(file)
    return [entry.model_dump(exclude_unset=True) for entry in result.factors] if result is not None else []


def known_scores(table: Table) -> list[str]:
    """Return the columns of scores that ``bsx score`` wrote into a table, or that a data set has."""
    return list(table.metrics or scored_columns(table.name, table.columns))


def turned(table: Table, columns: Sequence[str], lower: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the scores of which lower is better, as the user or the sidecar says, and notes; InputError for others."""
    for name in lower:
        if name not in columns:
            raise InputError(f"lower: {name!r} is none of the scores ({', '.join(columns)})", setting="lower")
    by_sidecar = [entry.metric for entry in known_metrics(table.name) if not entry.higher_is_better]
    known = [name for name in by_sidecar if name in columns and name not in lower]
    notes = [f"{name} is multiplied by -1: lower is better" for name in lower]
    notes += [f"{name} is multiplied by -1: lower is better, as {table.name}.signatures.json says" for name in known]
    return [*lower, *known], notes
