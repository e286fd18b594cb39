"""What batches need of an encoder, whatever runs it."""

from __future__ import annotations

from typing import Protocol

from bsx.support.arrays import Array


class Embedder(Protocol):
    """An encoder cut at a layer (or with all its layers).

    Attributes:
        layers: the layers it returns, in order; layer 0 is the embedding layer.
        depth: how many layers the whole model has.
        dimensions: size of a token vector.
        position_limit: tokens that its table of positions serves; None if it has none.
        device: where its input must be and its output is.
        pad_id: the id that fills short sequences.
        ignores_padding: whether vectors of tokens are the same whatever padding follows them.
    """

    layers: list[int]
    depth: int
    dimensions: int
    position_limit: int | None
    device: str
    pad_id: int
    ignores_padding: bool

    @property
    def at_once(self) -> int:
        """How many threads may call `encode` at the same time, and should, for it to be fast."""
        ...

    def encode(self, ids: Array, mask: Array | None) -> Array:
        """Encode a padded batch.

        Args:
            ids: token ids (batch, tokens), padded on the right.
            mask: 1 for tokens, 0 for padding (batch, tokens); None if no sequence is padded.

        Returns:
            Vectors (layers, batch, tokens, dim); those of padding are arbitrary.

        Raises:
            MemoryError: if the batch does not fit in memory, or in that of a graphics card.
        """
        ...
