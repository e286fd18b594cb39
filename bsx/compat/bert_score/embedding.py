"""The functions of ``bert_score.utils`` on a torch model of one's own: encode texts, match their vectors, score pairs.

They keep bert-score's names, arguments and shapes. Where its figures depend on the batch, bsx's rules hold: padding
loses against every cosine, a text is empty if it has no token besides special ones, and what is undefined is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from bsx.support.untyped import Untyped

if TYPE_CHECKING:
    import torch

Device: TypeAlias = "str | torch.device | None"
# What tokenizers say whose author set no limit (1e30) is no length.
_NO_LIMIT = 1_000_000


def sent_encode(tokenizer: Untyped, sent: str) -> list[int]:
    """Return a text's ids with special tokens, cut off at the tokenizer's ``model_max_length``.

    Args:
        tokenizer: what `get_tokenizer` returns, or any of transformers.
        sent: a text; white space around it is dropped.
    """
    limit = int(min(tokenizer.model_max_length, _NO_LIMIT))
    return list(tokenizer.encode(sent.strip(), add_special_tokens=True, truncation=True, max_length=limit))


def process(a: Iterable[Untyped], tokenizer: Untyped | None = None) -> set[Untyped]:
    """Return the distinct ids of a text, or the distinct items of what is given without a tokenizer."""
    return set(a if tokenizer is None else sent_encode(tokenizer, str(a)))


def padding(
    arr: Sequence[Sequence[float]], pad_token: float, dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return rows as one tensor.

    Args:
        arr: n rows of numbers.
        pad_token: what fills shorter rows.
        dtype: of the tensor; whole numbers unless given.

    Returns:
        The rows (n, longest), their lengths (n,), and 1 where a row has a number, else 0 (n, longest).
    """
    import torch

    lengths = torch.tensor([len(row) for row in arr], dtype=torch.long)
    longest = max(map(len, arr), default=0)
    rows = [[*row, *[pad_token] * (longest - len(row))] for row in arr]
    mask = (torch.arange(longest)[None, :] < lengths[:, None]).long()
    return torch.tensor(rows, dtype=dtype or torch.long).reshape(len(arr), longest), lengths, mask


def bert_encode(
    model: Untyped, x: torch.Tensor, attention_mask: torch.Tensor, all_layers: bool = False
) -> torch.Tensor:
    """Return the vectors of a model's last layer (n, tokens, size), or of all (n, tokens, layers, size).

    Args:
        model: a torch encoder; it is put into evaluation mode.
        x: ids (n, tokens).
        attention_mask: 1 where there is a token (n, tokens).
        all_layers: return the vectors of every layer.
    """
    import torch

    model.eval()
    with torch.no_grad():
        out = model(x, attention_mask=attention_mask, output_hidden_states=all_layers)
    return torch.stack(out[-1], dim=2) if all_layers else out[0]


def collate_idf(
    arr: Sequence[str], tokenizer: Untyped, idf_dict: Mapping[int, float], device: Device = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return texts as ids, with the weight of each token.

    Args:
        arr: n texts.
        tokenizer: see `sent_encode`.
        idf_dict: id -> weight; a missing id weighs what its ``__missing__`` says, or 1.
        device: where the tensors go; the best there is unless given (there: ``cuda:0``).

    Returns:
        Ids (n, tokens), weights (n, tokens) on the CPU, lengths (n,) and mask (n, tokens).
    """
    import torch

    ids = [sent_encode(tokenizer, text) for text in arr]
    known = hasattr(idf_dict, "__missing__")
    weights = [[float(idf_dict[i]) if known or i in idf_dict else 1.0 for i in row] for row in ids]
    place = torch.device(device or ("cuda:0" if torch.cuda.is_available() else "cpu"))
    padded, lengths, mask = padding(ids, tokenizer.pad_token_id or 0)
    return padded.to(place), padding(weights, 0, torch.float)[0], lengths.to(place), mask.to(place)


def get_bert_embedding(
    all_sens: Sequence[str],
    model: Untyped,
    tokenizer: Untyped,
    idf_dict: Mapping[int, float],
    batch_size: int = -1,
    device: Device = None,
    all_layers: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Encode texts.

    Args:
        all_sens: n texts.
        model: a torch encoder.
        tokenizer: see `sent_encode`.
        idf_dict: see `collate_idf`.
        batch_size: texts a batch; -1 for all at once.
        device: where the ids go; the model's own unless given (there: ``cuda:0``).
        all_layers: see `bert_encode`.

    Returns:
        Vectors as `bert_encode` returns them, mask (n, tokens) and weights (n, tokens).
    """
    import torch

    place = device or next(model.parameters()).device
    padded, weights, _, mask = collate_idf(all_sens, tokenizer, idf_dict, place)
    step = len(all_sens) if batch_size == -1 else batch_size
    parts = [
        bert_encode(model, padded[start : start + step], mask[start : start + step], all_layers)
        for start in range(0, len(all_sens), step)
    ]
    return torch.cat(parts), mask, weights


def greedy_cos_idf(
    ref_embedding: torch.Tensor,
    ref_masks: torch.Tensor,
    ref_idf: torch.Tensor,
    hyp_embedding: torch.Tensor,
    hyp_masks: torch.Tensor,
    hyp_idf: torch.Tensor,
    all_layers: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return precision, recall and F1 of n pairs by greedy matching; what is given is left as it is.

    Args:
        ref_embedding: vectors of the references (n, tokens, size), or (n, tokens, layers, size).
        ref_masks: where they have tokens (n, tokens).
        ref_idf: their weights (n, tokens).
        hyp_embedding: vectors of the candidates.
        hyp_masks: where they have tokens.
        hyp_idf: their weights.
        all_layers: the vectors are of all layers.

    Returns:
        Three tensors (n,), or (layers, n). A side whose weights add up to 0 has the figure 0.
    """
    import torch

    unit = [torch.nn.functional.normalize(side, dim=-1) for side in (hyp_embedding, ref_embedding)]
    left, right = (side if all_layers else side.unsqueeze(2) for side in unit)
    masks = [mask.bool().to(left.device) for mask in (hyp_masks, ref_masks)]
    cosines = torch.einsum("nild,njld->lnij", left, right)
    cosines = cosines.masked_fill(~(masks[0][:, :, None] & masks[1][:, None, :]), -torch.inf)
    figures = []
    for best, mask, given in zip((cosines.amax(3), cosines.amax(2)), masks, (hyp_idf, ref_idf), strict=True):
        weights = given.to(best) * mask
        total = weights.sum(1)
        mean = (best.masked_fill(~mask, 0) * weights).sum(2) / torch.where(total == 0, 1, total)
        figures.append(torch.where(total == 0, 0, mean))
    precision, recall = figures
    f1 = torch.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0, posinf=0.0, neginf=0.0)
    layers = slice(None) if all_layers else 0
    return precision[layers], recall[layers], f1[layers]


def bert_cos_score_idf(
    model: Untyped,
    refs: Sequence[str],
    hyps: Sequence[str],
    tokenizer: Untyped,
    idf_dict: Mapping[int, float],
    verbose: bool = False,
    batch_size: int = 64,
    device: Device = None,
    all_layers: bool = False,
) -> torch.Tensor:
    """Return precision, recall and F1 of pairs (n, 3), or of all layers (layers, n, 3), on the CPU.

    Args:
        model: a torch encoder, as `get_model` returns it; the layer is its last.
        refs: n references.
        hyps: n candidates.
        tokenizer: see `sent_encode`.
        idf_dict: see `collate_idf`.
        verbose: show bars.
        batch_size: texts and pairs a batch.
        device: see `get_bert_embedding`.
        all_layers: score every layer.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from tqdm.auto import tqdm

    texts = sorted({*refs, *hyps}, key=lambda text: (-len(text), text))
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    blank = {text for text in texts if special.issuperset(sent_encode(tokenizer, text))}
    encoded: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    if verbose:
        print("computing bert embedding.")
    for start in tqdm(range(0, len(texts), batch_size), disable=not verbose):
        batch = texts[start : start + batch_size]
        vectors, mask, weights = get_bert_embedding(
            batch, model, tokenizer, idf_dict, device=device, all_layers=all_layers
        )
        for text, vector, weight, length in zip(batch, vectors.cpu(), weights, mask.sum(1).tolist(), strict=True):
            encoded[text] = (vector[:length], weight[:length])

    def side(batch: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        vectors, weights = ([encoded[text][part] for text in batch] for part in (0, 1))
        mask = pad_sequence([torch.ones(len(weight)) for weight in weights], batch_first=True)
        return pad_sequence(vectors, batch_first=True), mask, pad_sequence(weights, batch_first=True)

    results = []
    if verbose:
        print("computing greedy matching.")
    for start in tqdm(range(0, len(refs), batch_size), disable=not verbose):
        pairs = refs[start : start + batch_size], hyps[start : start + batch_size]
        figures = torch.stack(greedy_cos_idf(*side(pairs[0]), *side(pairs[1]), all_layers), dim=-1)
        empty = torch.tensor([bool(blank & {*pair}) for pair in zip(*pairs, strict=True)])
        results.append(torch.where(empty[:, None], 0, figures))
    return torch.cat(results, dim=1 if all_layers else 0)
