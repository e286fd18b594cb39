"""What programs call of ``bert_score.utils``: its two tables, model and tokenizer, idf weights, pairs, the hash."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from bsx.catalog.catalog import load_registry
from bsx.catalog.entries.models import ModelEntry
from bsx.errors import InputError, UnknownNameError
from bsx.support.provenance import VERSION
from bsx.support.untyped import Untyped

if TYPE_CHECKING:
    import torch

__version__ = f"0.3.13+bsx.{VERSION}"
"""The version whose interface this is, and what computes: code that compares versions reads the first part."""

# Owners that the hub gave to models which had none when bert-score named them.
_LATER_OWNERS = {"albert", "distilbert", "FacebookAI", "google-bert", "google-t5", "openai-community", "xlnet"}
# What tokenizers say whose author set no limit (1e30) is no length.
NO_LIMIT = 1_000_000


class _Layers(Mapping[str, int]):
    """Model -> the layer that the registry scores it with; models without a known layer are not in it."""

    def __getitem__(self, name: str) -> int:
        entry = load_registry().find(name)
        if entry is None or not isinstance(entry.layer, int):
            raise KeyError(name)
        return entry.layer

    def __iter__(self) -> Iterator[str]:
        return (name for name in load_registry().names() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Models(Mapping[str, str]):
    """Language -> the papers' choice for it, as far as it was trained on it, in bert-score's spelling."""

    def __getitem__(self, lang: str) -> str:
        from bsx.models.ranking import select_model

        try:
            return spelled(select_model(lang, prefer="paper").entry)
        except (UnknownNameError, InputError) as error:  # no such language, or no model for it
            raise KeyError(str(error)) from error

    def __iter__(self) -> Iterator[str]:
        return (code for code, entry in load_registry().languages.items() if entry.model is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Languages(ChainMap[str, str]):
    """As there, a language that nobody knows has the multilingual model; `score` refuses it nevertheless."""

    def __missing__(self, lang: str) -> str:
        return "bert-base-multilingual-cased"


# What a program wrote into the tables: a chain writes into its first map, and a type checker takes all for such.
own_layers: dict[str, int] = {}
own_models: dict[str, str] = {}
model2layers = ChainMap(own_layers, _Layers())  # type: ignore[arg-type]
"""Model -> layer; what a program writes into it is used by `score` and `BERTScorer`, as there."""
lang2model = _Languages(own_models, _Models())  # type: ignore[arg-type]
"""Language -> model; what a program writes into it is used by `score` and `BERTScorer`, as there."""


def spelled(entry: ModelEntry) -> str:
    """Return a model's name in bert-score's spelling: with the owner, where the hub had one at its time."""
    hub = entry.source.hub
    if hub is None or hub.partition("/")[0] in _LATER_OWNERS:
        return entry.name
    return hub


def get_model(model_type: str, num_layers: int, all_layers: bool | None = None) -> Untyped:
    """Return a model's encoder without the layers above one, as a torch module in evaluation mode, on the CPU.

    Args:
        model_type: registry name, hub id or folder.
        num_layers: the highest layer that is kept.
        all_layers: keep all layers instead.

    Raises:
        InputError: if the model has no such layer.
        ModelUnavailableError: if the model is neither on this machine nor reachable.
    """
    from bsx.encode.session import Encoders
    from bsx.encode.torch_encoder import TransformerEmbedder

    architecture = Encoders().locate(model_type).architecture
    layers = None if all_layers else [num_layers]
    module = TransformerEmbedder(architecture, layers=layers, device="cpu").module
    return module.requires_grad_(True)


def get_tokenizer(model_type: str, use_fast: bool = False) -> Untyped:
    """Return a model's tokenizer, as transformers has it.

    It puts a space before a text where the registry says that the model was tuned so, as the scores here do, and its
    ``model_max_length`` is the model's where its author set none.

    Args:
        model_type: registry name, hub id or folder.
        use_fast: accepted and ignored: transformers 5 has one tokenizer a model.
    """
    from transformers import AutoTokenizer

    from bsx.encode.session import Encoders

    del use_fast
    located = Encoders().locate(model_type)
    entry = located.choice.entry
    space = {"add_prefix_space": True} if entry is not None and entry.leading_space else {}
    tokenizer = AutoTokenizer.from_pretrained(located.checkpoint.folder, local_files_only=True, **space)
    limit = located.architecture.position_limit
    tokenizer.model_max_length = min(tokenizer.model_max_length, limit or tokenizer.model_max_length)
    return tokenizer


def sent_encode(tokenizer: Untyped, sent: str) -> list[int]:
    """Return a text's ids with special tokens, cut off at the tokenizer's ``model_max_length``.

    Args:
        tokenizer: what `get_tokenizer` returns, or any of transformers.
        sent: a text; white space around it is dropped.
    """
    limit = int(min(tokenizer.model_max_length, NO_LIMIT))
    return list(tokenizer.encode(sent.strip(), add_special_tokens=True, truncation=True, max_length=limit))


def get_idf_dict(arr: Sequence[str], tokenizer: Untyped, nthreads: int = 4) -> defaultdict[int, float]:
    """Return idf weights counted on texts, for ``score(…, idf=…)``.

    Args:
        arr: the texts; unlike there, blank ones are no documents.
        tokenizer: what `get_tokenizer` returns.
        nthreads: accepted and ignored.

    Returns:
        Token id -> log((M + 1) / (df + 1)) for M texts, and log(M + 1) for every other id.
    """
    from bsx.encode.idf import count_idf
    from bsx.encode.tokenizer import Tokenizer

    del nthreads
    counted = count_idf(arr, Tokenizer(tokenizer, position_limit=None))
    return defaultdict(partial(float, counted.unseen), counted.weights)


def bert_cos_score_idf(
    model: Untyped,
    refs: Sequence[str],
    hyps: Sequence[str],
    tokenizer: Untyped,
    idf_dict: Mapping[int, float],
    verbose: bool = False,
    batch_size: int = 64,
    device: str | torch.device | None = None,
    all_layers: bool = False,
) -> torch.Tensor:
    """Score pairs with a torch model and a tokenizer of one's own.

    Padding loses against every cosine, a text without a token besides special ones scores 0, and so does a side whose
    weights add up to 0: no figure depends on the batch.

    Args:
        model: a torch encoder, as `get_model` returns it; the layer is its last. It is put into evaluation mode.
        refs: n references.
        hyps: n candidates.
        tokenizer: see `sent_encode`.
        idf_dict: id -> weight; a missing id weighs what its ``__missing__`` says, or 1.
        verbose: accepted and ignored.
        batch_size: texts and pairs a batch.
        device: where the ids go; the model's own unless given (there: ``cuda:0``).
        all_layers: score every layer.

    Returns:
        Precision, recall and F1 (n, 3), or of all layers (layers, n, 3), on the CPU.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    del verbose
    place, known = device or next(model.parameters()).device, hasattr(idf_dict, "__missing__")
    texts = sorted({*refs, *hyps}, key=lambda text: (-len(text), text))
    ids = {text: sent_encode(tokenizer, text) for text in texts}
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    vectors: dict[str, torch.Tensor] = {}  # (tokens, layers, size)
    model.eval()
    for start in range(0, len(texts), batch_size):
        batch = texts[start : start + batch_size]
        rows = [torch.tensor(ids[text], dtype=torch.long) for text in batch]
        padded = pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad_token_id or 0)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        with torch.no_grad():
            out = model(padded.to(place), attention_mask=mask.to(place), output_hidden_states=all_layers)
        states = (torch.stack(out[-1], dim=2) if all_layers else out[0].unsqueeze(2)).cpu()
        vectors |= {text: state[: len(ids[text])] for text, state in zip(batch, states, strict=True)}

    results = []
    for start in range(0, len(refs), batch_size):
        sides = [list(side[start : start + batch_size]) for side in (hyps, refs)]
        left, right = (
            torch.nn.functional.normalize(pad_sequence([vectors[text] for text in side], batch_first=True), dim=-1)
            for side in sides
        )
        masks = [pad_sequence([torch.ones(len(ids[text])) for text in side], batch_first=True).bool() for side in sides]
        cosines = torch.einsum("nild,njld->lnij", left, right)
        cosines = cosines.masked_fill(~(masks[0][:, :, None] & masks[1][:, None, :]), -torch.inf)
        means = []
        for side, best, mask in zip(sides, (cosines.amax(3), cosines.amax(2)), masks, strict=True):
            rows = [
                torch.tensor([float(idf_dict[i]) if known or i in idf_dict else 1.0 for i in ids[text]])
                for text in side
            ]
            weights = pad_sequence(rows, batch_first=True).to(best)
            total = weights.sum(1)
            mean = (best.masked_fill(~mask, 0) * weights).sum(2) / torch.where(total == 0, 1, total)
            means.append(torch.where(total == 0, 0, mean))
        precision, recall = means
        f1 = torch.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0, posinf=0.0, neginf=0.0)
        empty = torch.tensor([any(special.issuperset(ids[text]) for text in pair) for pair in zip(*sides, strict=True)])
        results.append(torch.where(empty[:, None], 0, torch.stack([precision, recall, f1], dim=-1)))
    return torch.cat(results, dim=1) if all_layers else torch.cat(results, dim=1)[0]


def get_hash(
    model: str,
    num_layers: int,
    idf: object,
    rescale_with_baseline: bool,
    use_custom_baseline: bool = False,
    use_fast_tokenizer: bool = False,
) -> str:
    """Return bert-score's line of settings, with `__version__`, which says that bsx computed."""
    try:
        transformers_version = version("transformers")
    except PackageNotFoundError:  # ONNX Runtime encodes without it
        transformers_version = "none"
    parts = [f"{model}_L{num_layers}{'_idf' if idf else '_no-idf'}_version={__version__}"]
    parts.append(f"(hug_trans={transformers_version})")
    if rescale_with_baseline:
        parts.append("-custom-rescaled" if use_custom_baseline else "-rescaled")
    if use_fast_tokenizer:
        parts.append("_fast-tokenizer")
    return "".join(parts)
