"""Several raters of the same translations: do they agree, how reliable is their mean, who is severe?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.analysis.stats.resample import bootstrap_counts, cluster_codes, percentile_interval
from bsx.analysis.stats.rowwise import pearson_rows
from bsx.analysis.stats.validate import several_units
from bsx.data.columns import read_columns
from bsx.data.long import COLUMN, RATERS, ColumnName, ColumnNames, find_columns
from bsx.data.open import open_table
from bsx.data.run import as_one_run
from bsx.data.sources import AnyTable
from bsx.errors import InputError
from bsx.frames.settings import NEEDED, on_table
from bsx.support.checks import Array
from bsx.support.result import Interval, Number, Result
from bsx.support.settings import DrawSettings, Option


class RaterSettings(DrawSettings):
    """How the agreement of raters is measured."""

    table: Annotated[
        AnyTable, Field(description="Table with a row a rating; - is standard input."), Option(argument=True)
    ] = NEEDED
    human: Annotated[str, Field(description="Column of scores; rows without one are left out."), COLUMN] = "human"
    judge: Annotated[ColumnName, Field(description="Column that names the rater. [rater, judge or annotator]")] = None
    items: Annotated[ColumnNames, Field(description="Columns that together name what was rated.")] = (
        "system",
        "segment",
    )


@dataclass(frozen=True)
class Rater:
    """One of them.

    Attributes:
        name: as in the table.
        n: translations judged, that somebody else judged too.
        mean: mean score of these.
        severity: the others' mean on the same translations, less this rater's.
        r: Pearson's r with the mean of the others; NaN for fewer than three.
    """

    name: str
    n: int
    mean: Number
    severity: Number
    r: Number


@dataclass(frozen=True, repr=False)
class RaterAgreement(Result):
    """How far raters agree.

    Attributes:
        items: translations with two ratings or more.
        single: translations with one, which say nothing here.
        ratings: of those items.
        per_item: mean number of ratings of an item.
        alpha: Krippendorff's alpha for intervals: 1 for perfect agreement, 0 for chance.
        alpha_ci: its bootstrap interval over items.
        one: reliability of one rating, the intraclass correlation ICC(1).
        one_ci: its interval.
        mean: reliability of the mean of ``per_item`` ratings, which `disentangle` takes as ``reliability=``.
        mean_ci: its interval.
        confidence: level of the intervals.
        raters: each of them, the severest first.
    """

    kind: ClassVar[str] = "raters"

    items: int
    single: int
    ratings: int
    per_item: float
    alpha: Number
    alpha_ci: Interval
    one: Number
    one_ci: Interval
    mean: Number
    mean_ci: Interval
    confidence: float
    raters: tuple[Rater, ...]


@on_table(RaterSettings)
@as_one_run
def rater_agreement(settings: RaterSettings) -> RaterAgreement:
    """Measure how far raters agree, how reliable the mean of their scores is, and how severe each is.

    They need not be the same for each translation.

    Source: Krippendorff 2011 for alpha; Shrout & Fleiss 1979 for ICC(1), with the mean number of ratings of uneven
    groups after Donner 1986; Spearman 1910 and Brown 1910 for the reliability of a mean.

    Args:
        settings: see `RaterSettings`; `load_mqm` and `load_esa` give such a table with ``per_rater=True``.

    Raises:
        UnknownNameError: for an unknown column; lists those present.
        InputError: if nothing has two ratings, all scores are equal, or a rater judged something twice.
    """
    human, items, confidence, table = settings.human, settings.items, settings.confidence, open_table(settings.table)
    named = {"human": human, "segment": items, "rater": settings.judge}
    judge = next(iter(find_columns(table.columns, named, "rater")["rater"]), RATERS[0])
    columns = read_columns(table, [human], [judge, *items])
    scores, who = np.asarray(columns[human], dtype=np.float64), columns[judge]
    keys = list(zip(*(columns[name] for name in items), strict=True))
    chosen = [row for row in range(len(scores)) if not np.isnan(scores[row])]
    for (rater, key), times in Counter((who[row], keys[row]) for row in chosen).items():
        if times > 1:
            raise InputError(f"rater {rater!r} judged {' '.join(map(str, key))} twice: name all columns of items")
    x, of = scores[chosen], cluster_codes([keys[row] for row in chosen])
    count = np.bincount(of)
    kept = count[of] > 1
    if not kept.any():
        raise InputError(f"no translation has two ratings: {', '.join(items)} name it, {judge!r} the rater")
    names = [str(who[row]) for row, keep in zip(chosen, kept, strict=True) if keep]
    x, of = x[kept], np.unique(of[kept], return_inverse=True)[1]
    if np.ptp(x) == 0:
        raise InputError(f"all ratings are {x[0]:g}: nothing can be agreed on")
    rated = int(of.max()) + 1
    several_units(rated, ", ".join(items), "ratings", "translation")
    centred = x - x.mean()
    powers = (np.ones_like(x), centred, centred * centred)
    counts, totals, squares = (np.bincount(of, weights=w).astype(np.float64) for w in powers)
    figures = partial(_figures, counts, totals, squares)
    alpha, single, mean = (float(value) for value in figures(np.ones((1, rated)))[:, 0])
    drawn = map(figures, bootstrap_counts(settings.resamples, rated, settings.seed))
    ends = [percentile_interval(draws, confidence) for draws in np.concatenate(list(drawn), axis=1)]
    return RaterAgreement(
        items=rated,
        single=int((count == 1).sum()),
        ratings=len(x),
        per_item=len(x) / rated,
        alpha=alpha,
        alpha_ci=ends[0],
        one=single,
        one_ci=ends[1],
        mean=mean,
        mean_ci=ends[2],
        raters=_raters(x, of, names),
        confidence=confidence,
    )


def _figures(counts: Array, totals: Array, squares: Array, weights: Array) -> Array:
    """Return alpha, ICC(1) and the reliability of a mean under weights of items (b, items): (3, b).

    Of each item: number of ratings, their sum and sum of squares (items,).
    """
    around_means = squares - totals * totals / counts
    n, ratings = weights.sum(axis=1), weights @ counts
    total, within = weights @ totals, weights @ around_means
    around = weights @ squares - total**2 / ratings
    with np.errstate(invalid="ignore", divide="ignore"):
        disagreement = weights @ (counts / (counts - 1) * around_means) / ratings
        alpha = 1 - disagreement / (around / (ratings - 1))
        between, error = (around - within) / (n - 1), within / (ratings - n)
        even = (ratings - weights @ counts**2 / ratings) / (n - 1)
        single = (between - error) / (between + (even - 1) * error)
        k = ratings / n
        return np.stack([alpha, single, k * single / (1 + (k - 1) * single)])


def _raters(x: Array, of: NDArray[np.int64], names: Sequence[str]) -> tuple[Rater, ...]:
    count, total = np.bincount(of), np.bincount(of, weights=x)
    others = (total[of] - x) / (count[of] - 1)
    results = []
    for name in dict.fromkeys(names):
        judged_by = np.array([other == name for other in names])
        mine, theirs = x[judged_by], others[judged_by]
        r = float(pearson_rows(mine, theirs)) if len(mine) > 2 else float("nan")
        results.append(Rater(name, len(mine), float(mine.mean()), float((theirs - mine).mean()), r))
    return tuple(sorted(results, key=lambda rater: -rater.severity))
