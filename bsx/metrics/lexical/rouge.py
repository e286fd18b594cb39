"""ROUGE by the package rouge-score, and ROUGE-L as the COCO captioning toolkit has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, Literal

import numpy as np
import regex
from numpy.typing import NDArray
from pydantic import Field, model_validator

from bsx.data.writing import SCRIPTS, UNSPACED, parts_of, scripts_of
from bsx.metrics.base import PairMetric
from bsx.metrics.core import BY_SCRIPT, MetricConfig, MultiRef, Pairs, PairScores, Reading, Values
from bsx.metrics.lexical.common import say_cut, units
from bsx.support.optional import need

_BETA = 1.2
_FIGURES = ("precision", "recall", "f1")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_CUT = "cut into words by the tokenizer "


class RougeConfig(MetricConfig):
    """Settings of ROUGE."""

    variant: Annotated[
        Literal["rouge1", "rouge2", "rougeL", "rougeLsum", "coco"],
        Field(
            description="Which ROUGE, in the package's names; coco: ROUGE-L of the COCO captioning toolkit, of "
            "white-space tokens with their case, recall weighing more (beta 1.2)."
        ),
    ] = "rougeL"
    measure: Annotated[Literal["f1", "precision", "recall"], Field(description="Which of the three figures.")] = "f1"
    stemmer: Annotated[bool, Field(description="Compare Porter stems (English).")] = False
    tokenizer: Annotated[
        Literal["ascii", "whitespace", "characters"] | None,
        Field(
            description="ascii: runs of a-z and 0-9, as the package has it; whitespace: for any other language; "
            "characters: whitespace, and characters of scripts without spaces singly. The language chooses it, or the "
            "script; else ascii."
        ),
    ] = None
    multi_ref: MultiRef = "best"

    @model_validator(mode="after")
    def _consistent(self) -> RougeConfig:
        if self.stemmer and (self.variant == "coco" or self.tokenizer not in (None, "ascii")):
            other = "variant=coco" if self.variant == "coco" else f"tokenizer={self.tokenizer}"
            raise ValueError(f"{other} reads words as they are: stemmer cannot be combined with it")
        if self.variant == "coco" and self.multi_ref != "best":
            raise ValueError("variant=coco takes the best precision and recall over references: multi_ref=best")
        return self


_SCRIPTS = "".join(rf"\p{{Script={script}}}" for script in ("Kana", *UNSPACED))
_UNSPACED = regex.compile(rf"[{_SCRIPTS}]\p{{M}}*")  # a vowel sign or tone mark belongs to its letter
_TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    # The package's tokens without its stemmer: it filters what it has split by regular expressions, word by word.
    "ascii": lambda text: _ASCII_WORD.findall(text.lower()),
    "whitespace": lambda text: text.lower().split(),
    "characters": lambda text: _UNSPACED.sub(r" \g<0> ", text.lower()).split(),
    "coco": str.split,
}


class Rouge(PairMetric[RougeConfig]):
    """Longest common subsequence, or n-gram overlap, of words. Source: Lin 2004; Google's rouge-score computes it."""

    Config = RougeConfig
    encodes = False
    pace = 0
    _packages = ("rouge-score",)

    def setup(self) -> None:
        """Find the package, and build its tokenizer if words are stemmed."""
        config = self.config
        self._scorer = need("rouge_score.rouge_scorer", "ROUGE").RougeScorer
        stemming = need("rouge_score.tokenizers", "ROUGE").DefaultTokenizer
        self._stems = stemming(use_stemmer=True) if config.stemmer else None
        self._kind = "rougeL" if config.variant == "coco" else config.variant

    @cached_property
    def _chosen(self) -> str | None:
        """The tokenizer, as far as settings and language say."""
        config, language = self.config, self.encoders.language
        if config.variant == "coco":
            return "coco"
        if config.stemmer or config.tokenizer is not None:
            return config.tokenizer or "ascii"
        if language is None:
            return None if self.looks_at_script else "ascii"
        if parts_of(language.script) & UNSPACED.keys() and language.script != "Kore":
            return "characters"
        return "ascii" if language.code == "en" else "whitespace"

    def fit(self, corpus: Reading) -> str | None:
        """Return the tokenizer that the texts' script needs; None if settings or language chose it."""
        if self._chosen is not None:
            free = self.config.variant != "coco" and not self.config.stemmer and self.config.tokenizer is None
            say_cut(self, self.encoders.language if free and self._chosen != "ascii" else None, _CUT + self._chosen)
            return None
        script = scripts_of(corpus).get("reference", "Latn")
        name = "characters" if script in UNSPACED else "ascii" if script == "Latn" else "whitespace"
        note = f"{self.spec}: the texts are {_CUT}{name} (their script is {SCRIPTS[script]})"
        self.encoders.remark(self.spec, None if name == "ascii" else note)
        return name

    def memory(self, candidate: str, other: str) -> int:
        """Return the bytes of its table of common subsequences, with a cell for each two words; see `Metric.memory`."""
        cells = units(candidate) * units(other) if self._kind.startswith("rougeL") else 0
        return super().memory(candidate, other) + 9 * cells

    @property
    def languages(self) -> list[str] | str:
        """Only the package's tokenizer is made for one language."""
        return super().languages if self._chosen == "ascii" else "any"

    def signature_fields(self, fitted: str | None) -> dict[str, object]:
        """Return the package's version, and what cuts words."""
        name = fitted or self._chosen or BY_SCRIPT
        return {"tokenizer": "cased-whitespace" if name == "coco" else name, **super().signature_fields(fitted)}

    def score_pairs(self, pairs: Pairs, fitted: str | None) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`. Undefined where the tokenizer finds no word in a text."""
        texts, pair_of = pairs.texts, list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        name = fitted or self._chosen or "ascii"
        tokenizer = self._stems or SimpleNamespace(tokenize=_TOKENIZERS[name])
        tokens = [tokenizer.tokenize(text) for text in texts]
        if self._kind == "rougeL":
            scores = [_longest_common(tokens[j], tokens[i]) for i, j in pair_of]
        else:
            scorer = self._scorer([self._kind], tokenizer=tokenizer)
            scores = [scorer.score(texts[j], texts[i])[self._kind] for i, j in pair_of]
        figures = np.array(scores, dtype=np.float64).reshape(-1, len(_FIGURES))
        if self.config.variant == "coco":
            figures = _coco(figures, pairs.rows)
        else:
            words = np.array([bool(cut) for cut in tokens])
            figures[~(words[pairs.left] & words[pairs.right])] = np.nan
        return PairScores(figures[:, _FIGURES.index(self.config.measure)])


def _longest_common(reference: list[str], candidate: list[str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the longest common subsequence of two lists of words.

    A row of the table of common subsequences is the bits of one number, which has a zero where the length grows.
    Source: Hyyrö 2004, Bit-parallel LCS-length computation revisited.
    """
    if not reference or not candidate:
        return 0, 0, 0
    places: dict[str, int] = {}
    for place, word in enumerate(reference):
        places[word] = places.get(word, 0) | 1 << place
    every = row = (1 << len(reference)) - 1
    for word in candidate:
        if both := row & places.get(word, 0):
            row = (row + both) | (row - both)
    length = len(reference) - (row & every).bit_count()
    precision, recall = length / len(candidate), length / len(reference)
    return precision, recall, 2 * precision * recall / (precision + recall) if length else 0.0


def _coco(figures: Values, rows: NDArray[np.int64]) -> Values:
    """Return each row's figures at each of its pairs (pairs, 3): of its references, the highest precision and recall.

    Source: Lin 2004 for the F measure; Chen et al. 2015, Microsoft COCO Captions, for beta and the references.
    """
    _, row = np.unique(rows, return_inverse=True)
    best = np.zeros((row.max(initial=-1) + 1, 2))
    np.maximum.at(best, row, figures[:, :2])
    precision, recall = best.T
    weighted = recall + _BETA**2 * precision
    f1 = np.divide((1 + _BETA**2) * precision * recall, weighted, out=np.zeros_like(weighted), where=weighted > 0)
    return np.stack([precision, recall, f1], axis=1)[row]
