"""Scores of sentence pairs by linguistic factors, as new columns of their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, TypedDict, Unpack

import numpy as np

from bsx.analysis.factors.base import FactorScores, Resources, SentencePairs
from bsx.analysis.factors.zoo import get_factors, scored
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import language_pair
from bsx.data.files import TableFile
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import carried, carried_factors
from bsx.data.tables import Table
from bsx.errors import InputError, MissingExtraError, ModelUnavailableError
from bsx.jobs.settings.factors import FactorSettings
from bsx.support.aligned import text_table
from bsx.support.settings import complete, refuse_idle, takes

USUAL = ("syn", "lex", "mor")


class FactorRow(TypedDict):
    """One factor in a summary: over the pairs that have a value."""

    factor: str
    n: int
    mean: float | None
    sd: float | None
    excluded: str | None
    settings: dict[str, object]


class Summary(TypedDict):
    """What was scored and written."""

    pairs: int
    written: int
    lang: str
    preset: str | None
    nan: str
    factors: list[FactorRow]


@dataclass(frozen=True, eq=False)
class Factored:
    """What came out.

    Attributes:
        summary: what was scored and written.
        notes: what the reader should know.
    """

    summary: Summary
    notes: list[str]

    def to_text(self) -> str:
        """Return a table of the factors, for people."""
        rows = [["factor", "n", "mean", "sd"]]
        for entry in self.summary["factors"]:
            figures = ["-", ""] if entry["mean"] is None else [f"{entry['mean']:.4f}", f"{entry['sd']:.4f}"]
            rows.append([entry["factor"], str(entry["n"]), *(["excluded", ""] if entry["excluded"] else figures)])
        return text_table(rows)


@as_one_run
@takes(FactorSettings)
def factors(
    file: Path,
    output: Path,
    factors: str | Sequence[str] | None = None,
    *,
    resources: Resources | None = None,
    **how: Unpack[FactorSettings],
) -> Factored:
    """Score sentence pairs by linguistic factors and write their table with one more column a factor.

    Args:
        file: table of sentence pairs.
        output: table to write.
        factors: names, or ``name:field=value``; None for those of `USUAL` that have what they need here.
        resources: what factors may read beside the sentences.
        **how: columns, languages, and what to do about pairs without a value.

    Raises:
        InputError: for a table or factor that cannot be used.
    """
    asked = complete(how, FactorSettings)
    nan, lang = asked["nan"], asked["lang"]
    lang1, lang2 = language_pair(lang)
    catalog = load_registry(asked["registry"])
    made = get_factors(USUAL if factors is None else factors, preset=asked["preset"], registry=catalog)
    replaced = [said for factor in made if (said := catalog.replacement("factor", factor.entry.name)) is not None]
    check_table(output)
    resources = resources if resources is not None else Resources()
    of = f"with the factors {', '.join(factor.entry.name for factor in made)}"
    unread = vars(resources).keys() - {"progress"}.union(*(factor.reads for factor in made))
    refuse_idle({name: vars(resources)[name] for name in unread}, Resources, of)
    opened = Table(file)
    usual = (
        opened.first("sentence1", "reference" if lang1 == lang2 else "source"),
        opened.first("sentence2", "candidate"),
    )
    sentence1 = asked["sentence1"] if asked["sentence1"] is not None else usual[0] or "sentence1"
    sentence2 = asked["sentence2"] if asked["sentence2"] is not None else usual[1] or "sentence2"
    if sentence1 == sentence2:
        raise InputError(f"`sentence1=` and `sentence2=` both name the column {sentence1!r}")
    if (resources.parses1 is None) != (resources.parses2 is None):
        raise InputError("parses come for both sides: give `parses1=` and `parses2=`")
    table = TableFile(file, [sentence1, sentence2], [], keep_rows=True)
    names = {factor.spec: asked["prefix"] + factor.spec for factor in made}
    for name in names.values():
        if name in table.columns:
            raise InputError(f"{file}: has a column {name!r} already: choose another name with `prefix=`")
    segments = list(table)
    rows: list[dict[str, Any]] = [dict(segment.row or {}) for segment in segments]
    columns = {name: [row[name] for row in rows] for name in table.columns if name not in (sentence1, sentence2)}
    first, second = ([segment.candidates[side] for segment in segments] for side in (0, 1))
    pairs = SentencePairs(first, second, lang1, lang2, columns)
    results: dict[str, FactorScores] = {}
    for factor in made:
        try:
            results[names[factor.spec]] = scored(factor, pairs, resources)
        except (MissingExtraError, ModelUnavailableError) as error:
            if factors is not None:
                raise
            note = f"{factor.spec} is left out: {str(error).removeprefix(f'{factor.spec}: ')}"
            results[names[factor.spec]] = FactorScores(np.full(len(rows), np.nan), {}, (note,), excluded=str(error))
    kept = {name: scores for name, scores in results.items() if scores.excluded is None}
    missing = np.isnan([scores.values for scores in kept.values()]) if kept else np.zeros((0, len(rows)), dtype=bool)
    if nan == "error" and missing.any():
        place, row = (int(index) for index in np.argwhere(missing)[0])
        raise InputError(
            f"{list(kept)[place]}: row {row + 1} has no value; `nan='keep'` writes nan, `nan='omit'` leaves it out"
        )
    wanted = ~missing.any(axis=0) if nan == "omit" else np.ones(len(rows), dtype=bool)
    summary: Summary = {
        "pairs": len(rows),
        "written": int(wanted.sum()),
        "lang": lang,
        "preset": asked["preset"],
        "nan": nan,
        "factors": [_describe(name, scores) for name, scores in results.items()],
    }
    with ScoreTable(output, _types(table, kept) if output.suffix == ".parquet" else None) as written:
        for index in np.flatnonzero(wanted):
            written.write(rows[index] | {name: float(scores.values[index]) for name, scores in kept.items()})
        metrics = carried(file)
        written.sidecar = {
            **summary,
            **({"metrics": metrics} if metrics else {}),
            "factors": [*carried_factors(file), *summary["factors"]],
        }
    return Factored(summary, [*replaced, *(note for scores in results.values() for note in scores.notes)])


def _describe(name: str, scores: FactorScores) -> FactorRow:
    present = [value for value in scores.values.tolist() if value == value]
    mean, sd = (fmean(present), pstdev(present)) if present else (None, None)
    return FactorRow(factor=name, n=len(present), mean=mean, sd=sd, excluded=scores.excluded, settings=scores.details)


def _types(table: TableFile, kept: dict[str, FactorScores]) -> dict[str, object]:
    import pyarrow

    return {**table.types(), **{name: pyarrow.float64() for name in kept}}
