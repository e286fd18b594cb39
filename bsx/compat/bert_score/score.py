"""`score` and `plot_example` of bert-score 0.3.13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.compat.bert_score.scorer import BERTScorer, Triple, given_weights, need_torch

__all__ = ["plot_example", "score"]


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
    """Score candidates as ``bert_score.score`` does; see `BERTScorer` for arguments that are not described here.

    Args:
        cands: n candidates.
        refs: n references, or n lists of references, of which the highest P, R and F1 count.
        model_type: registry name, hub id or folder; ``lang``'s model unless given.
        num_layers: layer to score with; the model's best unless given.
        verbose: print what is done and how long it took, and bsx's signature to standard error.
        idf: count idf weights on ``refs``, or use these (id -> weight; a missing id weighs what the mapping's
            ``__missing__`` says, or 1).
        device: as in torch.
        batch_size: accepted and ignored.
        nthreads: accepted and ignored.
        all_layers: score every layer.
        lang: language tag.
        return_hash: also return bert-score's line of settings.
        rescale_with_baseline: rescale.
        baseline_path: baseline file.
        use_fast_tokenizer: only in the hash.

    Returns:
        P, R, F1 as tensors (n,), or (layers, n) for all layers; with the hash if asked for.

    Raises:
        InputError: where bert-score fails an assertion.
    """
    torch = need_torch()
    given = (model_type, num_layers, batch_size, nthreads, all_layers, bool(idf), None, device, lang)
    scorer = BERTScorer(*given, rescale_with_baseline, baseline_path, use_fast_tokenizer)
    if verbose and idf:
        print("preparing IDF dict..." if isinstance(idf, bool) else "using predefined IDF dict...")
    if not isinstance(idf, bool) and idf:
        scorer._weights = given_weights(idf)
    p, r, f1 = map(torch.from_numpy, scorer.arrays(cands, refs, verbose))
    return ((p, r, f1), scorer.hash) if return_hash else (p, r, f1)


def plot_example(
    candidate: str,
    reference: str,
    model_type: str | None = None,
    num_layers: int | None = None,
    lang: str | None = None,
    rescale_with_baseline: bool = False,
    baseline_path: str | None = None,
    use_fast_tokenizer: bool = False,
    fname: str = "",
) -> None:
    """Draw the cosines of all tokens of a pair; see `BERTScorer` and `BERTScorer.plot_example`."""
    BERTScorer(
        model_type,
        num_layers,
        lang=lang,
        rescale_with_baseline=rescale_with_baseline,
        baseline_path=baseline_path,
        use_fast_tokenizer=use_fast_tokenizer,
    ).plot_example(candidate, reference, fname)
