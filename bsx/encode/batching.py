"""Filling batches by token budget, and shrinking them when memory runs out."""

from __future__ import annotations

import importlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np

from bsx.errors import InputError
from bsx.support.arrays import Array, device_type, put


class Embedder(Protocol):
    """An encoder cut at a layer (or with all its layers).

    Attributes:
        layers: the layers it returns, in order; layer 0 is the embedding layer.
        dimensions: size of a token vector.
        device: where its input must be and its output is.
        pad_id: the id that fills short sequences.
        ignores_padding: whether vectors of tokens are the same whatever padding follows them.
        queues: whether it computes beside the caller, who may give it a batch before the one before is done.
        at_once: how many threads may call `begin` at the same time, and should, for it to be fast.
    """

    layers: list[int]
    dimensions: int
    device: str
    pad_id: int
    ignores_padding: bool
    queues: bool
    at_once: int

    def begin(self, ids: Array, mask: Array | None) -> Callable[[], Array]:
        """Encode a padded batch, or begin to.

        Args:
            ids: token ids (batch, tokens), padded on the right.
            mask: 1 for tokens, 0 for padding (batch, tokens); None if no sequence is padded.

        Returns:
            What waits for vectors (layers, batch, tokens, dim) and returns them; those of padding are arbitrary.

        Raises:
            MemoryError: if the batch does not fit in memory, or in that of a graphics card.
        """
        ...


# Where one sequence more no longer pays: measured by benchmarks/speed.py.
_BATCH_TOKENS = {"cpu": 1024, "cuda": 32768, "mps": 4096}


def default_batch_tokens(device: str, dimensions: int) -> int:
    """Return how many padded tokens a batch holds unless said otherwise.

    On a graphics card, which is asked for its free memory, fewer if the activations of so many would take more than
    an eighth of that: 16 vectors of 4 bytes a number for each token (queries, keys, values, the inner layer of four
    times the width, and what they are added to), and as much again for attention without a fused kernel.

    Args:
        device: where the encoder runs.
        dimensions: size of a token vector.
    """
    kind = device_type(device)
    most = _BATCH_TOKENS.get(kind, 4096)
    if kind != "cuda":
        return most
    free = int(importlib.import_module("torch").cuda.mem_get_info(device)[0])
    return max(512, min(most, free // 8 // (2 * 16 * 4 * dimensions)))


def plan_batches(lengths: Sequence[int], budget: int, *, equal_lengths: bool = False) -> Iterator[list[int]]:
    """Group sequences of similar length so that no padded batch exceeds a token budget.

    Args:
        lengths: tokens of each sequence.
        budget: batch size x longest length allowed; a single longer sequence still gets a batch of its own.
        equal_lengths: put only sequences of one length in a batch.

    Yields:
        Indices into ``lengths``, longest sequences first, so that memory runs out early or not at all.

    >>> list(plan_batches([3, 9, 4, 2], budget=10))
    [[1], [2, 0], [3]]
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        batch = order[start : start + max(1, budget // max(1, longest))]
        if equal_lengths:
            batch = [i for i in batch if lengths[i] == longest]
        yield batch
        start += len(batch)


def pad(sequences: list[Sequence[int]], pad_id: int, device: str) -> tuple[Array, Array | None]:
    """Return ids and their mask (batch, tokens), see `Embedder.begin`."""
    lengths = np.array([len(s) for s in sequences])
    longest = int(lengths.max())
    present = np.arange(longest)[None, :] < lengths[:, None]
    both = np.zeros((2, len(sequences), longest), dtype=np.int64)
    both[0] = pad_id
    both[0][present] = np.concatenate([np.asarray(s, dtype=np.int64) for s in sequences])
    both[1] = present
    ids, mask = put(both, device)
    return ids, None if present.all() else mask


class Batcher:
    """Runs an encoder over any number of sequences in batches of bounded size.

    Args:
        embedder: the encoder.
        batch_tokens: padded tokens a batch may hold; None for the device's default. It shrinks for good by half each
            time a batch does not fit in memory.
    """

    def __init__(self, embedder: Embedder, batch_tokens: int | None = None) -> None:
        self.embedder: Embedder = embedder
        self.batch_tokens = batch_tokens or default_batch_tokens(embedder.device, embedder.dimensions)
        self.sequences_encoded = 0
        """How many sequences went through the encoder so far."""
        self._threads: ThreadPoolExecutor | None = None
        self._ahead = embedder.queues

    def run(self, sequences: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Array]]:
        """Encode all sequences.

        An encoder that takes several batches at once is kept busy while the caller works on what it got. So is a
        graphics card: it has the next batch before anybody asks whether one is done, until its memory runs out once.

        Yields:
            Indices of the sequences of one batch and their padded vectors (layers, batch, tokens, dim).
        """
        if not sequences:
            return
        lengths, equal = [len(s) for s in sequences], not self.embedder.ignores_padding
        at_once = self.embedder.at_once
        budget = min(self.batch_tokens, -(-sum(lengths) // at_once))  # few texts: a part for each
        waiting = deque(plan_batches(lengths, budget, equal_lengths=equal))
        running: deque[tuple[list[int], Future[Callable[[], Array]], bool]] = deque()
        while waiting or running:
            # One more than can run, so that all are busy while the caller has the one that is done.
            while waiting and len(running) < at_once + (at_once > 1 or self._ahead):
                batch = waiting.popleft()
                beside = self._ahead and bool(running)
                running.append((batch, self._start([sequences[i] for i in batch], at_once), beside))
            batch, coming, beside = running.popleft()
            lacking = None
            try:
                vectors = coming.result()()
            except MemoryError as error:
                vectors, lacking = None, str(error)
            del coming  # with an error in it, it holds what the batch was computed from
            if lacking is None:
                self.sequences_encoded += len(batch)
                yield batch, vectors
                continue
            self._ahead = False
            if not (beside and len(batch) == 1):  # it may fit when it is there alone
                self._shrink([lengths[i] for i in batch], lacking)
            left = sorted([*batch, *(i for group in waiting for i in group)])
            groups = plan_batches([lengths[i] for i in left], self.batch_tokens, equal_lengths=equal)
            waiting = deque([left[i] for i in group] for group in groups)

    def _start(self, sequences: list[Sequence[int]], at_once: int) -> Future[Callable[[], Array]]:
        """Encode a batch: now, or in a thread of its own if others are encoded at the same time."""

        def begin() -> Callable[[], Array]:
            return self.embedder.begin(*pad(sequences, self.embedder.pad_id, self.embedder.device))

        if at_once > 1:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="encode")
            return self._threads.submit(begin)
        done: Future[Callable[[], Array]] = Future()
        try:
            done.set_result(begin())
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            done.set_exception(error)
        return done

    def _shrink(self, lengths: Sequence[int], lacking: str) -> None:
        """Allow a batch half of what a batch of these lengths took."""
        if len(lengths) == 1:
            raise InputError(
                f"one text of {lengths[0]} tokens does not fit in the memory of {self.embedder.device} ({lacking}): "
                "use a smaller model, another device or dtype"
            )
        self.batch_tokens = min(self.batch_tokens, (len(lengths) + 1) // 2 * max(lengths))
