"""Questions behind a table of coefficients: noise in factors, groups, length and other controls, random intercepts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.disentangling.noise import (
    Moments,
    ReliabilityEstimate,
    cronbach,
    human_factors,
    reference,
    shared_errors,
    simex,
    stated,
    tipping_points,
)
from bsx.analysis.disentangling.result import DisentangleResult, Reliability, SharedErrors, TippingPoint, Variant
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.disentangling.standard_errors import SEGMENTS, Errors, complete_rows
from bsx.analysis.disentangling.variants import make_variant, random_effects, random_intercepts
from bsx.analysis.disentangling.within import simpson, within, within_and_between
from bsx.analysis.stats.folds import Rows
from bsx.analysis.stats.regression import Ols, refuse_collinear
from bsx.data import cells
from bsx.data.columns import Labels, TableLike, column_names, standardised
from bsx.data.long import SYSTEM
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice

MOSTLY = 0.5
PAIRS = (("sentence1", "sentence2"), ("candidate", "reference"), ("candidate", "source"))
LENGTHS = ("length", "length-ratio")
# Writing without blanks between words: each sign counts as one word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|"
    r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+"
)


def text_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns that hold the texts that are compared, if a table with these columns has any."""
    return next((pair for pair in PAIRS if set(pair) <= set(names)), None)


def lengths(table: TableLike) -> dict[str, Array]:
    """Return how long each pair of texts is, and how unequal: the two ways in which length gets into other factors.

    ``length`` is the logarithm of the words in both texts together, ``length-ratio`` the absolute logarithm of their
    ratio. A word is what stands between blanks; in writing without blanks, a sign. An empty text counts as one word.

    Args:
        table: with the columns of one of `PAIRS`.

    Returns:
        The two columns (n,); none if the table has no texts.
    """
    pair = text_columns(column_names(table))
    if pair is None:
        return {}

    def count(name: str) -> Array:
        texts = ("" if cells.is_missing(cell) else cells.spelled(cell) for cell in list(table[name]))
        return np.array([max(len(_WORD.findall(text)), 1) for text in texts], dtype=np.float64)

    first, second = map(count, pair)
    return dict(zip(LENGTHS, (np.log(first + second), np.abs(np.log(first / second))), strict=True))


def with_lengths(table: TableLike, controls: Sequence[str]) -> tuple[TableLike, list[str]]:
    """Return a table with the columns that controls name, and their names; ``length`` is computed unless it is there.

    Raises:
        InputError: for ``length`` without such a column or any texts.
    """
    present = column_names(table)
    if "length" not in controls or "length" in present:
        return table, list(controls)
    computed = lengths(table)
    if not computed:
        pairs = " or ".join(f"{a} and {b}" for a, b in PAIRS)
        raise InputError(f"controls: length: there is neither a column 'length' nor a pair of texts ({pairs})")
    wanted = [name for control in controls for name in (LENGTHS if control == "length" else (control,))]
    return {**{name: table[name] for name in present}, **computed}, wanted


def mostly_length(columns: Mapping[str, Array], measured: Mapping[str, Array]) -> dict[str, float]:
    """Return the factors that are mostly length: factor -> R² of its regression on both measures of length.

    Args:
        columns: factor -> (n,).
        measured: from `lengths`, of the same rows.
    """
    design = np.column_stack([np.ones(len(next(iter(measured.values())))), *measured.values()])
    results = {}
    for name, values in columns.items():
        rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
        share = 1 - float(rest @ rest) / float(np.square(values - values.mean()).sum())
        if share > MOSTLY:
            results[name] = share
    return results


@dataclass(frozen=True, eq=False)
class Further:
    """The data that a result was fitted to.

    Attributes:
        table: as it was given, with repeated factors and lengths.
        columns: numbers of the rows fitted.
        labels: of the same rows.
        numbers: names of columns a row may not miss.
        omitted: rows that do.
        errors: standard errors.
        settings: what was asked.
        controls: columns to hold constant; ``length`` stands for two.
    """

    table: TableLike
    columns: Mapping[str, Array]
    labels: Mapping[str, Labels]
    numbers: Sequence[str]
    omitted: int
    errors: Errors
    settings: DisentangleSettings
    controls: Sequence[str]

    def of(self, result: DisentangleResult) -> DisentangleResult:
        """Return the result with all that was asked for."""
        asked = self.settings
        metrics, factors = [fit.metric for fit in result.results], list(result.factors)
        y, x = (standardised(self.columns, names) for names in (metrics, factors))
        errors = self.errors.defined_for(x)
        notices = [*result.warnings, *self._lengths(factors)]
        known = self._reliability(factors, len(x))
        variants = self._corrected(metrics, factors, x, y, known, errors)
        noisy = {factors[place]: known for place in known}
        noisy |= {name: known for name in human_factors(factors) if name not in noisy}
        tipping: list[TippingPoint] = []
        for name, others in noisy.items() if len(factors) > 1 else ():
            rest = {place: reliability for place, reliability in others.items() if factors[place] != name}
            tipping += tipping_points(metrics, factors, x, y, name, rest, errors, result.alpha, result.confidence)
        if asked.group is not None and len(factors) > 1:
            for name in noisy:
                tipping += self._by_group(metrics, factors, name, noisy[name], asked.group, result)
        levels = (result.alpha, result.confidence)
        shared: list[SharedErrors] = []
        for name, repeats in asked.repeats.items():
            own = shared_errors(metrics, factors, x, y, name, len(set(repeats)), known, errors, *levels)
            notices.append(self._shared(name, known[factors.index(name)].value, own))
            shared += own
        unstated = [name for name in noisy if factors.index(name) not in known]
        notices += [self._unstated(name, tipping) for name in unstated]
        if asked.group is not None:
            labels = self.labels[asked.group]
            variants += within_and_between(metrics, factors, x, y, asked.group, labels, errors, asked)
            rows, fits = self._group_fits(metrics, factors, labels, result)
            variants += random_effects(metrics, factors, asked.group, fits, rows, self.errors, asked)
        notices += self._pooled(metrics, factors, x, y, errors)
        if asked.within:
            inside = {name: self._levels(name) for name in asked.within}
            variants.append(within(metrics, factors, x, y, inside, errors, asked))
        if self.controls:
            variants.append(self._controlled(metrics, y, [*factors, *self.controls]))
        if asked.random:
            crossed = {name: self._levels(name) for name in asked.random}
            variant, said = random_intercepts(metrics, factors, x, y, crossed, asked)
            variants.append(variant)
            notices += said
        return replace(
            result,
            warnings=tuple(notices),
            reliability=tuple(
                Reliability(reliability.factor, reliability.value, reliability.source) for reliability in known.values()
            ),
            simex=asked.simex,
            variants=tuple(variants),
            tipping=tuple(tipping),
            shared=tuple(shared),
        )

    def _group_fits(
        self, metrics: Sequence[str], factors: Sequence[str], labels: Labels, result: DisentangleResult
    ) -> tuple[dict[str, Rows], dict[str, list[Ols]]]:
        """Return group -> its rows, and group -> its own regressions of the metrics."""
        rows, fits = {}, {}
        for name in result.groups:
            rows[name] = np.flatnonzero([label == name for label in labels])
            own = {column: self.columns[column][rows[name]] for column in (*metrics, *factors)}
            y, x = (standardised(own, names) for names in (metrics, factors))
            intercept = self.settings.intercept
            errors = self.errors.of(rows[name]).defined_for(x, intercept=intercept)
            fits[name] = [errors.fit(column, x, intercept=intercept) for column in y.T]
        return rows, fits

    def _levels(self, name: str) -> Labels:
        """Return the level of each row fitted; a segment is one of its language pair, and a blank cell one of its own.

        Columns that were asked for have no blank cells.
        """
        present = set(column_names(self.table)) - set(self.numbers)
        rows = complete_rows(self.table, self.numbers, len(self.table[self.numbers[0]]), self.omitted)
        column = list(self.table[name])
        labels = ["" if cells.is_missing(column[i]) else cells.spelled(column[i]) for i in rows]
        labels = [label or f"\0{place}" for place, label in enumerate(labels)]
        if name not in SEGMENTS or "lp" not in present:
            return labels
        pairs = list(self.table["lp"])
        return [f"{pairs[i]}\t{label}" for i, label in zip(rows, labels, strict=True)]

    def _pooled(
        self, metrics: Sequence[str], factors: Sequence[str], x: Array, y: Array, errors: Errors
    ) -> list[Notice]:
        """Return whether pooling hides what is so within groups, segments and systems, where rows share them."""
        present = [name for name in column_names(self.table) if name not in self.numbers]
        found = {self.settings.group: self.labels[self.settings.group]} if self.settings.group is not None else {}
        for names in (SEGMENTS, (SYSTEM,)):
            for name in names:
                if name in present and name not in found:
                    labels = self._levels(name)
                    if len(set(labels)) < len(labels):
                        found[name] = labels
                        break
        return [
            notice
            for name, labels in found.items()
            for notice in simpson(metrics, factors, x, y, name, labels, errors, self.settings, len(found))
        ]

    def _by_group(
        self,
        metrics: Sequence[str],
        factors: Sequence[str],
        noisy: str,
        known: Mapping[int, ReliabilityEstimate],
        group: str,
        result: DisentangleResult,
    ) -> list[TippingPoint]:
        """Return the tipping points within each group, whose columns are standardised anew, as its regression has them.

        Noise counts as much in all groups: a stated reliability is that of every one.
        """
        results = []
        rest = {place: reliability for place, reliability in known.items() if factors[place] != noisy}
        for name in result.groups:
            rows = np.flatnonzero([label == name for label in self.labels[group]])
            own = {column: self.columns[column][rows] for column in (*metrics, *factors)}
            y, x = (standardised(own, names) for names in (metrics, factors))
            errors, levels = self.errors.of(rows).defined_for(x), (result.alpha, result.confidence)
            here = {
                place: replace(reliability, influence=reliability.influence[rows])
                for place, reliability in rest.items()
            }
            results += tipping_points(metrics, factors, x, y, noisy, here, errors, *levels, group=name)
        return results

    def _reliability(self, factors: Sequence[str], rows: int) -> dict[int, ReliabilityEstimate]:
        known = {}
        for name, value in self.settings.reliabilities.items():
            known[list(factors).index(name)] = stated(name, value, rows)
        for name, columns in self.settings.repeats.items():
            known[list(factors).index(name)] = cronbach(name, {column: self.columns[column] for column in columns})
        return known

    def _corrected(
        self,
        metrics: Sequence[str],
        factors: Sequence[str],
        x: Array,
        y: Array,
        known: Mapping[int, ReliabilityEstimate],
        errors: Errors,
    ) -> list[Variant]:
        if not known:
            return []
        said = "; ".join(f"{one.factor} {one.value:.3f}, {one.source}" for one in known.values())
        scale = "per sd of the noise-free factor"
        result = Moments(x, y, known, errors).correct(known)
        if float(result.r2.max()) > 1:
            metric = metrics[int(result.r2.argmax())]
            raise InputError(
                f"reliability {said}: too low to be true: without that noise the factors would explain "
                f"{100 * result.r2.max():.0f} % of {metric}"
            )
        all_of_them = [("errors-in-variables", f"method of moments, reliability of {said}; {scale}", result)]
        if simulations := self.settings.simex:
            simulated = simex(x, y, known, errors, simulations=simulations, seed=self.settings.seed)
            what = f"SIMEX, {simulations} simulations, quadratic extrapolation, reliability of {said}; {scale}"
            all_of_them.append(("simex", what, simulated))
        return [
            make_variant(name, what, metrics, factors, one.coef, one.se, reference(errors), self.settings, r2=one.r2)
            for name, what, one in all_of_them
        ]

    def _controlled(self, metrics: Sequence[str], y: Array, names: Sequence[str]) -> Variant:
        x = standardised(self.columns, names)
        refuse_collinear(names, x)
        errors = self.errors.defined_for(x)
        fits = [errors.fit(column, x) for column in y.T]
        coef, se, df = (np.array([getattr(fit, what) for fit in fits]) for what in ("coef", "se", "reference_df"))
        return make_variant(
            "controls",
            f"with {', '.join(self.controls)} held constant ({errors.kind} standard errors)",
            metrics,
            names,
            coef,
            se,
            need("scipy.stats", "the regression").t(df),  # with infinitely many degrees of freedom the normal
            self.settings,
            r2=np.array([fit.r2 for fit in fits]),
        )

    def _lengths(self, factors: Sequence[str]) -> list[Notice]:
        measured = lengths(self.table)
        if not measured:
            return []
        rows = complete_rows(self.table, self.numbers, len(next(iter(measured.values()))), self.omitted)
        own = {name: values[rows] for name, values in measured.items()}
        result = mostly_length({name: self.columns[name] for name in factors}, own)
        return [Notice("mostly-length", name, {"share": share}) for name, share in result.items()]

    def _unstated(self, name: str, tipping: Sequence[TippingPoint]) -> Notice:
        own = [point for point in tipping if point.noisy == name and not point.group]
        vanish = sorted(
            ((point.insignificant_below, point) for point in own if 0 < (point.insignificant_below or 0) < 1),
            key=lambda pair: -(pair[0] or 0),
        )
        points = [{"metric": one.metric, "factor": one.factor, "below": value} for value, one in vanish]
        return Notice("noise-unstated", name, {"vanish": points})

    def _shared(self, name: str, alpha: float, points: Sequence[SharedErrors]) -> Notice:
        changes = [
            {"metric": one.metric, "factor": one.factor, "at": one.changes_at}
            for one in sorted(points, key=lambda point: point.changes_at or 0)
            if one.changes_at is not None and one.factor != name
        ]
        steps = next(([[step, value] for step, value, *_ in one.curve] for one in points), [])
        return Notice("shared-errors", name, {"alpha": alpha, "reliability": steps, "changes": changes})
