"""What ``bsx disentangle`` prints."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Interval, Number, ResultDocument


class FitRow(DocumentPart):
    """The regression of one metric on factors; dictionaries are keyed by factor."""

    metric: str
    coef: dict[str, Number]
    se: dict[str, Number] = {}
    p: dict[str, Number] = {}
    ci: dict[str, Interval]
    r2: Number
    adj_r2: Number
    vif: dict[str, Number] = {}
    r2_share: dict[str, Number]
    statistic: dict[str, Number] = {}
    significant: dict[str, bool]
    partial_r2: dict[str, Number] = {}
    semipartial_r2: dict[str, Number] = {}
    conditional_dominance: dict[str, list[Number]] = {}
    dominates: dict[str, list[tuple[str, str]]] = {}
    df: int = 0
    intercept: Number = None
    intercept_se: Number = None
    p_adjusted: dict[str, Number] = {}
    ci_bootstrap: dict[str, Interval] = {}
    r2_bootstrap: Interval = None
    r2_share_bootstrap: dict[str, Interval] = {}
    r2_ci: Interval = None
    r2_out: Number = None
    partial_r2_ci: dict[str, Interval] = {}
    semipartial_r2_ci: dict[str, Interval] = {}
    importance: dict[str, Number] = {}
    commonality: dict[str, Number] = {}


class VariantFitRow(DocumentPart):
    """One metric's coefficients, estimated otherwise; dictionaries are keyed by factor."""

    metric: str
    coef: dict[str, Number]
    se: dict[str, Number] = {}
    p: dict[str, Number] = {}
    p_adjusted: dict[str, Number] = {}
    ci: dict[str, Interval] = {}
    significant: dict[str, bool] = {}
    r2: Number = None
    details: dict[str, dict[str, Number]] = {}


class VariantRow(DocumentPart):
    """All metrics' coefficients, estimated otherwise."""

    name: str
    what: str = ""
    factors: list[str]
    results: list[VariantFitRow]


class TippingRow(DocumentPart):
    """How a coefficient moves with the reliability of another factor; points: reliability, coefficient, interval."""

    metric: str
    factor: str
    noisy: str
    zero_below: Number = None
    insignificant_below: Number = None
    lowest: Number = None
    group: str = ""
    curve: list[tuple[Number, Number, Number, Number]] = []


class ReliabilityRow(DocumentPart):
    """The reliability of a factor, and where it comes from."""

    factor: str
    value: Number
    source: str = ""


class NoticeRow(DocumentPart):
    """A warning of a regression."""

    name: str = ""
    message: str


class FitsRow(DocumentPart):
    """Regressions of all metrics on the same rows; ``group`` is set in the parts of one group."""

    group: str = ""
    n: int
    factors: list[str]
    results: list[FitRow]
    se: str
    se_reason: str = ""
    reference: str = ""
    intercept: bool = False
    confidence: float
    alpha: float
    correction: str
    bootstrap: int = 0
    omitted: int = 0
    condition_number: Number = None
    warnings: list[NoticeRow]


class PooledRow(DocumentPart):
    """The test of "all groups have the same coefficients" for one metric."""

    metric: str
    groups: list[str]
    statistic: Number
    df1: int
    df2: Number
    p: Number
    by_factor: dict[str, Number]
    method: str


class NestedRow(DocumentPart):
    """A larger model against a smaller one."""

    name: str = ""
    base: list[str] = []
    added: list[str] = []
    r2_base: Number = None
    r2_full: Number = None
    gain: Number = None
    statistic: Number = None
    df1: int = 0
    df2: Number = None
    p: Number = None
    n: int = 0
    coef: dict[str, Number] = {}
    term_p: dict[str, Number] = {}


class DifferenceRow(DocumentPart):
    """A coefficient of one metric less that of another."""

    a: Number = None
    b: Number = None
    difference: Number = None
    low: Number = None
    high: Number = None
    statistic: Number = None
    p: Number = None
    p_two_sided: Number = None
    n: int = 0
    method: str = ""
    confidence: float = 0.95


class CoefficientsRow(DocumentPart):
    """Two metrics' coefficients compared, factor by factor."""

    a: str
    b: str
    by: dict[str, DifferenceRow]


class BendRow(DocumentPart):
    """What a metric gains if a factor acts in a curve; ``curve``: value, effect, its interval, the straight line's."""

    metric: str
    factor: str
    knots: list[Number] = []
    r2_line: Number
    r2_curve: Number
    out_line: Number = None
    out_curve: Number = None
    statistic: Number = None
    df1: int = 0
    df2: Number = None
    p: Number
    p_adjusted: Number = None
    curve: list[tuple[Number, Number, Number, Number, Number]] = []


class MediatedRow(DocumentPart):
    """A factor's coefficient, divided into what goes through a mediator and what does not."""

    metric: str
    factor: str
    mediator: str
    on_mediator: Number = None
    of_mediator: Number = None
    indirect: Number
    indirect_ci: Interval = None
    direct: Number
    direct_ci: Interval = None
    total: Number
    total_ci: Interval = None
    share: Number = None


class DisentangleDocument(ResultDocument, FitsRow):
    """``bsx disentangle``."""

    groups: list[FitsRow] = []
    pooled: list[PooledRow] = []
    tests: dict[str, list[NestedRow]] = {}
    comparison: CoefficientsRow | None = None
    seed: int | None = None
    reliability: list[ReliabilityRow] = []
    simex: int = 0
    variants: list[VariantRow] = []
    tipping: list[TippingRow] = []
    bends: list[BendRow] = []
    mediation: list[MediatedRow] = []
