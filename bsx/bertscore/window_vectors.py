"""Token vectors of one window, and those kept because a later window needs their text again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.bertscore.windows import Window
from bsx.encode.batching import to_device
from bsx.encode.protocol import Encoding
from bsx.encode.rows import encode_rows, normalise
from bsx.encode.tokenizer import TokenizedText, Tokenizer

# Tokens that go to a graphics card, or come back, in one transfer.
_TRANSFER_TOKENS = 16_384


class Carry:
    """Vectors of texts that will be used again, in memory up to a budget and in a temporary file beyond it.

    Args:
        budget: bytes to hold in memory.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held = 0
        self._memory: dict[str, torch.Tensor] = {}
        self._spilled: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._file: IO[bytes] | None = None

    def __contains__(self, text: str) -> bool:
        return text in self._memory or text in self._spilled

    def put(self, text: str, vectors: torch.Tensor) -> None:
        """Keep a text's vectors (layers, tokens, dim)."""
        if text in self:
            return
        vectors = vectors.detach().cpu().contiguous().clone()
        size = vectors.numel() * vectors.element_size()
        if self._held + size <= self._budget:
            self._memory[text] = vectors
            self._held += size
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="bsx-vectors-")  # noqa: SIM115 - closed by close()
        offset = self._file.seek(0, 2)
        self._file.write(vectors.numpy().tobytes())
        self._spilled[text] = (offset, tuple(vectors.shape))

    def get(self, text: str) -> torch.Tensor:
        """Return a kept text's vectors (layers, tokens, dim)."""
        if text in self._memory:
            return self._memory[text]
        if self._file is None:
            raise KeyError(text)
        offset, shape = self._spilled[text]
        self._file.seek(offset)
        raw = bytearray(self._file.read(int(np.prod(shape)) * 4))
        return torch.frombuffer(raw, dtype=torch.float32).reshape(shape)

    def drop(self, text: str) -> None:
        """Forget a text that is not needed any more."""
        vectors = self._memory.pop(text, None)
        if vectors is not None:
            self._held -= vectors.numel() * vectors.element_size()
        self._spilled.pop(text, None)

    def settle(self, window: Window, vectors: WindowVectors, reused: dict[int, int]) -> None:
        """After a window: keep the vectors of texts that come again, let go of those that came for the last time.

        Args:
            window: the window that was scored.
            vectors: its vectors.
            reused: hash of a text -> how many uses of it remain; brought up to date here.
        """
        for segment in window.segments:
            for text in (*segment.candidates, *segment.references):
                if hash(text) in reused:
                    reused[hash(text)] -= 1
        again: list[str] = []
        for text in window.texts:
            left = reused.get(hash(text), 0)
            if left <= 0:
                self.drop(text)
            elif text not in self:
                again.append(text)
        parts = vectors.on_cpu([window.texts[text] for text in again])
        for text, part in zip(again, parts, strict=True):
            self.put(text, part)

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None


class WindowVectors:
    """Unit vectors, weights and roles of every token of a window, text after text.

    The last row is a zero vector of no weight that no token can match: indices of padding point to it.

    Args:
        window: the window.
        tokenizer: knows which ids are special.
        weights: weight of each id, array (vocabulary,).
        encoding: runs the encoder.
        carry: vectors kept from earlier windows.
        report: called with the share of the window's tokens that is encoded.

    Attributes:
        vectors: (layers, tokens + 1, dim), fp32, on the encoder's device.
        weights: (tokens + 1,).
        pool: True where a token may be matched (tokens + 1,).
        offsets: first row of each text.
        lengths: tokens of each text.
        content: tokens of each text that are not special; 0 means the text is empty.
    """

    def __init__(
        self,
        window: Window,
        tokenizer: Tokenizer,
        weights: NDArray[np.float32],
        encoding: Encoding,
        carry: Carry,
        report: Callable[[float], None] | None = None,
    ) -> None:
        self.lengths = np.array([len(t.ids) for t in window.tokens], dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        total = int(self.lengths.sum())
        ids = np.concatenate([t.ids for t in window.tokens])
        running = np.concatenate([[0], np.cumsum(~tokenizer.is_special[ids])])
        self.content = running[self.offsets + self.lengths] - running[self.offsets]
        token_weights = np.where(tokenizer.weighs_nothing[ids], 0, weights[ids]).astype(np.float32)
        self.weights = torch.from_numpy(np.append(token_weights, np.float32(0))).to(encoding.device)
        self.pool = torch.from_numpy(np.append(~tokenizer.cannot_match[ids], False)).to(encoding.device)
        self.vectors = torch.zeros(
            (len(encoding.layers), total + 1, encoding.dimensions), dtype=torch.float32, device=encoding.device
        )
        missing: list[tuple[TokenizedText, int]] = []
        kept: list[tuple[str, int]] = []
        for text, index in window.texts.items():
            if text in carry:
                kept.append((text, index))
            elif self.content[index]:  # an empty text is never matched: nothing to encode
                missing.append((window.tokens[index], int(self.offsets[index])))
        for some, rows in self._transfers([index for _, index in kept]):
            block = torch.cat([carry.get(text) for text, _ in kept[some]], dim=1)
            self.vectors.index_copy_(1, rows, to_device(block, encoding.device))
        done, wanted = 0, sum(len(text.ids) for text, _ in missing)
        for rows, vectors in encode_rows(missing, encoding):
            self.vectors.index_copy_(1, rows, normalise(vectors))
            done += len(rows)
            if report is not None:
                report(done / wanted)

    def _transfers(self, texts: Sequence[int]) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield which of some texts go over in one transfer, and the rows of their tokens (tokens,)."""
        ends = np.cumsum(self.lengths[list(texts)])
        limit = max(1, _TRANSFER_TOKENS // len(self.vectors))
        start = 0
        while start < len(texts):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
            rows = [np.arange(self.lengths[text]) + self.offsets[text] for text in texts[start:stop]]
            yield slice(start, stop), to_device(torch.from_numpy(np.concatenate(rows)), self.vectors.device)
            start = stop

    def on_cpu(self, texts: Sequence[int]) -> Iterator[torch.Tensor]:
        """Yield texts' vectors (layers, tokens, dim) on the CPU."""
        for some, rows in self._transfers(texts):
            block = self.vectors.index_select(1, rows).cpu()
            yield from torch.split(block, self.lengths[list(texts[some])].tolist(), dim=1)

    def of(self, index: int) -> torch.Tensor:
        """Return one text's vectors (layers, tokens, dim)."""
        start = int(self.offsets[index])
        return self.vectors[:, start : start + int(self.lengths[index])]
