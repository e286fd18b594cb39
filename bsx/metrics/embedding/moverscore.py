"""MoverScore in both versions of its code, with every switch of BERTScore's ablation (its Table 9)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from bsx.data.corpus import Corpus
from bsx.data.lines import NamedFile
from bsx.encode.idf import Idf, IdfCounter, count_idf
from bsx.encode.states import normalise
from bsx.match.greedy import FlatVectors, match_pairs
from bsx.match.ngrams import TokenFilter, ngram_units, power_means
from bsx.match.transport import check_solver, transport_costs
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores, Reading
from bsx.metrics.embedding.base import EncoderMetric
from bsx.support.arrays import beside


class MoverScoreConfig(MetricConfig):
    """Settings of MoverScore."""

    model: Annotated[str | None, Field(description="Encoder; the paper's unless given.")] = None
    ngram: Annotated[int, Field(ge=1, le=100, description="Tokens of a unit: 1 is WMD-1, 2 is WMD-2.")] = 1
    ignore_ngram: Annotated[
        bool, Field(description="Compute unigrams whatever ngram says, a defect of the second version's code.")
    ] = False
    idf: Annotated[bool, Field(description="Weigh tokens by idf; off: all weigh the same.")] = True
    idf_texts: Annotated[
        Path | None,
        Field(description="Count the references' idf on this file, one text per line (IDF-L); else on the references."),
    ] = None
    separate_idf: Annotated[
        bool, Field(description="Count the candidates' idf on each system's candidates (SEP); off: the references'.")
    ] = True
    drop_punctuation: Annotated[bool, Field(description="Leave out punctuation (half of RM).")] = True
    drop_subwords: Annotated[bool, Field(description="Leave out pieces inside words (half of RM).")] = True
    stop_words: Annotated[Path | None, Field(description="Leave out the words in this file, one per line.")] = None
    pmeans: Annotated[bool, Field(description="Power means over the last layers (PMEANS); off: one layer.")] = True
    last_layers: Annotated[int, Field(ge=1, le=10_000, description="How many layers the power means are over.")] = 5
    layer: Annotated[
        int | None, Field(ge=0, le=10_000, description="Without power means: the layer; top unless given.")
    ] = None
    cost: Annotated[
        Literal["squared", "euclidean"], Field(description="Distance of unit vectors: squared (v1) or not (v2).")
    ] = "squared"
    transform: Annotated[
        Literal["one-minus", "inverse"], Field(description="Score: 1 - cost (v1) or 1 / (1 + cost) (v2).")
    ] = "one-minus"
    matching: Annotated[
        Literal["transport", "greedy"], Field(description="Optimal transport, or BERTScore's greedy matching.")
    ] = "transport"
    measure: Annotated[
        Literal["f1", "precision", "recall"], Field(description="With greedy matching: which figure.")
    ] = "f1"
    multi_ref: MultiRef = "mean"

    @model_validator(mode="after")
    def _consistent(self) -> MoverScoreConfig:
        if self.layer is not None and self.pmeans:
            raise ValueError("layer needs pmeans=false")
        if self.idf_texts is not None and not self.idf:
            raise ValueError("idf_texts needs idf=true")
        return self


IdfTables = tuple[NDArray[np.float32], str]
"""Weights of every id (tables, vocabulary), one table for references and one for each system's candidates unless these
use that of the references; and digests and sizes of what was counted, for the signature."""


class MoverScore(EncoderMetric[MoverScoreConfig]):
    """Word mover's distance of contextual embeddings.

    Source: Zhao et al. 2019, equations 1 to 5, as its first released code computes them; settings of the entry
    ``moverscore-v2`` are those of the second. Switches: Zhang et al. 2020, appendix C.
    """

    Config = MoverScoreConfig
    takes_context = True

    def setup(self) -> None:
        """Find the solver, the encoder and the tokens to leave out."""
        config = self.config
        check_solver()
        self.open_model()
        if config.pmeans:
            # The embedding layer takes no part: the code's states are those of the encoder layers.
            self.use_layers(range(max(1, self.depth - config.last_layers + 1), self.depth + 1))
        else:
            self.use_layers([self.depth if config.layer is None else config.layer])
        lines = () if config.stop_words is None else self.encoders.in_form(NamedFile(config.stop_words).lines())
        self._words = words = frozenset(word.strip().lower() for word in lines if word.strip())
        self._filter = TokenFilter(
            self.tokenizer, punctuation=config.drop_punctuation, subwords=config.drop_subwords, words=words
        )

    def signature_fields(self, fitted: IdfTables | None) -> dict[str, object]:
        """Return the model's fields, what idf was counted on and which words are left out."""
        fields = super().signature_fields(fitted)
        if self.config.idf:
            fields["idf"] = fitted[1] if fitted is not None else "references"
        if self.config.stop_words is not None:
            listed = "\n".join(sorted(self._words)).encode()
            fields["stop_words"] = f"{len(self._words)}@{hashlib.sha256(listed).hexdigest()[:8]}"
        return fields

    @property
    def counts(self) -> str | None:
        """Idf, if it is wanted and not of texts of its own on both sides."""
        config = self.config
        return "idf" if config.idf and (config.idf_texts is None or config.separate_idf) else None

    def count(self, corpus: Corpus) -> list[IdfCounter]:
        """Count the tokens of references, and of each system's candidates; see `Metric.count`."""
        counters = [IdfCounter() for _ in range(1 + self.config.separate_idf * len(corpus.systems))]
        for segment in corpus:
            counters[0].add(map(self.alone, segment.references), self.tokenizer)
            for counter, text in zip(counters[1:], map(self.alone, segment.candidates), strict=False):
                counter.add([text], self.tokenizer)
        return counters

    def fit(self, corpus: Reading) -> IdfTables:
        """Return the weights of tokens of references, and of each system's candidates."""
        config, size = self.config, self.tokenizer.vocabulary_size
        if not config.idf:
            return np.ones((1, size), dtype=np.float32), "no"
        number = 1 + config.separate_idf * len(corpus.systems)
        counters = [IdfCounter()] if self.counts is None else corpus.counters(self, number)
        weights: list[Idf | None] = [counter.result() if counter.documents else None for counter in counters]
        if config.idf_texts is not None:
            texts = self.encoders.in_form(NamedFile(config.idf_texts).lines())
            weights[0] = count_idf(texts, self.tokenizer)
        tables = [np.ones(size, dtype=np.float32) if idf is None else idf.table(size) for idf in weights]
        return np.stack(tables), "+".join(f"{idf.digest[:8]}({idf.documents})" for idf in weights if idf is not None)

    def score_pairs(self, pairs: Pairs, fitted: IdfTables) -> PairScores:
        """Score pairs; see `PairMetric.score_pairs`."""
        config = self.config
        states = self.states(pairs.texts)
        states = states.select(self._filter.keep(states))
        vectors = normalise(states.vectors)
        vectors = power_means(vectors) if config.pmeans else vectors[0]
        # A text weighs its tokens by the table of its side: units belong to a text and a table.
        tables = len(fitted[0])
        left, right = pairs.left * tables, pairs.right * tables
        if config.idf and config.separate_idf:
            left = left + 1 + pairs.systems
        keys, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        texts, table = keys // tables, keys % tables
        count = states.lengths[texts]
        first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64)
        rows = np.arange(int(count.sum())) - np.repeat(first - states.offsets[texts], count)
        ids = states.ids[rows]
        weights = fitted[0][np.repeat(table, count), ids]
        if not config.idf and config.matching == "greedy":
            weights = np.where(self.tokenizer.is_special[ids], 0, weights).astype(np.float32)
        n = 1 if config.ignore_ngram else config.ngram
        units = ngram_units(vectors[beside(rows, vectors)], weights, (first, count), n)
        left, right = places[: len(left)], places[len(left) :]
        if config.matching == "greedy":
            values = np.full(len(left), np.nan)
            mass = np.add.reduceat(np.append(units.masses, 0), units.offsets) * (units.lengths > 0)
            present = (mass[left] > 0) & (mass[right] > 0)
            scored = match_pairs(FlatVectors.of(units), left[present], right[present])
            values[present] = scored[0, :, ("precision", "recall", "f1").index(config.measure)]
            return PairScores(values, states.lost)
        costs = transport_costs(units, left, right, cost=config.cost)
        return PairScores(1 / (1 + costs) if config.transform == "inverse" else 1 - costs, states.lost)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when the encoder has fewer layers than the power means want."""
        wanted = self.config.last_layers
        if self.config.pmeans and self.depth < wanted:
            return (f"{self.spec}: power means over all {self.depth} layers, the model has no {wanted}",)
        return ()
