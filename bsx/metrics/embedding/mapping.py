"""Maps from one language's vectors into another's: fitting them on parallel text, saving, loading, applying."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.support.arrays import Array, beside, finite
from bsx.support.optional import need
from bsx.support.provenance import other_weights
from bsx.support.untyped import Untyped, blaming

Kind = Literal["clp", "umd"]


@dataclass(frozen=True)
class Mapping:
    """A map of token vectors (…, dim).

    Attributes:
        kind: ``clp``: e W with an orthogonal matrix; ``umd``: e - (e . v) v with a unit vector.
        array: W (dim, dim) or v (dim,), fp32.
        facts: how it was fitted (model, layer, links, …), text by text.
    """

    kind: Kind
    array: NDArray[np.float32]
    facts: dict[str, str]

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for the map."""
        return hashlib.sha256(np.ascontiguousarray(self.array).tobytes()).hexdigest()[:12]

    def apply(self, vectors: Array, *, scalar: bool = False) -> Array:
        """Map vectors (…, dim).

        Args:
            vectors: token vectors.
            scalar: use the first number of v where v is due, which is what the released code does with its files; the
                result is no projection. For reproduction only.
        """
        array = beside(np.array(self.array), vectors)
        if self.kind == "clp":
            return vectors @ array
        if scalar:
            return vectors - vectors.sum(-1)[..., None] * array[0] * array[0]
        return vectors - (vectors @ array)[..., None] * array

    def save(self, path: str | Path) -> None:
        """Write the map as safetensors, with its facts and its digest in the header.

        Raises:
            InputError: for a name that does not end in ``.safetensors``, or a place that cannot be written to.
        """
        from bsx.data.output import atomic_path
        from bsx.support.tensors import save_tensors

        if Path(path).suffix != ".safetensors":
            raise InputError(f"{path}: the name of a map must end in .safetensors")
        with atomic_path(Path(path)) as temporary:
            save_tensors({self.kind: self.array}, temporary, {**self.facts, "digest": self.digest})


def check_mapping(mapping: str, file: Path | None) -> None:
    """Raise ValueError, as a validator does, for ``mapping`` without ``mapping_file`` or the other way round."""
    if (mapping == "none") != (file is None):
        raise ValueError("mapping (clp or umd) and mapping_file go together: `bsx.fit_mapping` fits one")


def fit_notes(mapping: Mapping, layer: int, encoders: Encoders, spec: str) -> tuple[str, ...]:
    """Return what to say of a map fitted on another layer or language than a metric's, or on a model nobody knows."""
    facts, notes = mapping.facts, []
    if "model" not in facts:
        notes.append("nothing says which model the mapping was fitted on")
    if facts.get("layer") not in (None, str(layer)):
        notes.append(f"the mapping was fitted on layer {facts['layer']}, this is layer {layer}")
    sides = {"target": ("into", "texts", encoders.language), "source": ("from", "sources", encoders.source)}
    for side, (way, texts, language) in sides.items():
        if language is not None and facts.get(side, language.code) != language.code:
            fitted = f"translations {way} {facts[side]!r}"
            notes.append(f"the mapping was fitted on {fitted}, the {texts} are {language.name}")
    return tuple(f"{spec}: {note}" for note in notes)


def fit_clp(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the orthogonal W (dim, dim) that brings source W nearest to target, both (words, dim).

    Source: Zhao et al. 2020, section 3.2 (contextual linear projection): W = V U' of target' source = U S V'.
    """
    u, _, vt = np.linalg.svd(target.T @ source)
    return np.asarray(vt.T @ u.T, dtype=np.float32)


def fit_umd(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the unit vector v (dim,) along which aligned words differ most.

    Source: Zhao et al. 2020, section 3.2 (universal language mismatch direction): the first right singular vector of
    source - target.
    """
    difference = source - target
    # The right singular vectors are the eigenvectors of a (dim, dim) matrix, however many words there are.
    _, vectors = np.linalg.eigh(difference.T @ difference)
    direction = vectors[:, -1]
    return np.asarray(direction * np.sign(direction[np.abs(direction).argmax()]), dtype=np.float32)


def load_mapping(path: Path, kind: Kind, dimensions: int, identity: str = "") -> Mapping:
    """Read a map for vectors (dim,): our safetensors file, or an array saved by NumPy (.npy) or PyTorch (other names).

    A direction may be stored as (dim,), (1, dim) or (dim, 1). The model's ``identity`` is its name and digest: the same
    weights may have another name, and the map of another program does not say which model it is for.

    Raises:
        InputError: if there is no such file, or it holds another kind or size of map, or zeros, or a map that was
            fitted on another model.
    """
    if not path.is_file():
        raise InputError("there is no such file; `bsx.fit_mapping` makes one", file=path)
    facts: dict[str, str] = {}
    if path.suffix == ".safetensors":
        from bsx.support.tensors import load_arrays

        tensors, facts = load_arrays(path)
        if kind not in tensors:
            raise InputError(f"holds {', '.join(tensors)}, not a {kind} map", file=path)
        array: Untyped = tensors[kind]
    elif path.suffix in (".npy", ".npz"):
        with blaming(f"{path}: is not an array saved by NumPy"):
            array = np.load(path, allow_pickle=False)
        if not isinstance(array, np.ndarray):
            array.close()
            raise InputError("holds several arrays; save the map alone, as .npy", file=path)
    else:
        from bsx.support.tensors import load_saved

        torch: Untyped = need("torch", f"Reading {path}")
        with blaming(f"{path}: is not an array saved by PyTorch"):
            loaded = load_saved(path)
        if not isinstance(loaded, torch.Tensor) or loaded.is_complex():
            raise InputError(f"holds {type(loaded).__name__}, not an array of real numbers", file=path)
        array = loaded.detach().float().numpy()
    if kind == "umd" and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    wanted = (dimensions, dimensions) if kind == "clp" else (dimensions,)
    if array.shape != wanted:
        raise InputError(f"holds an array of shape {array.shape}; a {kind} map of this model has {wanted}", file=path)
    if array.dtype.kind not in "fiu" or not finite(numbers := array.astype(np.float32)):
        raise InputError("is no map: not all of its numbers are real and finite", file=path)
    if not numbers.any():
        raise InputError("is no map: it holds nothing but zeros", file=path)
    written = facts.pop("digest", None)
    mapping = Mapping(kind, numbers, facts)
    if written not in (None, mapping.digest):
        raise InputError("is damaged: its map is not the one that was written; fit it again", file=path)
    fitted_on = facts.get("model", "")
    if other_weights(fitted_on, identity):
        raise InputError(
            f"this map was fitted on the vectors of {fitted_on}, the model is {identity}: fit one for it with "
            "`bsx.fit_mapping`",
            file=path,
        )
    return mapping
