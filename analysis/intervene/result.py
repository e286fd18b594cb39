"""What interventions return: coefficients with and without edits, and what every edit moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bsx.support.result import Interval, Notice, Number, Result

VIF_LIMIT = 10.0  # Marquardt 1970
ALPHA = 0.05
"""p below which a coefficient is said to differ from 0, or from the observed one."""
ROUNDING = 5e-4
"""Standard deviations of a score that three decimals show as 0.000: what stays below is not seen, and not tested."""


@dataclass(frozen=True)
class Effect:
    """One factor's coefficient in one metric: as data come, under edits, and their difference.

    What is not defined is None.

    Attributes:
        metric: name.
        factor: name; ``surface`` is the cost of an edit of writing alone. A factor that was told nothing about case
            ignores it for metrics that do, and is then called so: ``lex:lowercase=true``.
        observed: coefficient in the regression of scores as they come; None where the factor is not observed.
        observed_se: its standard error.
        observed_ci: its interval.
        observed_p: two-sided p of "it is 0".
        edited: coefficient in the regression of falls of scores under edits; None where no edit moves the factor, 0
            where the metric sees none of those that do.
        edited_se: its standard error.
        edited_ci: its interval.
        edited_p: two-sided p of "it is 0"; None where its interval is 0 to rounding.
        edited_p_adjusted: the same, corrected for the number of such tests.
        difference: edited less observed; None without both, and for a factor whose unit is a declaration.
        difference_ci: its interval.
        p: two-sided p of "both are the same"; None where the difference is 0 to rounding.
        p_adjusted: the same, corrected for the number of such tests.
    """

    metric: str
    factor: str
    observed: float | None = None
    observed_se: float | None = None
    observed_ci: Interval | None = None
    observed_p: float | None = None
    edited: float | None = None
    edited_se: float | None = None
    edited_ci: Interval | None = None
    edited_p: float | None = None
    edited_p_adjusted: float | None = None
    difference: float | None = None
    difference_ci: Interval | None = None
    p: float | None = None
    p_adjusted: float | None = None


@dataclass(frozen=True)
class EffectFit:
    """One metric's two regressions.

    Attributes:
        metric: name.
        n_observed: rows of the first; 0 without it.
        r2_observed: share of the scores' variance that the factors explain; NaN without it.
        n_edited: pairs of the second.
        r2_edited: share of the falls' mean square that the changes explain.
        sd: standard deviation of the scores, the unit of the coefficients; root mean square of their falls if there are
            no candidates.
        statistic: F of "all coefficients that both have are the same"; None without such a test.
        df1: its degrees of freedom.
        df2: of the denominator.
        p: its p-value.
        ignores_case: whether scores stay when texts are written in small letters; None where it was not asked, or no
            text has capitals.
        unseen: edits under which no score changes; they are not in the second regression.
    """

    metric: str
    n_observed: int
    r2_observed: Number
    n_edited: int
    r2_edited: Number
    sd: Number
    statistic: float | None
    df1: int
    df2: float | None
    p: float | None
    ignores_case: bool | None = None
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edit:
    """One edit: what it aims at, and by how much it moves each factor.

    Attributes:
        edit: name of the perturbation.
        aim: factor that it is for, or ``surface``.
        preserves: whether the meaning stays.
        strength: share of words; None if it has none.
        n: texts that it changed.
        unchanged: texts that came back as they were.
        not_applicable: texts in which there was nothing to act on.
        changes: factor -> mean fall over the n pairs, in the factor's own units; ``sem`` is declared. What edits of
            writing alone change is told here and stays out of the regressions.
    """

    edit: str
    aim: str
    preserves: bool
    strength: float | None
    n: int
    unchanged: int
    not_applicable: int
    changes: dict[str, Number]


@dataclass(frozen=True)
class EditDrop:
    """How far one metric's scores fall under one edit, in standard deviations of its scores.

    Attributes:
        metric: name.
        edit: name.
        n: pairs with scores.
        drop: mean fall.
        ci: its interval, by sentence.
        expected: mean fall that the edited coefficients predict from the factors' changes.
    """

    metric: str
    edit: str
    n: int
    drop: Number
    ci: Interval
    expected: Number


@dataclass(frozen=True)
class FactorScale:
    """The unit of a factor's coefficients.

    Attributes:
        factor: name.
        unit: one standard deviation, or what was declared.
        source: what it is, in words.
        inflation: variance inflation of the factor among the edits; None where no edit moves it.
    """

    factor: str
    unit: Number
    source: str
    inflation: float | None


@dataclass(frozen=True, repr=False)
class Interventions(Result):
    """What metrics react to.

    Attributes:
        base: which texts were edited, ``reference`` or ``candidate``.
        factors: names.
        effects: one a metric and factor.
        fits: one a metric.
        edits: those that were made.
        drops: one a metric and edit.
        scales: one a factor; one more for a factor that ignores case for some metrics.
        left_out: edit that could not be made -> why.
        confidence: level of all intervals.
        correction: of p for the number of tests.
        skipped: rows that a metric failed on, with the reason.
        warnings: what to know before the numbers are believed: ``not-moved``, ``rows-left-out``, ``meaning-declared``,
            ``edits-alike``, ``case-ignored``, ``edits-unseen`` or ``explains-less``.
    """

    kind: ClassVar[str] = "intervene"

    base: str
    factors: tuple[str, ...]
    effects: tuple[Effect, ...]
    fits: tuple[EffectFit, ...]
    edits: tuple[Edit, ...]
    drops: tuple[EditDrop, ...]
    scales: tuple[FactorScale, ...]
    left_out: dict[str, str]
    confidence: float
    correction: str
    skipped: tuple[dict[str, Any], ...]
    warnings: tuple[Notice, ...]

    def effect(self, metric: str, factor: str) -> Effect:
        """Return one factor's coefficients in one metric; ``lex`` is that in the metric's own casing.

        Raises:
            KeyError: if there are none.
        """
        effects = {(effect.metric, effect.factor): effect for effect in self.effects}
        for name in (factor, ignoring_case(factor)):
            if (metric, name) in effects:
                return effects[metric, name]
        raise KeyError((metric, factor))


def ignoring_case(factor: str) -> str:
    """Return the name of a factor that ignores case.

    >>> ignoring_case("lex"), ignoring_case("lex:variant=chrf")
    ('lex:lowercase=true', 'lex:variant=chrf,lowercase=true')
    """
    return f"{factor}{',' if ':' in factor else ':'}lowercase=true"
