"""Do several metrics together agree better with human judgments than the best of them?

Source: Kaster, Zhao & Eger 2021, section 6.2 and Table 13, for z-averages and gains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bsx.analysis.ensemble.fit import Training, Weights, best_member, fit_members, learn_weights, out_of_fold
from bsx.analysis.ensemble.gain import Measured, gains
from bsx.analysis.ensemble.result import EnsembleResult, FoldWeights
from bsx.analysis.ensemble.settings import EnsembleData, EnsembleSettings, How
from bsx.analysis.stats.folds import Fold, Rows, refuse_leak, unit_folds, units
from bsx.catalog.entries.metrics import LEARNED, Combination, Member, Normalise
from bsx.data.columns import TableLike, column_names, numeric_columns, standardise
from bsx.data.documents import document_of_segment, refuse_single
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Notice
from bsx.support.settings import settled

TEXTS = ("source", "reference", "candidate", "sentence1", "sentence2")
_ROW = "\0row"
_NORMALISATION: Mapping[How, Normalise] = {"mean": "none", "rank": "rank"}
"""What a rule does to scores before it adds them up; of others, z-scores."""


@dataclass(frozen=True)
class _Data:
    """The rows that have every number."""

    columns: dict[str, Array]
    human: Array
    groups: list[str]
    keys: dict[str, list[str]]
    of: Rows
    omitted: int
    kept: Rows
    size: int

    def training(self, members: Sequence[Member], normalise: Normalise) -> Training:
        scores = np.stack([m.normalised(self.columns[m.metric], normalise) for m in members], axis=1)
        codes = np.unique(np.array(self.groups, dtype=object).astype(str), return_inverse=True)[1]
        singles = np.stack([standardise(m.metric, self.turned(m.metric, m.lower)) for m in members], axis=1)
        return Training(scores, singles, self.human, codes.astype(np.int64), self.of)

    def turned(self, metric: str, lower: bool) -> Array:
        return -self.columns[metric] if lower else self.columns[metric]


class Combined(NamedTuple):
    """An ensemble in use.

    Attributes:
        result: what it is worth.
        combination: the ensemble as it would be saved.
        scores: of each row of the table (n,), those that the gains are measured with; NaN where a number was missing.
    """

    result: EnsembleResult
    combination: Combination
    scores: Array


@settled(EnsembleData)
def combine(table: TableLike, metrics: Sequence[str], human: str, settings: EnsembleData) -> Combined:
    """Combine metrics and compare the result with the best of them.

    Rules that need no human scores (``mean``, ``z``, ``rank``) use all rows. Rules that learn weights are
    scored by cross-validation: a row's score comes from weights learnt on other rows, none of which shares its segment
    or a text with it. The constants of the normalisation come from the scores of all rows; they know no human score.

    >>> table = {"a": [1, 2, 4, 3, 5, 6], "b": [1, 3, 2, 4, 6, 5], "people": [1, 2, 3, 4, 5, 6]}
    >>> result = combine(table, ["a", "b"], "people").result
    >>> round(result.groups[0].best_r, 3), round(result.groups[0].ensemble, 3), round(result.average_gain, 3)
    (0.943, 0.971, 0.03)

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metrics: columns of scores.
        human: column of human scores.
        settings: see `EnsembleSettings`, `EnsembleColumns` and `EnsembleData`.

    Returns:
        The ensemble, its correlations, gains, intervals and tests; what can be saved; and the scores of rows.

    Raises:
        UnknownNameError: for a missing column; lists those present.
        InputError: for cells that are not numbers, columns that do not vary, too few rows, or a table
            to fit on that shares texts with the first.
    """
    if isinstance(metrics, str):
        raise InputError(f"metrics: {metrics!r}: give a list of columns", setting="metrics")
    names, lower, fit = list(metrics), settings.lower, settings.fit
    if len(names) < 2:
        raise InputError("an ensemble needs at least two metrics")
    if repeated := [name for name in [*names, human] if [*names, human].count(name) > 1]:
        raise InputError(f"column {repeated[0]!r} is named twice among metrics and human scores")
    if unknown := [name for name in lower if name not in names]:
        raise InputError(f"lower: {unknown[0]!r} is not one of the metrics {', '.join(names)}", setting="lower")
    data = _read(table, names, human, settings)
    source = data if fit is None else _read(fit, names, human, settings)
    warnings = [Notice("lower-is-better", name) for name in lower]
    learns, trained = settings.how in LEARNED, settings.best == "training"
    if not data.keys and (learns or trained):
        warnings.append(Notice("rows-alone"))
    normalise = _NORMALISATION.get(settings.how, "z")
    members = fit_members(source.columns, lower, normalise)
    training = source.training(members, normalise)
    final = learn_weights(training, settings) if learns else Weights(np.full(len(names), 1 / len(names)))
    given = [m.model_copy(update={"weight": float(w)}) for m, w in zip(members, final.values, strict=True)]
    combination = Combination(how=settings.how, normalise=normalise, members=given)
    turned = np.stack([data.turned(name, name in lower) for name in names], axis=1)
    measured = Measured(names, turned, combination.apply(data.columns), data.human, data.groups, data.of)
    folds: list[FoldWeights] = []
    if fit is not None:
        if learns or trained:
            _refuse_shared(source, data, settings.segment)
        if trained:
            best = best_member(training)
            measured.baseline, measured.baseline_name, measured.rivals = turned[:, best], names[best], [best]
    elif learns or trained:
        together, baseline, folds = out_of_fold(
            training,
            unit_folds(data.of, settings.folds, settings.seed),
            names,
            lambda part: learn_weights(part, settings) if learns else final,
        )
        measured.ensemble = together if learns else measured.ensemble
        if trained:
            counts = Counter(fold.best for fold in folds).most_common()
            several = ", ".join(f"{name} ({count})" for name, count in counts)
            measured.baseline, measured.baseline_name = baseline, several if len(counts) > 1 else counts[0][0]
            measured.rivals = sorted({names.index(fold.best) for fold in folds})
            measured.choice = range(len(names))
    warnings += [Notice("best-of-the-same-rows")] if settings.best == "sample" else []
    fallen = sum(fold.fell_back for fold in folds)
    if fallen or final.fell_back:
        warnings.append(Notice("equal-weights", values={"folds": fallen, "of": len(folds)}))
    largest, rows = int(np.bincount(data.of).max()), len(data.of)
    if folds and largest > 2 * rows / settings.folds:
        warnings.append(Notice("hang-together", values={"rows": largest, "of": rows}))
    warnings += [Notice("rows-share-texts")] if rows > int(data.of.max()) + 1 else []
    scores = np.full(data.size, np.nan)
    scores[data.kept] = measured.ensemble
    result = EnsembleResult(
        how=combination.how,
        normalise=combination.normalise,
        members=tuple(names),
        lower=tuple(member.metric for member in combination.members if member.lower),
        weights=combination.weights,
        **gains(measured, settings),
        folds=tuple(folds),
        kept_together=tuple(data.keys),
        units=int(data.of.max()) + 1,
        fitted=len(source.human),
        omitted=data.omitted,
        warnings=tuple(warnings),
        settings={**settings.model_dump(include=set(EnsembleSettings.model_fields)), "penalty": final.penalty},
    )
    return Combined(result, combination, scores)


def _read(table: TableLike, metrics: Sequence[str], human: str, settings: EnsembleData) -> _Data:
    present = column_names(table)
    group, segment, document = settings.group, settings.segment, settings.document
    labels = [name for name in (group, segment, document) if name is not None]
    kept_texts = list(settings.texts) if settings.texts is not None else [name for name in TEXTS if name in present]
    wanted = {name: table[name] for name in present if name in {*metrics, human, *labels, *kept_texts}}
    rows = {_ROW: np.arange(len(next(iter(wanted.values()), ())), dtype=np.float64)}
    numbers = [*metrics, human, _ROW]
    columns, named, omitted = numeric_columns({**wanted, **rows}, numbers, labels, nan=settings.nan, human=human)
    if missing := [name for name in kept_texts if name not in wanted]:
        raise InputError(f"there is no column of texts {missing[0]!r}; there are {', '.join(present)}")
    kept = columns.pop(_ROW).astype(np.int64)
    if not len(kept):
        raise InputError("no row has all the numbers")
    scores = columns.pop(human)
    groups = named[group] if group is not None else ["all"] * len(kept)
    keys = {name: named[name] for name in (segment, document) if name is not None}
    if document is not None:
        for label in dict.fromkeys(groups):
            of_group = [row for row, name in enumerate(groups) if name == label]
            documents = [named[document][row] for row in of_group]
            refuse_single(documents, document)
            if segment is not None:
                document_of_segment([named[segment][row] for row in of_group], documents, document)
    for name in kept_texts:
        cells = list(wanted[name])
        keys[name] = ["" if cells[i] is None else str(cells[i]) for i in kept]
    of = units(list(keys.values()), len(kept))
    return _Data(columns, scores, groups, keys, of, omitted, kept, len(rows[_ROW]))


def _refuse_shared(source: _Data, data: _Data, segment: str | None) -> None:
    """Refuse a table to fit on that shares texts with the one to test on; segment names may recur in another table."""
    size, shared = len(source.human), [name for name in source.keys if name in data.keys]
    both = {name: source.keys[name] + data.keys[name] for name in shared if name != segment or len(data.keys) == 1}
    parts = Fold("the table", np.arange(size), np.arange(size, size + len(data.human)))
    try:
        refuse_leak([parts], both)
    except InputError as error:
        raise InputError(f"the table to fit on comes first, then the rows of the other: {error}") from error
