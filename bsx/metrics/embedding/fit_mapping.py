"""Fitting maps between two languages' vectors on parallel text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import regex
from numpy.typing import NDArray
from pydantic import Field

from bsx.catalog.languages import language_pair
from bsx.encode.session import Encoders
from bsx.encode.states import LayerView, encode_texts, normalise, segment_sum
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError
from bsx.metrics.embedding.mapping import Kind, Mapping, fit_clp, fit_umd
from bsx.support.arrays import beside, fetch
from bsx.support.progress import Watch, reporter
from bsx.support.settings import BaseSettings, settled

Links = list[tuple[int, int]]
_BLOCK = 128  # sentence pairs encoded at once
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")


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
