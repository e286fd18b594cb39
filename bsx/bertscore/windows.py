"""Cutting a corpus into windows that fit in memory, tokenised ahead of their use."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

import numpy as np

from bsx.bertscore.idf import Idf, IdfCounter
from bsx.data.corpus import Corpus, Segment
from bsx.encode.tokenizer import TokenizedText, Tokenizer
from bsx.errors import InputError

Item = TypeVar("Item")
BLOCK = 256  # segments tokenised in one call
_ROWS = 8_192  # candidates of a window at most: where texts come again and again, tokens alone would set no bound


@dataclass
class Plan:
    """What one pass over a corpus tells before any of it is scored.

    Attributes:
        segments: how many there are.
        reused: hash of a text -> how many uses of it remain; only texts used more than once.
        references: the least and greatest number of references of a segment.
        idf: weights counted on the references, if asked for.
    """

    segments: int
    reused: dict[int, int]
    references: tuple[int, int]
    idf: Idf | None

    def reused_after(self, corpus: Corpus, start: int) -> dict[int, int]:
        """Return how many uses of each reused text remain when ``start`` segments are done."""
        reused = dict(self.reused)
        for segment in islice(corpus, start):
            for text in (*segment.candidates, *segment.references):
                if hash(text) in reused:
                    reused[hash(text)] -= 1
        return reused


def survey(
    corpus: Corpus,
    tokenizer: Tokenizer | None = None,
    tokenizer_digest: str = "",
    progress: Callable[[int], None] | None = None,
) -> Plan:
    """Read a corpus once: check all of it, count reused texts and, given a tokenizer, idf weights of the references."""
    hashes = array("q")
    counter = IdfCounter()
    segments, fewest, most = 0, 0, 0
    rows = iter(corpus)
    while block := list(islice(rows, BLOCK)):
        for segment in block:
            hashes.extend(map(hash, segment.candidates))
            hashes.extend(map(hash, segment.references))
            if segment.source is not None:
                hashes.append(hash(segment.source))
            # A blank reference is no reference, unless there is no other.
            present = max(1, sum(1 for text in segment.references if text.strip()))
            most = max(most, present)
            fewest = min(fewest or present, present)
        if tokenizer is not None:
            texts = [text for segment in block for text in segment.references]
            counter.add(texts, tokenizer.tokenize(texts))
        segments += len(block)
        if progress is not None:
            progress(segments)
    if segments == 0:
        raise InputError("there is nothing to score: the input holds no segment")
    values, counts = np.unique(np.frombuffer(hashes, dtype=np.int64), return_counts=True)
    again = counts > 1
    reused = dict(zip(values[again].tolist(), counts[again].tolist(), strict=True))
    idf = counter.result(tokenizer_digest) if tokenizer is not None else None
    return Plan(segments, reused, (fewest, most), idf)


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


def ahead(items: Iterator[Item], *, worthwhile: bool = True) -> Iterator[Item]:
    """Yield the same items, each prepared in another thread while the one before it is being used.

    Args:
        items: the items; None ends them.
        worthwhile: False does without the thread, which a single small item does not repay.
    """
    if not worthwhile:
        yield from items
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="bsx-tokenise") as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
