"""What one pass over a corpus tells before any of it is scored."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bsx.data.corpus import Corpus, Segment, without_context
from bsx.errors import InputError

_STEP = 256  # segments between two reports


@dataclass(frozen=True)
class Plan:
    """What is known of a corpus.

    Attributes:
        segments: how many there are.
        reused: hash of a text -> how many uses of it there are; only texts used more than once.
        references: the least and greatest number of references of a segment.
    """

    segments: int
    reused: dict[int, int]
    references: tuple[int, int]

    def reused_after(self, corpus: Corpus, start: int) -> dict[int, int]:
        """Return how many uses of each reused text remain when ``start`` segments are done."""
        reused = dict(self.reused)
        for segment in islice(corpus, start):
            for text in texts_of(segment):
                if hash(text) in reused:
                    reused[hash(text)] -= 1
        return reused


def texts_of(segment: Segment) -> tuple[str, ...]:
    """Return all texts of a segment."""
    source = () if segment.source is None else (segment.source,)
    return (*segment.candidates, *segment.references, *source)


def survey(corpus: Corpus, progress: Callable[[int], None] | None = None) -> Plan:
    """Read a corpus once: check all of it, and count texts that are used again.

    Args:
        corpus: the segments.
        progress: called with the number of segments read.

    Raises:
        InputError: if it is malformed or empty.
    """
    hashes = array("q")
    segments, fewest, most = 0, 0, 0
    for segment in corpus:
        hashes.extend(map(hash, texts_of(segment)))
        # A blank reference is no reference, unless there is no other.
        present = max(1, sum(1 for text in segment.references if without_context(text).strip()))
        most = max(most, present)
        fewest = min(fewest or present, present)
        segments += 1
        if progress is not None and segments % _STEP == 0:
            progress(segments)
    if segments == 0:
        raise InputError("there is nothing to score: the input holds no segment")
    if progress is not None:
        progress(segments)
    values, counts = np.unique(np.frombuffer(hashes, dtype=np.int64), return_counts=True)
    again = counts > 1
    reused = dict(zip(values[again].tolist(), counts[again].tolist(), strict=True))
    return Plan(segments, reused, (fewest, most))
