"""BERTScore as a training loss."""

from __future__ import annotations

from typing import Literal

import torch

from bsx.data.corpus import as_references
from bsx.encode.states import LayerView, normalise
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.match.greedy import greedy_match
from bsx.support.arrays import Array, tensor

Measure = Literal["precision", "recall", "f1"]
Reduction = Literal["mean", "sum", "none"]


def bertscore_loss(
    tokenizer: Tokenizer,
    encoding: LayerView,
    candidate_embeddings: torch.Tensor,
    references: object,
    *,
    candidate_mask: torch.Tensor | None = None,
    measure: Measure = "f1",
    reduction: Reduction = "mean",
) -> torch.Tensor:
    """Return 1 - BERTScore of candidate token vectors against reference texts, differentiable in the vectors.

    Args:
        tokenizer: splits the references.
        encoding: encodes them, at one layer.
        candidate_embeddings: contextual token vectors in the space of the scored layer (n, tokens, dim), of any
            length; gradients flow to them.
        references: n texts, or n lists of texts, of which the best counts.
        candidate_mask: 1 for tokens, 0 for padding (n, tokens); no padding unless given.
        measure: which figure to train on.
        reduction: over the n losses.

    Returns:
        A scalar, or (n,) with ``reduction="none"``.

    Raises:
        InputError: if shapes and numbers do not fit, or a reference is empty.

    Source: Zhang et al. 2020, section 3: every step of greedy matching but the choice of the maximum is smooth.
    """
    groups = as_references(references)
    if candidate_embeddings.dim() != 3:
        raise InputError(
            f"candidate embeddings need the shape (n, tokens, dim), not {tuple(candidate_embeddings.shape)}"
        )
    n, tokens, dimensions = candidate_embeddings.shape
    if n != len(groups) or dimensions != encoding.dimensions:
        raise InputError(
            f"candidate embeddings are {n} x {tokens} x {dimensions}: there are {len(groups)} references "
            f"and {encoding.dimensions} dimensions"
        )
    mask = torch.ones(n, tokens) if candidate_mask is None else candidate_mask
    if mask.shape != (n, tokens) or not mask.bool().any(dim=1).all():
        raise InputError(f"the candidate mask needs the shape ({n}, {tokens}) and a token in every row")
    mask = mask.to(candidate_embeddings.device)
    unit = torch.nn.functional.normalize(candidate_embeddings.float(), dim=-1)
    column = ("precision", "recall", "f1").index(measure)
    losses = []
    for row, group in enumerate(groups):
        candidate, present = unit[row : row + 1], mask[row : row + 1]
        scores = []
        for text in group:
            (reference,) = tokenizer.tokenize([text])
            if tokenizer.is_special[reference.ids].all():
                raise InputError(f"a reference without content has no score to train on: {text!r}")
            weights, pool = (
                torch.as_tensor(~flags[reference.ids]).to(unit.device)[None]
                for flags in (tokenizer.weighs_nothing, tokenizer.cannot_match)
            )
            parts: dict[int, Array] = {}
            for batch, output in encoding.run([span.ids for span in reference.spans]):
                for place, i in enumerate(batch):
                    parts[i] = normalise(output[0, place, reference.spans[i].positions])
            # A copy is an ordinary tensor, which autograd can save.
            vectors = torch.cat([tensor(parts[i]) for i in range(len(parts))]).clone().to(unit.device)[None]
            matched = greedy_match(candidate, vectors, present.float(), weights.float(), present.bool(), pool)
            scores.append(matched[0, column])
        losses.append(1 - torch.stack(scores).amax())
    stacked = torch.stack(losses)
    if reduction == "none":
        return stacked
    return stacked.sum() if reduction == "sum" else stacked.mean()
