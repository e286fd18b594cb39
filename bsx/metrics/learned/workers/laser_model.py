"""LASER sentence encoders, run by laser-encoders; see `serve.py`."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bsx.support.untyped import JsonObject, Untyped

PACKAGE, MODULE = "laser-encoders", "laser_encoders"
_TOKENS = 8192  # of a batch
_SECONDS = 60


class ModelMissing(Exception):  # noqa: N818 - says what happened
    """The model is neither on this machine nor to be had."""


def file_names(lang: str | None) -> list[str]:
    """Return the names of an encoder's weights, subwords and vocabulary, as the package looks for them.

    Raises:
        ValueError: for a language that the package does not know, or knows in several scripts.
    """
    from laser_encoders.language_list import LASER2_LANGUAGE, LASER3_LANGUAGE, SPM_LANGUAGE

    if lang is None:
        return ["laser2.pt", "laser2.spm", "laser2.cvocab"]
    if lang not in LASER3_LANGUAGE:
        if lang not in LASER2_LANGUAGE:
            raise ValueError(f"LASER knows no language {lang!r}: it takes codes like eng_Latn")
        return file_names(None)
    code = LASER3_LANGUAGE[lang]
    if isinstance(code, list):
        raise ValueError(f"{lang!r} is ambiguous: say which of {', '.join(code)}")  # noqa: TRY004 - a wrong value
    shared = "laser2" if code not in SPM_LANGUAGE else f"laser3-{code}.v1"
    return [f"laser3-{code}.v1.pt", f"{shared}.spm", f"{shared}.cvocab"]


def identity(folder: Path, names: list[str]) -> str:
    """Return an encoder's name and the shortened digest of its files."""
    digest = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as stream:
            for part in iter(lambda: stream.read(1 << 20), b""):
                digest.update(part)
    return f"{names[0][: -len('.pt')]}@sha256-{digest.hexdigest()[:12]}"


def fetch_checked() -> Untyped:
    """Make downloads fail where the server does, whose error would be stored as the model; return the errors' class."""
    from laser_encoders import download_models

    requests = download_models.requests

    def get(url: str, **settings: object) -> Untyped:
        response = requests.get(url, timeout=_SECONDS, **settings)
        response.raise_for_status()
        return response

    download_models.requests = Namespace(get=get)
    return requests.exceptions.RequestException


def open_model(options: JsonObject, device: str) -> tuple[JsonObject, Callable[[JsonObject], JsonObject]]:
    """Load one encoder for candidates and one for the texts they are compared with; the same if they may be.

    Args:
        options: ``model_dir``, the folder of the package's files or None; ``cache``, the folder for them then;
            ``langs``, two languages or None (LASER2); ``offline``, why nothing may be fetched, or None.
        device: where to run them.

    Returns:
        Their identities; and a function from ``texts`` and the indices ``left`` and ``right`` to cosines, ``scores``.

    Raises:
        ModelMissing: if files are not here and cannot be fetched.
        ValueError: for an unknown language.
    """
    import numpy as np
    import torch
    from laser_encoders import LaserEncoderPipeline

    named = options["model_dir"] and Path(options["model_dir"]).expanduser()
    if named and not named.is_dir():
        raise ModelMissing(f"there is no folder {options['model_dir']}")
    wanted = [file_names(lang) for lang in options["langs"]]
    folder = named or Path("~/.cache/laser_encoders").expanduser()  # the package's own
    if not named and not all((folder / name).is_file() for names in wanted for name in names):
        folder = Path(options["cache"])
    if not named and not options["offline"]:
        folder.mkdir(parents=True, exist_ok=True)
    if hasattr(torch.serialization, "add_safe_globals"):
        torch.serialization.add_safe_globals([Namespace])  # how LASER3's files keep their settings
    if device.startswith("cuda"):
        torch.cuda.set_device(device if ":" in device else "cuda:0")
    unreachable = fetch_checked()
    pipelines: dict[str, Untyped] = {}
    for lang, names in zip(options["langs"], wanted):  # noqa: B905 - Python 3.8 has no strict
        if names[0] in pipelines:
            continue
        absent = [name for name in names if not (folder / name).is_file()]
        if absent and options["offline"]:
            raise ModelMissing(f"{', '.join(absent)}: not in {folder} and not to be fetched: {options['offline']}")
        try:
            which = {"laser": "laser2"} if names[0] == "laser2.pt" else {"lang": lang}
            pipeline = LaserEncoderPipeline(model_dir=str(folder), **which)
        except unreachable as error:
            raise ModelMissing(f"{', '.join(absent)}: not in {folder} and not to be fetched: {error}") from error
        pipeline.encoder.max_sentences, pipeline.encoder.max_tokens = None, _TOKENS
        pipelines[names[0]] = pipeline
    left, right = (pipelines[names[0]] for names in wanted)

    def encode(pipeline: Untyped, texts: list[str], rows: list[int]) -> dict[int, Untyped]:
        distinct = sorted(set(rows))
        vectors = np.asarray(pipeline.encode_sentences([texts[row] for row in distinct]), dtype=np.float64)
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return {row: unit[at] for at, row in enumerate(distinct)}

    def answer(request: JsonObject) -> JsonObject:
        texts, candidates, others = request["texts"], request["left"], request["right"]
        if left is right:
            ours = theirs = encode(left, texts, candidates + others)
        else:
            ours, theirs = encode(left, texts, candidates), encode(right, texts, others)
        pairs = zip(candidates, others)  # noqa: B905
        return {"scores": [min(1.0, max(-1.0, float(ours[i] @ theirs[j]))) for i, j in pairs]}

    # What ran, not what was asked for: the package knows the CPU and CUDA only.
    ran = "cuda" if left.encoder.use_cuda else "cpu"
    return {"models": [identity(folder, names) for names in wanted], "device": ran}, answer
