"""Building triples whose shared words mislead, both ways of Kaster, Zhao & Eger 2021; their overlap, their nouns."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from bsx.analysis.datasets.triples import Triple
from bsx.analysis.factors.lexical import bleu1, default_tokenizer, tokenizer
from bsx.analysis.factors.parsers import StanzaParser
from bsx.analysis.factors.parses import Parse, match_parses
from bsx.analysis.factors.treebank import treebank_tokens
from bsx.errors import InputError, ModelUnavailableError
from bsx.support.checks import Array, choice, within
from bsx.support.optional import need
from bsx.support.settings import MOST_DRAWS

Overlap = Callable[[str, str], float]
SEED = 42
"""Of the published noun permutations."""


class Tagged(NamedTuple):
    """A text cut into words, and the places of those that are nouns, rising."""

    words: Sequence[str]
    nouns: Sequence[int]


Tagger = Callable[[Sequence[str]], Iterable["Tagged | None"]]
"""Cuts and tags texts; None for a text without content."""


@dataclass(frozen=True)
class PermutedNouns:
    """Triples whose non-paraphrase is the anchor with its nouns in another order.

    Attributes:
        triples: what was built; ``row`` counts the given pairs from 1.
        dropped: rows with fewer than two nouns.
        same: rows among the triples in which equal nouns changed places, so that no word did.
    """

    triples: tuple[Triple, ...]
    dropped: tuple[int, ...]
    same: tuple[int, ...]


def lexical_overlap(lang: str = "en", tokenize: str | None = None) -> Overlap:
    """Return LEX of the paper as a function (A, X) -> BLEU-1 of X with A as reference, case kept.

    Args:
        lang: language of the texts; it chooses the tokenizer.
        tokenize: another one: ``treebank``, ``whitespace`` or one of sacreBLEU's.
    """
    cut = tokenizer(tokenize or default_tokenizer(lang))
    return lambda anchor, other: bleu1(cut(anchor), cut(other))


def overlaps(triples: Sequence[Triple], overlap: Overlap) -> tuple[Array, Array]:
    """Return the overlap of A with B and of A with C, (n,) each."""
    both = [(overlap(t.anchor, t.paraphrase), overlap(t.anchor, t.nonparaphrase)) for t in triples]
    first, second = np.array(both, dtype=np.float64).reshape(-1, 2).T
    return first, second


def clean_table6(text: str) -> str:
    """Undo some marks of tokenized text, as done before the overlaps of Table 6 were computed.

    Source: the code of Kaster, Zhao & Eger 2021: a full stop and the endings 's and 'm join the word before them,
    quotation marks of all kinds go.

    >>> clean_table6("It 's `` Tom 's '' dog .")
    'Its  Toms  dog.'
    """
    for old, new in ((" .", "."), (" 's", "'s"), (" 'm", "'m"), ('"', ""), ("`", ""), ("'", "")):
        text = text.replace(old, new)
    return text


def build_paws(
    pairs: Sequence[tuple[str, str, int]],
    *,
    overlap: Overlap | None = None,
    keep: int | None = 300,
    by: Literal["difference", "overlap"] = "difference",
) -> tuple[Triple, ...]:
    """Build triples from pairs of paraphrases and non-paraphrases that share sentences.

    For an anchor A, B is one of the first sentences of paraphrase pairs whose second sentence is A: the one that
    overlaps least with A. C is one of the second sentences of other pairs whose first sentence is A: the one that
    overlaps most. A triple stays if B overlaps less than C; its sentences then serve in no other.

    Source: the code of Kaster, Zhao & Eger 2021 for section 6.1. It goes through the anchors in the order of a Python
    set, which no two runs share; here it is the order in which sentences first appear, so some triples differ. Where
    several sentences overlap equally, the first is taken. The published set is the 300 triples with the largest
    difference of overlaps (``by="difference"``); the paper's text speaks of the 100 with the least overlap of A and B
    (``keep=100, by="overlap"``).

    Args:
        pairs: (first sentence, second sentence, label), 1 for a paraphrase.
        overlap: (A, X) -> overlap; `lexical_overlap` unless given.
        keep: how many triples; None for all.
        by: what they are sorted by: the difference of overlaps, falling, or the overlap of A and B, rising.

    Returns:
        Triples, sorted; ``row`` is that of the non-paraphrase's pair, from 1.

    Raises:
        InputError: if no triple can be built.
    """
    choice("by", by, ("difference", "overlap"))
    if keep is not None:
        within("keep", keep, 1, MOST_DRAWS)
    overlap = overlap or lexical_overlap()
    paraphrases: dict[str, list[str]] = {}
    others: dict[str, list[tuple[str, int]]] = {}
    for row, (first, second, label) in enumerate(pairs, start=1):
        if label:
            paraphrases.setdefault(second, []).append(first)
        else:
            others.setdefault(first, []).append((second, row))
    used: set[str] = set()
    built: list[tuple[float, float, Triple]] = []
    for anchor in dict.fromkeys(sentence for first, second, _ in pairs for sentence in (first, second)):
        if anchor in used:
            continue
        good = [text for text in paraphrases.get(anchor, ()) if text not in used and text != anchor]
        bad = [(text, row) for text, row in others.get(anchor, ()) if text not in used and text != anchor]
        if not good or not bad:
            continue
        low, b = min(((overlap(anchor, text), text) for text in good), key=lambda item: item[0])
        high, (c, row) = max(((overlap(anchor, item[0]), item) for item in bad), key=lambda item: item[0])
        if low < high:
            built.append((low, high, Triple(anchor, b, c, row)))
            used |= {anchor, b, c}
    if not built:
        raise InputError(
            "no triple can be built: no sentence is the second of a paraphrase pair and the first of another pair "
            "whose sentences share more words"
        )
    built.sort(key=lambda item: item[0] if by == "overlap" else item[0] - item[1])
    return tuple(triple for _, _, triple in built[:keep])


def permute_nouns(
    texts: Sequence[str], paraphrases: Sequence[str], tagger: Tagger, *, seed: int = SEED
) -> PermutedNouns:
    """Build triples in which C is A with its nouns in another order.

    The places of the nouns are shuffled, again and again until the order differs from the original; the words are
    joined by single spaces, so C is tokenized text while A and B stay as they are. One generator serves all texts in
    turn; a text with fewer than two nouns is dropped and draws nothing.

    Source: the code of Kaster, Zhao & Eger 2021 for section 6.1, where nouns are words that NLTK tags ``NN`` and the
    generator is Python's own with seed 42.

    Args:
        texts: anchors (n,).
        paraphrases: of each (n,).
        tagger: cuts texts into words and finds their nouns: `stanza_tagger`, `conllu_tagger` or `nltk_tagger`.
        seed: of the generator.

    Raises:
        InputError: if the numbers differ, or no text has two nouns.
    """
    if len(texts) != len(paraphrases):
        raise InputError(f"{len(texts)} anchors, {len(paraphrases)} paraphrases: the numbers must be the same")
    rng = random.Random(seed)  # noqa: S311 - the published triples come from this generator; nothing is secret
    triples, dropped, same = [], [], []
    for row, (anchor, paraphrase, tagged) in enumerate(zip(texts, paraphrases, tagger(texts), strict=True), start=1):
        if tagged is None or len(tagged.nouns) < 2:
            dropped.append(row)
            continue
        order = list(tagged.nouns)
        while order == list(tagged.nouns):
            rng.shuffle(order)
        words = list(tagged.words)
        for place, origin in zip(tagged.nouns, order, strict=True):
            words[place] = tagged.words[origin]
        if words == list(tagged.words):
            same.append(row)
        triples.append(Triple(anchor, paraphrase, " ".join(words), row))
    if not triples:
        raise InputError(f"none of {len(texts)} texts has two nouns to change places")
    return PermutedNouns(tuple(triples), tuple(dropped), tuple(same))


def stanza_tagger(lang: str = "en", *, folder: Path | None = None, download: bool = False) -> Tagger:
    """Return a tagger that takes the words stanza tags ``NOUN`` (common nouns, singular or plural).

    Args:
        lang: language of the texts.
        folder: where stanza's model is; its usual place unless given.
        download: let stanza fetch the model.
    """
    parser = StanzaParser(lang, "tag", pretokenized=False, folder=folder, download=download)
    return lambda texts: map(_nouns, chain.from_iterable(parser(texts)))


def conllu_tagger(file: Path) -> Tagger:
    """Return a tagger that reads words and the tag ``NOUN`` from parses of the same texts in the same order."""
    return lambda texts: map(_nouns, match_parses(file, texts, "the anchors"))


def nltk_tagger() -> Tagger:
    """Return the tagger of the published triples: NLTK's averaged perceptron, nouns tagged exactly ``NN``.

    Words are those of NLTK 3.5 (`bsx.analysis.factors.treebank`). English only.

    Raises:
        ModelUnavailableError: when called, if NLTK's model is not on this machine; says how to get it.
    """

    def tag(texts: Sequence[str]) -> Iterator[Tagged | None]:
        pos_tag = need("nltk", "NLTK's tagger").pos_tag
        for text in texts:
            words = treebank_tokens(text)
            try:
                tags = [name for _, name in pos_tag(words)]
            except LookupError as error:
                raise ModelUnavailableError(
                    "NLTK's tagger has no model here: python -m nltk.downloader averaged_perceptron_tagger_eng fetches "
                    "it; or tag with stanza"
                ) from error
            yield Tagged(words, [i for i, name in enumerate(tags) if name == "NN"]) if words else None

    return tag


def _nouns(parse: Parse | None) -> Tagged | None:
    if parse is None:
        return None
    return Tagged(parse.words, [i for i, tag in enumerate(parse.upos) if tag == "NOUN"])
