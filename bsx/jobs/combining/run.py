"""Metrics of a table together, beside the best of them; and kept as a metric of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from bsx.analysis.ensembles.result import EnsembleResult
from bsx.analysis.ensembles.run import ensemble as combine
from bsx.analysis.ensembles.settings import EnsembleSettings
from bsx.data.run import check_output
from bsx.data.sidecar import known_signatures, lower_by_sidecar
from bsx.errors import InputError
from bsx.jobs.combining.inputs import read_profiles, read_table
from bsx.jobs.combining.save import new_place, save_ensemble
from bsx.jobs.settings import EnsembleColumns
from bsx.support.settings import complete, set_fields, takes


@dataclass(frozen=True, eq=False)
class Combined:
    """What came out.

    Attributes:
        result: gains over the best metric, with intervals and tests, and weights.
        files: what was read.
        signatures: of the columns, where known.
        saved: where the ensemble was saved, if it was.
    """

    result: EnsembleResult
    files: list[Path]
    signatures: dict[str, str]
    saved: Path | None = None


@takes(EnsembleColumns)
def ensemble(
    file: Path,
    columns: Sequence[str],
    human: str,
    *,
    settings: EnsembleSettings | None = None,
    **more: Unpack[EnsembleColumns],
) -> Combined:
    """Combine columns of a table, compare the result with the best of them, and perhaps keep it as a metric.

    It reads files; `bsx.analysis.ensemble` works on columns.

    Args:
        file: table of scores.
        columns: those to combine.
        human: column of human scores.
        settings: of the rule and the comparison.
        **more: other columns, other files, and where to save; ``lower`` adds to what the table's sidecar knows.

    Raises:
        InputError: for a table or settings that cannot be used, or members that are no metrics.
    """
    asked = complete(more, EnsembleColumns)
    group, segment, fold, text = asked["group"], asked["segment"], asked["fold"], asked["text"]
    fit, factors, profiles, save = asked["fit"], asked["factor_columns"], asked["profiles"], asked["save"]
    member, lower, registry = asked["member"], asked["lower"], asked["registry"]
    settings = settings if settings is not None else EnsembleSettings()
    if save is not None:
        place = new_place(save, registry)
        if save.endswith((".yaml", ".yml")):
            check_output(place)
    if save is None and (member or registry is not None):
        raise InputError("`member=` and `registry=` go with `save=`")
    if (factors is not None or profiles is not None) != (settings.how == "factors"):
        raise InputError("`how=factors` and `factor_columns=COLUMNS`, or `profiles=FILE`, go together")
    table = read_table(file, columns, human, [group, segment, fold], text)
    other = None if fit is None else read_table(fit, columns, human, [group, segment], text)
    source = file if fit is None else fit
    known = [name for name in lower_by_sidecar(source) if name in columns and name not in lower]
    result = combine(
        table,
        columns,
        human,
        group=group,
        segment=segment,
        fold=fold,
        texts=text,
        lower=[*lower, *known],
        fit=other,
        profiles=read_profiles(profiles, source, columns, factors, settings.nan),
        **set_fields(settings),
    )
    saved = None
    if save is not None:
        saved = save_ensemble(result, save, member, human, [source], known_signatures(source, columns), registry)
    files = [path for path in (file, fit, profiles) if path is not None]
    return Combined(result, files, known_signatures(file, columns), saved)
