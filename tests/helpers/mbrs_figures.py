"""What mbrs 0.1.8 makes of some lists: centroids, and matrices completed from samples.

Run it with an interpreter that has mbrs: ``PYTHON tests/helpers/mbrs_figures.py SEED``. The figures go to standard
output as JSON. tests/metrics/mbrs_figures.json holds those of the seed 1, made with torch 2.13.0.
"""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import dataclass
from typing import Any

import torch
from mbrs.decoders import DecoderCentroidMBR, DecoderProbabilisticMBR, probabilistic_mbr
from mbrs.metrics import MetricAggregatableCache, MetricChrF
from mbrs.modules.als import MatrixFactorizationALS
from mbrs.modules.kmeans import Kmeans

WORDS = ["the", "old", "man", "sat", "on", "a", "river", "bank", "and", "it", "had", "rain"]
ROUNDS, CENTROIDS, RANK = 10, 4, 2


class Cosine(MetricAggregatableCache):
    """The cosine of given unit vectors, compared as mbrs compares COMET's."""

    @dataclass
    class Cache(MetricAggregatableCache.Cache):
        vectors: torch.Tensor

        def __len__(self) -> int:
            return len(self.vectors)

        def __getitem__(self, key: Any) -> Cosine.Cache:
            return type(self)(self.vectors[key])

        def repeat(self, n: int) -> Cosine.Cache:
            return type(self)(self.vectors.repeat((n, 1)))

        def aggregate(self, reference_lprobs: Any = None) -> Cosine.Cache:
            return type(self)(self.vectors.mean(dim=0, keepdim=True))

        def cluster(self, kmeans: Kmeans) -> tuple[Cosine.Cache, torch.Tensor]:
            centroids, assigned = kmeans.train(self.vectors)
            return type(self)(centroids), assigned

    def __init__(self, vectors: dict[str, torch.Tensor]) -> None:
        super().__init__(MetricAggregatableCache.Config())
        self._vectors = vectors

    @property
    def embed_dim(self) -> int:
        return len(next(iter(self._vectors.values())))

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def encode(self, sentences: list[str]) -> Cosine.Cache:
        return self.Cache(torch.stack([self._vectors[text] for text in sentences]))

    def out_proj(self, hypotheses_ir: Any, references_ir: Any, sources_ir: Any = None) -> torch.Tensor:
        return torch.nn.functional.cosine_similarity(hypotheses_ir.vectors, references_ir.vectors, dim=-1)


def variants(rng: random.Random, count: int) -> list[str]:
    """Return different variants of one sentence."""
    base, found = rng.choices(WORDS, k=8), dict[str, None]()
    while len(found) < count:
        words = list(base)
        for _ in range(rng.randint(1, 4)):
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        found[" ".join(words)] = None
    return sorted(found)


def centroid(rng: random.Random, equal: bool) -> dict[str, object]:
    """Return where k-means begins and ends, and the expected scores, best first."""
    texts = variants(rng, 24)
    rows = torch.tensor([[rng.gauss(0, 1) for _ in range(6)] for _ in texts], dtype=torch.float32)
    rows = torch.nn.functional.normalize(rows)
    config = Kmeans.Config(ncentroids=CENTROIDS, niter=ROUNDS, seed=rng.randrange(1000))
    first = Kmeans(config).init_kmeanspp(rows, torch.Generator().manual_seed(config.seed), CENTROIDS)
    centroids, _ = Kmeans(config).train(rows)
    decoder = DecoderCentroidMBR(
        DecoderCentroidMBR.Config(kmeans=config, count_weight=not equal), Cosine(dict(zip(texts, rows, strict=True)))
    )
    found = decoder.decode(texts, texts, nbest=len(texts))
    return {
        "equal": equal,
        "texts": texts,
        "vectors": rows.tolist(),
        "first": first.tolist(),
        "centroids": centroids.tolist(),
        "ranked": found.idx,
        "expected": found.score,
    }


def probabilistic(rng: random.Random, reduction: float) -> dict[str, object]:
    """Return which pairs were drawn, where the completion begins, its rounds, and the completed matrix of chrF.

    mbrs stops after the first round if the objective is above 100,000 by then, as of points it may be.
    """
    texts = variants(rng, 16)
    config = DecoderProbabilisticMBR.Config(
        reduction_factor=reduction, rank=RANK, niter=ROUNDS, seed=rng.randrange(1000)
    )
    decoder = DecoderProbabilisticMBR(config, MetricChrF(MetricChrF.Config(fastchrf=True)))
    n = len(texts)
    drawn = torch.randperm(n * n, generator=torch.Generator().manual_seed(config.seed))[: math.ceil(n * n / reduction)]
    generator = torch.Generator().manual_seed(config.seed)
    torch.rand((n, RANK), generator=generator)
    objectives: list[float] = []

    class Counted(MatrixFactorizationALS):
        def compute_loss(self, *given: Any, **named: Any) -> float:
            objectives.append(super().compute_loss(*given, **named))
            return objectives[-1]

    probabilistic_mbr.MatrixFactorizationALS = Counted
    completed = decoder.pairwise_scores_probabilistic(texts, texts).tolist()
    return {
        "texts": texts,
        "rounds": len(objectives),
        "drawn": drawn.tolist(),
        "start": (torch.rand((n, RANK), generator=generator) * (n * RANK) ** -0.5).tolist(),
        "regularisation": config.regularization_weight,
        "completed": completed,
    }


def figures(seed: int) -> dict[str, object]:
    """Return all figures."""
    rng = random.Random(seed)  # noqa: S311 - texts for a test
    return {
        "rounds": ROUNDS,
        "centroid": [centroid(rng, equal) for equal in (True, False)],
        "probabilistic": [probabilistic(rng, reduction) for reduction in (1.5, 2.0, 2.0)],
    }


if __name__ == "__main__":
    print(json.dumps(figures(int(sys.argv[1]))))
