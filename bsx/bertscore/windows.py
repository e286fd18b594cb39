"""The distinct texts of some rows as BERTScore matches them: tokens, unit vectors, weights and roles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.encode.rows import encode_rows, normalise
from bsx.encode.shared import LayerView
from bsx.encode.tokenizer import TokenizedText, Tokenizer
from bsx.errors import InputError
from bsx.match.pairs import FlatVectors
from bsx.metrics.blocks import Block
from bsx.support.arrays import put, zeros
from bsx.support.memory import refuse_beyond


@dataclass(frozen=True)
class Window:
    """Distinct texts, tokenised.

    Attributes:
        texts: distinct text -> its index in ``tokens``.
        tokens: the tokenised texts.
    """

    texts: dict[str, int]
    tokens: list[TokenizedText]

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Tokenizer) -> Window:
        """Tokenise each distinct text."""
        distinct = list(dict.fromkeys(texts))
        return cls({text: i for i, text in enumerate(distinct)}, tokenizer.tokenize(distinct))


def refuse_large_pairs(block: Block, window: Window, budget: int) -> None:
    """Refuse a block with a pair of texts whose similarities do not fit in the memory budget.

    Raises:
        InputError: naming the segment.
    """
    for row, (candidate, references) in enumerate(zip(block.candidates, block.references, strict=True)):
        longest = len(window.tokens[window.texts[candidate]].ids)
        other = max((len(window.tokens[window.texts[text]].ids) for text in references), default=0)
        where = f"segment {block.ids[row]}: " if block.ids else ""
        # Each similarity, and once more while the best are looked for.
        refuse_beyond(8 * longest * other, budget, f"{where}matching {longest:,} with {other:,} tokens")


def refuse_truncated(block: Block, window: Window, model: str, limit: int | None) -> None:
    """Refuse a block in which a text was cut off.

    Raises:
        InputError: naming the first such texts.
    """
    results: dict[str, None] = {}  # a reference of several systems' rows is named once
    for row, (candidate, references) in enumerate(zip(block.candidates, block.references, strict=True)):
        name = block.ids[row] if block.ids else row + 1
        for kind, text in (("candidate", candidate), *(("reference", text) for text in references)):
            if lost := window.tokens[window.texts[text]].lost:
                results[f"segment {name} ({kind}, {lost} tokens too many)"] = None
    if results:
        too_long = list(results)
        more = f" and {len(too_long) - 3} more" if len(too_long) > 3 else ""
        raise InputError(
            f"{model} reads {limit} tokens, longer: {', '.join(too_long[:3])}{more}; "
            "shorten them, set long to window, or leave out strict"
        )


class WindowVectors(FlatVectors):
    """Unit vectors, weights and roles of every token of a window, text after text.

    Args:
        window: the window.
        tokenizer: knows which ids are special.
        weights: weight of each id, array (vocabulary,).
        encoding: runs the encoder.
        report: called with the share of the window's tokens that is encoded.

    Attributes:
        content: tokens of each text that are not special; 0 means the text is empty.
    """

    def __init__(
        self,
        window: Window,
        tokenizer: Tokenizer,
        weights: NDArray[np.float32],
        encoding: LayerView,
        report: Callable[[float], None] | None = None,
    ) -> None:
        self.lengths = np.array([len(t.ids) for t in window.tokens], dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        total = int(self.lengths.sum())
        ids = np.concatenate([t.ids for t in window.tokens])
        running = np.concatenate([[0], np.cumsum(~tokenizer.is_special[ids])])
        self.content = running[self.offsets + self.lengths] - running[self.offsets]
        token_weights = np.where(tokenizer.weighs_nothing[ids], 0, weights[ids]).astype(np.float32)
        self.weights = put(np.append(token_weights, np.float32(0)), encoding.device)
        self.pool = put(np.append(~tokenizer.cannot_match[ids], False), encoding.device)
        self.vectors = zeros((len(encoding.layers), total + 1, encoding.dimensions), encoding.device)
        # An empty text is never matched: nothing to encode.
        wanted = [(text, window.tokens[i], int(self.offsets[i])) for text, i in window.texts.items() if self.content[i]]
        done, tokens = 0, sum(len(text.ids) for _, text, _ in wanted)
        for rows, vectors in encode_rows(wanted, encoding):
            self.vectors[:, rows] = normalise(vectors)
            done += len(rows)
            if report is not None:
                report(done / tokens)

    def rows(self, index: int) -> slice:
        """Return the rows of one text's tokens."""
        return slice(int(self.offsets[index]), int(self.offsets[index] + self.lengths[index]))
