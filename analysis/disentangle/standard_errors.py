"""Which standard errors a regression gets: rows that share a document, segment, text or system are not independent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.disentangle.settings import ErrorSettings
from bsx.analysis.stats.folds import Rows, keys_of, units
from bsx.analysis.stats.regression import Ols, StandardErrors, fit_ols
from bsx.analysis.stats.sandwich import positive
from bsx.analysis.stats.validate import several_units
from bsx.data import cells
from bsx.data.columns import Labels, TableLike, column_names, label_column, number_column
from bsx.data.documents import DOCUMENTS, refuse_single
from bsx.data.long import SEGMENTS
from bsx.errors import InputError
from bsx.support.checks import Array

TEXTS = ("sentence1", "sentence2", "source", "reference", "candidate")
BINDING = (*DOCUMENTS, *SEGMENTS, *TEXTS, "lp")
"""Columns that tell, where a table has them, which rows belong together."""
CROSSED = "system"
"""The column whose levels cross those: outputs of one system are not independent either."""
FEWEST_CROSSED = 5
"""Systems from which on they count as a sample of systems; fewer are held fixed."""


@dataclass(frozen=True)
class Errors:
    """Standard errors, chosen or asked for.

    Attributes:
        kind: which.
        clusters: cluster of each row (n,), if that is ``cluster``.
        units: set of rows that belong together, of each row (n,): its cluster, or what the columns show.
        why: the reason for a choice, in words; empty where nothing was chosen.
        crossed: cluster of each row in a second way (n,): its system; None where systems are not sampled.
        sampled: what intervals and tests take to be drawn at random: ``row``, or columns.
        held: columns that they take as they are, such as ``system``: these very ones.
    """

    kind: StandardErrors
    clusters: Labels | None
    units: Rows
    why: str
    crossed: Labels | None = None
    sampled: tuple[str, ...] = ("row",)
    held: tuple[str, ...] = ()

    def of(self, rows: Sequence[int] | Rows) -> Errors:
        """Return those of some of the rows; systems of which few are among them are held fixed."""
        clusters = self.clusters and [self.clusters[i] for i in rows]
        own = replace(self, clusters=clusters, units=self.units[rows])
        if self.crossed is None:
            return own
        crossed = [self.crossed[i] for i in rows]
        if len(set(crossed)) >= FEWEST_CROSSED:
            return replace(own, crossed=crossed)
        return own.one_way()

    def few(self) -> int | None:
        """Return the number of clusters, in two ways the smaller one; None without clusters."""
        return min((len(set(way)) for way in (self.clusters, self.crossed) if way is not None), default=None)

    def between(self, groups: Iterable[Rows]) -> Errors:
        """Return these for a comparison of groups of rows: where each is of one system, the systems are compared."""
        crossed = self.crossed
        apart = crossed is not None and all(len({crossed[i] for i in rows}) == 1 for rows in groups)
        return self.one_way() if apart else self

    def one_way(self) -> Errors:
        """Return these with systems held fixed."""
        sampled, held = (name for name in self.sampled if name != CROSSED), (*self.held, CROSSED)
        return replace(self, crossed=None, sampled=tuple(sampled), held=held) if self.crossed is not None else self

    def fit(self, y: Array, x: Array, *, intercept: bool = False, confidence: float = 0.95) -> Ols:
        """Fit a linear model with these standard errors; see `fit_ols`."""
        return fit_ols(
            y,
            x,
            se=self.kind,
            clusters=self.clusters,
            crossed=self.crossed,
            intercept=intercept,
            confidence=confidence,
        )

    def spread(self, influence: Array) -> Array:
        """Return the covariance (k, k) of sums over rows whose parts these are (n, k), over clusters if there are any.

        In two ways it is put together as in `bsx.analysis.stats.sandwich.TwoWayRobust`.
        """
        if self.clusters is None:
            return np.asarray(influence.T @ influence)
        first = np.unique(self.clusters, return_inverse=True)[1]
        total = _products(influence, first)
        if self.crossed is not None:
            second = np.unique(self.crossed, return_inverse=True)[1]
            both = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
            total = total + positive(_products(influence, second) - _products(influence, both))
        return total

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


def _products(influence: Array, codes: Rows) -> Array:
    sums = np.column_stack([np.bincount(codes, column) for column in influence.T])
    return np.asarray(sums.T @ sums, dtype=np.float64)


def choose_errors(
    table: TableLike, numbers: Sequence[str], factors: int, settings: ErrorSettings, omitted: int = 0
) -> Errors:
    """Choose standard errors.

    ``auto`` means ``cluster`` where a column of clusters is named, where rows are of the same document (`DOCUMENTS`),
    or, without such a column, where they share a segment (`SEGMENTS`; within a language pair ``lp``, if there is that
    column) or a text (`TEXTS`): those that share one, directly or over others, are a cluster. Where a column ``system``
    has at least `FEWEST_CROSSED` systems, these are clusters in a second way; fewer are held fixed. Otherwise ``auto``
    means ``hc3``. ``cluster`` without a column means the same clusters.

    Source: Cameron & Miller 2015 for clusters; Cameron, Gelbach & Miller 2011 for two ways; Long & Ervin 2000, who
    recommend HC3 in general.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        numbers: columns of metrics and factors; rows that miss one are left out.
        factors: how many coefficients there are.
        settings: what was asked for.
        omitted: how many rows miss a number.

    Raises:
        InputError: for ``cluster`` without any clusters, or if all rows are of one document.
    """
    se, cluster = settings.se, settings.cluster
    rows = complete_rows(table, numbers, len(table[numbers[0]]), omitted)
    present = set(column_names(table)) - set(numbers)
    systems = _labels(table, CROSSED, rows) if CROSSED in present and cluster != CROSSED else []
    systems = systems if len(set(systems)) > 1 else []
    if cluster is not None:
        labels = label_column(cluster, table[cluster])
        own = [labels[i] for i in rows]
        of = np.unique(own, return_inverse=True)[1].astype(np.int64)
        return Errors("cluster", own, of, "", sampled=(cluster,), held=(CROSSED,) * bool(systems))
    document = next((name for name in DOCUMENTS if name in present), None)
    documents = _labels(table, document, rows) if document is not None else []
    if document is not None and se in ("auto", "cluster") and any(label.strip() for label in documents):
        refuse_single(documents, document)
    of, binding = _bound(table, rows, present)
    if se in ("auto", "cluster") and binding:
        several_units(len(np.unique(of)), " or ".join(binding), unit="set that shares it")
    few = ""
    if document is not None and any(label.strip() for label in documents):
        whole = _within(documents, of)
        if se != "cluster" and len(np.unique(whole)) <= factors < len(np.unique(of)) < len(of):
            few = f"; {len(np.unique(whole))} sets that share {document} are too few to be clusters"
        elif len(np.unique(whole)) < len(whole):  # a document for each row says nothing about its segment
            of, binding = whole, [document]
    sizes = np.bincount(of)
    sharing = int(sizes[sizes > 1].sum())
    digits = len(str(len(sizes)))  # so that names sort as numbers do
    clusters = [f"set {unit + 1:0{digits}}" for unit in of]
    shared = f"{sharing:,} of {len(rows):,} rows share {' or '.join(binding)} with another{few}"
    many = len(set(systems))
    why = [shared] if sharing else ["no column shows that rows share a segment or a text"]
    sampled = "row" if not sharing else "document" if document in binding else "segment"
    fixed = (CROSSED,) if systems else ()
    if se == "cluster" and not sharing and many < FEWEST_CROSSED:
        raise InputError(
            "se cluster needs a column of clusters, named by cluster: no rows share a segment or a text", setting="se"
        )
    if se == "classic" or se == "hc3":
        return Errors(se, None, of, "", held=fixed)
    if many >= FEWEST_CROSSED and (se == "cluster" or min(len(sizes), many) > factors):
        why.append(f"outputs of {many} systems")
        return Errors("cluster", clusters, of, "; ".join(why), systems, (sampled, CROSSED))
    if sharing and (se == "cluster" or len(sizes) > factors):
        return Errors("cluster", clusters, of, shared, sampled=(sampled,), held=fixed)
    if sharing:
        return Errors("hc3", None, of, f"{shared}, but in {len(sizes)} sets, too few to be clusters", held=fixed)
    return Errors("hc3", None, of, why[0], held=fixed)


def _labels(table: TableLike, name: str, rows: Rows) -> list[str]:
    column = list(table[name])
    return ["" if cells.is_missing(column[i]) else cells.spelled(column[i]) for i in rows]


def _within(documents: list[str], of: Rows) -> Rows:
    """Return the unit of each row: its document, or where it has none, what it has been until now."""
    keys = keys_of(documents)
    alone = np.array([not label.strip() for label in documents])
    joined = np.where(alone, int(keys.max()) + 1 + of, keys)
    return np.unique(joined, return_inverse=True)[1].astype(np.int64)


def complete_rows(table: TableLike, numbers: Sequence[str], n: int, omitted: int) -> Rows:
    """Return the places of the rows that miss none of the numbers, as `numeric_columns` keeps them."""
    if not omitted:
        return np.arange(n)
    missing = [np.isnan(number_column(name, table[name])) for name in numbers]
    return np.flatnonzero(~np.any(missing, axis=0))


def _bound(table: TableLike, rows: Rows, present: set[str]) -> tuple[Rows, list[str]]:
    """Return the unit of each row, and the columns in which any rows are the same."""
    pairs = _labels(table, "lp", rows) if "lp" in present else []
    columns: dict[str, list[str]] = {}
    for name in (*SEGMENTS, *TEXTS):
        if name in present:
            result = _labels(table, name, rows)
            if name in SEGMENTS and pairs:
                result = [f"{pair}\t{label}" if label else "" for pair, label in zip(pairs, result, strict=True)]
            filled = [" ".join(label.casefold().split()) for label in result if label.strip()]
            if len(set(filled)) < len(filled):
                columns[name] = result
    return units(list(columns.values()), len(rows)), list(columns)
