"""Writing safetensors files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch


def save_tensors(tensors: Mapping[str, torch.Tensor], path: Path, metadata: Mapping[str, str]) -> None:
    """Write tensors, contiguous and on the CPU, as one safetensors file.

    Raises:
        OSError: if the file cannot be written, as of any other file; safetensors has an error of its own for it.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(dict(tensors), path, metadata=dict(metadata))
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
