"""The names of ``bert_score.utils``: its two tables, model and tokenizer, idf weights, the hash, and `embedding`'s."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from bsx.catalog.catalog import load_registry
from bsx.catalog.entries.models import ModelEntry
from bsx.compat.bert_score.embedding import bert_cos_score_idf as bert_cos_score_idf
from bsx.compat.bert_score.embedding import bert_encode as bert_encode
from bsx.compat.bert_score.embedding import collate_idf as collate_idf
from bsx.compat.bert_score.embedding import get_bert_embedding as get_bert_embedding
from bsx.compat.bert_score.embedding import greedy_cos_idf as greedy_cos_idf
from bsx.compat.bert_score.embedding import padding as padding
from bsx.compat.bert_score.embedding import process as process
from bsx.compat.bert_score.embedding import sent_encode as sent_encode
from bsx.errors import InputError, UnknownNameError
from bsx.support.provenance import VERSION
from bsx.support.untyped import Untyped

__version__ = f"0.3.13+bsx.{VERSION}"
"""The version whose interface this is, and what computes: code that compares versions reads the first part."""

# Owners that the hub gave to models which had none when bert-score named them.
_LATER_OWNERS = {"albert", "distilbert", "FacebookAI", "google-bert", "google-t5", "openai-community", "xlnet"}
_MULTILINGUAL = "bert-base-multilingual-cased"


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
    """Language -> the model that the registry chooses for it, in bert-score's spelling."""

    def __getitem__(self, lang: str) -> str:
        from bsx.models.choice import choose

        try:
            result = choose(None, lang, load_registry())
        except (UnknownNameError, InputError) as error:  # no such language, or no model for it
            raise KeyError(str(error)) from error
        return result.name if result.entry is None else spelled(result.entry)

    def __iter__(self) -> Iterator[str]:
        return (code for code, entry in load_registry().languages.items() if entry.model is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Languages(ChainMap[str, str]):
    """As there, a language that nobody knows has the multilingual model; `score` refuses it nevertheless."""

    def __missing__(self, lang: str) -> str:
        return _MULTILINGUAL


own_layers: dict[str, int] = {}
"""What a program wrote into `model2layers`."""
own_models: dict[str, str] = {}
"""What a program wrote into `lang2model`."""
# A chain writes into its first map, whose type is that of them all to a type checker.
_layers: MutableMapping[str, int] = _Layers()  # type: ignore[assignment]
_models: MutableMapping[str, str] = _Models()  # type: ignore[assignment]
model2layers = ChainMap(own_layers, _layers)
"""Model -> layer; what a program writes into it is used by `score` and `BERTScorer`, as there."""
lang2model = _Languages(own_models, _models)
"""Language -> model; what a program writes into it is used by `score` and `BERTScorer`, as there."""


def spelled(entry: ModelEntry) -> str:
    """Return a model's name in bert-score's spelling: with the owner, where the hub had one at its time."""
    hub = entry.source.hub
    if hub is None or hub.partition("/")[0] in _LATER_OWNERS:
        return entry.name
    return hub


def cache_scibert(model_type: str, cache_folder: str = "~/.cache/torch/transformers") -> str:
    """Return the folder of a SciBERT by its old name, such as ``scibert-scivocab-uncased``; any other name as it is.

    Args:
        model_type: a name.
        cache_folder: accepted and ignored: the model is where all others are, and nothing is unpacked by a shell.
    """
    from bsx.encode.session import Encoders

    del cache_folder
    return (
        str(Encoders().locate(_named(model_type)).checkpoint.folder) if model_type != _named(model_type) else model_type
    )


def _named(model_type: str) -> str:
    return model_type.replace("-", "_") if model_type.startswith("scibert-") else model_type


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

    architecture = Encoders().locate(_named(model_type)).architecture
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
    located = Encoders().locate(_named(model_type))
    entry = located.choice.entry
    space = {"add_prefix_space": True} if entry is not None and entry.leading_space else {}
    tokenizer = AutoTokenizer.from_pretrained(located.checkpoint.folder, local_files_only=True, **space)
    limit = located.architecture.position_limit
    tokenizer.model_max_length = min(tokenizer.model_max_length, limit or tokenizer.model_max_length)
    return tokenizer


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
