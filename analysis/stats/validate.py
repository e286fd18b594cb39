"""The one check in front of every statistic: lengths, missing values, infinities, constants, too few items."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bsx.analysis.stats.rowwise import varies
from bsx.data.cells import LARGEST
from bsx.data.columns import floats
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice, within
from bsx.support.settings import MOST_DRAWS


def vectors(
    columns: Mapping[str, ArrayLike], *, nan: NanPolicy = "error", minimum: int = 3, varied: bool = False
) -> tuple[Array, ...]:
    """Return the columns, in their order, as float64 vectors of one length without missing values, each (n,).

    Args:
        columns: name in messages -> (n,).
        nan: ``error`` refuses NaN; ``omit`` drops an item from all columns if it is NaN in any.
        minimum: fewest items that may remain.
        varied: also refuse a column whose values are all the same.

    Raises:
        InputError: naming the column and what is wrong with it.
    """
    arrays, missing = _checked(columns, nan)
    if missing.any():
        arrays = {name: values[~missing] for name, values in arrays.items()}
    for name, values in arrays.items():
        if len(values) < minimum:
            raise InputError(f"{name}: {len(values)} items are too few, at least {minimum} are needed")
        if varied and np.ptp(values) == 0:
            raise InputError(f"{name}: all {len(values)} items have the value {values[0]:g}, nothing can be ranked")
        if varied:
            refuse_rounding(name, values)
    return tuple(arrays.values())


def grids(columns: Mapping[str, ArrayLike], *, nan: NanPolicy = "error", systems: int = 2) -> tuple[Array, ...]:
    """Return the columns, in their order, as float64 matrices (systems, segments) that miss the same cells.

    Args:
        columns: name in messages -> (systems, segments).
        nan: ``error`` refuses NaN; ``omit`` makes a cell NaN in all columns if it is NaN in any.
        systems: fewest rows.

    Raises:
        InputError: naming the column and what is wrong with it.
    """
    arrays, missing = _checked(columns, nan, systems)
    if missing.any():
        arrays = {name: np.where(missing, np.nan, values) for name, values in arrays.items()}
    if missing.all():
        raise InputError(f"{' and '.join(arrays)}: no system x segment has all of their values")
    return tuple(arrays.values())


def clusters_of(cluster: ArrayLike | None, n: int, what: str = "segments") -> NDArray[np.int64] | None:
    """Return the number, from 0, of the cluster of each of n things; None if none is given.

    Raises:
        InputError: if there are not n, or all are of one cluster.
    """
    if cluster is None:
        return None
    labels = np.asarray(cluster)
    if labels.shape != (n,):
        raise InputError(f"cluster: expected one for each of {n} {what}, has shape {labels.shape}", setting="cluster")
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if n:
        several_units(int(codes.max()) + 1, "cluster", what, "cluster")
    return codes


def several_units(
    units: int, where: str, rows: str = "rows", unit: str = "set that shares segments, documents or texts"
) -> None:
    """Raise InputError for fewer than two independent units: the one rule for all that speaks about others like them.

    Resamples and swaps of a single unit do not vary, so that any difference would be significant. The message begins
    with ``where``, and says which ``rows`` are of one ``unit``.
    """
    if units < 2:
        raise InputError(f"{where}: all {rows} are of one {unit}: nothing is known about others, at least 2 are needed")


def settings(*, resamples: int = 1, confidence: float = 0.95) -> None:
    """Raise InputError unless the resamples are between 1 and `MOST_DRAWS` and the confidence lies between 0 and 1.

    What prints an interval asks for as many as its level takes; one resample serves who only wants the estimate.
    """
    within("resamples", resamples, 1, MOST_DRAWS)
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence}: it must lie between 0 and 1, e.g. 0.95")


def refuse_rounding(name: str, values: Array) -> None:
    """Raise InputError for values (n,) that differ by no more than rounding errors."""
    largest, spread = np.abs(values).max(), np.ptp(values)
    if spread > 0 and not varies(values):
        raise InputError(
            f"{name}: its values differ by {spread:.1g} at most, a rounding error of numbers near {largest:g}: "
            "nothing can be ranked"
        )


def _checked(
    columns: Mapping[str, ArrayLike], nan: NanPolicy, systems: int | None = None
) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    """Return vectors, or matrices of some systems, of one shape as float64, and where any of them misses a value."""
    dimensions = 1 if systems is None else 2
    arrays = {name: _numbers(name, values, dimensions=dimensions) for name, values in columns.items()}
    if len({values.shape for values in arrays.values()}) > 1:
        sizes = ", ".join(f"{name} {' x '.join(map(str, values.shape))}" for name, values in arrays.items())
        raise InputError(f"columns differ in size: {sizes}")
    for name, values in arrays.items():
        if systems is not None and (values.shape[0] < systems or values.shape[1] < 1):
            shape = f"{values.shape[0]} systems x {values.shape[1]} segments"
            raise InputError(f"{name}: {shape} are too few, at least {systems} x 1 are needed")
    absent = {name: np.isnan(values) for name, values in arrays.items()}
    missing: NDArray[np.bool_] = np.any(list(absent.values()), axis=0)
    if missing.any():
        choice("nan", nan, ("error", "omit"))
        if nan == "error":
            name, where = next((name, where) for name, where in absent.items() if where.any())
            count, place = int(where.sum()), _place(where)
            raise InputError(f"{name}: {count} missing values (NaN), the first at {place}; nan=omit leaves them out")
    return arrays, missing


def _numbers(name: str, values: ArrayLike, *, dimensions: int) -> Array:
    try:
        array = floats(values, _item)
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f"{name}: not an array of numbers ({error})") from error
    if array.ndim != dimensions:
        expected = "one number per item" if dimensions == 1 else "a matrix (systems, segments)"
        raise InputError(f"{name}: has shape {array.shape}, expected {expected}")
    if np.isinf(array).any():
        raise InputError(f"{name}: infinite value at {_place(np.isinf(array))}")
    if (large := np.abs(array) > LARGEST).any():
        raise InputError(f"{name}: the value at {_place(large)} is too large to compute with: scale the column")
    return array


def _place(mask: NDArray[np.bool_]) -> str:
    return _item(tuple(int(i) for i in np.argwhere(mask)[0]))


def _item(place: tuple[int, ...]) -> str:
    return f"system {place[0]}, segment {place[1]}" if len(place) == 2 else f"item {', '.join(map(str, place))}"
