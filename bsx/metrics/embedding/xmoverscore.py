"""XMoverScore: word mover's distance between source and candidate, without a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from bsx.data.writing import SCRIPTS, UNSPACED, scripts_of
from bsx.match.ngrams import TokenFilter, Units, ngram_units
from bsx.match.transport import check_solver, transport_costs
from bsx.metrics.core import BY_SCRIPT, MetricConfig, Pairs, PairScores, Reading
from bsx.metrics.embedding.base import EncoderMetric
from bsx.metrics.embedding.mapping import check_mapping, fit_notes, load_mapping
from bsx.support.arrays import Array
from bsx.support.optional import need


class XMoverScoreConfig(MetricConfig):
    """Settings of XMoverScore."""

    model: Annotated[str | None, Field(description="Encoder of both languages; the paper's unless given.")] = None
    layer: Annotated[int | None, Field(ge=0, le=10_000, description="Layer; the top one unless given.")] = None
    ngram: Annotated[int, Field(ge=1, le=100, description="Tokens of a unit.")] = 1
    mapping: Annotated[
        Literal["none", "clp", "umd"], Field(description="Re-alignment of the source's vectors; needs mapping_file.")
    ] = "none"
    mapping_file: Annotated[Path | None, Field(description="The map, fitted on parallel text.")] = None
    map_both: Annotated[bool, Field(description="Map the candidate's vectors too; the paper maps the source's.")] = (
        False
    )
    umd_scalar: Annotated[
        bool, Field(description="Use only the first number of the umd vector, a defect of the released code.")
    ] = False
    drop_punctuation: Annotated[bool, Field(description="Leave out punctuation.")] = True
    drop_subwords: Annotated[
        bool | None,
        Field(description="Leave out pieces inside words; not unless given if a side's script has no spaces."),
    ] = None
    cost: Annotated[Literal["squared", "euclidean"], Field(description="Distance of unit vectors.")] = "squared"
    transform: Annotated[Literal["one-minus", "inverse"], Field(description="Score: 1 - cost, or 1 / (1 + cost).")] = (
        "one-minus"
    )
    trim: Annotated[float, Field(ge=0, lt=1, description="Share of the flows, the smallest, that cost nothing.")] = 0.0
    lm: Annotated[str | None, Field(description="Language model that judges the candidate: a folder or hub id.")] = None
    lm_weight: Annotated[float, Field(ge=-1e12, le=1e12, description="Weight of the language model's term.")] = 0.1
    lm_term: Annotated[
        Literal["log-likelihood", "root-likelihood"],
        Field(description="Mean log-likelihood of a token (first code), or its exponential's n-th root (second)."),
    ] = "log-likelihood"

    @model_validator(mode="after")
    def _consistent(self) -> XMoverScoreConfig:
        check_mapping(self.mapping, self.mapping_file)
        if self.umd_scalar and self.mapping != "umd":
            raise ValueError("umd_scalar needs mapping=umd")
        return self


class XMoverScore(EncoderMetric[XMoverScoreConfig]):
    """Distance between a source and its translation in a shared space, re-aligned, with a fluency term.

    Source: Zhao et al. 2020, section 3, as the first released code computes it; settings of the entry
    ``xmoverscore-v2`` are those of the second.
    """

    Config = XMoverScoreConfig

    def setup(self) -> None:
        """Find solver, encoder, map and language model."""
        config = self.config
        check_solver()
        self.open_model()
        self._layer = self.depth if config.layer is None else config.layer
        self.use_layers([self._layer])
        self._filters = {
            drops: TokenFilter(self.tokenizer, punctuation=config.drop_punctuation, subwords=drops)
            for drops in (True, False)
        }
        self._drops = config.drop_subwords
        if self._drops is None and not self.looks_at_script:
            self._drops = True
        self._mapping, file = None, config.mapping_file
        if file is not None and config.mapping != "none":
            self._mapping = load_mapping(file, config.mapping, self._view.dimensions, self.located.identity)
        self._fluency = None
        if config.lm is not None:
            need("torch", "A language model")
            from bsx.metrics.embedding.fluency import LanguageModel

            self._fluency = LanguageModel(config.lm, self.encoders)

    def fit(self, corpus: Reading) -> bool | None:
        """Return whether pieces inside words are left out, as spaces tell words apart; None if the settings say it."""
        if self._drops is not None:
            return None
        scripts = scripts_of(corpus)
        unspaced = [script for side in sorted(self.needs) if (script := scripts.get(side)) in UNSPACED]
        note = None
        if unspaced:
            script = SCRIPTS[unspaced[0]]
            note = f"{self.spec}: pieces inside words are kept, as {script} script has no spaces (drop_subwords)"
        self.encoders.remark(self.spec, note)
        return not unspaced

    def signature_fields(self, fitted: bool | None) -> dict[str, object]:
        """Return the model's fields, and the digests of map and language model."""
        fields = super().signature_fields(fitted)
        decided = self._drops if fitted is None else fitted
        fields["drop_subwords"] = BY_SCRIPT if decided is None else decided
        if self._mapping is not None:
            fields["mapping_file"] = self._mapping.digest
        if self._fluency is not None:
            fields["lm"] = self._fluency.identity
        return fields

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when vectors are compared across languages without a map, or with one that was fitted otherwise."""
        if self._mapping is None:
            return (
                f"{self.spec}: no mapping is given, so vectors of the two languages are compared as they are; "
                "`bsx.fit_mapping` fits one",
            )
        return fit_notes(self._mapping, self._layer, self.encoders, self.spec)

    def score_pairs(self, pairs: Pairs, fitted: bool | None) -> PairScores:
        """Score pairs of candidate (left) and source (right); see `PairMetric.score_pairs`."""
        config = self.config
        states = self.states(pairs.texts)
        drops = fitted if self._drops is None else self._drops
        states = states.select(self._filters[drops is not False].keep(states))
        plain = states.vectors[0]
        mapped = plain if self._mapping is None else self._mapping.apply(plain, scalar=config.umd_scalar)

        def units(vectors: Array) -> Units:
            ones = np.ones(len(states.ids), dtype=np.float32)
            return ngram_units(vectors, ones, (states.offsets, states.lengths), config.ngram)

        sources = units(mapped)
        candidates = sources if config.map_both else units(plain)
        costs = transport_costs(
            candidates, pairs.left, pairs.right, cost=config.cost, right_units=sources, trim=config.trim
        )
        values = 1 / (1 + costs) if config.transform == "inverse" else 1 - costs
        if self._fluency is not None:
            texts, place = np.unique(pairs.left, return_inverse=True)
            scored = self._fluency.score([pairs.texts[i] for i in texts], root=config.lm_term == "root-likelihood")
            values = values + config.lm_weight * scored[place]
        return PairScores(values, states.lost)
