"""One seed of a probing experiment: its split, and every probe that is fitted on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.probing.classifiers import FittedProbe, Probe, Scale, fit
from bsx.analysis.probing.control import Draw, control_labels
from bsx.analysis.probing.split import PARTS, Codes
from bsx.errors import InputError

Labels = NDArray[np.int64]


class ProbeRun:
    """The probes of one seed, layer after layer, under several conditions.

    The first condition is the task itself; then comes the control task, if there is one, then each smaller training
    set.

    Args:
        probe: which classifier.
        split: index into `bsx.analysis.probing.split.PARTS` of each item (n,).
        labels: label of each item (n,).
        types: number of each item's type (n,) for a control task.
        rng: random numbers.
        draw: how control labels are drawn.

    Attributes:
        rows: items of the training, validation and test part.
        right: for each layer so far, whether each test item was predicted rightly under each condition
            (conditions, m).
        macro_f1: of each layer so far.
        chosen: what the validation part chose for each layer so far.
        majority: the training part's most frequent label.
        baseline: its accuracy.
        control: control label of each item (n,), if there is a control task.
        control_baseline: the same of the control task; NaN without one.
        seen: share of test items whose type is in the training part; NaN without a control task.
        complaints: (condition, complaint) of every fit that may not be the best one.

    Raises:
        InputError: if a part is empty or all items to train on have the same label.
    """

    def __init__(
        self,
        probe: Probe,
        split: Codes,
        labels: Labels,
        types: Labels | None,
        rng: np.random.Generator,
        draw: Draw = "balanced",
    ) -> None:
        train, held, test = (np.flatnonzero(split == code) for code in range(len(PARTS)))
        for name, rows in zip(PARTS, (train, held, test), strict=True):
            if not len(rows):
                raise InputError(f"the {name} part is empty: there must be items, in several groups, for each part")
        if len(np.unique(labels[train])) < 2:
            raise InputError("all items of the training part have the same label: there is nothing to learn")
        self.rows = (train, held, test)
        self.right: list[NDArray[np.bool_]] = []
        self.macro_f1: list[float] = []
        self.chosen: list[float] = []
        self.complaints: list[tuple[str, str]] = []
        self._probe = probe
        self._labels = labels
        # Smaller training sets are the starts of one random order: each is part of every larger one.
        self._order = rng.permutation(train)
        self._seed = int(rng.integers(2**31))
        self.control = None if types is None else control_labels(types, labels, rng, draw=draw)
        self.majority = int(np.bincount(labels[train]).argmax())
        self.baseline = self._majority(labels)
        self.control_baseline = self.seen = float("nan")
        if types is not None and self.control is not None:
            self.control_baseline = self._majority(self.control)
            self.seen = float(np.isin(types[test], types[train]).mean())

    def _majority(self, labels: Labels) -> float:
        train, _, test = self.rows
        return float((labels[test] == np.bincount(labels[train]).argmax()).mean())

    def layer(self, vectors: NDArray[np.float32], sizes: Sequence[int]) -> list[tuple[Scale, FittedProbe]]:
        """Fit the probes of one layer.

        Args:
            vectors: (n, dim).
            sizes: further sizes of the training part.

        Returns:
            Scale and probe of each condition.
        """
        train, held, test = self.rows
        conditions = [("", self._labels, train)]
        if self.control is not None:
            conditions.append(("control task", self.control, train))
        conditions += [(f"{size} items", self._labels, np.sort(self._order[:size])) for size in sizes]
        right, all_fitted = [], []
        for name, labels, rows in conditions:
            x, x_held, x_test = (np.asarray(vectors[r], dtype=np.float64) for r in (rows, held, test))
            scale = Scale.of(x)
            fitted = fit(self._probe, scale.apply(x), labels[rows], scale.apply(x_held), labels[held], seed=self._seed)
            all_fitted.append((scale, fitted))
            if fitted.complaint:
                self.complaints.append((name, fitted.complaint))
            predicted = fitted.predict(scale.apply(x_test))
            right.append(predicted == labels[test])
            if not name:
                self.macro_f1.append(macro_f1(labels[test], predicted))
                self.chosen.append(fitted.chosen)
        self.right.append(np.stack(right))
        return all_fitted


def macro_f1(truth: Labels, predicted: Labels) -> float:
    """Return the mean of F1 over the labels that are true or predicted somewhere.

    >>> macro_f1(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])).__round__(4)
    0.7333
    """
    present = np.union1d(truth, predicted)
    both = np.array([((truth == label) & (predicted == label)).sum() for label in present])
    either = np.array([(truth == label).sum() + (predicted == label).sum() for label in present])
    return float((2 * both / either).mean())
