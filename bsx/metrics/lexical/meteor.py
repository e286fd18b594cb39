"""METEOR by NLTK."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.errors import InputError
from bsx.metrics.base import PairMetric
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.support.optional import installed, need


class MeteorConfig(MetricConfig):
    """Settings of METEOR; alpha, beta and gamma are NLTK's defaults, those of the paper of 2007."""

    synonyms: Annotated[
        bool, Field(description="Match WordNet synonyms too, which NLTK must have downloaded; off: words and stems.")
    ] = True
    alpha: Annotated[float, Field(ge=0, le=1, description="Weight of precision against recall.")] = 0.9
    beta: Annotated[float, Field(ge=0, le=10_000, description="Exponent of the fragmentation penalty.")] = 3.0
    gamma: Annotated[float, Field(ge=0, le=1, description="Weight of the fragmentation penalty.")] = 0.5
    multi_ref: MultiRef = "best"


def _wordnet_is_here() -> bool:
    """Tell whether NLTK finds WordNet, without importing NLTK, which takes seconds."""
    if "nltk" in sys.modules:
        places = list(sys.modules["nltk"].data.path)
    else:  # as nltk.data begins
        usual = ["/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"]
        if sys.platform == "win32":
            usual = [os.environ.get("APPDATA", sys.prefix), "C:\\", "D:\\", "E:\\"]
        folders = [Path("~").expanduser(), *(Path(sys.prefix, name) for name in ("", "share", "lib"))]
        places = [place for place in os.environ.get("NLTK_DATA", "").split(os.pathsep) if place]
        places += [folder / "nltk_data" for folder in (*folders, *map(Path, usual))]
    return any(Path(place, "corpora", name).exists() for place in places for name in ("wordnet", "wordnet.zip"))


class Meteor(PairMetric[MeteorConfig]):
    """Word alignment by form, stem and synonym, with a penalty for scattered matches.

    Source: Banerjee & Lavie 2005; Lavie & Agarwal 2007; NLTK computes it, on Treebank tokens in lower case.
    """

    Config = MeteorConfig
    encodes = False
    pace = 4e-06
    _packages = ("nltk",)

    @classmethod
    def lacks(cls) -> str | None:
        """WordNet, which NLTK downloads; without synonyms the metric runs as it is."""
        return None if _wordnet_is_here() else "WordNet, or synonyms=false"

    def setup(self) -> None:
        """Find NLTK, and WordNet if it is wanted."""
        if not installed("nltk"):
            need("nltk", "METEOR")
        if self.config.synonyms and not _wordnet_is_here():
            raise InputError(
                "meteor: WordNet is not on this machine: python -m nltk.downloader wordnet fetches it, "
                "meteor:synonyms=false does without synonyms"
            )

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        config = self.config
        single = need("nltk.translate.meteor_score", "METEOR").single_meteor_score
        treebank = need("nltk.tokenize", "METEOR").TreebankWordTokenizer()
        none = SimpleNamespace(synsets=lambda word: [])  # a WordNet without entries
        wordnet = need("nltk.corpus", "METEOR").wordnet if config.synonyms else none
        tokens = [treebank.tokenize(text) for text in pairs.texts]
        values = [
            single(tokens[j], tokens[i], wordnet=wordnet, alpha=config.alpha, beta=config.beta, gamma=config.gamma)
            for i, j in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
        ]
        return PairScores(np.array(values, dtype=np.float64))
