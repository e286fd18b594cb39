"""An encoder that is loaded when something is encoded, and not before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from bsx.encode.protocol import Embedder
from bsx.encode.torch_encoder import Architecture


class LazyEmbedder:
    """Stands for an encoder until it is needed; see `bsx.encode.protocol.Embedder`.

    Args:
        architecture: what the checkpoint's configuration says.
        layers: the layers it will return; None for all.
        device: where it will run.
        load: loads it.
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        layers: Sequence[int] | None,
        device: torch.device,
        load: Callable[[], Embedder],
    ) -> None:
        for layer in layers or ():
            architecture.check_layer(layer)
        self.layers = list(range(architecture.depth + 1)) if layers is None else sorted(set(layers))
        self.depth = architecture.depth
        self.dimensions = architecture.dimensions
        self.position_limit = architecture.position_limit
        self.device = device
        self.pad_id = architecture.pad_id
        self.ignores_padding = architecture.family.padding
        self._load = load
        self._embedder: Embedder | None = None

    @property
    def loaded(self) -> bool:
        """Whether the encoder is in memory."""
        return self._embedder is not None

    @property
    def at_once(self) -> int:
        """How many batches may be encoded at the same time; asking loads the encoder."""
        return self._loaded.at_once

    @property
    def _loaded(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._load()
        return self._embedder

    def encode(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Encode a padded batch; see `bsx.encode.protocol.Embedder.encode`."""
        return self._loaded.encode(ids, mask)
