"""LASER: cosine of sentence embeddings, run by its own package in its own environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.errors import InputError
from bsx.metrics.base import PairMetric
from bsx.metrics.core import Pairs, PairScores
from bsx.metrics.learned.external import ExternalConfig, Package, Worker
from bsx.support.folders import cache_folder
from bsx.support.settings import UserOnly


class LaserConfig(ExternalConfig):
    """Settings of LASER."""

    lang: Annotated[
        str | None,
        Field(
            description="Language of candidates (and references), like eng_Latn: LASER3's encoder for it, if there is "
            "one; LASER2 unless given."
        ),
    ] = None
    source_lang: Annotated[
        str | None, Field(description="Language of the sources, for laser-qe; LASER2 unless given.")
    ] = None
    model_dir: Annotated[
        Path | None,
        Field(description="Folder with the package's model files; its own cache, or bsx's, unless given."),
        UserOnly(),  # a model file may hold code, which runs when the package loads it
    ] = None


class Laser(PairMetric[LaserConfig]):
    """Cosine of LASER sentence embeddings. Source: Artetxe & Schwenk 2019; Heffernan et al. 2022 for LASER3."""

    Config = LaserConfig
    package = Package(
        name="laser-encoders",
        adapter="laser_model",
        environment="laser-env",
        # fairseq, which it imports, fails on Python 3.11; pip 24.1 refuses what fairseq requires; it imports requests
        # without requiring it.
        requirements=(("pip<24.1",), ("laser-encoders", "requests")),
        python="python3.10",
    )

    def setup(self) -> None:
        """Start the worker, which loads the encoders."""
        config = self.config
        by_source = "source" in self.needs
        if config.source_lang is not None and not by_source:
            raise InputError(
                "source_lang needs laser-qe: laser reads no sources", file=self.name, setting="source_lang"
            )
        folder = None if config.model_dir is None else str(config.model_dir)
        langs = [config.lang, config.source_lang if by_source else config.lang]
        options = {"model_dir": folder, "cache": str(cache_folder() / "laser_encoders"), "langs": langs}
        self._worker = Worker(self.package, config, self.encoders, options, self.name)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when it runs elsewhere than the rest."""
        return self._worker.notes(self.spec)

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the encoders' identities and their environment's versions."""
        models = dict.fromkeys(self._worker.greeting["models"])
        return {"model_dir": "+".join(models), **self._worker.signature_fields()}

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        request = {"texts": pairs.texts, "left": pairs.left.tolist(), "right": pairs.right.tolist()}
        return PairScores(np.array(self._worker.ask(request)["scores"], dtype=np.float64))
