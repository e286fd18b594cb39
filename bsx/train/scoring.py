"""Scoring pairs of texts with a trained network: each text is read once, whatever it is compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from bsx.encode.states import States
from bsx.support.arrays import gathered, tensor
from bsx.train.batches import buckets, lengths_of, predict
from bsx.train.data import Instances
from bsx.train.networks import Encoded, Network
from bsx.train.record import SavedModel
from bsx.train.vectors import VectorStore

Index = NDArray[np.int64]
_BATCH = 64


def score_pairs(network: Network, states: States, candidates: Index, others: Index) -> NDArray[np.float64]:
    """Score candidates beside what they are compared with.

    Args:
        network: the network.
        states: the frozen encoder's states of all texts (layers, tokens, dim), without special tokens.
        candidates: index of each pair's candidate (pairs,); none without tokens.
        others: index of what it is compared with (pairs, 1 or 2); none without tokens.

    Returns:
        The network's output (pairs,).
    """
    done = []
    every = np.concatenate([candidates[:, None], others], axis=1)
    with torch.inference_mode():
        flat = _encode(network, states)
        for rows in buckets(states.lengths[every], _BATCH):
            sides = [_padded(flat, states, column) for column in every[rows].T]
            done.append((rows, network(sides[0], sides[1:]).double()))
        return gathered(done, len(candidates))


def _encode(network: Network, states: States) -> torch.Tensor:
    """Return the network's states of all texts (tokens, 2 * hidden)."""
    vectors = tensor(states.vectors)
    flat: torch.Tensor = vectors.new_zeros((vectors.shape[1], 2 * network.hidden))
    texts = np.flatnonzero(states.lengths)
    for batch in buckets(states.lengths[texts][:, None], _BATCH):
        chosen = texts[batch]
        rows = np.concatenate([np.arange(states.lengths[i]) + states.offsets[i] for i in chosen])
        at = torch.from_numpy(rows).to(flat.device)
        lengths = torch.from_numpy(states.lengths[chosen]).to(flat.device)
        encoded = network.encode(vectors.index_select(1, at), lengths)
        flat[at] = torch.cat([row[:n] for row, n in zip(encoded.states, lengths.tolist(), strict=True)])
    return flat


def _padded(flat: torch.Tensor, states: States, texts: Index) -> Encoded:
    parts = [flat[states.offsets[i] : states.offsets[i] + states.lengths[i]] for i in texts]
    return Encoded(pad_sequence(parts, batch_first=True), torch.from_numpy(states.lengths[texts]).to(flat.device))


def score_instances(folder: Path, instances: Instances, store: VectorStore) -> NDArray[np.float64]:
    """Score instances with a trained metric, from stored vectors.

    Args:
        folder: of the metric.
        instances: n scored instances.
        store: holds the vectors of their texts, of the encoder that the metric was trained on.

    Returns:
        The mean over its networks (n,); the lowest training score where a text has no content.
    """
    saved = SavedModel.open(folder)
    scores = np.full(len(instances), saved.record.low)
    full = np.flatnonzero((lengths_of(instances, store) > 0).all(axis=1))
    device = store.encoder.view.device
    members = zip(saved.networks(), saved.record.members, strict=True)
    scores[full] = np.mean(
        [
            member.shift
            + member.scale * predict(network.to(device), instances.take(full), store, size=_BATCH, device=device)
            for network, member in members
        ],
        axis=0,
    )
    return scores
