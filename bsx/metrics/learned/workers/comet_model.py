"""COMET models, run by unbabel-comet; see `serve.py`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bsx.support.untyped import JsonObject, Untyped

PACKAGE, MODULE = "unbabel-comet", "comet"
_BATCH = 16  # the package's own


class ModelMissing(Exception):  # noqa: N818 - says what happened
    """The model is neither on this machine nor to be had."""


def find_checkpoint(name: str) -> Path:
    """Return a model's checkpoint: of a folder in the package's layout, a file, or a name that the package knows."""
    path = Path(name).expanduser()
    if path.is_dir():
        result = sorted(path.glob("checkpoints/*.ckpt"))
        if not result or not (path / "hparams.yaml").is_file():
            raise ModelMissing(f"{name} holds no hparams.yaml with checkpoints/*.ckpt next to it")
        if len(result) > 1:
            raise ModelMissing(f"{name} holds {len(result)} checkpoints: name one of the files, {result[0]}")
        return result[0]
    if path.suffix == ".ckpt":
        if not path.is_file() or not (path.resolve().parents[1] / "hparams.yaml").is_file():
            raise ModelMissing(f"{name} is not a checkpoint with hparams.yaml in the folder above it")
        return path.resolve()
    try:
        if "/" in name:
            from huggingface_hub import snapshot_download

            checkpoint = Path(snapshot_download(repo_id=name)) / "checkpoints" / "model.ckpt"
        else:
            from comet import download_model

            checkpoint = Path(download_model(name))
    except Exception as error:
        # The package turns every failure into "not supported"; what led to it says more.
        why = error.__context__ if isinstance(error, KeyError) and error.__context__ is not None else error
        raise ModelMissing(f"the model {name} is not on this machine and cannot be fetched: {why}") from error
    if not checkpoint.is_file():
        raise ModelMissing(f"the model {name} holds no checkpoints/model.ckpt")
    return checkpoint


def identity(name: str, checkpoint: Path) -> str:
    """Return a model's name with the hub's commit or the digest of its files, shortened."""
    folder = checkpoint.parents[1]
    if folder.parent.name == "snapshots":
        return f"{name}@hub-{folder.name[:12]}"
    digest = hashlib.sha256()
    for file in (checkpoint, folder / "hparams.yaml"):
        with file.open("rb") as stream:
            for part in iter(lambda: stream.read(1 << 20), b""):
                digest.update(part)
    return f"{folder.name}@sha256-{digest.hexdigest()[:12]}"


def lost_tokens(model: Untyped, samples: list[dict[str, str]]) -> list[int]:
    """Return how many tokens of each sample the model's limits cut off."""
    encoder = model.encoder
    limit = encoder.max_positions - 2
    together = getattr(model.hparams, "input_segments", None)  # such models read all texts as one sequence
    lengths: dict[str, int] = {}
    lost = []
    for sample in samples:
        size = 2
        cut = 0
        parts = [name for name in (together or sample) if name in sample]
        for text in (sample[name] for name in parts):
            if text not in lengths:
                lengths[text] = len(encoder.tokenizer(text)["input_ids"])
            cut += max(0, lengths[text] - limit)
            size += min(lengths[text], limit) - 2
        if together:
            cut += max(0, size + encoder.size_separator * (len(parts) - 1) - encoder.max_positions)
        lost.append(cut)
    return lost


def open_model(options: JsonObject, device: str) -> tuple[JsonObject, Callable[[JsonObject], JsonObject]]:
    """Load the ``model`` that options name: a folder, a checkpoint or a name.

    Returns:
        Its identity and whether it reads references; and a function from ``samples`` with src, mt and perhaps ref to
        ``scores`` and ``lost``.

    Raises:
        ModelMissing: if the model, or its encoder's tokenizer, is not to be had.
    """
    import torch
    from comet import load_from_checkpoint

    checkpoint = find_checkpoint(options["model"])
    try:
        model = load_from_checkpoint(str(checkpoint))
    except OSError as error:  # the encoder's configuration and tokenizer come from the hub
        raise ModelMissing(f"the model {options['model']} is here, but not all that it loads: {error}") from error
    model.eval()
    kind, _, index = device.partition(":")
    devices: dict[str, dict[str, object]] = {
        "cuda": {"gpus": 1, "accelerator": "gpu", "devices": [int(index or 0)]},
        "mps": {"gpus": 1, "accelerator": "mps"},
    }
    where = devices.get(kind, {"gpus": 0})
    # Where there is MPS, the package asks for forked loaders, which torch refuses without at least one of them.
    mps = getattr(torch.backends, "mps", None)
    loaders = 1 if mps is not None and mps.is_available() else 0

    def answer(request: JsonObject) -> JsonObject:
        samples = request["samples"]
        done = model.predict(samples, batch_size=_BATCH, progress_bar=False, num_workers=loaders, **where)
        return {"scores": [float(score) for score in done["scores"]], "lost": lost_tokens(model, samples)}

    segments = getattr(model.hparams, "input_segments", None)
    needs = bool(model.requires_references())
    reads = needs or (segments is not None and "ref" in segments)
    model_of = identity(options["model"], checkpoint)
    return {"model": model_of, "needs_references": needs, "reads_references": reads}, answer
