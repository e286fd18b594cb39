"""Does a factor add anything, is a straight line enough? Nested models, RESET, squares, products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from bsx.analysis.disentangle.result import NestedTest
from bsx.analysis.disentangle.settings import ErrorSettings, RegressionSettings
from bsx.analysis.disentangle.standard_errors import Errors, choose_errors
from bsx.analysis.stats.regression import fit_ols, refuse_collinear, require_rows, wald
from bsx.data.columns import TableLike, numeric_columns, standardise
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.settings import settled


@settled(RegressionSettings)
def nested_test(
    table: TableLike, metric: str, base: Sequence[str], added: Sequence[str], settings: RegressionSettings
) -> NestedTest:
    """Test whether factors explain a metric beyond what others explain.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metric: column of the response.
        base: factors that are in both models; may be empty.
        added: factors that are in the larger model only.
        settings: see `RegressionSettings`; ``se="classic"`` is the F test of nested models, others a Wald test.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    if not added:
        raise InputError("name at least one factor to add")
    z, errors = _standardised(table, metric, [*base, *added], settings)
    terms = {name: z[name] for name in (*base, *added)}
    return nested("factors", z[metric], terms, list(base), list(added), errors, settings.intercept)


@settled(ErrorSettings)
def linearity_checks(
    table: TableLike, metric: str, factors: Sequence[str], settings: ErrorSettings
) -> dict[str, NestedTest]:
    """Check what a linear model without products takes for granted.

    ``reset``: do squares and cubes of the fitted values explain anything (Ramsey 1969)? ``squares``: does the square of
    any factor? ``interactions``: does the product of any two? Every model here has an intercept, because squares and
    products do not average 0. A term that the others already determine (the square of a factor with two values) is left
    out; a question without any term left is not in the result.

    Args:
        table: mapping name -> (n,), DataFrame or `JudgedTable`.
        metric: column of the response.
        factors: columns of the factors.
        settings: see `ErrorSettings`.

    Returns:
        Question -> NestedTest; its ``coef`` and ``term_p`` say which squares and products matter.

    Raises:
        UnknownNameError: for a missing column.
        InputError: for cells that are not numbers, constant columns, collinear factors or too few rows.
    """
    z, errors = _standardised(table, metric, factors, settings)
    y, base = z[metric], {name: z[name] for name in factors}
    _refuse_collinear(base)
    fitted = fit_ols(y, np.column_stack(list(base.values())), intercept=True).fitted
    spread = fitted.std()
    questions: dict[str, dict[str, Array]] = {"reset": {}}
    if spread > 1e-8:
        scaled = (fitted - fitted.mean()) / spread
        questions["reset"] = {"fitted²": scaled**2, "fitted³": scaled**3}
    questions["squares"] = {f"{name}²": column**2 for name, column in base.items()}
    questions["interactions"] = {f"{a}:{b}": base[a] * base[b] for a, b in combinations(base, 2)}
    results = {}
    for name, candidates in questions.items():
        columns, added = [np.ones(len(y)), *base.values()], []
        for term, column in candidates.items():  # those that nothing before them determines
            design = np.column_stack(columns)
            rest = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
            if np.linalg.norm(rest) > 1e-7 * np.linalg.norm(column):
                columns.append(column)
                added.append(term)
        if added:
            terms = {**base, **{term: candidates[term] for term in added}}
            results[name] = nested(name, y, terms, list(base), added, errors, True)
    return results


def _standardised(
    table: TableLike, metric: str, factors: Sequence[str], settings: ErrorSettings
) -> tuple[dict[str, Array], Errors]:
    names = [metric, *factors]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"column {repeated[0]!r} is named twice")
    labels = [settings.cluster] if settings.cluster is not None else []
    columns, _, omitted = numeric_columns(table, names, labels, nan=settings.nan)
    require_rows(len(columns[metric]), len(factors))
    z = {name: standardise(name, values) for name, values in columns.items()}
    return z, choose_errors(table, names, len(factors), settings, omitted)


def nested(
    name: str,
    y: Array,
    terms: Mapping[str, Array],
    base: list[str],
    added: list[str],
    errors: Errors,
    intercept: bool,
) -> NestedTest:
    """Test standardised terms that a larger model adds to a smaller one; arguments as in `NestedTest`."""
    _refuse_collinear(terms)
    errors = errors.defined_for(np.column_stack([terms[term] for term in (*base, *added)]), intercept=intercept)
    full = errors.fit(y, np.column_stack([terms[term] for term in (*base, *added)]), intercept=intercept)
    r2_base = fit_ols(y, np.column_stack([terms[term] for term in base]), intercept=intercept).r2 if base else 0.0
    places = [len(base) + i + intercept for i in range(len(added))]
    test = wald(full, places)
    return NestedTest(
        name=name,
        base=tuple(base),
        added=tuple(added),
        r2_base=r2_base,
        r2_full=full.r2,
        gain=full.r2 - r2_base,
        **vars(test),
        n=len(y),
        coef={term: float(full.coef[i]) for term, i in zip(added, places, strict=True)},
        term_p={term: float(full.p[i]) for term, i in zip(added, places, strict=True)},
    )


def _refuse_collinear(terms: Mapping[str, Array]) -> None:
    names = list(terms)
    if names:
        require_rows(len(terms[names[0]]), len(names))
        refuse_collinear(names, np.column_stack([terms[name] - terms[name].mean() for name in names]))
