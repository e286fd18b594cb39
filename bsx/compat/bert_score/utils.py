"""The names of ``bert_score.utils`` that others import: its two tables, model and tokenizer, idf weights, the hash."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from bsx.catalog.catalog import load_registry
from bsx.errors import UnknownNameError
from bsx.support.provenance import VERSION
from bsx.support.untyped import Untyped

__version__ = f"0.3.13+bsx.{VERSION}"
"""The version whose interface this is, and what computes: code that compares versions reads the first part."""


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
    """Language -> the model that the registry chooses for it; unlike there, an unknown language is no key."""

    def __getitem__(self, lang: str) -> str:
        from bsx.models.choice import choose

        try:
            return choose(None, lang, load_registry()).name
        except UnknownNameError as error:
            raise KeyError(str(error)) from error

    def __iter__(self) -> Iterator[str]:
        return iter(load_registry().languages)

    def __len__(self) -> int:
        return len(load_registry().languages)


model2layers: Mapping[str, int] = _Layers()
lang2model: Mapping[str, str] = _Models()


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

    It puts a space before a text where the registry says that the model was tuned so, as the scores here do.

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
    return AutoTokenizer.from_pretrained(located.checkpoint.folder, local_files_only=True, **space)


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
    from transformers import __version__ as transformers_version

    parts = [f"{model}_L{num_layers}{'_idf' if idf else '_no-idf'}_version={__version__}"]
    parts.append(f"(hug_trans={transformers_version})")
    if rescale_with_baseline:
        parts.append("-custom-rescaled" if use_custom_baseline else "-rescaled")
    if use_fast_tokenizer:
        parts.append("_fast-tokenizer")
    return "".join(parts)
