"""Token alignments: which token of one text each token of the other is matched with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.data.picture import label, picture
from bsx.errors import InputError
from bsx.support.arrays import fetch, within
from bsx.support.signature import Signature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bsx.bertscore.windows import Window, WindowVectors
    from bsx.encode.tokenizer import Tokenizer


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
class Alignment(InNotebooks):
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

    @property
    def short(self) -> str:
        """Tokens and figures."""
        rows, columns = self.cosines.shape
        figures = f"P={self.precision:.4f}, R={self.recall:.4f}, F1={self.f1:.4f}"
        return f"{rows} x {columns} tokens, {figures}, signature={str(self.signature)!r}"

    def sheets(self) -> Sequence[Sheet]:
        """Return the match of every token of the candidate, then of the reference."""
        made = []
        sides = (("candidate", self.candidate, self.reference), ("reference", self.reference, self.candidate))
        for (name, side, other), value in zip(sides, (self.precision, self.recall), strict=True):
            tokens = zip(side.tokens, side.match, side.similarity, side.weights, strict=True)
            rows = [[token, other.tokens[int(m)], f"{cosine:.4f}", f"{w:.3f}"] for token, m, cosine, w in tokens]
            figure = "precision" if name == "candidate" else "recall"
            title = f"{name}: {side.text}; {figure} {value:.4f}, F1 {self.f1:.4f}"
            made.append(Sheet(title, ["token", "its match", "cosine", "weight"], rows, str(self.signature), names=2))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a token of either side."""
        sides = (("candidate", self.candidate, self.reference), ("reference", self.reference, self.candidate))
        return [
            {"side": name, "token": token, "weight": float(weight), "match": other.tokens[int(match)]}
            | {"similarity": float(similarity)}
            for name, side, other in sides
            for token, weight, match, similarity in zip(
                side.tokens, side.weights, side.match, side.similarity, strict=True
            )
        ]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw a heatmap of all cosines, with the greedy matches marked."""
        rows, columns = self.cosines.shape
        with picture(path, 2.6 + 0.55 * columns, 1.6 + 0.42 * rows, about=str(self.signature)) as figure:
            axes = figure.add_subplot()
            image = axes.imshow(self.cosines, cmap="cividis", vmin=min(0.0, float(self.cosines.min())), vmax=1.0)
            axes.set_xticks(range(columns), [label(t) for t in self.reference.tokens], rotation=45, ha="right")
            axes.set_yticks(range(rows), [label(t) for t in self.candidate.tokens])
            axes.set_xlabel(f"reference (R = {self.recall:.3f})")
            axes.set_ylabel(f"candidate (P = {self.precision:.3f})")
            axes.set_title(f"F1 = {self.f1:.3f}   o best for candidate   x best for reference", fontsize=9)
            axes.plot(self.candidate.match, range(rows), "o", mfc="none", mec="white", ms=12, mew=1.6)
            axes.plot(range(columns), self.reference.match, "x", color="#e34948", ms=7, mew=1.8)
            figure.colorbar(image, ax=axes, label="cosine")
        return figure

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
            "candidate": side(self.candidate, self.reference),
            "reference": side(self.reference, self.candidate),
            "cosines": [[float(value) for value in row] for row in self.cosines],
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "signature": str(self.signature),
        }


def align_texts(
    tokenizer: Tokenizer,
    window: Window,
    vectors: WindowVectors,
    texts: list[str],
    scores: NDArray[np.float32],
    signature: Signature,
) -> Alignment:
    """Align ``texts`` (candidate, reference), both in ``window``; ``scores`` are their P, R, F1."""
    left, right = (window.texts[text] for text in texts)
    for index, name in ((left, "candidate"), (right, "reference")):
        if vectors.content[index] == 0:
            raise InputError(f"the {name} has no content to align: {texts[0 if index == left else 1]!r}")
    first = vectors.vectors[0]
    cosines = within(fetch(first[vectors.rows(left)] @ first[vectors.rows(right)].T))
    weights, pools = [], []
    for index in (left, right):
        weights.append(fetch(vectors.weights[vectors.rows(index)]))
        pools.append(fetch(vectors.pool[vectors.rows(index)]))
    for_candidate = np.where(pools[1][None, :], cosines, -np.inf)
    for_reference = np.where(pools[0][:, None], cosines, -np.inf).T
    sides = []
    for text, index, weight, cells in zip(texts, (left, right), weights, (for_candidate, for_reference), strict=True):
        sides.append(
            Side(text, tokenizer.pieces(window.tokens[index].ids.tolist()), weight, cells.argmax(1), cells.max(1))
        )
    precision, recall, f1 = (float(value) for value in scores)
    return Alignment(sides[0], sides[1], cosines, precision, recall, f1, signature)
