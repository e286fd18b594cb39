"""The layer of a model of which nobody validated one: a share of its depth, by kind of model."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from bsx.catalog.entries import Entry, Listed
from bsx.catalog.entries.models import FamilyKind


class Loss(Entry):
    """What the rule costs: median and 90 % quantile."""

    median: Annotated[float, Field(ge=0)]
    most: Annotated[float, Field(ge=0)]


class DepthRule(Listed):
    """The layer of one kind of model, as a share of its depth, learnt from ``models`` models with a validated layer.

    ``error`` is in layers, of models left out with their whole family. ``lost`` is Pearson's r against the best layer
    of each of ``sweeps`` measurements of all layers; null where there are none.
    """

    file: ClassVar[str] = "depths.yaml"
    what: ClassVar[str] = "depth rules"
    key: ClassVar[str] = "kind"
    kind: FamilyKind
    share: Annotated[float, Field(gt=0, le=1)]
    models: Annotated[int, Field(ge=0)]
    error: Loss | None = None
    lost: Loss | None = None
    sweeps: Annotated[int, Field(ge=0)] = 0
    source: str

    def layer(self, depth: int) -> int:
        """Return the layer of a model with so many."""
        return int(self.share * depth + 0.5)

    @property
    def note(self) -> str:
        """What a signature says of it."""
        return f"layer by rule: {self.share:.2f} of the depth ({self.kind})"

    def worth(self, depth: int) -> str:
        """Return what the layer of a model with so many comes from, and what that costs."""
        text = f"nobody validated a layer; {self.layer(depth)} of {depth} is by rule, {self.share:.2f} of the depth"
        if self.error is None:
            text += f", and of no {self.kind} it was measured what that costs"
        else:
            text += f": of {self.models} models left out ({self.kind}), half have their best layer within "
            text += f"{self.error.median:g} of it and nine in ten within {self.error.most:g}"
        if self.lost is not None:
            text += f"; in {self.sweeps} measurements of all layers it loses {self.lost.median:.3f} of r (median), in "
            text += f"nine of ten at most {self.lost.most:.3f}"
        return f"{text}. `bsx registry tune` measures the layers, and layer chooses one"
