"""Hidden states of texts, flat in memory: what every metric on an encoder starts from.

Each distinct sequence goes through an encoder once: what comes again is remembered within a budget of memory, and
beyond it in a file.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from bsx.encode.batching import Batcher
from bsx.encode.model import Opener
from bsx.encode.tokenizer import Span, TokenizedText, Tokenizer
from bsx.encode.vector_cache import CachedEncoding, VectorCache
from bsx.errors import InputError
from bsx.support.arrays import Array, as_fp32, beside, fetch, put, zeros


@dataclass(eq=False)
class _Batch:
    """Remembered vectors (layers, batch, tokens, dim), as what returns them, their sequences, hashes of their texts."""

    vectors: Callable[[], Array]
    keys: list[bytes]
    texts: list[int]


def _in_memory(vectors: Array) -> Callable[[], Array]:
    return lambda: vectors


class _File:
    """The temporary file of one run, which is closed when nobody reads from it any more."""

    def __init__(self) -> None:
        self._stream: IO[bytes] = tempfile.TemporaryFile(prefix="bsx-vectors-")  # noqa: SIM115 - the next line closes it
        weakref.finalize(self, self._stream.close)

    def write(self, array: NDArray[np.generic]) -> Callable[[], Array]:
        """Write an array, and return what reads it: a map of its part of the file."""
        start, kind, shape = self._stream.seek(0, 2), array.dtype, array.shape
        self._stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        self._stream.flush()
        return lambda: np.memmap(self._stream, kind, "r", start, shape)


@dataclass(eq=False, repr=False)
class SharedEncoder:
    """An encoder that remembers what it has encoded, so that metrics, blocks of a run and calls share the work.

    Weights are loaded at the first encoding, up to the highest layer that anybody asked for until then. What is
    remembered: everything with ``remember`` or for several metrics, else what comes again by ``uses``. Beyond the
    budget, vectors that were not used for longest are forgotten, or go to a temporary file if they come again.

    Several threads may use it: what is remembered is looked up and changed, and weights are run, by one at a time.

    Attributes:
        opener: opens the encoder.
        cache: where vectors outlive the run, if anywhere.
        batch_tokens: padded tokens of a batch; None for the device's default.
        budget: tells how many bytes of vectors to remember.
        remember: whether for later calls too, beyond what a run expects.
        uses: hash of a text -> how many uses of it are expected; the session keeps it up to date.
        lock: held while anything is looked up or changed, re-entrant; the session's, which changes ``uses`` under it.
    """

    opener: Opener
    cache: VectorCache | None
    batch_tokens: int | None
    budget: Callable[[], int]
    remember: bool
    uses: Mapping[int, int]
    lock: AbstractContextManager[object]

    def __post_init__(self) -> None:
        self.architecture = self.opener.architecture
        self.device = self.opener.device
        self._views = 0
        self._wanted: set[int] = set()  # all layers that anybody asked for
        self._layers: list[int] = []
        self._batcher: Batcher | None = None
        self._cached: CachedEncoding | None = None
        self._encoded_before = 0
        self._where: dict[bytes, tuple[_Batch, int]] = {}
        self._batches: OrderedDict[_Batch, int] = OrderedDict()  # not used for longest first; bytes, 0 in the file
        self._file: _File | None = None
        self._seen: dict[_Batch, None] = {}  # those made or used since the last `settle`

    def view(self, layers: Iterable[int]) -> LayerView:
        """Return a window on some layers; every layer of every view is known before the first encoding.

        Raises:
            InputError: for a layer that the model does not have.
        """
        layers = sorted(set(layers))
        for layer in layers:
            self.architecture.check_layer(layer)
        with self.lock:
            self._wanted |= set(layers)
            self._views += 1
        return LayerView(self, layers)

    @property
    def batcher(self) -> Batcher:
        """What runs the encoder; asking loads it."""
        with self.lock:
            self._open()
            if self._batcher is None:
                self._batcher = self.opener.batcher(self._layers, self.batch_tokens)
            return self._batcher

    @property
    def sequences_encoded(self) -> int:
        """How many sequences went through the encoder so far; those read from disk did not."""
        with self.lock:
            return self._encoded_before + (0 if self._batcher is None else self._batcher.sequences_encoded)

    def _open(self) -> None:
        if not self._wanted <= set(self._layers):
            self.forget()  # what is remembered lacks the new layers
            self._encoded_before, self._batcher = self.sequences_encoded, None
            self._layers = sorted(self._wanted)
            self._cached = None if self.cache is None else CachedEncoding(self.cache, self.opener, self._layers)

    def encode(
        self, sequences: Sequence[Sequence[int]], texts: Sequence[str], layers: list[int]
    ) -> Iterator[tuple[list[int], Array]]:
        """Encode sequences, or recall them; see `LayerView.run`."""
        with self.lock:
            self._open()
            run, cached = self._layers, self._cached
            rows = [run.index(layer) for layer in layers]
            chosen = slice(None) if rows == list(range(len(run))) else rows
            everything = self.remember or self._views > 1
            through = not (everything or self.uses)
            keys = [] if through else [np.asarray(s, dtype=np.int32).tobytes() for s in sequences]
            known: dict[_Batch, list[int]] = {}  # batch that is remembered -> indices of the sequences that it holds
            new: dict[bytes, list[int]] = {}  # key -> indices of the other sequences
            for i, key in enumerate(keys):
                if key in self._where:
                    known.setdefault(self._where[key][0], []).append(i)
                else:
                    new.setdefault(key, []).append(i)
            self._seen.update(dict.fromkeys(known))
            for batch in known:
                self._batches.move_to_end(batch)
            # Whoever has a batch in hand keeps it, though another thread may have it forgotten meanwhile.
            recalled = [(batch, some, [self._where[keys[i]][1] for i in some]) for batch, some in known.items()]

        def batcher() -> Batcher:  # of the layers that are run, though others may be wanted by now
            return self.batcher if self._layers is run else self.opener.batcher(run, self.batch_tokens)

        def batches() -> Iterator[tuple[list[int], Array]]:
            """Yield batches of what is not remembered, each made under the lock and handed on without it."""
            missing = list(sequences) if through else [sequences[several[0]] for several in new.values()]
            with self.lock:
                made = batcher().run(missing) if cached is None else cached.run(missing, batcher)
            while True:
                with self.lock:
                    following = next(made, None)
                if following is None:
                    return
                yield following

        if through:
            yield from ((indices, vectors[chosen]) for indices, vectors in batches())
            return
        for batch, indices, places in recalled:
            with self.lock:
                vectors = batch.vectors()
            yield indices, put(vectors[chosen][:, places], self.device)
        firsts = [several[0] for several in new.values()]
        names = [hash(text) for text in texts] or [0] * len(sequences)
        for indices, vectors in batches():
            mine = [firsts[i] for i in indices]
            batch = _Batch(_in_memory(vectors), [keys[i] for i in mine], [names[i] for i in mine])
            with self.lock:
                if self._layers is run:  # else what is remembered has other layers by now
                    self._keep(batch, range(len(mine)) if everything else self._coming(batch))
            copies = [(i, row) for row, first in enumerate(mine) for i in new[keys[first]]]
            places = [row for _, row in copies]
            part = vectors[chosen]
            yield [i for i, _ in copies], part if len(copies) == len(mine) else part[:, places]
        with self.lock:
            beyond = sum(self._batches.values()) - self.budget()
            for batch, size in list(self._batches.items()) if beyond > 0 else ():
                if beyond > 0 and size:
                    self._replace(batch, self._coming(batch), filed=True)
                    beyond -= size

    def _coming(self, batch: _Batch) -> list[int]:
        """Return the rows of a batch whose texts come again."""
        return [row for row, text in enumerate(batch.texts) if text in self.uses]

    def _keep(self, batch: _Batch, rows: Sequence[int], *, filed: bool = False) -> None:
        """Remember some rows of a batch in memory or in the file, but those that are remembered already."""
        rows = [row for row in rows if batch.keys[row] not in self._where]
        if not rows:
            return
        vectors = batch.vectors()
        if len(rows) < len(batch.keys):
            vectors = vectors[:, rows]
        if filed:
            self._file = self._file or _File()
            reading = self._file.write(fetch(vectors))
        else:
            reading = _in_memory(vectors)
        kept = _Batch(reading, [batch.keys[i] for i in rows], [batch.texts[i] for i in rows])
        self._batches[kept] = 0 if filed else int(vectors.nbytes)
        self._seen[kept] = None
        self._where.update({key: (kept, row) for row, key in enumerate(kept.keys)})

    def _replace(self, batch: _Batch, rows: list[int], *, filed: bool = False) -> None:
        """Forget a batch but for some rows."""
        del self._batches[batch]
        for key in batch.keys:
            del self._where[key]
        self._keep(batch, rows, filed=filed)

    def settle(self) -> None:
        """Forget what was used by now and does not come again, unless it is remembered anyway."""
        with self.lock:
            for batch in list(self._seen if self.uses else self._batches):
                if batch in self._batches:
                    rows, in_memory = self._coming(batch), self._batches[batch] > 0
                    # A few that are not wanted do not repay a copy.
                    if not self.remember and 2 * len(rows) <= len(batch.keys) if in_memory else not rows:
                        self._replace(batch, rows)
            self._seen.clear()
            if not self.uses:
                self._file = None

    def forget(self) -> None:
        """Let go of all vectors that are remembered."""
        with self.lock:
            self._where.clear()
            self._batches.clear()
            self._file = None


class LayerView:
    """Some layers of a shared encoder, in order, which metrics may want others of: what turns token ids into vectors.

    Layer 0 is the embedding layer. ``dimensions`` is the size of a token vector.
    """

    def __init__(self, shared: SharedEncoder, layers: list[int]) -> None:
        if not layers:
            raise InputError("a view of an encoder needs at least one layer")
        self.shared = shared
        self.layers = layers
        self.dimensions = shared.architecture.dimensions
        self.device = shared.device

    def run(self, sequences: Sequence[Sequence[int]], texts: Sequence[str] = ()) -> Iterator[tuple[list[int], Array]]:
        """Encode sequences, or recall them.

        Args:
            sequences: token ids, special ones included.
            texts: the text that each is from, by which it is known whether it comes again.

        Yields:
            Indices of some sequences and their padded vectors (layers, batch, tokens, dim).
        """
        return self.shared.encode(sequences, texts, self.layers)


def normalise(vectors: Array) -> Array:
    """Return vectors (…, dim) in fp32 at length 1; zero vectors stay zero."""
    vectors = as_fp32(vectors)
    if isinstance(vectors, np.ndarray):
        lengths = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
        return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return vectors / vectors.norm(dim=-1, keepdim=True).clamp_min(float(np.finfo(np.float32).tiny))


def encode_rows(texts: Sequence[tuple[str, TokenizedText, int]], encoding: LayerView) -> Iterator[tuple[Array, Array]]:
    """Encode texts whose tokens lie one after another in a flat array.

    Args:
        texts: texts, tokenised, and the row of each one's first token.
        encoding: runs the encoder.

    Yields:
        Rows (tokens,) and the hidden states that belong there (layers, tokens, dim), as the encoder gives them.
    """
    spans: list[tuple[str, Span, int]] = []  # its text, and where the kept part of it goes
    for name, text, row in texts:
        for span in text.spans:
            spans.append((name, span, row))
            row += len(span.positions)
    for batch, output in encoding.run([span.ids for _, span, _ in spans], [name for name, _, _ in spans]):
        layers, _, longest, dimensions = output.shape
        source = np.concatenate([spans[i][1].positions + n * longest for n, i in enumerate(batch)])
        target = np.concatenate([np.arange(len(spans[i][1].positions)) + spans[i][2] for i in batch])
        flat = output.reshape(layers, -1, dimensions)
        rows, places = beside(np.stack([target, source]), output)
        yield rows, flat[:, places]


@dataclass
class States:
    """Hidden states of texts, token after token, text after text.

    Attributes:
        vectors: (layers, tokens, dim), fp32, not normalised, on the encoder's device.
        ids: token ids, special ones included (tokens,).
        offsets: first row of each text (texts,).
        lengths: tokens of each text (texts,).
        lost: tokens of each text that the model's limit cut off (texts,).
    """

    vectors: Array
    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    lost: NDArray[np.int64]

    def select(self, keep: NDArray[np.bool_]) -> States:
        """Return the states of some tokens only (tokens,); a text may be left with none."""
        kept = np.concatenate([[0], np.cumsum(keep)])
        offsets = kept[self.offsets]
        lengths = kept[self.offsets + self.lengths] - offsets
        rows = beside(np.flatnonzero(keep), self.vectors)
        return States(self.vectors[:, rows], self.ids[keep], offsets, lengths, self.lost)

    def text_of(self) -> NDArray[np.int64]:
        """Return which text each token belongs to (tokens,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def encode_texts(texts: Sequence[str], tokenizer: Tokenizer, encoding: LayerView) -> States:
    """Return the hidden states of distinct texts, of the layers of ``encoding``."""
    tokenized = tokenizer.tokenize(texts)
    lengths = np.array([len(text.ids) for text in tokenized], dtype=np.int64)
    offsets = np.cumsum(lengths) - lengths
    shape = (len(encoding.layers), int(lengths.sum()), encoding.dimensions)
    vectors = zeros(shape, encoding.device)
    for rows, states in encode_rows(list(zip(texts, tokenized, offsets.tolist(), strict=True)), encoding):
        vectors[:, rows] = as_fp32(states)
    ids = np.concatenate([text.ids for text in tokenized]) if len(texts) else np.zeros(0, dtype=np.int64)
    return States(vectors, ids, offsets, lengths, np.array([text.lost for text in tokenized], dtype=np.int64))


def segment_sum(values: Array, text_of: NDArray[np.int64], texts: int) -> Array:
    """Sum rows (tokens, …) by the text they belong to, which never falls (tokens,); returns (texts, …)."""
    if isinstance(values, np.ndarray):
        return _reduced(np.add, values, text_of, texts)
    total = values.new_zeros((texts, *values.shape[1:]))
    return total.index_add_(0, beside(text_of, values), values)


def segment_max(values: Array, text_of: NDArray[np.int64], texts: int) -> Array:
    """Return the highest of rows (tokens, dim) by the text they belong to, which never falls; 0 for none."""
    if isinstance(values, np.ndarray):
        return _reduced(np.maximum, values, text_of, texts)
    highest = values.new_zeros((texts, values.shape[-1]))
    index = beside(text_of, values)[:, None].expand_as(values)
    return highest.scatter_reduce_(0, index, values, reduce="amax", include_self=False)


def _reduced(how: np.ufunc, values: Array, text_of: NDArray[np.int64], texts: int) -> Array:
    total = np.zeros((texts, *values.shape[1:]), dtype=values.dtype)
    starts = np.flatnonzero(np.diff(text_of, prepend=-1))
    if len(starts):
        total[text_of[starts]] = how.reduceat(values, starts, axis=0)
    return total
