"""Morphological lexicons: words joined because they have the same morphological features."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from bsx.data.lines import NamedFile
from bsx.errors import InputError

Token = tuple[str, str]
"""A word and its universal features as CoNLL-U writes them (``Number=Sing|Person=3``); empty text for none."""

Lexicon = dict[str, list[str]]
"""Word -> its neighbours: edges are directed, only the key is moved by retrofitting."""


def lexicon_word(word: str) -> str:
    """Return a word as Faruqui et al.'s tool reads it: in lower case, numbers and punctuation by a common name.

    >>> lexicon_word("Dogs"), lexicon_word("9th"), lexicon_word("?!")
    ('dogs', '---num---', '---punc---')
    """
    if re.search(r"\d", word):
        return "---num---"
    return word.lower() if re.search(r"\w", word) else "---punc---"


def as_lexicon(pairs: Iterable[Sequence[str]]) -> Lexicon:
    """Return lines ``word neighbour …`` as a lexicon: `lexicon_word` of all, the union of lines with the same word.

    The original tool lets the last line of a word win, which makes the result depend on the order of lines; the port
    that Kaster, Zhao & Eger 2021 used takes the union.
    """
    joined: dict[str, dict[str, None]] = {}
    for word, *neighbours in pairs:
        joined.setdefault(lexicon_word(word), {}).update(dict.fromkeys(map(lexicon_word, neighbours)))
    return {word: list(neighbours) for word, neighbours in joined.items()}


def read_lexicon(file: Path) -> Lexicon:
    """Read a lexicon, ``word neighbour neighbour …`` a line, between spaces; see `as_lexicon`.

    Raises:
        InputError: naming a line without a neighbour.
    """
    lines = []
    for number, line in enumerate(NamedFile(file).lines(), start=1):
        fields = line.split()
        if len(fields) == 1:
            raise InputError(f"{fields[0]!r} has no neighbour", file=file, line=number)
        if fields:
            lines.append(fields)
    return as_lexicon(lines)


def feature_set(feats: str) -> frozenset[str]:
    """Return features as a set.

    >>> sorted(feature_set("Number=Sing|Case=Nom"))
    ['Case=Nom', 'Number=Sing']
    """
    return frozenset(feats.split("|")) if feats and feats != "_" else frozenset()


def own_features(feats: str) -> frozenset[str]:
    """Return features as a set without those that say that a word is foreign."""
    return frozenset(feature for feature in feature_set(feats) if not feature.startswith("Foreign"))


def build_lexicon(
    tokens: Sequence[Token], others: Sequence[Token] | None = None, *, seed: int = 42, draws: int = 5000
) -> list[tuple[str, str]]:
    """Join words that have the same features.

    For each token that has features, the rule of Kaster, Zhao & Eger 2021's code looks through ``draws`` random tokens
    and takes the first with an equal set of features and another form; tokens without features never start or end a
    pair. Here that token is drawn at once from all that fit, after a draw that tells whether a look through so many
    would have found one: the same distribution, without looking.

    Args:
        tokens: every token of the texts, with repetition; these are the words that will be moved.
        others: tokens of the other language, whose features are compared without those that start with ``Foreign``;
            the form may then be the same. ``tokens`` itself unless given.
        seed: seed of the draws.
        draws: tokens looked through for each token, without replacement.

    Returns:
        Pairs (word, neighbour), spelled as in the texts, each once, in the order of the tokens.
    """
    across = others is not None
    pool = others if others is not None else tokens
    groups: dict[frozenset[str], list[str]] = defaultdict(list)
    for word, feats in pool:
        features = own_features(feats) if across else feature_set(feats)
        if features and not _unwritable(word):
            groups[features].append(word)
    counts = {features: Counter(words) for features, words in groups.items()}
    rng = np.random.default_rng(seed)
    pairs: dict[tuple[str, str], None] = {}
    for word, feats in tokens:
        features = feature_set(feats)
        candidates = groups.get(features)
        if not features or not candidates or _unwritable(word):
            continue
        fitting = len(candidates) - (0 if across else counts[features][word])
        if not fitting or rng.random() < _chance_of_none(len(pool), fitting, draws):
            continue
        drawn = candidates[int(rng.integers(len(candidates)))]
        while drawn == word and not across:
            if fitting * 20 < len(candidates):  # one word all but fills the group: draw among the others directly
                candidates = [other for other in candidates if other != word]
            drawn = candidates[int(rng.integers(len(candidates)))]
        pairs[word, drawn] = None
    return list(pairs)


def feature_overlap(tokens: Sequence[Token], others: Sequence[Token] | None = None) -> float:
    """Return the share of tokens whose features, of which there is at least one, some token of the other side has too.

    Without another side: the share of tokens that have features that another form has too.
    """
    if not tokens:
        return 0.0
    forms: dict[frozenset[str], set[str]] = defaultdict(set)
    for word, feats in tokens if others is None else others:
        forms[feature_set(feats) if others is None else own_features(feats)].add(word)
    fewest = 2 if others is None else 1  # forms, one of which is the token's own
    known = (features for _, feats in tokens if (features := feature_set(feats)))
    return sum(len(forms.get(features, ())) >= fewest for features in known) / len(tokens)


def _unwritable(word: str) -> bool:
    """Tell whether a word cannot stand in a lexicon's line: it is empty or has white space in it."""
    return word.split() != [word]


def _chance_of_none(pool: int, fitting: int, draws: int) -> float:
    """Return the probability that none of ``draws`` tokens of a pool, without replacement, is one of those that fit."""
    if draws >= pool - fitting + 1:
        return 0.0
    lgamma = math.lgamma
    rest = pool - fitting
    logarithm = lgamma(rest + 1) - lgamma(rest - draws + 1) - lgamma(pool + 1) + lgamma(pool - draws + 1)
    return math.exp(min(0.0, logarithm))
