"""Probes tested on further items that they were not trained on, as in another language."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.probing.bootstrap import ItemAccuracies, layer_figures
from bsx.analysis.probing.classifiers import FittedProbe, Scale
from bsx.analysis.probing.control import number_types
from bsx.analysis.probing.result import LayerFigures, Transferred
from bsx.analysis.probing.run import ProbeRun
from bsx.errors import InputError

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TestData:
    """Further items to test probes on.

    Attributes:
        name: what they are called.
        features: vectors of the same layers as those trained on (layers, m, dim).
        labels: label of each item (m,).
        groups: what belongs together (m,); an item is not tested if the probe was trained or tuned on its group, such
            as the sentence that it translates. Each item is a group of its own unless given.
        types: type of each item (m,) for the control task.
    """

    __test__ = False  # no test, whatever pytest thinks of the name

    name: str
    features: NDArray[np.float32]
    labels: Sequence[Hashable]
    groups: Sequence[Hashable] | None = None
    types: Sequence[Hashable] | None = None


class TransferTest:
    """The probes of all seeds on one set of further items.

    Args:
        data: the items.
        shape: layers and dimensions of the vectors that the probes are trained on.
        names: the task's labels, sorted.
        groups: groups of the items that are trained on, or None if each is its own.
        types: types of the items that are trained on, or None without a control task.

    Raises:
        InputError: if the numbers of vectors, labels, groups and types differ, or layers or dimensions do.
    """

    def __init__(
        self,
        data: TestData,
        shape: tuple[int, int],
        names: Sequence[str],
        groups: Sequence[Hashable] | None,
        types: Sequence[Hashable] | None,
    ) -> None:
        layers, count, dimensions = data.features.shape if data.features.ndim == 3 else (0, 0, 0)
        if (layers, dimensions) != shape:
            raise InputError(
                f"{data.name}: vectors of shape {data.features.shape}, those trained on have {shape[0]} layers and "
                f"{shape[1]} dimensions"
            )
        columns = {"labels": data.labels, "groups": data.groups, "types": data.types if types is not None else None}
        for what, values in columns.items():
            if values is not None and len(values) != count:
                raise InputError(f"{data.name}: {count} vectors, {len(values)} {what}: numbers must match")
        if types is not None and data.types is None:
            raise InputError(f"{data.name}: there is a control task, so its items need types too")
        self.data = data
        place = {name: number for number, name in enumerate(names)}
        self._labels = np.array([place.get(str(label), -1) for label in data.labels], dtype=np.int64)
        self.notes: list[str] = []
        if (self._labels < 0).any():
            self.notes.append(
                f"{data.name}: {int((self._labels < 0).sum())} items have a label that is not trained on: always wrong"
            )
        trained = list(groups) if groups is not None else []
        own: Sequence[Hashable] = data.groups if data.groups is not None else [(None, row) for row in range(count)]
        numbers = number_types([*trained, *own])
        # Without groups, the items that are trained on count 0, 1, …, and no further item belongs to them.
        self._groups = numbers[len(trained) :] if data.groups is not None and groups is not None else None
        self._units = np.unique(numbers[len(trained) :], return_inverse=True)[1]
        self._types = None if types is None else number_types([*types, *(data.types or ())])[len(types) :]
        self._layers = layers
        self._conditions = 1 if types is None else 2
        self._pooled = ItemAccuracies(self._units, self._conditions * layers)
        self._baselines: list[float] = []
        self._seen: list[float] = []
        self._counts: list[int] = []

    def start(self, run: ProbeRun, group: Labels, types: Labels | None, seed: int) -> None:
        """Begin a seed: choose what is tested and draw control labels.

        Args:
            run: the seed's probes.
            group: number of the group of each item that is trained on (n,).
            types: number of the type of each item that is trained on (n,).
            seed: the seed.
        """
        train, held, _ = run.rows
        free = np.ones(len(self._labels), dtype=bool)
        if self._groups is not None:
            free = ~np.isin(self._groups, group[np.concatenate([train, held])])
        self._rows = np.flatnonzero(free)
        if not len(self._rows):
            raise InputError(f"{self.data.name}: the probe was trained on the groups of all its items: nothing to test")
        truths = [self._labels[self._rows]]
        self._counts.append(len(self._rows))
        self._baselines.append(float((truths[0] == run.majority).mean()))
        if self._types is not None and types is not None and run.control is not None:
            rng = np.random.default_rng([seed, len(self._labels)])
            drawn = rng.choice(run.control, size=max(int(self._types.max()), int(types.max())) + 1)
            drawn[types] = run.control
            truths.append(drawn[self._types[self._rows]])
            self._seen.append(float(np.isin(self._types[self._rows], types[train]).mean()))
        self._truths = truths
        self._right: list[NDArray[np.bool_]] = []

    def layer(self, number: int, fitted: Sequence[tuple[Scale, FittedProbe]]) -> None:
        """Test one layer's probes: that of the task, then that of the control task."""
        vectors = np.asarray(self.data.features[number][self._rows], dtype=np.float64)
        for truth, (scale, probe) in zip(self._truths, fitted, strict=False):
            self._right.append(probe.predict(scale.apply(vectors)) == truth)

    def finish(self) -> None:
        """End a seed."""
        self._pooled.add(self._rows, np.stack(self._right))

    def result(self, layers: Sequence[int], resamples: int, rng: np.random.Generator) -> Transferred:
        """Return the figures of all seeds; ``layers`` are their numbers."""
        shape = (self._layers, self._conditions)
        pooled = self._pooled.accuracy().reshape(shape).T
        draws = self._pooled.draws(resamples, rng).reshape(-1, *shape).transpose(0, 2, 1)
        figures = layer_figures(pooled, draws, control=self._conditions == 2)
        return Transferred(
            name=self.data.name,
            n=self._counts[0],
            baseline=float(np.mean(self._baselines)),
            seen=float(np.mean(self._seen)) if self._seen else float("nan"),
            layers=tuple(LayerFigures(layer, *one) for layer, one in zip(layers, figures, strict=True)),
        )
