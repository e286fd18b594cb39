"""One encoder behind several metrics: each distinct sequence goes through it once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bsx.encode.batching import Batcher
from bsx.encode.cache.cached_encoding import CachedEncoding
from bsx.encode.opening import Opener
from bsx.errors import InputError


@dataclass
class _Kept:
    """An encoded batch: its vectors (layers, batch, tokens, dim) and the sequences they are of."""

    vectors: torch.Tensor
    keys: list[bytes]


class SharedEncoder:
    """An encoder that remembers what it has encoded, so that metrics and calls share the work.

    Weights are loaded at the first encoding, up to the highest layer that anybody asked for until then.

    Args:
        opener: opens the encoder.
        batch_tokens: padded tokens of a batch; None for the device's default.
        budget: bytes of vectors to remember; the longest unused ones are forgotten beyond it.
    """

    def __init__(self, opener: Opener, *, batch_tokens: int | None, budget: int) -> None:
        self.opener = opener
        self.architecture = opener.architecture
        self.device = opener.device
        self.sequences_encoded = 0
        """How many sequences went through the encoder so far."""
        self._batch_tokens = batch_tokens
        self._budget = budget
        self._wanted: set[int] = set()
        self._batcher: Batcher | CachedEncoding | None = None
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._where: dict[bytes, tuple[int, int]] = {}
        self._bytes = 0
        self._batches = 0

    def view(self, layers: Iterable[int]) -> LayerView:
        """Return a window on some layers; every layer of every view is known before the first encoding.

        Raises:
            InputError: for a layer that the model does not have.
        """
        layers = sorted(set(layers))
        for layer in layers:
            self.architecture.check_layer(layer)
        self._wanted |= set(layers)
        return LayerView(self, layers)

    @property
    def backend(self) -> str:
        """What computes, with its version; see `bsx.encode.opening.Opener.backend`."""
        return self.opener.backend(sorted(self._wanted))

    @property
    def _loaded(self) -> Batcher | CachedEncoding:
        held = [] if self._batcher is None else self._batcher.embedder.layers
        if self._batcher is None or not self._wanted <= set(held):
            self.forget()  # what is remembered lacks the new layers
            self._batcher = self.opener.encoding(sorted(self._wanted), self._batch_tokens)
        return self._batcher

    def encode(self, sequences: Sequence[Sequence[int]], layers: list[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Encode sequences, or recall them.

        Args:
            sequences: token ids, special ones included.
            layers: the layers to return.

        Yields:
            Indices of some sequences and their padded vectors (layers, batch, tokens, dim).
        """
        batcher = self._loaded
        keys = [np.asarray(s, dtype=np.int32).tobytes() for s in sequences]
        known: dict[int, list[int]] = {}
        new: dict[bytes, list[int]] = {}
        for i, key in enumerate(keys):
            if key in self._where:
                known.setdefault(self._where[key][0], []).append(i)
            else:
                new.setdefault(key, []).append(i)
        rows = [batcher.embedder.layers.index(layer) for layer in layers]
        chosen = slice(None) if rows == list(range(len(batcher.embedder.layers))) else rows
        for number, indices in known.items():
            self._kept.move_to_end(number)
            places = [self._where[keys[i]][1] for i in indices]
            yield indices, self._kept[number].vectors[chosen][:, places]
        firsts = [indices[0] for indices in new.values()]
        before = batcher.sequences_encoded
        for batch, vectors in batcher.run([sequences[i] for i in firsts]):
            mine = [firsts[i] for i in batch]
            self.sequences_encoded += batcher.sequences_encoded - before
            before = batcher.sequences_encoded
            self._remember([keys[i] for i in mine], vectors)
            copies = [(i, row) for row, first in enumerate(mine) for i in new[keys[first]]]
            places = [row for _, row in copies]
            part = vectors[chosen]
            yield [i for i, _ in copies], part if len(copies) == len(mine) else part[:, places]
        self._shrink()

    def _remember(self, keys: list[bytes], vectors: torch.Tensor) -> None:
        self._batches += 1
        self._kept[self._batches] = _Kept(vectors, keys)
        self._where.update({key: (self._batches, row) for row, key in enumerate(keys)})
        self._bytes += vectors.numel() * vectors.element_size()

    def _shrink(self) -> None:
        while self._bytes > self._budget and self._kept:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.vectors.numel() * oldest.vectors.element_size()
            for key in oldest.keys:
                del self._where[key]

    def forget(self) -> None:
        """Let go of all vectors that are remembered."""
        self._kept.clear()
        self._where.clear()
        self._bytes = 0


class LayerView:
    """Some layers of a shared encoder; takes the place of a `bsx.encode.batching.Batcher` and of its embedder.

    Attributes:
        layers: the layers it returns, in order.
        depth: how many layers the whole model has.
        dimensions: size of a token vector.
        position_limit: tokens that the model's table of positions serves; None if it has none.
        device: where the vectors are.
    """

    def __init__(self, shared: SharedEncoder, layers: list[int]) -> None:
        if not layers:
            raise InputError("a view of an encoder needs at least one layer")
        self.shared = shared
        self.layers = layers
        self.depth = shared.architecture.depth
        self.dimensions = shared.architecture.dimensions
        self.position_limit = shared.architecture.position_limit
        self.device = shared.device

    @property
    def embedder(self) -> LayerView:
        """Itself: what is asked of an embedder beside encoding, it answers too."""
        return self

    @property
    def backend(self) -> str:
        """What computes, with its version, for a signature."""
        return self.shared.backend

    @property
    def sequences_encoded(self) -> int:
        """How many sequences went through the shared encoder so far, for whomever."""
        return self.shared.sequences_encoded

    def run(self, sequences: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Encode all sequences; see `SharedEncoder.encode`."""
        return self.shared.encode(sequences, self.layers)
