"""Batches of instances of similar length, gathered from the stored vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.train.data import Instances
from bsx.train.networks import Encoded, Network
from bsx.train.vectors import VectorStore

_NOISE = 0.1  # of lengths, so that batches differ from epoch to epoch, as AllenNLP's bucket iterator does


@dataclass(frozen=True)
class Batch:
    """Some instances.

    Attributes:
        rows: which instances (batch,).
        vectors: of all their texts, text after text (layers, tokens, dim), fp32.
        lengths: tokens of each text (texts,), candidates first, column by column, then what they are compared with.
        columns: how many candidates an instance has: 1, or 2 for preferences.
    """

    rows: NDArray[np.int64]
    vectors: torch.Tensor
    lengths: torch.Tensor
    columns: int

    def score(self, network: Network, rng: torch.Generator | None = None) -> torch.Tensor:
        """Return standardised scores (batch, columns)."""
        encoded = network.encode(self.vectors, self.lengths, rng)
        size = len(self.rows)
        rows = torch.arange(len(self.lengths), device=self.lengths.device).reshape(-1, size)
        sides: list[Encoded] = [encoded.take(part) for part in rows]
        others = sides[self.columns :]
        return torch.stack([network(side, others, rng) for side in sides[: self.columns]], dim=1)


def lengths_of(instances: Instances, store: VectorStore) -> NDArray[np.int64]:
    """Return how many pieces each text of each instance has (n, texts of an instance)."""
    pieces = np.zeros(len(instances.texts), dtype=np.int64)
    every = np.concatenate([instances.candidates, instances.others], axis=1)
    for i in np.unique(every):
        pieces[i] = store.pieces(instances.texts[i])
    lengths: NDArray[np.int64] = pieces[every]
    return lengths


def buckets(
    lengths: NDArray[np.int64], size: int, rng: np.random.Generator | None = None
) -> Iterator[NDArray[np.int64]]:
    """Group instances of similar length.

    Args:
        lengths: (n, texts of an instance).
        size: instances of a batch.
        rng: makes lengths uncertain by a tenth and shuffles the batches; None gives the longest first.

    Yields:
        Rows of the instances of one batch.
    """
    noisy = lengths.astype(np.float64)
    if rng is not None:
        noisy = noisy * (1 + rng.uniform(-_NOISE, _NOISE, size=noisy.shape))
    longest = noisy.max(axis=1)
    order = np.lexsort((noisy.sum(axis=1), longest))[::-1]
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    yield from batches if rng is None else (batches[i] for i in rng.permutation(len(batches)))


def gather(instances: Instances, rows: NDArray[np.int64], store: VectorStore, device: torch.device | str) -> Batch:
    """Read the vectors of some instances."""
    columns = np.concatenate([instances.candidates[rows], instances.others[rows]], axis=1)
    vectors = [store.vectors(instances.texts[i]) for i in columns.T.reshape(-1)]
    flat = np.concatenate([part.transpose(1, 0, 2) for part in vectors], axis=1, dtype=np.float32)
    lengths = torch.tensor([len(part) for part in vectors], device=device)
    return Batch(rows, torch.from_numpy(flat).to(device), lengths, instances.candidates.shape[1])


def predict(
    network: Network,
    instances: Instances,
    store: VectorStore,
    *,
    size: int,
    device: torch.device | str,
    report: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Return standardised scores of instances: (n,), or (n, 2) for preferences."""
    scores = np.zeros(instances.candidates.shape)
    done = 0
    with torch.inference_mode():
        for rows in buckets(lengths_of(instances, store), size):
            scores[rows] = gather(instances, rows, store, device).score(network).double().cpu().numpy()
            done += len(rows)
            if report is not None:
                report(done, len(instances))
    return scores if instances.scores is None else scores[:, 0]
