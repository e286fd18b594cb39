"""Encoding through a cache on disk: what it holds is read, the rest is encoded and put there."""

from __future__ import annotations

import hashlib
import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.encode.batching import Batcher, plan_batches
from bsx.encode.vector_cache import KEY_BYTES, CachedVectors, CacheFile, VectorCache
from bsx.support.arrays import Array, put
from bsx.support.tensors import FORMATS, as_stored

# Padded tokens read at once: a bound on memory, not a matter of speed.
_READ_TOKENS = 16_384
# Seconds between two files of one encoder that are not full.
_PATIENCE = 10.0
Place = tuple[CacheFile | None, int]


def sequence_key(ids: Sequence[int]) -> bytes:
    """Return the key of a sequence of token ids."""
    return hashlib.blake2b(np.asarray(ids, dtype="<i4").tobytes(), digest_size=KEY_BYTES).digest()


class CachedEncoding:
    """Runs an encoder only on what a cache on disk does not hold.

    A sequence read from disk has the very numbers that were computed for it once. One that is computed now may differ
    from another run's in the last bit, as ever, if the batch around it is another.

    Args:
        cache: the cache.
        fields: everything that changes the encoder's vectors, beside token ids and layer.
        dtype: number format of its vectors.
        layers: the layers it returns.
        dimensions: size of a token vector.
        device: where vectors are wanted.
    """

    def __init__(
        self,
        cache: VectorCache,
        fields: dict[str, object],
        dtype: str,
        layers: list[int],
        dimensions: int,
        device: str,
    ) -> None:
        self._dimensions = dimensions
        self._device = device
        # Without the final norm, what layer k is depends on which layer is the highest.
        top = {} if fields.get("final_norm", True) else {"top": layers[-1]}
        # On the CPU vectors are NumPy's, which has no bf16: they are fp32.
        self._kind = {"fp16": "F16", "bf16": "F32" if device == "cpu" else "BF16"}.get(dtype, "F32")
        self._stores = [cache.store({**fields, **top, "layer": layer}, self._kind, dimensions) for layer in layers]
        weakref.finalize(self, _publish, self._stores)

    def flush(self) -> None:
        """Write what is not on disk yet; the end of the process does it too."""
        _publish(self._stores)

    def run(
        self, sequences: Sequence[Sequence[int]], batcher: Callable[[], Batcher]
    ) -> Iterator[tuple[list[int], Array]]:
        """Encode all sequences, or read them; see `bsx.encode.shared.LayerView.run`.

        Args:
            sequences: token ids.
            batcher: loads what runs the encoder; it is not called if the cache holds all of them.
        """
        keys = [sequence_key(sequence) for sequence in sequences]
        places = [store.find(keys) for store in self._stores]
        known = [i for i in range(len(keys)) if all(place[i] is not None for place in places)]
        missing = sorted(set(range(len(keys))) - set(known))
        lengths = [len(sequences[i]) for i in known]
        for part in plan_batches(lengths, _READ_TOKENS // len(self._stores)):
            batch = [known[i] for i in part]
            vectors, good = self._read(batch, [keys[i] for i in batch], [len(sequences[i]) for i in batch], places)
            missing += [i for i, whole in zip(batch, good, strict=True) if not whole]
            rows = [row for row, whole in enumerate(good) if whole]
            if rows:
                there = put(vectors if len(rows) == len(batch) else vectors[:, rows], self._device)
                if self._kind == "BF16":
                    there = there.view(importlib.import_module("torch").bfloat16)
                yield [batch[row] for row in rows], there
        for part, vectors in batcher().run([sequences[i] for i in missing]) if missing else ():
            batch = [missing[i] for i in part]
            on_cpu = as_stored(vectors)[1]
            for row, i in enumerate(batch):
                for layer, store in enumerate(self._stores):
                    if places[layer][i] is None:
                        store.put(keys[i], on_cpu[layer, row, : len(sequences[i])])
            yield batch, vectors
        _publish(self._stores, unless_younger=_PATIENCE)

    def _read(
        self, batch: list[int], keys: list[bytes], lengths: list[int], places: list[list[Place | None]]
    ) -> tuple[NDArray[np.generic], list[bool]]:
        """Return padded vectors (layers, batch, tokens, dim), and which rows were there and unharmed."""
        shape = (len(self._stores), len(batch), max(lengths), self._dimensions)
        vectors = np.empty(shape, dtype=FORMATS[self._kind])
        good = [True] * len(batch)
        for layer, store in enumerate(self._stores):
            wanted = [
                (key, places[layer][i] or (None, 0), vectors[layer, row, :length])
                for row, (i, key, length) in enumerate(zip(batch, keys, lengths, strict=True))
            ]
            for row, there in enumerate(store.read(wanted)):
                if not there:
                    good[row] = False
                    places[layer][batch[row]] = None
        return vectors, good


def _publish(stores: list[CachedVectors], *, unless_younger: float = 0.0) -> None:
    for store in stores:
        store.publish(unless_younger=unless_younger)
