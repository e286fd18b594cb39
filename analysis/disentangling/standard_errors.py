"""Which standard errors a regression gets: rows that share a segment or a text are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.disentangling.settings import ErrorSettings
from bsx.analysis.stats.folds import Rows, units
from bsx.analysis.stats.regression import StandardErrors
from bsx.data import cells
from bsx.data.columns import Labels, TableLike, column_names, label_column, number_column
from bsx.errors import InputError
from bsx.support.checks import Array

SEGMENTS = ("segment", "sid", "seg", "seg_id", "segment_id", "id")
TEXTS = ("sentence1", "sentence2", "source", "reference", "candidate")
BINDING = (*SEGMENTS, *TEXTS, "lp")
"""Columns that tell, where a table has them, which rows belong together."""


@dataclass(frozen=True)
class Errors:
    """Standard errors, chosen or asked for.

    Attributes:
        kind: which.
        clusters: cluster of each row (n,), if that is ``cluster``.
        units: set of rows that belong together, of each row (n,): its cluster, or what the columns show.
        why: the reason for a choice, in words; empty where nothing was chosen.
    """

    kind: StandardErrors
    clusters: Labels | None
    units: Rows
    why: str

    def of(self, rows: Sequence[int] | Rows) -> Errors:
        """Return those of some of the rows."""
        clusters = self.clusters and [self.clusters[i] for i in rows]
        return replace(self, clusters=clusters, units=self.units[rows])

    def defined_for(self, x: Array, *, intercept: bool = False) -> Errors:
        """Return these, or classic ones where HC3 was chosen, not asked for, and the factors (n, p) forbid it."""
        if self.kind != "hc3" or not self.why:
            return self
        design = np.column_stack([np.ones(len(x)), x]) if intercept else x
        leverage = np.square(np.linalg.qr(design)[0]).sum(axis=1)
        if leverage.max() <= 1 - 1e-10:
            return self
        row = int(np.argmax(leverage)) + 1
        return replace(
            self, kind="classic", why=f"row {row} of those fitted decides a coefficient alone: HC3 is not defined"
        )


def choose_errors(
    table: TableLike, numbers: Sequence[str], factors: int, settings: ErrorSettings, omitted: int = 0
) -> Errors:
    """Choose standard errors.

    ``auto`` means ``cluster`` where a column of clusters is named, or where rows share a segment (`SEGMENTS`; within a
    language pair ``lp``, if there is that column) or a text (`TEXTS`): those that share one, directly or over others,
    are a cluster. Otherwise it means ``hc3``. ``cluster`` without a column means the same clusters.

    Source: Cameron & Miller 2015 for clusters; Long & Ervin 2000, who recommend HC3 in general.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        numbers: columns of metrics and factors; rows that miss one are left out.
        factors: how many coefficients there are.
        settings: what was asked for.
        omitted: how many rows miss a number.

    Raises:
        InputError: for ``cluster`` without any clusters.
    """
    se, cluster = settings.se, settings.cluster
    if cluster is not None:
        labels = label_column(cluster, table[cluster])
        rows = complete_rows(table, numbers, len(labels), omitted)
        own = [labels[i] for i in rows]
        return Errors("cluster", own, np.unique(own, return_inverse=True)[1].astype(np.int64), "")
    rows = complete_rows(table, numbers, len(table[numbers[0]]), omitted)
    of, binding = _bound(table, rows, numbers)
    sizes = np.bincount(of)
    sharing = int(sizes[sizes > 1].sum())
    digits = len(str(len(sizes)))  # so that names sort as numbers do
    clusters = [f"set {unit + 1:0{digits}}" for unit in of]
    shared = f"{sharing:,} of {len(rows):,} rows share {' or '.join(binding)} with another"
    if se == "cluster":
        if not sharing:
            raise InputError(
                "se cluster needs a column of clusters, named by cluster: no rows share a segment or a text"
            )
        return Errors("cluster", clusters, of, shared)
    if se != "auto":
        return Errors(se, None, of, "")
    if sharing and len(sizes) > factors:
        return Errors("cluster", clusters, of, shared)
    if sharing:
        return Errors("hc3", None, of, f"{shared}, but in {len(sizes)} sets, too few to be clusters")
    return Errors("hc3", None, of, "no column shows that rows share a segment or a text")


def complete_rows(table: TableLike, numbers: Sequence[str], n: int, omitted: int) -> Rows:
    """Return the places of the rows that miss none of the numbers, as `numeric_columns` keeps them."""
    if not omitted:
        return np.arange(n)
    missing = [np.isnan(number_column(name, table[name])) for name in numbers]
    return np.flatnonzero(~np.any(missing, axis=0))


def _bound(table: TableLike, rows: Rows, numbers: Sequence[str]) -> tuple[Rows, list[str]]:
    """Return the unit of each row, and the columns in which any rows are the same."""
    present = set(column_names(table)) - set(numbers)

    def labels(name: str) -> list[str]:
        column = list(table[name])
        return ["" if cells.is_missing(column[i]) else cells.spelled(column[i]) for i in rows]

    pairs = labels("lp") if "lp" in present else []
    columns: dict[str, list[str]] = {}
    for name in (*SEGMENTS, *TEXTS):
        if name in present:
            result = labels(name)
            if name in SEGMENTS and pairs:
                result = [f"{pair}\t{label}" if label else "" for pair, label in zip(pairs, result, strict=True)]
            filled = [" ".join(label.casefold().split()) for label in result if label.strip()]
            if len(set(filled)) < len(filled):
                columns[name] = result
    return units(list(columns.values()), len(rows)), list(columns)
