"""What does each layer know? Probes on frozen vectors, with control tasks, train-size curves, seeds and intervals.

Works on arrays: vectors of all layers from any encoder, and the label of each item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Sized

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.probing.bootstrap import ItemAccuracies, layer_figures
from bsx.analysis.probing.classifiers import Probe
from bsx.analysis.probing.control import Draw, number_types
from bsx.analysis.probing.result import Control, ProbedLayer, ProbeResult, TrainSize
from bsx.analysis.probing.run import ProbeRun
from bsx.analysis.probing.split import PARTS, SHARES, Codes, carve_validation, given_parts, random_parts
from bsx.analysis.probing.transfer import TestData, TransferTest
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.progress import Watch, told

Labels = NDArray[np.int64]


def probe_layers(
    features: NDArray[np.float32],
    labels: Sequence[Hashable],
    *,
    groups: Sequence[Hashable] | None = None,
    parts: Sequence[str] | None = None,
    types: Sequence[Hashable] | None = None,
    control: Draw = "balanced",
    probe: Probe = "logistic",
    train_sizes: Sequence[int] = (),
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = (1, 2, 3),
    resamples: int = 1000,
    layers: Sequence[int] | None = None,
    task: str = "",
    test_data: Sequence[TestData] = (),
    progress: Watch = None,
) -> ProbeResult:
    """Fit a probe on each layer's frozen vectors and measure it on items it has not seen.

    For each seed and layer: vectors are standardised by the training part's mean and deviation, the probe is fitted on
    the training part, its regularisation chosen by the validation part (`bsx.analysis.probing.classifiers.fit`), and
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
        control: how control labels are drawn; see `bsx.analysis.probing.control.control_labels`.
        probe: ``logistic`` or ``mlp``.
        train_sizes: further sizes of the training part to measure.
        shares: of training, validation and test part in a split that is drawn.
        seeds: each draws its split, control labels and whatever chance the probe has.
        resamples: bootstrap resamples.
        layers: numbers of the layers in ``features``; from 0 unless given.
        task: a name.
        test_data: further items, as of other languages, to test the same probes on.
        progress: called with the task's name, layers done and layers in all, of all seeds; True draws bars.

    Raises:
        InputError: if shapes differ, vectors are not finite, there is only one label, or a part is empty.
    """
    progress = told(progress)
    names, y = np.unique([str(label) for label in labels], return_inverse=True)
    numbers = tuple(range(len(features))) if layers is None else tuple(layers)
    _check(features, names, numbers, {"labels": labels, "groups": groups, "parts": parts, "types": types})
    if not seeds or len(set(seeds)) < len(seeds) or min(train_sizes, default=1) < 1:
        raise InputError("there must be at least one seed, no seed twice, and no training part of less than one item")
    group = np.arange(len(y)) if groups is None else number_types(groups)
    kinds = None if types is None else number_types(types)
    given = None if parts is None else given_parts(parts)
    further = [TransferTest(one, features.shape[::2], names.tolist(), groups, types) for one in test_data]
    runs, notes = [], [] if given is None else _overlap(given, group)
    if kinds is not None and not kinds.any():
        notes.append("control task: every item has the same type, so there is only one label to remember")
    sizes: list[int] = []
    for place, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        split = random_parts(group, rng, shares) if given is None else carve_validation(given, group, rng)
        run = ProbeRun(probe, split, y, kinds, rng, control)
        if place == 0:
            room = len(run.rows[0])
            sizes = sorted({size for size in train_sizes if size < room})
            notes += [f"no curve at {size}: {room} items to train on" for size in train_sizes if size >= room]
        for one in further:
            one.start(run, group, kinds, seed)
        for layer, vectors in enumerate(features):
            fitted = run.layer(vectors, sizes)
            for one in further:
                one.layer(layer, fitted)
            if progress is not None:
                progress(task or "probing", place * len(features) + layer + 1, len(seeds) * len(features))
        for one in further:
            one.finish()
        runs.append(run)

    first = 2 if kinds is not None else 1  # condition of the first smaller training set
    counts = [len(rows) for rows in runs[0].rows]
    pooled, draws = _pool(runs, group, resamples, np.random.default_rng(seeds[0]))
    by_seed = np.array([[right.mean(axis=1) for right in run.right] for run in runs]).transpose(2, 1, 0)
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
        runner_up=numbers[order[min(1, len(order) - 1)]],
        win_share=float((draws[:, 0].argmax(axis=1) == order[0]).mean()),
        layers=_layers(runs, numbers, pooled, draws, by_seed[0]),
        control=None if kinds is None else _control(runs, kinds),
        curve=_curve(sizes, pooled[first:], draws[:, first:], by_seed[first:]),
        tested_on=tuple(one.result(numbers, resamples, np.random.default_rng(seeds[0])) for one in further),
        notes=(*notes, *(note for one in further for note in one.notes), *_complaints(runs)),
    )


def _layers(
    runs: Sequence[ProbeRun], numbers: Sequence[int], pooled: Array, draws: Array, by_seed: Array
) -> tuple[ProbedLayer, ...]:
    figures = layer_figures(pooled, draws, control=runs[0].control is not None)
    spread = by_seed.std(axis=1, ddof=1).tolist() if len(runs) > 1 else [None] * len(numbers)
    macro_f1 = np.mean([run.macro_f1 for run in runs], axis=0).tolist()
    chosen = np.array([run.chosen for run in runs]).T.tolist()
    return tuple(
        ProbedLayer(layer, *figures[i], spread[i], macro_f1[i], tuple(by_seed[i].tolist()), tuple(chosen[i]))
        for i, layer in enumerate(numbers)
    )


def _curve(sizes: Sequence[int], pooled: Array, draws: Array, by_seed: Array) -> tuple[TrainSize, ...]:
    if not sizes:
        return ()
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    return tuple(
        TrainSize(
            size,
            tuple(pooled[place].tolist()),
            tuple(low[place].tolist()),
            tuple(high[place].tolist()),
            tuple(map(tuple, by_seed[place].tolist())),
        )
        for place, size in enumerate(sizes)
    )


def _check(
    features: NDArray[np.float32], names: Sized, layers: tuple[int, ...], columns: dict[str, Sized | None]
) -> None:
    if features.ndim != 3:
        raise InputError(f"vectors must be an array (layers, items, dim), not of shape {features.shape}")
    for what, values in columns.items():
        if values is not None and len(values) != features.shape[1]:
            raise InputError(f"{features.shape[1]} vectors, {len(values)} {what}: numbers must match")
    if len(layers) != len(features) or not layers:
        raise InputError(f"vectors of {len(features)} layers, {len(layers)} layer numbers: numbers must match")
    if len(names) < 2:
        raise InputError("there must be at least two different labels")
    for number, vectors in zip(layers, features, strict=True):
        if not np.isfinite(vectors).all():
            raise InputError(f"layer {number}: vectors must be finite numbers")


def _overlap(given: Codes, group: Labels) -> list[str]:
    """Say how many test items have a copy that is trained on."""
    test = group[given == PARTS.index("test")]
    known = int(np.isin(test, group[given != PARTS.index("test")]).sum())
    return [f"{known} of {len(test)} test items of the given split also stand outside the test part"] if known else []


def _pool(runs: Sequence[ProbeRun], group: Labels, resamples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return accuracies (conditions, layers) and their bootstrap draws (resamples, conditions, layers)."""
    layers, conditions = len(runs[0].right), len(runs[0].right[0])
    items = ItemAccuracies(group, conditions * layers)
    for run in runs:
        items.add(run.rows[2], np.stack(run.right, axis=1).reshape(conditions * layers, -1))
    draws = items.draws(resamples, rng)
    return items.accuracy().reshape(conditions, layers), draws.reshape(-1, conditions, layers)


def _control(runs: Sequence[ProbeRun], types: Labels) -> Control:
    return Control(
        baseline=float(np.mean([run.control_baseline for run in runs])),
        types=int(types.max()) + 1,
        seen=float(np.mean([run.seen for run in runs])),
    )


def _complaints(runs: Sequence[ProbeRun]) -> list[str]:
    layers = len(runs[0].right)
    found = Counter(pair for run in runs for pair in run.complaints)
    return [
        f"{name or 'task'}: {complaint} in {times} of {len(runs) * layers} fits"
        for (name, complaint), times in found.items()
    ]
