"""The call and return shape of bert-score 0.3.13, on bsx's engine, with its numbers.

Where that package's numbers depend on the batch, or it crashes, bsx's own rules hold; docs/score/differences.md lists
the cases. Its choices that do not are followed: only CLS and SEP weigh 0 (so T5's end token and XLM's first token count
as words), and ``all_layers`` returns the residual stream of pre-norm encoders.
"""

from __future__ import annotations

import copy
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.data.corpus import as_list
from bsx.encode.idf import Idf
from bsx.errors import InputError
from bsx.support.untyped import Settings

if TYPE_CHECKING:
    import torch

Triple = tuple["torch.Tensor", "torch.Tensor", "torch.Tensor"]


def score(
    cands: Sequence[str],
    refs: Sequence[str] | Sequence[Sequence[str]],
    model_type: str | None = None,
    num_layers: int | None = None,
    verbose: bool = False,
    idf: bool | Mapping[int, float] = False,
    device: str | None = None,
    batch_size: int = 64,
    nthreads: int = 4,
    all_layers: bool = False,
    lang: str | None = None,
    return_hash: bool = False,
    rescale_with_baseline: bool = False,
    baseline_path: str | None = None,
    use_fast_tokenizer: bool = False,
) -> Triple | tuple[Triple, str]:
    """Score candidates as ``bert_score.score`` does.

    Args:
        cands: n candidates.
        refs: n references, or n lists of references, of which the highest P, R and F1 count.
        model_type: registry name, hub id or folder; ``lang``'s model unless given.
        num_layers: layer to score with; the model's best unless given.
        verbose: print the signature to standard error.
        idf: count idf weights on ``refs``, or use these (id -> weight; a missing id weighs what the mapping's
            ``__missing__`` says, or 1).
        device: as in torch; the best available unless given.
        batch_size: accepted and ignored: batches are filled by tokens, and scores do not depend on them.
        nthreads: accepted and ignored.
        all_layers: score every layer.
        lang: language tag; unlike there, an unknown one is an error.
        return_hash: also return the signature, as a string.
        rescale_with_baseline: rescale; unlike there, a missing baseline is an error.
        baseline_path: baseline file with the columns LAYER,P,R,F.
        use_fast_tokenizer: accepted and ignored: transformers 5 has one tokenizer a model.

    Returns:
        P, R, F1 as tensors (n,), or (layers, n) for all layers; with the signature if asked for.

    Raises:
        InputError: where bert-score fails an assertion.
    """
    import torch

    from bsx.bertscore.scorer import Scorer

    del batch_size, nthreads, use_fast_tokenizer
    if rescale_with_baseline and lang is None:
        raise InputError("Need to specify Language when rescaling with baseline: add lang")
    settings: Settings = {
        "lang": lang,
        "layer": None if all_layers else num_layers,
        "all_layers": all_layers,
        "rescale": rescale_with_baseline,
        "baseline": Path(baseline_path) if baseline_path is not None and rescale_with_baseline else None,
        "specials": "bert-score",
        "final_norm": not all_layers,
        "device": device or "auto",
    }
    scorer = Scorer(model_type, idf=idf if isinstance(idf, bool) else _given_weights(idf), **settings)
    groups = [text if isinstance(text, str) else list(text) for text in as_list(refs, "refs")]
    scores = scorer.score(cands, groups)
    if verbose:
        print(scores.signature, file=sys.stderr)
    result = (torch.from_numpy(scores.precision), torch.from_numpy(scores.recall), torch.from_numpy(scores.f1))
    return (result, str(scores.signature)) if return_hash else result


def _given_weights(weights: Mapping[int, float]) -> Idf:
    """Turn a mapping into `Idf`; what it says of unknown ids is asked of a copy, which a defaultdict would grow."""
    plain = {int(i): float(w) for i, w in weights.items() if i is not None}
    unseen = float(copy.copy(weights)[-1]) if hasattr(weights, "__missing__") else 1.0
    digest = hashlib.sha256(repr((sorted(plain.items()), unseen)).encode()).hexdigest()
    return Idf(plain, unseen, 0, digest)
