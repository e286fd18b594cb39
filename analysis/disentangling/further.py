"""Questions behind a table of coefficients: noise in factors, groups, controls, random intercepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.analysis.disentangling.controls import lengths, mostly_length
from bsx.analysis.disentangling.errors import Errors, complete_rows
from bsx.analysis.disentangling.groups import random_effects, random_intercepts, within_and_between
from bsx.analysis.disentangling.noise.correction import Moments, reference, simex
from bsx.analysis.disentangling.noise.reliability import (
    Reliability,
    ReliabilityEstimate,
    cronbach,
    human_factors,
    stated,
)
from bsx.analysis.disentangling.noise.tipping import TippingPoint, tipping_points
from bsx.analysis.disentangling.result import DisentangleResult
from bsx.analysis.disentangling.variants import Levels, Variant, make_variant
from bsx.analysis.stats.regression import fit_ols, refuse_collinear
from bsx.analysis.stats.resample import Seed
from bsx.data.columns import Labels, TableLike, standardised
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Notice


@dataclass(frozen=True)
class Questions:
    """What was asked beside the coefficients.

    Attributes:
        reliability: factor -> stated share of its variance that is not noise.
        repeat: factor -> columns that measure it.
        simex: simulations; 0 for none.
        control: columns to hold constant.
        random: columns with random intercepts.
        group: column of groups.
    """

    reliability: Mapping[str, float]
    repeat: Mapping[str, Sequence[str]]
    simex: int
    control: Sequence[str]
    random: Sequence[str]
    group: str | None

    def check(self, metrics: Sequence[str], factors: Sequence[str]) -> None:
        """Refuse questions about what is not there.

        Raises:
            InputError: naming the setting.
        """
        for setting, names in (("reliability", self.reliability), ("repeat", self.repeat)):
            for name in names:
                if name not in factors:
                    raise InputError(f"`{setting}={name}=…`: {name!r} is none of the factors {', '.join(factors)}")
        for name in self.reliability:
            if name in self.repeat:
                raise InputError(f"{name}: give `reliability=` or `repeat=`, not both")
        if self.simex and not (self.reliability or self.repeat):
            raise InputError("`simex=` needs to know how much noise there is: `reliability=` or `repeat=`")
        if self.simex < 0 or self.simex == 1:
            raise InputError(f"`simex={self.simex}`: at least 2 simulations, or 0 for none")
        for name in self.control:
            if name in metrics or name in factors:
                raise InputError(f"`control={name}`: is a metric or factor already")


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
        seed: of simulations.
    """

    table: TableLike
    columns: Mapping[str, Array]
    labels: Mapping[str, Labels]
    numbers: Sequence[str]
    omitted: int
    errors: Errors
    seed: Seed

    def of(self, result: DisentangleResult, asked: Questions) -> DisentangleResult:
        """Return the result with all that was asked for."""
        metrics, factors = [fit.metric for fit in result.results], list(result.factors)
        y, x = (standardised(self.columns, names) for names in (metrics, factors))
        errors = self.errors.defined_for(x)
        how = Levels(confidence=result.confidence, alpha=result.alpha, correction=result.correction)
        notices = [*result.warnings, *self._lengths(factors)]
        known = self._reliability(asked, factors, len(x))
        variants = self._corrected(metrics, factors, x, y, known, errors, asked, how)
        noisy = {factors[place]: known for place in known}
        noisy |= {name: known for name in human_factors(factors) if name not in noisy}
        tipping: list[TippingPoint] = []
        for name, others in noisy.items() if len(factors) > 1 else ():
            rest = {place: one for place, one in others.items() if factors[place] != name}
            tipping += tipping_points(metrics, factors, x, y, name, rest, errors, result.alpha, result.confidence)
        if asked.group is not None and len(factors) > 1:
            for name in noisy:
                tipping += self._by_group(metrics, factors, name, noisy[name], asked.group, result)
        unstated = [name for name in noisy if factors.index(name) not in known]
        notices += [self._unstated(name, tipping) for name in unstated]
        if asked.group is not None:
            labels = self.labels[asked.group]
            split, said = within_and_between(metrics, factors, x, y, asked.group, labels, errors, how)
            parts = {name: {fit.metric: fit for fit in part.results} for name, part in result.groups.items()}
            variants += [*split, *random_effects(metrics, factors, asked.group, parts, how)]
            notices += said
        if asked.control:
            variants.append(self._controlled(metrics, y, [*factors, *asked.control], asked.control, how))
        if asked.random:
            levels = {name: self.labels[name] for name in asked.random}
            variant, said = random_intercepts(metrics, factors, x, y, levels, how)
            variants.append(variant)
            notices += said
        return replace(
            result,
            warnings=tuple(notices),
            reliability=tuple(Reliability(one.factor, one.value, one.source) for one in known.values()),
            simex=asked.simex,
            variants=tuple(variants),
            tipping=tuple(tipping),
        )

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
        found = []
        rest = {place: one for place, one in known.items() if factors[place] != noisy}
        for name in result.groups:
            rows = np.flatnonzero([label == name for label in self.labels[group]])
            own = {column: self.columns[column][rows] for column in (*metrics, *factors)}
            y, x = (standardised(own, names) for names in (metrics, factors))
            errors, levels = self.errors.of(rows).defined_for(x), (result.alpha, result.confidence)
            here = {place: replace(one, influence=one.influence[rows]) for place, one in rest.items()}
            found += tipping_points(metrics, factors, x, y, noisy, here, errors, *levels, group=name)
        return found

    def _reliability(self, asked: Questions, factors: Sequence[str], rows: int) -> dict[int, ReliabilityEstimate]:
        known = {}
        for name, value in asked.reliability.items():
            known[list(factors).index(name)] = stated(name, value, rows)
        for name, columns in asked.repeat.items():
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
        asked: Questions,
        how: Levels,
    ) -> list[Variant]:
        if not known:
            return []
        said = "; ".join(f"{one.factor} {one.value:.3f}, {one.source}" for one in known.values())
        scale = "per sd of the noise-free factor"
        found = Moments(x, y, known, errors).correct(known)
        if float(found.r2.max()) > 1:
            metric = metrics[int(found.r2.argmax())]
            raise InputError(
                f"reliability {said}: too low to be true: without that noise the factors would explain "
                f"{100 * found.r2.max():.0f} % of {metric}"
            )
        all_of_them = [("errors-in-variables", f"method of moments, reliability of {said}; {scale}", found)]
        if asked.simex:
            simulated = simex(x, y, known, errors, simulations=asked.simex, seed=self.seed)
            what = f"SIMEX, {asked.simex} simulations, quadratic extrapolation, reliability of {said}; {scale}"
            all_of_them.append(("simex", what, simulated))
        return [
            make_variant(name, what, metrics, factors, one.coef, one.se, reference(errors), r2=one.r2, **how)
            for name, what, one in all_of_them
        ]

    def _controlled(
        self, metrics: Sequence[str], y: Array, names: Sequence[str], control: Sequence[str], how: Levels
    ) -> Variant:
        x = standardised(self.columns, names)
        refuse_collinear(names, x)
        errors = self.errors.defined_for(x)
        fits = [fit_ols(column, x, se=errors.kind, clusters=errors.clusters) for column in y.T]
        coef, se = (np.array([getattr(fit, what) for fit in fits]) for what in ("coef", "se"))
        return make_variant(
            "controls",
            f"with {', '.join(control)} held constant ({errors.kind} standard errors)",
            metrics,
            names,
            coef,
            se,
            reference(errors),
            r2=np.array([fit.r2 for fit in fits]),
            **how,
        )

    def _lengths(self, factors: Sequence[str]) -> list[Notice]:
        measured = lengths(self.table)
        if not measured:
            return []
        rows = complete_rows(self.table, self.numbers, len(next(iter(measured.values()))), self.omitted)
        own = {name: values[rows] for name, values in measured.items()}
        found = mostly_length({name: self.columns[name] for name in factors}, own)
        return [Notice("mostly-length", name, {"share": share}) for name, share in found.items()]

    def _unstated(self, name: str, tipping: Sequence[TippingPoint]) -> Notice:
        own = [point for point in tipping if point.noisy == name and not point.group]
        vanish = sorted(
            ((point.insignificant_below, point) for point in own if 0 < (point.insignificant_below or 0) < 1),
            key=lambda pair: -(pair[0] or 0),
        )
        points = [{"metric": one.metric, "factor": one.factor, "below": value} for value, one in vanish]
        return Notice("noise-unstated", name, {"vanish": points})
