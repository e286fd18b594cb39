"""What to know about a regression before its numbers are believed, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bsx.analysis.disentangle.result import COOK_LIMIT, ROWS_PER_FACTOR, VIF_LIMIT
from bsx.analysis.present.cells import listed
from bsx.analysis.present.significance import some
from bsx.support.result import Notice


def joined(notices: Sequence[Notice]) -> list[Notice]:
    """Return notices, those of the same influential rows as one about all their metrics."""
    same: dict[tuple[str, str], list[Notice]] = {}
    for place, notice in enumerate(notices):
        alone = "" if notice.name == "influential-rows" else str(place)
        same.setdefault((notice.name, alone or str(notice.values["rows"])), []).append(notice)
    return [replace(first, about=listed([first.about, *(one.about for one in rest)])) for first, *rest in same.values()]


def worded(notice: Notice) -> str:
    """Return a warning of a regression in words."""
    name, about, values = notice.name, notice.about, notice.values
    if name == "simpson":
        apart = [
            f"{d['metric']} {d['factor']} {d['within']:.3f} (all rows {d['pooled']:.3f})" for d in values["differences"]
        ]
        return (
            f"coefficients within one {about} differ from those of all rows: {some(apart, long=True)}; "
            f"within={about} gives them all."
        )
    if name == "bent":
        changed = (f"with {listed(list(d['bent']))} bent, {_instead(d)}" for d in values["changed"])
        curves = {factor: p for d in values["changed"] for factor, p in d["bent"].items()}
        which = listed([f"{factor} (p {p:.2g})" for factor, p in curves.items()])
        return f"{about}: a straight line does not fit {which}: {'; '.join(changed)}; see spline={','.join(curves)}."
    if name == "collinearity":
        which = ", ".join(f"{factor} {vif:.1f}" for factor, vif in values["vif"].items()) or "none"
        return (
            f"the factors overlap (VIF above {VIF_LIMIT:g}: {which}; condition number {values['condition']:.1f}): "
            "single coefficients are poorly determined; shares of R² and tests of several factors together say more."
        )
    if name == "tiny-n" and about:
        few = ", ".join(f"{group!r} ({n})" for group, n in values["groups"].items())
        return f"{about} {few}: under {ROWS_PER_FACTOR} rows a factor, so R² comes out too high there."
    if name == "tiny-n":
        return f"{values['n']} rows for {values['factors']} factors: under {ROWS_PER_FACTOR} a factor."
    if name == "few-clusters":
        reasons = [
            f"that of {factor} has {found['df'] or 0:.1f} degrees of freedom, and one cluster has "
            f"{100 * found['share']:.0f} % of its variation"
            for factor, found in values["factors"].items()
        ]
        counted = " x ".join(f"{many:,}" for many in values["clusters"])
        sure = "Such intervals are wide, and not sure to hold their level."
        if not reasons:
            return f"standard errors and the interval of R² rest on {counted} clusters. {sure}"
        return f"few of {counted} clusters decide standard errors: {'; '.join(reasons)}. {sure}"
    if name == "product":
        depends = listed([f"{pair} {one['coef']:.2f} (p {one['p']:.2g})" for pair, one in values["products"].items()])
        phrases = [f"with products of factors, {_instead(d)}" for d in values["changed"]]
        if depends:
            phrases.insert(0, f"what one factor does depends on another, {depends}: their coefficients are averages")
        return f"{about}: {'; '.join(phrases)}; see checks=true."
    if name == "undefined-resamples":
        return f"{values['undefined']} of {values['resamples']} resamples had a constant column or collinear factors."
    if name == "influential-rows":
        rows_ = [str(row) for row in values["rows"]]
        which = ", ".join(rows_[:5]) + (f" and {len(rows_) - 5} more" if len(rows_) > 5 else "")
        decide = f"row {which} of those fitted decides" if len(rows_) == 1 else f"rows {which} of those fitted decide"
        return f"{about}: {decide} much (Cook's distance above {COOK_LIMIT:g})."
    if name == "stars-depend-on-se":
        changed = (f"{d['metric']} {d['factor']} (p {d['p']:.2g}, with HC3 {d['hc3']:.2g})" for d in values["changed"])
        return (
            f"the residuals' spread is too uneven to be sure of what is significant: {', '.join(changed)}; "
            "se=hc3 allows for it."
        )
    if name == "group-left-out":
        return f"{values['column']} {about!r}: {values['why']}."
    return (  # mostly-length
        f"{about} is mostly length: how long the texts are, and how unequal, explain {100 * values['share']:.0f} % "
        "of its variance; controls=length holds both constant."
    )


def _instead(changed: Mapping[str, Any]) -> str:
    """Return what a coefficient is with curves or products, and what it was without."""
    now, before = f"{changed['coef']:.2f} (p {changed['p']:.2g})", f"{changed['line']:.2f} (p {changed['line_p']:.2g})"
    return f"{changed['factor']} is {now} instead of {before}"
