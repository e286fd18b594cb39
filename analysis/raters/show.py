"""What the agreement of raters looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bsx.analysis.present import charts
from bsx.analysis.present.cells import interval, number, plain_table
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Notes, Part
from bsx.analysis.raters.run import RaterAgreement

_FEW = 12  # rows that a table of the short form has room for


@presents(RaterAgreement, section=("raters", "Agreement of raters"))
def raters(result: RaterAgreement) -> Iterator[Part]:
    """Yield how far raters agree, then each of them."""
    ends = interval(result.alpha_ci).text
    none = "" if result.alpha_ci[0] > 0 else " No agreement beyond chance is shown: the interval reaches 0."
    yield Answer(
        f"Krippendorff's alpha of {len(result.raters)} raters is {number(result.alpha).text} {ends} on "
        f"{result.items:,} translations; the mean of {result.per_item:.2f} ratings has a reliability of "
        f"{number(result.mean).text} {interval(result.mean_ci).text}.{none}"
    )
    named = (
        ("Krippendorff's alpha (interval)", result.alpha, result.alpha_ci),
        ("reliability of one rating, ICC(1)", result.one, result.one_ci),
        (f"reliability of the mean of {result.per_item:.2f}", result.mean, result.mean_ci),
    )
    single = f", {result.single:,} with one rating left out" if result.single else ""
    level = f"{100 * result.confidence:g} % interval"
    yield plain_table(
        f"Agreement of raters, {result.ratings:,} ratings of {result.items:,} translations{single}",
        [{"figure": name, "value": value, level: ci} for name, value, ci in named],
        note="Intervals: bootstrap over translations; no tests.",
    )
    note = "severity: the others' mean on the same translations, less this rater's; r: with the mean of the others."
    each = list(map(vars, result.raters))
    yield plain_table("Raters, the severest first", each, note=note, full=len(each) > _FEW)
    yield Notes(result.notes)
    points = [charts.Point(name, 0, value, *ci) for name, value, ci in named]
    alt = "Alpha and both reliabilities with their intervals."
    yield charts.forest("Alpha and reliabilities", points, alt=alt, axis=level)


@lists(RaterAgreement)
def rater_rows(result: RaterAgreement) -> Iterator[Mapping[str, object]]:
    """Yield a row a rater."""
    yield from (vars(rater) for rater in result.raters)
