"""A checkpoint as it lies on the disk: what its configuration says, and its weights, read where they are used.

Of architectures whose graph bsx builds, what ``config.json`` leaves unsaid is filled in, and the arrays of safetensors
files are mapped into memory under the names that each architecture has for them. PyTorch and transformers are not
needed for these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.entries.models import Family
from bsx.errors import InputError, did_you_mean
from bsx.models.files import WEIGHTS, part_of, weight_files
from bsx.support.arrays import Array, finite
from bsx.support.optional import need
from bsx.support.tensors import DAMAGE, FORMATS, read_header
from bsx.support.untyped import JsonObject, Untyped, blaming


@dataclass(frozen=True)
class Architecture:
    """What a checkpoint's configuration says, before any weight is read.

    Attributes:
        folder: the checkpoint's folder.
        stored: its ``config.json``.
        family: how this architecture is loaded and cut.
        depth: how many layers the whole model has.
        dimensions: size of a token vector.
        heads: attention heads of a layer.
        vocabulary: ids that the model has vectors for; None if it does not say.
        position_limit: tokens that its table of positions serves; None if it has none.
        pad_id: the id that fills short sequences.
        trust_remote_code: whether it may bring its own code.
    """

    folder: Path
    stored: JsonObject = field(repr=False)
    family: Family
    depth: int
    dimensions: int
    heads: int
    vocabulary: int | None
    position_limit: int | None
    pad_id: int
    trust_remote_code: bool = False

    @classmethod
    def read(cls, folder: Path, families: dict[str, Family], *, trust_remote_code: bool = False) -> Architecture:
        """Read ``config.json``, by transformers where bsx does not know what it leaves unsaid.

        Raises:
            InputError: if it cannot be read, or describes an encoder that bsx cannot cut at a layer.
            MissingExtraError: if transformers is wanted and not installed.
        """
        with blaming(f"{folder}: its config.json cannot be used"):
            stored: JsonObject = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
            if not isinstance(stored.get("model_type", ""), str):
                raise InputError(
                    f"its config.json says model_type {stored['model_type']!r}, which is no name", file=folder
                )
            light = known(stored) and not (trust_remote_code and stored.get("auto_map"))
            named = stored.get("model_type")
            if stored.get("auto_map") and named not in families and not trust_remote_code:
                raise InputError(
                    f"its architecture {named!r} is code of its own (auto_map in its config.json), which bsx does not "
                    "run: use a version of the model that transformers has the code of, or another model",
                    file=folder,
                )
            config = None if light else _transformers_config(folder, trust_remote_code)
            # What transformers reads under other names, it has under its own too.
            fact: Callable[[str], Untyped] = filled(stored).get if light else lambda name: getattr(config, name, None)
            kind = fact("model_type")
            if kind not in families:
                raise InputError(
                    f"the architecture {kind!r} is not one bsx knows how to cut at a layer."
                    f"{did_you_mean(str(kind), families)} If it reads text alone, an entry in families.yaml "
                    "teaches it",
                    file=folder,
                )
            family = families[kind]
            refuse_foreign_code(stored, folder)
            positions = stored.get("position_embedding_type") or "absolute"
            if positions != "absolute":
                raise InputError(
                    f"{folder / 'config.json'}: needs {positions} positions, which transformers 5 no longer computes: "
                    "it would run as another model"
                )
            count = "num_hidden_layers" if light else family.layer_count
            depth, dimensions = int(fact(count)), int(fact("hidden_size"))
            if depth < 1 or dimensions < 1:
                raise ValueError(f"it says {depth} layers of {dimensions} dimensions")
            size, vocabulary, pad = fact(family.position_count), fact("vocab_size"), fact("pad_token_id")
            return cls(
                folder,
                stored,
                family,
                depth,
                dimensions,
                int(fact("num_attention_heads") or 12),
                None if vocabulary is None else int(vocabulary),
                None if size is None or size <= 0 else int(size) - family.position_offset,
                0 if pad is None or (pad < 0 and not light) else int(pad),  # some decoders say -1
                trust_remote_code,
            )

    @cached_property
    def config(self) -> Untyped:
        """The configuration as transformers has it, with the family's settings; for PyTorch."""
        with blaming(f"{self.folder}: its config.json cannot be used"):
            config = _transformers_config(self.folder, self.trust_remote_code)
            for name, value in self.family.settings.items():
                setattr(config, name, value)
            use_own_code(config, self.folder)  # last: an overlay's family is no better than a checkpoint
        return config

    @property
    def kind(self) -> str:
        """The name of the architecture, transformers' ``model_type``."""
        return str(self.stored.get("model_type"))

    def check_layer(self, layer: int) -> None:
        """Raise InputError for a layer that the model does not have, naming those that it has."""
        if not 0 <= layer <= self.depth:
            raise too_deep(layer, self.folder.name, self.depth)

    def check_vectors(self, vectors: Array, mask: Array | None) -> None:
        """Raise InputError for vectors (layers, batch, tokens, dim) that are no finite numbers, or have no length.

        Nobody looks at those of padding, where the mask (batch, tokens) is 0; without a mask there is none.
        """
        if finite(vectors) or (mask is not None and finite(vectors[:, mask != 0])):
            return
        weights = part_of(self.folder, "its weights", WEIGHTS)
        narrow = "; fp16 has no large ones: use bf16 or fp32" if "float16" in str(vectors.dtype) else ""
        raise InputError(
            f"{weights} cannot be used: they make vectors that are no finite numbers{narrow}", file=self.folder
        )


def _transformers_config(folder: Path, trust_remote_code: bool) -> Untyped:
    transformers: Untyped = need("transformers", f"{folder}: its architecture")
    return transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)


def refuse_foreign_code(stored: Mapping[str, object], folder: Path) -> None:
    """Raise InputError if a checkpoint's weights are quantised: that brings in packages with code of their own."""
    if stored.get("quantization_config") is not None:
        raise InputError(
            "its weights are quantised (quantization_config in its config.json), which needs code that "
            "bsx does not load: use the checkpoint that it was made from",
            file=folder,
        )


_AS_EVER: Untyped = {
    "return_dict": True,
    "torchscript": False,
    "output_attentions": False,
    "output_hidden_states": False,
    "use_cache": False,
    "chunk_size_feed_forward": 0,
    "transformers_weights": None,
}
"""How an encoder is run, and read from which files, is not for its configuration to say; no number changes by it."""


def use_own_code(config: Untyped, folder: Path) -> None:
    """Take out of a checkpoint's configuration what would fetch or choose code to compute it with.

    ``attn_implementation`` and ``experts_implementation`` may name kernels on a hub, which transformers then fetches
    and runs. The configuration is transformers', and changed in place.

    Raises:
        InputError: if its weights are quantised; see `refuse_foreign_code`.
    """
    parts = [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    for part in [config, *(part for part in parts if part is not None)]:
        refuse_foreign_code({"quantization_config": getattr(part, "quantization_config", None)}, folder)
        if part._attn_implementation not in (None, "eager", "sdpa"):
            part._attn_implementation = None
        part._experts_implementation = None
        for name, value in _AS_EVER.items():
            if hasattr(part, name):
                setattr(part, name, value)


def too_deep(layer: int, model: str, depth: int) -> InputError:
    """Return the error for a layer that a model does not have."""
    return InputError(f"layer: {layer} is too deep, {model} has layers 0 to {depth}")


_BERT: JsonObject = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
_ROBERTA = {**_BERT, "pad_token_id": 1}
# model_type -> what transformers takes for what is not said
DEFAULTS: dict[str, JsonObject] = {
    "bert": _BERT,
    "roberta": {**_ROBERTA, "vocab_size": 50265},
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "mpnet": {**_ROBERTA, "vocab_size": 30527, "relative_attention_num_buckets": 32},
    "electra": {
        **_BERT,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
        "embedding_size": 128,
    },
    "albert": {
        **_BERT,
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_hidden_groups": 1,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "inner_group_num": 1,
        "hidden_act": "gelu_new",
    },
    "distilbert": {**_BERT, "num_hidden_layers": 6, "type_vocab_size": 0},
}
TYPED = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "albert")
"""Architectures that add a vector for the type of a token, whatever is said."""
_DISTILBERT = {
    "dim": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
ACTIVATIONS = {
    "gelu": "Gelu",
    "relu": "Relu",
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast"), "FastGelu"),
}
"""The runtime's operator of each activation."""


def known(stored: JsonObject) -> bool:
    """Tell whether `filled` can fill in what ``config.json`` leaves unsaid."""
    return stored.get("model_type") in DEFAULTS


def filled(stored: JsonObject) -> JsonObject:
    """Return the settings of a known architecture under BERT's names, unsaid ones included.

    Raises:
        ValueError: if a number is none, or none that can be.
    """
    kind = stored["model_type"]
    names = _DISTILBERT if kind == "distilbert" else {}
    settings = {**DEFAULTS[kind], **{names.get(name, name): value for name, value in stored.items()}}
    for name, usual in DEFAULTS[kind].items():
        value = settings[name]
        if name == "pad_token_id" and value is None:
            settings[name] = usual
        elif isinstance(usual, int | float) and type(value) is not type(usual):  # as transformers has them
            raise ValueError(f"it says {name} {value!r}")
    sizes = ["vocab_size", "hidden_size", "num_attention_heads", "intermediate_size", "max_position_embeddings"]
    sizes += ["type_vocab_size"] * (kind in TYPED) + ["embedding_size"] * ("embedding_size" in DEFAULTS[kind])
    for name in sizes:
        if not settings[name] >= 1:
            raise ValueError(f"it says {name} {settings[name]}")
    if not 0 <= settings["layer_norm_eps"] < 1:
        raise ValueError(f"it says layer_norm_eps {settings['layer_norm_eps']}")
    for name in ("is_decoder", "add_cross_attention"):
        if settings.get(name):
            raise ValueError(
                f"it says {name} {settings[name]!r}: it is no encoder, its tokens do not see those after them"
            )
    if not -settings["vocab_size"] <= settings["pad_token_id"] < settings["vocab_size"]:
        raise ValueError(f"it says pad_token_id {settings['pad_token_id']}, of {settings['vocab_size']} tokens")
    return settings


_FLOATS = ("F32", "F16", "BF16", "F64")
_LEARNT = ("weight", "bias", "gamma", "beta")
"""Ends of the names of what a network computes with, unlike those of the indices and counters that it keeps."""


@dataclass(frozen=True)
class Names:
    """Names of arrays, without ``.weight`` and ``.bias``; those of a layer stand behind ``layer``.

    Attributes:
        prefix: what stands before every name in a checkpoint that holds more than the encoder.
        layer: a layer, with its number for ``{}``.
        query: what makes queries, as ``key`` and ``value`` make keys and values.
        mixed: what is applied to what attention mixed, and ``mixed_norm`` the normalisation after it.
        inner: the first matrix of the feed-forward part, ``outer`` the second, ``outer_norm`` the normalisation.
        projection: from the size of embeddings to that of states, where they differ.
        norm: the normalisation of embeddings.
    """

    prefix: str
    layer: str = "encoder.layer.{}."
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    mixed: str = "attention.output.dense"
    mixed_norm: str = "attention.output.LayerNorm"
    inner: str = "intermediate.dense"
    outer: str = "output.dense"
    outer_norm: str = "output.LayerNorm"
    words: str = "embeddings.word_embeddings"
    positions: str = "embeddings.position_embeddings"
    types: str = "embeddings.token_type_embeddings"
    norm: str = "embeddings.LayerNorm"
    projection: str = "embeddings_project"


NAMES = {
    "bert": Names("bert."),
    "roberta": Names("roberta."),
    "xlm-roberta": Names("roberta."),
    "camembert": Names("roberta."),
    "electra": Names("electra."),
    "mpnet": Names(
        "mpnet.",
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        mixed="attention.attn.o",
        mixed_norm="attention.LayerNorm",
    ),
    "distilbert": Names(
        "distilbert.",
        layer="transformer.layer.{}.",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        mixed="attention.out_lin",
        mixed_norm="sa_layer_norm",
        inner="ffn.lin1",
        outer="ffn.lin2",
        outer_norm="output_layer_norm",
    ),
    "albert": Names(
        "albert.",
        layer="encoder.albert_layer_groups.0.albert_layers.0.",
        query="attention.query",
        key="attention.key",
        value="attention.value",
        mixed="attention.dense",
        mixed_norm="attention.LayerNorm",
        inner="ffn",
        outer="ffn_output",
        outer_norm="full_layer_layer_norm",
        projection="encoder.embedding_hidden_mapping_in",
    ),
}


def has_safetensors(folder: Path) -> bool:
    """Tell whether a checkpoint's weights are in safetensors files."""
    return any(file.suffix == ".safetensors" for file in weight_files(folder))


class StoredArrays:
    """The arrays of a checkpoint's folder by name.

    A prefix may stand before every name, as ``bert.`` does where more than the encoder was saved.

    Raises:
        InputError: if a file is damaged.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self._folder = folder
        self._tensors: dict[str, tuple[NDArray[np.uint8], JsonObject, int]] = {}
        for file in weight_files(folder):
            try:
                with file.open("rb") as stream:
                    header, start = read_header(stream, file.stat().st_size)
                raw: NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="r")
            except (OSError, *DAMAGE) as error:
                raise self._unusable(f"cannot be loaded: {file.name}: {error}") from error
            header.pop("__metadata__", None)
            for whole, entry in header.items():
                name = whole.removeprefix(prefix)
                if name in self._tensors:
                    raise self._unusable(f"cannot be loaded: they hold {name} twice")
                # Whole numbers are parts of a quantised checkpoint: without their scales they are another model's.
                if entry["dtype"] not in _FLOATS and name.rpartition(".")[2] in _LEARNT:
                    raise self._unusable(f"cannot be loaded: {name} is in the number format {entry['dtype']}")
                self._tensors[name] = raw, entry, start

    def _unusable(self, why: str) -> InputError:
        return InputError(f"{self._folder}: {part_of(self._folder, 'its weights', WEIGHTS)} {why}")

    def get(self, name: str, shape: tuple[int, ...], *, whole: bool = True) -> NDArray[np.float32]:
        """Return an array of some shape in fp32: a view of its file where it has that format there.

        Where the ``whole`` of it is used, all its numbers are looked at.

        Raises:
            InputError: if it is missing, has another shape, or holds what is no finite number.
        """
        older = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        for other in (name, older):
            if other in self._tensors:
                break
        else:
            raise self._unusable(f"lack some tensors of the encoder, {name} among them")
        raw, entry, start = self._tensors[other]
        try:
            first, last = (int(offset) for offset in entry["data_offsets"])
            kind, stored = entry["dtype"], tuple(entry["shape"])
            if kind not in _FLOATS:
                raise ValueError(f"{other} is in the number format {kind}")
            numbers = raw[start + first : start + last].view(FORMATS[kind]).reshape(stored)
        except DAMAGE as error:
            raise self._unusable(f"cannot be loaded: {error}") from error
        if stored != shape:
            raise self._unusable("cannot be loaded: their shapes are not those that its config.json says")
        array: NDArray[np.float32] = (
            (numbers.astype(np.uint32) << 16).view(np.float32)
            if kind == "BF16"
            else numbers.astype(np.float32, copy=False)
        )
        if whole and not finite(array):
            raise self._unusable(f"cannot be used: {other} holds what is no finite number, or too large a one")
        return array
