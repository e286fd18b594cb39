"""One encoder behind several metrics: each distinct sequence goes through it once."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bsx.encode.batching import Batcher
from bsx.encode.opening import Opener
from bsx.errors import InputError
from bsx.support.arrays import Array, fetch, put

if TYPE_CHECKING:
    from bsx.encode.cached import CachedEncoding


@dataclass
class _Kept:
    """An encoded batch: vectors (layers, batch, tokens, dim), the sequences they are of, and hashes of their texts."""

    vectors: Array
    keys: list[bytes]
    texts: list[int]

    @property
    def bytes(self) -> int:
        return int(self.vectors.nbytes)

    def wanted(self, uses: Mapping[int, int]) -> list[int]:
        return [row for row, text in enumerate(self.texts) if text in uses]


class SharedEncoder:
    """An encoder that remembers what it has encoded, so that metrics, blocks of a run and calls share the work.

    Weights are loaded at the first encoding, up to the highest layer that anybody asked for until then. What is
    remembered: everything with ``remember`` or for several metrics, else what comes again by ``uses``. Beyond the
    budget, vectors that were not used for longest are forgotten, or go to a temporary file if they come again.

    Several threads may use it: what is remembered is looked up and changed, and weights are run, by one at a time.

    Args:
        opener: opens the encoder.
        batch_tokens: padded tokens of a batch; None for the device's default.
        budget: tells how many bytes of vectors to remember.
        remember: whether for later calls too, beyond what a run expects.
        uses: hash of a text -> how many uses of it are expected; the session keeps it up to date.
        lock: held while anything is looked up or changed, re-entrant; the session's, which changes ``uses`` under it.
    """

    def __init__(
        self,
        opener: Opener,
        *,
        batch_tokens: int | None,
        budget: Callable[[], int],
        remember: bool,
        uses: Mapping[int, int],
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self.opener = opener
        self.architecture = opener.architecture
        self.device = opener.device
        self._batch_tokens = batch_tokens
        self._budget = budget
        self._remembers = remember
        self._uses = uses
        self._lock = lock if lock is not None else threading.RLock()
        self._views = 0
        self.wanted: set[int] = set()
        """All layers that anybody asked for."""
        self._layers: list[int] = []
        self._batcher: Batcher | None = None
        self._cached: CachedEncoding | None = None
        self._encoded_before = 0
        self._kept: dict[int, _Kept] = {}
        self._held: OrderedDict[int, None] = OrderedDict()  # those in memory, the ones not used for longest first
        self._seen: set[int] = set()  # those made or used since the last `settle`
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
        with self._lock:
            self.wanted |= set(layers)
            self._views += 1
        return LayerView(self, layers)

    @property
    def batcher(self) -> Batcher:
        """What runs the encoder; asking loads it."""
        with self._lock:
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
        with self._lock:
            return self._encoded_before + (0 if self._batcher is None else self._batcher.sequences_encoded)

    def _open(self) -> None:
        if self.wanted <= set(self._layers):
            return
        self.forget()  # what is remembered lacks the new layers
        self._encoded_before, self._batcher = self.sequences_encoded, None
        self._layers = sorted(self.wanted)
        self._cached = self.opener.cached(self._layers)

    def _run(self, sequences: list[Sequence[int]]) -> Iterator[tuple[list[int], Array]]:
        layers = self._layers
        if self._cached is None:
            return self.batcher.run(sequences)

        def batcher() -> Batcher:  # of the layers that are run, though others may be wanted by now
            return self.batcher if self._layers is layers else self.opener.batcher(layers, self._batch_tokens)

        return self._cached.run(sequences, batcher)

    def _one_by_one(self, sequences: list[Sequence[int]]) -> Iterator[tuple[list[int], Array]]:
        """Yield what `_run` yields, each batch made under the lock and handed on without it."""
        with self._lock:
            batches = self._run(sequences)
        while True:
            with self._lock:
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def encode(
        self, sequences: Sequence[Sequence[int]], texts: Sequence[str], layers: list[int]
    ) -> Iterator[tuple[list[int], Array]]:
        """Encode sequences, or recall them; see `LayerView.run`."""
        with self._lock:
            self._open()
            run = self._layers
            rows = [run.index(layer) for layer in layers]
            chosen = slice(None) if rows == list(range(len(run))) else rows
            everything = self._remembers or self._views > 1
            through = not (everything or self._uses)
            keys = [] if through else [np.asarray(s, dtype=np.int32).tobytes() for s in sequences]
            known: dict[int, list[int]] = {}  # batch that is remembered -> indices of the sequences that it holds
            new: dict[bytes, list[int]] = {}  # key -> indices of the other sequences
            for i, key in enumerate(keys):
                if key in self._where:
                    known.setdefault(self._where[key][0], []).append(i)
                else:
                    new.setdefault(key, []).append(i)
            self._seen.update(known)
            for number in known:
                if number in self._held:
                    self._held.move_to_end(number)
            # Whoever has a batch in hand keeps it, though another thread may have it forgotten meanwhile.
            recalled = [(self._kept[n], some, [self._where[keys[i]][1] for i in some]) for n, some in known.items()]
            batches = self._one_by_one(list(sequences) if through else [sequences[i[0]] for i in new.values()])
        if through:
            yield from ((batch, vectors[chosen]) for batch, vectors in batches)
            return
        for kept, indices, places in recalled:
            yield indices, put(kept.vectors[chosen][:, places], self.device)
        firsts = [indices[0] for indices in new.values()]
        names = [hash(text) for text in texts] or [0] * len(sequences)
        for batch, vectors in batches:
            mine = [firsts[i] for i in batch]
            kept = _Kept(vectors, [keys[i] for i in mine], [names[i] for i in mine])
            with self._lock:
                if self._layers is run:  # else what is remembered has other layers by now
                    self._keep(kept, None if everything else kept.wanted(self._uses))
            copies = [(i, row) for row, first in enumerate(mine) for i in new[keys[first]]]
            places = [row for _, row in copies]
            part = vectors[chosen]
            yield [i for i, _ in copies], part if len(copies) == len(mine) else part[:, places]
        with self._lock:
            self._shrink()

    def _keep(self, kept: _Kept, rows: list[int] | None) -> None:
        """Remember some rows of a batch, or all of them, but those that are remembered already."""
        rows = [row for row in (range(len(kept.keys)) if rows is None else rows) if kept.keys[row] not in self._where]
        if len(rows) < len(kept.keys):
            kept = _Kept(kept.vectors[:, rows], [kept.keys[i] for i in rows], [kept.texts[i] for i in rows])
        if not kept.keys:
            return
        self._batches += 1
        self._kept[self._batches] = kept
        self._held[self._batches] = None
        self._seen.add(self._batches)
        self._where.update({key: (self._batches, row) for row, key in enumerate(kept.keys)})
        self._bytes += kept.bytes

    def _drop(self, number: int) -> _Kept:
        """Forget a batch, and return it."""
        kept = self._kept.pop(number)
        if number in self._held:
            del self._held[number]
            self._bytes -= kept.bytes
        for key in kept.keys:
            del self._where[key]
        return kept

    def _shrink(self) -> None:
        while self._held and self._bytes > self._budget():
            number = next(iter(self._held))
            kept = self._drop(number)
            if rows := kept.wanted(self._uses):
                self._keep(kept, rows)
                latest = self._batches
                self._bytes -= self._kept[latest].bytes
                del self._held[latest]
                raw = np.ascontiguousarray(fetch(self._kept[latest].vectors))
                with tempfile.TemporaryFile(prefix="bsx-vectors-") as stream:  # the map keeps it until it is let go
                    stream.write(raw.reshape(-1).view(np.uint8).data)
                    stream.flush()
                    self._kept[latest].vectors = np.memmap(stream, dtype=raw.dtype, mode="c", shape=raw.shape)

    def settle(self) -> None:
        """Forget what was used by now and does not come again, unless it is remembered anyway."""
        with self._lock:
            last = not self._uses
            for number in list(self._kept) if last else [number for number in self._seen if number in self._kept]:
                if self._remembers and (number in self._held or not last):
                    continue
                rows = self._kept[number].wanted(self._uses)
                if 2 * len(rows) <= len(self._kept[number].keys):  # a few that are not wanted do not repay a copy
                    self._keep(self._drop(number), rows)
            self._seen.clear()

    def forget(self) -> None:
        """Let go of all vectors that are remembered."""
        with self._lock:
            self._kept.clear()
            self._held.clear()
            self._where.clear()
            self._bytes = 0

    def flush(self) -> None:
        """Write what a cache on disk does not hold yet; the end of the process does it too."""
        with self._lock:
            if self._cached is not None:
                self._cached.flush()


class LayerView:
    """Some layers of a shared encoder, which metrics may want others of: what turns token ids into vectors.

    Attributes:
        shared: the encoder.
        layers: the layers it returns, in order; layer 0 is the embedding layer.
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
        return self.shared.opener.backend

    def run(self, sequences: Sequence[Sequence[int]], texts: Sequence[str] = ()) -> Iterator[tuple[list[int], Array]]:
        """Encode sequences, or recall them.

        Args:
            sequences: token ids, special ones included.
            texts: the text that each is from, by which it is known whether it comes again.

        Yields:
            Indices of some sequences and their padded vectors (layers, batch, tokens, dim).
        """
        return self.shared.encode(sequences, texts, self.layers)
