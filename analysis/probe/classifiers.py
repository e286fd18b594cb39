"""The classifiers that probe: fitted on a training part, tuned on a validation part, by scikit-learn."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.untyped import Untyped

Probe = Literal["logistic", "mlp"]
Labels = NDArray[np.int64]
Fitted = tuple[Untyped, float, str]
"""A fitted model, what the validation part chose, and why the fit may not be the best one."""

STRENGTHS = (0.001, 0.01, 0.1, 1.0)
"""scikit-learn's C, inverse strengths of the L2 penalty that are tried, the strongest penalty first."""
ITERATIONS = 1000
HIDDEN = 64
EPOCHS = 100
PATIENCE = 5


@dataclass(frozen=True)
class FittedProbe:
    """A fitted probe.

    Attributes:
        predict: vectors (n, dim) -> predicted labels (n,).
        chosen: what the validation part chose: C of a logistic probe, epochs of an MLP.
        complaint: why the fit may not be the best one, or an empty text.
    """

    predict: Callable[[Array], Labels]
    chosen: float
    complaint: str


def fit(kind: Probe, x: Array, y: Labels, x_held: Array, y_held: Labels, *, seed: int) -> FittedProbe:
    """Fit a probe on vectors standardised by their mean and deviation in the training part.

    ``logistic``: multinomial logistic regression with an L2 penalty, whose strength among `STRENGTHS` is the one with
    the highest accuracy in the validation part (the stronger penalty of equals). ``mlp``: one hidden layer of `HIDDEN`
    rectified units, Adam; training stops when the accuracy in the validation part has not risen for `PATIENCE` epochs,
    and the best epoch counts. Neither is refitted on training and validation part together.

    Vectors are (n, dim), labels (n,), those of the validation part (m, dim) and (m,). The seed is that of the MLP's
    weights and order of items; the logistic probe has no chance in it.
    """
    if kind not in ("logistic", "mlp"):
        raise InputError(f"there is no probe {kind!r}; there are logistic, mlp")
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    # A dimension that only varies by rounding is noise that would be blown up to full size.
    deviation[deviation <= 1e-7 * np.maximum(np.abs(x).max(axis=0), 1e-30)] = 1.0
    if len(np.unique(y)) == 1:
        return FittedProbe(lambda vectors: np.full(len(vectors), y[0], dtype=np.int64), float("nan"), "")
    parts = (x - mean) / deviation, y, (x_held - mean) / deviation, y_held
    model, chosen, complaint = _logistic(*parts) if kind == "logistic" else _mlp(*parts, seed)
    return FittedProbe(lambda vectors: model.predict((vectors - mean) / deviation).astype(np.int64), chosen, complaint)


def _logistic(x: Array, y: Labels, x_held: Array, y_held: Labels) -> Fitted:
    linear = need("sklearn.linear_model", "probing")
    trouble = need("sklearn.exceptions", "probing").ConvergenceWarning
    model = linear.LogisticRegression(max_iter=ITERATIONS, warm_start=True)
    best: tuple[float, Untyped, str] = (-1.0, None, "")
    for strength in STRENGTHS:  # each starts where the one before, with the stronger penalty, ended
        model.set_params(C=strength)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", trouble)
            model.fit(x, y)
        for other in [warning for warning in caught if not issubclass(warning.category, trouble)]:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        right = float((model.predict(x_held) == y_held).mean())
        if right > best[0]:
            failed = any(issubclass(warning.category, trouble) for warning in caught)
            complaint = f"C={strength:g} did not converge within {ITERATIONS} iterations" if failed else ""
            best = (right, copy.deepcopy(model), complaint)
    return best[1], float(best[1].C), best[2]


def _mlp(x: Array, y: Labels, x_held: Array, y_held: Labels, seed: int) -> Fitted:
    network = need("sklearn.neural_network", "probing")
    # One generator for all epochs: with a number instead, every epoch would shuffle alike.
    model = network.MLPClassifier(
        hidden_layer_sizes=(HIDDEN,), batch_size=min(64, len(x)), random_state=np.random.RandomState(seed)
    )
    best: tuple[float, Untyped, int] = (-1.0, None, 0)
    complaint = f"accuracy in the validation part may still have risen after {EPOCHS} epochs"
    for epoch in range(1, EPOCHS + 1):
        model.partial_fit(x, y, classes=np.unique(y))
        right = float((model.predict(x_held) == y_held).mean())
        if right > best[0]:
            best = (right, copy.deepcopy(model), epoch)
        elif epoch - best[2] >= PATIENCE:
            complaint = ""
            break
    return best[1], best[2], complaint
