"""Metrics of a table together, beside the best of them; and kept as a metric of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from bsx.analysis.ensembles.result import EnsembleResult
from bsx.analysis.ensembles.run import combine
from bsx.analysis.ensembles.settings import EnsembleSettings
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM, together
from bsx.data.output import ScoreTable, check_table, refuse_taken
from bsx.data.pairing import Pairing, texts_of_rows
from bsx.data.run import as_one_run, check_output
from bsx.data.sidecar import carried, known_signatures, lower_by_sidecar, scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.combining.inputs import read_profiles, read_table
from bsx.jobs.combining.save import new_place, save_ensemble
from bsx.jobs.settings.combining import EnsembleColumns
from bsx.support.settings import complete, takes

ENSEMBLE = "ensemble"
"""The column of the ensemble's scores."""


@as_one_run
@takes(EnsembleColumns)
def ensemble(
    file: Path,
    columns: Sequence[str] = (),
    human: str | None = None,
    *,
    scores_out: Path | None = None,
    settings: EnsembleSettings | None = None,
    **more: Unpack[EnsembleColumns],
) -> EnsembleResult:
    """Combine columns of a table, compare the result with the best of them, and perhaps keep it as a metric.

    It reads files; `bsx.analysis.ensemble` works on columns.

    Args:
        file: table of scores.
        columns: those to combine; those that are known to be metrics unless given.
        human: column of human scores; ``human``, ``human_z`` or ``z`` unless given.
        scores_out: table to write: this one with the column ``ensemble``; of learnt weights, scores of rows held out.
        settings: of the rule and the comparison.
        **more: other columns, other files, and where to save; ``lower`` adds to what the table's sidecar knows.

    Raises:
        InputError: for a table or settings that cannot be used, or members that are no metrics.
    """
    asked = complete(more, EnsembleColumns)
    if scores_out is not None:
        check_table(scores_out)
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
    opened = Table(file)
    if scores_out is not None:
        refuse_taken(opened.columns, [ENSEMBLE])
    columns = list(columns) or scored_columns(file, opened.columns)
    if not columns:
        raise InputError(f"{file}: `columns=COL,…` names the columns of scores; it has {', '.join(opened.columns)}")
    if (people := human if human is not None else opened.first(*HUMAN)) is None:
        raise InputError(f"{file}: `human=COL` names the column of human scores; it has {', '.join(opened.columns)}")
    system = asked["system"] if asked["system"] is not None else opened.first(SYSTEM)
    usual = opened.first(*SEGMENTS) if segment is None else None
    segment = segment if segment is not None else usual
    pair = "lp" if usual is not None and "lp" in opened.columns else None
    labels = [name for name in dict.fromkeys((group, segment, pair)) if name is not None]
    table = read_table(opened, columns, people, [*labels, fold, system], text)
    other = None if fit is None else read_table(Table(fit), columns, people, labels, text)
    for one in (table, other):
        if one is not None and usual is not None and pair is not None:  # segments are numbered within language pairs
            one[usual] = [f"{lp} {name}" for lp, name in zip(one[pair], one[usual], strict=True)]
    source = file if fit is None else fit
    known = [name for name in lower_by_sidecar(source) if name in columns and name not in lower]
    found = combine(
        table,
        columns,
        people,
        settings,
        group=group,
        segment=segment,
        fold=fold,
        texts=text,
        lower=[*lower, *known],
        fit=other,
        profiles=read_profiles(profiles, source, columns, factors, settings.nan),
    )
    if save is not None:
        save_ensemble(found, save, member, people, [source], known_signatures(source, columns), registry)
    if scores_out is not None:
        _save_scores(file, found.scores.tolist(), scores_out)
    said = [] if system is None or system == group else together([str(name) for name in table[system]], system)
    if system is not None and segment is not None and (texts := texts_of_rows(opened)) is not None:
        pairing = Pairing()
        for one, unit, content in zip(table[system], table[segment], texts, strict=True):
            pairing.add(str(one), unit, content)
        said += pairing.notes(missing=False)
    return replace(found.result, signatures=known_signatures(file, columns), notes=tuple(said))


def _save_scores(file: Path, scores: Sequence[float], path: Path) -> None:
    """Write a table with one more column, ``ensemble``."""
    table = Table(file)
    with ScoreTable(path, table.types() if path.suffix == ".parquet" else None) as written:
        for row, score in zip(table.rows(), scores, strict=True):
            written.write({**row, ENSEMBLE: score})
        own = {"metric": ENSEMBLE, "higher_is_better": True}
        written.sidecar = {"metrics": [*carried(table.file.path), own]}
