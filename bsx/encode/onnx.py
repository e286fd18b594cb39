"""Encoders run by ONNX Runtime on the CPU, from a file that `bsx.encode.onnx_export` wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from bsx.encode.onnx_export import check_seal, open_session, run_session
from bsx.encode.torch_encoder import Architecture

# Threads that each have a batch need not wait for one another within it. More than these only take memory.
_AT_ONCE = 8


class OnnxEmbedder:
    """An exported encoder; see `bsx.encode.protocol.Embedder` for its attributes.

    Args:
        architecture: what `Architecture.read` says of the checkpoint.
        path: the export.
        layers: the layers it returns.

    Raises:
        ValueError: if the export is damaged; the runtime has errors of its own besides.
    """

    def __init__(self, architecture: Architecture, path: Path, layers: Sequence[int]) -> None:
        self.layers = list(layers)
        self.depth = architecture.depth
        self.dimensions = architecture.dimensions
        self.position_limit = architecture.position_limit
        self.device = torch.device("cpu")
        self.pad_id = architecture.pad_id
        self.ignores_padding = architecture.family.padding
        threads = torch.get_num_threads()
        together = -(-threads // _AT_ONCE)
        self.at_once = threads // together
        check_seal(path)
        self._session = open_session(path, together)

    def encode(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Encode a padded batch; see `bsx.encode.protocol.Embedder.encode`."""
        try:
            return torch.from_numpy(run_session(self._session, ids, torch.ones_like(ids) if mask is None else mask))
        except Exception as error:
            if "allocate memory" in str(error):  # the runtime has no class of error for it
                raise MemoryError(str(error)) from error
            raise
