"""What a checkpoint's configuration says, before any weight is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bsx.catalog.entries.models import Family
from bsx.encode.light.settings import filled, known
from bsx.errors import InputError
from bsx.models.files import WEIGHTS, part_of
from bsx.support.arrays import Array, finite
from bsx.support.optional import need
from bsx.support.untyped import JsonObject, Untyped, blaming

MOST_LAYERS, MOST_DIMENSIONS = 10_000, 1_000_000
_BOUNDS = (
    (re.compile(r"layers?$|blocks?$|experts$|langs$"), MOST_LAYERS),
    (re.compile("num_labels"), 10**6),
    (re.compile("positions?"), 2**24),
    (re.compile(""), 2**53),  # beyond it a number of JSON is no whole number
)
"""The highest numbers of a configuration, by name: of some, transformers makes a list or a table of that length."""


@dataclass(frozen=True)
class Architecture:
    """What a checkpoint's configuration says, before any weight is read.

    Attributes:
        folder: the checkpoint's folder.
        said: its ``config.json``.
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
    said: JsonObject = field(repr=False)
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
            said: JsonObject = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
            refuse_endless(said)
            light = known(said) and not (trust_remote_code and said.get("auto_map"))
            config = None if light else _transformers_config(folder, trust_remote_code)
            # What transformers reads under other names, it has under its own too.
            fact: Callable[[str], Untyped] = filled(said).get if light else lambda name: getattr(config, name, None)
            kind = fact("model_type")
            if kind not in families:
                raise InputError(
                    f"the architecture {kind!r} is not one bsx knows how to cut at a layer "
                    f"({', '.join(sorted(families))}); an entry in registry/families.yaml teaches it",
                    file=folder,
                )
            family = families[kind]
            refuse_foreign_code(said, folder)
            positions = said.get("position_embedding_type") or "absolute"
            if positions != "absolute":
                raise InputError(
                    f"{folder / 'config.json'}: needs {positions} positions, which transformers 5 no longer computes: "
                    "it would run as another model"
                )
            count = "num_hidden_layers" if light else family.layer_count
            depth, dimensions = int(fact(count)), int(fact("hidden_size"))
            if not (1 <= depth <= MOST_LAYERS and 1 <= dimensions <= MOST_DIMENSIONS):
                raise ValueError(f"it says {depth} layers of {dimensions} dimensions")
            size, vocabulary, pad = fact(family.position_count), fact("vocab_size"), fact("pad_token_id")
            return cls(
                folder,
                said,
                family,
                depth,
                dimensions,
                int(fact("num_attention_heads") or 12),
                None if vocabulary is None else int(vocabulary),
                None if size is None or size <= 0 else int(size) - family.position_offset,
                0 if pad is None else int(pad),
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
        return str(self.said.get("model_type"))

    def check_layer(self, layer: int) -> None:
        """Refuse a layer that the model does not have.

        Raises:
            InputError: naming the layers there are.
        """
        if not 0 <= layer <= self.depth:
            raise too_deep(layer, self.folder.name, self.depth)

    def check_vectors(self, vectors: Array, mask: Array | None) -> None:
        """Refuse vectors that are no finite numbers, or so large that they have no length.

        Args:
            vectors: of a batch (layers, batch, tokens, dim).
            mask: 1 for tokens, 0 for padding (batch, tokens), of which nobody looks at the vectors; None if all are.

        Raises:
            InputError: if there are such.
        """
        if finite(vectors) or (mask is not None and finite(vectors[:, mask != 0])):
            return
        weights = part_of(self.folder, "its weights", WEIGHTS)
        narrow = "; fp16 has no large ones: use bf16 or fp32" if "float16" in str(vectors.dtype) else ""
        raise InputError(
            f"{weights} cannot be used: they make vectors that are no finite numbers{narrow}", file=self.folder
        )


def refuse_endless(said: object, name: str = "") -> None:
    """Refuse a configuration of which transformers would make lists that no memory holds.

    Raises:
        ValueError: naming the number.
    """
    if isinstance(said, dict):
        for key, value in said.items():
            refuse_endless(value, str(key))
    elif isinstance(said, list):
        for value in said:
            refuse_endless(value, name)
    elif isinstance(said, int | float):
        most = next(most for pattern, most in _BOUNDS if pattern.search(name))
        if abs(said) > most:
            raise ValueError(f"it says {name} {said}, and at most {most} can be")


def _transformers_config(folder: Path, trust_remote_code: bool) -> Untyped:
    transformers: Untyped = need("transformers", f"{folder}: its architecture")
    return transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)


def refuse_foreign_code(said: Mapping[str, object], folder: Path) -> None:
    """Refuse a checkpoint whose weights are quantised: that brings in packages with code of their own.

    Raises:
        InputError: if they are.
    """
    if said.get("quantization_config") is not None:
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
    and runs; a ``quantization_config`` brings in packages with code of their own.

    Args:
        config: the configuration, as transformers has it; changed in place.
        folder: the checkpoint's folder, for the message.

    Raises:
        InputError: if its weights are quantised.
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
