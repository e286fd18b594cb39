"""Scoring with a network: instances in batches of similar length, and pairs of which each text is read once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from bsx.encode.states import States
from bsx.networks.architectures import Encoded, Network
from bsx.networks.data import Instances
from bsx.networks.record import SavedModel
from bsx.networks.vectors import VectorStore
from bsx.support.arrays import gathered, tensor

Index = NDArray[np.int64]
_BATCH = 64
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


def score_pairs(network: Network, states: States, candidates: Index, references: Index) -> NDArray[np.float64]:
    """Return a network's output (pairs,) for candidates beside references, none of them without tokens.

    Both are indices (pairs,) of texts in the frozen encoder's states (layers, tokens, dim), without special tokens.
    """
    done = []
    pairs = np.stack([candidates, references], axis=1)
    vectors = tensor(states.vectors)
    flat = vectors.new_zeros((vectors.shape[1], 2 * network.hidden))  # the network's states of all texts
    with torch.inference_mode():
        texts = np.flatnonzero(states.lengths)
        for batch in buckets(states.lengths[texts][:, None], _BATCH):
            chosen = texts[batch]
            rows = np.concatenate([np.arange(states.lengths[i]) + states.offsets[i] for i in chosen])
            at = torch.from_numpy(rows).to(flat.device)
            lengths = torch.from_numpy(states.lengths[chosen]).to(flat.device)
            encoded = network.encode(vectors.index_select(1, at), lengths)
            flat[at] = torch.cat([row[:n] for row, n in zip(encoded.states, lengths.tolist(), strict=True)])
        for batch in buckets(states.lengths[pairs], _BATCH):
            sides = []
            for column in pairs[batch].T:
                parts = [flat[states.offsets[i] : states.offsets[i] + states.lengths[i]] for i in column]
                lengths = torch.from_numpy(states.lengths[column]).to(flat.device)
                sides.append(Encoded(pad_sequence(parts, batch_first=True), lengths))
            done.append((batch, network(*sides).double()))
        return gathered(done, len(candidates))


def score_instances(folder: Path, instances: Instances, store: VectorStore) -> NDArray[np.float64]:
    """Score instances with a trained metric, from stored vectors.

    Args:
        folder: of the metric.
        instances: n instances.
        store: holds the vectors of their texts, of the encoder that the metric was trained on.

    Returns:
        The mean over its networks (n,); the lowest training score where a text has no content.
    """
    saved = SavedModel.open(folder)
    scores = np.full(len(instances), saved.record.low)
    full = np.flatnonzero((lengths_of(instances, store) > 0).all(axis=1))
    scores[full] = mean_score(saved, instances.take(full), store, size=_BATCH)
    return scores


def mean_score(saved: SavedModel, instances: Instances, store: VectorStore, *, size: int) -> NDArray[np.float64]:
    """Return the mean score of a metric's networks (n,) for instances whose texts all have content."""
    record, device = saved.record, store.encoder.view.device
    outputs = [predict(network.to(device), instances, store, size=size) for network in saved.networks()]
    mean: NDArray[np.float64] = np.mean([record.shift + record.scale * output for output in outputs], axis=0)
    return mean
