"""Training a metric: vectors, one network a seed with early stopping, and the folder they are saved in."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from bsx.data.output import atomic_path
from bsx.data.seen import SEEN, SeenRows
from bsx.errors import InputError
from bsx.networks.architectures import build_network
from bsx.networks.config import Architecture, TrainConfig
from bsx.networks.data import Instances, agreement
from bsx.networks.encoder import FrozenEncoder
from bsx.networks.record import MODEL, DataRecord, Epoch, MemberRecord, ModelRecord, SavedModel, best_epoch
from bsx.networks.scoring import buckets, lengths_of, mean_score, predict, score_batch
from bsx.networks.vectors import VectorStore
from bsx.support.progress import Progress, Say, nothing
from bsx.support.provenance import file_digest, versions
from bsx.support.tensors import load_saved, save_tensors
from bsx.support.untyped import blaming

_VERSIONS = ("bsx", "python", "torch", "transformers", "tokenizers", "numpy")
_CLIP = 10.0  # largest norm of the gradient; a longer one is shortened
_NAMES = {"train": "training data", "valid": "validation data"}


def train_metric(
    architecture: Architecture,
    train: Instances,
    valid: Instances,
    *,
    encoder: FrozenEncoder,
    output: Path,
    seeds: Sequence[int] = (1,),
    config: TrainConfig | None = None,
    resume: bool = False,
    vectors: Path | None = None,
    report: Progress | None = None,
    notify: Say | None = None,
) -> ModelRecord:
    """Train a metric on human scores, one network a seed, and save it.

    Args:
        architecture: ``bilstm``, ``bilstm-attention`` or ``esim``.
        train: training instances.
        valid: validation instances.
        encoder: the frozen encoder.
        output: folder of the metric; made if it is not there.
        seeds: one network each; their mean is the metric.
        config: settings; the paper's unless given.
        resume: go on with a training that was interrupted, or add seeds to a finished one.
        vectors: folder that keeps the encoder's vectors for further trainings; unless given they are in ``output``,
            and removed at the end.
        report: called with a phase's name, things done and things in all.
        notify: called with a line now and then.

    Returns:
        What is saved as ``model.yaml``.

    Raises:
        InputError: if there are too few data, or the folder holds something else.
    """
    config = config or TrainConfig()
    notify = notify or nothing
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0 or max(seeds) >= 2**64:
        raise InputError("seeds: at least one is needed, each once, none below 0 or from 2**64 on", setting="seeds")
    data = {"train": train, "valid": valid}
    for part, instances in data.items():
        _refuse_too_few(part, instances)
    record = ModelRecord(
        architecture=architecture,
        settings=config,
        encoder=encoder.record,
        train=DataRecord(instances=len(train), digest=train.digest),
        valid=DataRecord(instances=len(valid), digest=valid.digest),
        scale=0,
        shift=0,
        low=0,
        versions={name: version for name, version in versions().items() if name in _VERSIONS},
    )
    fresh = not output.exists()
    begun = _open_folder(output, record, resume=resume)
    if begun.ensemble_valid is not None and {member.seed for member in begun.members}.issuperset(seeds):
        return begun
    known = set(train.pairs())
    if overlap := sum(pair in known for pair in valid.pairs()):
        notify(f"{overlap} of {len(valid)} instances of validation data are in training data too")
    try:
        store = VectorStore(vectors if vectors is not None else output / "vectors", encoder)
        kept = {part: instances.without_blank() for part, instances in data.items()}
        store.add([text for instances in kept.values() for text in instances.used_texts()], report)
        for part, instances in kept.items():
            kept[part] = instances.take(np.flatnonzero((lengths_of(instances, store) > 0).all(axis=1)))
            _refuse_too_few(part, kept[part])
    except InputError:
        if fresh:
            shutil.rmtree(output)
        raise
    changes: dict[str, object] = {"members": begun.members}
    for part, instances in kept.items():
        left_out = len(data[part]) - len(instances)
        changes[part] = DataRecord(instances=len(instances), left_out=left_out, digest=data[part].digest)
        if left_out:
            notify(f"{part}: left out {left_out} instances with a text without content")
    scores = kept["train"].scores
    changes |= {"scale": float(scores.std()), "shift": float(scores.mean()), "low": float(scores.min())}
    changes["rows"] = SeenRows.of(train.pairs(), valid.pairs()).save(output / SEEN)
    record = record.model_copy(update=changes)
    for seed in seeds:
        file, checkpoint = output / f"seed-{seed}.safetensors", output / f"checkpoint-{seed}.pt"
        if seed not in [member.seed for member in record.members]:
            weights, log = _fit(
                architecture, kept["train"], kept["valid"], store, config, seed, checkpoint, report, notify
            )
            with atomic_path(file, internal=True) as temporary:
                save_tensors(weights, temporary, {})
            member = MemberRecord(seed=seed, file=file.name, sha256=file_digest(file), log=log)
            record = record.model_copy(update={"members": [*record.members, member]})
            record.write(output / MODEL)
        checkpoint.unlink(missing_ok=True)
    scored = mean_score(SavedModel(output, record), kept["valid"], store, size=2 * config.batch_size)
    record = record.model_copy(update={"ensemble_valid": agreement(scored, kept["valid"])})
    record.write(output / MODEL)
    if vectors is None:
        shutil.rmtree(output / "vectors")
    return record


def _refuse_too_few(part: str, instances: Instances) -> None:
    if len(instances) < 2 or np.ptp(instances.scores) == 0:
        raise InputError(
            f"{_NAMES[part]}: two instances at least are needed whose texts have content and whose human scores "
            f"differ; of {len(instances)} with content, none differ"
        )


def _open_folder(output: Path, record: ModelRecord, *, resume: bool) -> ModelRecord:
    """Make the folder, or make sure that what is in it belongs to this training; return what it says."""
    if not (output / MODEL).is_file():
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise InputError(f"{output}: is there already and holds no training; name another folder")
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{output}: cannot be made a folder ({error.filename}: {error.strerror})") from error
        record.write(output / MODEL)  # so that a run interrupted from here on can be resumed
        return record
    if not resume:
        raise InputError(f"{output}: holds a training already: resume goes on with it, or adds seeds")
    begun = ModelRecord.read(output / MODEL)
    before, now = (
        {
            "architecture": each.architecture,
            **{f"setting {name}": value for name, value in each.settings.model_dump().items()},
            "encoder": each.encoder.model_dump(exclude={"model"}),
            **{name: each.train.digest if part == "train" else each.valid.digest for part, name in _NAMES.items()},
        }
        for each in (begun, record)
    )
    for name, value in now.items():
        if before[name] != value:
            raise InputError(f"{output}: cannot go on: {name} was {before[name]}, is {value} now; name another folder")
    return begun


def _fit(
    architecture: Architecture,
    train: Instances,
    valid: Instances,
    store: VectorStore,
    config: TrainConfig,
    seed: int,
    checkpoint: Path,
    report: Progress | None,
    notify: Say,
) -> tuple[dict[str, torch.Tensor], list[Epoch]]:
    """Train a network until its validation figure has not risen for some epochs.

    The mean squared error on standardised human scores (population standard deviation), by Adam; the learning rate is
    halved after each epoch that is not better than the best one so far. The same seed gives the same weights on a CPU
    with the same number of threads, interrupted or not: the state after each epoch is in the file ``checkpoint``.

    Source: Mathur et al. 2019, sections 3.2 and 4, and configuration files.

    Returns:
        The weights after the best epoch, and all epochs.
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
