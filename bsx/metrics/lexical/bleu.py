"""BLEU by sacreBLEU, sentence BLEU as the WMT metrics tasks computed it, and BLEU of the COCO captioning toolkit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from bsx.data.tokenizers import opening
from bsx.errors import InputError
from bsx.metrics.base import Metric
from bsx.metrics.core import BY_SCRIPT, Block, BlockScores, MetricConfig, Reading, Values
from bsx.metrics.lexical.common import block_scores, language_of, present, say_cut
from bsx.metrics.lexical.ngrams import Cutter13a, Words, count_ngrams, ngrams_of, numbered, placed
from bsx.support.optional import need
from bsx.support.untyped import Untyped

_NO_LOG = -9999999999  # sacreBLEU's logarithm of 0


class BleuConfig(MetricConfig):
    """Settings of BLEU; names and defaults are sacreBLEU's."""

    tokenize: Annotated[
        str | None, Field(description="sacreBLEU's tokenizer; the language chooses it, or the script; else 13a.")
    ] = None
    lowercase: Annotated[bool, Field(description="Ignore case.")] = False
    smooth_method: Annotated[
        Literal["exp", "floor", "add-k", "none"], Field(description="Smoothing of precisions without a match.")
    ] = "exp"
    smooth_value: Annotated[float | None, Field(ge=0, le=10_000, description="Value of floor (0.1) or add-k (1).")] = (
        None
    )
    max_ngram_order: Annotated[int, Field(ge=1, le=100, description="Longest n-gram.")] = 4
    effective_order: Annotated[
        bool, Field(description="For segments: leave out orders that the candidate is too short for.")
    ] = True
    variant: Annotated[
        Literal["sacrebleu", "moses", "coco"],
        Field(
            description="Tokens as they are, and moses: add one to matches and totals of all orders (WMT's SENTBLEU); "
            "coco: add 1e-15 to matches and 1e-9 to totals (the COCO captioning toolkit)."
        ),
    ] = "sacrebleu"
    system: Annotated[
        Literal["corpus", "mean"], Field(description="A system's score: corpus BLEU, or the mean over segments.")
    ] = "corpus"

    @field_validator("tokenize")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None:
            known = need("sacrebleu.metrics.bleu", "BLEU").BLEU.TOKENIZERS
            if value not in known:
                raise ValueError(f"is none of sacreBLEU's tokenizers {', '.join(known)}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> BleuConfig:
        if self.smooth_value is not None and self.smooth_method not in ("floor", "add-k"):
            raise ValueError("smooth_value needs smooth_method=floor or add-k")
        if self.variant == "moses" and self.system == "corpus":
            raise ValueError("variant=moses is a score of segments: it needs system=mean")
        if self.variant != "sacrebleu":
            for name in ("smooth_method", "smooth_value", "effective_order"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(
                        f"variant={self.variant} smooths in its own way: {name} cannot be combined with it"
                    )
        return self


class Bleu(Metric[BleuConfig]):
    """BLEU. Source: Papineni et al. 2002; Post 2018 for sacreBLEU, which computes it."""

    Config = BleuConfig
    encodes = False
    pace = 0
    _packages = ("sacrebleu",)

    def setup(self) -> None:
        """Build sacreBLEU's object."""
        config, name = self.config, self.name
        as_they_are = config.variant != "sacrebleu"
        if as_they_are and config.tokenize not in (None, "none"):
            problem = f"variant={config.variant} reads tokens as they are: tokenize cannot be combined with it"
            raise InputError(problem, file=name)
        language = self.encoders.language
        by_language = None if language is None else language.sacrebleu
        self._chosen = "none" if as_they_are else config.tokenize or by_language
        if self._chosen is None and not self.looks_at_script:
            self._chosen = "13a"
        settings = config.model_dump(include={"lowercase", "smooth_method", "smooth_value", "max_ngram_order"})
        kind = need("sacrebleu.metrics.bleu", "BLEU").BLEU

        @cache
        def scorer(tokenize: str) -> Untyped:
            with opening(tokenize, name):
                return kind(**settings, tokenize=tokenize, effective_order=config.effective_order)

        self._scorer = scorer
        self._cutter: Cutter13a | None = None
        self._scorer(self._chosen or "13a")
        self._corpus = kind(**settings, tokenize="none")
        value = config.smooth_value
        self._smooth_value = self._corpus.SMOOTH_DEFAULTS[config.smooth_method] if value is None else value

    def fit(self, corpus: Reading) -> str | None:
        """Return the tokenizer that the texts' script needs; None if settings or language chose it."""
        if self._chosen is not None:
            return None
        language = language_of(self, corpus)
        tokenize = "13a" if language is None else language.sacrebleu
        self._scorer(tokenize or "13a")  # what it lacks is said before anything is scored
        say_cut(self, language, f"cut into words by sacreBLEU's tokenizer {tokenize}")
        return tokenize

    def signature_fields(self, fitted: str | None) -> dict[str, object]:
        """Return tokenizer and version."""
        tokenizer = (fitted or self._chosen or BY_SCRIPT) if self.config.variant == "sacrebleu" else "white-space"
        return {"tokenize": tokenizer, **super().signature_fields(fitted)}

    def score_block(self, block: Block, fitted: str | None) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        config = self.config
        groups = [present(references) for references in block.references]
        many = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups)) + 1
        texts, places = placed(text for row in zip(block.candidates, groups, strict=True) for text in (row[0], *row[1]))
        words = self._words(texts, fitted)
        totals, _, matches = count_ngrams(words, places, many, config.max_ngram_order)
        lengths = words.lengths[places]
        first = np.cumsum(many) - many
        near = lengths[first + 1]
        for row in np.flatnonzero(many > 2).tolist():
            length, *others = lengths[first[row] : first[row] + many[row]].tolist()
            near[row] = self._corpus._get_closest_ref_len(length, others)
        statistics = np.concatenate([[lengths[first], near], matches, totals])
        values = self._scores(statistics[0], statistics[1], matches, totals, exact=True)
        return block_scores(block, values, statistics.T if config.system == "corpus" else None)

    def _words(self, texts: Sequence[str], fitted: str | None) -> Words:
        """Return texts cut into words."""
        scorer = self._scorer(fitted or self._chosen or "13a")
        if scorer.tokenizer.signature() != "13a":
            return numbered(scorer._preprocess_segment(text).split() for text in texts)
        self._cutter = self._cutter or Cutter13a(scorer.tokenizer._post_tokenizer._re)
        return self._cutter([text.lower() for text in texts] if self.config.lowercase else texts)

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: str | None) -> Values:
        """Count each text's n-grams once; see `Metric.score_product`."""
        order = self.config.max_ngram_order
        texts, places = placed([*candidates, *references])
        left, right = places[: len(candidates)], places[len(candidates) :]
        words = self._words(texts, fitted)
        matches = np.stack([ngrams.shared(left, right) for ngrams in ngrams_of(words, order)])
        mine, other = (words.lengths[side].astype(np.float64) for side in (left, right))
        totals = np.maximum(mine[None, :] - np.arange(order)[:, None], 0.0)[:, :, None]
        return self._scores(mine[:, None], other[None, :], matches, totals, exact=False)

    def _scores(self, candidate: Values, reference: Values, matches: Values, totals: Values, *, exact: bool) -> Values:
        """Return sentence BLEU, times 100.

        Sources: Post 2018 for sacreBLEU's smoothing. The ``sentence-bleu`` tool of Moses, SENTBLEU of the WMT metrics
        tasks (Bojar et al. 2017), adds one to every match and total; a text without words has 0 there. The program of
        Chen et al. 2015, Microsoft COCO Captions, adds 1e-15 to matches and 1e-9 to what they are divided by, so that
        an order without a match makes the score tiny, not 0.

        Args:
            candidate: words of the candidates (…,).
            reference: words of the references, of several that nearest in length (…,).
            matches: clipped n-grams in common of each order (orders, …).
            totals: n-grams of the candidates of each order (orders, …).
            exact: by sacreBLEU's operations in its order, to the last bit.
        """
        config, value = self.config, self._smooth_value
        # NumPy's logarithms and powers may differ from Python's in the last bit.
        log, exp = (np.vectorize(f, otypes="d") for f in (math.log, math.exp)) if exact else (np.log, np.exp)
        matched, used = matches.any(axis=0), np.full(matches.shape[1:], len(matches))
        short = np.where(candidate < reference, 1 - reference / np.maximum(candidate, 1), 0.0)
        if config.variant == "coco":
            logs = log((matches + 1e-15) / (totals + 1e-9))
            short = np.minimum(0.0, 1 - 1 / ((candidate + 1e-15) / (reference + 1e-9)))
        elif config.variant == "moses":
            logs = log((matches + 1) / (totals + 1))
        else:
            if config.smooth_method == "add-k":
                further = np.arange(len(matches)).reshape(-1, *[1] * (matches.ndim - 1)) > 0
                matches, totals = matches + value * further, totals + value * further
            # From the first order that a candidate is too short for, all are left out.
            counted = np.logical_and.accumulate(totals > 0)
            none, under = matches == 0, np.where(counted, totals, 1.0)
            precisions = 100.0 * matches / under
            if config.smooth_method == "exp":
                precisions = np.where(none, 100.0 / (np.cumprod(np.where(none, 2.0, 1.0), axis=0) * under), precisions)
            elif config.smooth_method == "floor":
                precisions = np.where(none, 100.0 * value / under, precisions)
            known = counted & (precisions > 0)
            logs = np.where(known, log(np.where(known, precisions, 1.0)), _NO_LOG)
            if config.effective_order:
                logs, used = np.where(counted, logs, 0.0), np.maximum(counted.sum(axis=0), 1)
        # Of many numbers, Python's sum may differ from NumPy's in the last bit.
        means = (np.fromiter(map(sum, logs.T.tolist()), np.float64, len(logs.T)) if exact else logs.sum(axis=0)) / used
        if config.variant == "sacrebleu":
            return np.where(matched, exp(short) * exp(means), 0.0)
        scores = 100 * exp(means + short)
        return np.where((candidate > 0) & (reference > 0), scores, 0.0) if config.variant == "moses" else scores

    def system_score(self, statistics: Values) -> float:
        """Return corpus BLEU."""
        if self.config.variant == "coco":
            candidate, reference, *counts = statistics[:, None]
            return float(self._scores(candidate, reference, *np.split(np.array(counts), 2), exact=True)[0])
        return float(self._corpus._compute_score_from_stats([int(value) for value in statistics]).score)
