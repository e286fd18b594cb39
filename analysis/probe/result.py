"""What probes find in each layer: of one task, of all tasks of a model, and beside human judgments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bsx.analysis.probe.classifiers import Probe
from bsx.analysis.stats.layers import LayerAgreement
from bsx.support.result import Number, Result


@dataclass(frozen=True)
class LayerFigures:
    """What probes of one layer reach on some items.

    Attributes:
        layer: the layer, 0 for the embeddings.
        accuracy: over all seeds.
        low: lower end of its 95 % interval: bootstrap over groups of test items.
        high: upper end.
        control: accuracy of the same probe on random labels; see `bsx.analysis.probe.items.control_labels`. None
            without a control task, as the next three.
        selectivity: accuracy minus that on the control task.
        selectivity_low: lower end of its 95 % interval.
        selectivity_high: upper end.
    """

    layer: int
    accuracy: Number
    low: Number
    high: Number
    control: float | None
    selectivity: float | None
    selectivity_low: float | None
    selectivity_high: float | None


@dataclass(frozen=True)
class ProbedLayer(LayerFigures):
    """What probes of one layer reach in the test parts.

    Attributes:
        spread: standard deviation of the accuracy over seeds; None for one seed.
        macro_f1: mean over labels of F1, mean over seeds.
        by_seed: accuracy of each seed.
        chosen: what the validation part chose, for each seed: C of a logistic probe, epochs of an MLP.
    """

    spread: float | None
    macro_f1: Number
    by_seed: tuple[Number, ...]
    chosen: tuple[Number, ...]


@dataclass(frozen=True)
class Control:
    """The control task.

    Attributes:
        baseline: accuracy of always saying its most frequent training label, mean over seeds.
        types: number of distinct types.
        seen: share of test items whose type also stands in the training part: only these can be memorised.
    """

    baseline: Number
    types: int
    seen: Number


@dataclass(frozen=True)
class TrainSize:
    """Accuracy with fewer items to train on; the validation and test parts stay whole.

    Attributes:
        size: items in the training part; a smaller set is part of every larger one.
        accuracy: in the test parts of all seeds, for each layer.
        low: lower end of the 95 % interval, for each layer.
        high: upper end, for each layer.
    """

    size: int
    accuracy: tuple[Number, ...]
    low: tuple[Number, ...]
    high: tuple[Number, ...]


@dataclass(frozen=True)
class Transferred:
    """What the probes find in further items, as of another language.

    In the control task a type keeps its label across the data; a type that was not trained on has a random one, which
    nothing can tell.

    Attributes:
        name: what these are called.
        n: items tested in the first seed.
        baseline: accuracy of always saying the training part's most frequent label, mean over seeds.
        seen: share of items whose type stands in the training part; NaN without a control task.
        layers: figures of each layer.
    """

    name: str
    n: int
    baseline: Number
    seen: Number
    layers: tuple[LayerFigures, ...]


@dataclass(frozen=True, repr=False)
class ProbeResult(Result):
    """What a probe finds in each layer.

    Attributes:
        task: name of the task.
        probe: ``logistic`` or ``mlp``.
        n: items.
        train: items in the training part of the first seed.
        validation: in its validation part.
        test: in its test part.
        split: ``given`` if it came with the data; else each seed has drawn its own.
        labels: the task's labels, sorted.
        seeds: the seeds.
        baseline: accuracy of always saying the training part's most frequent label, mean over seeds.
        best_layer: the layer with the highest accuracy, the first such layer of equals.
        win_share: share of bootstrap resamples in which the best layer is the best.
        layers: figures of each layer.
        control: the control task, if types were given.
        curve: accuracy by size of the training part, rising; empty unless sizes were given.
        tested_on: how the probes do on further items.
        notes: what the reader should know: fits that did not converge, items on two sides of a given split, …
    """

    task: str
    probe: Probe
    n: int
    train: int
    validation: int
    test: int
    split: Literal["given", "drawn"]
    labels: tuple[str, ...]
    seeds: tuple[int, ...]
    baseline: Number
    best_layer: int
    win_share: Number
    layers: tuple[ProbedLayer, ...]
    control: Control | None
    curve: tuple[TrainSize, ...]
    tested_on: tuple[Transferred, ...] = ()


@dataclass(frozen=True, repr=False)
class ProbedModel(Result):
    """What the layers of a model know.

    Attributes:
        model: its name.
        probe: ``logistic`` or ``mlp``.
        tasks: a result a task.
        agreement: how the layers of the model, from 0, agree with human judgments, if there are any.
    """

    kind: ClassVar[str] = "probe"

    model: str
    probe: Probe
    tasks: tuple[ProbeResult, ...]
    agreement: LayerAgreement | None
