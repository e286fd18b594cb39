"""One encoder behind several metrics: each distinct sequence goes through it once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bsx.encode.batching import Batcher
from bsx.encode.cache.encoding import CachedEncoding
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
        budget: bytes of vectors to remember; the longest unused ones are forgotten beyond it. 0: every sequence is
            encoded as it comes, for a metric that has the encoder for itself and keeps what it needs again.
    """

    def __init__(self, opener: Opener, *, batch_tokens: int | None, budget: int) -> None:
        self.opener = opener
        self.architecture = opener.architecture
        self.device = opener.device
        self._batch_tokens = batch_tokens
        self._budget = budget
        self.wanted: set[int] = set()
        """All layers that anybody asked for."""
        self._layers: list[int] = []
        self._batcher: Batcher | None = None
        self._cached: CachedEncoding | None = None
        self._encoded_before = 0
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
        self.wanted |= set(layers)
        return LayerView(self, layers)

    @property
    def batcher(self) -> Batcher:
        """What runs the encoder; asking loads it."""
        self._open()
        if self._batcher is None:
            self._batcher = self.opener.batcher(self._layers, self._batch_tokens)
        return self._batcher

    def load(self) -> None:
        """Load the encoder now instead of at the first encoding."""
        _ = self.batcher

    @property
    def loaded(self) -> bool:
        """Whether the encoder is in memory."""
        return self._batcher is not None

    @property
    def sequences_encoded(self) -> int:
        """How many sequences went through the encoder so far; those read from disk did not."""
        return self._encoded_before + (0 if self._batcher is None else self._batcher.sequences_encoded)

    def _open(self) -> None:
        if self.wanted <= set(self._layers):
            return
        self.forget()  # what is remembered lacks the new layers
        self._encoded_before, self._batcher = self.sequences_encoded, None
        self._layers = sorted(self.wanted)
        self._cached = self.opener.cached(self._layers)

    def _run(self, sequences: list[Sequence[int]]) -> Iterator[tuple[list[int], torch.Tensor]]:
        if self._cached is None:
            return self.batcher.run(sequences)
        return self._cached.run(sequences, lambda: self.batcher)

    def encode(self, sequences: Sequence[Sequence[int]], layers: list[int]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Encode sequences, or recall them.

        Args:
            sequences: token ids, special ones included.
            layers: the layers to return.

        Yields:
            Indices of some sequences and their padded vectors (layers, batch, tokens, dim).
        """
        self._open()
        rows = [self._layers.index(layer) for layer in layers]
        chosen = slice(None) if rows == list(range(len(self._layers))) else rows
        if not self._budget:
            yield from ((batch, vectors[chosen]) for batch, vectors in self._run(list(sequences)))
            return
        keys = [np.asarray(s, dtype=np.int32).tobytes() for s in sequences]
        known: dict[int, list[int]] = {}
        new: dict[bytes, list[int]] = {}
        for i, key in enumerate(keys):
            if key in self._where:
                known.setdefault(self._where[key][0], []).append(i)
            else:
                new.setdefault(key, []).append(i)
        for number, indices in known.items():
            self._kept.move_to_end(number)
            places = [self._where[keys[i]][1] for i in indices]
            yield indices, self._kept[number].vectors[chosen][:, places]
        firsts = [indices[0] for indices in new.values()]
        for batch, vectors in self._run([sequences[i] for i in firsts]):
            mine = [firsts[i] for i in batch]
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

    def flush(self) -> None:
        """Write what a cache on disk does not hold yet; the end of the process does it too."""
        if self._cached is not None:
            self._cached.flush()


class LayerView:
    """Some layers of a shared encoder; see `bsx.encode.protocol.Encoding`.

    Attributes:
        shared: the encoder.
        layers: the layers it returns, in order.
        dimensions: size of a token vector.
        device: where the vectors are.
    """

    def __init__(self, shared: SharedEncoder, layers: list[int]) -> None:
        if not layers:
            raise InputError("a view of an encoder needs at least one layer")
        self.shared = shared
        self.layers = layers
        self.dimensions = shared.architecture.dimensions
        self.device = shared.device

    @property
    def backend(self) -> str:
        """What computes, with its version, for a signature."""
        return self.shared.opener.backend(sorted(self.shared.wanted))

    def run(self, sequences: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Encode all sequences; see `SharedEncoder.encode`."""
        return self.shared.encode(sequences, self.layers)
