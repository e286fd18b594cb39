"""Training one network: batches, loss, learning rate, early stopping, and going on after the last epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from bsx.data.output import atomic_path
from bsx.errors import InputError
from bsx.networks.architectures import build_network
from bsx.networks.batches import buckets, lengths_of, predict, score_batch
from bsx.networks.config import Architecture, TrainConfig
from bsx.networks.data import Instances, agreement
from bsx.networks.record import Epoch, best_epoch
from bsx.networks.vectors import VectorStore
from bsx.support.progress import Progress, Say
from bsx.support.tensors import load_saved
from bsx.support.untyped import blaming

_CLIP = 10.0  # largest norm of the gradient; a longer one is shortened


def fit(
    architecture: Architecture,
    train: Instances,
    valid: Instances,
    store: VectorStore,
    config: TrainConfig,
    seed: int,
    *,
    checkpoint: Path,
    report: Progress | None,
    notify: Say,
) -> tuple[dict[str, torch.Tensor], list[Epoch]]:
    """Train a network until its validation figure has not risen for some epochs.

    The mean squared error on standardised human scores (population standard deviation), by Adam; the learning rate is
    halved after each epoch that is not better than the best one so far. The same seed gives the same weights on a CPU
    with the same number of threads, interrupted or not.

    Source: Mathur et al. 2019, sections 3.2 and 4, and configuration files.

    Args:
        architecture: which network.
        train: training instances, none with an empty text.
        valid: validation instances, none with an empty text.
        store: holds the vectors of all their texts.
        config: settings.
        seed: of first weights, batches and dropout.
        checkpoint: file that keeps the state after each epoch; training goes on from it if it is there.
        report: called with a phase's name, instances done and instances in all epochs; training may stop early.
        notify: called with a line after each epoch.

    Returns:
        The weights after the best epoch, and all epochs.

    Raises:
        InputError: if the checkpoint is of another training, or no epoch gave a validation figure.
    """
    device, record = store.encoder.view.device, store.encoder.record
    network = build_network(architecture, config, layers=record.layers, dimensions=record.dimensions, seed=seed)
    network.to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    weights: dict[str, torch.Tensor] = {}
    log: list[Epoch] = []
    if checkpoint.is_file():
        with blaming(f"{checkpoint}: is no state of this training; remove it to train this seed anew"):
            state = load_saved(checkpoint)
            network.load_state_dict(state["network"])
            optimiser.load_state_dict(state["optimiser"])
            weights, log = state["best"], [Epoch(**epoch) for epoch in state["log"]]
        notify(f"seed {seed}: going on after epoch {len(log)}")
    wanted = (train.scores - train.scores.mean()) / train.scores.std()
    lengths = lengths_of(train, store)
    best = best_epoch(log)
    while len(log) < config.epochs and len(log) - (best.epoch if best else 0) < config.patience:
        number = len(log) + 1
        rate = log[-1].learning_rate / (1 if log[-1] is best else 2) if log else config.learning_rate
        for group in optimiser.param_groups:
            group["lr"] = rate
        # What is random in an epoch depends on the seed and its number alone: nothing else need be kept.
        draws = np.random.default_rng([seed, number])
        rng = torch.Generator(device).manual_seed(int(draws.integers(2**62)))
        total, done = 0.0, 0
        for rows in buckets(lengths, config.batch_size, draws):
            predicted = score_batch(network, train, rows, store, rng)
            loss = functional.mse_loss(predicted, torch.from_numpy(wanted[rows]).to(predicted))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimiser.step()
            total += float(loss.detach()) * len(rows)
            done += len(rows)
            if report is not None:
                report(f"seed {seed}", (number - 1) * len(lengths) + done, config.epochs * len(lengths))
        r = agreement(predict(network, valid, store, size=2 * config.batch_size), valid)
        log.append(Epoch(epoch=number, loss=total / len(lengths), valid=r, learning_rate=rate))
        best = best_epoch(log)
        if best is log[-1]:
            weights = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}
        state = {"network": network.state_dict(), "optimiser": optimiser.state_dict(), "best": weights}
        with atomic_path(checkpoint, internal=True) as temporary:
            torch.save({**state, "log": [epoch.model_dump() for epoch in log]}, temporary)
        notify(f"seed {seed}, epoch {number}: loss {log[-1].loss:.4f}, validation {r:.4f}")
    if best is None:
        raise InputError("no epoch gave a validation figure: the network scores every validation instance alike")
    return weights, log
