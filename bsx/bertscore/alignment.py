"""Token alignments: which token of one text each token of the other is matched with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bsx.support.provenance import Signature
from bsx.support.result import Shown


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
