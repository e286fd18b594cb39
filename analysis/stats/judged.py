"""Who judged what, and what nobody judged: where human scores cannot say what they seem to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice

_SEEN = 0.8  # share of systems that a rater judged on average, from which z-scores keep most of what systems differ by
_ALPHA = 0.01  # of the test that says that rows without judgments are of another kind


def raters_apart(human: Array, name: str, systems: Sequence[str], raters: Sequence[str]) -> list[Notice]:
    """Say where scores are standardised within raters who judged different systems.

    Such scores have lost what the systems of different raters differ by: each rater's mean is 0, however good theirs.
    Of each row there are the human score, NaN where there is none, the system, and the rater, empty where it is not
    known (rows,). A column of z-scores is called so by its name; of another each rater's mean and spread are looked at.

    Returns:
        ``raters-apart`` with ``systems``, how many a rater judged on average (``judged``), how many two raters have in
        common on average (``common``), and the ``table``: rater -> system -> judgments.
    """
    table: dict[str, Counter[str]] = {}
    scores: dict[str, list[float]] = {}
    for score, system, rater in zip(human.tolist(), systems, raters, strict=True):
        if score == score and rater:
            table.setdefault(rater, Counter())[system] += 1
            scores.setdefault(rater, []).append(score)
    many = len({system for judged in table.values() for system in judged})
    judged = float(np.mean([len(row) for row in table.values()])) if table else 0.0
    if len(table) < 2 or judged > _SEEN * many:
        return []
    means, spreads = (np.array([float(f(values)) for values in scores.values()]) for f in (np.mean, np.std))
    alike = np.ptp(means) < 0.01 * spreads.mean() and np.ptp(spreads) < 0.05 * spreads.mean()
    if not alike and "z" not in re.split(r"[\W_\d]+", name.casefold()):
        return []
    common = float(np.mean([len(a.keys() & b.keys()) for a, b in combinations(table.values(), 2)]))
    values = {"raters": len(table), "systems": many, "judged": judged, "common": common}
    return [Notice("raters-apart", name, values | {"table": {rater: dict(row) for rater, row in table.items()}})]


def unjudged(human: Array, name: str, metrics: Mapping[str, Array]) -> list[Notice]:
    """Say where rows without human scores, which are left out, have other scores by metrics than those that stay.

    Judgments that are missing where outputs are bad, NaN (rows,), make the range that is left smaller, and so the
    correlation with metrics, name -> scores (rows,).

    Source: Welch 1947 for the test, corrected for the number of metrics (Bonferroni).

    Returns:
        ``unjudged`` with the numbers of rows (``kept``, ``dropped``) and ``means``: metric -> mean score of those kept,
        of those dropped, and their difference in standard deviations of the metric; none where no metric differs.
    """
    kept, means, differs = ~np.isnan(human), dict[str, list[float]](), False
    for metric, scores in metrics.items():
        stay, go = (scores[rows & ~np.isnan(scores)] for rows in (kept, ~kept))
        spread = float(np.nanstd(scores)) if len(stay) and len(go) else 0.0
        if min(len(stay), len(go)) < 3 or not min(np.ptp(stay), np.ptp(go)) > 0:
            continue
        p = float(need("scipy.stats", "Welch's test").ttest_ind(stay, go, equal_var=False).pvalue)
        differs |= p < _ALPHA / len(metrics)
        means[metric] = [float(stay.mean()), float(go.mean()), float(go.mean() - stay.mean()) / spread]
    if not differs:
        return []
    return [Notice("unjudged", name, {"kept": int(kept.sum()), "dropped": int((~kept).sum()), "means": means})]
