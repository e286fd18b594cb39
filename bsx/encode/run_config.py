"""Where encoders run, and how much memory they use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from bsx.catalog.catalog import Catalog
from bsx.data.writing import Form
from bsx.errors import InputError
from bsx.support.folders import path_as_name
from bsx.support.memory import parse_bytes
from bsx.support.settings import BaseSettings, Option, UserOnly

RARE = Option(folded="encoder")
"""Marks a setting of encoders that few users need."""


class RunConfig(BaseSettings):
    """Where and within what limits encoders run: settings that every metric of a run shares."""

    panel = "More options"

    registry: Annotated[
        Path | str | Catalog | None, Field(description="Registry folder whose entries win over the shipped ones.")
    ] = None
    device: Annotated[str, Field(description="auto, cpu, cuda, cuda:N or mps."), RARE] = "auto"
    dtype: Annotated[
        Literal["auto", "fp32", "tf32", "bf16", "fp16", "int8"],
        Field(
            description="Number format of the encoder; auto is fp32. tf32: fp32 with products from 10 bits, on NVIDIA "
            "cards. Matching is always fp32."
        ),
        RARE,
    ] = "auto"
    backend: Annotated[
        Literal["auto", "torch", "onnx"],
        Field(description="What runs the encoder; auto: ONNX Runtime if installed and able to, else PyTorch."),
        RARE,
    ] = "auto"
    memory: Annotated[
        str | int | None,
        Field(description="Memory for vectors, like 2GB; a quarter of what is free unless given."),
        RARE,
    ] = None
    batch_tokens: Annotated[
        int | None,
        Field(ge=1, le=10**9, description="Tokens of an encoder batch; the device's default unless given."),
        RARE,
    ] = None
    cache: Annotated[
        Path | str | None,
        Field(description="Folder that keeps vectors for later runs, so that no text is encoded twice."),
        RARE,
    ] = None
    cache_size: Annotated[
        str | int, Field(description="Disk space for the cache; vectors unused for longest go first."), RARE
    ] = "10GB"
    trust_remote_code: Annotated[
        bool, Field(description="Let a checkpoint run its own Python code."), UserOnly(), RARE
    ] = False
    strict: Annotated[
        bool,
        Field(description="Stop with an error where a text is truncated or the model was not trained on its language."),
        RARE,
    ] = False

    @field_validator("cache", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if value in ("", ".", Path()):
            raise ValueError("give the cache a folder of its own, like ./vectors")
        return value

    @field_validator("memory", "cache_size", mode="before")
    @classmethod
    def _memory_as_text(cls, value: object) -> object:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if isinstance(text, str):
            try:
                parse_bytes(text)
            except InputError as error:
                raise ValueError(str(error)) from error
        return text

    @model_validator(mode="after")
    def _size_of_something(self) -> Self:
        if self.cache is None and self.cache_size != RunConfig.model_fields["cache_size"].default:
            raise ValueError("cache_size needs cache")
        return self


class EncoderSettings(RunConfig):
    """The model of metrics that are not given one of their own, the language of the texts, and where encoders run."""

    panel = "Metrics"

    model: Annotated[
        str | Path | None, Field(description="Model: a registry name, a folder, or a hub id."), Option(("-m",))
    ] = None
    lang: Annotated[
        str | None,
        Field(description="Language of the texts (tag or English name), or auto; chooses the model."),
        Option(("-l",)),
    ] = None
    normalize: Annotated[
        Form,
        Field(
            description="Form of the texts that metrics compare: nfc; nfkc, full-width letters as plain ones too; "
            "tashkeel, nfc without Arabic vowel marks; sr-latn, nfc with Serbian in Latin letters; none, as they are, "
            "which other packages read."
        ),
        RARE,
    ] = "nfc"

    _path_as_name = field_validator("model", mode="before")(path_as_name)
