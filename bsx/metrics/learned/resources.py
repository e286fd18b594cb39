"""Checkpoints that are not encoders of the registry: language models, regressors, sentence encoders."""

from __future__ import annotations

import os
from pathlib import Path

from bsx.catalog.entries.models import Source
from bsx.encode.model import identified
from bsx.errors import InputError, ModelUnavailableError
from bsx.models.files import fetch, find


def locate_resource(name: str, purpose: str) -> tuple[Path, str]:
    """Return the folder of a checkpoint, and its name and shortened digest for a signature.

    It is named by a folder, taken as it is, or by a hub id, looked for in the cache and on the hub.

    Raises:
        InputError: if it is neither a folder with a checkpoint nor a hub id.
        ModelUnavailableError: if the hub cannot be reached and the files are not here.
    """
    if Path(name).is_dir():
        source = Source(path=name)
    elif name.count("/") == 1 and not name.startswith((".", "/", "~")):
        source = Source(hub=name, revision="main")
    else:
        raise InputError(f"{purpose}: {name!r} is neither a folder nor a hub id like owner/name")
    folder = find(source)
    if folder is None:
        if source.hub is None:
            raise InputError(f"{purpose}: {name} holds no config.json with weights next to it")
        try:
            folder = fetch(source)
        except ModelUnavailableError as error:
            raise ModelUnavailableError(f"{purpose}: the model {name} is not on this machine: {error}") from error
    result = identified(source, folder, name)
    shown = name if source.path is None else Path(os.path.realpath(folder)).name
    return folder, f"{shown}@{result.label}"
