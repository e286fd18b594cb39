"""Training a metric: vectors, one network a seed, and the folder they are saved in."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.data.lines import NamedFile
from bsx.data.seen import SEEN, SeenRows
from bsx.errors import InputError
from bsx.support.provenance import file_digest, versions
from bsx.train.batches import lengths_of, predict
from bsx.train.config import Architecture, TrainConfig
from bsx.train.data import Instances, Target, agreement
from bsx.train.encoder import FrozenEncoder
from bsx.train.networks import build_network
from bsx.train.record import MODEL, PLAN, DataRecord, FileRecord, MemberRecord, ModelRecord, member_file
from bsx.train.record import read_record as read
from bsx.train.resume_state import Epoch, Weights, read_tensors, write_tensors
from bsx.train.trainer import Material, Notify, Report, fit
from bsx.train.vectors import VectorStore

Files = dict[str, Sequence[Path]]
_VERSIONS = ("bsx", "python", "torch", "transformers", "tokenizers", "numpy")


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
    files: Files | None = None,
    report: Report | None = None,
    notify: Notify | None = None,
) -> ModelRecord:
    """Train a metric on human scores, one network a seed, and save it.

    Args:
        architecture: ``bilstm``, ``bilstm-attention`` or ``esim``.
        train: training instances; preferences go with ``loss=ranking``.
        valid: validation instances, scored ones or preferences.
        encoder: the frozen encoder; its ``max_pieces`` must be that of the settings.
        output: folder of the metric; made if it is not there.
        seeds: one network each; their mean is the metric, their spread its uncertainty.
        config: settings; the paper's unless given.
        resume: go on with a training that was interrupted, or add seeds to a finished one.
        vectors: folder that keeps the encoder's vectors for further trainings; unless given they are in ``output``,
            and removed at the end.
        files: ``train`` and ``valid`` -> the files they were read from, for the record.
        report: called with a phase's name, things done and things in all.
        notify: called with a line now and then.

    Returns:
        What is saved as ``model.yaml``.

    Raises:
        InputError: if the data do not fit the settings, or the folder holds something else.
    """
    config = config or TrainConfig()
    names = {part: _named(part, (files or {}).get(part, ())) for part in ("train", "valid")}
    _check(train, valid, seeds, config, encoder, names)
    plan = ModelRecord(
        architecture=architecture,
        settings=config,
        encoder=encoder.record,
        train=_describe(train, (files or {}).get("train", ())),
        valid=_describe(valid, (files or {}).get("valid", ())),
        statistic="tau" if valid.scores is None else "pearson",
        versions={name: version for name, version in versions().items() if name in _VERSIONS},
    )
    made = _open_folder(output, plan, names, resume=resume)
    # More seeds may be added to a finished training.
    known = [member.seed for member in read(output / MODEL).members] if (output / MODEL).is_file() else []
    overlap = valid.repeated_in(train)
    if overlap and notify is not None:
        notify(f"note: {overlap} of {len(valid)} instances of {names['valid']} are in {names['train']} too")
    plan.write(output / PLAN)  # so that a run interrupted from here on can be resumed
    try:
        store = VectorStore(vectors if vectors is not None else output / "vectors", encoder, config.vector_precision)
        material, left_out = _material(train, valid, store, report, names)
    except InputError:
        if made:
            shutil.rmtree(output)
        raise
    plan = plan.model_copy(
        update={part: getattr(plan, part).model_copy(update=counts) for part, counts in left_out.items()}
    )
    for part, counts in left_out.items():
        if counts["left_out"] and notify is not None:
            notify(f"{part}: left out {counts['left_out']} instances with a text without content")
    plan.write(output / PLAN)
    wanted = list(dict.fromkeys([*known, *seeds]))
    for seed in seeds:
        file, checkpoint = output / member_file(seed), output / f"checkpoint-{seed}.safetensors"
        if file.is_file():
            continue
        fitted = fit(architecture, material, config, seed, checkpoint=checkpoint, report=report, notify=notify)
        facts = {"best_epoch": fitted.best_epoch, "log": [epoch.model_dump() for epoch in fitted.log]}
        write_tensors(file, fitted.weights, facts)
        checkpoint.unlink(missing_ok=True)
    record = _finish(plan, output, wanted, material)
    rows = SeenRows.of(train.pairs(), valid.pairs()).save(output / SEEN)
    record = record.model_copy(update={"rows": rows})
    record.write(output / MODEL)
    (output / PLAN).unlink(missing_ok=True)
    if vectors is None:
        shutil.rmtree(output / "vectors")
    return record


def _check(
    train: Instances,
    valid: Instances,
    seeds: Sequence[int],
    config: TrainConfig,
    encoder: FrozenEncoder,
    names: dict[str, str],
) -> None:
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0 or max(seeds) >= 2**64:
        raise InputError("seeds: at least one is needed, each once, none below 0 or from 2**64 on")
    if (train.scores is None) != (config.loss == "ranking"):
        raise InputError(
            f"loss {config.loss} cannot be combined with {names['train']}: ranking learns from preferences (columns "
            "better and worse), mse from human scores"
        )
    if encoder.record.max_pieces != config.max_pieces:
        raise InputError(f"the encoder reads {encoder.record.max_pieces} pieces, max_pieces is {config.max_pieces}")
    sides = 2 if config.inputs == "both" else 1
    for name, part in (("train", train), ("valid", valid)):
        if part.others.shape[1] != sides:
            raise InputError(f"inputs {config.inputs}: {names[name]} were built with other inputs")
        if len(part) < 2:
            raise InputError(f"{names[name]}: {len(part)} instances; training and validation need two at least")
    if valid.scores is not None and np.ptp(valid.scores) == 0:
        raise InputError(f"{names['valid']}: all human scores are equal, so that nothing can agree with them")


def _named(part: str, files: Sequence[Path]) -> str:
    """Return what a part of the data is called in messages."""
    name = {"train": "training data", "valid": "validation data"}[part]
    return f"{name} ({', '.join(file.name for file in files)})" if files else name


def _describe(instances: Instances, files: Sequence[Path]) -> DataRecord:
    read_from = [FileRecord(name=file.name, sha256=NamedFile(file).digest()) for file in files]
    return DataRecord(files=read_from, instances=len(instances), digest=instances.digest)


def _open_folder(output: Path, plan: ModelRecord, names: dict[str, str], *, resume: bool) -> bool:
    """Make the folder, or make sure that what is in it belongs to this training; return whether it was made."""
    earlier = next((output / name for name in (PLAN, MODEL) if (output / name).is_file()), None)
    if earlier is None:
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise InputError(f"{output}: is there already and holds no training; name another folder")
        fresh = not output.exists()
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{output}: cannot be made a folder ({error.filename}: {error.strerror})") from error
        return fresh
    if not resume:
        raise InputError(f"{output}: holds a training already: resume goes on with it, or adds seeds")
    begun = read(earlier)
    if begun.encoder.config is None:  # of before it was kept
        plan = plan.model_copy(update={"encoder": plan.encoder.model_copy(update={"config": None})})
    before, now = (_essence(record) for record in (begun, plan))
    for part in ("train", "valid"):
        if before.pop(part) != now.pop(part):
            raise InputError(
                f"{output}: cannot go on: the {names[part]} are not those that the training began with; "
                "name another folder"
            )
    changed = [name for name in now if before[name] != now[name]]
    if changed:
        raise InputError(
            f"{output}: cannot go on: {changed[0]} was {before[changed[0]]}, is {now[changed[0]]}; name another folder"
        )
    return False


def _essence(record: ModelRecord) -> dict[str, object]:
    """Return what two trainings must have in common for one to go on with the other."""
    settings = {f"setting {name}": value for name, value in record.settings.model_dump().items()}
    encoder = record.encoder.model_dump(exclude={"model"})
    return {
        "architecture": record.architecture,
        **settings,
        "encoder": encoder,
        "train": record.train.digest,
        "valid": record.valid.digest,
    }


def _material(
    train: Instances, valid: Instances, store: VectorStore, report: Report | None, names: dict[str, str]
) -> tuple[Material, dict[str, dict[str, int]]]:
    """Store all vectors and leave out instances with a text that has no word piece."""
    parts = {"train": train, "valid": valid}
    counts: dict[str, dict[str, int]] = {}
    blank = {name: part.without_blank() for name, part in parts.items()}
    store.add([text for part in blank.values() for text in part.used_texts()], report)
    kept = {}
    for name, part in blank.items():
        kept[name] = part.take(np.flatnonzero((lengths_of(part, store) > 0).all(axis=1)))
        if len(kept[name]) < 2:
            raise InputError(f"{names[name]}: fewer than two instances have texts with content")
        counts[name] = {"instances": len(kept[name]), "left_out": len(parts[name]) - len(kept[name])}
    return Material(kept["train"], kept["valid"], Target.of(kept["train"].scores), store), counts


def _finish(plan: ModelRecord, output: Path, seeds: Sequence[int], material: Material) -> ModelRecord:
    """Bring every network's output to one scale, and measure the ensemble on the validation data."""
    members, predictions = [], []
    for seed in seeds:
        file = output / member_file(seed)
        weights, facts = read_tensors(file)
        raw = _predict(plan, weights, seed, material)
        target = material.target
        scale, shift = target.sd, target.mean
        if material.train.scores is None:  # differences are all that was learnt: give the networks one scale
            sd = float(raw.std()) or 1.0
            scale, shift = 1 / sd, -float(raw.mean()) / sd
        predictions.append(shift + scale * raw)
        log = [Epoch(**epoch) for epoch in facts["log"]]
        members.append(
            MemberRecord(
                seed=seed,
                file=file.name,
                sha256=file_digest(file),
                scale=scale,
                shift=shift,
                best_epoch=facts["best_epoch"],
                valid=agreement(raw, material.valid),
                log=log,
            )
        )
    mean = np.mean(predictions, axis=0)
    low = material.target.low if material.train.scores is not None else float(mean.min())
    return plan.model_copy(update={"members": members, "low": low, "ensemble_valid": agreement(mean, material.valid)})


def _predict(plan: ModelRecord, weights: Weights, seed: int, material: Material) -> NDArray[np.float64]:
    record = plan.encoder
    network = build_network(
        plan.architecture, plan.settings, layers=record.layers, dimensions=record.dimensions, seed=seed
    )
    network.load_state_dict(weights)
    device = material.store.encoder.view.device
    size = 2 * plan.settings.batch_size
    return predict(network.to(device), material.valid, material.store, size=size, device=device)
