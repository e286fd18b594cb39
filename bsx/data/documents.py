"""Documents: which segments belong to one, and whether a table without a column of documents seems to hold some."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError

if TYPE_CHECKING:
    from bsx.data.columns import Labels

DOCUMENTS = ("document", "doc", "doc_id")
"""The usual columns of documents; the first that is there counts."""
ALIKE = 2.33
"""Correlation of neighbours, in standard errors, from which segments seem to belong together: p .01, one-sided."""
_NUMBERED = re.compile(r"(.*\D)\d+", re.DOTALL)


def refuse_single(documents: Labels, column: str, file: str | None = None) -> None:
    """Raise InputError if all rows are of one document: nothing can be drawn then.

    Args:
        documents: each row's (n,).
        column: where they are named.
        file: of the table.
    """
    if len(set(documents)) < 2:
        raise InputError(
            f"document: column {column!r} has the value {documents[0]!r} in every row: at least 2 documents are needed",
            file=file,
            setting="document",
        )


def one_document(documents: Labels) -> list[str]:
    """Return the sentence that says that all rows are of one document; none where there are several.

    It is said where a column was only found by its name; one that the user named is refused, as by `refuse_single`.
    """
    if len(set(documents)) > 1:
        return []
    return [f"all rows are of one document, {documents[0]}: intervals and tests speak of no other"]


def document_of_segment(segments: Labels, documents: Labels, column: str, file: str | None = None) -> dict[str, str]:
    """Return segment -> its document, from those of each row (n,); a segment in two documents is an InputError."""
    of: dict[str, str] = {}
    for segment, document in zip(segments, documents, strict=True):
        other = of.setdefault(str(segment), str(document))
        if other != str(document):
            raise InputError(
                f"document: segment {str(segment)!r} is in two documents of column {column!r}, {other!r} and "
                f"{str(document)!r}: name a column that tells segments apart (segment)",
                file=file,
                setting="document",
            )
    return of


def seem_together(segments: Sequence[Hashable], scores: NDArray[np.float64], what: str = "scores") -> str:
    """Return a sentence if segments seem to come from documents, which no column names; empty if they do not.

    Two signs: names such as ``news.12-3``, many of which share all but the last number; or whole numbers whose
    neighbours have like scores, by the correlation of segments' mean scores with the next one's. Both are those of each
    row (n,), human or metric scores with NaN where there is none; ``what`` is what the sentence calls them.
    """
    names = list(dict.fromkeys(map(str, segments)))
    if len(names) < 10:
        return ""
    heads = [match.group(1) if (match := _NUMBERED.fullmatch(name)) else None for name in names]
    sizes = Counter(head for head in heads if head is not None)
    if None not in sizes and sum(sizes.values()) == len(names) and 1 < len(sizes) <= len(names) / 2:
        example = next(iter(sizes))
        return (
            f"names of segments share {len(sizes)} beginnings, such as {example!r}: if these are documents, name a "
            "column of them with document; segments of a document are not independent"
        )
    try:
        places = np.array([int(name) for name in names])
    except ValueError:
        return ""
    number = {name: i for i, name in enumerate(names)}
    codes = np.array([number[str(segment)] for segment in segments])
    scored = ~np.isnan(scores)
    counts = np.bincount(codes[scored], minlength=len(names))
    sums = np.bincount(codes[scored], scores[scored], minlength=len(names))
    order = np.argsort(places, kind="stable")
    order = order[counts[order] > 0]
    means, places = sums[order] / counts[order], places[order]
    next_to = np.flatnonzero(np.diff(places) == 1)
    if len(next_to) < 10 or np.ptp(means) == 0:
        return ""
    z = (means - means.mean()) / means.std()
    r = float((z[next_to] * z[next_to + 1]).mean())
    # Without dependence r is about normal with variance 1 / pairs (Bartlett 1946).
    if r * np.sqrt(len(next_to)) < ALIKE:
        return ""
    return (
        f"neighbouring segments have like {what} (r = {r:.2f}): if they come from documents, name a column of them "
        "with document; segments of a document are not independent"
    )
