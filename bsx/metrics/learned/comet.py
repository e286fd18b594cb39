"""COMET: a regressor over source, candidate and reference, run by its own package in its own environment."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.errors import InputError
from bsx.metrics.base import Metric
from bsx.metrics.core import Block, BlockScores
from bsx.metrics.learned.external import ExternalConfig, Package, Worker
from bsx.support.settings import UserOnly


class CometConfig(ExternalConfig):
    """Settings of COMET."""

    model: Annotated[
        str | None,
        Field(
            description="Hub id, folder with hparams.yaml and checkpoints/, or .ckpt file; the entry's unless given."
        ),
        UserOnly(),  # a checkpoint may hold code, which runs when the package loads it
    ] = None


class Comet(Metric[CometConfig]):
    """A learned score of a candidate given its source, and a reference unless the model is reference-free.

    Blank texts are scored, as the package scores them, and counted as empty. Sources: Rei et al. 2020; Rei et al. 2022.
    """

    Config = CometConfig
    shares_model = False
    package = Package(
        name="unbabel-comet",
        adapter="comet_model",
        environment="comet-env",
        # Its torchmetrics imports pkg_resources, which newer setuptools has not.
        requirements=(("unbabel-comet", "setuptools<81"),),
    )

    def setup(self) -> None:
        """Start the worker, which loads the model; refuse one that reads other texts than the metric gives it."""
        name = str(self.config.model or self.entry.model)
        self._worker = Worker(self.package, self.config, self.encoders, {"model": name}, self.name)
        greeting, with_references = self._worker.greeting, "reference" in self.needs
        if with_references and not greeting["reads_references"]:
            problem = "reads no references: use comet-qe with it"
        elif not with_references and greeting["needs_references"]:
            problem = "needs references: use comet with it"
        else:
            return
        self._worker.close()
        raise InputError(f"{name} {problem}", file=self.name)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when it runs elsewhere than the rest."""
        return self._worker.notes(self.spec)

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the model's identity and its environment's versions."""
        return {"model": self._worker.greeting["model"], **self._worker.signature_fields()}

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        """Score rows, each with every reference that is not blank; see `Metric.score_block`."""
        samples: list[dict[str, str]] = []
        starts = []
        empty = np.zeros(len(block), dtype=bool)
        for row, (candidate, source) in enumerate(zip(block.candidates, block.sources or (), strict=True)):
            starts.append(len(samples))
            sample = {"src": source, "mt": candidate}
            empty[row] = not (candidate.strip() and source.strip())
            if "reference" in self.needs:
                present = [text for text in block.references[row] if text.strip()]
                empty[row] |= not present
                samples += [{**sample, "ref": text} for text in present or [""]]
            else:
                samples.append(sample)
        if not samples:
            return BlockScores(np.empty(0), empty, np.empty(0, dtype=np.int64))
        reply = self._worker.ask({"samples": samples})
        scores, lost = np.array(reply["scores"]), np.add.reduceat(np.array(reply["lost"], dtype=np.int64), starts)
        if self.config.multi_ref == "mean":
            values = np.add.reduceat(scores, starts) / np.diff([*starts, len(samples)])
        else:
            values = np.maximum.reduceat(scores, starts)
        return BlockScores(values, empty, lost)
