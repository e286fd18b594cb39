"""Forms of words by features: from treebanks, and for English by rule."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bsx.analysis.perturbations.grammar.english import english_form
from bsx.data.lines import NamedFile
from bsx.errors import InputError

Features = Mapping[str, str]


def as_features(feats: str) -> dict[str, str]:
    """Return features as a mapping.

    >>> as_features("Case=Nom|Number=Sing")
    {'Case': 'Nom', 'Number': 'Sing'}
    """
    return dict(feature.split("=", 1) for feature in feats.split("|") if "=" in feature)


class Inflections:
    """The forms of words that treebanks have, by lemma, part of speech and universal features.

    Args:
        words: form, lemma, part of speech and features of each, as CoNLL-U writes them.
    """

    def __init__(self, words: Iterable[tuple[str, str, str, str]]) -> None:
        self._lemmas: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._forms: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for form, lemma, tag, feats in words:
            self._lemmas[form.lower(), tag].add(lemma)
            self._forms[lemma, tag][form.lower(), feats] += 1

    @classmethod
    def from_treebanks(cls, files: Sequence[Path]) -> Inflections:
        """Read CoNLL-U files.

        Raises:
            InputError: for a file without any word that has lemma and features.
        """
        words: list[tuple[str, str, str, str]] = []
        for file in files:
            before = len(words)
            for line in NamedFile(file).lines():
                fields = line.split("\t")
                if len(fields) == 10 and fields[0].isdecimal() and "_" not in (fields[2], fields[5]):
                    words.append((fields[1], fields[2], fields[3], fields[5]))
            if len(words) == before:
                raise InputError("has no words with lemmas and features, as CoNLL-U treebanks have them", file=file)
        return cls(words)

    def form(self, word: str, tag: str, feats: str, changes: Features) -> str | None:
        """Return the form of a word with other features, in small letters; None if no treebank has it.

        Of forms that contradict no feature wanted, the one that states most of them, then the most frequent.

        Args:
            word: the form at hand.
            tag: its part of speech.
            feats: its features.
            changes: features to change, and to what; those that the form must not have, to nothing.
        """
        wanted = as_features(feats) | dict(changes)
        absent = [name for name, value in wanted.items() if not value]
        wanted = {name: value for name, value in wanted.items() if value}
        firm = [name for name in ("VerbForm", "Mood", "Tense", "Person") if name in wanted]
        results: list[tuple[int, int, str]] = []
        for lemma in self._lemmas.get((word.lower(), tag), ()):
            for (form, spelled), count in self._forms[lemma, tag].items():
                has = as_features(spelled)
                fits = all(has.get(name, "") == value for name, value in changes.items())
                fits = fits and all(name in has for name in firm) and not any(name in has for name in absent)
                if fits and all(has.get(name, value) == value for name, value in wanted.items()):
                    results.append((sum(name in has for name in wanted), count, form))
        return max(results)[2] if results else None


def inflected(
    word: str, tag: str, feats: str, changes: Features, *, lang: str, treebanks: Inflections | None
) -> str | None:
    """Return another form of a word, with its capital: from treebanks, else for English by rule; None if there is none.

    >>> inflected("Was", "AUX", "Number=Sing|Person=3|Tense=Past", {"Tense": "Pres"}, lang="en", treebanks=None)
    'Is'
    """
    result = treebanks.form(word, tag, feats, changes) if treebanks is not None else None
    if result is None and lang == "en":
        now = as_features(feats)
        result = english_form(word, tag, now | dict(changes), now)
    if result is None or result == word.lower():
        return None
    return result[0].upper() + result[1:] if word[0].isupper() else result
