"""Settings of BERTScore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from bsx.encode.run_config import RunConfig, RunSettings
from bsx.models.choice import path_as_name
from bsx.support.settings import BaseSettings, Option


class BertScoreSettings(BaseSettings):
    """What BERTScore is computed with; each field's description is also the help text of its command-line option."""

    model: Annotated[
        str | None, Field(description="Model: a registry name, a folder, or a hub id."), Option(("-m",))
    ] = None
    lang: Annotated[
        str | None,
        Field(description="Language of the texts (tag or English name), or auto; chooses the model."),
        Option(("-l",)),
    ] = None
    layer: Annotated[int | None, Field(ge=0, description="Layer to score with; the model's best unless given.")] = None
    all_layers: Annotated[bool, Field(description="Score with every layer, 0 (embeddings) to the last.")] = False
    idf: Annotated[bool, Field(description="Weight tokens by their idf in the references.")] = False
    rescale: Annotated[bool, Field(description="Rescale by the model's baseline for the language.")] = False
    baseline: Annotated[
        Path | None, Field(description="Baseline file to rescale by (YAML, or CSV with LAYER,P,R,F).")
    ] = None
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
    ] = "match"
    leading_space: Annotated[
        bool | None,
        Field(description="Put a space before each text (byte-level BPE); as the registry says unless given."),
    ] = None
    prefix: Annotated[
        str | None,
        Field(description="Text before each text, read as context but not matched, like query:; none unless given."),
    ] = None
    context: Annotated[
        int,
        Field(
            ge=0,
            description="So many sentences before each text, of the references of its document, are read as context "
            "but not matched.",
        ),
    ] = 0
    long: Annotated[
        Literal["truncate", "window"],
        Field(description="Texts beyond the model's limit: cut them off, or read them in overlapping windows."),
    ] = "truncate"
    final_norm: Annotated[
        bool,
        Field(
            description="Pass every layer of a pre-norm encoder (T5, mBART) through its final norm; without it, "
            "`all_layers=True` returns the residual stream, as bert-score does."
        ),
    ] = True

    _path_as_name = field_validator("model", mode="before")(path_as_name)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.all_layers and self.layer is not None:
            raise ValueError("`layer=` and `all_layers=True` exclude each other")
        if self.baseline is not None and not self.rescale:
            raise ValueError("`baseline=` goes with `rescale=True`")
        return self


class ScorerConfig(BertScoreSettings, RunConfig):
    """Settings of `bsx.Scorer`: BERTScore's, and where to run."""


class ScorerSettings(RunSettings, total=False):
    """The fields of `ScorerConfig` as keyword arguments, but those that `bsx.Scorer` names itself."""

    layer: int | None
    all_layers: bool
    rescale: bool
    baseline: Path | str | None
    multi_ref: Literal["columnwise", "best"]
    specials: Literal["match", "exclude", "bert-score"]
    leading_space: bool | None
    prefix: str | None
    context: int
    long: Literal["truncate", "window"]
    final_norm: bool
