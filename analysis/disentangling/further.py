"""Questions behind a table of coefficients: noise in factors, groups, levels, length and other controls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bsx.analysis.disentangling.noise import corrected, cronbach, reference, stated
from bsx.analysis.disentangling.result import DisentangleResult, Reliability, Variant
from bsx.analysis.disentangling.settings import DisentangleSettings
from bsx.analysis.disentangling.standard_errors import SEGMENTS, Errors, complete_rows
from bsx.analysis.disentangling.variants import make_variant
from bsx.analysis.disentangling.within import simpson, within
from bsx.analysis.stats.regression import refuse_collinear
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


def answered(
    result: DisentangleResult,
    table: TableLike,
    columns: Mapping[str, Array],
    labels: Mapping[str, Labels],
    numbers: Sequence[str],
    errors: Errors,
    settings: DisentangleSettings,
    controls: Sequence[str],
) -> DisentangleResult:
    """Return a result with the other estimates that were asked for, and what every run looks for.

    Args:
        result: of all rows and groups.
        table: as it was given, with repeated factors and lengths.
        columns: numbers of the rows fitted.
        labels: of the same rows.
        numbers: names of columns a row may not miss.
        errors: standard errors.
        settings: what was asked.
        controls: columns to hold constant; ``length`` stands for two.

    Raises:
        InputError: for reliabilities that the data rule out, or what `bsx.analysis.disentangling.within.within` and
            controls refuse.
    """
    metrics, factors = [fit.metric for fit in result.results], list(result.factors)
    y, x = (standardised(columns, names) for names in (metrics, factors))
    rows = complete_rows(table, numbers, len(table[numbers[0]]), result.omitted)
    defined = errors.defined_for(x)
    present = set(column_names(table)) - set(numbers)

    def levels(name: str) -> Labels:
        """Return the level of each row; a segment is one of its language pair, and a blank cell one of its own."""
        column = list(table[name])
        own = ["" if cells.is_missing(column[i]) else cells.spelled(column[i]) for i in rows]
        own = [label or f"\0{place}" for place, label in enumerate(own)]
        if name not in SEGMENTS or "lp" not in present:
            return own
        pairs = list(table["lp"])
        return [f"{pairs[i]}\t{label}" for i, label in zip(rows, own, strict=True)]

    notices = list(result.warnings)
    variants: list[Variant] = []
    measured = {name: values[rows] for name, values in lengths(table).items()}
    if measured:
        shares = mostly_length({name: columns[name] for name in factors}, measured)
        notices += [Notice("mostly-length", name, {"share": share}) for name, share in shares.items()]

    known = {factors.index(name): stated(name, value, len(x)) for name, value in settings.reliabilities.items()}
    for name, repeated in settings.repeats.items():
        known[factors.index(name)] = cronbach(name, {column: columns[column] for column in repeated})
    if known:
        of = "; ".join(f"{one.factor} {one.value:.3f}, {one.source}" for one in known.values())
        found = corrected(x, y, known, defined)
        if float(found.r2.max()) > 1:
            raise InputError(
                f"reliability {of}: too low to be true: without that noise the factors would explain "
                f"{100 * found.r2.max():.0f} % of {metrics[int(found.r2.argmax())]}"
            )
        what = f"method of moments, reliability of {of}; per sd of the noise-free factor"
        figures = (found.coef, found.se, reference(defined), settings)
        variants.append(make_variant("errors-in-variables", what, metrics, factors, *figures, r2=found.r2))

    variants += result.variants
    searched: dict[str, Labels] = {} if settings.group is None else {settings.group: labels[settings.group]}
    for names in (SEGMENTS, (SYSTEM,)):
        for name in (name for name in names if name in present and name not in searched):
            own_levels = levels(name)
            if len(set(own_levels)) < len(own_levels):
                searched[name] = own_levels
                break
    for name, of_rows in searched.items():
        notices += simpson(metrics, factors, x, y, name, of_rows, defined, settings, len(searched))

    if settings.within:
        by_column = {name: levels(name) for name in settings.within}
        variants.append(within(metrics, factors, x, y, by_column, defined, settings))
    if controls:
        every = [*factors, *controls]
        held = standardised(columns, every)
        refuse_collinear(every, held)
        own = errors.defined_for(held)
        ols = [own.fit(column, held) for column in y.T]
        coef, se, df, r2 = (
            np.array([getattr(fit, what) for fit in ols]) for what in ("coef", "se", "reference_df", "r2")
        )
        student = need("scipy.stats", "the regression").t(df)  # the normal with infinitely many degrees of freedom
        what = f"with {', '.join(controls)} held constant ({own.kind} standard errors)"
        variants.append(make_variant("controls", what, metrics, every, coef, se, student, settings, r2=r2))
    return replace(
        result,
        warnings=tuple(notices),
        reliability=tuple(Reliability(one.factor, one.value, one.source) for one in known.values()),
        variants=tuple(variants),
    )
