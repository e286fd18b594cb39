"""Cutting a corpus into windows of a number of tokens, so that the vectors of each fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from bsx.data.corpus import Corpus, Segment
from bsx.encode.tokenizer import TokenizedText, Tokenizer
from bsx.errors import InputError
from bsx.metrics.blocks import Block

BLOCK = 256  # segments tokenised in one call
_ROWS = 8_192  # candidates of a window at most: where texts come again and again, tokens alone would set no bound


@dataclass
class Window:
    """Consecutive segments and their distinct texts, tokenised.

    Attributes:
        start: how many segments come before.
        segments: the segments.
        texts: distinct text -> its index in ``tokens``.
        tokens: the tokenised texts.
        size: tokens of all distinct texts.
    """

    start: int
    segments: list[Segment] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)
    tokens: list[TokenizedText] = field(default_factory=list)
    size: int = 0

    def add(self, segment: Segment, tokenized: dict[str, TokenizedText]) -> None:
        """Append a segment whose texts are tokenised already."""
        self.segments.append(segment)
        for text in (*segment.candidates, *segment.references):
            if text not in self.texts:
                self.texts[text] = len(self.tokens)
                self.tokens.append(tokenized[text])
                self.size += len(tokenized[text].ids)


def windows(corpus: Corpus, tokenizer: Tokenizer, token_limit: int, start: int = 0) -> Iterator[Window]:
    """Cut a corpus into windows of at most ``token_limit`` tokens and 8,192 rows (or one segment, if that is more).

    Args:
        corpus: the segments.
        tokenizer: splits their texts.
        token_limit: tokens of a window.
        start: how many segments to leave out; from a window's first one on, windows are what they would be anyway.
    """
    window = Window(start)
    rows = islice(corpus, start, None)
    while block := list(islice(rows, BLOCK)):
        distinct = list(dict.fromkeys(t for s in block for t in (*s.candidates, *s.references)))
        tokenized = dict(zip(distinct, tokenizer.tokenize(distinct), strict=True))
        for segment in block:
            new = {text for text in (*segment.candidates, *segment.references) if text not in window.texts}
            grows_by = sum(len(tokenized[text].ids) for text in new)
            rows_then = (len(window.segments) + 1) * len(segment.candidates)
            if window.segments and (window.size + grows_by > token_limit or rows_then > _ROWS):
                yield window
                window = Window(window.start + len(window.segments))
            window.add(segment, tokenized)
    if window.segments:
        yield window


def window_of(block: Block, tokenizer: Tokenizer) -> Window:
    """Return a window of the rows of a block, each a segment with one candidate."""
    names = block.ids or [str(row + 1) for row in range(len(block))]
    rows = zip(names, block.candidates, block.references, strict=True)
    segments = [Segment(name, (candidate,), references) for name, candidate, references in rows]
    return one_window(segments, tokenizer)


def one_window(segments: Sequence[Segment], tokenizer: Tokenizer) -> Window:
    """Return a window of all these segments."""
    window = Window(0)
    texts = list(dict.fromkeys(text for s in segments for text in (*s.candidates, *s.references)))
    tokenized = dict(zip(texts, tokenizer.tokenize(texts), strict=True))
    for segment in segments:
        window.add(segment, tokenized)
    return window


def refuse_truncated(window: Window, model: str, limit: int | None) -> None:
    """Refuse a window in which a text was cut off.

    Raises:
        InputError: naming the first such texts.
    """
    too_long = []
    for segment in window.segments:
        for kind, texts in (("candidate", segment.candidates), ("reference", segment.references)):
            for text in texts:
                lost = window.tokens[window.texts[text]].lost
                if lost:
                    too_long.append(f"segment {segment.id} ({kind}, {lost} tokens too many)")
    if too_long:
        more = f" and {len(too_long) - 3} more" if len(too_long) > 3 else ""
        raise InputError(
            f"{model} reads {limit} tokens, longer: {', '.join(too_long[:3])}{more}; "
            "shorten them, use `long='window'`, or drop `strict=True`"
        )
