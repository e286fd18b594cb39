"""A checkpoint's weights where they lie: safetensors files, mapped into memory, of which only what is used is read.

Each architecture calls its arrays in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.encode.architecture import Architecture
from bsx.errors import InputError
from bsx.models.files import WEIGHTS, part_of, weight_files
from bsx.support.arrays import finite
from bsx.support.tensors import DAMAGE, FORMATS, read_header
from bsx.support.untyped import JsonObject

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


def check_weights(architecture: Architecture) -> None:
    """Check the files of a checkpoint's weights as `StoredArrays` does, whatever is to load them.

    Raises:
        InputError: if one is damaged.
    """
    if has_safetensors(architecture.folder):
        names = NAMES.get(architecture.kind)
        StoredArrays(architecture.folder, "" if names is None else names.prefix)


class StoredArrays:
    """The arrays of a checkpoint by name.

    Args:
        folder: of the checkpoint.
        prefix: what may stand before every name, as ``bert.`` does where more than the encoder was saved.

    Raises:
        InputError: if a file is damaged.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self._folder = folder
        self._found: dict[str, tuple[NDArray[np.uint8], JsonObject, int]] = {}
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
                if name in self._found:
                    raise self._unusable(f"cannot be loaded: they hold {name} twice")
                # Whole numbers are parts of a quantised checkpoint: without their scales they are another model's.
                if entry["dtype"] not in _FLOATS and name.rpartition(".")[2] in _LEARNT:
                    raise self._unusable(f"cannot be loaded: {name} is in the number format {entry['dtype']}")
                self._found[name] = raw, entry, start

    def _unusable(self, why: str) -> InputError:
        return InputError(f"{self._folder}: {part_of(self._folder, 'its weights', WEIGHTS)} {why}")

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def get(self, name: str, shape: tuple[int, ...], *, whole: bool = True) -> NDArray[np.float32]:
        """Return an array in fp32: a view of its file where it has that format there.

        Args:
            name: the array.
            shape: what it must have.
            whole: whether all of it is used, and so looked at.

        Raises:
            InputError: if it is missing, has another shape, or holds what is no finite number.
        """
        older = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        for other in (name, older):
            if other in self._found:
                array = self._read(other, shape)
                if whole and not finite(array):
                    raise self._unusable(f"cannot be used: {other} holds what is no finite number, or too large a one")
                return array
        raise self._unusable(f"lack some tensors of the encoder, {name} among them")

    def _read(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        raw, entry, start = self._found[name]
        try:
            first, last = (int(offset) for offset in entry["data_offsets"])
            kind, stored = entry["dtype"], tuple(entry["shape"])
            if kind not in _FLOATS:
                raise ValueError(f"{name} is in the number format {kind}")
            numbers = raw[start + first : start + last].view(FORMATS[kind]).reshape(stored)
        except DAMAGE as error:
            raise self._unusable(f"cannot be loaded: {error}") from error
        if stored != shape:
            raise self._unusable("cannot be loaded: their shapes are not those that its config.json says")
        if kind == "BF16":
            return (numbers.astype(np.uint32) << 16).view(np.float32)
        floats: NDArray[np.float32] = numbers.astype(np.float32, copy=False)
        return floats
