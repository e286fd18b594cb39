"""What lies beside a table of scores: ``<table>.signatures.json``, as ``bsx score`` and ``bsx meta`` write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bsx.data.commit import settle
from bsx.data.lines import NamedFile
from bsx.errors import InputError
from bsx.support.provenance import Provenance


class SystemScoreRow(BaseModel):
    """A system's corpus score and what happened to its segments."""

    system: str = ""
    score: float | None = None
    empty: int = 0
    undefined: int = 0
    truncated: int = 0


class ScoredMetricRow(BaseModel):
    """What a sidecar says of one metric."""

    metric: str
    higher_is_better: bool
    signature: str = ""
    scores: list[SystemScoreRow] = []


class Sidecar(BaseModel):
    """A sidecar; keys that reading does not need are kept."""

    model_config = ConfigDict(extra="allow")

    metrics: list[ScoredMetricRow]
    provenance: Provenance | None = None


def read_sidecar(file: str | Path) -> Sidecar | None:
    """Return what is known of a table's columns; None without a sidecar, or with that of ``bsx factors``.

    Raises:
        InputError: naming the key by which one sees that bsx did not write it.
    """
    sidecar = Path(f"{file}.signatures.json")
    settle(Path(file))
    if str(file) == "-" or not sidecar.is_file():
        return None
    content: object = NamedFile(sidecar).json()
    if isinstance(content, dict) and "factors" in content:
        return None
    try:
        return Sidecar.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        what = "is missing" if first["type"] == "missing" else first["msg"].lower()
        raise InputError(f"{sidecar}: {key}: {what}; bsx did not write this sidecar: remove or mend it") from error


def known_signatures(file: str | Path, columns: Sequence[str]) -> dict[str, str]:
    """Return the signatures of those columns of a table that its sidecar knows."""
    found = read_sidecar(file)
    entries = found.metrics if found is not None else []
    return {entry.metric: entry.signature for entry in entries if entry.metric in columns and entry.signature}


def lower_by_sidecar(file: str | Path) -> list[str]:
    """Return the columns of which lower is better, by the table's sidecar."""
    found = read_sidecar(file)
    return [entry.metric for entry in found.metrics if not entry.higher_is_better] if found is not None else []
