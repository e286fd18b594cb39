"""Settings of BERTScore: for one of its figures as a metric, and for all three."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, model_validator

from bsx.encode.idf import Idf
from bsx.encode.run_config import RARE, EncoderSettings
from bsx.metrics.core import MetricConfig

FIGURES = ("precision", "recall", "f1")
_IDF = Field(description="Weight tokens by their idf in the references.")


class MatchSettings(MetricConfig):
    """How BERTScore matches texts; each field's description is also the help text of its command-line option."""

    layer: Annotated[
        int | None, Field(ge=0, le=10_000, description="Layer to score with; the model's best unless given.")
    ] = None
    rescale: Annotated[bool, Field(description="Rescale by the model's baseline for the language.")] = False
    multi_ref: Annotated[
        Literal["columnwise", "best"],
        Field(
            description="Several references: the highest P, R and F1 each by itself, as published, or all three "
            "from the reference with the best F1."
        ),
    ] = "columnwise"
    specials: Annotated[
        Literal["match", "exclude", "bert-score"],
        Field(
            description="Special tokens weigh 0; match: they may be matched, as in the reference implementation; "
            "exclude: they may not; bert-score: only CLS and SEP weigh 0."
        ),
        RARE,
    ] = "match"
    prefix: Annotated[
        str | None,
        Field(description="Text before each text, read as context but not matched, like query:; none unless given."),
        RARE,
    ] = None
    long: Annotated[
        Literal["truncate", "window"],
        Field(description="Texts beyond the model's limit: cut them off, or read them in overlapping windows."),
        RARE,
    ] = "truncate"


class BertScoreConfig(MatchSettings):
    """Settings of BERTScore of which one figure is wanted, as a metric's value."""

    measure: Annotated[Literal["f1", "precision", "recall"], Field(description="Which of the three figures.")] = "f1"
    model: Annotated[str | None, Field(description="Encoder; the run's, or that of the language.")] = None
    idf: Annotated[bool, _IDF] = False


class ScorerConfig(MatchSettings, EncoderSettings):
    """Settings of BERTScore of which all three figures are wanted, and where it runs."""

    panel = "Metrics"

    all_layers: Annotated[bool, Field(description="Score with every layer, 0 (embeddings) to the last.")] = False
    idf: Annotated[StrictBool | Idf | Sequence[str], _IDF] = False
    """Whether; a list of texts to count on instead; or weights that were counted before."""
    baseline: Annotated[
        Path | str | None, Field(description="Baseline file to rescale by (YAML, or CSV with LAYER,P,R,F)."), RARE
    ] = None
    leading_space: Annotated[
        bool | None,
        Field(description="Put a space before each text (byte-level BPE); as the registry says unless given."),
        RARE,
    ] = None
    context: Annotated[
        int,
        Field(
            ge=0,
            le=10_000,
            description="So many sentences before each text, of the references of its document, are read as context "
            "but not matched.",
        ),
    ] = 0
    final_norm: Annotated[
        bool,
        Field(
            description="Pass every layer of a pre-norm encoder (T5, mBART) through its final norm; without it, "
            "all_layers returns the residual stream, as bert-score does."
        ),
        RARE,
    ] = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.all_layers and self.layer is not None:
            raise ValueError("layer and all_layers exclude each other")
        if self.baseline is not None and not self.rescale:
            raise ValueError("baseline needs rescale")
        return self
