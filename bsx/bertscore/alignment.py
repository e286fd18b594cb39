"""Token alignments: which token of one text each token of the other is matched with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.arrays import fetch, within
from bsx.support.provenance import Signature
from bsx.support.result import Shown

if TYPE_CHECKING:
    from bsx.bertscore.metric import Window
    from bsx.encode.tokenizer import Tokenizer
    from bsx.match.greedy import FlatVectors


@dataclass(frozen=True)
class Side:
    """One text of an alignment.

    Attributes:
        text: the text.
        tokens: its tokens, special ones included.
        weights: each token's weight in the mean (tokens,); special tokens weigh 0.
        match: for each token, the index of its most similar token on the other side (tokens,).
        similarity: that cosine (tokens,).
    """

    text: str
    tokens: list[str]
    weights: NDArray[np.float32]
    match: NDArray[np.int64]
    similarity: NDArray[np.float32]


@dataclass(frozen=True, repr=False)
class Alignment(Shown):
    """Greedy matching of one candidate with one reference, token by token.

    Attributes:
        candidate: the candidate; precision is the weighted mean of its similarities.
        reference: the reference; recall is the weighted mean of its similarities.
        cosines: similarity of every pair of tokens (candidate tokens, reference tokens).
        precision: as scored, rescaled if the scorer rescales.
        recall: as ``precision``.
        f1: as ``precision``.
        signature: the settings.
    """

    candidate: Side
    reference: Side
    cosines: NDArray[np.float32]
    precision: float
    recall: float
    f1: float
    signature: Signature

    def __repr__(self) -> str:
        rows, columns = self.cosines.shape
        figures = f"P={self.precision:.4f}, R={self.recall:.4f}, F1={self.f1:.4f}"
        return f"Alignment({rows} x {columns} tokens, {figures}, signature={str(self.signature)!r})"

    def to_dict(self) -> dict[str, object]:
        """Return the alignment as plain numbers and strings, as ``bsx match`` prints it in JSON."""

        def side(part: Side, other: Side) -> dict[str, object]:
            rows = zip(part.tokens, part.weights, part.match, part.similarity, strict=True)
            return {
                "text": part.text,
                "tokens": [
                    {
                        "token": token,
                        "weight": float(weight),
                        "match": int(match),
                        "match_token": other.tokens[int(match)],
                        "similarity": float(similarity),
                    }
                    for token, weight, match, similarity in rows
                ],
            }

        return {
            **vars(self),
            "candidate": side(self.candidate, self.reference),
            "reference": side(self.reference, self.candidate),
            "cosines": self.cosines.tolist(),
            "signature": str(self.signature),
        }


def align_texts(
    tokenizer: Tokenizer,
    window: Window,
    vectors: FlatVectors,
    texts: list[str],
    scores: NDArray[np.float32],
    signature: Signature,
) -> Alignment:
    """Align ``texts`` (candidate, reference), both in ``window``; ``scores`` are their P, R, F1."""
    left, right = (window.texts[text] for text in texts)
    for index, name in ((left, "candidate"), (right, "reference")):
        if window.content[index] == 0:
            raise InputError(f"the {name} has no content to align: {texts[0 if index == left else 1]!r}")
    first = vectors.vectors[0]
    cosines = within(fetch(first[window.rows(left)] @ first[window.rows(right)].T))
    weights, pools = (
        [fetch(part[window.rows(index)]) for index in (left, right)] for part in (vectors.weights, vectors.pool)
    )
    for_candidate = np.where(pools[1][None, :], cosines, -np.inf)
    for_reference = np.where(pools[0][:, None], cosines, -np.inf).T
    sides = [
        Side(text, tokenizer.pieces(window.tokens[index].ids.tolist()), weight, cells.argmax(1), cells.max(1))
        for text, index, weight, cells in zip(
            texts, (left, right), weights, (for_candidate, for_reference), strict=True
        )
    ]
    precision, recall, f1 = (float(value) for value in scores)
    return Alignment(sides[0], sides[1], cosines, precision, recall, f1, signature)
