"""What lies beside a table of scores: ``<table>.signatures.json``, as ``bsx score`` and ``bsx meta`` write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.data.commit import settle
from bsx.data.lines import NamedFile
from bsx.errors import InputError
from bsx.support.untyped import JsonObject


def read_sidecar(file: str | Path) -> list[JsonObject]:
    """Return what is known of a table's columns: ``metric``, ``higher_is_better``, ``signature`` and more each.

    Args:
        file: the table. Without a sidecar, or with that of ``bsx factors``, nothing is known.

    Raises:
        InputError: if there is a sidecar that bsx did not write.
    """
    sidecar = Path(f"{file}.signatures.json")
    settle(Path(file))
    if str(file) == "-" or not sidecar.is_file():
        return []
    try:
        content: JsonObject = NamedFile(sidecar).json()
        if "factors" in content:
            return []
        entries = [dict(entry) for entry in content["metrics"]]
        for entry in entries:
            str(entry["metric"]), bool(entry["higher_is_better"])
    except (InputError, KeyError, TypeError) as error:
        raise InputError(f"{sidecar}: is not a sidecar that bsx wrote ({error}): remove or mend it") from error
    return entries


def known_signatures(file: str | Path, columns: Sequence[str]) -> dict[str, str]:
    """Return the signatures of those columns of a table that its sidecar knows."""
    entries = read_sidecar(file)
    return {str(e["metric"]): str(e["signature"]) for e in entries if e["metric"] in columns and "signature" in e}


def lower_by_sidecar(file: str | Path) -> list[str]:
    """Return the columns of which lower is better, by the table's sidecar."""
    return [str(entry["metric"]) for entry in read_sidecar(file) if entry["higher_is_better"] is False]
