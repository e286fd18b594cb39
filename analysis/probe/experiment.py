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
from bsx.analysis.probe.items import PARTS, Codes, Labels, carve_validation, control_labels, layer_figures, random_parts
from bsx.analysis.probe.result import Control, LayerFigures, ProbedLayer, ProbeResult, TrainSize, Transferred
from bsx.analysis.stats.resample import Seed, bootstrap_counts, cluster_codes
from bsx.analysis.stats.validate import several_units
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.progress import Watch, reporter


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


class _Seed:
    """The parts of one seed, and what is learnt in them.

    The first condition is the task itself; then comes the control task, if there is one, then each smaller training
    set. An item has an index into `PARTS`, a label and, for a control task, the number of its type, (n,) each.
    """

    def __init__(self, split: Codes, labels: Labels, types: Labels | None, rng: np.random.Generator) -> None:
        self.parts = [np.flatnonzero(split == code) for code in range(len(PARTS))]
        for name, rows in zip(PARTS, self.parts, strict=True):
            if not len(rows):
                raise InputError(f"the {name} part is empty: there must be items, in several groups, for each part")
        self.train, self.validation, self.test = self.parts
        if len(np.unique(labels[self.train])) < 2:
            raise InputError("all items of the training part have the same label: there is nothing to learn")
        # Smaller training sets are the starts of one random order: each is part of every larger one.
        self.order = rng.permutation(self.train)
        self.chance = int(rng.integers(2**31))
        self.truths = [labels] if types is None else [labels, control_labels(types, labels, rng)]
        self.majorities = [int(np.bincount(truth[self.train]).argmax()) for truth in self.truths]

    def fit(self, probe: Probe, vectors: NDArray[np.float32], sizes: Sequence[int]) -> list[FittedProbe]:
        """Fit a probe under each condition: ``vectors`` are those of a layer (n, dim), ``sizes`` of training sets."""
        conditions = [(truth, self.train) for truth in self.truths]
        conditions += [(self.truths[0], np.sort(self.order[:size])) for size in sizes]
        others, fitted = np.asarray(vectors[self.validation], dtype=np.float64), []
        for truth, rows in conditions:
            x = np.asarray(vectors[rows], dtype=np.float64)
            fitted.append(fit(probe, x, truth[rows], others, truth[self.validation], seed=self.chance))
        return fitted


class Evaluated:
    """Items that the probes of all seeds are tested on, and how many of each group are predicted rightly.

    Items of one group are drawn together, and so are the results of one item in all seeds and conditions: neither
    copies of an item nor further seeds pass for independent evidence, and differences between conditions are paired.

    Args:
        features: vectors of each layer (layers, n, dim).
        groups: number of the group of each item (n,).
        conditions: how many there are.

    Attributes:
        counts: items tested in each seed.
        baselines: accuracy of always saying the training part's most frequent label, in each seed.
        seen: share of items whose type stands in the training part, in each seed; empty without a control task.
    """

    def __init__(self, features: NDArray[np.float32], groups: Labels, conditions: int) -> None:
        self._features, self._of = features, groups
        self._tested = np.zeros(int(groups.max()) + 1)
        self._right = np.zeros((conditions, len(features), len(self._tested)))
        self.counts: list[int] = []
        self.baselines: list[float] = []
        self.seen: list[float] = []

    def start(self, rows: Labels, truths: Sequence[Labels], majority: int) -> None:
        """Begin a seed: choose the items to test (m,), and their labels under each condition (m,)."""
        self._rows, self._truths = rows, truths
        self._tested += np.bincount(self._of[rows], minlength=len(self._tested))
        self.counts.append(len(rows))
        self.baselines.append(float((truths[0] == majority).mean()))

    def layer(self, number: int, probes: Sequence[FittedProbe]) -> Labels:
        """Test the probes of a layer, one a condition; return what that of the task predicts (m,)."""
        vectors = np.asarray(self._features[number][self._rows], dtype=np.float64)
        predicted = [probe.predict(vectors) for probe in probes[: len(self._truths)]]
        for place, (labels, truth) in enumerate(zip(predicted, self._truths, strict=True)):
            self._right[place, number] += np.bincount(self._of[self._rows], labels == truth, len(self._tested))
        return predicted[0]

    def accuracies(self, resamples: int, seed: Seed) -> tuple[Array, Array]:
        """Return the accuracies of all seeds (conditions, layers), and their bootstrap draws (resamples, …)."""
        present = np.flatnonzero(self._tested)
        several_units(len(present), "probe", "items that were tested", "group")
        right, tested = self._right[..., present], self._tested[present]
        drawn = bootstrap_counts(resamples, len(present), seed)
        # (conditions, layers, resamples), the resamples of which then come first.
        draws = [(right @ times.T / (times @ tested)).transpose(2, 0, 1) for times in drawn]
        return right.sum(axis=2) / tested.sum(), np.concatenate(draws)


class _Further(Evaluated):
    """Further items, whose numbers of vectors, labels, groups and types are checked.

    Of the items that are trained on there are layers and dimensions, the sorted labels of the task, groups, None if
    each item is its own, and types, None without a control task.
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
        self.name, place = data.name, {name: number for number, name in enumerate(names)}
        self._labels = np.array([place.get(str(label), -1) for label in data.labels], dtype=np.int64)
        self.notes: list[str] = []
        if unknown := int((self._labels < 0).sum()):
            self.notes.append(f"{data.name}: {unknown} items have a label that is not trained on: always wrong")
        self._groups, units = None, np.arange(count)
        if data.groups is not None:
            trained = [] if groups is None else list(groups)
            numbers = cluster_codes([*trained, *data.groups])[len(trained) :]
            units = np.unique(numbers, return_inverse=True)[1]
            # Without groups, the items that are trained on count 0, 1, …, and no further item belongs to them.
            self._groups = None if groups is None else numbers
        self._types = None if types is None else cluster_codes([*types, *(data.types or ())])[len(types) :]
        super().__init__(data.features, units, 1 if types is None else 2)

    def start_seed(self, trained: _Seed, groups: Labels, types: Labels | None, seed: int) -> None:
        """Begin a seed: choose what is tested and draw control labels.

        ``groups`` and ``types`` are numbers of those of the items that are trained on (n,).
        """
        free = np.ones(len(self._labels), dtype=bool)
        if self._groups is not None:
            free = ~np.isin(self._groups, groups[np.concatenate([trained.train, trained.validation])])
        rows = np.flatnonzero(free)
        if not len(rows):
            raise InputError(f"{self.name}: the probe was trained on the groups of all its items: nothing to test")
        truths = [self._labels[rows]]
        if self._types is not None and types is not None:
            control = trained.truths[1]
            drawn = np.random.default_rng([seed, len(self._labels)]).choice(
                control, size=max(int(self._types.max()), int(types.max())) + 1
            )
            drawn[types] = control
            truths.append(drawn[self._types[rows]])
            self.seen.append(float(np.isin(self._types[rows], types[trained.train]).mean()))
        self.start(rows, truths, trained.majorities[0])

    def result(self, layers: Sequence[int], resamples: int, seed: int) -> Transferred:
        """Return the figures of all seeds; ``layers`` are their numbers."""
        figures = layer_figures(*self.accuracies(resamples, seed), control=self._types is not None)
        return Transferred(
            name=self.name,
            n=self.counts[0],
            baseline=float(np.mean(self.baselines)),
            seen=float(np.mean(self.seen)) if self.seen else float("nan"),
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
    group = np.arange(len(y)) if groups is None else cluster_codes(groups)
    kinds = None if types is None else cluster_codes(types)
    given, notes = None, list[str]()
    if parts is not None:
        if unknown := sorted(set(parts) - set(PARTS)):
            raise InputError(f"the part {unknown[0]!r} of an item is not one of {', '.join(PARTS)}")
        given = np.array([PARTS.index(part) for part in parts], dtype=np.int8)
        test = group[given == PARTS.index("test")]
        if known := int(np.isin(test, group[given != PARTS.index("test")]).sum()):
            notes.append(f"{known} of {len(test)} test items of the given split also stand outside the test part")
    further = [_Further(data, features.shape[::2], names.tolist(), groups, types) for data in test_data]
    if kinds is not None and not kinds.any():
        notes.append("control task: every item has the same type, so there is only one label to remember")
    counts, sizes, conditions = [0, 0, 0], list[int](), ["task", *(["control task"] if kinds is not None else [])]
    by_seed, macro_f1 = np.empty((2, len(seeds), len(numbers)))
    chosen: list[list[float]] = [[] for _ in numbers]
    control_baselines: list[float] = []
    complaints, fits = Counter[tuple[str, str]](), len(seeds) * len(features)
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        split = random_parts(group, rng) if given is None else carve_validation(given, group, rng)
        trained = _Seed(split, y, kinds, rng)
        if place == 0:
            counts = [len(rows) for rows in trained.parts]
            sizes = sorted({size for size in train_sizes if size < counts[0]})
            notes += [f"no curve at {size}: {counts[0]} items to train on" for size in train_sizes if size >= counts[0]]
            conditions += [f"{size} items" for size in sizes]
            tested = Evaluated(features, group, len(conditions))
        truths = [truth[trained.test] for truth in trained.truths] + [y[trained.test]] * len(sizes)
        tested.start(trained.test, truths, trained.majorities[0])
        if kinds is not None:
            control_baselines.append(float((truths[1] == trained.majorities[1]).mean()))
            tested.seen.append(float(np.isin(kinds[trained.test], kinds[trained.train]).mean()))
        for items in further:
            items.start_seed(trained, group, kinds, seed)
        f1_score = need("sklearn.metrics", "probing").f1_score
        for layer, vectors in enumerate(features):
            probes = trained.fit(probe, vectors, sizes)
            predicted = tested.layer(layer, probes)
            for items in further:
                items.layer(layer, probes)
            complaints.update(
                (name, fitted.complaint) for name, fitted in zip(conditions, probes, strict=True) if fitted.complaint
            )
            by_seed[place, layer] = (predicted == truths[0]).mean()
            macro_f1[place, layer] = f1_score(truths[0], predicted, average="macro")
            chosen[layer].append(probes[0].chosen)
            if progress is not None:
                progress(task or "probing", place * len(features) + layer + 1, fits)
    pooled, draws = tested.accuracies(resamples, seeds[0])
    notes += [note for items in further for note in items.notes]
    notes += [f"{name}: {why} in {times} of {fits} fits" for (name, why), times in complaints.items()]
    of_layer, f1 = by_seed.T, macro_f1.mean(axis=0).tolist()
    spread = of_layer.std(axis=1, ddof=1).tolist() if len(seeds) > 1 else [None] * len(numbers)
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
        baseline=float(np.mean(tested.baselines)),
        best_layer=numbers[order[0]],
        win_share=float((draws[:, 0].argmax(axis=1) == order[0]).mean()),
        layers=tuple(
            ProbedLayer(layer, *figures[i], spread[i], f1[i], tuple(of_layer[i].tolist()), tuple(chosen[i]))
            for i, layer in enumerate(numbers)
        ),
        control=None
        if kinds is None
        else Control(float(np.mean(control_baselines)), int(kinds.max()) + 1, float(np.mean(tested.seen))),
        curve=tuple(
            TrainSize(size, tuple(pooled[k].tolist()), tuple(low[k].tolist()), tuple(high[k].tolist()))
            for k, size in enumerate(sizes, start=len(conditions) - len(sizes))
        ),
        tested_on=tuple(items.result(numbers, resamples, seeds[0]) for items in further),
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
