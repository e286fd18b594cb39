"""Batches of instances of similar length, gathered from the stored vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.networks.architectures import Network
from bsx.networks.data import Instances
from bsx.networks.vectors import VectorStore

_NOISE = 0.1  # of lengths, so that batches differ from epoch to epoch, as AllenNLP's bucket iterator does


def lengths_of(instances: Instances, store: VectorStore) -> NDArray[np.int64]:
    """Return how many pieces candidate and reference of each instance have (n, 2)."""
    pieces = np.zeros(len(instances.texts), dtype=np.int64)
    for i in np.unique(instances.rows):
        pieces[i] = store.pieces(instances.texts[i])
    lengths: NDArray[np.int64] = pieces[instances.rows]
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


def score_batch(
    network: Network,
    instances: Instances,
    rows: NDArray[np.int64],
    store: VectorStore,
    rng: torch.Generator | None = None,
) -> torch.Tensor:
    """Return standardised scores (batch,) of some instances; the generator is that of dropout, None in scoring."""
    device = store.encoder.view.device
    vectors = [store.vectors(instances.texts[i]) for i in instances.rows[rows].T.reshape(-1)]
    flat = np.concatenate([part.transpose(1, 0, 2) for part in vectors], axis=1, dtype=np.float32)
    lengths = torch.tensor([len(part) for part in vectors], device=device)
    encoded = network.encode(torch.from_numpy(flat).to(device), lengths, rng)
    candidates, references = torch.arange(len(lengths), device=device).reshape(2, -1)
    scores: torch.Tensor = network(encoded.take(candidates), encoded.take(references), rng)
    return scores


def predict(network: Network, instances: Instances, store: VectorStore, *, size: int) -> NDArray[np.float64]:
    """Return standardised scores of instances (n,), read in batches of a size."""
    scores = np.zeros(len(instances))
    with torch.inference_mode():
        for rows in buckets(lengths_of(instances, store), size):
            scores[rows] = score_batch(network, instances, rows, store).double().cpu().numpy()
    return scores
