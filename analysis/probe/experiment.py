"""What does each layer know? Probes on frozen vectors, with control tasks, train-size curves, seeds and intervals.

Works on arrays: vectors of all layers from any encoder, and the label of each item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.probe.classifiers import FittedProbe, Probe, fit
from bsx.analysis.probe.items import (
    PARTS,
    Codes,
    ItemAccuracies,
    Labels,
    carve_validation,
    control_labels,
    given_parts,
    layer_figures,
    number_types,
    random_parts,
)
from bsx.analysis.probe.result import Control, LayerFigures, ProbedLayer, ProbeResult, TrainSize, Transferred
from bsx.errors import InputError
from bsx.support.optional import need
from bsx.support.progress import Watch, reporter


class ProbeRun:
    """The probes of one seed, layer after layer, under several conditions.

    The first condition is the task itself; then comes the control task, if there is one, then each smaller training
    set.

    Args:
        probe: which classifier.
        split: index into `bsx.analysis.probe.items.PARTS` of each item (n,).
        labels: label of each item (n,).
        types: number of each item's type (n,) for a control task.
        rng: random numbers.

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
        self.control = None if types is None else control_labels(types, labels, rng)
        self.majority = int(np.bincount(labels[train]).argmax())
        self.baseline = self._majority(labels)
        self.control_baseline = self.seen = float("nan")
        if types is not None and self.control is not None:
            self.control_baseline = self._majority(self.control)
            self.seen = float(np.isin(types[test], types[train]).mean())

    def _majority(self, labels: Labels) -> float:
        train, _, test = self.rows
        return float((labels[test] == np.bincount(labels[train]).argmax()).mean())

    def layer(self, vectors: NDArray[np.float32], sizes: Sequence[int]) -> list[FittedProbe]:
        """Fit the probes of one layer.

        Args:
            vectors: (n, dim).
            sizes: further sizes of the training part.

        Returns:
            The probe of each condition.
        """
        train, held, test = self.rows
        conditions = [("", self._labels, train)]
        if self.control is not None:
            conditions.append(("control task", self.control, train))
        conditions += [(f"{size} items", self._labels, np.sort(self._order[:size])) for size in sizes]
        right, all_fitted = [], []
        for name, labels, rows in conditions:
            x, x_held, x_test = (np.asarray(vectors[r], dtype=np.float64) for r in (rows, held, test))
            fitted = fit(self._probe, x, labels[rows], x_held, labels[held], seed=self._seed)
            all_fitted.append(fitted)
            if fitted.complaint:
                self.complaints.append((name, fitted.complaint))
            predicted = fitted.predict(x_test)
            right.append(predicted == labels[test])
            if not name:
                f1_score = need("sklearn.metrics", "probing").f1_score
                self.macro_f1.append(float(f1_score(labels[test], predicted, average="macro")))
                self.chosen.append(fitted.chosen)
        self.right.append(np.stack(right))
        return all_fitted


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
                f"vectors of shape {data.features.shape}, those trained on have {shape[0]} layers and "
                f"{shape[1]} dimensions",
                file=data.name,
            )
        columns = {"labels": data.labels, "groups": data.groups, "types": data.types if types is not None else None}
        _same_length(count, columns, data.name)
        if types is not None and data.types is None:
            raise InputError("there is a control task, so its items need types too", file=data.name)
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

    def layer(self, number: int, fitted: Sequence[FittedProbe]) -> None:
        """Test one layer's probes: that of the task, then that of the control task."""
        vectors = np.asarray(self.data.features[number][self._rows], dtype=np.float64)
        for truth, probe in zip(self._truths, fitted, strict=False):
            self._right.append(probe.predict(vectors) == truth)

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
            layers=tuple(LayerFigures(layer, *measured) for layer, measured in zip(layers, figures, strict=True)),
        )


def probe_layers(
    features: NDArray[np.float32],
    labels: Sequence[Hashable],
    *,
    groups: Sequence[Hashable] | None = None,
    parts: Sequence[str] | None = None,
    types: Sequence[Hashable] | None = None,
    probe: Probe = "logistic",
    train_sizes: Sequence[int] = (),
    seeds: Sequence[int] = (1, 2, 3),
    resamples: int = 1000,
    layers: Sequence[int] | None = None,
    task: str = "",
    test_data: Sequence[TestData] = (),
    progress: Watch = None,
) -> ProbeResult:
    """Fit a probe on each layer's frozen vectors and measure it on items it has not seen.

    For each seed and layer: vectors are standardised by the training part's mean and deviation, the probe is fitted on
    the training part, its regularisation chosen by the validation part (`bsx.analysis.probe.classifiers.fit`), and
    its accuracy measured in the test part, which plays no role in any of these choices.

    The interval is a percentile bootstrap over groups of test items, all seeds together: an item that several seeds
    test moves as one. It tells how far a figure depends on which items are tested; ``by_seed`` tells how far it
    depends on the split (unless it is given) and on the chance inside the probe.

    Sources: Conneau et al. 2018 (the tasks, and probes on frozen sentence vectors); Hewitt & Liang 2019 (control tasks
    and selectivity).

    Args:
        features: vectors of each layer (layers, n, dim); may be a memory map, of which one layer at a time is read.
        labels: label of each item (n,).
        groups: items of one group stay on one side of a split (n,), e.g. all copies of a sentence; each item is a
            group of its own unless given.
        parts: ``train``, ``validation`` or ``test`` for each item (n,), if the data comes with a split; without a
            validation part a quarter of the training part becomes it. Else each seed draws a split.
        types: type of each item (n,) for the control task; none is run unless given.
        probe: ``logistic`` or ``mlp``.
        train_sizes: further sizes of the training part to measure.
        seeds: each draws its split, control labels and whatever chance the probe has.
        resamples: bootstrap resamples.
        layers: numbers of the layers in ``features``; from 0 unless given.
        task: a name.
        test_data: further items, as of other languages, to test the same probes on.
        progress: called with the task's name, layers done and layers in all, of all seeds; True draws bars.

    Raises:
        InputError: if shapes differ, vectors are not finite, there is only one label, or a part is empty.
    """
    progress = reporter(progress)
    names, y = np.unique([str(label) for label in labels], return_inverse=True)
    numbers = tuple(range(len(features))) if layers is None else tuple(layers)
    _check(features, names, numbers, {"labels": labels, "groups": groups, "parts": parts, "types": types})
    if not seeds or len(set(seeds)) < len(seeds) or min(train_sizes, default=1) < 1:
        raise InputError("there must be at least one seed, no seed twice, and no training part of less than one item")
    group = np.arange(len(y)) if groups is None else number_types(groups)
    kinds = None if types is None else number_types(types)
    given = None if parts is None else given_parts(parts)
    further = [TransferTest(data, features.shape[::2], names.tolist(), groups, types) for data in test_data]
    runs, notes = [], []
    if given is not None:
        test = group[given == PARTS.index("test")]
        if known := int(np.isin(test, group[given != PARTS.index("test")]).sum()):
            notes.append(f"{known} of {len(test)} test items of the given split also stand outside the test part")
    if kinds is not None and not kinds.any():
        notes.append("control task: every item has the same type, so there is only one label to remember")
    sizes: list[int] = []
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        split = random_parts(group, rng) if given is None else carve_validation(given, group, rng)
        run = ProbeRun(probe, split, y, kinds, rng)
        if place == 0:
            room = len(run.rows[0])
            sizes = sorted({size for size in train_sizes if size < room})
            notes += [f"no curve at {size}: {room} items to train on" for size in train_sizes if size >= room]
        for transfer in further:
            transfer.start(run, group, kinds, seed)
        for layer, vectors in enumerate(features):
            fitted = run.layer(vectors, sizes)
            for transfer in further:
                transfer.layer(layer, fitted)
            if progress is not None:
                progress(task or "probing", place * len(features) + layer + 1, len(seeds) * len(features))
        for transfer in further:
            transfer.finish()
        runs.append(run)

    counts = [len(rows) for rows in runs[0].rows]
    shape = (len(runs[0].right[0]), len(numbers))  # conditions, layers
    items = ItemAccuracies(group, shape[0] * shape[1])
    for run in runs:
        items.add(run.rows[2], np.stack(run.right, axis=1).reshape(shape[0] * shape[1], -1))
    draws = items.draws(resamples, np.random.default_rng(seeds[0])).reshape(-1, *shape)
    pooled = items.accuracy().reshape(shape)
    complaints = Counter(pair for run in runs for pair in run.complaints)
    notes += [note for transfer in further for note in transfer.notes]
    notes += [
        f"{name or 'task'}: {complaint} in {times} of {len(runs) * len(numbers)} fits"
        for (name, complaint), times in complaints.items()
    ]
    by_seed = np.array([[right[0].mean() for right in run.right] for run in runs]).T
    spread = by_seed.std(axis=1, ddof=1).tolist() if len(runs) > 1 else [None] * len(numbers)
    f1 = np.mean([run.macro_f1 for run in runs], axis=0).tolist()
    chosen = np.array([run.chosen for run in runs]).T.tolist()
    figures = layer_figures(pooled, draws, control=kinds is not None)
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    order = np.argsort(-pooled[0], kind="stable")
    return ProbeResult(
        task=task,
        probe=probe,
        n=len(y),
        train=counts[0],
        validation=counts[1],
        test=counts[2],
        split="drawn" if given is None else "given",
        labels=tuple(names.tolist()),
        seeds=tuple(seeds),
        baseline=float(np.mean([run.baseline for run in runs])),
        best_layer=numbers[order[0]],
        win_share=float((draws[:, 0].argmax(axis=1) == order[0]).mean()),
        layers=tuple(
            ProbedLayer(layer, *figures[i], spread[i], f1[i], tuple(by_seed[i].tolist()), tuple(chosen[i]))
            for i, layer in enumerate(numbers)
        ),
        control=None
        if kinds is None
        else Control(
            baseline=float(np.mean([run.control_baseline for run in runs])),
            types=int(kinds.max()) + 1,
            seen=float(np.mean([run.seen for run in runs])),
        ),
        curve=tuple(
            TrainSize(size, tuple(pooled[k].tolist()), tuple(low[k].tolist()), tuple(high[k].tolist()))
            for k, size in enumerate(sizes, start=2 if kinds is not None else 1)  # behind task and control task
        ),
        tested_on=tuple(transfer.result(numbers, resamples, np.random.default_rng(seeds[0])) for transfer in further),
        notes=tuple(notes),
    )


def _same_length(count: int, columns: Mapping[str, Sized | None], file: str | None = None) -> None:
    for what, values in columns.items():
        if values is not None and len(values) != count:
            raise InputError(f"{count} vectors, {len(values)} {what}: numbers must match", file=file)


def _check(
    features: NDArray[np.float32], names: Sized, layers: tuple[int, ...], columns: dict[str, Sized | None]
) -> None:
    if features.ndim != 3:
        raise InputError(f"vectors must be an array (layers, items, dim), not of shape {features.shape}")
    _same_length(features.shape[1], columns)
    if len(layers) != len(features) or not layers:
        raise InputError(f"vectors of {len(features)} layers, {len(layers)} layer numbers: numbers must match")
    if len(names) < 2:
        raise InputError("there must be at least two different labels")
    for number, vectors in zip(layers, features, strict=True):
        if not np.isfinite(vectors).all():
            raise InputError(f"layer {number}: vectors must be finite numbers")
