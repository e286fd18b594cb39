"""Any metric as a ``torchmetrics.Metric``: update, compute, reset, reduction over processes, bootstrapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from bsx.compat.corpus import CorpusMetric
from bsx.encode.session import Encoders
from bsx.errors import MissingExtraError
from bsx.support.untyped import Untyped

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat
except ModuleNotFoundError:  # `__getattr__` says so when the class is asked for
    Metric = None  # type: ignore[assignment, misc, unused-ignore]

if Metric is not None:

    class TorchMetric(Metric):  # type: ignore[misc, unused-ignore]
        """A metric of the zoo as a ``torchmetrics.Metric``.

        The state is one row a segment, its score or what corpus scores are counted from, so that the result over all
        batches and processes is the metric's own score of the whole corpus. The encoder is no part of the module: it
        runs where ``device`` says, and copies share it.

        Args:
            metric: its name, or ``name:field=value,…``.
            model: the model of a metric that needs one.
            lang: the language of the texts.
            encoders: instead of these two, encoders to share.
            kwargs: of ``torchmetrics.Metric``.
        """

        is_differentiable = False
        full_state_update = False
        rows: list[torch.Tensor]

        def __init__(
            self,
            metric: str = "bertscore",
            *,
            model: str | None = None,
            lang: str | None = None,
            encoders: Encoders | None = None,
            **kwargs: Untyped,
        ) -> None:
            super().__init__(**kwargs)
            self.engine = CorpusMetric(metric, model=model, lang=lang, encoders=encoders)
            self.add_state("rows", default=[], dist_reduce_fx="cat")

        @property
        def higher_is_better(self) -> bool:  # type: ignore[override]  # fixed there as well: it cannot be set
            """Whether the higher of two scores is the better one."""
            return self.engine.metric.higher_is_better

        def score_rows(
            self, candidates: Sequence[str], references: object | None = None, sources: object | None = None
        ) -> torch.Tensor:
            """Return one row a segment (n, k), which `update` takes in place of texts.

            ``torchmetrics.wrappers.BootStrapper`` resamples tensors only: give it these.
            """
            return torch.from_numpy(self.engine.rows(candidates, references, sources))

        def update(
            self,
            candidates: Sequence[str] | torch.Tensor,
            references: object | None = None,
            sources: object | None = None,
        ) -> None:
            """Add a batch.

            Args:
                candidates: n texts, or what `score_rows` returned.
                references: n texts, or n lists of texts.
                sources: n texts, for metrics that need them.
            """
            if not isinstance(candidates, torch.Tensor):
                candidates = self.score_rows(candidates, references, sources)
            self.rows.append(candidates.to(self.device))

        def compute(self) -> torch.Tensor:
            """Return the score of everything so far."""
            return torch.tensor(self.engine.of(dim_zero_cat(self.rows).cpu().numpy()), dtype=torch.float64)


def __getattr__(name: str) -> object:
    if name == "TorchMetric":
        raise MissingExtraError(
            f"{name} needs the package torchmetrics, which is not installed: pip install torchmetrics"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
