"""Cosines of the sentence embeddings of a candidate and its source, whose two languages a map may bring together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bsx.errors import InputError
from bsx.metrics.core import Pairs, PairScores
from bsx.metrics.embedding.mapping import check_mapping, fit_notes, load_mapping
from bsx.metrics.embedding.sentence import SentenceConfig, SentenceCosine, cosines


class SentenceQeConfig(SentenceConfig):
    """Settings of a sentence-embedding cosine across languages."""

    layer: Annotated[int | None, Field(ge=0, le=10_000, description="Layer; the top one unless given.")] = None
    mapping: Annotated[
        Literal["none", "clp", "umd"], Field(description="Re-alignment of the source's vector; needs mapping_file.")
    ] = "none"
    mapping_file: Annotated[Path | None, Field(description="The map, fitted on parallel text.")] = None

    @model_validator(mode="after")
    def _consistent(self) -> SentenceQeConfig:
        check_mapping(self.mapping, self.mapping_file)
        return self


class SentenceQe(SentenceCosine):
    """Cosine of a candidate's sentence vector and its source's, the latter mapped before any dense layer.

    Source: Reimers & Gurevych 2020 for the comparison; Zhao et al. 2020, section 3.2, for the maps. A map is linear: to
    map a mean of token vectors is to map the tokens.
    """

    Config = SentenceQeConfig
    config: SentenceQeConfig

    def setup(self) -> None:
        """Find encoder and map."""
        super().setup()
        config = self.config
        if config.mapping != "none" and len(self._pooling) > 1:
            raise InputError(f"{self.located.choice.name}: pools in several ways; a map is for one: say pooling")
        self._mapping, file = None, config.mapping_file
        if file is not None and config.mapping != "none":
            self._mapping = load_mapping(file, config.mapping, self._view.dimensions, self.located.identity)

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the model's fields, how sentences are pooled, and the map's digest."""
        fields = super().signature_fields(fitted)
        return fields if self._mapping is None else {**fields, "mapping_file": self._mapping.digest}

    @property
    def notes(self) -> tuple[str, ...]:
        """Say when the model is no sentence encoder, or the map was fitted otherwise."""
        if self._mapping is None:
            return super().notes
        return (*super().notes, *fit_notes(self._mapping, self._layer, self.encoders, self.spec))

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs of candidate (left) and source (right); see `PairMetric.score_pairs`."""
        vectors, lost = self.pooled(pairs.texts)
        mapped = None if self._mapping is None else self.finished(self._mapping.apply(vectors))
        return PairScores(cosines(pairs, self.finished(vectors), mapped), lost)
