"""Maps from one language's vectors into another's: fitting them on parallel text, saving, loading, applying."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import regex
from numpy.typing import NDArray
from pydantic import Field

from bsx.catalog.languages import language_pair
from bsx.encode.session import Encoders
from bsx.encode.states import LayerView, encode_texts, normalise, segment_sum
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.support.arrays import Array, beside, fetch, finite
from bsx.support.optional import need
from bsx.support.progress import Watch, reporter
from bsx.support.provenance import other_weights
from bsx.support.settings import BaseSettings, settled
from bsx.support.untyped import Untyped, blaming

Kind = Literal["clp", "umd"]
Links = list[tuple[int, int]]
_BLOCK = 128  # sentence pairs encoded at once
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")


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


class MappingSettings(BaseSettings):
    """How a map is fitted."""

    kind: Annotated[Kind, Field(description="An orthogonal matrix, or one direction to remove.")] = "clp"
    layer: Annotated[
        int | None, Field(ge=0, le=10_000, description="The encoder's layer; the top one unless given.")
    ] = None
    pairs: Annotated[int, Field(ge=1, le=10**9, description="Use this many sentence pairs, the first ones.")] = 2000
    max_words: Annotated[
        int, Field(ge=1, le=10**6, description="Leave out pairs of which a side has more white-space words.")
    ] = 100
    lang: Annotated[
        str | None,
        Field(description="The two languages, source first: de-en; kept with the map, which tells other uses by it."),
    ] = None
    links: Annotated[
        Sequence[Links] | None,
        Field(
            description="Word links of each pair, (source word, target word) counted from 0; unless given, words that "
            "are each other's nearest (the intersection of argmaxes of Jalili Sabet et al. 2020)."
        ),
    ] = None
    progress: Annotated[Watch, Field(description="Called with a phase, pairs done and pairs in all.")] = None


@settled(MappingSettings)
def fit_mapping(
    texts: Sequence[tuple[str, str]],
    encoders: Encoders,
    settings: MappingSettings,
) -> Mapping:
    """Fit the map that ``xmoverscore:mapping=…,mapping_file=…`` applies to the source's vectors, on aligned words.

    A word's vector is the mean of its pieces'. Words are what white space separates; unless links count such words, a
    piece of a script that is written without spaces is a word of its own.

    Args:
        texts: sentences of the two languages: (source, target).
        encoders: says where to run and which model.
        settings: see `MappingSettings`.

    Returns:
        The map from source to target, with the facts of its making; its `save` writes it.

    Raises:
        InputError: if no words are aligned, or fewer than a map of this size needs; for links that do not fit.

    Source: Zhao et al. 2020, section 3.2 (2,000 sentence pairs of under 100 words; links by fast_align there).
    """
    links, progress = settings.links, reporter(settings.progress)
    codes = () if settings.lang is None else language_pair(settings.lang)
    if links is not None and len(links) != len(texts):
        problem = f"links: there are {len(links)} lists of links, and {len(texts)} sentence pairs"
        raise InputError(problem, setting="links")
    for number, (linked, pair) in enumerate(zip(links or (), texts, strict=False), start=1):
        sizes = [len(text.split()) for text in pair]
        for link in linked:
            if not (0 <= link[0] < sizes[0] and 0 <= link[1] < sizes[1]):
                raise InputError(f"links, pair {number}: {link} points beyond the sentence's words")
    located = encoders.locate(None, default="bert-base-multilingual-cased")
    layer = located.architecture.depth if settings.layer is None else settings.layer
    view = encoders.encoder(located).view([layer])
    tokenizer = located.tokenizer()
    usable = [all(0 < len(text.split()) <= settings.max_words for text in pair) for pair in texts]
    chosen = np.flatnonzero(usable)[: settings.pairs].tolist()
    if not chosen:
        raise InputError("there is no sentence pair to fit on: every pair has an empty or too long side")
    sides: tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]] = ([], [])
    for start in range(0, len(chosen), _BLOCK):
        block = chosen[start : start + _BLOCK]
        words = (
            _words(encoders.in_form(texts[i][side] for i in block), tokenizer, view, unspaced=links is None)
            for side in (0, 1)
        )
        for i, source, target in zip(block, *words, strict=True):
            pairs = links[i] if links is not None else []
            if links is None and len(source) and len(target):  # the words that are each other's nearest by cosine
                similarity = normalise(source) @ normalise(target).T
                forward, backward = similarity.argmax(axis=1), similarity.argmax(axis=0)
                pairs = [(a, int(b)) for a, b in enumerate(forward) if backward[b] == a]
            # A sentence that the model's limit cut has fewer words than its text.
            pairs = [(a, b) for a, b in pairs if a < len(source) and b < len(target)]
            sides[0].append(source[[a for a, _ in pairs]])
            sides[1].append(target[[b for _, b in pairs]])
        encoders.encoder(located).forget()
        if progress is not None:
            progress("encoding", min(start + _BLOCK, len(chosen)), len(chosen))
    x, z = (np.concatenate(side).astype(np.float64) for side in sides)
    if len(x) < view.dimensions and settings.kind == "clp":
        raise InputError(
            f"only {len(x)} words are aligned: an orthogonal map of {view.dimensions} dimensions needs at least as "
            "many; give more parallel text"
        )
    if not len(x):
        raise InputError("no word is aligned with any other: give other text or links")
    array = fit_clp(x, z) if settings.kind == "clp" else fit_umd(x, z)
    digest = hashlib.sha256("".join(f"{a}\t{b}\n" for a, b in (texts[i] for i in chosen)).encode()).hexdigest()
    facts = {
        "kind": settings.kind,
        "model": located.identity,
        "layer": str(layer),
        "pairs": str(len(chosen)),
        "words": str(len(x)),
        "links": "mutual nearest vectors" if links is None else "given",
        "text": digest[:12],
        **dict(zip(("source", "target"), codes, strict=False)),
    }
    return Mapping(settings.kind, array, facts)


def _words(texts: list[str], tokenizer: Tokenizer, view: LayerView, *, unspaced: bool) -> list[NDArray[np.float32]]:
    """Return the vectors of each text's words (words, dim): means of their pieces.

    Words are what white space separates, and with ``unspaced`` each piece of a script without spaces.
    """
    distinct = list(dict.fromkeys(texts))
    states = encode_texts(distinct, tokenizer, view)
    results = {}
    for i, text in enumerate(distinct):
        rows = slice(int(states.offsets[i]), int(states.offsets[i] + states.lengths[i]))
        vectors = states.vectors[0, rows][beside(~tokenizer.is_special[states.ids[rows]], states.vectors)]
        word_of = tokenizer.words(text)[: len(vectors)]
        if unspaced and _UNSPACED.search(text):
            single = np.array([_UNSPACED.search(word) is not None for word in text.split()])
            starts = np.diff(word_of, prepend=-1).astype(bool) | single[word_of]
            word_of = np.cumsum(starts) - 1
        whole = int(word_of.max()) + 1 if len(word_of) else 0
        sums = segment_sum(vectors, word_of, whole)
        sizes = np.maximum(np.bincount(word_of, minlength=whole), 1)
        results[text] = (fetch(sums) / sizes[:, None]).astype(np.float32)
    return [results[text] for text in texts]
