"""Filling batches by token budget, and shrinking them when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from bsx.embed.base import Embedder
from bsx.errors import InputError

# Where one sequence more no longer pays: measured by benchmarks/speed.py.
DEFAULT_BATCH_TOKENS = {"cpu": 1024, "cuda": 32768, "mps": 4096}


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


def _pad(sequences: list[Sequence[int]], pad_id: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None]:
    longest = max(len(s) for s in sequences)
    ids = torch.full((len(sequences), longest), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.as_tensor(sequence, dtype=torch.long)
        mask[row, : len(sequence)] = 1
    padded = any(len(s) != longest for s in sequences)
    return ids.to(device), mask.to(device) if padded else None


def is_out_of_memory(error: RuntimeError) -> bool:
    """Tell whether a failed computation ran out of device or main memory."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


class Batcher:
    """Runs an encoder over any number of sequences in batches of bounded size.

    Args:
        embedder: the encoder.
        batch_tokens: padded tokens a batch may hold; None for the device's default. It shrinks for good by half each
            time a batch does not fit in memory.
        improve: given the embedder and how many tokens the first call has, returns the embedder to use from then on.
    """

    def __init__(
        self,
        embedder: Embedder,
        batch_tokens: int | None = None,
        *,
        improve: Callable[[Embedder, int], Embedder] | None = None,
    ) -> None:
        self.embedder: Embedder = embedder
        self._improve = improve
        self.batch_tokens = batch_tokens or DEFAULT_BATCH_TOKENS.get(embedder.device.type, 4096)
        self.sequences_encoded = 0
        """How many sequences went through the encoder so far."""

    def run(self, sequences: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Encode all sequences.

        Yields:
            Indices of the sequences of one batch and their padded vectors (layers, batch, tokens, dim).
        """
        lengths, equal = [len(s) for s in sequences], not self.embedder.ignores_padding
        if self._improve is not None and sequences:
            self.embedder, self._improve = self._improve(self.embedder, sum(lengths)), None
        queue = [list(batch) for batch in plan_batches(lengths, self.batch_tokens, equal_lengths=equal)]
        queue.reverse()
        while queue:
            batch = queue.pop()
            ids, mask = _pad([sequences[i] for i in batch], self.embedder.pad_id, self.embedder.device)
            try:
                vectors = self.embedder.encode(ids, mask)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                queue.extend(self._smaller(batch, max(len(sequences[i]) for i in batch), error))
                continue
            self.sequences_encoded += len(batch)
            yield batch, vectors

    def _smaller(self, batch: list[int], longest: int, error: RuntimeError) -> list[list[int]]:
        if len(batch) == 1:
            raise InputError(
                f"one text of {longest} tokens does not fit in the memory of {self.embedder.device}: "
                "use a smaller model, another --device or --dtype"
            ) from error
        if self.embedder.device.type == "cuda":
            torch.cuda.empty_cache()
        half = (len(batch) + 1) // 2
        self.batch_tokens = min(self.batch_tokens, half * longest)
        return [batch[half:], batch[:half]]
