"""What training a metric came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bsx.support.result import Number, Result


@dataclass(frozen=True, repr=False)
class TrainedMetric(Result):
    """A trained metric: its folder, and what `bsx.networks.record.ModelRecord` says of it, as JSON has it."""

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
