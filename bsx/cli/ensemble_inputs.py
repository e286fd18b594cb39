"""What ``bsx ensemble`` reads: the table, factor profiles, signatures beside the table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bsx.errors import InputError


def read_table(
    file: Path, metrics: Sequence[str], human: str, labels: Sequence[str | None], texts: Sequence[str] | None
) -> dict[str, Any]:
    """Read scores, labels and texts; the usual columns of texts that there are, unless ``texts`` names some."""
    from bsx.analysis.ensembles.run import TEXTS
    from bsx.data.columns import read_columns
    from bsx.data.tables import Table

    table = Table(file)
    if texts is None:
        texts = [name for name in TEXTS if name in table.columns]
    return read_columns(table, [*metrics, human], [name for name in labels if name is not None], texts)


def read_profiles(
    document: Path | None, file: Path, metrics: Sequence[str], factors: str | None, nan: Any
) -> dict[str, dict[str, float]] | None:
    """Return each metric's standardised coefficients, from a document or by regression on columns of factors.

    Raises:
        InputError: if both or neither are given, or the document is not one of ``bsx disentangle``.
    """
    from bsx.analysis.disentangling.fit import disentangle
    from bsx.cli.names import split_names
    from bsx.data.columns import read_columns

    if document is not None and factors is not None:
        raise InputError("give --factors or --profiles, not both")
    if factors is not None:
        names = split_names(factors)
        table = read_columns(file, [*dict.fromkeys([*metrics, *names])])
        return {fit.metric: dict(fit.coef) for fit in disentangle(table, metrics, names, nan=nan)}
    if document is None:
        return None
    try:
        results = json.loads(document.read_text(encoding="utf-8"))["results"]
        return {str(fit["metric"]): {str(k): float(v) for k, v in fit["coef"].items()} for fit in results}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{document}: is not what bsx disentangle --format json prints ({error!r})") from error


def signatures_of(file: Path, metrics: Sequence[str]) -> dict[str, str]:
    """Return the signatures of columns that the sidecar of ``bsx score`` knows; see `bsx.cli.meta_inputs`."""
    sidecar = file.with_name(file.name + ".signatures.json")
    if not sidecar.is_file():
        return {}
    entries = json.loads(sidecar.read_text(encoding="utf-8"))["metrics"]
    found = {str(entry["metric"]): str(entry["signature"]) for entry in entries}
    return {name: found[name] for name in metrics if name in found}
