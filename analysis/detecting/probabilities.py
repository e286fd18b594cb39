"""Scores as probabilities: Platt's logistic curve and isotonic regression, learnt on other rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bsx.analysis.detecting.settings import Calibrator
from bsx.analysis.stats.detection import Mask
from bsx.analysis.stats.rowwise import varies
from bsx.support.checks import Array

Probabilities = Callable[[Array], Array]


def learnt(how: Calibrator, scores: Array, clean: Mask) -> Probabilities:
    """Return the function from scores to probabilities of being error-free.

    Args:
        how: ``isotonic`` or ``platt``.
        scores: of rows to learn on (n,), of which not all are the same.
        clean: whether each is error-free (n,).
    """
    return platt(scores, clean) if how == "platt" else isotonic(scores, clean)


def isotonic(scores: Array, clean: Mask) -> Probabilities:
    """Return the rising function that comes closest: straight between the scores learnt on, level beyond them.

    Source: Ayer et al. 1955 (pool adjacent violators); Zadrozny & Elkan 2002 for the use.
    """
    at, place, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    shares = np.bincount(place, weights=clean) / sizes
    values: list[float] = []
    weights: list[int] = []
    widths: list[int] = []
    for share, size in zip(shares.tolist(), sizes.tolist(), strict=True):
        width = 1
        while values and values[-1] >= share:
            last, heavy, wide = values.pop(), weights.pop(), widths.pop()
            share, size, width = (share * size + last * heavy) / (size + heavy), size + heavy, width + wide
        values.append(share)
        weights.append(size)
        widths.append(width)
    fitted = np.repeat(values, widths)
    return lambda x: np.asarray(np.interp(x, at, fitted))


def platt(scores: Array, clean: Mask) -> Probabilities:
    """Return the logistic curve of largest likelihood, with Platt's targets, which are neither 0 nor 1.

    Source: Platt 1999; Lin, Lin & Weng 2007 for the damped Newton steps.
    """
    centre, spread = float(scores.mean()), float(scores.std()) if varies(scores) else np.inf
    x = (scores - centre) / spread
    positive, negative = int(clean.sum()), int((~clean).sum())
    target = np.where(clean, (positive + 1) / (positive + 2), 1 / (negative + 2))
    design = np.stack([x, np.ones_like(x)])
    weights = np.array([0.0, np.log((positive + 1) / (negative + 1))])

    def loss(of: Array) -> float:
        z = of @ design
        return float((np.logaddexp(0, z) - target * z).sum())

    now = loss(weights)
    for _ in range(100):
        p = _logistic(weights @ design)
        slope = design @ (p - target)
        if np.abs(slope).max() < 1e-9 * len(x):
            break
        bend = (design * (p * (1 - p))) @ design.T + 1e-12 * np.eye(2)
        step, size = np.linalg.solve(bend, slope), 1.0
        while size > 1e-10 and loss(weights - size * step) > now - 1e-4 * size * float(slope @ step):
            size /= 2
        weights = weights - size * step
        now = loss(weights)
    return lambda new: _logistic(weights[0] * (new - centre) / spread + weights[1])


def _logistic(z: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0, -z)))
