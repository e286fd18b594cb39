"""What ``bsx intervene`` prints."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


class EffectRow(DocumentPart):
    """One factor's coefficient in one metric: as data come, under edits, and their difference.

    Attributes:
        metric: name.
        factor: name; ``surface`` is the cost of an edit of writing beyond the factors.
        observed: coefficient in the regression of scores as they come; None where the factor is not observed.
        observed_se: its standard error.
        observed_ci: its interval.
        observed_p: two-sided p of "it is 0".
        edited: coefficient in the regression of falls of scores under edits; None where no edit moves the factor.
        edited_se: its standard error.
        edited_ci: its interval.
        edited_p: two-sided p of "it is 0".
        edited_p_adjusted: the same, corrected for the number of such tests.
        difference: edited less observed; None without both, and for a factor whose unit is a declaration.
        difference_ci: its interval.
        p: two-sided p of "both are the same".
        p_adjusted: the same, corrected for the number of such tests.
    """

    metric: str
    factor: str
    observed: Number = None
    observed_se: Number = None
    observed_ci: Interval = None
    observed_p: Number = None
    edited: Number = None
    edited_se: Number = None
    edited_ci: Interval = None
    edited_p: Number = None
    edited_p_adjusted: Number = None
    difference: Number = None
    difference_ci: Interval = None
    p: Number = None
    p_adjusted: Number = None


class EffectFitRow(DocumentPart):
    """One metric's two regressions.

    Attributes:
        metric: name.
        n_observed: rows of the first; 0 without it.
        r2_observed: share of the scores' variance that the factors explain.
        n_edited: pairs of the second.
        r2_edited: share of the falls' mean square that the changes explain.
        sd: standard deviation of the scores, the unit of the coefficients; root mean square of their falls if there are
            no candidates.
        statistic: F of "all coefficients that both have are the same".
        df1: its degrees of freedom.
        df2: of the denominator.
        p: its p-value.
    """

    metric: str
    n_observed: int = 0
    r2_observed: Number = None
    n_edited: int
    r2_edited: Number = None
    sd: Number = None
    statistic: Number = None
    df1: int = 0
    df2: Number = None
    p: Number = None


class EditRow(DocumentPart):
    """One edit: what it aims at, and by how much it moves each factor.

    Attributes:
        edit: name of the perturbation.
        aim: factor that it is for, or ``surface``.
        preserves: whether the meaning stays.
        strength: share of words; None if it has none.
        n: texts that it changed.
        unchanged: texts that came back as they were.
        not_applicable: texts in which there was nothing to act on.
        changes: factor -> mean fall over the n pairs, in the factor's own units; ``sem`` is declared.
    """

    edit: str
    aim: str
    preserves: bool
    strength: Number = None
    n: int
    unchanged: int = 0
    not_applicable: int = 0
    changes: dict[str, Number] = {}


class EditDropRow(DocumentPart):
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
    ci: Interval = None
    expected: Number = None


class ScaleRow(DocumentPart):
    """The unit of a factor's coefficients: one standard deviation, or what was declared."""

    factor: str
    unit: Number
    source: str
    inflation: Number = None


class InterveneDocument(ResultDocument):
    """``bsx intervene``."""

    base: str
    factors: list[str]
    effects: list[EffectRow]
    fits: list[EffectFitRow]
    edits: list[EditRow]
    drops: list[EditDropRow] = []
    scales: list[ScaleRow] = []
    left_out: dict[str, str] = {}
    confidence: float = 0.95
    correction: str = "none"
    skipped: list[dict[str, object]] = []
