"""Training one network: batches, loss, learning rate, early stopping, and going on after an interruption."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from bsx.errors import InputError
from bsx.train.batches import Batch, buckets, gather, lengths_of, predict
from bsx.train.config import Architecture, TrainConfig
from bsx.train.data import Instances, Target, agreement
from bsx.train.networks import build_network
from bsx.train.resume_state import Epoch, Progress, Weights, load_progress, save_progress
from bsx.train.vectors import VectorStore

Report = Callable[[str, int, int], None]
Notify = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Material:
    """What networks of several seeds are trained on.

    Attributes:
        train: training instances, none with an empty text.
        valid: validation instances, none with an empty text.
        target: how the training scores are standardised.
        store: holds the vectors of all their texts.
    """

    train: Instances
    valid: Instances
    target: Target
    store: VectorStore


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A trained network.

    Attributes:
        weights: after its best epoch.
        best_epoch: which one that was.
        log: all epochs.
    """

    weights: Weights
    best_epoch: int
    log: list[Epoch]


def fit(
    architecture: Architecture,
    material: Material,
    config: TrainConfig,
    seed: int,
    *,
    checkpoint: Path | None = None,
    report: Report | None = None,
    notify: Notify | None = None,
) -> FittedNetwork:
    """Train a network until its validation figure has not risen for some epochs.

    Adam; the learning rate is halved after each epoch that is not better than the best one so far. The same seed gives
    the same weights on a CPU with the same number of threads, interrupted or not.

    Source: Mathur et al. 2019, section 4 and configuration files.

    Args:
        architecture: which network.
        material: training and validation data.
        config: settings.
        seed: of first weights, batches and dropout.
        checkpoint: file that keeps the state after each epoch; training goes on from it if it is there.
        report: called with a phase's name, instances done and instances in all epochs; training may stop early.
        notify: called with a line after each epoch.

    Raises:
        InputError: if the checkpoint is of another training, or no epoch gave a validation figure.
    """
    device = material.store.encoder.view.device
    record = material.store.encoder.record
    network = build_network(architecture, config, layers=record.layers, dimensions=record.dimensions, seed=seed)
    network.to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    progress = Progress(config.learning_rate)
    if checkpoint is not None and checkpoint.is_file():
        progress = load_progress(checkpoint, network, optimiser)
        if notify is not None:
            notify(f"seed {seed}: going on after epoch {len(progress.log)}")
    lengths = lengths_of(material.train, material.store)
    while len(progress.log) < config.epochs and progress.waited < config.patience:
        number = len(progress.log) + 1
        for group in optimiser.param_groups:
            group["lr"] = progress.learning_rate
        # What is random in an epoch depends on the seed and its number alone: nothing else need be kept.
        draws = np.random.default_rng([seed, number])
        rng = torch.Generator(device).manual_seed(int(draws.integers(2**62)))
        total, done = 0.0, 0
        for rows in buckets(lengths, config.batch_size, draws):
            batch = gather(material.train, rows, material.store, device)
            loss = _loss(batch, batch.score(network, rng), material)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip)
            optimiser.step()
            total += float(loss.detach()) * len(rows)
            done += len(rows)
            if report is not None:
                report(f"seed {seed}", (number - 1) * len(lengths) + done, config.epochs * len(lengths))
        predicted = predict(network, material.valid, material.store, size=2 * config.batch_size, device=device)
        valid = agreement(predicted, material.valid)
        rate = progress.learning_rate
        progress.log.append(Epoch(epoch=number, loss=total / len(lengths), valid=valid, learning_rate=rate))
        _settle(progress, network, valid, number)
        if checkpoint is not None:
            save_progress(checkpoint, network, optimiser, progress)
        if notify is not None:
            notify(f"seed {seed}, epoch {number}: loss {progress.log[-1].loss:.4f}, validation {valid:.4f}")
    if not progress.best_epoch:
        raise InputError("no epoch gave a validation figure: the network scores every validation instance alike")
    return FittedNetwork(progress.best, progress.best_epoch, progress.log)


def _settle(progress: Progress, network: torch.nn.Module, valid: float, number: int) -> None:
    """Keep the weights of the best epoch so far, or halve the learning rate."""
    if not math.isnan(valid) and valid > progress.best_valid:
        progress.best_epoch = number
        progress.best = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}
    else:
        progress.learning_rate /= 2


def _loss(batch: Batch, scores: torch.Tensor, material: Material) -> torch.Tensor:
    if material.train.scores is None:
        return ranking_loss(scores[:, 0], scores[:, 1])
    target = material.target
    wanted = torch.from_numpy((material.train.scores[batch.rows] - target.mean) / target.sd)
    return squared_error(scores[:, 0], wanted.to(scores))


def squared_error(predicted: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of standardised scores (batch,). Source: Mathur et al. 2019, section 3.2."""
    return functional.mse_loss(predicted, wanted)


def ranking_loss(better: torch.Tensor, worse: torch.Tensor) -> torch.Tensor:
    """Return the mean of log(1 + exp(s_worse - s_better)), for the scores of preferred and other candidates (batch,).

    Source: Burges et al. 2005 (RankNet), equation 3 with a target probability of 1.
    """
    return functional.softplus(worse - better).mean()
