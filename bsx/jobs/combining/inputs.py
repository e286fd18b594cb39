"""What an ensemble is made from: the table, factor profiles, signatures beside the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bsx.data.columns import Labels, read_columns
from bsx.data.lines import NamedFile
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy


def read_table(
    file: Table | Path, metrics: Sequence[str], human: str, labels: Sequence[str | None], texts: Sequence[str] | None
) -> dict[str, Array | Labels]:
    """Read scores, labels and texts; the usual columns of texts that there are, unless ``texts`` names some."""
    from bsx.analysis.ensembles.run import TEXTS

    table = file if isinstance(file, Table) else Table(file)
    if texts is None:
        texts = [name for name in TEXTS if name in table.columns]
    return read_columns(table, [*metrics, human], [name for name in dict.fromkeys(labels) if name is not None], texts)


def read_profiles(
    document: Path | None, file: Path, metrics: Sequence[str], factors: Sequence[str] | None, nan: NanPolicy = "error"
) -> dict[str, dict[str, float]] | None:
    """Return each metric's standardised coefficients, from a document or by regression on columns of factors.

    Raises:
        InputError: if both or neither are given, or the document is none that `bsx.jobs.disentangle` writes.
    """
    from bsx.analysis.disentangling.fit import disentangle
    from bsx.analysis.disentangling.result import DisentangleResult

    if document is not None and factors is not None:
        raise InputError("give `factor_columns=` or `profiles=`, not both")
    if factors is not None:
        table = read_columns(file, [*dict.fromkeys([*metrics, *factors])])
        return {fit.metric: dict(fit.coef) for fit in disentangle(table, metrics, factors, nan=nan).results}
    if document is None:
        return None
    try:
        found = DisentangleResult.from_dict(NamedFile(document).json())
    except InputError as error:
        raise InputError(f"{document}: is not what `bsx.jobs.disentangle(…)` writes as JSON ({error})") from error
    if not all(math.isfinite(value) for fit in found.results for value in fit.coef.values()):
        raise InputError(f"{document}: a coefficient is missing")
    return {fit.metric: dict(fit.coef) for fit in found.results}
