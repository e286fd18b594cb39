"""What training a metric came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bsx.support.result import Number, Result


@dataclass(frozen=True, repr=False)
class TrainedMetric(Result):
    """A trained metric: what its folder says of it (`bsx.train.record.ModelRecord`), as JSON has it.

    Attributes:
        output: the folder.
        architecture: which network.
        encoder: the frozen encoder.
        train: training data.
        valid: validation data.
        scale: standard deviation of the training scores.
        shift: their mean.
        low: what an empty text scores.
        ensemble_valid: Pearson's r of the mean of all networks on the validation data.
        members: the networks, each with the ``log`` of its epochs.
        rows: sha256 of the file with digests of the rows of both; None if they were not kept.
    """

    kind: ClassVar[str] = "train"

    output: str
    architecture: str
    encoder: dict[str, Any]
    train: dict[str, Any]
    valid: dict[str, Any]
    scale: float
    shift: float
    low: float
    ensemble_valid: Number
    members: tuple[dict[str, Any], ...]
    rows: str | None
